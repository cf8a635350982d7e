"""Minimum cuts with margins: what it costs to move each vertex to the other side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import SolverError
from mapreroot.limits import Limits
from mapreroot.residual import (
    augment,
    checked,
    network,
    opened,
    reached,
    restore_flow,
    restore_supply,
    saturate,
)

__all__ = ["cut_margins"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


def cut_margins(
    tail: Ints,
    head: Ints,
    capacity: Floats,
    from_source: Floats,
    to_sink: Floats,
    limits: Limits | None = None,
) -> tuple[float, Flags, Floats]:
    """Find a minimum cut, and how much more is paid when one vertex changes sides.

    Parameters
    ----------
    tail, head : ndarray of int, shape (m,)
        Ends of the edges, in 0..n-1.
    capacity : ndarray, shape (m,)
        Paid when the ends are on different sides.
    from_source, to_sink : ndarray, shape (n,)
        Paid when the vertex is on the sink's, or on the source's side.
    limits : Limits, optional
        For the margins; the cut is found in any case.

    Returns
    -------
    value : float
        Of the cut that is returned, added up from the capacities given.
    sink_side : ndarray of bool, shape (n,)
    margin : ndarray, shape (n,)
        The least value of a cut with v on the other side, less the least of all; 0 on ties,
        and nan where it got late before.

    Raises
    ------
    SolverError
        For capacities that are negative or not finite, or if flow and cut disagree.

    Notes
    -----
    One maximum flow (Dinic 1970) serves all: what can still be pushed from the source to v in
    its residual network is the margin of a v on the source's side, and what v can push to the
    sink that of one on the sink's side (Kohli and Torr 2006). The flow to v is at most the
    capacity at v, and its paths are found near v where terminals are near, so that in images
    a margin costs a constant; at worst it costs a maximum flow.

    Examples
    --------
    >>> pair = np.array([0]), np.array([1]), np.array([2.0])
    >>> cut_margins(*pair, np.array([5.0, 0.0]), np.array([0.0, 1.0]))
    (1.0, array([False, False]), array([4., 1.]))
    """
    r, give, take = checked(np.repeat(capacity, 2), from_source, to_sink)
    through = np.minimum(give, take)
    give -= through
    take -= through
    start, half, to = network(len(give), tail, head)
    scratch = opened(len(give), len(half) // 2)
    flow = saturate(start, half, to, r, give, take, scratch)
    fed = reached(start, half, to, r, 0, give)
    drained = reached(start, half, to, r, 1, take)
    margin = np.full(len(give), np.nan)
    for first, end in (limits or Limits()).batches(len(give)):
        _margins(start, half, to, r, give, take, fed, drained, scratch, first, end, margin)
    sink_side = ~fed
    flow += float(through.sum())
    cut = sink_side[tail] != sink_side[head]
    parts = capacity[cut].sum(), from_source[sink_side].sum(), to_sink[~sink_side].sum()
    value = float(sum(parts))
    if abs(value - flow) > 1e-9 * (value + flow):
        raise SolverError(f"the cut found is worth {value}, the flow {flow}: they must agree")
    return value, sink_side, margin


@njit(cache=True)
def _margins(
    start: Ints, half: Ints, to: Ints, r: Floats, give: Floats, take: Floats, fed: Flags,
    drained: Flags, scratch: tuple[Ints, Ints, Ints, Ints, Floats, Ints, Floats, Ints],
    first: int, end: int, margin: Floats,
) -> None:  # fmt: skip
    """Fill ``margin[first:end]``; ``fed`` is the source's side, ``drained`` reaches the sink."""
    want = np.zeros(len(give))
    for v in range(first, end):
        here = np.array([v])
        want[v] = np.inf
        margin[v] = 0.0
        if fed[v]:
            margin[v] = augment(start, half, to, r, 1, give, want, here, scratch)
            restore_supply(give, scratch)
        elif drained[v]:
            margin[v] = augment(start, half, to, r, 0, take, want, here, scratch)
            restore_supply(take, scratch)
        restore_flow(r, scratch)
        want[v] = 0.0
