"""The hierarchical cover: Definition 1, optimal height, Theorem 6, the picture's data."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_oracle import forests, optimal_height, random_tree

from mapreroot.errors import ModelError, NotATreeError
from mapreroot.trees import Kind, Slot, TreeCover


def clusters_of(cover):
    """Vertices strictly inside each cluster, from the D-parents alone."""
    inside = [{v} for v in range(cover.n)]
    for v in sorted(range(cover.n), key=lambda v: cover.level[v]):
        if cover.parent[v] >= 0:
            inside[cover.parent[v]] |= inside[v]
    return inside


def assert_valid(cover):
    """Definition 1, from the edges and the cover's own parents, slots and boundaries."""
    graph = nx.Graph([tuple(map(int, e)) for e in cover.edges])
    graph.add_nodes_from(range(cover.n))
    inside = clusters_of(cover)
    parts = [[] for _ in range(cover.n)]  # (edges, boundary, slot, level) of each part
    roots = set()
    for e, (u, v) in enumerate(cover.edges):
        top, bottom = (int(u), int(v)) if cover.edge_top[e] == 0 else (int(v), int(u))
        part = ({frozenset((top, bottom))}, (top, bottom), cover.edge_slot[e], 0)
        parts[cover.edge_parent[e]].append(part)
    edges_of = [{frozenset(e) for v in members for e in graph.edges(v)} for members in inside]
    for v in range(cover.n):
        top, bottom = int(cover.top[v]), int(cover.bottom[v])
        if cover.parent[v] >= 0:
            parts[cover.parent[v]].append(
                (edges_of[v], (top, bottom), cover.slot[v], cover.level[v])
            )
        else:
            roots.add(v)
    for v in range(cover.n):
        assert nx.is_connected(graph.subgraph(inside[v]))
        around = set().union(*(graph.neighbors(u) for u in inside[v])) - inside[v]
        assert around == set(cover.boundary(v))
        top, bottom = int(cover.top[v]), int(cover.bottom[v])
        assert (bottom >= 0) == (cover.kind[v] == Kind.COMPRESS)
        covered = [edge for edges, *_ in parts[v] for edge in edges]
        assert len(covered) == len(set(covered))
        assert set(covered) == edges_of[v]
        assert cover.level[v] == 1 + max((level for *_, level in parts[v]), default=0)
        for _, boundary, slot, _ in parts[v]:
            expected = {
                Slot.UP: (top, v),
                Slot.DOWN: (v, bottom),
                Slot.RAKED: (v, -1),
            }[Slot(slot)]
            assert boundary == expected
    assert {frozenset(inside[v]) for v in roots} == {
        frozenset(part) for part in nx.connected_components(graph)
    }
    assert all(cover.top[v] == -1 and cover.kind[v] == Kind.RAKE for v in roots)
    assert cover.height == cover.level.max()


@given(forests(14), st.data())
def test_covers_are_valid(forest, data):
    n, edges = forest
    root = data.draw(st.one_of(st.none(), st.integers(0, n - 1)))
    assert_valid(TreeCover(n, edges, root))
    assert_valid(TreeCover(n, edges, root, rake_only=True))


@pytest.mark.parametrize("n", range(1, 11))
def test_height_is_optimal_for_every_tree(n):
    trees = nx.nonisomorphic_trees(n) if n > 1 else [nx.empty_graph(1)]
    for tree in trees:
        edges = np.array(tree.edges, np.int64).reshape(-1, 2)
        for root in range(n):
            cover = TreeCover(n, edges, root)
            assert cover.height == optimal_height(n, edges, root)
        assert_valid(cover)


@pytest.mark.parametrize("n", range(1, 10))
def test_theorem_6_bounds(n):
    trees = nx.nonisomorphic_trees(n) if n > 1 else [nx.empty_graph(1)]
    for tree in trees:
        edges = np.array(tree.edges, np.int64).reshape(-1, 2)
        chi = optimal_height(n, edges, root=0, largest_boundary=n + 1)
        assert chi <= min(math.floor(math.log2(n)), nx.radius(tree)) + 1
        for root in range(n):
            assert TreeCover(n, edges, root).height <= 2 * chi


def test_centroid_is_at_most_one_level_from_the_best_root():
    rng = np.random.default_rng(1)
    for n in (5, 12, 40, 90):
        edges = random_tree(n, rng)
        best = min(TreeCover(n, edges, root).height for root in range(n))
        assert TreeCover(n, edges).height <= best + 1


@pytest.mark.parametrize(
    ("parent_of", "most"),
    [
        (lambda v, rng: v - 1, 17),  # path
        (lambda v, rng: 0, 2),  # star
        (lambda v, rng: (v - 1) // 2, 17),  # binary
        (lambda v, rng: max(0, v - 1 - v % 2), 17),  # caterpillar
        (lambda v, rng: rng.integers(v), 17),  # random recursive
    ],
)
def test_height_is_logarithmic(parent_of, most):
    n = 50_000
    edges = random_tree(n, np.random.default_rng(2), parent_of)
    assert TreeCover(n, edges).height <= most


def test_rake_only_is_the_tree_itself():
    path = [(v, v + 1) for v in range(6)]
    cover = TreeCover(7, path, 0, rake_only=True)
    assert cover.height == 7
    assert cover.parent.tolist() == [-1, 0, 1, 2, 3, 4, 5]
    assert TreeCover(7, path, rake_only=True).height == 4  # from the centroid


def test_the_better_of_the_two_covers_is_chosen():
    path = [(v, v + 1) for v in range(999)]
    assert not TreeCover(1000, path, rake_only=None, k=16).rake_only
    short = path[:49]
    assert TreeCover(50, short, rake_only=None, k=16).rake_only
    assert not TreeCover(50, short, rake_only=None, k=2).rake_only
    for k in (2, 3, 16):
        for edges in (path, short):
            n = len(edges) + 1
            both = [TreeCover(n, edges, rake_only=only).mean_work(k) for only in (False, True)]
            assert TreeCover(n, edges, rake_only=None, k=k).mean_work(k) == min(both)


def test_mean_work_counts_the_clusters_around_each_vertex():
    rng = np.random.default_rng(3)
    edges = random_tree(60, rng)
    for rake_only in (False, True):
        cover = TreeCover(60, edges, rake_only=rake_only)
        chains = [cover.ancestors(v) for v in range(60)]
        kinds = np.array([cover.kind[u] for chain in chains for u in chain])
        rakes, compresses = (kinds == Kind.RAKE).sum() / 60, (kinds == Kind.COMPRESS).sum() / 60
        k = 5
        expected = rakes * (16 + 2 * k**2) + compresses * (16 + k**2 + k**3)
        assert cover.mean_work(k) == pytest.approx(expected)


def test_bad_input_is_named():
    with pytest.raises(NotATreeError, match="cycle") as caught:
        TreeCover(5, [(0, 1), (1, 2), (2, 3), (3, 1)])
    assert sorted(caught.value.cycle) == [1, 2, 3]
    with pytest.raises(NotATreeError):
        TreeCover(2, [(1, 1)])
    with pytest.raises(NotATreeError):
        TreeCover(2, [(0, 1), (1, 0)])
    with pytest.raises(ModelError, match=r"edge 0 is \(0, 2\)"):
        TreeCover(2, [(0, 2)])
    with pytest.raises(ModelError, match="root is 3"):
        TreeCover(2, [(0, 1)], 3)
    with pytest.raises(ModelError, match="n is 0"):
        TreeCover(0, [])


def test_a_cover_cannot_be_changed():
    cover = TreeCover(3, [(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="read-only"):
        cover.level[0] = 5
