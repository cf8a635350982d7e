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
    "push_all",
    "reached",
    "restore_flow",
    "restore_supply",
    "saturate",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Amounts = npt.NDArray[np.float64] | npt.NDArray[np.int64]


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


@njit(cache=True)
def push_all(start: Ints, half: Ints, to: Ints, r: Amounts, excess: Amounts) -> None:
    """Push a maximum flow from where ``excess`` is positive to where it is negative, for good.

    Changes r and excess in place; both hold integers or both floats. Boykov and Kolmogorov
    (2004): a tree grows from the givers and one from the takers, flow is pushed where they meet,
    and what that cuts off looks for a new parent, the nearest to a terminal. On the graphs of
    images this takes a tenth of the time of `saturate`.
    """
    n = len(excess)
    none, terminal, orphan = -1, -2, -3
    parent = np.full(n, none, np.int64)  # the half-edge that leads towards the terminal
    side = np.zeros(n, np.int64)  # 0 in the tree of the givers, 1 in that of the takers
    depth, seen = np.zeros(n, np.int64), np.zeros(n, np.int64)  # depth was true at time seen
    active, orphans = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)  # rings
    is_active = np.zeros(n, np.bool_)
    first, last, first_orphan, last_orphan = 0, 0, 0, 0
    for v in range(n):
        if excess[v] != 0:
            parent[v], depth[v], side[v] = terminal, 1, 1 if excess[v] < 0 else 0
            active[last], is_active[v] = v, True
            last += 1
    time = 0
    while first != last:
        v = active[first]
        meeting = -1  # a half-edge from the givers' tree to the takers'
        if parent[v] != none:
            for k in range(start[v], start[v + 1]):
                h = half[k]
                if r[h ^ side[v]] == 0:
                    continue
                w = to[h]
                if parent[w] == none:
                    parent[w], side[w], seen[w], depth[w] = h ^ 1, side[v], seen[v], depth[v] + 1
                    if not is_active[w]:
                        active[last], is_active[w] = w, True
                        last = last + 1 if last < n else 0
                elif side[w] != side[v]:
                    meeting = h ^ side[v]
                    break
                elif seen[w] <= seen[v] and depth[w] > depth[v]:
                    parent[w], seen[w], depth[w] = h ^ 1, seen[v], depth[v] + 1
        if meeting < 0:
            is_active[v] = False
            first = first + 1 if first < n else 0
            continue
        time += 1
        amount = r[meeting]
        for back in (0, 1):
            u = to[meeting ^ 1 ^ back]
            while parent[u] != terminal:
                amount = min(amount, r[parent[u] ^ 1 ^ back])
                u = to[parent[u]]
            amount = min(amount, abs(excess[u]))
        r[meeting] -= amount
        r[meeting ^ 1] += amount
        for back in (0, 1):
            u = to[meeting ^ 1 ^ back]
            while True:
                h = parent[u]
                if h == terminal:
                    excess[u] -= amount if back == 0 else -amount
                    empty = excess[u] == 0
                else:
                    r[h ^ 1 ^ back] -= amount
                    r[h ^ back] += amount
                    empty = r[h ^ 1 ^ back] == 0
                if empty:
                    parent[u] = orphan
                    orphans[last_orphan] = u
                    last_orphan = last_orphan + 1 if last_orphan < n else 0
                if h == terminal:
                    break
                u = to[h]
        while first_orphan != last_orphan:
            u = orphans[first_orphan]
            first_orphan = first_orphan + 1 if first_orphan < n else 0
            best, least = none, n + 2
            for k in range(start[u], start[u + 1]):
                h = half[k]
                w = to[h]
                if r[h ^ 1 ^ side[u]] == 0 or side[w] != side[u] or parent[w] == none:
                    continue
                d = 0
                while True:
                    if seen[w] == time:
                        d += depth[w]
                        break
                    d += 1
                    if parent[w] == terminal:
                        seen[w], depth[w] = time, 1
                        break
                    if parent[w] == orphan:
                        d = n + 2
                        break
                    w = to[parent[w]]
                if d > n:
                    continue
                if d < least:
                    best, least = h, d
                w = to[h]
                while seen[w] != time:
                    seen[w], depth[w] = time, d
                    d -= 1
                    w = to[parent[w]]
            parent[u] = best
            if best != none:
                seen[u], depth[u] = time, least + 1
                continue
            for k in range(start[u], start[u + 1]):
                h = half[k]
                w = to[h]
                if side[w] != side[u] or parent[w] == none:
                    continue
                if r[h ^ 1 ^ side[u]] > 0 and not is_active[w]:
                    active[last], is_active[w] = w, True
                    last = last + 1 if last < n else 0
                if parent[w] >= 0 and to[parent[w]] == u:
                    parent[w] = orphan
                    orphans[last_orphan] = w
                    last_orphan = last_orphan + 1 if last_orphan < n else 0
