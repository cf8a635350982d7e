"""Minimum cuts between two terminals: one function, the only place that knows an engine."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import SolverError

__all__ = ["Engine", "min_cut"]

Engine = Literal["pymaxflow", "ortools"]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64] | npt.NDArray[np.int32]
Ends = npt.NDArray[np.int32]
Bits = npt.NDArray[np.int8]

WORTHWHILE = 1 / 16
"""Part of the edges that a sweep must settle for another one to pay: it costs a tenth of what an
engine takes for them (image segmentation, 10^6 pixels)."""

EXACT = 2.0**53
"""Integers up to here are added exactly by floats."""


def min_cut(
    tail: Ints,
    head: Ints,
    capacity: Floats,
    from_source: Floats,
    to_sink: Floats,
    engine: Engine | None = None,
) -> tuple[float, npt.NDArray[np.bool_]]:
    """Find a minimum cut of an undirected graph with terminals.

    Parameters
    ----------
    tail, head : ndarray of int, shape (m,)
        Ends of the edges, in 0..n-1.
    capacity : ndarray, shape (m,)
        Paid when the ends are on different sides.
    from_source, to_sink : ndarray, shape (n,)
        Paid when the vertex is on the sink's, or on the source's side.
    engine : {"pymaxflow", "ortools"}, optional
        By default PyMaxflow (GPL-3) if it is installed, else OR-tools (Apache-2.0), whose
        integer flow works on capacities scaled to 2^62 in total.

    Returns
    -------
    value : float
        Of the cut that is returned, added up from the capacities given.
    sink_side : ndarray of bool, shape (n,)

    Raises
    ------
    SolverError
        For capacities that are negative or not finite (an engine would not return from those),
        a cut that the engine's own flow contradicts, or no engine.

    Notes
    -----
    Vertices whose terminal outweighs all their edges go there first, and their edges become
    terminals of their neighbours; what is left is for Boykov and Kolmogorov (2004) in PyMaxflow,
    or push-relabel in OR-tools. On integers below 2^53 in total at each vertex nothing is rounded.

    Examples
    --------
    >>> pair = np.array([0]), np.array([1]), np.array([2.0])
    >>> min_cut(*pair, np.array([5.0, 0.0]), np.array([0.0, 1.0]))
    (1.0, array([False, False]))
    """
    for name, values in (
        ("capacity", capacity),
        ("from_source", from_source),
        ("to_sink", to_sink),
    ):
        if not _lawful(values):
            raise SolverError(f"{name} holds a number that is negative or not finite")
    run = _ortools if (engine or _installed()) == "ortools" else _pymaxflow
    tail, head = (np.ascontiguousarray(ends, dtype=np.int32) for ends in (tail, head))
    capacity = np.ascontiguousarray(capacity)
    side, paid, rest = _settled(tail, head, capacity, from_source, to_sink)
    flow, rest_on_sink, error = run(*rest)
    flow += paid
    sink_side = side < 0
    sink_side[side == 0] = rest_on_sink
    value = _worth(tail, head, capacity, from_source, to_sink, sink_side)
    if abs(value - flow) > error + 1e-9 * (value + flow):
        raise SolverError(f"the cut found is worth {value}, the flow {flow}: they must agree")
    return value, sink_side


def _settled(
    tail: Ends, head: Ends, capacity: Floats, from_source: Floats, to_sink: Floats
) -> tuple[Bits, float, tuple[Ends, Ends, Floats, Floats, Floats]]:
    """Settle vertices whose terminal outweighs all their edges, as often as that pays.

    Gives 1 for the source's side, -1 for the sink's and 0 for the vertices that are left; what is
    paid among those settled; and the network of those left, in their order.
    """
    side, load = _outweighed(tail, head, capacity, from_source, to_sink)
    if not side.any():
        return side, 0.0, (tail, head, capacity, from_source, to_sink)
    source, sink = from_source.copy(), to_sink.copy()
    space = (np.empty_like(tail), np.empty_like(head), np.empty_like(capacity))
    edges, paid, closing, closed = (tail, head, capacity), 0.0, False, False
    while not closed:
        before, closed = len(edges[0]), closing
        count, more = _sweep(*edges, side, load, source, sink, closing, *space)
        edges, paid = (space[0][:count], space[1][:count], space[2][:count]), paid + more
        closing = before - count <= WORTHWHILE * before
    n, more = _renamed(*edges[:2], side, source, sink)
    return side, paid + more, (*edges, source[:n], sink[:n])


def _installed() -> Engine:
    from importlib.util import find_spec

    if find_spec("maxflow"):
        return "pymaxflow"
    if find_spec("ortools"):
        return "ortools"
    raise SolverError(
        "no max-flow engine is installed: pip install PyMaxflow, or 'mapreroot[permissive]'"
    )


def _pymaxflow(
    tail: Ends, head: Ends, capacity: Floats, from_source: Floats, to_sink: Floats
) -> tuple[float, npt.NDArray[np.bool_], float]:
    import maxflow

    n = len(from_source)
    if n == 0:
        return 0.0, np.zeros(0, dtype=np.bool_), 0.0
    graph = maxflow.Graph[float](n, len(tail))
    nodes = graph.add_grid_nodes(n)
    graph.add_edges(tail, head, capacity, capacity)
    graph.add_grid_tedges(nodes, from_source, to_sink)
    flow = float(graph.maxflow())
    return flow, np.asarray(graph.get_grid_segments(nodes), dtype=np.bool_), 0.0


def _ortools(
    tail: Ends, head: Ends, capacity: Floats, from_source: Floats, to_sink: Floats
) -> tuple[float, npt.NDArray[np.bool_], float]:
    from ortools.graph.python import max_flow

    n = len(from_source)
    total = float(capacity.sum() + from_source.sum() + to_sink.sum())
    if total == 0:
        return 0.0, np.zeros(n, dtype=np.bool_), 0.0
    # A power of two scales floats exactly; what is rounded away is below one unit an arc.
    scale = 2.0 ** (61 - math.ceil(math.log2(total)))
    at_source, at_sink = np.flatnonzero(from_source), np.flatnonzero(to_sink)
    source, sink = n, n + 1
    arcs = (
        (tail, head, capacity),
        (head, tail, capacity),
        (np.full(len(at_source), source), at_source, from_source[at_source]),
        (at_sink, np.full(len(at_sink), sink), to_sink[at_sink]),
    )
    graph = max_flow.SimpleMaxFlow()
    graph.add_arcs_with_capacity(
        np.concatenate([a for a, _, _ in arcs]).astype(np.int32),
        np.concatenate([b for _, b, _ in arcs]).astype(np.int32),
        np.floor(np.concatenate([c for _, _, c in arcs]) * scale).astype(np.int64),
    )
    if len(at_source) == 0 or len(at_sink) == 0:
        return 0.0, np.zeros(n, dtype=np.bool_) if len(at_source) else np.ones(n, np.bool_), 0.0
    status = graph.solve(source, sink)
    if status != graph.OPTIMAL:
        raise SolverError(f"OR-tools max-flow stopped with status {status}")
    sink_side = np.ones(n + 2, dtype=np.bool_)
    sink_side[graph.get_source_side_min_cut()] = False
    return graph.optimal_flow() / scale, sink_side[:n], (2 * len(tail) + 2 * n) / scale


def _lawful(values: Floats) -> bool:
    """Say whether all numbers are finite and not negative; NaN fails the comparisons too."""
    return bool(values.min(initial=0) >= 0 and values.max(initial=0) < np.inf)


@njit(cache=True)
def _worth(
    tail: Ends, head: Ends, capacity: Floats, from_source: Floats, to_sink: Floats,
    sink_side: npt.NDArray[np.bool_],
) -> float:  # fmt: skip
    """Add up what a cut pays, with the roundings of the sum carried along (Neumaier 1974)."""
    high, low = 0.0, 0.0
    for k in range(len(tail) + len(sink_side)):
        e, v = k, k - len(tail)
        if v >= 0:
            paid = from_source[v] if sink_side[v] else to_sink[v]
        elif sink_side[tail[e]] != sink_side[head[e]]:
            paid = capacity[e]
        else:
            continue
        total = high + paid
        low += (high - total) + paid if high >= paid else (paid - total) + high
        high = total
    return high + low


@njit(cache=True)
def _outweighed(
    tail: Ends, head: Ends, capacity: Floats, from_source: Floats, to_sink: Floats
) -> tuple[Bits, Floats]:
    """Say which vertices go to their terminal whatever the others do; and sum up their edges.

    None does where a sum is so large that integers might be rounded.
    """
    n = len(from_source)
    side, load, most = np.zeros(n, np.int8), np.zeros(n), 0.0
    for e in range(len(tail)):
        load[tail[e]] += capacity[e]
        load[head[e]] += capacity[e]
    for v in range(n):
        pull = from_source[v] - to_sink[v]
        most = max(most, load[v] + from_source[v] + to_sink[v])
        if abs(pull) > load[v]:
            side[v] = 1 if pull > 0 else -1
    if most > EXACT:
        side[:] = 0
    return side, load


@njit(cache=True)
def _sweep(
    tail: Ends, head: Ends, capacity: Floats, side: Bits, load: Floats, source: Floats,
    sink: Floats, closing: bool, left_tail: Ends, left_head: Ends, left: Floats,
) -> tuple[int, float]:  # fmt: skip
    """Turn edges to settled vertices into terminals, and (not if closing) settle whom these win.

    Gives how many edges are left, and what those between settled vertices pay.
    """
    count, paid = 0, 0.0
    for e in range(len(tail)):
        u, v, size = tail[e], head[e], capacity[e]
        if side[u] == 0 and side[v] == 0:
            left_tail[count], left_head[count], left[count] = u, v, size
            count += 1
        elif side[u] != 0 and side[v] != 0:
            paid += size if side[u] != side[v] else 0.0
        else:
            if side[u] != 0:
                u, v = v, u
            if side[v] > 0:
                source[u] += size
            else:
                sink[u] += size
            load[u] -= size
            pull = source[u] - sink[u]
            if not closing and abs(pull) > load[u]:
                side[u] = 1 if pull > 0 else -1
    return count, paid


@njit(cache=True)
def _renamed(tail: Ends, head: Ends, side: Bits, source: Floats, sink: Floats) -> tuple[int, float]:
    """Renumber the vertices that are left from 0 on; give how many, and what the others pay."""
    name, n, paid = np.empty(len(side), np.int32), 0, 0.0
    for v in range(len(side)):
        if side[v] == 0:
            name[v], source[n], sink[n] = n, source[v], sink[v]
            n += 1
        else:
            paid += sink[v] if side[v] > 0 else source[v]
    for e in range(len(tail)):
        tail[e], head[e] = name[tail[e]], name[head[e]]
    return n, paid
