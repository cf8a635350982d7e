"""Two-pass solvers of binary forests against enumeration."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapreroot.errors import ModelError, NotATreeError
from mapreroot.trees import find_cycle, forest_log_partition, forest_marginals, forest_max


def enumerate_scores(theta, edges, weights):
    X = np.array(list(itertools.product((0, 1), repeat=len(theta))))
    differ = X[:, edges[:, 0]] != X[:, edges[:, 1]]
    return X, X @ theta - 0.5 * differ @ weights


@st.composite
def forests(draw, largest=9, magnitude=8.0):
    """Theta, edges, weights of a random forest with shuffled names and edge directions."""
    n = draw(st.integers(1, largest))
    names = draw(st.permutations(range(n)))
    edges = []
    for v in range(1, n):
        u = draw(st.integers(-1, v - 1))
        if u >= 0:
            edges.append((names[u], names[v]) if draw(st.booleans()) else (names[v], names[u]))
    number = st.floats(-magnitude, magnitude, allow_subnormal=False)
    theta = draw(st.lists(number, min_size=n, max_size=n))
    weights = draw(st.lists(number, min_size=len(edges), max_size=len(edges)))
    return np.array(theta), np.array(edges, np.int64).reshape(-1, 2), np.array(weights)


@given(forests())
def test_forest_matches_enumeration(model):
    theta, edges, weights = model
    X, scores = enumerate_scores(theta, edges, weights)
    x = forest_max(theta, edges, weights)
    assert theta @ x - 0.5 * weights @ (x[edges[:, 0]] != x[edges[:, 1]]) == pytest.approx(
        scores.max(), abs=1e-12
    )
    weight = np.exp(scores)
    assert forest_log_partition(theta, edges, weights) == pytest.approx(np.log(weight.sum()))
    p, pair = forest_marginals(theta, edges, weights)
    np.testing.assert_allclose(p, weight @ X / weight.sum(), rtol=1e-9)
    for e, (u, v) in enumerate(edges):
        for a, b in itertools.product((0, 1), repeat=2):
            expected = weight[(X[:, u] == a) & (X[:, v] == b)].sum() / weight.sum()
            assert pair[e, a, b] == pytest.approx(expected, rel=1e-9)


def test_small_probabilities_keep_their_digits():
    p, pair = forest_marginals([-300.0, 0.0, -80.0], [(0, 1), (2, 1)], [200.0, -100.0])
    X, scores = enumerate_scores(
        np.array([-300.0, 0.0, -80.0]), np.array([(0, 1), (2, 1)]), np.array([200.0, -100.0])
    )
    weight = np.exp(scores)
    np.testing.assert_allclose(p, weight @ X / weight.sum(), rtol=1e-12)
    assert 0 < pair[0, 1, 0] < 1e-150


def test_magnitudes_side_by_side_do_not_swallow_the_small_ones():
    # A huge field next to small ones: the small branch is still decided by its own scale.
    x = forest_max([1e18, 0.2, -0.3, 0.25], [(0, 1), (1, 2), (2, 3)], [0.1, 0.0, 0.5])
    assert x.tolist() == [1, 1, 0, 0]
    assert forest_log_partition([1e300, -1e300], [(0, 1)], [1e300]) == 1e300 / 2
    p, _ = forest_marginals([1e300, -1e300], [(0, 1)], [1e299])
    assert p.tolist() == [1.0, 0.0]


def test_long_path_and_wide_star_in_one_pass():
    n = 50_000
    theta = np.sin(np.arange(n))
    weights = np.cos(np.arange(n - 1)) * 3
    path = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    transfer = np.zeros(2)  # log-weights of the prefix by the label of its last vertex
    for v in range(n):
        w = weights[v - 1] / 2 if v else 0.0
        stay, change = (
            np.logaddexp(transfer[0], transfer[1] - w),
            np.logaddexp(transfer[0] - w, transfer[1]),
        )
        transfer = np.array([stay, change + theta[v]]) if v else np.array([0.0, theta[0]])
    assert forest_log_partition(theta, path, weights) == pytest.approx(np.logaddexp(*transfer))
    star = np.stack([np.zeros(n - 1, np.int64), np.arange(1, n)], axis=1)
    p, pair = forest_marginals(theta, star, weights)
    np.testing.assert_allclose(pair[:, 1, :].sum(axis=1), p[0], rtol=1e-9)
    np.testing.assert_allclose(pair[:, :, 1].sum(axis=1), p[1:], rtol=1e-9)


@given(st.integers(1, 9), st.data())
def test_find_cycle_shows_a_cycle_exactly_when_there_is_one(n, data):
    vertex = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(vertex, vertex), max_size=12))
    graph = nx.MultiGraph(edges)
    graph.add_nodes_from(range(n))
    cycle = find_cycle(n, edges)
    assert (cycle is None) == (len(edges) == n - nx.number_connected_components(graph))
    if cycle is not None:
        assert len(set(cycle)) == len(cycle)
        closed = [tuple(sorted(e)) for e in zip(cycle, cycle[1:] + cycle[:1], strict=True)]
        available = [tuple(sorted(e)) for e in edges]
        assert all(closed.count(e) <= available.count(e) for e in closed)


def test_a_cycle_is_an_error_that_shows_it():
    edges = [(0, 1), (1, 2), (2, 3), (3, 1)]
    for solve in (forest_max, forest_log_partition, forest_marginals):
        with pytest.raises(NotATreeError, match="cycle") as caught:
            solve(np.zeros(4), edges, np.ones(4))
        assert sorted(caught.value.cycle) == [1, 2, 3]
    ring = [(v, (v + 1) % 50) for v in range(50)]
    with pytest.raises(NotATreeError, match=r"-\.\.\. of 50 vertices"):
        forest_max(np.zeros(50), ring, np.ones(50))


@pytest.mark.parametrize(
    ("theta", "edges", "weights", "message"),
    [
        ([0.0, np.nan], [(0, 1)], [1.0], r"theta\[1\] is nan"),
        ([0.0, 0.0], [(0, 1)], [np.inf], r"weights\[0\] is inf"),
        ([0.0, 0.0], [(0, 2)], [1.0], r"edge 0 is \(0, 2\): vertices are 0\.\.1"),
        ([0.0, 0.0], [(0, 1)], [1.0, 2.0], "expected 1 numbers, one per edge"),
        ([[0.0, 0.0]], [(0, 1)], [1.0], "one row of numbers"),
        ([0.0, 0.0], [(0.5, 1.0)], [1.0], "array of integers"),
        ([0.0, 0.0], [0, 1], [1.0], "array of integers"),
    ],
)
def test_bad_input_is_named(theta, edges, weights, message):
    with pytest.raises(ModelError, match=message):
        forest_max(theta, edges, weights)


def test_models_without_edges_and_without_vertices():
    assert forest_max([1.0, -1.0], [], []).tolist() == [1, 0]
    assert forest_log_partition([], [], []) == 0.0
    assert forest_marginals([0.0], [], [])[0].tolist() == [0.5]
