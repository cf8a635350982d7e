"""Exact log Z and marginals against the sum over all assignments, and at sizes that need care."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marginals_oracle import enumerated
from strategies import finite_floats, models, small_integers

from mapreroot import Model, SizeError, uproot
from mapreroot.errors import ModelError
from mapreroot.marginals import log_partition, marginals
from mapreroot.marginals.elimination import eliminate
from mapreroot.marginals.exact import exact_log_partition, exact_marginals

potentials = st.sampled_from([small_integers, finite_floats])


def grid(rows, cols, theta, W):
    vertex = np.arange(rows * cols).reshape(rows, cols)
    edges = np.concatenate(
        [
            np.stack([vertex[:, :-1].ravel(), vertex[:, 1:].ravel()], axis=1),
            np.stack([vertex[:-1].ravel(), vertex[1:].ravel()], axis=1),
        ]
    )
    return Model(np.full(rows * cols, theta), edges, np.full(len(edges), W))


def transfer(rows, cols, theta, W):
    """log Z of the grid, row by row with matrices of 2^cols."""
    bits = np.array(list(itertools.product((0, 1), repeat=cols)))
    inside = theta * bits.sum(1) - W / 2 * (bits[:, 1:] != bits[:, :-1]).sum(1)
    between = -W / 2 * (bits[:, None] != bits[None]).sum(2)
    step = np.exp(between)
    state, log_z = np.exp(inside - inside.max()), float(inside.max())
    for _ in range(rows - 1):
        state = np.exp(inside) * (step @ state)
        log_z += math.log(state.sum())
        state /= state.sum()
    return log_z + math.log(state.sum())


@given(potentials.flatmap(lambda p: models(potentials=p)))
def test_log_z_and_marginals_are_those_of_enumeration(model):
    log_z, p, pair = enumerated(model)
    found, by_pair = log_partition(model), marginals(model)
    assert found.converged
    assert found.value == found.lower == found.upper
    assert found.value == pytest.approx(log_z, abs=1e-10)
    np.testing.assert_allclose(by_pair.p, p, atol=1e-10)
    np.testing.assert_allclose(by_pair.pair, pair, atol=1e-10)
    assert by_pair.pair_consistent


@given(models(min_n=1, max_n=6), st.data())
def test_every_root_has_the_same_log_z_and_marginals(model, data):
    root = data.draw(st.integers(0, model.n))
    log_z, p, pair = enumerated(model)
    uprooted = uproot(model)
    assert exact_log_partition(uprooted, root) - math.log(2) == pytest.approx(log_z, abs=1e-10)
    rooted_z, rooted_p, _ = exact_marginals(uprooted, root)
    assert rooted_z - math.log(2) == pytest.approx(log_z, abs=1e-10)
    np.testing.assert_allclose(rooted_p[1:], p, atol=1e-10)
    np.testing.assert_allclose(marginals(model, root=root).pair, pair, atol=1e-10)
    assert log_partition(model, root=root).root == root


@given(models(min_n=2, max_n=7))
def test_each_separator_covers_the_message_of_its_bag(model):
    plan = eliminate(model.n, model.edges)
    place = {int(v): b for b, v in enumerate(plan.vertex)}
    assert sorted(place) == list(range(model.n))
    bags = [
        {int(plan.vertex[b]), *plan.separator[plan.start[b] : plan.start[b + 1]].tolist()}
        for b in range(model.n)
    ]
    for i, j in model.edges.tolist():
        assert {i, j} <= bags[min(place[i], place[j])]
    for b in range(model.n):
        rest = bags[b] - {int(plan.vertex[b])}
        assert (plan.parent[b] < 0) == (not rest)
        if rest:
            assert plan.parent[b] == min(place[v] for v in rest) > b
            assert rest <= bags[plan.parent[b]]


@pytest.mark.parametrize(
    ("edges", "treewidth"),
    [
        ([(i, i + 1) for i in range(9)], 1),
        ([(i, (i + 1) % 9) for i in range(9)], 2),
        (list(itertools.combinations(range(7), 2)), 6),
        ([(0, i) for i in range(1, 50)], 1),
    ],
)
def test_the_treewidth_of_simple_graphs_is_found(edges, treewidth):
    edges = np.array(edges)
    assert eliminate(int(edges.max()) + 1, edges).treewidth == treewidth


@pytest.mark.parametrize(("rows", "cols"), [(6, 4), (40, 7)])
def test_grid_is_that_of_the_transfer_matrix(rows, cols):
    value = log_partition(grid(rows, cols, 0.3, -1.2)).value
    assert value == pytest.approx(transfer(rows, cols, 0.3, -1.2), abs=1e-9)


def test_the_guard_asks_for_treewidth_not_for_variables():
    assert log_partition(grid(12, 12, 0.1, 1.0)).value == pytest.approx(50.302263117, abs=1e-8)
    long = log_partition(grid(60, 5, 0.1, 1.0)).value
    assert long == pytest.approx(transfer(60, 5, 0.1, 1.0), abs=1e-9)
    for call in (log_partition, marginals):
        with pytest.raises(SizeError, match=r"memory.*treewidth"):
            call(grid(60, 60, 0.1, 1.0))


def test_long_narrow_graphs_are_swept_from_end_to_end():
    model = grid(100, 12, 0.1, 1.0)
    plan = eliminate(model.n, model.edges)
    assert plan.treewidth == 12
    assert plan.entries < 1200 * 2**12


def test_the_memory_limit_is_the_callers():
    model = grid(9, 9, 0.1, 1.0)
    with pytest.raises(SizeError, match="memory"):
        log_partition(model, memory=1000)
    # One message fits, all of them together do not.
    needed = 8 * eliminate(82, uproot(model).edges).entries
    with pytest.raises(SizeError, match="memory"):
        marginals(model, memory=needed / 4)
    assert log_partition(model, memory=needed).value > 0


def test_a_long_chain_does_not_underflow():
    n, low, high = 401, math.log(0.001), math.log(0.002)
    edges = [(i, i + 1) for i in range(n - 1)]
    model = Model.from_tables(
        np.zeros((n, 2)), edges, np.full((n - 1, 2, 2), [[low, high], [high, low]])
    )
    assert log_partition(model).value == pytest.approx(-2322.96404894505, abs=1e-8)
    assert log_partition(model, root=7).value == pytest.approx(-2322.96404894505, abs=1e-8)
    np.testing.assert_allclose(marginals(model, root=7).p, 0.5, atol=1e-12)


def test_empty_models_and_isolated_variables():
    assert log_partition(Model([], [], [], 2.5)).value == 2.5
    assert marginals(Model([], [], [])).pair.shape == (0, 2, 2)
    model = Model([0, 0, 0], [], [])
    assert log_partition(model).value == pytest.approx(math.log(8))
    assert marginals(model).p.tolist() == [0.5] * 3


def test_small_potentials_survive_beside_huge_ones():
    """x0 != x1 and x1 = x2 are forced; the small fields decide between the two states left."""
    model = Model([0.2, 0.1, 0.4], [(0, 1), (1, 2), (0, 2)], [-1e18, 1e18, -1e18])
    p = 1 / (1 + math.exp(0.2 - 0.5))
    for root in range(4):
        np.testing.assert_allclose(marginals(model, root=root).p, [1 - p, p, p], atol=1e-12)


def test_hard_constraints_leave_log_z_and_marginals_exact():
    ninf = -math.inf
    tables = [[[ninf, 0.0], [0.0, ninf]]] * 2
    model = Model.from_tables([[0, math.log(3)], [0, 0], [0, 0]], [(0, 1), (1, 2)], tables)
    assert log_partition(model).value == pytest.approx(math.log(4), abs=1e-12)
    np.testing.assert_allclose(marginals(model, root=2).p, [0.75, 0.25, 0.75], atol=1e-12)


def test_variables_away_from_every_field_are_fair():
    model = Model([1.0, 0, 0, 0, 0], [(0, 1), (2, 3), (3, 4), (2, 4)], [2.0, 1.0, -1.0, 3.0])
    result = marginals(model)
    np.testing.assert_allclose(result.p, enumerated(model)[1], atol=1e-12)
    np.testing.assert_allclose(result.p[2:], 0.5, atol=1e-15)
    np.testing.assert_allclose(result.pair, enumerated(model)[2], atol=1e-12)


def test_unknown_methods_and_roots_are_refused():
    model = Model([1.0], [], [])
    with pytest.raises(ModelError, match="method"):
        log_partition(model, "magic")
    for root in (2, -1, 0.5, "best"):
        with pytest.raises(ModelError, match="root"):
            log_partition(model, root=root)
