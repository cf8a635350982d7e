"""Violated cycle inequalities of a point d, found on the edges present.

For a cycle C and an odd subset F of its edges, every cut satisfies
``d(F) - d(C - F) <= |F| - 1`` (Barahona and Mahjoub 1986). Give an edge the length 1 - d if it is
in F and d otherwise: the inequality says that the cycle is at least 1 long. In the doubled graph,
with copies v' and v'' of each vertex, edges outside F join equal copies and edges of F opposite
ones, so a violated inequality is a path from some v' to v'' shorter than 1.

Three things make this fast, and none of them loses a violated inequality:

* the components of edges with d at 0 or 1 are points, with a parity for each of their vertices;
* swapping the copies is a symmetry of the doubled graph, so a path shorter than 1 has its middle
  on an edge whose ends are closer than 1/2 to v' and v'', and a ball of radius 1/2 shows it;
* a vertex through which no violated cycle goes is erased before the next one is tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numba as nb
import numpy as np
import numpy.typing as npt

from mapreroot.model import UprootedModel

__all__ = ["VIOLATION", "Cuts", "Separator"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

VIOLATION = 1e-7
"""An inequality counts as violated when its left side exceeds the right one by more than this."""

INTEGRAL = 1e-9
"""d within this of 0 or 1 is integral; far below VIOLATION divided by the length of a cycle."""

MAX_TRIANGLES = 30_000_000
CHOICES = 64


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cycle inequalities ``sum of d over F - sum of d over C - F <= |F| - 1``.

    Attributes
    ----------
    start : ndarray of int64, shape (k + 1,)
        Cut r is made of the entries start[r]:start[r + 1] of the other two arrays.
    edge : ndarray of int64
        Edge numbers of the model, along each cycle.
    odd : ndarray of bool
        Whether the edge belongs to F, an odd number of times in each cut.

    Examples
    --------
    >>> cuts = Cuts(np.array([0, 3]), np.array([0, 2, 1]), np.array([True, True, True]))
    >>> len(cuts), cuts.rhs.tolist()
    (1, [2.0])
    """

    start: Ints
    edge: Ints
    odd: Flags

    @classmethod
    def none(cls) -> Self:
        """No cuts at all."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def row(self) -> Ints:
        """The cut that each entry belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def sign(self) -> Floats:
        """Coefficient of each entry: 1 in F, -1 outside."""
        return np.where(self.odd, 1.0, -1.0)

    @property
    def rhs(self) -> Floats:
        """Right sides |F| - 1, shape (k,)."""
        return np.asarray(np.bincount(self.row, self.odd, len(self)) - 1.0, np.float64)

    def violation(self, d: Floats) -> Floats:
        """How much each inequality is exceeded at d (negative: slack), shape (k,)."""
        return np.bincount(self.row, self.sign * d[self.edge], len(self)) - self.rhs

    def __getitem__(self, keep: Any) -> Cuts:
        """Give the cuts of a Boolean mask or an array of numbers, in that order."""
        chosen = np.arange(len(self))[keep]
        length = np.diff(self.start)[chosen]
        start = np.concatenate([[0], np.cumsum(length)])
        entry = np.repeat(self.start[chosen] - start[:-1], length) + np.arange(start[-1])
        return Cuts(start, self.edge[entry], self.odd[entry])

    def __add__(self, other: Cuts) -> Cuts:
        return Cuts(
            np.concatenate([self.start, self.start[-1] + other.start[1:]]),
            np.concatenate([self.edge, other.edge]),
            np.concatenate([self.odd, other.odd]),
        )


class _Graph(NamedTuple):
    """Adjacency by vertex: arcs start[v]:start[v + 1] go to ``head`` along ``edge``."""

    start: Ints
    head: Ints
    edge: Ints


class _Forest(NamedTuple):
    """Components of the integral edges; the parity of v is the d it has to its component's root."""

    component: Ints
    parity: Ints
    parent: Ints
    link: Ints
    depth: Ints


class _Search(NamedTuple):
    """Scratch space of the Dijkstra searches: node 2 v + q is copy q of vertex v."""

    dist: Floats
    seen: Ints
    done: Ints
    prev: Ints
    via: Ints
    key: Floats
    node: Ints
    mark: Ints
    total: Floats
    choice: Ints
    walk: Ints
    cycles: Ints
    reach: Floats


class _Pool(NamedTuple):
    """Cuts being collected; ``size`` holds their number, then the stamp of the last search."""

    start: Ints
    edge: Ints
    odd: Flags
    table: npt.NDArray[np.uint64]
    size: Ints


class Separator:
    """Finds violated cycle inequalities on one graph, again and again.

    Parameters
    ----------
    uprooted : UprootedModel
        Only its edges count.

    Notes
    -----
    O(N + m) memory, besides the list of triangles (12 bytes each).
    """

    def __init__(self, uprooted: UprootedModel) -> None:
        n, m = uprooted.n_vertices, uprooted.m
        self.n, self.m = n, m
        self.ends = np.ascontiguousarray(uprooted.edges.T)
        self.graph = _adjacency(n, self.ends[0], self.ends[1], np.arange(m))
        self.triangles = _triangles(self.graph, self.ends)
        self._points = _Forest(*(np.arange(n), *(np.zeros(n, np.int64) for _ in range(4))))
        self._points.parent[:] = -1
        # Each arc of the doubled graph, 8 m in all, enters the heap at most once per search.
        self._search = _Search(
            dist=np.zeros(2 * n),
            seen=np.zeros(2 * n, np.int64),
            done=np.zeros(2 * n, np.int64),
            prev=np.zeros(2 * n, np.int64),
            via=np.zeros(2 * n, np.int64),
            key=np.zeros(8 * m + 2),
            node=np.zeros(8 * m + 2, np.int64),
            mark=np.full(n, -1, np.int64),
            total=np.zeros(CHOICES),
            choice=np.zeros((CHOICES, 3), np.int64),
            walk=np.zeros((8 * n + 16, 4), np.int64),
            cycles=np.zeros((4 * n + 64, 3), np.int64),
            reach=np.zeros(n + 1),
        )
        self._stamp = 0

    def triangle_cuts(self, d: Floats, wanted: int) -> Cuts:
        """Give the most violated triangle inequalities, at most ``wanted``."""
        if not len(self.triangles):
            return Cuts.none()
        excess, kind = _triangle_excess(self.triangles, d)
        found = np.flatnonzero(excess > VIOLATION)
        if len(found) > wanted:
            found = found[np.argpartition(-excess[found], wanted)[:wanted]]
        odd = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.bool_)
        return Cuts(
            np.arange(len(found) + 1) * 3,
            self.triangles[found].astype(np.int64).ravel(),
            odd[kind[found]].ravel(),
        )

    def cycle_cuts(self, d: Floats, wanted: int, penalty: float = 0.0, each: int = 3) -> Cuts:
        """Give violated inequalities on chordless cycles, about ``wanted`` of them.

        Parameters
        ----------
        d : ndarray, shape (m,)
        wanted : int
            No further vertex is tried once so many have been found. The answer is empty only
            if no inequality is violated by more than VIOLATION.
        penalty : float
            Added per edge where cycles through integral edges are searched: prefers short ones.
        each : int
            Cuts per vertex and search.

        Notes
        -----
        O(k (m' + N') log N') for the N' components joined by m' fractional edges, k of them
        tried.
        """
        m = self.m
        pool = _Pool(
            np.zeros(4 * wanted + 65, np.int64),
            np.zeros(40 * wanted + 16 * self.n + 64, np.int64),
            np.zeros(40 * wanted + 16 * self.n + 64, np.bool_),
            np.zeros(1 << (16 * wanted + 256).bit_length(), np.uint64),
            np.array([0, self._stamp]),
        )
        forest, n_components = _contract(self.graph, d)
        u, v = self.ends
        a, b = forest.component[u], forest.component[v]
        twist = forest.parity[u] ^ forest.parity[v]
        length = np.where(twist == 0, d, 1.0 - d)
        inner = np.flatnonzero((a == b) & (length > VIOLATION))
        plain = np.zeros(m, np.int64)
        if len(inner):
            order = inner[np.argsort(-length[inner], kind="stable")]
            _from_vertices(
                self.graph, self._points, self.graph, self.ends, d, d, plain,
                u[order], max(penalty, 1e-3), each, wanted, self._search, pool,
            )  # fmt: skip
            if pool.size[0] < wanted:
                _from_edges(
                    forest, self.graph, self.ends, d, twist, order, wanted, self._search, pool
                )
        if pool.size[0] < wanted:
            outer = np.flatnonzero(a != b)
            quotient = _adjacency(n_components, a[outer], b[outer], outer)
            degree = np.diff(quotient.start)
            sources = np.argsort(-degree, kind="stable")[: np.count_nonzero(degree)]
            _from_vertices(
                quotient, forest, self.graph, self.ends, d, length, twist,
                sources, 0.0, each, wanted, self._search, pool,
            )  # fmt: skip
        k = pool.size[0]
        self._stamp = pool.size[1]
        size = pool.start[k]
        return Cuts(pool.start[: k + 1].copy(), pool.edge[:size].copy(), pool.odd[:size].copy())


def _adjacency(n: int, u: Ints, v: Ints, edge: Ints) -> _Graph:
    return _Graph(*_fill_adjacency(n, u, v, edge))


@nb.njit(cache=True)
def _fill_adjacency(n: int, u: Ints, v: Ints, edge: Ints) -> tuple[Ints, Ints, Ints]:
    # Edges that are sorted give every vertex its neighbours in ascending order.
    start = np.zeros(n + 1, np.int64)
    for k in range(len(u)):
        start[u[k] + 1] += 1
        start[v[k] + 1] += 1
    start = np.cumsum(start)
    at = start[:-1].copy()
    head = np.empty(2 * len(u), np.int64)
    by = np.empty(2 * len(u), np.int64)
    for k in range(len(u)):
        head[at[v[k]]], by[at[v[k]]] = u[k], edge[k]
        at[v[k]] += 1
    for k in range(len(u)):
        head[at[u[k]]], by[at[u[k]]] = v[k], edge[k]
        at[u[k]] += 1
    return start, head, by


def _triangles(graph: _Graph, ends: Ints) -> npt.NDArray[np.int32]:
    """List every triangle as its edges (ij, ik, jk), or none if there are too many to keep."""
    count = _fill_triangles(graph, ends, np.zeros((0, 3), np.int32))
    if count > MAX_TRIANGLES:
        return np.zeros((0, 3), np.int32)
    out = np.zeros((count, 3), np.int32)
    _fill_triangles(graph, ends, out)
    return out


@nb.njit(cache=True)
def _fill_triangles(graph: _Graph, ends: Ints, out: npt.NDArray[np.int32]) -> int:
    n = len(graph.start) - 1
    link = np.full(n, -1, np.int64)
    count = 0
    for i in range(n):
        for k in range(graph.start[i], graph.start[i + 1]):
            link[graph.head[k]] = graph.edge[k]
        for k in range(graph.start[i], graph.start[i + 1]):
            j = graph.head[k]
            if j < i:
                continue
            for l in range(graph.start[j + 1] - 1, graph.start[j] - 1, -1):
                h = graph.head[l]
                if h < j:
                    break
                if link[h] >= 0:
                    if count < len(out):
                        out[count, 0] = graph.edge[k]
                        out[count, 1] = link[h]
                        out[count, 2] = graph.edge[l]
                    count += 1
        for k in range(graph.start[i], graph.start[i + 1]):
            link[graph.head[k]] = -1
    return count


@nb.njit(cache=True)
def _triangle_excess(triangles: npt.NDArray[np.int32], d: Floats) -> tuple[Floats, Ints]:
    """Violation of the worst of the four inequalities of each triangle, and which it is."""
    excess = np.empty(len(triangles))
    kind = np.empty(len(triangles), np.int64)
    for t in range(len(triangles)):
        a, b, c = d[triangles[t, 0]], d[triangles[t, 1]], d[triangles[t, 2]]
        best, which = a + b + c - 2.0, 0
        if a - b - c > best:
            best, which = a - b - c, 1
        if b - a - c > best:
            best, which = b - a - c, 2
        if c - a - b > best:
            best, which = c - a - b, 3
        excess[t] = best
        kind[t] = which
    return excess, kind


@nb.njit(cache=True)
def _contract(graph: _Graph, d: Floats) -> tuple[_Forest, int]:
    """Breadth-first forest of the integral edges: its tree paths are short."""
    n = len(graph.start) - 1
    component = np.full(n, -1, np.int64)
    parity = np.zeros(n, np.int64)
    parent = np.full(n, -1, np.int64)
    link = np.full(n, -1, np.int64)
    depth = np.zeros(n, np.int64)
    queue = np.empty(n, np.int64)
    count = 0
    for root in range(n):
        if component[root] >= 0:
            continue
        component[root] = count
        queue[0] = root
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for k in range(graph.start[u], graph.start[u + 1]):
                v, e = graph.head[k], graph.edge[k]
                if component[v] < 0 and (d[e] <= INTEGRAL or d[e] >= 1.0 - INTEGRAL):
                    component[v] = count
                    parity[v] = parity[u] ^ (1 if d[e] > 0.5 else 0)
                    parent[v], link[v], depth[v] = u, e, depth[u] + 1
                    queue[tail] = v
                    tail += 1
        count += 1
    return _Forest(component, parity, parent, link, depth), count


@nb.njit(cache=True)
def _from_vertices(
    graph: _Graph,
    forest: _Forest,
    original: _Graph,
    ends: Ints,
    d: Floats,
    length: Floats,
    twist: Ints,
    sources: Ints,
    penalty: float,
    each: int,
    wanted: int,
    search: _Search,
    pool: _Pool,
) -> None:
    """Collect cuts on short odd closed walks through each source.

    ``graph`` is the original graph or its quotient by ``forest``; ``length`` is d there, where
    flipping the vertices of parity 1 has turned d into 1 - d on the edges with ``twist``.
    """
    erased = np.zeros(len(graph.start) - 1, np.bool_)
    tried = np.zeros(len(graph.start) - 1, np.bool_)
    for s in sources:
        if pool.size[0] >= wanted:
            return
        if tried[s]:
            continue
        tried[s] = True
        found = _shortest(graph, s, length, penalty, erased, search, pool)
        erased[s] = found == 0
        for _ in range(min(each, found)):
            c = np.argmin(search.total[:found])
            search.total[c] = np.inf
            steps = _trace(graph, s, c, forest, ends, d, twist, search)
            _collect(original, ends, d, steps, search, pool)


@nb.njit(cache=True)
def _from_edges(
    forest: _Forest,
    graph: _Graph,
    ends: Ints,
    d: Floats,
    twist: Ints,
    order: Ints,
    wanted: int,
    search: _Search,
    pool: _Pool,
) -> None:
    """Collect cuts on edges that disagree with the integral tree path between their ends."""
    for e in order:
        if pool.size[0] >= wanted:
            return
        u, v = ends[0, e], ends[1, e]
        search.walk[0, 0], search.walk[0, 1], search.walk[0, 2] = u, e, 1 - twist[e]
        steps = _tree_path(v, u, forest, d, search.walk, 1)
        _collect(graph, ends, d, steps, search, pool)


@nb.njit(cache=True)
def _shortest(
    graph: _Graph,
    s: int,
    length: Floats,
    penalty: float,
    erased: Flags,
    search: _Search,
    pool: _Pool,
) -> int:
    """Dijkstra from s' to radius 1/2; how many closed walks shorter than 1 it chose from.

    Choice c is the walk over arc ``choice[c]`` = (node, arc, crossing), of length ``total[c]``.
    """
    dist, seen, done = search.dist, search.seen, search.done
    pool.size[1] += 1
    now = pool.size[1]
    limit = 1.0 - VIOLATION
    found = 0
    dist[2 * s], seen[2 * s], search.prev[2 * s] = 0.0, now, -1
    search.key[0], search.node[0] = 0.0, 2 * s
    size = 1
    while size > 0:
        at, x = search.key[0], search.node[0]
        size = _pop(search.key, search.node, size)
        if 2.0 * at >= limit:
            break
        if done[x] == now:
            continue
        done[x] = now
        for k in range(graph.start[x >> 1], graph.start[(x >> 1) + 1]):
            w = graph.head[k]
            if erased[w]:
                continue
            for crossing in range(2):
                step = length[graph.edge[k]]
                step = (1.0 - step if crossing else step) + penalty
                z = 2 * w + ((x & 1) ^ crossing)
                if seen[z ^ 1] == now:
                    other = dist[z ^ 1]
                    total = at + step + other
                    if total < limit and abs(at - other) <= step + 1e-12 and found < CHOICES:
                        search.total[found] = total
                        search.choice[found, 0] = x
                        search.choice[found, 1] = k
                        search.choice[found, 2] = crossing
                        found += 1
                        limit = min(limit, total + 0.1)
                there = at + step
                if 2.0 * there < limit and (seen[z] != now or there < dist[z]):
                    dist[z], seen[z], search.prev[z] = there, now, x
                    search.via[z] = k
                    size = _push(search.key, search.node, size, there, z)
    return found


@nb.njit(cache=True)
def _push(key: Floats, node: Ints, size: int, k: float, x: int) -> int:
    i = size
    while i > 0:
        up = (i - 1) >> 1
        if key[up] <= k:
            break
        key[i], node[i] = key[up], node[up]
        i = up
    key[i], node[i] = k, x
    return size + 1


@nb.njit(cache=True)
def _pop(key: Floats, node: Ints, size: int) -> int:
    size -= 1
    k, x = key[size], node[size]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and key[down + 1] < key[down]:
            down += 1
        if k <= key[down]:
            break
        key[i], node[i] = key[down], node[down]
        i = down
    key[i], node[i] = k, x
    return size


@nb.njit(cache=True)
def _tree_path(u: int, v: int, forest: _Forest, d: Floats, walk: Ints, at: int) -> int:
    """Write the tree path from u to v into ``walk`` from ``at`` on; where it ends."""
    a, b, up = u, v, 0
    while a != b:
        if forest.depth[a] >= forest.depth[b]:
            e = forest.link[a]
            walk[at, 0], walk[at, 1], walk[at, 2] = a, e, 1 if d[e] > 0.5 else 0
            at += 1
            a = forest.parent[a]
        else:
            b = forest.parent[b]
            up += 1
    b = v
    for t in range(at + up - 1, at - 1, -1):
        e = forest.link[b]
        b = forest.parent[b]
        walk[t, 0], walk[t, 1], walk[t, 2] = b, e, 1 if d[e] > 0.5 else 0
    return at + up


@nb.njit(cache=True)
def _trace(
    graph: _Graph,
    s: int,
    c: int,
    forest: _Forest,
    ends: Ints,
    d: Floats,
    twist: Ints,
    search: _Search,
) -> int:
    """Write the chosen closed walk, in the original graph, into ``walk``; its number of steps."""
    # Arcs from s' up to the chosen one, then over it and back along the mirrored path. The first
    # half comes out backwards, which as a closed walk (all arcs reversed) is as good.
    walk, order = search.walk, search.cycles
    x, k, crossing = search.choice[c, 0], search.choice[c, 1], search.choice[c, 2]
    half = 0
    y = x
    while search.prev[y] >= 0:
        half += 1
        y = search.prev[y]
    y, t = x, half - 1
    while search.prev[y] >= 0:
        p = search.prev[y]
        order[t, 0], order[t, 1], order[t, 2] = p >> 1, graph.edge[search.via[y]], (y ^ p) & 1
        y, t = p, t - 1
    order[half, 0], order[half, 1], order[half, 2] = x >> 1, graph.edge[k], crossing
    count = half + 1
    y = 2 * graph.head[k] + ((x & 1) ^ crossing ^ 1)
    while search.prev[y] >= 0:
        p = search.prev[y]
        order[count, 0], order[count, 1] = y >> 1, graph.edge[search.via[y]]
        order[count, 2] = (y ^ p) & 1
        count += 1
        y = p
    steps = 0
    for t in range(count):
        e = order[t, 1]
        tail, head = ends[0, e], ends[1, e]
        if forest.component[tail] != order[t, 0]:
            tail, head = head, tail
        walk[steps, 0], walk[steps, 1], walk[steps, 2] = tail, e, order[t, 2] ^ twist[e]
        e = order[(t + 1) % count, 1]
        after = ends[0, e]
        if forest.component[after] != order[(t + 1) % count, 0]:
            after = ends[1, e]
        steps = _tree_path(head, after, forest, d, walk, steps + 1)
    return steps


@nb.njit(cache=True)
def _simple(steps: int, search: _Search) -> tuple[int, int]:
    """Find a simple cycle with odd F in the closed walk: it is ``walk[i:j]``."""
    walk, mark = search.walk, search.mark
    top = 0
    mark[walk[0, 0]] = 0
    walk[0, 3] = 0
    first, last = 0, 0
    for t in range(steps):
        e, f = walk[t, 1], walk[t, 2]
        head = walk[t + 1, 0] if t + 1 < steps else walk[0, 0]
        walk[top, 1], walk[top, 2] = e, f
        parity = walk[top, 3] ^ f
        i = mark[head]
        if i < 0:
            top += 1
            walk[top, 0], walk[top, 3] = head, parity
            mark[head] = top
        elif parity != walk[i, 3]:
            first, last = i, top + 1
            break
        else:
            for j in range(i + 1, top + 1):
                mark[walk[j, 0]] = -1
            top = i
    for j in range(top + 1):
        mark[walk[j, 0]] = -1
    return first, last


@nb.njit(cache=True)
def _edge_between(graph: _Graph, u: int, v: int) -> int:
    low, high = graph.start[u], graph.start[u + 1]
    while low < high:
        mid = (low + high) >> 1
        if graph.head[mid] < v:
            low = mid + 1
        else:
            high = mid
    if low < graph.start[u + 1] and graph.head[low] == v:
        return int(graph.edge[low])
    return -1


@nb.njit(cache=True)
def _collect(
    graph: _Graph, ends: Ints, d: Floats, steps: int, search: _Search, pool: _Pool
) -> None:
    """Split an odd closed walk at chords and keep what is violated and chordless.

    The violations of the two parts of a cycle sum to its own, so one of them is at least half.
    """
    walk, cycles = search.walk, search.cycles
    first, last = _simple(steps, search)
    k = last - first
    if k < 3:
        return
    for t in range(k):
        for j in range(3):
            cycles[t, j] = walk[first + t, j]
    cycles[k, 0] = k
    high = k + 1  # the stack: each cycle is followed by its length
    while high > 0:
        k = cycles[high - 1, 0]
        low = high - 1 - k
        excess = _prefix_sums(cycles, low, k, d, search)
        i, j, e = _best_chord(graph, low, k, d, excess, search)
        part1, part2, odd = 0.0, 0.0, 0
        if e >= 0:
            odd = 1 - ((walk[j, 3] ^ walk[i, 3]) & 1)
            inside = search.reach[j] - search.reach[i]
            part1 = 1.0 - inside - (1.0 - d[e] if odd else d[e])
            part2 = excess - part1
        if e < 0 or max(part1, part2) <= VIOLATION:
            if excess > VIOLATION:
                _keep(cycles, low, k, pool)
            high = low
            continue
        for t in range(k):
            for c in range(3):
                walk[t, c] = cycles[low + t, c]
        high = low
        if part1 > VIOLATION:
            for t in range(i, j):
                for c in range(3):
                    cycles[high, c] = walk[t, c]
                high += 1
            cycles[high, 0], cycles[high, 1], cycles[high, 2] = walk[j, 0], e, odd
            cycles[high + 1, 0] = j - i + 1
            high += 2
        if part2 > VIOLATION:
            for t in range(j, k + i):
                for c in range(3):
                    cycles[high, c] = walk[t if t < k else t - k, c]
                high += 1
            cycles[high, 0], cycles[high, 1], cycles[high, 2] = walk[i, 0], e, 1 - odd
            cycles[high + 1, 0] = k - j + i + 1
            high += 2


@nb.njit(cache=True)
def _prefix_sums(cycles: Ints, low: int, k: int, d: Floats, search: _Search) -> float:
    """Parity of F (``walk[:, 3]``) and length (``reach``) up to each vertex; the violation."""
    parity, length = 0, 0.0
    for t in range(k):
        search.walk[t, 3], search.reach[t] = parity, length
        e, f = cycles[low + t, 1], cycles[low + t, 2]
        parity ^= f
        length += 1.0 - d[e] if f else d[e]
    return 1.0 - length


@nb.njit(cache=True)
def _best_chord(
    graph: _Graph, low: int, k: int, d: Floats, excess: float, search: _Search
) -> tuple[int, int, int]:
    """Find the chord (positions i < j, edge) with the most violated part; edge -1 for none."""
    cycles, mark = search.cycles, search.mark
    best, first, last, chord = -np.inf, 0, 0, -1
    for t in range(k):
        mark[cycles[low + t, 0]] = t
    for i in range(k):
        u = cycles[low + i, 0]
        degree = graph.start[u + 1] - graph.start[u]
        hub = degree > 16 * k  # then k binary searches cost less than its neighbours
        for a in range(k if hub else degree):
            if hub:
                j = a
                e = _edge_between(graph, u, cycles[low + j, 0]) if j > i + 1 else -1
            else:
                e = graph.edge[graph.start[u] + a]
                j = mark[graph.head[graph.start[u] + a]]
            if e < 0 or j < i + 2 or (i == 0 and j == k - 1):
                continue
            odd = search.walk[j, 3] == search.walk[i, 3]
            inside = search.reach[j] - search.reach[i]
            part = 1.0 - inside - (1.0 - d[e] if odd else d[e])
            if max(part, excess - part) > best:
                best, first, last, chord = max(part, excess - part), i, j, e
    for t in range(k):
        mark[cycles[low + t, 0]] = -1
    return first, last, chord


@nb.njit(cache=True)
def _keep(cycles: Ints, low: int, k: int, pool: _Pool) -> None:
    """Append the cycle to the pool, unless it is there or there is no room."""
    at = pool.start[pool.size[0]]
    if pool.size[0] + 1 >= len(pool.start) or at + k > len(pool.edge):
        return
    name = np.uint64(0)
    for t in range(low, low + k):
        mixed = np.uint64(2 * cycles[t, 1] + cycles[t, 2] + 1) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        name += mixed * np.uint64(0xBF58476D1CE4E5B9)
    mask = np.uint64(len(pool.table) - 1)
    slot = (name >> np.uint64(17)) & mask
    while pool.table[slot] != 0:
        if pool.table[slot] == name:
            return
        slot = (slot + np.uint64(1)) & mask
    pool.table[slot] = name
    for t in range(k):
        pool.edge[at + t] = cycles[low + t, 1]
        pool.odd[at + t] = cycles[low + t, 2] == 1
    pool.size[0] += 1
    pool.start[pool.size[0]] = at + k
