"""The k best against enumeration, by either kind of bound."""

import itertools
from functools import partial

import numpy as np
import pytest
from test_optima import bound, integer_model, ring  # noqa: F401  (a fixture)

from mapreroot.exact import collecting
from mapreroot.exact import ranking as module
from mapreroot.exact.enumeration import enumerate_best
from mapreroot.exact.ranking import k_best
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel


def every_score(uprooted):
    ys = itertools.product((0, 1), repeat=uprooted.n_vertices - 1)
    return sorted((uprooted.score((0, *y)) for y in ys), reverse=True)


def real_model(seed, most=6):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, most))
    pairs = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.7]
    return UprootedModel(n, np.array(pairs).reshape(-1, 2), rng.normal(size=len(pairs)), 0.3)


def check(uprooted, found, k):
    """Distinct, and in value and multiplicity what enumeration says."""
    expected = every_score(uprooted)[:k]
    assert found.stopped is None
    assert found.ys.shape == (len(expected), uprooted.n_vertices)
    assert (found.ys[:, 0] == 0).all()
    assert len(np.unique(found.ys, axis=0)) == len(expected)
    assert [uprooted.score(y) for y in found.ys] == pytest.approx(expected, abs=1e-9)


@pytest.fixture
def searched(bound, monkeypatch):  # noqa: F811
    """Leaves of two vertices, so that bounds and branching do the work."""
    monkeypatch.setattr(module, "SMALL", 2)
    monkeypatch.setattr(collecting, "sdp_bound", partial(collecting.sdp_bound, rounds=3))


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", [integer_model, real_model])
def test_values_with_multiplicity(searched, make, seed, k):
    uprooted = make(seed, most=7)
    check(uprooted, k_best(uprooted, k, np.zeros(uprooted.n_vertices)), k)


@pytest.mark.parametrize("count", [1, 5, 64, 100])
@pytest.mark.parametrize("seed", range(10))
def test_enumeration_in_order(seed, count):
    uprooted = integer_model(seed, most=7)
    ys = enumerate_best(uprooted, count)
    expected = sorted(
        itertools.product((0, 1), repeat=uprooted.n_vertices - 1),
        key=lambda y: -uprooted.score((0, *y)),
    )
    scores = [uprooted.score(y) for y in ys]
    assert scores == [uprooted.score((0, *y)) for y in expected[:count]]
    above = int(np.sum(np.array(scores) > scores[-1]))
    assert ys[:above, 1:].tolist() == [list(y) for y in expected[:above]]


@pytest.mark.parametrize("decided", [0.0, 2.0])
def test_what_one_flow_decides_is_not_searched(searched, monkeypatch, decided):
    monkeypatch.setattr(collecting, "_DECIDED", decided)
    for seed in range(8):
        uprooted = real_model(seed)
        check(uprooted, k_best(uprooted, 5, np.zeros(uprooted.n_vertices)), 5)


def test_more_than_there_are(searched):
    uprooted = real_model(1)
    check(uprooted, k_best(uprooted, 1000, np.zeros(uprooted.n_vertices)), 1000)


def test_ties_beyond_the_list():
    uprooted = ring(30, 1)  # 30 optima
    for k in (3, 30, 40):
        found = k_best(uprooted, k, np.zeros(30))
        assert found.stopped is None
        scores = [uprooted.score(y) for y in found.ys]
        assert scores == [0.0] * min(k, 30) + [-1.0] * (k - 30)
        assert len(np.unique(found.ys, axis=0)) == k


def test_a_known_bound_spares_the_search(monkeypatch):
    uprooted = ring(30, 1)
    optimum = np.zeros(30)
    monkeypatch.setattr(module, "collect", None)
    assert k_best(uprooted, 3, optimum, bound=0.0).stopped is None


def test_free_vertices_count():
    uprooted = UprootedModel(70, [(0, 1), (2, 3)], [1.0, -1.0])
    found = k_best(uprooted, 50, np.zeros(70))
    assert found.stopped is None
    assert len(np.unique(found.ys, axis=0)) == 50
    assert {uprooted.score(y) for y in found.ys} == {0.5}


def test_limits_are_told():
    uprooted = ring(30, 1)
    start = np.zeros(30, np.int8)
    assert k_best(uprooted, 31, start, limits=Limits(seconds=0.0)).stopped == "time"
    found = k_best(uprooted, 31, start, limits=Limits(nodes=0))
    assert found.stopped == "nodes"
    assert len(found.ys) == 31
