import itertools
import os
import signal

import networkx as nx
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import finite_floats, models, planted_balanced, small_integers

from mapreroot import Model, ModelError, invariance, tightness, uproot
from mapreroot.balance import balance
from mapreroot.generate import complete, torus
from mapreroot.limits import Limits

potentials = st.one_of(small_integers, finite_floats)


def clique(n, weight=-2.0):
    return Model([0] * n, list(itertools.combinations(range(n), 2)), [weight] * (n * (n - 1) // 2))


@settings(max_examples=30)
@given(models(max_n=6, potentials=potentials))
def test_the_report_agrees_with_brute_force(model):
    report = tightness(model, roots="all")
    best = oracle.best_score(model)
    slack = 1e-7 * (1 + abs(best))
    assert report.score == pytest.approx(best, abs=slack)
    assert report.loc_tight == (report.loc - best <= slack)
    assert report.best_loc_tight == (report.best_loc - best <= slack)
    assert report.tri_tight == (report.tri - best <= slack)
    assert report.loc_by_root[0] == pytest.approx(report.loc)
    assert min(report.loc_by_root.values()) == pytest.approx(report.best_loc, abs=slack)
    assert report.loc_by_root[report.best_root] == pytest.approx(report.best_loc, abs=slack)


@settings(max_examples=30)
@given(models(max_n=6, potentials=potentials))
def test_theorem_3_tri_is_the_same_at_every_root(model):
    values = invariance(model)
    assert set(values) == set(range(model.n + 1))
    assert max(values.values()) - min(values.values()) <= 1e-6 * (1 + abs(values[0]))


@settings(max_examples=30)
@given(models(max_n=6, potentials=potentials))
def test_a_structural_reason_is_never_wrong(model):
    report = tightness(model)
    if "TRI is tight" in report.reason:
        assert report.tri_tight
    if report.reason.startswith("M is balanced"):
        assert report.loc_tight
        flips = report.witness["switching_set"]
        for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True):
            assert (w > 0) == ((i + 1 in flips) == (j + 1 in flips))
    if "hitting_set" in report.witness:
        kept = [v for v in range(model.n + 1) if v not in report.witness["hitting_set"]]
        uprooted = uproot(model)
        inner = [
            (kept.index(i), kept.index(j), w)
            for (i, j), w in zip(uprooted.edges.tolist(), uprooted.weights.tolist(), strict=True)
            if i in kept and j in kept
        ]
        rest = Model([0] * len(kept), [e[:2] for e in inner], [e[2] for e in inner])
        assert balance(rest).is_balanced


@given(planted_balanced(max_n=6), st.data())
def test_a_hidden_root_is_named(model, data):
    hidden = uproot(model).reroot(data.draw(st.integers(0, model.n)))
    report = tightness(hidden)
    assert report.best_loc_tight
    assert report.tri_tight
    assert "balanced" in report.reason


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (clique(3, 2.0), "M is balanced"),
        (clique(3), "without vertex 1 is balanced"),
        (clique(4), "vertices 1 and 2 hit every frustrated cycle"),
        (clique(5), "pentagonal inequality on vertices 1-2-3-4-5"),
        (torus(4, 4, couplings="pm1", seed=0), "TRI"),
    ],
    ids=["attractive", "K3", "K4", "K5", "torus"],
)
def test_reasons(model, reason):
    assert reason in tightness(model).reason


def test_blocks_and_planar_graphs():
    # Two copies of K4 at a distance: no two vertices hit all, but two of each block do.
    edges = list(itertools.combinations(range(4), 2))
    both = edges + [(i + 4, j + 4) for i, j in edges]
    report = tightness(Model([0] * 8, both, [-2.0] * 12))
    assert "each block" in report.reason
    assert len(report.witness["block_roots"]) == 2
    # The icosahedron is planar, of degree 5, and has many disjoint frustrated triangles.

    solid = nx.icosahedral_graph()
    report = tightness(Model.from_maxcut(solid, default=1))
    assert "planar" in report.reason
    assert report.tri_tight


def test_an_unknown_map_leaves_tightness_open():
    model = complete(70, couplings="pm1", fields="none", seed=1)
    report = tightness(model, time_limit=0.0)
    assert report.bound >= report.score
    assert report.loc_tight in (False, None)


def test_the_time_limit_is_for_tri_too():
    model = torus(12, 12, fields="none", seed=0)
    late, full = tightness(model, time_limit=0.0), tightness(model)
    assert (late.stopped, late.tri_converged) == ("time", False)
    assert (full.stopped, full.tri_converged) == (None, True)
    assert late.tri >= full.tri
    assert late.bound >= full.score
    assert late.tri_tight is None
    assert invariance(model, [0, 3], Limits(seconds=0.0)) == {}


def test_progress_and_ctrl_c():
    model = torus(12, 12, fields="none", seed=0)
    seen, states = [], []
    full = tightness(model, on_progress=lambda *s: seen.append(s), progress=states.append)
    assert seen[-1][0] == pytest.approx(full.tri)
    assert states

    def press(bound, rounds, n_cuts):
        if rounds == 2:
            os.kill(os.getpid(), signal.SIGINT)

    report = tightness(model, on_progress=press)
    assert (report.stopped, report.tri_converged) == ("interrupted", False)
    assert report.tri >= full.tri
    assert report.score <= full.score <= report.bound <= report.tri


def test_roots_must_exist():
    with pytest.raises(ModelError, match="no vertex 7"):
        tightness(clique(3), roots=[7])
    assert tightness(clique(3), roots=[1, 2]).loc_by_root == {1: 2.0, 2: 2.0}
