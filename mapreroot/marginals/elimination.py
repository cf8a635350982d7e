"""In which order to sum vertices out of M+, and what the tables will cost.

A function on the vertices S of M+ that is left when others are summed out has the symmetry of M+,
f(y) = f(1 - y), so half of its table is enough: the last vertex of S is held at 0, which is
rooting, for free and anew in every table. With w the treewidth of M+ the largest table has
2^(w - 1) entries. No rooting M_r does better, because removing one vertex lowers the treewidth
by one at most.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from mapreroot.errors import SizeError

__all__ = ["Elimination", "eliminate", "too_large"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
TRIES = 24
"""Orders tried, at most."""
HOPELESS = 60
"""A separator of so many vertices ends an attempt: no memory holds its message."""
ENTRIES_PER_TRY = 512
"""One more order is worth its time for every so many table entries a vertex."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """Bags of an elimination in post-order: bag b sums vertex ``vertex[b]`` out.

    Attributes
    ----------
    vertex : ndarray of int, shape (n,)
    start : ndarray of int, shape (n + 1,)
    separator : ndarray of int
        ``separator[start[b]:start[b + 1]]``: the vertices that bag b's message depends on, in
        the order of their own elimination.
    parent : ndarray of int, shape (n,)
        The bag that takes the message, -1 where a connected component ends.
    """

    vertex: Ints
    start: Ints
    separator: Ints
    parent: Ints

    @property
    def treewidth(self) -> int:
        """The largest separator: an upper bound on the treewidth of the graph."""
        return int(np.diff(self.start).max(initial=0))

    @property
    def entries(self) -> int:
        """Entries of all messages together."""
        return int((1 << np.maximum(np.diff(self.start) - 1, 0)).sum())


def eliminate(
    n: int, edges: Ints, last: tuple[int, ...] = (), held: Bools | None = None, memory: float = 2e9
) -> Elimination:
    """Find a good order to sum out the vertices of a graph.

    Parameters
    ----------
    n : int
        Vertices.
    edges : ndarray of int, shape (m, 2)
    last : tuple of int
        Vertices to be summed out last, in this order.
    held : ndarray of bool, shape (n,), optional
        The vertices whose messages must depend on all of ``last`` too.
    memory : float
        Bytes that one message may take.

    Raises
    ------
    SizeError
        If some message would take more, whatever order was tried.

    Notes
    -----
    Greedy: vertices of degree at most 3 first (series, parallel and star-triangle reductions),
    then the one that adds the fewest edges. Where tables are large, ties are broken in several
    ways, the reverse Cuthill-McKee order is tried too (it sweeps long, narrow graphs from end to
    end), and the cheapest order is kept.
    """
    if held is None:
        held = np.zeros(n, dtype=np.bool_)
    final = np.array(last, dtype=np.int64)
    free = ~np.isin(edges, final).any(axis=1) if len(last) else np.ones(len(edges), np.bool_)
    inner = edges if free.all() else np.ascontiguousarray(edges[free])
    outer = np.ascontiguousarray(edges[~free])
    widest = max(1, int(np.log2(max(memory, 16.0) / 8)) + 1)
    hopeless = max(HOPELESS, widest + 2)
    best: Elimination | None = None
    narrowest = NEVER
    tries = 2
    attempt = 0
    while attempt < tries:
        tie = _band(n, inner) if attempt == 1 else np.random.default_rng(attempt).permutation(n)
        order, start, bags, width = _order(n, inner, final, tie, attempt != 1, hopeless)
        attempt += 1
        if width <= widest + 2:
            found = Elimination(*_arrange(n, order, start, bags, final, outer, held))
            width = found.treewidth
            if width <= widest and (best is None or found.entries < best.entries):
                best = found
        if best is not None:
            tries = min(TRIES, best.entries // (ENTRIES_PER_TRY * n))
        narrowest = min(narrowest, width)
    if best is None:
        raise too_large(narrowest, 8 * 2.0 ** (narrowest - 1), memory)
    return best


def _band(n: int, edges: Ints) -> Ints:
    graph = coo_array((np.ones(len(edges), np.int8), edges.T), shape=(n, n)).tocsr()
    place = np.empty(n, np.int64)
    place[reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)] = np.arange(n)
    return place


def too_large(treewidth: int, needed: float, memory: float) -> SizeError:
    """Build the error for tables that do not fit."""
    return SizeError(
        f"exact inference needs about {needed:.2g} bytes of memory (treewidth about {treewidth}"
        f"{' or more' if treewidth >= HOPELESS else ''}) "
        f"and may take {memory:.2g}: allow more memory, or use method 'bethe', 'trw' or "
        "'mean_field'"
    )


@njit(cache=True)
def _attach(head: Ints, after: Ints, before: Ints, v: int, h: int) -> None:
    first = head[v]
    after[h], before[h] = first, -1
    if first >= 0:
        before[first] = h
    head[v] = h


@njit(cache=True)
def _detach(head: Ints, after: Ints, before: Ints, v: int, h: int) -> None:
    a, b = after[h], before[h]
    if b >= 0:
        after[b] = a
    else:
        head[v] = a
    if a >= 0:
        before[a] = b


@njit(cache=True)
def _fill_in(v: int, n: int, head: Ints, after: Ints, to: Ints, adjacent: set[int]) -> int:
    """Count the pairs of neighbours of v that are not adjacent."""
    missing = 0
    h = head[v]
    while h >= 0:
        g = after[h]
        while g >= 0:
            s, t = to[h], to[g]
            missing += (min(s, t) * n + max(s, t)) not in adjacent
            g = after[g]
        h = after[h]
    return missing


@njit(cache=True)
def _order(
    n: int, edges: Ints, last: Ints, tie: Ints, greedy: bool, widest: int
) -> tuple[Ints, Ints, Ints, int]:
    """Elimination: order, separators (start, bags) and the largest separator.

    The greedy order breaks ties by ``tie``, the other one follows it alone. Stops early where
    every separator left exceeds ``widest``.
    """
    m = len(edges)
    # Half-edges 2e and 2e + 1 are twins, each in the doubly linked list of its tail.
    room = 2 * m + 64
    to = np.empty(room, np.int64)
    after = np.empty(room, np.int64)
    before = np.empty(room, np.int64)
    head = np.full(n, -1, np.int64)
    degree = np.zeros(n, np.int64)
    adjacent = {np.int64(-1)}
    for e in range(m):
        for side in range(2):
            v = edges[e, side]
            to[2 * e + side] = edges[e, 1 - side]
            _attach(head, after, before, v, 2 * e + side)
            degree[v] += 1
        adjacent.add(edges[e, 0] * n + edges[e, 1])
    used = 2 * m
    done = np.zeros(n, np.bool_)
    for v in last:
        done[v] = True
    # fill[v] is up to date where it is not -1; vertices of degree <= 3 go first without it.
    fill = np.full(n, -1, np.int64)
    score = np.full(n, -1, np.int64)
    heap = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    for v in range(n):
        if not done[v] and degree[v] <= widest:
            if degree[v] > 3 and greedy:
                fill[v] = _fill_in(v, n, head, after, to, adjacent)
            score[v] = 0 if not greedy else degree[v] if degree[v] <= 3 else 4 + fill[v]
            heap.append((score[v], tie[v], np.int64(v)))
    heapq.heapify(heap)
    order = np.empty(n, np.int64)
    start = np.zeros(n + 1, np.int64)
    bags = np.empty(4 * n + 64, np.int64)
    is_touched = np.zeros(n, np.bool_)
    touched = np.empty(n, np.int64)
    count, width = 0, 0
    total = n - len(last)
    while count < total:
        if len(heap) == 0:  # every vertex left has more than `widest` neighbours
            width = n
            for v in range(n):
                if not done[v]:
                    width = min(width, degree[v])
            break
        key, _, v = heapq.heappop(heap)
        if done[v] or key != score[v]:
            continue
        k = degree[v]
        width = max(width, k)
        done[v] = True
        order[count] = v
        base = start[count]
        if base + k > len(bags):
            grown = np.empty(2 * (base + k), np.int64)
            grown[:base] = bags[:base]
            bags = grown
        at = base
        h = head[v]
        while h >= 0:
            bags[at] = to[h]
            at += 1
            _detach(head, after, before, to[h], h ^ 1)
            degree[to[h]] -= 1
            h = after[h]
        count += 1
        start[count] = at
        reached = 0
        for a in range(base, at):
            s = bags[a]
            is_touched[s] = True
            touched[reached] = s
            reached += 1
            if fill[s] >= 0:  # pairs of v with those neighbours of s that are not v's
                fill[s] -= degree[s]
                for b in range(base, at):
                    t = bags[b]
                    if t != s and (min(s, t) * n + max(s, t)) in adjacent:
                        fill[s] += 1
        for a in range(base, at):
            for b in range(base, a):
                s, t = bags[a], bags[b]
                key = min(s, t) * n + max(s, t)
                if key in adjacent:
                    continue
                if degree[t] < degree[s]:
                    s, t = t, s
                common = 0
                h = head[s]
                while h >= 0:
                    w = to[h]
                    if (min(w, t) * n + max(w, t)) in adjacent:
                        common += 1
                        if fill[w] >= 0:
                            fill[w] -= 1
                            if not is_touched[w]:
                                is_touched[w] = True
                                touched[reached] = w
                                reached += 1
                    h = after[h]
                if fill[s] >= 0:
                    fill[s] += degree[s] - common
                if fill[t] >= 0:
                    fill[t] += degree[t] - common
                if used + 2 > room:
                    room *= 2
                    grown3 = np.empty((3, room), np.int64)
                    grown3[0, :used], grown3[1, :used], grown3[2, :used] = to, after, before
                    to, after, before = grown3[0], grown3[1], grown3[2]
                adjacent.add(key)
                to[used], to[used + 1] = t, s
                _attach(head, after, before, s, used)
                _attach(head, after, before, t, used + 1)
                used += 2
                degree[s] += 1
                degree[t] += 1
        for a in range(reached):
            s = touched[a]
            is_touched[s] = False
            if degree[s] <= 3 or degree[s] > widest:
                fill[s] = -1
                new = -1 if degree[s] > widest else degree[s] if greedy else 0
            elif not greedy:
                new = 0
            else:
                if fill[s] < 0:
                    fill[s] = _fill_in(s, n, head, after, to, adjacent)
                new = 4 + fill[s]
            if new != score[s]:
                score[s] = new
                if new >= 0:
                    heapq.heappush(heap, (new, tie[s], s))  # type: ignore[misc]
    return order[:count], start[: count + 1], bags[: start[count]], width


@njit(cache=True)
def _arrange(
    n: int, order: Ints, start: Ints, bags: Ints, last: Ints, outer: Ints, held: Bools
) -> tuple[Ints, Ints, Ints, Ints]:
    """Append the vertices ``last`` to order and separators; renumber the bags in post-order."""
    ends = len(last)
    position = np.empty(n, np.int64)
    for b in range(len(order)):
        position[order[b]] = b
    is_last = np.full(n, -1, np.int64)
    for a in range(ends):
        position[last[a]] = len(order) + a
        is_last[last[a]] = a
    # Which of `last` each bag meets: through edges, through its children, or because it is held.
    meets = np.zeros((n, ends), np.bool_)
    for e in range(len(outer)):
        first = min(position[outer[e, 0]], position[outer[e, 1]])
        for side in range(2):
            if position[outer[e, side]] != first and is_last[outer[e, side]] >= 0:
                meets[first, is_last[outer[e, side]]] = True
    parent = np.full(n, -1, np.int64)
    size = np.zeros(n, np.int64)
    for b in range(n):
        v = order[b] if b < len(order) else last[b - len(order)]
        first = n
        if b < len(order):
            for a in range(start[b], start[b + 1]):
                first = min(first, position[bags[a]])
            size[b] = start[b + 1] - start[b]
        for a in range(ends):
            if held[v] and position[last[a]] > b:
                meets[b, a] = True
            if meets[b, a]:
                size[b] += 1
                first = min(first, position[last[a]])
        if first < n:
            parent[b] = first
            for a in range(ends):
                if meets[b, a] and position[last[a]] != first:
                    meets[first, a] = True
    # Post-order without recursion: children are linked so that the walk keeps their order.
    child = np.full(n, -1, np.int64)
    sibling = np.full(n, -1, np.int64)
    for b in range(n - 1, -1, -1):
        if parent[b] >= 0:
            sibling[b] = child[parent[b]]
            child[parent[b]] = b
    place = np.empty(n, np.int64)
    count = 0
    for top in range(n):
        if parent[top] >= 0:
            continue
        b = top
        while True:
            while child[b] >= 0:
                b = child[b]
            place[b] = count
            count += 1
            while b != top and sibling[b] < 0:
                b = parent[b]
                place[b] = count
                count += 1
            if b == top:
                break
            b = sibling[b]
    vertex = np.empty(n, np.int64)
    new_parent = np.empty(n, np.int64)
    new_start = np.zeros(n + 1, np.int64)
    for b in range(n):
        vertex[place[b]] = order[b] if b < len(order) else last[b - len(order)]
        new_parent[place[b]] = place[parent[b]] if parent[b] >= 0 else -1
        new_start[place[b] + 1] = size[b]
    new_start = np.cumsum(new_start)
    separator = np.empty(new_start[n], np.int64)
    for b in range(n):
        at = new_start[place[b]]
        begin = at
        if b < len(order):
            for a in range(start[b], start[b + 1]):
                # Insertion sort: separators are short.
                s = bags[a]
                c = at
                while c > begin and position[separator[c - 1]] > position[s]:
                    separator[c] = separator[c - 1]
                    c -= 1
                separator[c] = s
                at += 1
        for a in range(ends):
            if meets[b, a]:
                separator[at] = last[a]
                at += 1
    return vertex, new_start, separator, new_parent
