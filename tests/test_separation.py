import numpy as np
import pytest

from mapreroot import UprootedModel
from mapreroot.generate import torus
from mapreroot.limits import Limits
from mapreroot.relaxations.odd_cycles import VIOLATION
from mapreroot.relaxations.separation import Separator
from mapreroot.rerooting import uproot
from tests.relaxation_points import (
    KINDS,
    check_cuts,
    random_model,
    random_point,
    shortest_odd_walk,
)


@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_it_finds_a_cut_exactly_when_there_is_one(penalty):
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(400):
        model = random_model(rng, int(rng.integers(3, 11)))
        d = random_point(rng, model)
        cuts = Separator(model).cycle_cuts(d, int(rng.integers(1, 20)), penalty)
        assert (len(cuts) > 0) == (shortest_odd_walk(model, d) < 1 - VIOLATION)
        assert (cuts.violation(d) > VIOLATION).all()
        check_cuts(model, cuts)
        found += len(cuts) > 0
    assert 100 < found < 350


def test_long_cycles_through_integral_edges_are_found():
    for n in (3, 4, 50, 301):
        ring = UprootedModel(n, [(v, (v + 1) % n) for v in range(n)], np.ones(n))
        d = np.zeros(n)
        d[n // 2] = 0.25
        for penalty in (0.0, 0.05):
            cuts = Separator(ring).cycle_cuts(d, 5, penalty)
            assert len(cuts) == 1
            assert len(cuts.edge) == n
            assert cuts.violation(d).tolist() == [0.25]


def test_a_cycle_of_small_parts_is_found():
    n = 40
    ring = UprootedModel(n, [(v, (v + 1) % n) for v in range(n)], np.ones(n))
    d = np.full(n, 0.01)
    d[0] = 0.99  # the others sum to 0.39
    cuts = Separator(ring).cycle_cuts(d, 5)
    assert len(cuts) == 1
    assert cuts.violation(d) == pytest.approx([0.6])
    d[0] = 0.39
    assert not len(Separator(ring).cycle_cuts(d, 5))


def test_a_hub_with_chords_everywhere():
    n = 400  # every cycle through the hub is split at its spokes
    spokes = [(0, v) for v in range(1, n)]
    rim = [(v, v + 1) for v in range(1, n - 1)]
    wheel = UprootedModel(n, spokes + rim, np.ones(len(spokes) + len(rim)))
    d = np.zeros(wheel.m)
    d[n // 2] = 1.0
    cuts = Separator(wheel).cycle_cuts(d, 100)
    check_cuts(wheel, cuts)
    assert len(cuts) >= 1
    assert (np.diff(cuts.start) == 3).all()


def test_triangles_are_enumerated():
    rng = np.random.default_rng(1)
    for kind in KINDS:
        model = random_model(rng, 9, kind, density=0.7)
        separator = Separator(model)
        for _ in range(20):
            d = random_point(rng, model)
            every = separator.triangle_cuts(d, 10**6, per_edge=10**6)
            assert (every.violation(d) > VIOLATION).all()
            if len(every):
                check_cuts(model, every)
            some = separator.triangle_cuts(d, 3, per_edge=1)
            assert len(some) <= 3
            assert np.bincount(some.edge, minlength=1).max() <= 1
            assert (len(some) > 0) == (len(every) > 0)
            if len(every):  # the worst of four per triangle, the most violated of all first
                assert some.violation(d).max() == pytest.approx(every.violation(d).max())


def test_one_separator_gives_the_same_again():
    model = uproot(torus(8, 8, seed=3))
    separator = Separator(model)
    d = (model.weights < 0).astype(float)
    first, again = (separator.cycle_cuts(d, 30, 0.05) for _ in range(2))
    assert np.array_equal(first.edge, again.edge)
    assert np.array_equal(first.odd, again.odd)
    assert len(first) >= 30


def test_no_edges():
    empty = UprootedModel(4, np.zeros((0, 2), dtype=int), [])
    assert not len(Separator(empty).cycle_cuts(np.zeros(0), 5))
    assert not len(Separator(empty).triangle_cuts(np.zeros(0), 5, 5))


def test_a_late_search_returns_what_it_has():
    model = uproot(torus(30, 30, fields="none", seed=1))
    d = np.random.default_rng(2).random(model.m)
    separator = Separator(model)
    assert not len(separator.cycle_cuts(d, 900, limits=Limits(seconds=0.0)))

    class Late(Limits):
        looks = 0

        def late(self):
            self.looks += 1
            return self.looks > 2

    some, every = (separator.cycle_cuts(d, 900, limits=limits) for limits in (Late(), None))
    assert 0 < len(some) < len(every)
    assert set(some.name) <= set(every.name)
