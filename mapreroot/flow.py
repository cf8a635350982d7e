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
    Boykov and Kolmogorov (2004) in PyMaxflow, push-relabel in OR-tools.

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
    flow, sink_side, error = run(tail, head, capacity, from_source, to_sink)
    value = _worth(tail, head, capacity, from_source, to_sink, sink_side)
    if abs(value - flow) > error + 1e-9 * (value + flow):
        raise SolverError(f"the cut found is worth {value}, the flow {flow}: they must agree")
    return value, sink_side


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
    tail: Ints, head: Ints, capacity: Floats, from_source: Floats, to_sink: Floats
) -> tuple[float, npt.NDArray[np.bool_], float]:
    import maxflow

    n = len(from_source)
    graph = maxflow.Graph[float](n, len(tail))
    nodes = graph.add_grid_nodes(n) if n else np.zeros(0, dtype=np.int64)
    graph.add_edges(tail, head, capacity, capacity)
    graph.add_grid_tedges(nodes, from_source, to_sink)
    flow = float(graph.maxflow())
    return flow, np.asarray(graph.get_grid_segments(nodes), dtype=np.bool_), 0.0


def _ortools(
    tail: Ints, head: Ints, capacity: Floats, from_source: Floats, to_sink: Floats
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
    tail: Ints, head: Ints, capacity: Floats, from_source: Floats, to_sink: Floats,
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
