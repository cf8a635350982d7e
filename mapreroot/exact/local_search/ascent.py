"""Climbing: flips while they gain, then chains of flips of variable depth."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.exact.local_search.graph import CHUNK, Graph, flip, gains, graph_of, start_at
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["ascend", "climb", "improve"]

Bits = NDArray[np.int8]
Floats = NDArray[np.float64]

# Vertices touched by one chain of variable depth: more are rarely kept.
_DEPTH = 40
# Flips beyond its best moment after which a chain is given up: 40 took three times as long, for
# .01 to 1 % of the score.
_IDLE = 15


@njit(cache=True)
def ascend(graph: Graph, y: Bits, gain: Floats) -> None:
    """Flip while a flip gains, first come first served."""
    n = len(y)
    queue = np.empty(n, np.int64)
    waiting = np.zeros(n, np.bool_)
    head, length = 0, 0
    for v in range(n):
        if gain[v] > graph.slack[v]:
            queue[length] = v
            length += 1
            waiting[v] = True
    while length:
        v = queue[head]
        head = head + 1 if head + 1 < n else 0
        length -= 1
        waiting[v] = False
        if gain[v] <= graph.slack[v]:
            continue
        flip(graph, y, gain, v)
        for e in range(graph.start[v], graph.start[v + 1]):
            u = graph.neighbour[e]
            if gain[u] > graph.slack[u] and not waiting[u]:
                queue[(head + length) % n] = u
                length += 1
                waiting[u] = True


@njit(cache=True)
def _chains(
    graph: Graph,
    y: Bits,
    gain: Floats,
    first: int,
    work: int,
    dirty: NDArray[np.bool_],
) -> int:
    """One chain from each dirty vertex, from ``first`` on, while work is left; says how far it got.

    A chain flips a vertex, then again and again the best vertex next to those flipped, each once,
    and goes back to its best moment. What it changed for good, and what is next to that, is dirty.
    """
    n = len(y)
    stamp = np.full(n, -1, np.int64)  # v is in the frontier of the chain that began at stamp[v]
    flipped = np.full(n, -1, np.int64)
    frontier = np.empty(n, np.int64)
    chain = np.empty(_DEPTH, np.int64)
    for seed in range(first, n):
        if work <= 0:
            return seed
        if not dirty[seed]:
            continue
        dirty[seed] = False
        size, length, best_length = 0, 0, 0
        total, best, noise = 0.0, 0.0, 0.0
        v = seed
        while True:
            total += gain[v]
            noise += graph.slack[v]
            flip(graph, y, gain, v)
            flipped[v] = seed
            chain[length] = v
            length += 1
            if total > best and total > noise:
                best, best_length = total, length
            if length == _DEPTH or length == best_length + _IDLE:
                break
            for e in range(graph.start[v], graph.start[v + 1]):
                u = graph.neighbour[e]
                if stamp[u] != seed:
                    stamp[u] = seed
                    frontier[size] = u
                    size += 1
            work -= graph.start[v + 1] - graph.start[v] + size
            v, k = -1, 0
            while k < size:
                u = frontier[k]
                if flipped[u] == seed:
                    size -= 1
                    frontier[k] = frontier[size]
                    continue
                if v < 0 or gain[u] > gain[v]:
                    v = u
                k += 1
            if v < 0:
                break
        for k in range(length - 1, best_length - 1, -1):
            flip(graph, y, gain, chain[k])
        for k in range(best_length):
            dirty[chain[k]] = True
            for e in range(graph.start[chain[k]], graph.start[chain[k] + 1]):
                dirty[graph.neighbour[e]] = True
    return n


def improve(uprooted: UprootedModel, y: ArrayLike, limits: Limits | None = None) -> Bits:
    """Climb from y: single flips while they gain, then chains of flips of variable depth.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    y : array_like, shape (n_vertices,)
        Where to start.
    limits : Limits, optional
        Asked about every 30 ms.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        A local optimum of both moves (unless a limit came first), never worse than y. The same
        input gives the same answer.

    Raises
    ------
    ModelError
        If y is not one 0 or 1 for each vertex.

    Notes
    -----
    O(n + m) for the flips of a typical sparse model, then at most 40 flips a vertex and pass.
    Kernighan and Lin (1970).

    Examples
    --------
    >>> ring = UprootedModel(4, [(0, 1), (0, 3), (1, 2), (2, 3)], [2.0, -1.0, 2.0, 2.0])
    >>> ring.score(improve(ring, [0, 1, 0, 1]))
    0.0
    """
    limits = limits or Limits()
    graph = graph_of(uprooted)
    best = start_at(uprooted, graph, y)
    climb(graph, best, gains(graph, best), limits)
    return best


def climb(graph: Graph, y: Bits, gain: Floats, limits: Limits) -> None:
    """`improve` in place, for those who have the graph."""
    ascend(graph, y, gain)
    dirty = np.ones(len(y), np.bool_)
    at = 0
    while dirty.any() and limits.reason() is None:
        at = _chains(graph, y, gain, at % len(y), CHUNK, dirty)
