"""pgmpy: a stand-in with its attributes always, the library itself where it is installed."""

import math
from types import SimpleNamespace

import numpy as np
import oracle
import pytest

import mapreroot as mr
from mapreroot.interop.pgmpy import from_pgmpy, name_assignment, name_marginals


def stand_in(nodes, *factors) -> SimpleNamespace:
    made = [
        SimpleNamespace(variables=list(names), values=np.array(values, float), state_names=names)
        for names, values in factors
    ]
    return SimpleNamespace(nodes=lambda: nodes, get_factors=lambda: made)


A, B = {"a": ["no", "yes"]}, {"b": [0, 1]}


def test_reads_what_a_network_has() -> None:
    network = stand_in(
        ["b", "a"], (A | B, [[1, 2], [3, 4]]), (A, [5, 6]), (B | A, [[1, 1], [1, 7]])
    )
    model, states = from_pgmpy(network)
    assert model.labels == ("b", "a")
    assert states == {"b": (0, 1), "a": ("no", "yes")}
    assert math.exp(model.score({"a": 1, "b": 1})) == pytest.approx(4 * 6 * 7)
    assert math.exp(model.score({"a": 1, "b": 0})) == pytest.approx(3 * 6)
    assert from_pgmpy(network, {"a": "yes"})[0].labels == ("b",)


def test_disagreeing_states_and_bare_nodes_are_errors() -> None:
    swapped = {"a": ["yes", "no"]}
    with pytest.raises(mr.ModelError, match=r"'a' has the states \('yes', 'no'\) in one factor"):
        from_pgmpy(stand_in(["a"], (A, [1, 2]), (swapped, [1, 2])))
    with pytest.raises(mr.ModelError, match="no factor covers 'b'"):
        from_pgmpy(stand_in(["a", "b"], (A, [1, 2])))


@pytest.fixture
def grid():
    """A 3 x 3 grid of pgmpy's own, with named states and one zero."""
    models = pytest.importorskip("pgmpy.models")
    factors = pytest.importorskip("pgmpy.factors.discrete")
    rng = np.random.default_rng(5)
    nodes = [(r, c) for r in range(3) for c in range(3)]
    pairs = [(u, v) for u in nodes for v in nodes if v in ((u[0] + 1, u[1]), (u[0], u[1] + 1))]
    network = models.DiscreteMarkovNetwork(pairs)
    names = {node: [f"{node} off", f"{node} on"] for node in nodes}
    for u, v in pairs:
        values = rng.uniform(0.1, 9, (2, 2))
        if (u, v) == ((0, 0), (0, 1)):
            values[1, 0] = 0
        chosen = {u: names[u], v: names[v]}
        network.add_factors(factors.DiscreteFactor([u, v], [2, 2], values, state_names=chosen))
    for node in nodes:
        values = rng.uniform(0.1, 9, 2)
        network.add_factors(
            factors.DiscreteFactor([node], [2], values, state_names={node: names[node]})
        )
    return network


def test_scores_equal_pgmpys_own_product(grid) -> None:
    model, _ = from_pgmpy(grid)
    joint = math.prod(grid.get_factors()[1:], start=grid.get_factors()[0])
    order = [model.labels.index(node) for node in joint.variables]
    for x in oracle.assignments(9):
        value = joint.values[tuple(x[order])]
        assert math.exp(model.score(x)) == pytest.approx(value, rel=1e-9)
    assert oracle.log_partition(model) == pytest.approx(math.log(grid.get_partition_function()))


def test_map_and_marginals_equal_pgmpys(grid) -> None:
    inference = pytest.importorskip("pgmpy.inference")
    evidence = {(1, 1): "(1, 1) on"}
    model, states = from_pgmpy(grid, evidence)
    peer = inference.VariableElimination(grid)
    best = peer.map_query(list(states), evidence=evidence, show_progress=False)
    assert name_assignment(mr.solve(model).x, states) == best
    for node, found in name_marginals(mr.marginals(model).p, states).items():
        query = peer.query([node], evidence=evidence, show_progress=False)
        query.normalize()
        expected = dict(zip(query.state_names[node], query.values.tolist(), strict=True))
        assert found == pytest.approx(expected)
