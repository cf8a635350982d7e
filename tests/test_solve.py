import importlib
import itertools
import math
import pickle
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import finite_floats, models, planted_balanced, small_integers, trees

from mapreroot import (
    Model,
    ModelError,
    NotATreeError,
    NotBalancedError,
    SizeError,
    solve,
    uproot,
    verify,
)
from mapreroot.generate import complete, hidden_root, torus
from mapreroot.limits import Limits

potentials = st.one_of(small_integers, finite_floats)
FRUSTRATED = Model([0.2, 0, 0], [(0, 1), (1, 2), (0, 2)], [-1.0, -1.0, -1.0])


def check(result, model, best=None):
    """What holds of every answer, whatever the method."""
    assert result.score == model.score(result.x)
    assert math.isfinite(result.bound)
    assert result.bound >= result.score
    assert result.assignment == dict(zip(model.labels, result.x.tolist(), strict=True))
    assert result.gap == (result.bound - result.score) / max(1.0, abs(result.score))
    if best is not None:
        scale = float(np.abs(np.concatenate([model.theta, model.weights, [0.0]])).max())
        assert result.bound >= best - 1e-9 * scale
        if result.status == "optimal":
            assert result.score == pytest.approx(best, abs=1e-8 * (scale + 1e-300))


@given(models(max_n=8, potentials=potentials))
def test_auto_is_optimal(model):
    result = solve(model)
    check(result, model, oracle.best_score(model))
    assert result.status == "optimal"
    assert result.stopped is None


@pytest.mark.parametrize("method", ["exact", "enumerate"])
@given(models(max_n=8, potentials=potentials))
def test_exact_methods_are_optimal(method, model):
    result = solve(model, method=method)
    check(result, model, oracle.best_score(model))
    assert result.status == "optimal"


@pytest.mark.parametrize("method", ["loc", "tri"])
@given(models(max_n=7, potentials=potentials))
def test_relaxations_bound_and_never_claim_too_much(method, model):
    check(solve(model, method=method), model, oracle.best_score(model))


@given(models(max_n=6, potentials=potentials), st.data())
def test_loc_at_a_root_of_the_users_choice(model, data):
    root = data.draw(st.integers(0, model.n))
    result = solve(model, method="loc", root=root)
    check(result, model, oracle.best_score(model))
    assert result.root == root


@given(trees(max_n=8, potentials=potentials))
def test_forests_go_through_dynamic_programming(model):
    for method in ("auto", "tree"):
        result = solve(model, method=method)
        check(result, model, oracle.best_score(model))
        assert (result.status, result.method) == ("optimal", "tree")


@given(planted_balanced(max_n=8), st.data())
def test_a_balanced_rooting_is_found_and_cut(model, data):
    root = data.draw(st.integers(0, model.n))
    hidden = uproot(model).reroot(root)
    for method in ("auto", "maxflow"):
        result = solve(hidden, method=method)
        check(result, hidden, oracle.best_score(model))
        assert result.status == "optimal"
        assert result.method in ("maxflow", "tree")


def test_hidden_root():
    model = hidden_root(12, 12, seed=1)
    result = solve(model)
    assert (result.status, result.method) == ("optimal", "maxflow")
    assert result.root == 6 * 12 + 6 + 1
    with pytest.raises(NotBalancedError):
        solve(model, method="maxflow", root=0)


def test_blocks_have_roots_of_their_own():
    # Two K5 share a vertex, and each is balanced only without a vertex of its own.
    def k5(vertices, hub):
        edges = [(a, b) for k, a in enumerate(vertices) for b in vertices[k + 1 :]]
        signs = [-1.0 if hub in edge and sum(edge) % 2 else 1.0 for edge in edges]
        return edges, [sign * (3 + 0.1 * k) for k, sign in enumerate(signs)]

    left, right = k5([0, 1, 2, 3, 4], 0), k5([4, 5, 6, 7, 8], 8)
    model = Model([0] * 9, left[0] + right[0], left[1] + right[1])
    with pytest.raises(NotBalancedError, match="balanced"):
        solve(model, method="maxflow")
    result = solve(model)
    check(result, model, oracle.best_score(model))
    assert (result.status, result.method, result.root) == ("optimal", "exact", None)
    assert sorted(result.block_roots) == [1, 9]
    assert result.nodes == 0


def test_errors_carry_the_cycle():
    with pytest.raises(NotBalancedError, match="balanced") as caught:
        solve(FRUSTRATED, method="maxflow", root=0)
    assert sorted(caught.value.cycle) == [1, 2, 3]
    pickled = pickle.loads(pickle.dumps(caught.value))
    assert pickled.cycle == caught.value.cycle
    with pytest.raises(NotATreeError, match="cycle") as tree:
        solve(FRUSTRATED, method="tree", root=0)
    assert sorted(tree.value.cycle) == [1, 2, 3]
    assert solve(FRUSTRATED, method="tree").score == pytest.approx(1.2)
    two = Model([0] * 6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)], [-1.0] * 6)
    with pytest.raises(NotATreeError, match="cycle"):
        solve(two, method="tree")
    with pytest.raises(NotBalancedError, match="cycle"):
        solve(two, method="maxflow")
    assert solve(two).score == 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "'magic': expected one of auto"),
        ({"root": 4}, r"root is 4: the vertices of M\+ are 0\.\.3"),
        ({"root": -1}, "root is -1"),
        ({"time_limit": -1}, "time_limit is -1"),
        ({"time_limit": math.nan}, "time_limit is nan"),
        ({"gap": -0.1}, "gap is -0.1"),
        ({"nodes": -1}, "nodes is -1"),
        ({"initial": [0, 1]}, "initial"),
        ({"initial": [0, 1, 2]}, "initial"),
        ({"initial": {0: 1}}, "initial"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ModelError, match=message):
        solve(FRUSTRATED, **arguments)


def test_enumeration_has_a_limit():
    with pytest.raises(SizeError, match="30 variables"):
        solve(Model([0] * 30, [], []), method="enumerate")


def test_empty_and_zero_models():
    empty = solve(Model([], [], [], constant=2.5))
    assert (empty.score, empty.bound, empty.status, empty.assignment) == (2.5, 2.5, "optimal", {})
    for method in ("auto", "maxflow", "tree", "loc", "tri", "exact", "enumerate"):
        zero = solve(Model([0, 0, 0], [], [], constant=-1), method=method)
        assert (zero.score, zero.bound, zero.status) == (-1, -1, "optimal")


@given(models(min_n=1, max_n=6), st.data())
def test_hard_constraints_are_never_broken(free, data):
    row = st.tuples(
        st.integers(0, free.n - 1), st.integers(0, 1), st.integers(0, free.n - 1), st.just(1)
    ).filter(lambda r: r[0] != r[2])
    rows = data.draw(st.lists(row, max_size=5)) if free.n > 1 else []
    model = Model(free.theta, free.edges, free.weights, free.constant, forbidden=rows)
    best = max(model.score(x) for x in oracle.assignments(model.n))
    for method in ("auto", "exact", "loc", "tri"):
        result = solve(model, method=method)
        assert result.score > -math.inf
        assert result.bound >= best - 1e-6
        if method in ("auto", "exact"):
            assert result.score == pytest.approx(best, abs=1e-6)


@given(models(min_n=1, max_n=7, potentials=potentials), st.data())
def test_the_answer_is_never_worse_than_the_start(model, data):
    x = data.draw(st.lists(st.integers(0, 1), min_size=model.n, max_size=model.n))
    result = solve(model, method="loc", initial=x)
    assert result.score >= model.score(x)
    assert solve(model, initial=dict(zip(model.labels, x, strict=True))).status == "optimal"


def test_mixed_magnitudes_are_decided_at_their_own_scale():
    model = Model.from_qubo(
        {("a", "a"): 1e18, ("b", "b"): -1e18, ("c", "c"): 0.3, ("a", "b"): -5e17, ("b", "c"): -0.1},
        constant=0.25,
    )
    result = solve(model)
    assert result.assignment == {"a": 0, "b": 1, "c": 0}
    assert result.status == "optimal"


def test_the_same_answer_whatever_the_order_of_edges():
    model = complete(14, seed=3)
    order = np.random.default_rng(0).permutation(model.m)
    twin = Model(model.theta, model.edges[order][:, ::-1], model.weights[order])
    assert solve(twin, seed=5).x.tolist() == solve(model, seed=5).x.tolist()


def test_a_time_limit_is_kept_and_honest():
    model = torus(60, 60, couplings="gaussian", fields="none", seed=1)
    solve(torus(6, 6, seed=0))  # compiled before the clock is watched
    start = time.monotonic()
    result = solve(model, method="exact", time_limit=0.5)
    check(result, model)
    if result.status == "feasible":
        assert result.stopped == "time"
    assert time.monotonic() - start < 20  # a lost limit would take minutes
    none = solve(model, method="exact", time_limit=0.0)
    check(none, model)


def test_interrupting_returns_the_incumbent():
    model = complete(80, seed=0)
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    result = solve(model, method="exact", time_limit=60)
    timer.join()
    check(result, model)
    assert (result.status, result.stopped) == ("feasible", "interrupted")


def cube(side, seed):
    """A periodic cubic lattice with Gaussian couplings."""
    at = np.arange(side**3).reshape(side, side, side)
    pairs = [np.stack([at, np.roll(at, 1, axis)], axis=-1).reshape(-1, 2) for axis in range(3)]
    weights = np.random.default_rng(seed).normal(size=3 * side**3)
    return Model(np.zeros(side**3), np.concatenate(pairs), weights)


@pytest.fixture
def patient(monkeypatch):
    """Whoever asks hears that a day has gone by: so long a proof may take."""
    monkeypatch.setattr(Limits, "elapsed", lambda self: 86400.0)


@pytest.fixture
def interrupted(patient):
    """A search that is interrupted when its first node leaves a gap."""
    calls = itertools.count()

    def once(_):
        if next(calls) == 0:
            signal.raise_signal(signal.SIGINT)

    return partial(solve, cube(6, seed=9), progress=once)


def test_after_an_interrupt_there_is_time_for_a_certificate(interrupted):
    result = interrupted(certify=True)
    assert (result.status, result.stopped, result.proof) == ("feasible", "interrupted", "exact")
    assert result.proved_bound == pytest.approx(result.bound, rel=1e-9)


def test_another_interrupt_ends_the_certificate_too(interrupted, monkeypatch):
    proving = importlib.import_module("mapreroot.exact.prover")

    def reduced(*arguments):
        signal.raise_signal(signal.SIGINT)
        return steps(*arguments)

    steps = proving.reduced
    monkeypatch.setattr(proving, "reduced", reduced)
    result = interrupted(certify=True)
    assert (result.stopped, result.proof) == ("interrupted", "tolerance")
    assert result.proved_bound > result.bound


def test_limits_afresh():
    limits = Limits(seconds=1000.0, nodes=0, memory=10**12)
    limits.start -= 900.0
    limits.deadline -= 900.0
    again = limits.afresh()
    assert 900.0 < again.left() <= 1000.0
    assert again.reason() is None
    assert again.lacks(2 * 10**12)
    limits.interrupted = True
    assert 800.0 < limits.afresh().left() <= 901.0
    assert not limits.afresh().interrupted
    assert Limits().afresh().left() == math.inf


def test_a_gap_is_enough():
    model = torus(20, 20, couplings="gaussian", seed=2)
    loose = solve(model, gap=0.05)
    check(loose, model)
    assert loose.status == "optimal"
    assert loose.gap <= 0.05


def test_progress_is_monotone():
    seen = []
    result = solve(torus(16, 16, couplings="pm1", seed=4), progress=seen.append)
    assert result.status == "optimal"
    scores = [state.score for state in seen]
    bounds = [state.bound for state in seen]
    assert scores == sorted(scores)
    assert bounds == sorted(bounds, reverse=True)
    assert all(state.bound >= result.score - 1e-9 for state in seen)


def test_extending_a_conditioned_answer():
    model = Model([1.0, -1, 0.5], [(0, 1), (1, 2)], [2.0, -3.0], labels="abc")
    fixed = {"b": 1}
    result = solve(model.condition(fixed)).extend(model, fixed)
    assert list(result.assignment) == ["a", "b", "c"]
    assert result.assignment["b"] == 1
    assert result.score == model.score(result.x)


def _score(model):
    return solve(model).score


def test_threads_and_processes_agree():
    model = Model([-1.0, 1.0, 1.0], [(0, 1), (1, 2), (0, 2)], [3.0, -4.0, 4.0])
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(_score, [model] * 8)) == {1.5}
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(_score, model).result() == 1.5


@pytest.mark.slow
@settings(max_examples=10_000)
@given(models(max_n=14, potentials=potentials))
def test_ten_thousand_random_models(model):
    result = solve(model)
    best = solve(model, method="enumerate").score
    assert result.status == "optimal"
    scale = float(np.abs(np.concatenate([model.theta, model.weights, [0.0]])).max())
    assert result.score == pytest.approx(best, abs=1e-8 * scale + 1e-300)


@pytest.mark.parametrize("method", ["auto", "exact", "loc", "tri"])
@given(models(max_n=7, potentials=potentials))
def test_certificates_of_every_answer_hold(method, model):
    result = solve(model, method=method, certify=True)
    checked = verify(model, result.certificate)
    assert checked, checked.failure
    assert checked.score == result.score
    if result.status == "optimal":
        assert result.proof == "exact"
        assert result.bound == checked.bound


def test_a_certificate_in_no_time_or_with_a_gap_holds():
    model = torus(10, 10, couplings="gaussian", seed=3)
    hasty = solve(model, method="exact", time_limit=0.0, certify=True)
    assert verify(model, hasty.certificate)
    loose = solve(model, gap=0.1, certify=True)
    checked = verify(model, loose.certificate)
    assert checked
    assert checked.gap <= 0.1 + 1e-9


def ranked_by_enumeration(model):
    scores = [model.score(x) for x in oracle.assignments(model.n)]
    return sorted((score for score in scores if score > -math.inf), reverse=True)


def check_ranking(model, k, **options):
    result = solve(model, solutions=k, **options)
    expected = ranked_by_enumeration(model)[:k]
    scale = float(np.abs(np.concatenate([model.theta, model.weights, [1.0]])).max())
    assert result.complete
    assert (result.status, result.stopped) == ("optimal", None)
    assert result.scores == pytest.approx(expected, abs=1e-8 * scale)
    assert len(np.unique(result.solutions, axis=0)) == len(expected)
    assert result.scores.tolist() == [model.score(x) for x in result.solutions]
    assert (result.scores[:-1] >= result.scores[1:]).all()
    assert result.x.tolist() == result.solutions[0].tolist()
    assert result.score == result.scores[0]


@given(models(max_n=6, potentials=potentials), st.integers(1, 80))
def test_the_k_best(model, k):
    check_ranking(model, k)


@given(st.one_of(trees(max_n=6), planted_balanced(max_n=6)), st.integers(2, 9), st.data())
def test_the_k_best_of_forests_and_balanced_models(model, k, data):
    hidden = uproot(model).reroot(data.draw(st.integers(0, model.n)))
    check_ranking(hidden, k, method=data.draw(st.sampled_from(["auto", "exact", "enumerate"])))


def test_the_k_best_under_hard_constraints():
    model = Model([1.0, 2.0, 0.0], [(0, 1)], [1.0], forbidden=[(0, 1, 1, 1), (2, 1)])
    check_ranking(model, 2)
    result = solve(model, solutions=100)
    assert result.complete
    assert result.solutions.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert result.scores.tolist() == ranked_by_enumeration(model)


def test_the_k_best_across_blocks():
    # Three frustrated triangles in a chain, two of them with vertices that are balanced nowhere.
    edges = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4), (4, 5), (5, 6), (4, 6)]
    for k in (2, 5, 30):
        check_ranking(Model([0.5] * 7, edges, np.linspace(-2, -1, 9)), k)


@pytest.mark.parametrize("kind", ["gaussian", "pm1"])
def test_the_k_best_beyond_enumeration(kind):
    model = torus(5, 5, couplings=kind, fields="low", seed=3)
    result = solve(model, solutions=12)
    assert result.complete
    assert len(np.unique(result.solutions, axis=0)) == 12
    # Each is the best of the rest: what is left of every half that one variable makes of the
    # space, once those found are taken out, has nothing better.
    last = result.scores[-1]
    for label in (3, 11, 19):
        for value in (0, 1):
            part = model.condition({label: value})
            inside = result.solutions[:, label] == value
            best = solve(part, solutions=int(inside.sum()) + 1).scores[-1]
            assert best <= last + 1e-9


def test_solutions_at_a_limit_are_not_called_complete():
    model = complete(40, couplings="gaussian", seed=1)
    result = solve(model, solutions=5, nodes=0)
    assert not result.complete
    assert result.stopped == "nodes"
    assert len(result.solutions) == 5
    assert result.scores.tolist() == [model.score(x) for x in result.solutions]


def test_the_k_best_with_variables_put_back():
    fixed = {1: 1}
    part = FRUSTRATED.condition(fixed)
    whole = solve(part, solutions=4).extend(FRUSTRATED, fixed)
    assert whole.solutions.shape == (4, 3)
    assert (whole.solutions[:, 1] == 1).all()
    assert whole.scores.tolist() == [FRUSTRATED.score(x) for x in whole.solutions]


def test_what_solutions_must_be():
    with pytest.raises(ModelError, match="solutions is 0"):
        solve(FRUSTRATED, solutions=0)
    with pytest.raises(ModelError, match="'tri' gives one"):
        solve(FRUSTRATED, method="tri", solutions=2)


def test_what_does_not_fit_is_not_begun():
    model = torus(12, 12, couplings="gaussian", seed=2)
    best = solve(model).score
    # Neither a reduction, nor after it the linear program.
    for memory in (0, 80 * (model.n + model.m), 150 * (model.n + model.m)):
        result = solve(model, memory=memory)
        check(result, model)
        assert (result.status, result.stopped) == ("feasible", "memory")
        assert result.score <= best <= result.bound
        assert math.isfinite(result.bound)
    assert solve(model, memory=10**12).status == "optimal"
    with pytest.raises(ModelError, match="memory is -1"):
        solve(model, memory=-1)


def test_memory_that_runs_out_in_the_search(monkeypatch):
    model = complete(40, couplings="gaussian", seed=1)
    best = solve(model).score
    held = iter([0] * 20)
    monkeypatch.setattr("mapreroot.limits.resident", lambda: next(held, 10**9))
    result = solve(model, memory=10**8, solutions=2, certify=True)
    check(result, model)
    assert (result.stopped, result.proof) == ("memory", "exact")  # there is as much again for it
    assert verify(model, result.certificate).bound <= result.bound
    assert not result.complete
    assert result.score <= best + 1e-9 <= result.bound + 2e-9
