import itertools
import os
import signal

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models, planted_balanced, small_integers

from mapreroot import Model, ModelError, relax, uproot
from mapreroot.generate import torus
from mapreroot.limits import Limits
from mapreroot.relaxations import declarative
from polytopes.semimetric import met

potentials = st.one_of(small_integers, finite_floats)


def scale(model):
    return float(np.abs(np.concatenate([model.theta, model.weights, [0.0]])).max())


def objective(uprooted, d):
    return uprooted.constant - uprooted.weights @ d / 2


@given(models(min_n=1, max_n=6, potentials=potentials), st.data())
def test_loc_is_the_linear_program(model, data):
    root = data.draw(st.integers(0, model.n))
    uprooted = uproot(model)
    found = relax(model, "loc", root=root)
    reference = declarative.loc(uprooted, root)
    assert found.bound == pytest.approx(reference.bound, abs=1e-7 * (1 + scale(model)))
    assert objective(uprooted, found.d) == pytest.approx(found.bound, abs=1e-9 * (1 + scale(model)))
    assert (found.q is None) == (root != 0)
    if root == 0:
        assert set(np.unique(found.q)) <= {0.0, 0.5, 1.0}


@given(models(min_n=1, max_n=6, potentials=potentials))
def test_tri_is_the_linear_program(model):
    uprooted = uproot(model)
    found = relax(model, "tri")
    reference = declarative.tri(uprooted)
    assert found.bound == pytest.approx(reference.bound, abs=1e-6 * (1 + scale(model)))
    assert found.converged
    assert found.root is None


@given(models(min_n=2, max_n=5, potentials=potentials), st.data())
def test_d_on_all_pairs_stays_in_its_polytope(model, data):
    N = model.n + 1
    pairs = list(itertools.combinations(range(N), 2))
    A, b = met(N)
    whole = relax(model, "tri", pairs=pairs)
    assert (A @ whole.d <= b + 1e-6).all()
    root = data.draw(st.integers(0, model.n))
    rooted = relax(model, "loc", root=root, pairs=pairs)
    index = {pair: k for k, pair in enumerate(pairs)}
    for i, j in pairs:
        if root in (i, j):
            continue
        a, c = (rooted.d[index[min(root, v), max(root, v)]] for v in (i, j))
        value = rooted.d[index[i, j]]
        assert abs(a - c) - 1e-9 <= value <= min(a + c, 2 - a - c) + 1e-9


@given(models(max_n=7, potentials=potentials), st.data())
def test_bounds_are_in_order_and_tight_means_attained(model, data):
    best = oracle.best_score(model)
    loc = relax(model, "loc", root=data.draw(st.integers(0, model.n)))
    tri = relax(model, "tri")
    slack = 1e-8 * (1 + scale(model))
    assert best <= tri.bound + slack
    assert tri.bound <= loc.bound + slack
    for found in (loc, tri):
        assert found.score == model.score(found.x)
        assert found.is_tight == (found.bound - best <= slack)


@given(models(min_n=1, max_n=7, potentials=potentials), st.data())
def test_persistent_values_are_in_every_optimum(model, data):
    root = data.draw(st.integers(0, model.n))
    found = relax(model, "loc", root=root)
    best = oracle.best_score(model)
    optima = [x for x in oracle.assignments(model.n) if model.score(x) == best]
    for x in optima:
        y = np.concatenate([[0], x])
        assert all(x[label] == value for label, value in found.persistent.items())
        assert all(y[v] ^ y[root] == value for v, value in found.relations.items())


@given(planted_balanced(max_n=7))
def test_loc_is_tight_where_balanced(model):
    assert relax(model, "loc").is_tight


def test_persistency_keeps_away_from_small_terms_beside_large_ones():
    model = Model.from_qubo(
        {("a", "a"): 1e18, ("b", "b"): -1e18, ("c", "c"): 0.3, ("a", "b"): -5e17, ("b", "c"): -0.1}
    )
    assert relax(model, "loc").persistent.get("c", 0) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("magic",), "'magic'"),
        (("loc", 3), "no vertex 3"),
        (("loc", 0, [(0, 3)]), r"0\.\.3"),
        (("loc", 0, [(0, 1, 2)]), "expected int"),
        (("tri", 0, [(0.5, 1.0)]), "expected int"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ModelError, match=message):
        relax(Model([1.0, 2.0], [(0, 1)], [1.0]), *arguments)


def test_a_limit_leaves_a_bound():
    n = 40
    rng = np.random.default_rng(0)
    edges = list(itertools.combinations(range(n), 2))
    model = Model(np.zeros(n), edges, rng.normal(size=len(edges)))
    stopped = relax(model, "tri", limits=Limits(seconds=0.0))
    assert not stopped.converged
    assert stopped.is_tight is None
    assert stopped.stopped == "time"
    full = relax(model, "tri")
    assert stopped.bound >= full.bound - 1e-6
    assert full.stopped is None


def test_progress_and_ctrl_c():
    model = torus(12, 12, fields="none", seed=0)
    seen = []

    def press(bound, rounds, n_cuts):
        seen.append((bound, rounds, n_cuts))
        if rounds == 2:
            os.kill(os.getpid(), signal.SIGINT)

    some = relax(model, "tri", on_progress=press)
    assert some.stopped == "interrupted"
    assert not some.converged
    assert [rounds for _, rounds, _ in seen] == [1, 2]
    assert some.bound == pytest.approx(seen[-1][0])
    assert some.bound >= relax(model, "tri").bound
