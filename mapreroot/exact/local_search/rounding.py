"""An assignment from a point of a relaxation: follow the decided edges."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError
from mapreroot.model import UprootedModel

__all__ = ["round_by_spanning_tree"]

Bits = NDArray[np.int8]
Ints = NDArray[np.int64]


@njit(cache=True)
def _follow(n: int, edges: Ints, differ: NDArray[np.bool_], order: Ints) -> Bits:
    """Set y so that ``differ`` holds along the spanning forest that ``order`` builds greedily."""
    parent = np.arange(n)
    parity = np.zeros(n, np.int8)  # of v against parent[v]
    for k in order:
        roots = np.empty(2, np.int64)
        odd = np.int8(differ[k])
        for end in range(2):
            v = edges[k, end]
            while parent[v] != v:
                # Path halving, parities kept against the new parent.
                up = parent[v]
                parity[v] ^= parity[up]
                odd ^= parity[v]
                parent[v] = parent[up]
                v = parent[v]
            roots[end] = v
        if roots[0] != roots[1]:
            parent[roots[1]] = roots[0]
            parity[roots[1]] = odd
    y = np.zeros(n, np.int8)
    for v in range(n):
        u = v
        while parent[u] != u:
            y[v] ^= parity[u]
            u = parent[u]
    return y


def round_by_spanning_tree(uprooted: UprootedModel, d: ArrayLike) -> Bits:
    """Round a point of a relaxation along a maximum spanning forest of its decided edges.

    Parameters
    ----------
    uprooted : UprootedModel
        M+, with m edges.
    d : array_like, shape (m,)
        How much the ends of each edge differ, in [0, 1].

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        y whose ends differ where d > 1/2 along the forest that maximises the sum of abs(d - 1/2),
        heavier edges first among equals. A d of zeros and ones that comes from an assignment gives
        that assignment back, up to the flip of whole components.

    Raises
    ------
    ModelError
        If there is not one d for each edge.

    Notes
    -----
    O(m log m). Barahona, Groetschel, Juenger and Reinelt (1988), section 4.

    Examples
    --------
    >>> uprooted = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-1.0, -1.0, -1.0])
    >>> round_by_spanning_tree(uprooted, [0.9, 0.6, 0.1])
    array([0, 1, 1], dtype=int8)
    """
    point = np.asarray(d, np.float64)
    if point.shape != (uprooted.m,):
        raise ModelError(f"d has shape {point.shape}: expected one value for {uprooted.m} edges")
    # Decided to within rounding counts as decided, so that the weights break the ties.
    decided = np.round(np.abs(point - 0.5), 9)
    order = np.lexsort((-np.abs(uprooted.weights), -decided))
    y: Bits = _follow(uprooted.n_vertices, uprooted.edges, point > 0.5, order)
    return y
