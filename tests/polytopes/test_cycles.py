from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import polytopes as pt

PETERSEN = list(nx.petersen_graph().edges)
GRID = list(nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)).edges)
PRISM = list(nx.circular_ladder_graph(3).edges)
K5 = list(combinations(range(5), 2))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    N = draw(st.integers(2, 7))
    edges = draw(st.sets(st.sampled_from(list(combinations(range(N), 2))), min_size=1))
    return N, sorted(edges)


def as_edge_sets(cycles: object) -> set[frozenset[frozenset[int]]]:
    found = [
        frozenset(frozenset(e) for e in zip(c, [*c[1:], c[0]], strict=True))
        for c in map(list, cycles)
    ]
    assert len(set(found)) == len(found)
    return set(found)


@given(graphs())
def test_chordless_cycles_against_networkx(graph: tuple[int, list[tuple[int, int]]]) -> None:
    N, edges = graph
    expected = [c for c in nx.chordless_cycles(nx.Graph(edges)) if len(c) > 2]
    assert as_edge_sets(pt.chordless_cycles(N, edges)) == as_edge_sets(expected)


@pytest.mark.parametrize("N", [3, 4, 5, 6])
def test_on_a_complete_graph_cycles_are_triangles(N: int) -> None:
    A, b = pt.cycle_inequalities(N, pt.pairs(N))
    met, right = pt.met(N)
    rows = {(*a, r) for a, r in zip(A.toarray().tolist(), b.tolist(), strict=True)}
    assert A.shape == met.shape
    assert rows == {(*a, r) for a, r in zip(met.toarray().tolist(), right.tolist(), strict=True)}


def test_facets_of_a_square_with_a_tail() -> None:
    A, b = pt.cycle_inequalities(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])
    assert A.shape == (8 + 2 * 5, 5)  # 4 single edges, 4 threes; the box of five edges
    assert sorted(b.tolist()) == [0.0] * 9 + [1.0] * 5 + [2.0] * 4


def violation(cycle: list[int], edges: list[tuple[int, int]], d: np.ndarray) -> float:
    """The most any odd subset of this cycle is violated: best edge by edge, then made odd."""
    value = {frozenset(edge): float(x) for edge, x in zip(edges, d, strict=True)}
    on = [value[frozenset(e)] for e in zip(cycle, [*cycle[1:], cycle[0]], strict=True)]
    cost = sum(min(x, 1 - x) for x in on)
    if sum(x > 0.5 for x in on) % 2 == 0:
        cost += min(abs(1 - 2 * x) for x in on)
    return 1 - cost


@given(graphs(), st.integers(0, 2**32 - 1), st.booleans())
def test_separation_finds_the_worst_cycle(
    graph: tuple[int, list[tuple[int, int]]], seed: int, coarse: bool
) -> None:
    N, edges = graph
    rng = np.random.default_rng(seed)
    # Coarse points have many ties, zeros and ones: paths of no cost.
    d = rng.integers(0, 3, len(edges)) / 2 if coarse else rng.random(len(edges))
    # A cycle with chords is no facet, but may be violated more than its parts: count them all.
    worst = max((violation(c, edges, d) for c in nx.simple_cycles(nx.Graph(edges))), default=0)
    A, b = pt.cycle_inequalities(N, edges)
    cuts = pt.violated_cycles(N, edges, d)
    assert bool(cuts) == (worst > 1e-9) == ((A @ d - b).max() > 1e-9)
    if cuts:
        assert cuts[0].violation == pytest.approx(worst)
    for cut in cuts:
        inside = set(cut.edges) - cut.odd
        assert len(cut.odd) % 2 == 1
        assert cut.odd <= set(cut.edges)
        assert len(set(cut.cycle)) == len(cut.cycle) == len(cut.edges) >= 3
        for k, e in enumerate(cut.edges):
            assert set(edges[e]) == {cut.cycle[k], cut.cycle[(k + 1) % len(cut.cycle)]}
        lhs = d[list(cut.odd)].sum() - d[list(inside)].sum()
        assert cut.violation == pytest.approx(lhs - len(cut.odd) + 1)
        assert cut.violation > 1e-9
    assert [c.violation for c in cuts] == sorted((c.violation for c in cuts), reverse=True)


@given(graphs(), st.integers(0, 2**32 - 1))
def test_points_of_met_pass_on_every_graph(
    graph: tuple[int, list[tuple[int, int]]], seed: int
) -> None:
    N, edges = graph
    cuts = pt.cut_vertices(N)
    share = np.random.default_rng(seed).dirichlet(np.ones(len(cuts)))
    d = share @ cuts
    assert pt.violated_cycles(N, edges, d[pt.index_of_pair(*np.transpose(edges), N)]) == []


@pytest.mark.parametrize("edges", [GRID, PRISM, list(combinations(range(4), 2))])
def test_without_a_k5_minor_the_cycles_describe_the_cuts(edges: list[tuple[int, int]]) -> None:
    N = 1 + max(map(max, edges))
    A, b = pt.cycle_inequalities(N, edges)
    vertices = pt.cut_vertices(N)[:, pt.index_of_pair(*np.transpose(edges), N)]
    for seed in range(10):
        w = np.random.default_rng(seed).normal(size=len(edges))
        result = linprog(-w, A, b, bounds=(0, 1))
        assert result.status == 0
        assert -result.fun == pytest.approx((vertices @ w).max())


@pytest.mark.parametrize(("edges", "relaxed", "best"), [(K5, 20 / 3, 6.0), (PETERSEN, 20 / 3, 6.0)])
def test_a_k5_minor_leaves_a_gap(edges: list[tuple[int, int]], relaxed: float, best: float) -> None:
    # The spokes of the Petersen graph are pulled together, which contracts it to K5.
    w = np.array([-10.0 if j == i + 5 else 1.0 for i, j in edges])
    N = 1 + max(map(max, edges))
    A, b = pt.cycle_inequalities(N, edges)
    result = linprog(-w, A, b, bounds=(0, 1))
    assert result.status == 0
    assert -result.fun == pytest.approx(relaxed)
    vertices = pt.cut_vertices(N)[:, pt.index_of_pair(*np.transpose(edges), N)]
    assert (vertices @ w).max() == best


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="edges 0 and 2 both join 1 and 0"):
        pt.violated_cycles(3, [(0, 1), (1, 2), (1, 0)], [0, 0, 0])
    with pytest.raises(ValueError, match=r"edge 1 is \(2, 2\)"):
        list(pt.chordless_cycles(3, [(0, 1), (2, 2)]))
    with pytest.raises(ValueError, match=r"edge 0 is \(0, 3\)"):
        pt.cycle_inequalities(3, [(0, 3)])
    with pytest.raises(ValueError, match="one number for each edge"):
        pt.violated_cycles(3, [(0, 1)], [0, 0])
    for bad in (1.5, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"d\[1\] is"):
            pt.violated_cycles(3, [(0, 1), (1, 2)], [0, bad])
