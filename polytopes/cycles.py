"""Cycle inequalities: MET seen on the edges of a graph only.

A cut meets every cycle C an even number of times, so for each odd subset F of its edges

    d(F) - d(C without F) <= |F| - 1.

The d in [0,1]^edges that meet all of these are exactly the d of MET restricted to the edges, and
they are CUT restricted to the edges iff the graph has no K5 minor (Barahona and Mahjoub, On the
cut polytope, Mathematical Programming 36, 1986). Only chordless cycles give facets: on a complete
graph these are the triangles.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polytopes.pairs import Floats
from polytopes.semimetric import Inequalities

__all__ = ["CycleInequality", "chordless_cycles", "cycle_inequalities", "violated_cycles"]

Neighbours = list[dict[int, int]]
State = tuple[int, int]


@dataclass(frozen=True)
class CycleInequality:
    """d(F) - d(C without F) <= |F| - 1 for one cycle C and odd F.

    Attributes
    ----------
    cycle : tuple of int
        The vertices of C in order, each once.
    edges : tuple of int
        The edges of C: the k-th joins the k-th vertex to the next (the last to the first).
    odd : frozenset of int
        F, a subset of ``edges``.
    violation : float
        By how much the point at hand breaks it; positive when it does.
    """

    cycle: tuple[int, ...]
    edges: tuple[int, ...]
    odd: frozenset[int]
    violation: float


def chordless_cycles(N: int, edges: npt.ArrayLike) -> Iterator[tuple[int, ...]]:
    """Walk through the cycles without a chord, each once.

    Parameters
    ----------
    N : int
        Vertices 0..N-1.
    edges : array_like of int, shape (m, 2)

    Yields
    ------
    tuple of int
        Vertices in order, from the smallest, in the direction of its smaller neighbour.

    Raises
    ------
    ValueError
        For a self-loop, a repeated edge or a vertex out of range.

    Notes
    -----
    There may be exponentially many; meant for graphs that fit on a page.

    Examples
    --------
    >>> list(chordless_cycles(4, [(0, 1), (1, 2), (2, 3), (0, 3)]))
    [(0, 1, 2, 3)]
    """
    neighbours = _neighbours(N, edges)

    def extend(path: list[int]) -> Iterator[tuple[int, ...]]:
        for v in neighbours[path[-1]]:
            # A cycle starts at its smallest vertex, and an inner vertex that sees an earlier
            # one (the first aside) would be the end of a chord.
            if v <= path[0] or v in path or any(u in neighbours[v] for u in path[1:-1]):
                continue
            if path[0] not in neighbours[v]:
                yield from extend([*path, v])
            elif path[1] < v:
                yield (*path, v)

    for first in range(N):
        for second in neighbours[first]:
            if second > first:
                yield from extend([first, second])


def cycle_inequalities(N: int, edges: npt.ArrayLike) -> Inequalities:
    """Write all cycle inequalities of a small graph, and the box where they do not imply it.

    Parameters
    ----------
    N : int
    edges : array_like of int, shape (m, 2)
        Columns follow this order.

    Returns
    -------
    A : csr_array, shape (k, m)
        For every chordless cycle of length l its 2^(l-1) odd subsets; then -d_e <= 0 and d_e <= 1
        for the edges in no triangle.
    b : ndarray, shape (k,)

    Raises
    ------
    ValueError
        As `chordless_cycles`.

    Notes
    -----
    Each row is a facet of the cut polytope of the graph (Barahona and Mahjoub 1986).

    Examples
    --------
    >>> A, b = cycle_inequalities(3, [(0, 1), (0, 2), (1, 2)])
    >>> A.toarray().astype(int).tolist(), b.tolist()
    ([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, 1]], [0.0, 0.0, 0.0, 2.0])
    """
    neighbours = _neighbours(N, edges)
    m = sum(map(len, neighbours)) // 2
    rows: list[Floats] = []
    right: list[float] = []
    in_triangle = np.zeros(m, dtype=bool)
    for cycle in chordless_cycles(N, edges):
        C = sorted(neighbours[u][v] for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        in_triangle[C] |= len(C) == 3
        for size in range(1, len(C) + 1, 2):
            for F in combinations(C, size):
                row = np.zeros(m)
                row[C], row[list(F)] = -1.0, 1.0
                rows.append(row)
                right.append(size - 1.0)
    box = np.eye(m)[~in_triangle]
    A = np.vstack([*rows, -box, box])
    b = np.concatenate([right, np.zeros(len(box)), np.ones(len(box))])
    return sp.csr_array(A), b


def violated_cycles(
    N: int, edges: npt.ArrayLike, d: npt.ArrayLike, tolerance: float = 1e-9
) -> list[CycleInequality]:
    """Find violated cycle inequalities by shortest paths, or learn that there are none.

    Every vertex v is doubled into v' and v''. An edge of d costs d to stay on its side and 1 - d
    to change sides; F collects the changes. A path from v' to v'' changes sides an odd number of
    times, and violates its inequality iff it costs less than 1, by that difference.

    Parameters
    ----------
    N : int
    edges : array_like of int, shape (m, 2)
    d : array_like, shape (m,)
        In [0, 1] up to ``tolerance``.
    tolerance : float
        Violations up to this are let pass.

    Returns
    -------
    list of CycleInequality
        The worst first, none twice; for every vertex on a violated cycle there is one at least
        as bad as any through it. Empty iff d, up to the tolerance, meets all cycle inequalities.

    Raises
    ------
    ValueError
        As `chordless_cycles`, or if d is not in the box or of another length.

    Notes
    -----
    N runs of Dijkstra's algorithm: O(N m log N). Barahona and Mahjoub (1986), section 3. For
    large graphs see `mapreroot.relaxations`, which does the same in compiled code.

    Examples
    --------
    >>> triangle = [(0, 1), (1, 2), (0, 2)]
    >>> [cut] = violated_cycles(3, triangle, [1.0, 1.0, 1.0])
    >>> sorted(cut.odd), cut.violation
    ([0, 1, 2], 1.0)
    >>> violated_cycles(3, triangle, [2 / 3, 2 / 3, 2 / 3])
    []
    """
    neighbours = _neighbours(N, edges)
    length = np.asarray(d, dtype=np.float64)
    if length.shape != (sum(map(len, neighbours)) // 2,):
        raise ValueError(f"d has shape {length.shape}: expected one number for each edge")
    outside = np.flatnonzero(~((length >= -tolerance) & (length <= 1 + tolerance)))
    if len(outside):
        raise ValueError(f"d[{outside[0]}] is {length[outside[0]]}: expected 0 <= d <= 1")
    length = np.clip(length, 0.0, 1.0)
    found: dict[tuple[frozenset[int], frozenset[int]], CycleInequality] = {}
    for v in range(N):
        walk = _shortest_twin_path(v, neighbours, length, below=1.0 - tolerance)
        if walk:
            cut = _as_inequality(_innermost(walk), neighbours, length)
            found.setdefault((frozenset(cut.edges), cut.odd), cut)
    return sorted(found.values(), key=lambda cut: -cut.violation)


def _shortest_twin_path(
    v: int, neighbours: Neighbours, d: Floats, below: float
) -> list[State] | None:
    """Find the cheapest path from (v, 0) to (v, 1), if it costs less than ``below``."""
    cost: dict[State, float] = {(v, 0): 0.0}
    parent: dict[State, State] = {}
    done: set[State] = set()
    queue = [(0.0, (v, 0))]
    while queue:
        so_far, here = heapq.heappop(queue)
        if here in done:
            continue
        if so_far >= below:
            return None
        done.add(here)
        if here == (v, 1):
            path = [here]
            while path[-1] in parent:
                path.append(parent[path[-1]])
            return path
        u, side = here
        for w, e in neighbours[u].items():
            for there, step in (((w, side), d[e]), ((w, 1 - side), 1.0 - d[e])):
                if there not in done and so_far + step < cost.get(there, below):
                    cost[there] = so_far + step
                    parent[there] = here
                    heapq.heappush(queue, (so_far + step, there))
    return None


def _innermost(walk: list[State]) -> list[State]:
    """Cut a walk between twins down to one with no twins strictly inside: a simple cycle."""
    last: dict[int, int] = {}
    best = (0, len(walk) - 1)
    for k, (u, _) in enumerate(walk):
        if u in last and k - last[u] < best[1] - best[0]:
            best = (last[u], k)
        last[u] = k
    return walk[best[0] : best[1] + 1]


def _as_inequality(walk: list[State], neighbours: Neighbours, d: Floats) -> CycleInequality:
    steps = list(pairwise(walk))
    edges = tuple(neighbours[u][v] for (u, _), (v, _) in steps)
    odd = frozenset(
        e for e, ((_, side), (_, other)) in zip(edges, steps, strict=True) if side != other
    )
    even = [e for e in edges if e not in odd]
    violation = float(d[list(odd)].sum() - d[even].sum() - len(odd) + 1)
    return CycleInequality(tuple(u for u, _ in walk[:-1]), edges, odd, violation)


def _neighbours(N: int, edges: npt.ArrayLike) -> Neighbours:
    """Map, for each vertex, its neighbours to the indices of the edges."""
    neighbours: Neighbours = [{} for _ in range(N)]
    for e, (i, j) in enumerate(np.asarray(edges, dtype=np.int64).reshape(-1, 2).tolist()):
        if not (0 <= i < N and 0 <= j < N) or i == j:
            raise ValueError(f"edge {e} is ({i}, {j}): expected two of the vertices 0..{N - 1}")
        if j in neighbours[i]:
            raise ValueError(f"edges {neighbours[i][j]} and {e} both join {i} and {j}")
        neighbours[i][j] = neighbours[j][i] = e
    return neighbours
