"""Flows that can be pushed further and taken back: what one more demand on a cut costs.

A minimum cut says where each vertex goes; the residual network of the maximum flow says what it
would cost to move one of them to the other side (Kohli and Torr 2006): as much flow as can still
be pushed to it. Each such flow starts from the same residual network and is undone after, so that
n questions cost one maximum flow and n searches, most of which end near where they start.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import SolverError

__all__ = [
    "augment",
    "checked",
    "network",
    "opened",
    "reached",
    "restore_flow",
    "restore_supply",
    "saturate",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def checked(*capacities: Floats) -> tuple[Floats, ...]:
    """Copy capacities, or refuse them.

    Raises
    ------
    SolverError
        For a number that is negative or not finite.
    """
    for values in capacities:
        if values.size and not (values.min() >= 0 and values.max() < np.inf):
            raise SolverError("a capacity is negative or not finite")
    return tuple(np.array(values, dtype=np.float64) for values in capacities)


@njit(cache=True)
def network(n: int, tail: Ints, head: Ints) -> tuple[Ints, Ints, Ints]:
    """List the half-edges of an undirected graph.

    Half-edge 2e leads from ``tail[e]`` to ``head[e]``, 2e + 1 back; ``to[h]`` is where h leads,
    and ``half[start[v]:start[v + 1]]`` leave v.
    """
    m = len(tail)
    start = np.zeros(n + 1, np.int64)
    to = np.empty(2 * m, np.int64)
    for e in range(m):
        start[tail[e] + 1] += 1
        start[head[e] + 1] += 1
        to[2 * e], to[2 * e + 1] = head[e], tail[e]
    for v in range(n):
        start[v + 1] += start[v]
    at = start[:-1].copy()
    half = np.empty(2 * m, np.int64)
    for e in range(m):
        half[at[tail[e]]], half[at[head[e]]] = 2 * e, 2 * e + 1
        at[tail[e]] += 1
        at[head[e]] += 1
    return start, half, to


@njit(cache=True)
def opened(n: int, m: int) -> tuple[Ints, Ints, Ints, Ints, Floats, Ints, Floats, Ints]:
    """Make the scratch arrays of `augment`, and its record for what comes back.

    Level and next half-edge of each vertex, a queue; edges that changed and their old residuals;
    vertices that changed and their old supply; a path. How many changed stands behind them.
    """
    return (
        np.full(n, -1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(m + 1, np.int64),
        np.full(2 * m, -1.0),
        np.zeros(n + 1, np.int64),
        np.full(n, -1.0),
        np.empty(n, np.int64),
    )


@njit(cache=True)
def augment(
    start: Ints, half: Ints, to: Ints, r: Floats, back: int, give: Floats, take: Floats,
    starts: Ints, scratch: tuple[Ints, Ints, Ints, Ints, Floats, Ints, Floats, Ints],
) -> float:  # fmt: skip
    """Push flow between vertices that give and ``starts``, which take, until no more fits.

    ``r[h]`` is the residual capacity of half-edge h. With ``back`` 1 flow runs from the givers to
    the takers, with 0 the other way. Changes r, give and take in place and returns the amount.
    Dinic (1970): shortest paths, blocked level by level; searches start at the takers and stop
    at the first level that gives.
    """
    level, at, queue, edges, old_r, givers, old_give, path = scratch
    m, n = len(r) // 2, len(start) - 1
    total = 0.0
    while True:
        count = 0
        for v in starts:
            if take[v] > 0:
                level[v], at[v], queue[count] = 0, start[v], v
                count += 1
        first, last, done = count, n, 0
        while done < count and level[queue[done]] < last:
            u = queue[done]
            done += 1
            if give[u] > 0:
                last = level[u]
                continue
            for k in range(start[u], start[u + 1]):
                w = to[half[k]]
                if level[w] < 0 and r[half[k] ^ back] > 0:
                    level[w], at[w], queue[count] = level[u] + 1, start[w], w
                    count += 1
                    if give[w] > 0:
                        last = level[w]
        if last < n:
            for s in range(first):
                v = queue[s]
                depth, u = 0, v
                while take[v] > 0:
                    if give[u] > 0:
                        amount = min(take[v], give[u])
                        for k in range(depth):
                            amount = min(amount, r[path[k] ^ back])
                        for k in range(depth):
                            h = path[k]
                            if old_r[h] < 0:
                                edges[edges[m]] = h >> 1
                                edges[m] += 1
                                old_r[h], old_r[h ^ 1] = r[h], r[h ^ 1]
                            r[h ^ back] -= amount
                            r[h ^ back ^ 1] += amount
                        if old_give[u] < 0:
                            givers[givers[n]] = u
                            givers[n] += 1
                            old_give[u] = give[u]
                        give[u] -= amount
                        take[v] -= amount
                        total += amount
                        depth, u = 0, v
                    elif at[u] < start[u + 1]:
                        h = half[at[u]]
                        w = to[h]
                        if r[h ^ back] > 0 and level[w] == level[u] + 1 and level[w] <= last:
                            path[depth] = h
                            depth, u = depth + 1, w
                        else:
                            at[u] += 1
                    elif depth == 0:
                        break
                    else:
                        depth -= 1
                        u = to[path[depth] ^ 1]
                        at[u] += 1
        for k in range(count):
            level[queue[k]] = -1
        if last == n:
            return total


@njit(cache=True)
def restore_flow(
    r: Floats, scratch: tuple[Ints, Ints, Ints, Ints, Floats, Ints, Floats, Ints]
) -> None:
    """Take back what `augment` has changed in r since the last call."""
    _, _, _, edges, old_r, _, _, _ = scratch
    m = len(edges) - 1
    for k in range(edges[m]):
        for h in (2 * edges[k], 2 * edges[k] + 1):
            r[h], old_r[h] = old_r[h], -1.0
    edges[m] = 0


@njit(cache=True)
def restore_supply(
    give: Floats, scratch: tuple[Ints, Ints, Ints, Ints, Floats, Ints, Floats, Ints]
) -> None:
    """Take back what `augment` has changed in give: before it is called with another array."""
    _, _, _, _, _, givers, old_give, _ = scratch
    n = len(givers) - 1
    for k in range(givers[n]):
        give[givers[k]], old_give[givers[k]] = old_give[givers[k]], -1.0
    givers[n] = 0


@njit(cache=True)
def saturate(
    start: Ints, half: Ints, to: Ints, r: Floats, give: Floats, take: Floats,
    scratch: tuple[Ints, Ints, Ints, Ints, Floats, Ints, Floats, Ints],
) -> float:  # fmt: skip
    """Push a maximum flow from all that give to all that take, for good."""
    _, _, _, edges, old_r, givers, old_give, _ = scratch
    flow: float = augment(start, half, to, r, 1, give, take, np.arange(len(give)), scratch)
    old_r[:], old_give[:] = -1.0, -1.0
    edges[-1], givers[-1] = 0, 0
    return flow


@njit(cache=True)
def reached(start: Ints, half: Ints, to: Ints, r: Floats, back: int, sources: Floats) -> Flags:
    """Say which vertices have a residual path from (``back`` 0) or to (1) a vertex of sources."""
    found = sources > 0
    stack = np.flatnonzero(found)
    queue = np.empty(len(found), np.int64)
    queue[: len(stack)] = stack
    count, done = len(stack), 0
    while done < count:
        u = queue[done]
        done += 1
        for k in range(start[u], start[u + 1]):
            w = to[half[k]]
            if not found[w] and r[half[k] ^ back] > 0:
                found[w] = True
                queue[count] = w
                count += 1
    return found
