"""Compiled search for short cycles with an odd set F: see `mapreroot.relaxations.separation`.

A closed walk of the doubled graph is shortest-path trees, traced back into the original graph,
cut down to a simple cycle, split at its chords and appended to a pool of cuts.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

__all__ = [
    "CHOICES",
    "INTEGRAL",
    "VIOLATION",
    "Forest",
    "Graph",
    "Point",
    "Pool",
    "Search",
    "View",
    "adjacency",
    "contract",
    "from_cuts",
    "from_edges",
    "from_vertices",
    "spread",
    "triangle_excess",
    "triangles",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

VIOLATION = 1e-7
"""An inequality counts as violated when its left side exceeds the right one by more than this."""

INTEGRAL = 1e-9
"""d within this of 0 or 1 is integral; far below VIOLATION divided by the length of a cycle."""

MAX_TRIANGLES = 30_000_000
CHOICES = 64


# For what only kernels call: without what Python would need to call it, it compiles faster.
_inner = nb.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


class Graph(NamedTuple):
    """Adjacency by vertex: arcs start[v]:start[v + 1] go to ``head`` along ``edge``."""

    start: Ints
    head: Ints
    edge: Ints


class Forest(NamedTuple):
    """Components of the integral edges; the parity of v is the d it has to its component's root."""

    component: Ints
    parity: Ints


class Point(NamedTuple):
    """The point d to separate, with the graph it lives on: edge e joins ``ends[:, e]``."""

    graph: Graph
    ends: Ints
    d: Floats


class View(NamedTuple):
    """A graph to search: that of a point itself, or its quotient by ``forest``.

    ``length`` is d there, where flipping the vertices of parity 1 has turned d into 1 - d on
    the edges with ``twist``. Both go by the edges' original numbers.
    """

    graph: Graph
    forest: Forest
    length: Floats
    twist: Ints


class Search(NamedTuple):
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
    queue: Ints
    reached: Ints
    link: Ints
    size: Ints


class Pool(NamedTuple):
    """Cuts being collected, and how often each edge is in them, where ``most`` is the limit.

    ``size`` holds their number, then the stamp of the last search.
    """

    start: Ints
    edge: Ints
    odd: Flags
    table: npt.NDArray[np.uint64]
    uses: Ints
    most: int
    size: Ints


@nb.njit(cache=True)
def adjacency(n: int, u: Ints, v: Ints, edge: Ints) -> Graph:
    """Give the adjacency of edges u[k] v[k], which are called edge[k]."""
    # Edges that are sorted give every vertex its neighbours in ascending order.
    start = np.zeros(n + 1, np.int64)
    for k in range(len(u)):
        start[u[k] + 1] += 1
        start[v[k] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    at = start.copy()
    head = np.empty(2 * len(u), np.int64)
    by = np.empty(2 * len(u), np.int64)
    for k in range(len(u)):
        head[at[v[k]]], by[at[v[k]]] = u[k], edge[k]
        at[v[k]] += 1
    for k in range(len(u)):
        head[at[u[k]]], by[at[u[k]]] = v[k], edge[k]
        at[u[k]] += 1
    return Graph(start, head, by)


def triangles(graph: Graph, ends: Ints) -> npt.NDArray[np.int32]:
    """List every triangle as its edges (ij, ik, jk), or none if there are too many to keep."""
    count = _fill_triangles(graph, ends, np.zeros((0, 3), np.int32))
    if count > MAX_TRIANGLES:
        return np.zeros((0, 3), np.int32)
    out = np.zeros((count, 3), np.int32)
    _fill_triangles(graph, ends, out)
    return out


@nb.njit(cache=True)
def _fill_triangles(graph: Graph, ends: Ints, out: npt.NDArray[np.int32]) -> int:
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
def triangle_excess(triangles: npt.NDArray[np.int32], d: Floats) -> tuple[Floats, Ints]:
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
def contract(graph: Graph, d: Floats) -> tuple[Forest, int]:
    """Find what the integral edges join, and each vertex's parity there."""
    n = len(graph.start) - 1
    component = np.full(n, -1, np.int64)
    parity = np.zeros(n, np.int64)
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
                    queue[tail] = v
                    tail += 1
        count += 1
    return Forest(component, parity), count


@nb.njit(cache=True)
def from_vertices(
    view: View,
    point: Point,
    sources: Ints,
    penalty: float,
    each: int,
    wanted: int,
    erased: Flags,
    tried: Flags,
    search: Search,
    pool: Pool,
) -> None:
    """Collect cuts on short odd closed walks through each source of the view, up to ``wanted``.

    Vertices that were ``tried`` are not again, and no walk goes through those ``erased``, on which
    there is none.
    """
    for s in sources:
        if pool.size[0] >= wanted:
            return
        if tried[s]:
            continue
        tried[s] = True
        found = _shortest(view, s, penalty, erased, search, pool)
        erased[s] = found == 0
        for _ in range(min(each, found)):
            c = np.int64(0)  # a literal 0 would have _trace compiled twice
            for other in range(1, found):
                if search.total[other] < search.total[c]:
                    c = np.int64(other)
            search.total[c] = np.inf
            steps = _trace(view, c, point, search, pool)
            if steps > 0:
                _collect(point, steps, VIOLATION, search, pool)


@nb.njit(cache=True)
def from_edges(
    view: View, point: Point, order: Ints, wanted: int, search: Search, pool: Pool
) -> None:
    """Collect cuts on edges that disagree with integral paths between their ends."""
    for e in order:
        if pool.size[0] >= wanted:
            return
        u, v = point.ends[0, e], point.ends[1, e]
        search.walk[0, 0], search.walk[0, 1], search.walk[0, 2] = u, e, 1 - view.twist[e]
        if pool.uses[e] >= pool.most:
            continue
        steps = _integral_path(v, u, point, view.forest.parity, search, pool, np.int64(1))
        if steps > 0:
            _collect(point, steps, VIOLATION, search, pool)


@nb.njit(cache=True)
def from_cuts(
    start: Ints,
    edge: Ints,
    odd: Flags,
    forest: Forest,
    joined: Point,
    point: Point,
    least: float,
    search: Search,
    pool: Pool,
) -> None:
    """Close the gaps of cycles through the components of ``forest``, and split them at chords.

    Consecutive edges of a cut meet in a component; a path of edges integral in ``joined`` leads
    from the end of one to the beginning of the next.
    """
    ends, component = point.ends, forest.component
    for r in range(len(start) - 1):
        low, k = start[r], start[r + 1] - start[r]
        steps = np.int64(0)  # a literal 0 would have _integral_path compiled twice
        for t in range(k):
            e, after, before = edge[low + t], edge[low + (t + 1) % k], edge[low + (t + k - 1) % k]
            tail, head = ends[0, e], ends[1, e]
            a, b = component[ends[0, before]], component[ends[1, before]]
            c = component[tail]
            if c != a and c != b:
                tail, head = head, tail
            c = component[head]
            to = ends[0, after] if component[ends[0, after]] == c else ends[1, after]
            search.walk[steps, 0], search.walk[steps, 1] = tail, e
            search.walk[steps, 2] = np.int64(odd[low + t])
            steps = _integral_path(head, to, joined, forest.parity, search, pool, steps + 1)
            if steps == 0:
                break
        if steps > 0:
            _collect(point, steps, least, search, pool)


@_inner
def _shortest(view: View, s: int, penalty: float, erased: Flags, search: Search, pool: Pool) -> int:
    """Dijkstra from s' to radius 1/2; how many closed walks shorter than 1 it chose from.

    Choice c is the walk over arc ``choice[c]`` = (node, arc, crossing), of length ``total[c]``.
    """
    graph, length = view.graph, view.length
    dist, seen, done = search.dist, search.seen, search.done
    pool.size[1] += 1
    now = pool.size[1]
    limit = 1.0 - VIOLATION
    found = 0
    dist[2 * s], seen[2 * s], search.prev[2 * s] = 0.0, now, -1
    search.key[0], search.node[0] = 0.0, 2 * s
    size = np.int64(1)  # a plain 1 would compile `_pop` a second time
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
            if erased[w] or pool.uses[graph.edge[k]] >= pool.most:
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


@_inner
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


@_inner
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


@_inner
def _integral_path(
    u: int, v: int, point: Point, parity: Ints, search: Search, pool: Pool, at: int
) -> int:
    """Write a path of integral edges from u to v, of fewest edges, into ``walk``; where it ends.

    Both ends are in one component. Breadth first from both sides, a level of the narrower one at
    a time: a path of the forest may run to its root and back, and a cut through it is weak. 0
    where every path has an edge that enough cuts of the pool have.
    """
    if u == v:
        return at
    graph, d, ends = point.graph, point.d, point.ends
    queue, reached, link, walk = search.queue, search.reached, search.link, search.walk
    search.size[0] += 2
    now = search.size[0]
    reached[u], reached[v] = now, now + 1
    queue[0, 0], queue[1, 0] = u, v
    low0, high0, low1, high1 = 0, 1, 0, 1
    meet, a, b = -1, u, v
    while meet < 0 and low0 < high0 and low1 < high1:
        side = 0 if high0 - low0 <= high1 - low1 else 1
        low, high = (low0, high0) if side == 0 else (low1, high1)
        end = high
        for i in range(low, high):
            x = queue[side, i]
            for k in range(graph.start[x], graph.start[x + 1]):
                y, e = graph.head[k], graph.edge[k]
                if reached[y] == now + side or pool.uses[e] >= pool.most:
                    continue
                far = 1.0 - d[e] if parity[x] != parity[y] else d[e]
                if far > INTEGRAL:
                    continue
                if reached[y] == now + 1 - side:
                    meet = e
                    a, b = (x, y) if side == 0 else (y, x)
                    break
                reached[y] = now + side
                link[y] = e
                queue[side, end] = y
                end += 1
            if meet >= 0:
                break
        if side == 0:
            low0, high0 = high, end
        else:
            low1, high1 = high, end
    if meet < 0:
        return 0
    x, t = a, at
    while x != u:
        x = ends[0, link[x]] + ends[1, link[x]] - x
        t += 1
    end = t
    x = a
    while x != u:
        e = link[x]
        x = ends[0, e] + ends[1, e] - x
        t -= 1
        walk[t, 0], walk[t, 1], walk[t, 2] = x, e, 1 if d[e] > 0.5 else 0
    walk[end, 0], walk[end, 1], walk[end, 2] = a, meet, 1 if d[meet] > 0.5 else 0
    end += 1
    x = b
    while x != v:
        e = link[x]
        walk[end, 0], walk[end, 1], walk[end, 2] = x, e, 1 if d[e] > 0.5 else 0
        x = ends[0, e] + ends[1, e] - x
        end += 1
    return end


@_inner
def _trace(view: View, c: int, point: Point, search: Search, pool: Pool) -> int:
    """Write the chosen closed walk, in the original graph, into ``walk``; its number of steps."""
    # Arcs from s' up to the chosen one, then over it and back along the mirrored path. The first
    # half comes out backwards, which as a closed walk (all arcs reversed) is as good.
    graph, forest, twist, ends = view.graph, view.forest, view.twist, point.ends
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
        steps = _integral_path(head, after, point, forest.parity, search, pool, steps + 1)
        if steps == 0:
            return 0
    return steps


@_inner
def _simple(steps: int, search: Search) -> tuple[int, int]:
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


@_inner
def _edge_between(graph: Graph, u: int, v: int) -> int:
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


@_inner
def _collect(point: Point, steps: int, least: float, search: Search, pool: Pool) -> None:
    """Split an odd closed walk at chords and keep what is chordless and violated by ``least``.

    The violations of the two parts of a cycle sum to its own, so one of them is at least half.
    """
    graph, d = point.graph, point.d
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
        if e < 0 or max(part1, part2) <= least:
            if excess > least:
                _keep(cycles, low, k, pool)
            high = low
            continue
        for t in range(k):
            for c in range(3):
                walk[t, c] = cycles[low + t, c]
        high = low
        if part1 > least:
            for t in range(i, j):
                for c in range(3):
                    cycles[high, c] = walk[t, c]
                high += 1
            cycles[high, 0], cycles[high, 1], cycles[high, 2] = walk[j, 0], e, odd
            cycles[high + 1, 0] = j - i + 1
            high += 2
        if part2 > least:
            for t in range(j, k + i):
                for c in range(3):
                    cycles[high, c] = walk[t if t < k else t - k, c]
                high += 1
            cycles[high, 0], cycles[high, 1], cycles[high, 2] = walk[i, 0], e, 1 - odd
            cycles[high + 1, 0] = k - j + i + 1
            high += 2


@_inner
def _prefix_sums(cycles: Ints, low: int, k: int, d: Floats, search: Search) -> float:
    """Parity of F (``walk[:, 3]``) and length (``reach``) up to each vertex; the violation."""
    parity, length = 0, 0.0
    for t in range(k):
        search.walk[t, 3], search.reach[t] = parity, length
        e, f = cycles[low + t, 1], cycles[low + t, 2]
        parity ^= f
        length += 1.0 - d[e] if f else d[e]
    return 1.0 - length


@_inner
def _best_chord(
    graph: Graph, low: int, k: int, d: Floats, excess: float, search: Search
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


@_inner
def _keep(cycles: Ints, low: int, k: int, pool: Pool) -> None:
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
        pool.uses[cycles[low + t, 1]] += 1
    pool.size[0] += 1
    pool.start[pool.size[0]] = at + k


@nb.njit(cache=True)
def spread(order: Ints, start: Ints, edge: Ints, m: int, per_edge: int, wanted: int) -> Flags:
    """Take cuts in order, but none with an edge that ``per_edge`` of those taken have already."""
    uses = np.zeros(m, np.int64)
    taken = np.zeros(len(start) - 1, np.bool_)
    count = 0
    for r in order:
        if count == wanted:
            break
        free = True
        for t in range(start[r], start[r + 1]):
            if uses[edge[t]] >= per_edge:
                free = False
                break
        if free:
            taken[r] = True
            count += 1
            for t in range(start[r], start[r + 1]):
                uses[edge[t]] += 1
    return taken
