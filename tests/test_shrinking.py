import networkx as nx
import numpy as np
import pytest

from mapreroot import UprootedModel
from mapreroot.generate import cube, torus
from mapreroot.limits import Limits
from mapreroot.relaxations import cycles
from mapreroot.relaxations.cuts import Cuts
from mapreroot.relaxations.cycles import CycleLP, solve_cycle_lp
from mapreroot.relaxations.shrinking import UNDECIDED, shrink
from mapreroot.rerooting import uproot
from tests.relaxation_points import KINDS, check_cuts, random_model, tri_by_linprog


@pytest.fixture
def always(monkeypatch):
    """Let every round of every model look ahead."""
    monkeypatch.setattr(cycles, "WORTH_SHRINKING", 2)
    monkeypatch.setattr(cycles, "STALL", np.inf)
    monkeypatch.setattr(cycles, "AGAIN", 0.0)
    monkeypatch.setattr(cycles, "SHRUNK", 0.6)


def random_shrunk(rng, kind):
    model = random_model(rng, int(rng.integers(4, 14)), kind, density=0.5)
    y = rng.integers(0, 2, model.n_vertices)
    d = (y[model.edges[:, 0]] != y[model.edges[:, 1]]).astype(np.float64)
    d[rng.random(model.m) < 0.2] = 0.3
    reduced = rng.normal(size=model.m) * (rng.random(model.m) < 0.9)
    return model, d, reduced, shrink(model, d, reduced, model.n_vertices // 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_model_scores_what_the_large_one_does(kind):
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(100):
        model, d, _, shrunk = random_shrunk(rng, kind)
        if shrunk is None:
            continue
        found += 1
        y = rng.integers(0, 2, (2, shrunk.model.n_vertices))
        whole = y[:, shrunk.forest.component] ^ shrunk.forest.parity
        small, large = shrunk.model.score, model.score
        assert small(y[0]) - small(y[1]) == pytest.approx(large(whole[0]) - large(whole[1]))
        i, j = shrunk.model.edges.T
        u, v = model.edges.T
        assert (shrunk.extend(y[0, i] != y[0, j]) == (whole[0, u] != whole[0, v])).all()
        merged = shrunk.joined != UNDECIDED
        assert (whole[0, u] != whole[0, v])[merged].tolist() == d[merged].tolist()
    assert found > 50


def test_the_surest_edges_are_merged():
    rng = np.random.default_rng(1)
    for _ in range(100):
        model, d, reduced, shrunk = random_shrunk(rng, "gaussian")
        graph = nx.Graph()
        graph.add_nodes_from(range(model.n_vertices))
        settled = (np.minimum(d, 1 - d) == 0) & (reduced != 0)
        for e in np.flatnonzero(settled):
            graph.add_edge(*model.edges[e].tolist(), weight=abs(reduced[e]), e=e)
        if shrunk is None:
            assert nx.number_connected_components(graph) > model.n_vertices // 2
            continue
        tree = nx.maximum_spanning_edges(graph, data=True)
        best = sorted((x["weight"], x["e"]) for _, _, x in tree)[::-1]
        count = model.n_vertices - model.n_vertices // 2
        assert shrunk.model.n_vertices == model.n_vertices // 2
        joined = np.flatnonzero(shrunk.joined != UNDECIDED)
        assert sorted(e for _, e in best[:count]) == joined.tolist()


def test_nothing_settled_nothing_merged():
    model = uproot(torus(6, 6, seed=0))
    half, one = np.full(model.m, 0.5), np.ones(model.m)
    assert shrink(model, half, one, 10) is None
    assert shrink(model, one, 0 * one, 10) is None


def test_all_merged_leaves_no_edge():
    model = UprootedModel(4, [(0, 1), (2, 3)], [1.0, -1.0])
    shrunk = shrink(model, np.array([0.0, 1.0]), np.array([-1.0, 1.0]), 2)
    assert shrunk.model.n_vertices == 2
    assert shrunk.model.m == 0
    assert shrunk.extend(np.zeros(0)).tolist() == [0.0, 1.0]
    assert len(shrunk.stretch(Cuts.none())) == 0


@pytest.mark.parametrize(
    "model",
    [
        torus(12, 12, fields="none", seed=0),
        torus(12, 12, couplings="pm1", fields="none", seed=1),
        cube(5, fields="none", seed=2),
    ],
)
def test_lifted_cuts_are_new_chordless_and_tight(model):
    lp = CycleLP(uproot(model))
    found = 0
    for _ in range(12):
        assert lp.solve() is None
        ahead = lp.look_ahead()
        if ahead is not None:
            check_cuts(lp.uprooted, ahead.cuts)
            assert abs(ahead.cuts.violation(ahead.d)).max(initial=0) < 1e-6
            assert not np.isin(ahead.cuts.name, lp.cuts.name).any()
            assert not len(lp.separator.cycle_cuts(ahead.d, 10))
            found += len(ahead.cuts)
        cuts = lp.separate()
        if not len(cuts):
            break
        lp.add(cuts)
    assert found > 50


@pytest.mark.parametrize("kind", KINDS)
def test_looking_ahead_does_not_change_the_value(kind, always):
    rng = np.random.default_rng(2)
    for _ in range(40):
        model = random_model(rng, int(rng.integers(5, 12)), kind)
        result = solve_cycle_lp(model)
        assert result.converged
        assert result.value == pytest.approx(tri_by_linprog(model), abs=1e-6)
        assert result.value >= tri_by_linprog(model) - 1e-9
        reached = model.constant - float(model.weights @ result.d) / 2
        assert reached == pytest.approx(result.value, abs=1e-6)


def test_looking_ahead_saves_rounds(monkeypatch):
    model = uproot(torus(40, 40, fields="none", seed=0))
    ahead = solve_cycle_lp(model)
    monkeypatch.setattr(cycles, "WORTH_SHRINKING", np.inf)
    plain = solve_cycle_lp(model)
    assert ahead.converged
    assert ahead.value == pytest.approx(plain.value, abs=1e-6)
    assert ahead.rounds < 0.8 * plain.rounds


def test_the_point_looked_at_is_shown(always):
    model = uproot(torus(8, 8, fields="none", seed=3))
    seen = []
    result = solve_cycle_lp(model, on_round=lambda _, bound, __, d: seen.append((bound, d)))
    assert len(seen) == result.rounds
    for bound, d in seen:
        assert d.shape == (model.m,)
        assert bound >= result.value - 1e-9


def test_limits_end_it_too(always):
    model = uproot(torus(12, 12, fields="none", seed=0))
    lp = CycleLP(model)
    lp.solve()
    assert lp.look_ahead(Limits(0.0)) is None
    assert solve_cycle_lp(model, limits=Limits(0.0)).stopped == "time"


def test_equal_cuts_have_equal_names():
    one = Cuts(np.array([0, 3, 7]), np.array([4, 0, 2, 5, 6, 1, 3]), np.arange(7) % 2 == 0)
    other = Cuts(
        np.array([0, 3, 7]), np.array([0, 2, 4, 3, 1, 6, 5]), np.array([0, 1, 1, 1, 0, 1, 0]) > 0
    )
    names = one.name
    assert names[0] == other.name[0]
    assert names[1] != names[0]
    assert len(Cuts.none().name) == 0
