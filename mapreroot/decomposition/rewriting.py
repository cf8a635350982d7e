"""The compiled half of `mapreroot.decomposition.reduction`: a multigraph rewritten in place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["STEPS", "Graph", "linked", "rewrite", "undo"]

Bits = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BUSY = 32
"""A vertex with more neighbours than this is looked at again only after a share has changed."""


class Graph(NamedTuple):
    """A multigraph under change. Edge e has the half-edges 2e and 2e + 1, one in each end's list.

    Both halves of a removed edge lead to -1; lists drop them when they are next read.
    """

    to: Ints  # (2m,) where a half-edge leads
    following: Ints  # (2m,) the next half-edge of the same list, or -1
    first: Ints  # (n,)
    degree: Ints  # (n,) live half-edges, parallel ones included; -1 for a vertex that is gone
    W: Floats  # (m, 2) double-double
    constant: Floats  # (2,) double-double
    steps: Ints
    stack: Ints  # (n,) vertices to visit: the last one touched is still in the cache
    stacked: npt.NDArray[np.bool_]  # (n,) on that stack
    changes: Ints  # (n,) since the last visit
    postponed: Ints  # (n,) a second stack, of busy vertices
    waiting: npt.NDArray[np.bool_]  # (n,) on the second stack
    seen: Ints  # (n, 2) stamp of the last list read that led here, and the half-edge that did
    counters: Ints  # indexed by the four names below


STEPS, STACKED, POSTPONED, STAMP = range(4)

# Of type int64: a kernel is compiled anew for each Python number that it is given.
NONE, FREE, TIED, MAJORITY, DROPPED, GIVEN = np.arange(-1, 5)
"""The kinds of steps; `mapreroot.decomposition.Step` says what they mean."""

# For what only kernels call: without what Python would need to call it, it compiles faster.
_inner = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


@njit(cache=True)
def linked(n: int, edges: Ints, weights: Floats, constant: float) -> Graph:
    """Build the lists of a simple graph, each in the order of the edges."""
    m = len(weights)
    to = np.empty(2 * m, np.int64)
    following = np.empty(2 * m, np.int64)
    first = np.full(n, -1, np.int64)
    degree = np.zeros(n, np.int64)
    W = np.zeros((m, 2))
    for e in range(m - 1, -1, -1):
        i, j = edges[e, 0], edges[e, 1]
        W[e, 0] = weights[e]
        to[2 * e], to[2 * e + 1] = j, i
        following[2 * e], following[2 * e + 1] = first[i], first[j]
        first[i], first[j] = 2 * e, 2 * e + 1
        degree[i] += 1
        degree[j] += 1
    total = np.zeros(2)
    total[0] = constant
    return Graph(
        to,
        following,
        first,
        degree,
        W,
        total,
        np.empty((n + m, 5), np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.zeros(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.bool_),
        np.zeros((n, 2), np.int64),
        np.zeros(4, np.int64),
    )


@njit(cache=True)
def rewrite(graph: Graph, ties: Ints, floor: float, eliminate: bool) -> None:
    """Merge what is tied; then, if asked to eliminate, apply the rules until none applies.

    Weights up to ``floor`` are dropped.
    """
    n, count = len(ties), graph.counters
    for u in range(n):
        if ties[u] >= 0:
            _log(graph, GIVEN, u, ties[u], NONE, NONE)
            _merge(graph, u, ties[u] >> 1, (ties[u] & 1) == 1)
    if eliminate:
        for u in range(n):
            if graph.degree[u] >= 0:
                _touch(graph, u)
                graph.changes[u] = graph.degree[u]
    while count[STACKED] > 0:
        count[STACKED] -= 1
        u = graph.stack[count[STACKED]]
        graph.stacked[u] = False
        if graph.degree[u] >= 0:
            if graph.degree[u] > BUSY and 4 * graph.changes[u] < graph.degree[u]:
                if not graph.waiting[u]:
                    graph.waiting[u] = True
                    graph.postponed[count[POSTPONED]] = u
                    count[POSTPONED] += 1
            else:
                _visit(graph, u, floor, eliminate)
        if count[STACKED] == 0:
            while count[POSTPONED] > 0:
                count[POSTPONED] -= 1
                u = graph.postponed[count[POSTPONED]]
                graph.waiting[u] = False
                if graph.degree[u] >= 0 and graph.changes[u] > 0:
                    _touch(graph, u)
                    graph.changes[u] = graph.degree[u]


@_inner
def _visit(graph: Graph, u: int, floor: float, eliminate: bool) -> None:
    """Read the edges of u and apply the rule that fits, if any."""
    heaviest, high, low = _read(graph, u, floor)
    if not eliminate:
        return
    if graph.degree[u] == 0:
        _log(graph, FREE, u, NONE, NONE, NONE)
        graph.degree[u] = -1
        return
    e = heaviest >> 1
    a, b = 2.0 * abs(graph.W[e, 0]), 2.0 * graph.W[e, 1]
    if graph.W[e, 0] < 0:
        b = -b
    if a > high or (a == high and b >= low):
        v, flip = graph.to[heaviest], graph.W[e, 0] < 0
        gone, kept = (v, u) if graph.degree[u] > graph.degree[v] else (u, v)
        _log(graph, TIED, gone, 2 * kept + flip, NONE, NONE)
        _merge(graph, gone, kept, flip)
    elif graph.degree[u] == 3:
        _star_triangle(graph, u)


@_inner
def _read(graph: Graph, u: int, floor: float) -> tuple[int, float, float]:
    """Tidy the list of u: sum parallel edges, drop dead ones and noise.

    Returns the heaviest half-edge and the sum of |W|, as a double-double number.
    """
    to, following, W, seen = graph.to, graph.following, graph.W, graph.seen
    graph.changes[u] = 0
    graph.counters[STAMP] += 1
    stamp = graph.counters[STAMP]
    before, h = -1, graph.first[u]
    while h >= 0:
        after, v = following[h], to[h]
        if v >= 0 and seen[v, 0] != stamp:
            seen[v, 0], seen[v, 1] = stamp, h
            before = h
        else:
            if v >= 0:
                e, twin = h >> 1, seen[v, 1] >> 1
                W[twin, 0], W[twin, 1] = _sum(W[twin, 0], W[twin, 1], W[e, 0], W[e, 1])
                _remove(graph, h, u, v)
            if before < 0:
                graph.first[u] = after
            else:
                following[before] = after
        h = after
    heaviest, high, low = -1, 0.0, 0.0
    before, h = -1, graph.first[u]
    while h >= 0:
        after, e = following[h], h >> 1
        a, b = W[e, 0], W[e, 1]
        if a < 0:
            a, b = -a, -b
        if a <= floor:
            if a > 0:
                _log(graph, DROPPED, u, 2 * to[h] + (W[e, 0] < 0), NONE, NONE)
            _remove(graph, h, u, to[h])
            if before < 0:
                graph.first[u] = after
            else:
                following[before] = after
        else:
            high, error = _two_sum(high, a)
            low += error + b
            if heaviest < 0:
                heaviest = h
            else:
                best, rest = W[heaviest >> 1, 0], W[heaviest >> 1, 1]
                if best < 0:
                    best, rest = -best, -rest
                if a > best or (a == best and b > rest):
                    heaviest = h
            before = h
        h = after
    high, low = _two_sum(high, low)
    return heaviest, high, low


@_inner
def _merge(graph: Graph, gone: int, kept: int, flip: bool) -> None:
    """Substitute y_gone = y_kept XOR flip."""
    to, W = graph.to, graph.W
    h = graph.first[gone]
    while h >= 0:
        after, v, e = graph.following[h], to[h], h >> 1
        if v >= 0:
            if flip:  # W [y_u != y_v] = W - W [1 - y_u != y_v]
                _gain(graph, -0.5 * W[e, 0], -0.5 * W[e, 1])
                W[e, 0], W[e, 1] = -W[e, 0], -W[e, 1]
            if v == kept:
                _remove(graph, h, gone, kept)
            else:
                to[h ^ 1] = kept
                _link(graph, h, kept)
                _touch(graph, v)
        h = after
    graph.degree[gone] = -1
    _touch(graph, kept)


@_inner
def _star_triangle(graph: Graph, u: int) -> None:
    """Replace u and its three edges, none of them heavy, by a triangle on its neighbours."""
    to, W = graph.to, graph.W
    half = np.empty(3, np.int64)
    end = np.empty(3, np.int64)
    size = np.empty((3, 2))
    flip = np.empty(3, np.int64)
    h = graph.first[u]
    for k in range(3):
        half[k], end[k] = h, to[h]
        size[k, 0], size[k, 1], flip[k] = W[h >> 1, 0], W[h >> 1, 1], 0
        if size[k, 0] < 0:
            # As an attractive edge to the flipped neighbour.
            size[k, 0], size[k, 1], flip[k] = -size[k, 0], -size[k, 1], 1
            _gain(graph, 0.5 * size[k, 0], 0.5 * size[k, 1])
        h = graph.following[h]
    _log(graph, MAJORITY, u, 2 * end[0] + flip[0], 2 * end[1] + flip[1], 2 * end[2] + flip[2])
    for k in range(3):
        # Edge k leaves u and joins its old end to the next one.
        p, q = k, (k + 1) % 3
        a, b = _sum(size[p, 0], size[p, 1], size[q, 0], size[q, 1])
        a, b = _sum(a, b, -size[3 - p - q, 0], -size[3 - p - q, 1])
        a, b = 0.5 * a, 0.5 * b
        if flip[p] != flip[q]:
            _gain(graph, -0.5 * a, -0.5 * b)
            a, b = -a, -b
        h = half[p]
        W[h >> 1, 0], W[h >> 1, 1] = a, b
        to[h ^ 1] = end[q]
        _link(graph, h, end[q])
    graph.degree[u] = -1
    for k in range(3):
        _touch(graph, end[k])


@_inner
def _link(graph: Graph, h: int, v: int) -> None:
    """Put a half-edge into the list of v."""
    graph.following[h] = graph.first[v]
    graph.first[v] = h
    graph.degree[v] += 1


@_inner
def _remove(graph: Graph, h: int, u: int, v: int) -> None:
    graph.to[h] = -1
    graph.to[h ^ 1] = -1
    graph.degree[u] -= 1
    graph.degree[v] -= 1
    _touch(graph, v)


@_inner
def _touch(graph: Graph, v: int) -> None:
    """Note a change at v, and that it must be visited."""
    count = graph.counters
    graph.changes[v] += 1
    if not graph.stacked[v]:
        graph.stacked[v] = True
        graph.stack[count[STACKED]] = v
        count[STACKED] += 1


@_inner
def _log(graph: Graph, kind: int, u: int, a: int, b: int, c: int) -> None:
    k = graph.counters[STEPS]
    graph.steps[k, 0], graph.steps[k, 1] = kind, u
    graph.steps[k, 2], graph.steps[k, 3], graph.steps[k, 4] = a, b, c
    graph.counters[STEPS] = k + 1


@_inner
def _gain(graph: Graph, high: float, low: float) -> None:
    c = graph.constant
    c[0], c[1] = _sum(c[0], c[1], high, low)


@_inner
def _sum(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Add the double-double numbers (a, b) and (c, d): relative error below 2^-104."""
    s, e = _two_sum(a, c)
    t, f = _two_sum(b, d)
    s, e = _two_sum(s, e + t)
    high, low = _two_sum(s, e + f)
    return high, low


@_inner
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """Add two floats; the second number is the exact error of the first (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit(cache=True)
def undo(steps: Ints, y: Bits) -> None:
    """Walk the steps backwards and fill in y for the vertices they removed."""
    for k in range(len(steps) - 1, -1, -1):
        kind, u, a = steps[k, 0], steps[k, 1], steps[k, 2]
        if kind in (TIED, GIVEN):
            y[u] = y[a >> 1] ^ (a & 1)
        elif kind == MAJORITY:
            b, c = steps[k, 3], steps[k, 4]
            votes = (y[a >> 1] ^ (a & 1)) + (y[b >> 1] ^ (b & 1)) + (y[c >> 1] ^ (c & 1))
            y[u] = votes >= 2
