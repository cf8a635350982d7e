"""MAP of a balanced rooting by one minimum cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mapreroot import flow
from mapreroot.errors import NotBalancedError
from mapreroot.model import Solution, UprootedModel

__all__ = ["balanced_map"]


def balanced_map(
    uprooted: UprootedModel,
    root: int,
    switching: npt.NDArray[np.int8],
    engine: flow.Engine | None = None,
) -> Solution:
    """Find an optimum of M+ where M_root is balanced.

    Parameters
    ----------
    uprooted : UprootedModel
    root : int
    switching : ndarray of 0 and 1, shape (n_vertices,)
        Flipping these vertices makes every edge away from the root attractive.
    engine : {"pymaxflow", "ortools"}, optional
        See `mapreroot.flow.min_cut`.

    Returns
    -------
    Solution
        With y_root = 0; ``bound`` is its own score to rounding: the maximum flow proves it.

    Raises
    ------
    NotBalancedError
        If the switching leaves an edge repulsive.
    SolverError
        If flow and cut disagree.

    Notes
    -----
    One max-flow on n_vertices - 1 nodes: the root is the source or the sink of its edges.
    Weller (2016), section 3.

    Examples
    --------
    >>> model = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-1.0, 3.0, -2.0])
    >>> balanced_map(model, 0, np.array([0, 1, 0], dtype=np.int8)).bound
    1.5
    """
    edges, W = uprooted.edges, uprooted.weights
    at_root: slice | npt.NDArray[np.bool_]
    inner: slice | npt.NDArray[np.bool_]
    if root == 0:  # edges are sorted, so those of vertex 0 come first: no copies
        first = int(np.searchsorted(edges[:, 0], 1))
        at_root, inner = slice(first), slice(first, None)
        ends = edges[at_root, 1]
    else:
        hits = (edges == root).any(axis=1)
        at_root, inner = hits, ~hits
        ends = edges[at_root].sum(axis=1) - root
    flips = switching ^ switching[root]
    flipped = flips[edges[:, 0]] != flips[edges[:, 1]] if flips.any() else None
    attractive = W if flipped is None else np.where(flipped, -W, W)
    capacity = attractive[inner]
    if capacity.min(initial=0.0) < 0:
        bad = edges[inner][int(capacity.argmin())]
        raise NotBalancedError(f"edge {tuple(bad.tolist())} stays repulsive after switching")
    # In z = y XOR flips an edge costs its weight when cut. As z_root = 0, an attractive edge of
    # the root is a cost of z_v = 1 (the sink's side), a repulsive one a cost of z_v = 0.
    pull = attractive[at_root]
    from_source, to_sink = np.zeros(uprooted.n_vertices), np.zeros(uprooted.n_vertices)
    from_source[ends] = np.maximum(pull, 0)
    to_sink[ends] = np.maximum(-pull, 0)
    cost, z = flow.min_cut(edges[inner, 0], edges[inner, 1], capacity, from_source, to_sink, engine)
    y = z.view(np.int8) ^ flips
    y[root] = 0
    most = float(to_sink.sum()) + (0.0 if flipped is None else float(attractive[flipped].sum()))
    return Solution(y, uprooted.constant + (most - cost) / 2)
