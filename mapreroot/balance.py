"""Signed graphs: balance with a witness, and the vertices whose removal makes a graph balanced.

Only the signs of the weights count here. A cycle is frustrated when it has an odd number of
repulsive edges; a graph is balanced when no cycle is frustrated or, which is the same, when
flipping some set of vertices makes every edge attractive (Harary 1953).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import ModelError
from mapreroot.model import Model, UprootedModel
from mapreroot.prefetch import prefetch

__all__ = [
    "Balance",
    "balance",
    "balancing_set",
    "balancing_vertices",
    "rooted_balance",
    "switching",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]

AHEAD = 24
"""Edges between a request for memory and its use: halves the time for 10^7 random edges."""


@dataclass(frozen=True, eq=False)
class Balance:
    """Whether a signed graph is balanced, with a witness either way: one of the two is set.

    Attributes
    ----------
    switching : ndarray of int8, shape (number of vertices,), or None
        1 for the vertices to flip: every edge is then attractive.
    frustrated_cycle : tuple of int, or None
        The vertices, in order, of a simple cycle with an odd number of repulsive edges.
    """

    switching: Bits | None
    frustrated_cycle: tuple[int, ...] | None

    @property
    def is_balanced(self) -> bool:
        """Whether no cycle is frustrated."""
        return self.frustrated_cycle is None

    @cached_property
    def switching_set(self) -> frozenset[int] | None:
        """The vertices to flip, as a set; None for a graph that is not balanced."""
        if self.switching is None:
            return None
        return frozenset(np.flatnonzero(self.switching).tolist())


def balance(model: Model | UprootedModel) -> Balance:
    """Decide whether the signs of a model's edges are balanced, and show why.

    Parameters
    ----------
    model : Model or UprootedModel
        Of a `Model`, only its own variables and edges count, not its fields: M_r is balanced iff
        r hits every frustrated cycle of M+.

    Returns
    -------
    Balance
        In the vertices of what was given. The lowest vertex of each component is not flipped.

    Notes
    -----
    Near-linear: union-find with parity, then one breadth-first search if a cycle is needed.

    Examples
    --------
    >>> balance(Model([0, 0, 0], [(0, 1), (1, 2)], [-1, 2])).switching_set
    frozenset({1, 2})
    >>> sorted(balance(Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-1, 2, 1])).frustrated_cycle)
    [0, 1, 2]
    """
    n = model.n if isinstance(model, Model) else model.n_vertices
    return _balance(n, model.edges, model.weights)


def rooted_balance(uprooted: UprootedModel, root: int) -> Balance:
    """Decide whether M_root is balanced, without building it.

    Parameters
    ----------
    uprooted : UprootedModel
    root : int
        The vertex whose edges do not count.

    Returns
    -------
    Balance
        In the vertices of M+: ``switching`` has shape (n_vertices,) and is 0 at the root.

    Raises
    ------
    ModelError
        If there is no such vertex.

    Notes
    -----
    Near-linear, as `balance`.

    Examples
    --------
    >>> uprooted = UprootedModel(3, [(0, 1), (1, 2), (0, 2)], [-1, 2, 1])
    >>> rooted_balance(uprooted, 1).switching_set
    frozenset()
    """
    if not 0 <= root < uprooted.n_vertices:
        raise ModelError(f"no vertex {root}: the model has 0..{uprooted.n_vertices - 1}")
    # Edges are sorted, so those of vertex 0 come first: the usual root needs no copies.
    first = int(np.searchsorted(uprooted.edges[:, 0], 1))
    rest = slice(first, None) if root == 0 else (uprooted.edges != root).all(axis=1)
    return _balance(uprooted.n_vertices, uprooted.edges[rest], uprooted.weights[rest])


def switching(n: int, edges: Ints, weights: Floats) -> Bits | None:
    """Find what to flip so that all edges are attractive.

    Parameters
    ----------
    n : int
        Number of vertices.
    edges : ndarray of int64, shape (m, 2)
        Vertices in 0..n-1, which is not checked.
    weights : ndarray of float64, shape (m,)
        W < 0 is repulsive.

    Returns
    -------
    ndarray of int8, shape (n,), or None
        1 for the vertices to flip, 0 for the lowest vertex of each component; None if the graph
        is not balanced.

    Notes
    -----
    Near-linear: union-find with parity.

    Examples
    --------
    >>> switching(3, np.array([(0, 1), (1, 2)]), np.array([-1.0, 2.0]))
    array([0, 1, 1], dtype=int8)
    """
    kept = np.zeros(n, dtype=np.bool_)
    conflict, link = _united(_read_only(edges), _read_only(weights), kept)
    return _sides(link) if conflict < 0 else None


def balancing_vertices(uprooted: UprootedModel) -> list[int]:
    """List every vertex whose removal leaves a balanced graph.

    Parameters
    ----------
    uprooted : UprootedModel

    Returns
    -------
    list of int
        Ascending: the roots r at which M_r is balanced. All vertices if M+ is balanced.

    Notes
    -----
    O(n + m). Two vertex-disjoint frustrated cycles mean none, and no such cycle means all. Else
    what is left without the one cycle found is balanced; only vertices of the cycle can qualify,
    and for them each component of what is left can be contracted into one vertex. One
    depth-first search of that small graph decides. Call a back edge frustrated when the cycle
    that it closes with the search tree is. Vertex v qualifies iff (1) it lies on the tree path of
    every frustrated back edge, and (2) for each child c of v, the back edges from the subtree of
    c to proper ancestors of v are all frustrated or none is: they join that subtree to the rest,
    and two that differ close a frustrated cycle which avoids v.

    Examples
    --------
    >>> edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    >>> balancing_vertices(UprootedModel(4, edges, [1, 1, -1, 1, 1]))
    [1, 2]
    """
    graph = _Signed.of(uprooted)
    kept = np.zeros(uprooted.n_vertices, dtype=np.bool_)
    cycles, link = graph.disjoint_cycles(kept, 2)
    if not cycles:
        return list(range(uprooted.n_vertices))
    found: list[int] = [] if len(cycles) == 2 else graph.hitting(kept, cycles[0], link).tolist()
    return found


def balancing_set(uprooted: UprootedModel, k: int) -> frozenset[int] | None:
    """Find a smallest set of at most k vertices that hits every frustrated cycle.

    Parameters
    ----------
    uprooted : UprootedModel
    k : int
        Meant to be small.

    Returns
    -------
    frozenset of int, or None
        Empty if M+ is balanced; of one vertex, the lowest that qualifies; None if every such set
        has more than k vertices, that is if M+ is not k-almost balanced.

    Raises
    ------
    ModelError
        If k is negative.

    Notes
    -----
    O(L^(k-1) (n + m)): branches on the vertices of a short frustrated cycle, of length L, with
    `balancing_vertices` at the leaves. A branch ends at once where more vertex-disjoint
    frustrated cycles turn up than vertices are left to choose.

    Examples
    --------
    >>> two_triangles = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]
    >>> uprooted = UprootedModel(6, two_triangles, [-1.0] * 6)
    >>> balancing_set(uprooted, 1) is None, len(balancing_set(uprooted, 2))
    (True, 2)
    """
    if k < 0:
        raise ModelError(f"k is {k}: expected a number of vertices, 0 or more")
    graph = _Signed.of(uprooted)
    removed = np.zeros(uprooted.n_vertices, dtype=np.bool_)
    for size in range(k + 1):
        found = graph.hitting_set(removed, size)
        if found is not None:
            return found
    return None


def _balance(n: int, edges: Ints, weights: Floats) -> Balance:
    if weights.min(initial=1.0) > 0:  # nothing to flip
        side = np.zeros(n, dtype=np.int8)
        side.setflags(write=False)
        return Balance(side, None)
    edges, weights = _read_only(edges), _read_only(weights)
    kept = np.zeros(n, dtype=np.bool_)
    conflict, link = _united(edges, weights, kept)
    if conflict < 0:
        side = _sides(link)
        side.setflags(write=False)
        return Balance(side, None)
    # The edges before the conflict are balanced, so they are enough for a cycle through it.
    start, ends = _adjacency(n, edges[: conflict + 1], weights[: conflict + 1])
    cycle = _short_frustrated_cycle(start, ends, kept, edges[conflict, 0])
    return Balance(None, tuple(cycle.tolist()))


@dataclass(frozen=True, eq=False)
class _Signed:
    """The edges of M+."""

    n: int
    edges: Ints
    weights: Floats

    @classmethod
    def of(cls, uprooted: UprootedModel) -> _Signed:
        return cls(uprooted.n_vertices, _read_only(uprooted.edges), _read_only(uprooted.weights))

    @cached_property
    def rows(self) -> tuple[Ints, Ints]:
        """The edges by vertex, once they are needed: balance is seen without."""
        rows: tuple[Ints, Ints] = _adjacency(self.n, self.edges, self.weights)
        return rows

    def disjoint_cycles(self, removed: Flags, limit: int) -> tuple[list[Ints], Ints]:
        """Find vertex-disjoint frustrated cycles until none is left or there are ``limit``.

        Then link unites what is balanced without them, if there are fewer.
        """
        cycles: list[Ints] = []
        used = removed.copy()
        while True:
            conflict, link = _united(self.edges, self.weights, used)
            if conflict < 0:
                return cycles, link
            near = self.edges[conflict, 0]
            cycles.append(_short_frustrated_cycle(*self.rows, used, near))
            if len(cycles) == limit:
                return cycles, link
            used[cycles[-1]] = True

    def hitting(self, removed: Flags, cycle: Ints, link: Ints) -> Ints:
        """List the vertices that hit every frustrated cycle of what is not removed, ascending.

        Without ``cycle``, which is one, link unites the components of what is left.
        """
        n, edges, weights = _contracted(*self.rows, removed, cycle, link)
        small = _adjacency(n, _read_only(edges), _read_only(weights))
        return np.sort(cycle[_balancing(*small)[: len(cycle)]])

    def hitting_set(self, removed: Flags, size: int) -> frozenset[int] | None:
        """Give at most ``size`` vertices that hit every frustrated cycle of what is not removed."""
        cycles, link = self.disjoint_cycles(removed, size + 1)
        if not cycles:
            return frozenset()
        if len(cycles) > size:
            return None
        if size == 1:
            found = self.hitting(removed, cycles[0], link)
            return frozenset(found[:1].tolist()) if len(found) else None
        for v in sorted(min(cycles, key=len).tolist()):
            removed[v] = True
            rest = self.hitting_set(removed, size - 1)
            removed[v] = False
            if rest is not None:
                return rest | {v}
        return None


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give a contiguous view that is read-only, as models' arrays are: one compiled signature."""
    view = np.ascontiguousarray(array).view()
    view.setflags(write=False)
    return view


@njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # only kernels call it
def _find(link: Ints, v: int) -> int:
    """Give 2 root + side of v, halving the path; link holds 2 parent + side to the parent."""
    side = 0
    while link[v] >> 1 != v:
        up = link[v]
        link[v] = link[up >> 1] ^ (up & 1)
        side ^= link[v] & 1
        v = link[v] >> 1
    return 2 * v + side


@njit(cache=True)
def _united(edges: Ints, weights: Floats, removed: Flags) -> tuple[int, Ints]:
    """Unite what edges join; give the first that contradicts the ones before it, or -1.

    And link, in which `_find` finds. Edges of removed vertices do not count.
    """
    n, m = len(removed), len(edges)
    link = 2 * np.arange(n)
    last, a = -1, 0  # a: what is found at vertex ``last``; edges are sorted
    for e in range(m):
        prefetch(link, edges[min(e + AHEAD, m - 1), 1])
        u, v = edges[e, 0], edges[e, 1]
        if removed[u] or removed[v]:
            continue
        if u != last:
            last, a = u, _find(link, u)
        b = _find(link, v)
        if weights[e] < 0:
            b ^= 1
        if a >> 1 == b >> 1:
            if a != b:
                return e, link
        elif a < b:
            link[b >> 1] = a ^ (b & 1)
        else:
            link[a >> 1] = b ^ (a & 1)
            a = b
    return -1, link


@njit(cache=True)
def _sides(link: Ints) -> Bits:
    """Give the side of every vertex; that of the lowest of each component is 0."""
    side = np.zeros(len(link), np.int8)
    for v in range(len(link)):  # parents come first: links only lead to lower vertices
        side[v] = side[link[v] >> 1] ^ (link[v] & 1)
    return side


@njit(cache=True)
def _contracted(
    start: Ints, ends: Ints, removed: Flags, cycle: Ints, link: Ints
) -> tuple[int, Ints, Floats]:
    """Contract what is united, and balanced, without the cycle; vertex k is the cycle's k-th.

    Gives how many vertices that makes, and the edges at the cycle, parallel ones among them.
    """
    name = np.full(len(link), -1)
    n, most = len(cycle), 0
    for k in range(n):
        name[cycle[k]] = k
        most += start[cycle[k] + 1] - start[cycle[k]]
    edges, weights, count = np.empty((most, 2), np.int64), np.empty(most), 0
    for k in range(len(cycle)):
        for at in range(start[cycle[k]], start[cycle[k] + 1]):
            u, repulsive = ends[at] >> 1, ends[at] & 1
            if removed[u]:
                continue
            if name[u] < 0 or name[u] >= len(cycle):
                home = _find(link, u)
                u, repulsive = home >> 1, repulsive ^ (home & 1)
                if name[u] < 0:
                    name[u] = n
                    n += 1
            elif name[u] < k:
                continue
            edges[count, 0], edges[count, 1] = k, name[u]
            weights[count] = -1.0 if repulsive else 1.0
            count += 1
    return n, edges[:count], weights[:count]


@njit(cache=True)
def _adjacency(n: int, edges: Ints, weights: Floats) -> tuple[Ints, Ints]:
    """Give ``start, ends``: ends[start[v]:start[v + 1]] are 2 u + (1 if repulsive)."""
    start = np.zeros(n + 1, np.int64)
    for e in range(len(edges)):
        start[edges[e, 0]] += 1
        start[edges[e, 1]] += 1
    total = 0
    for v in range(n + 1):
        total += start[v]
        start[v] = total
    ends = np.empty(2 * len(edges), np.int64)
    for e in range(len(edges) - 1, -1, -1):
        u, v = edges[e, 0], edges[e, 1]
        repulsive = 1 if weights[e] < 0 else 0
        start[u] -= 1
        ends[start[u]] = 2 * v + repulsive
        start[v] -= 1
        ends[start[v]] = 2 * u + repulsive
    return start, ends


@njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # only kernels call it
def _search(
    start: Ints, ends: Ints, removed: Flags, source: int, link: Ints, level: Ints, queue: Ints
) -> tuple[int, int]:
    """Grow a breadth-first tree until an edge closes a frustrated cycle; give its ends, or -1."""
    link[source], level[source], queue[0] = 2 * source, 0, source
    head, tail = 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        for at in range(start[v], start[v + 1]):
            u = ends[at] >> 1
            side = (ends[at] ^ link[v]) & 1
            if removed[u]:
                continue
            if level[u] < 0:
                link[u], level[u] = 2 * v + side, level[v] + 1
                queue[tail] = u
                tail += 1
            elif link[u] & 1 != side:
                return v, u
    return -1, -1


@njit(cache=True)
def _short_frustrated_cycle(start: Ints, ends: Ints, removed: Flags, first: int) -> Ints:
    """Find a short frustrated cycle, searching from ``first`` on; empty if there is none."""
    n = len(start) - 1
    # link[v] = 2 parent + side of v in the search tree; level -1: not seen
    link, level = np.empty(n, np.int64), np.full(n, -1, np.int64)
    queue = np.empty(n, np.int64)
    v, u = -1, -1
    for source in range(first, n):
        if not removed[source] and level[source] < 0:
            v, u = _search(start, ends, removed, source, link, level, queue)
            if v >= 0:
                break
    if v < 0:
        return queue[:0]
    # A second search, from where the first one failed, closes a cycle near there.
    level = np.full(n, -1, np.int64)
    v, u = _search(start, ends, removed, v, link, level, queue)
    cycle = np.empty(level[v] + level[u] + 1, np.int64)
    left, right = 0, len(cycle)
    while v != u:
        if level[v] >= level[u]:
            cycle[left] = v
            left += 1
            v = link[v] >> 1
        else:
            right -= 1
            cycle[right] = u
            u = link[u] >> 1
    cycle[left] = v
    for at in range(right, len(cycle)):
        left += 1
        cycle[left] = cycle[at]
    return cycle[: left + 1]


@njit(cache=True)
def _balancing(start: Ints, ends: Ints) -> Flags:
    """Say which vertices balance a connected graph: see `balancing_vertices`.

    Edges may be parallel.
    """
    n = len(start) - 1
    depth = np.full(n, -1)  # -1: not seen
    through, mixed, frustrated = np.full(n, -1), np.zeros(n, np.bool_), 0
    # By depth, of the vertex v on the current path: itself, its side, its next edge, and of the
    # subtree under it: back edges to proper ancestors of v's parent, the frustrated ones among
    # them, and frustrated back edges to v and its proper ancestors.
    path, side, after = np.empty(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    past, past_frustrated = np.empty(n, np.int64), np.empty(n, np.int64)
    over = np.empty(n, np.int64)
    v, deep = 0, 0
    depth[v], path[0], after[0] = 0, v, start[v]
    past[0], past_frustrated[0], over[0] = 0, 0, 0
    while deep >= 0:
        at, end = after[deep], start[v + 1]
        while at < end and depth[ends[at] >> 1] >= 0:
            above = depth[ends[at] >> 1]
            odd = (side[above] ^ side[deep] ^ ends[at]) & 1
            if above < deep - 1:  # a proper ancestor of the parent
                past[deep] += 1
                past[above + 1] -= 1
                past_frustrated[deep] += odd
                past_frustrated[above + 1] -= odd
            if above < deep:
                frustrated += odd
                over[deep] += odd
                if above > 0:
                    over[above - 1] -= odd
            at += 1
        if at < end:
            after[deep] = at + 1
            v = ends[at] >> 1
            deep += 1
            side[deep] = (side[deep - 1] ^ ends[at]) & 1
            depth[v], path[deep], after[deep] = deep, v, start[v]
            past[deep], past_frustrated[deep], over[deep] = 0, 0, 0
            continue
        through[v] = over[deep]
        split = 0 < past_frustrated[deep] < past[deep]
        deep -= 1
        if deep >= 0:
            v = path[deep]
            mixed[v] |= split
            past[deep] += past[deep + 1]
            past_frustrated[deep] += past_frustrated[deep + 1]
            over[deep] += over[deep + 1]
    good: Flags = (through == frustrated) & ~mixed
    return good
