"""Boxes of a cycle LP: bounds, reduced-cost fixing, parity and branching against enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapreroot.exact import cycle_nodes
from mapreroot.exact.cycle_nodes import Box, CycleNodes
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel


def random_model(seed, n):
    rng = np.random.default_rng(seed)
    pairs = [e for e in itertools.combinations(range(n), 2) if rng.random() < 0.7]
    pairs += [(v, v + 1) for v in range(n - 1)]
    pairs = sorted(set(pairs))
    return UprootedModel(n, pairs, rng.normal(size=len(pairs)))


def assignments(uprooted):
    """All d of assignments, and their scores."""
    ys = np.array(list(itertools.product((0, 1), repeat=uprooted.n_vertices - 1)), np.int8)
    ys = np.hstack([np.zeros((len(ys), 1), np.int8), ys])
    i, j = uprooted.edges.T
    return ys, ys[:, i] != ys[:, j], np.array([uprooted.score(y) for y in ys])


def inside(box, differ):
    return ((box.lower <= differ) & (differ <= box.upper)).all(axis=1)


def random_box(seed, uprooted, differ):
    """Fix some edges as some assignment has them."""
    rng = np.random.default_rng(seed)
    d = differ[rng.integers(len(differ))].astype(float)
    fixed = rng.random(uprooted.m) < 0.3
    return Box(np.where(fixed, d, 0.0), np.where(fixed, d, 1.0))


def bounded(nodes, box, cutoff):
    def closes(bound):
        return bound <= cutoff

    return nodes.bound(box, closes, closes, lambda: cutoff, lambda y: None, 0.02, Limits())


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(3, 8))
def test_a_bound_holds_in_its_box_and_fixing_keeps_what_exceeds_the_cutoff(seed, n):
    uprooted = random_model(seed, n)
    ys, differ, scores = assignments(uprooted)
    box = random_box(seed, uprooted, differ)
    here = inside(box, differ)
    cutoff = np.sort(scores[here])[-1] - 0.3
    found = bounded(CycleNodes(uprooted), box, cutoff)
    assert found.stopped is None
    assert found.bound >= scores[here].max() - 1e-9
    kept = inside(found.box, differ)
    assert kept[here & (scores > cutoff + 1e-9)].all()
    for y in ys[kept]:
        for v in np.flatnonzero(found.tied >= 0):
            u, opposite = divmod(int(found.tied[v]), 2)
            assert y[v] == y[u] ^ opposite


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(3, 8))
def test_branching_loses_nothing_that_exceeds_the_cutoff(seed, n):
    uprooted = random_model(seed, n)
    _, differ, scores = assignments(uprooted)
    cutoff = scores.max() - 1.0
    nodes = CycleNodes(uprooted)
    found = bounded(nodes, nodes.whole, cutoff)
    if not (found.box.lower < found.box.upper).any():
        return
    children = nodes.branch(found, lambda b: b <= cutoff, Limits())
    better = inside(found.box, differ) & (scores > cutoff + 1e-9)
    covered = np.zeros(len(scores), int)
    for bound, box in children:
        here = inside(box, differ)
        covered += here
        assert scores[here & better].max(initial=-np.inf) <= bound + 1e-9
        assert (box.lower < box.upper).sum() < (found.box.lower < found.box.upper).sum()
    assert (covered[better] == 1).all()


def test_fixed_edges_imply_others_by_parity():
    # 0-1-2-3-0 with the chord 02: y_0 = y_1, y_1 != y_2, so 02 differs; 3 stays free.
    uprooted = UprootedModel(4, [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], np.ones(5))
    nodes = CycleNodes(uprooted)
    box, tied = nodes._implied(Box(np.array([0.0, 0, 0, 1, 0]), np.array([0.0, 1, 1, 1, 1])))
    assert box.lower.tolist() == [0, 1, 0, 1, 0]
    assert box.upper.tolist() == [0, 1, 1, 1, 1]
    assert tied.tolist() == [-1, 0, 1, -1]


def test_a_contradiction_is_told():
    uprooted = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], np.ones(3))
    box, _ = CycleNodes(uprooted)._implied(Box(np.array([1.0, 1, 1]), np.ones(3)))
    assert box is None


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_ties_are_the_components_of_what_is_fixed(seed, n):
    uprooted = random_model(seed, n)
    y = np.random.default_rng(seed).integers(0, 2, n)
    i, j = uprooted.edges.T
    fixed = np.random.default_rng(seed).random(uprooted.m) < 0.4
    d = (y[i] != y[j]).astype(float)
    lower, upper = np.where(fixed, d, 0.0), np.where(fixed, d, 1.0)
    consistent, tied = cycle_nodes._close_box(n, uprooted.edges, lower, upper)
    assert consistent
    group = np.arange(n)
    for u, v in uprooted.edges[fixed]:
        group[group == group[v]] = group[u]
    for e in range(uprooted.m):
        assert (lower[e] == upper[e]) == (group[i[e]] == group[j[e]])
    for v in range(n):
        mates = np.flatnonzero(group == group[v])
        assert (tied[v] == -1) == (v == mates[0])
        if tied[v] >= 0:
            assert tied[v] == 2 * mates[0] + (y[v] ^ y[mates[0]])


@pytest.mark.parametrize("seed", range(3))
def test_no_time_stops_with_a_true_bound(seed):
    uprooted = random_model(seed, 8)
    nodes = CycleNodes(uprooted)
    limits = Limits(seconds=0.0)

    def never(bound):
        return False

    found = nodes.bound(nodes.whole, never, never, lambda: 0.0, lambda y: None, 0.02, limits)
    assert found.stopped == "time"
    assert found.bound >= assignments(uprooted)[2].max()


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((1.0,), [(False, True), (True, False), (False, False)]),  # one size: the middle first
        (np.arange(1.0, 1e5), [(True, False), (False, False)]),  # integers of many sizes
        (np.pi * np.arange(1.0, 1e5) ** 0.5, [(False, False)]),  # no common unit
    ],
)
def test_what_is_done_against_equal_weights_depends_on_their_sizes(sizes, expected, monkeypatch):
    rng = np.random.default_rng(0)
    at = np.arange(20**2).reshape(20, 20)
    edges = np.vstack([np.stack([at.ravel(), np.roll(at, -1, k).ravel()], 1) for k in (0, 1)])
    weights = rng.choice(sizes, len(edges)) * rng.choice([-1, 1], len(edges))
    tried = []

    def cutting_planes(lp, limits, on_round, perturb, central):
        tried.append((perturb, central))
        return plain(lp, limits=limits, on_round=on_round, perturb=perturb, central=central)

    plain = cycle_nodes.cutting_planes
    monkeypatch.setattr(cycle_nodes, "cutting_planes", cutting_planes)
    nodes = CycleNodes(UprootedModel(400, edges, weights))
    bounded(nodes, nodes.whole, -np.inf)
    assert tried == expected
    bounded(nodes, nodes.whole, -np.inf)
    assert tried == [*expected, (False, False)]
