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
        With y_root = 0; ``bound`` is its own score, which the maximum flow proves optimal.

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
    i, j = uprooted.edges[:, 0], uprooted.edges[:, 1]
    W = uprooted.weights
    f = switching ^ switching[root]
    attractive = np.where(f[i] == f[j], W, -W)
    at_root = (i == root) | (j == root)
    inner = ~at_root
    bad = np.flatnonzero(inner & (attractive < 0))
    if len(bad):
        raise NotBalancedError(
            f"edge {tuple(uprooted.edges[bad[0]].tolist())} stays repulsive after switching"
        )
    # In z = y XOR f an edge costs its weight when cut. At the root z_root = 0, so an attractive
    # edge is a cost of z_v = 1 (the sink's side), a repulsive one a cost of z_v = 0.
    ends = i[at_root] + j[at_root] - root
    pull = attractive[at_root]
    from_source, to_sink = np.zeros(uprooted.n_vertices), np.zeros(uprooted.n_vertices)
    from_source[ends] = np.maximum(pull, 0)
    to_sink[ends] = np.maximum(-pull, 0)
    _, z = flow.min_cut(i[inner], j[inner], attractive[inner], from_source, to_sink, engine)
    y = (z.astype(np.int8) ^ f).astype(np.int8)
    y[root] = 0
    return Solution(y, uprooted.score(y))
