"""pyAgrum: a stand-in with its attributes always, the library itself where it is installed."""

import math
from types import SimpleNamespace

import numpy as np
import oracle
import pytest

import mapreroot as mr
from mapreroot.interop.pyagrum import from_pyagrum, name_assignment, name_marginals

# The extension module of pyAgrum crashes where its own deprecation warnings become errors.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_reads_what_a_field_has() -> None:
    variables = {4: ("b", ("f", "t")), 2: ("a", ("no", "yes"))}
    # As pyAgrum: the axes of the array are those of names, backwards.
    factor = SimpleNamespace(names=("a", "b"), toarray=lambda: np.array([[1, 2], [3, 4]]))
    field = SimpleNamespace(
        nodes=lambda: {4, 2},
        variable=lambda node: SimpleNamespace(
            name=lambda: variables[node][0], labels=lambda: variables[node][1]
        ),
        factors=lambda: [{2, 4}],
        factor=lambda scope: factor,
    )
    model, states = from_pyagrum(field)
    assert states == {"a": ("no", "yes"), "b": ("f", "t")}
    assert math.exp(model.score({"a": 1, "b": 0})) == pytest.approx(2)


@pytest.fixture
def field():
    gum = pytest.importorskip("pyagrum")
    field = gum.fastMRF("a{no|yes}--b{off|on};b--c[2];c--d[2];d--a;e[2]--c;e--a")
    rng = np.random.default_rng(3)
    for scope in field.factors():
        table = rng.uniform(0.1, 5, (2, 2))
        field.factor(scope).fillWith(table.ravel().tolist())
    return field


def test_scores_equal_pyagrums_own_product(field) -> None:
    model, states = from_pyagrum(field)
    assert states["a"] == ("no", "yes")
    assert states["c"] == ("0", "1")
    for x in oracle.assignments(model.n):
        value = math.prod(
            factor[dict(zip(factor.names, map(places.get, factor.names), strict=True))]
            for places in [dict(zip(model.labels, x.tolist(), strict=True))]
            for factor in map(field.factor, field.factors())
        )
        assert math.exp(model.score(x)) == pytest.approx(value, rel=1e-9)


def test_marginals_and_map_equal_pyagrums(field) -> None:
    gum = pytest.importorskip("pyagrum")
    evidence = {"c": "1"}
    model, states = from_pyagrum(field, evidence)
    assert "c" not in states
    inference = gum.ShaferShenoyMRFInference(field)
    inference.setEvidence(evidence)
    inference.makeInference()
    for name, found in name_marginals(mr.marginals(model).p, states).items():
        assert list(found.values()) == pytest.approx(inference.posterior(name).tolist())
    joint = gum.ShaferShenoyMRFInference(field)
    joint.setEvidence(evidence)
    joint.addJointTarget(set(states))
    joint.makeInference()
    ((best, *_), _) = joint.jointPosterior(set(states)).argmax()
    result = mr.solve(model)
    assert result.assignment == best
    named = {name: states[name][value] for name, value in best.items()}
    assert name_assignment(result.x, states) == named
