"""Branch and bound against enumeration, with every part of it forced to work."""

import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapreroot.exact import search as module
from mapreroot.exact import semidefinite_nodes
from mapreroot.exact.enumeration import enumerate_map
from mapreroot.exact.local_search import find, refine
from mapreroot.exact.search import Search, search
from mapreroot.limits import Limits
from mapreroot.model import TOL, UprootedModel


def random_model(seed, most=15):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    density = rng.choice([0.2, 0.4, 0.7, 1.0])
    pairs = [e for e in itertools.combinations(range(n), 2) if rng.random() < density]
    m = len(pairs)
    weights = [
        rng.normal(size=m),
        rng.integers(-3, 4, m).astype(float),
        -np.abs(rng.normal(size=m)),
        rng.choice([-1.0, 1.0], m),
        np.exp(4 * rng.normal(size=m)) * rng.choice([-1, 1], m),
    ][seed % 5]
    return UprootedModel(n, np.array(pairs).reshape(-1, 2), weights, float(rng.normal()))


def torus(side, seed, weights="gauss", dimensions=2):
    rng = np.random.default_rng(seed)
    at = np.arange(side**dimensions).reshape((side,) * dimensions)
    edges = [
        np.stack([at.ravel(), np.roll(at, -1, axis).ravel()], axis=1) for axis in range(dimensions)
    ]
    edges = np.concatenate(edges)
    W = rng.normal(size=len(edges)) if weights == "gauss" else rng.choice([-2.0, 2.0], len(edges))
    return UprootedModel(side**dimensions, edges, W)


def complete(n, seed, weights="gauss"):
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n), 2))
    m = len(pairs)
    W = rng.normal(size=m) if weights == "gauss" else rng.choice([-2.0, 2.0], m)
    return UprootedModel(n, pairs, W)


def check(uprooted, seed=0):
    found = search(uprooted, seed=seed)
    best = enumerate_map(uprooted).bound
    slack = 2 * TOL * float(np.abs(uprooted.weights).max(initial=0.0)) + 1e-300
    assert found.stopped is None
    assert abs(uprooted.score(found.y) - best) <= slack
    assert best - slack <= found.bound <= best + slack


@pytest.fixture(params=["as it is", "cycle LP", "semidefinite"])
def engine(request, monkeypatch):
    """The whole search, or one kind of bound on everything down to three vertices."""
    if request.param != "as it is":
        monkeypatch.setattr(module, "_SMALL", 3)
        monkeypatch.setattr(
            semidefinite_nodes, "_DENSE", 0.0 if request.param == "semidefinite" else np.inf
        )
        monkeypatch.setattr(semidefinite_nodes, "_HALF_DENSE", np.inf)
        # No heuristic does the work beforehand.
        monkeypatch.setattr(module, "find", lambda uprooted, *_: np.zeros(uprooted.n_vertices))
        # Nor does the first bound.
        monkeypatch.setattr(module, "sdp_bound", partial(module.sdp_bound, rounds=3))
    return request.param


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_of_random_models(engine, seed):
    check(random_model(seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_the_optimum_of_very_many_random_models(engine, block):
    for seed in range(1000 + 500 * block, 1500 + 500 * block):
        check(random_model(seed, 16), seed)


@pytest.mark.parametrize("weights", ["gauss", "sign"])
def test_a_torus_is_proved_by_the_cycle_lp(weights):
    uprooted = torus(14, 1, weights)
    found = search(uprooted)
    assert found.stopped is None
    assert found.bound == pytest.approx(uprooted.score(found.y), abs=1e-8)


def test_a_dense_model_is_proved_by_the_semidefinite_bound():
    uprooted = complete(26, 2)
    found = search(uprooted)
    assert found.stopped is None
    assert found.bound == pytest.approx(uprooted.score(found.y), abs=1e-8)
    # Both bounds agree on what the optimum is.
    assert uprooted.score(find(uprooted, rounds=4)) == pytest.approx(found.bound)


def test_branching_happens_and_proves(monkeypatch):
    monkeypatch.setattr(semidefinite_nodes, "_DENSE", np.inf)
    monkeypatch.setattr(semidefinite_nodes, "_HALF_DENSE", np.inf)
    uprooted = complete(24, 4, "sign")
    found = search(uprooted)
    assert found.nodes > 1
    assert found.bound == enumerate_map(uprooted).bound == uprooted.score(found.y)


def test_the_semidefinite_bound_branches_and_proves(monkeypatch):
    monkeypatch.setattr(module, "sdp_bound", partial(module.sdp_bound, rounds=3))
    uprooted = complete(23, 4)
    found = search(uprooted)
    assert found.nodes > 1
    best = enumerate_map(uprooted).bound
    assert found.bound == pytest.approx(best)
    assert uprooted.score(found.y) == pytest.approx(best)


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_a_seed_fixes_the_answer(seed):
    uprooted = complete(23, seed % 5)
    once, again = search(uprooted, seed=seed), search(uprooted, seed=seed)
    assert (once.y == again.y).all()
    assert (once.bound, once.nodes) == (again.bound, again.nodes)


def test_no_time_gives_an_assignment_and_a_bound():
    uprooted = torus(12, 3)
    found = search(uprooted, Limits(seconds=0.0))
    assert found.stopped == "time"
    assert found.bound >= uprooted.score(found.y)
    assert np.isfinite(found.bound)


def test_a_node_limit_leaves_a_true_bound(monkeypatch):
    monkeypatch.setattr(semidefinite_nodes, "_DENSE", np.inf)
    monkeypatch.setattr(semidefinite_nodes, "_HALF_DENSE", np.inf)
    uprooted = complete(24, 4, "sign")
    optimum = search(uprooted).bound
    found = search(uprooted, Limits(nodes=1))
    assert found.stopped == "nodes"
    assert found.bound >= optimum > uprooted.score(found.y) - 1e-9


@pytest.mark.parametrize("engine", ["cycles", "semidefinite"])
def test_a_stopped_search_goes_on_where_it_was(engine, monkeypatch):
    if engine == "cycles":
        monkeypatch.setattr(semidefinite_nodes, "_DENSE", np.inf)
        monkeypatch.setattr(semidefinite_nodes, "_HALF_DENSE", np.inf)
    else:
        monkeypatch.setattr(module, "sdp_bound", partial(module.sdp_bound, rounds=3))
    uprooted = complete(24, 4, "sign")
    whole = search(uprooted)
    stopped = Search(uprooted, Limits())
    bounds = []
    for nodes in range(1, whole.nodes):
        found = stopped.run(Limits(nodes=nodes))
        assert (found.stopped, found.nodes) == ("nodes", nodes)
        bounds.append(found.bound)
    assert bounds == sorted(bounds, reverse=True)
    last = stopped.run(Limits())
    assert last.stopped is None
    assert (last.bound, last.nodes) == (whole.bound, whole.nodes)
    assert (last.y == whole.y).all()


@settings(max_examples=6)
@given(st.integers(0, 10**6))
def test_pieces_of_time_prove_the_same_optimum(seed):
    uprooted = [torus(14, seed), torus(12, seed, "sign"), complete(30, seed)][seed % 3]
    pieces = Search(uprooted, Limits(seconds=0.01))
    found = pieces.run(Limits(seconds=0.01))
    while found.stopped == "time":
        found = pieces.run(Limits(seconds=2 * found.nodes / 100))
    assert found.bound == pytest.approx(search(uprooted).bound)
    assert uprooted.score(found.y) == pytest.approx(found.bound)


def test_ctrl_c_gives_the_incumbent():
    limits = Limits()
    uprooted = complete(60, 1)
    limits.interrupted = True
    found = search(uprooted, limits)
    assert found.stopped == "interrupted"
    assert found.bound >= uprooted.score(found.y)


def test_a_gap_is_absolute():
    uprooted = torus(12, 3)
    optimum = search(uprooted).bound
    found = search(uprooted, gap=0.1)
    assert found.stopped is None
    assert optimum <= found.bound <= uprooted.score(found.y) + 0.1 + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_a_gap_leaves_a_true_bound(seed, monkeypatch):
    monkeypatch.setattr(semidefinite_nodes, "_DENSE", np.inf)
    monkeypatch.setattr(semidefinite_nodes, "_HALF_DENSE", np.inf)
    monkeypatch.setattr(module, "_SMALL", 3)
    # A poor start, so that the optimum may be among what the gap cuts off.
    monkeypatch.setattr(module, "find", lambda uprooted, *_: np.zeros(uprooted.n_vertices))
    uprooted = complete(12, seed)
    found = search(uprooted, gap=0.5)
    assert found.bound >= enumerate_map(uprooted).bound - 1e-9
    assert found.bound <= uprooted.score(found.y) + 0.5 + 1e-9


def test_the_start_is_never_lost():
    uprooted = torus(10, 7)
    best = search(uprooted).y
    found = search(uprooted, Limits(seconds=0.0), initial=best)
    assert uprooted.score(found.y) >= uprooted.score(best)


def test_progress_shows_scores_and_bounds_that_close_in():
    seen = []
    uprooted = complete(24, 4, "sign")
    found = search(uprooted, on_progress=lambda *state: seen.append(state))
    assert seen
    scores, bounds, nodes = map(np.array, zip(*seen, strict=True))
    assert (np.diff(scores) >= 0).all()
    assert (np.diff(nodes) > 0).all()
    assert (bounds >= uprooted.score(found.y) - 1e-9).all()


def test_blocks_are_searched_apart():
    # Two tori that share a vertex: the reduction leaves two large blocks.
    one, other = torus(7, 1), torus(7, 2)
    edges = np.concatenate([one.edges, other.edges + 48])
    both = UprootedModel(97, edges, np.concatenate([one.weights, other.weights]))
    found = search(both)
    assert found.bound == pytest.approx(search(one).bound + search(other).bound)
    assert both.score(found.y) == pytest.approx(found.bound)


@pytest.mark.parametrize(
    ("path", "optimum"),
    [
        ("rudy/pm1s_80.0.mc", 79),
        ("rudy/g05_60.0.mc", 536),
        ("ising/t3g5_5555.mc", 10933215),
        ("gset/G11.txt", 564),
    ],
)
def test_public_instances(shared, path, optimum):
    lines = (shared / "instances" / path).read_text().splitlines()
    n = int(lines[0].split()[0])
    rows = [line.split() for line in lines[1:] if line.strip()]
    edges = [(int(i) - 1, int(j) - 1) for i, j, _ in rows]
    uprooted = UprootedModel(n, edges, [-2 * float(w) for *_, w in rows])
    found = search(uprooted)
    assert (uprooted.score(found.y), found.bound) == (optimum, optimum)


@pytest.fixture
def walks(monkeypatch):
    """Seconds that each walk by the clock was given; none takes any of them."""
    given = []

    def at_once(uprooted, seed, limits, initial=None):
        given.append(limits.left())
        return find(uprooted, rounds=0, initial=initial)

    monkeypatch.setattr(module, "find_by_the_clock", at_once)
    return given


def test_large_models_are_walked_first_for_half_of_the_time(monkeypatch, walks):
    monkeypatch.setattr(module, "_LARGE", 100)
    model = torus(10, 0)
    Search(model, Limits(1000.0))
    assert walks == pytest.approx([500.0], rel=0.01)
    counted = []
    monkeypatch.setattr(module, "find", lambda *args: counted.append(args[-2:]) or np.zeros(100))
    Search(model, Limits())
    monkeypatch.setattr(module, "_VISITS", 9 * (100 + 400))
    Search(model, Limits())
    assert counted == [(1, 50), (1, 9)]
    # Small ones do not look at the clock, so that their answer does not depend on it.
    monkeypatch.setattr(module, "_LARGE", 101)
    Search(model, Limits(1000.0))
    assert counted[2:] == [(None, 0)]
    assert len(walks) == 1


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by a thousandth of a second whenever somebody looks at it."""
    ticks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(ticks) / 1000)
    monkeypatch.setattr("mapreroot.limits.time", clock)


@pytest.mark.usefixtures("ticking")
def test_walks_take_the_time_of_a_proof_that_is_not_near(walks):
    model = torus(8, 3, "sign", dimensions=3)
    limits = Limits(0.3)
    found = Search(model, limits).run(limits)
    assert found.stopped == "time"
    assert 0 < walks[0] <= (1 - module._TRIAL) * 0.3
    assert limits.reason() == "time"  # nothing is given back
    assert found.bound >= model.score(found.y)


def test_walks_take_no_longer_than_so_many_sweeps(monkeypatch):
    search = Search(torus(8, 3, "sign", dimensions=3), Limits())
    monkeypatch.setattr(module, "_LONGEST", 7.0 / (512 + 2 * 1536))
    seconds = np.array([1.0, 8.0, 10.0, 14.0, 70.0, np.inf])
    parts = [search._trial(s) for s in seconds]
    assert parts == pytest.approx([0.3, 0.3, 0.3, 0.5, 0.9, 1.0])


@pytest.mark.usefixtures("ticking")
def test_a_search_without_time_for_its_first_program_is_all_walks(monkeypatch, walks):
    monkeypatch.setattr(module, "_SETUP_SECONDS", 1.0)
    monkeypatch.setattr(Search, "_branch_and_bound", None)
    model = torus(8, 3, "sign", dimensions=3)
    found = Search(model, Limits()).run(Limits(0.1))
    assert (found.stopped, found.nodes) == ("time", 0)
    assert walks == pytest.approx([0.1], rel=0.1)
    trivial = module.trivial_bound(model)
    assert trivial - 2.0 < found.bound <= trivial  # rounded down to an even cut


@pytest.mark.usefixtures("ticking")
def test_a_large_model_is_only_refined_after_its_first_walk(monkeypatch, walks):
    monkeypatch.setattr(module, "_LARGE", 512)
    sweeps = []

    def refined(uprooted, y, seed, limits, count):
        sweeps.append(count)
        return refine(uprooted, y, seed, limits, count)

    monkeypatch.setattr(module, "refine", refined)
    model = torus(8, 3, "sign", dimensions=3)
    limits = Limits(0.3)
    found = Search(model, limits).run(limits)
    assert found.stopped == "time"
    assert walks == pytest.approx([0.15], rel=0.05)
    assert sweeps[-1] is None


def test_a_bound_that_comes_near_has_the_rest_of_the_time():
    model = torus(20, 2)
    search = Search(model, Limits())
    search.whole = Limits(1000.0)
    search.limits = search.whole.part(0.5)
    score = search.incumbent.score
    first = search.trivial - score
    search._hope(score + 1.01 * module._NEAR * first)
    assert (search.near, search.limits.left() <= 500.0) == (False, True)
    search._hope(score + 0.99 * module._NEAR * first)
    assert (search.near, search.limits.left() > 900.0) == (True, True)
    assert Search(torus(9, 2), Limits()).near  # as every small model is


def test_without_time_there_is_still_a_bound():
    uprooted = torus(6, 0)
    found = search(uprooted, Limits(seconds=0.0))
    assert (found.stopped, found.nodes) == ("time", 0)
    assert uprooted.score(found.y) <= search(uprooted).bound <= found.bound
