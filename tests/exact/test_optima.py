"""All optima: complete against enumeration, by either kind of bound."""

import itertools

import numpy as np
import pytest

from mapreroot.exact import collecting, semidefinite_nodes
from mapreroot.exact import optima as module
from mapreroot.exact.enumeration import enumerate_optima
from mapreroot.exact.optima import all_optima
from mapreroot.exact.search import search
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel


def integer_model(seed, most=10):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, most + 1))
    density = rng.choice([0.3, 0.6, 1.0])
    pairs = [e for e in itertools.combinations(range(n), 2) if rng.random() < density]
    weights = rng.integers(-2, 3, len(pairs)).astype(float)
    return UprootedModel(n, np.array(pairs).reshape(-1, 2), weights, 0.5)


def ring(n, repulsive):
    """A cycle with unit weights, the first ones repulsive: n optima if their number is odd."""
    edges = [(v, (v + 1) % n) for v in range(n)]
    return UprootedModel(n, edges, [-1.0] * repulsive + [1.0] * (n - repulsive))


@pytest.fixture(params=["cycle LP", "semidefinite"])
def bound(request, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 2)
    monkeypatch.setattr(collecting, "SMALL", 2)
    monkeypatch.setattr(
        semidefinite_nodes, "_DENSE", 0.0 if request.param == "semidefinite" else np.inf
    )


@pytest.mark.parametrize("seed", range(25))
def test_all_optima_of_random_models(bound, seed):
    uprooted = integer_model(seed)
    expected, _ = enumerate_optima(uprooted, 10_000)
    solutions, complete = all_optima(uprooted, 10_000)
    assert complete
    assert solutions.tolist() == expected.tolist()


@pytest.mark.parametrize("n", [5, 24, 40])
def test_a_frustrated_ring_has_as_many_optima_as_edges(n):
    solutions, complete = all_optima(ring(n, 3), 1000)
    assert complete
    assert len(solutions) == n
    assert {ring(n, 3).score(y) for y in solutions} == {1.0}


def test_the_limit_is_kept_and_told():
    solutions, complete = all_optima(ring(30, 1), 7)
    assert (len(solutions), complete) == (7, False)
    solutions, complete = all_optima(ring(30, 1), 30)
    assert (len(solutions), complete) == (30, True)


def test_free_vertices_flip_freely():
    # Two edges and 24 vertices with none: 2^25 optima.
    uprooted = UprootedModel(28, [(0, 1), (2, 3)], [1.0, -1.0])
    solutions, complete = all_optima(uprooted, 50)
    assert (len(solutions), complete) == (50, False)
    assert len(np.unique(solutions, axis=0)) == 50
    assert {uprooted.score(y) for y in solutions} == {0.5}


def test_a_generic_model_has_one():
    rng = np.random.default_rng(1)
    pairs = list(itertools.combinations(range(22), 2))
    uprooted = UprootedModel(22, pairs, rng.normal(size=len(pairs)))
    solutions, complete = all_optima(uprooted, 5)
    assert complete
    best = search(uprooted).y
    assert solutions.tolist() == [(best ^ best[0]).tolist()]


def test_without_time_the_best_known_is_given():
    solutions, complete = all_optima(ring(30, 1), 5, Limits(seconds=0.0))
    assert (solutions.shape, complete) == ((1, 30), False)
