"""MET and RMET: the triangle inequalities, all of them or those at a root.

MET_N holds the vectors d on the pairs of N points with, for all i < j < k,

    d_ij <= d_ik + d_jk  (and its two turns),    d_ij + d_ik + d_jk <= 2.

MET is TRI and RMET is LOC in the coordinates "the ends differ" (Weller 2016, section 5; Deza
and Laurent 1997, chapter 27). With N >= 3 points both lie in the box 0 <= d <= 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polytopes.pairs import Floats, Ints, index_of_pair, n_pairs, pairs

__all__ = ["Inequalities", "met", "rmet", "triangle_inequalities", "triples"]

Inequalities = tuple[sp.csr_array, Floats]
"""(A, b), standing for A d <= b."""

# In the order of the pairs (ij, ik, jk) of i < j < k.
_SIGNS = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, 1]], dtype=np.float64)
_RIGHT = np.array([0.0, 0.0, 0.0, 2.0])


def triples(N: int) -> Ints:
    """List all i < j < k of 0..N-1 in lexicographic order.

    Returns
    -------
    ndarray of int64, shape (N(N-1)(N-2)/6, 3)

    Examples
    --------
    >>> triples(4).tolist()
    [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    """
    ij = pairs(N)
    length = N - 1 - ij[:, 1]
    k = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length - ij[:, 1] - 1, length)
    return np.column_stack([np.repeat(ij, length, axis=0), k])


def triangle_inequalities(ijk: npt.ArrayLike, N: int) -> Inequalities:
    """Write the four inequalities of each given triangle.

    Parameters
    ----------
    ijk : array_like of int, shape (t, 3)
        Three distinct points of 0..N-1 a row, in any order.
    N : int

    Returns
    -------
    A : csr_array, shape (4t, N(N-1)/2)
        Four consecutive rows a triangle, three numbers +-1 a row; the perimeter comes last.
    b : ndarray, shape (4t,)

    Raises
    ------
    ValueError
        If a row does not hold three distinct points.

    Notes
    -----
    O(t), vectorised: the 646 800 rows of MET_100 in a fraction of a second.

    Examples
    --------
    >>> A, b = triangle_inequalities([[0, 1, 2]], 3)
    >>> A.toarray().astype(int).tolist(), b.tolist()
    ([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, 1]], [0.0, 0.0, 0.0, 2.0])
    """
    corners = np.sort(np.asarray(ijk, dtype=np.int64).reshape(-1, 3), axis=1)
    i, j, k = corners.T
    sides = np.column_stack(
        [index_of_pair(i, j, N), index_of_pair(i, k, N), index_of_pair(j, k, N)]
    )
    t = len(corners)
    columns = np.repeat(sides, 4, axis=0).ravel()
    values = np.tile(_SIGNS.ravel(), t)
    start = np.arange(0, 12 * t + 1, 3)
    A = sp.csr_array((values, columns, start), shape=(4 * t, n_pairs(N)))
    return A, np.tile(_RIGHT, t)


def met(N: int) -> Inequalities:
    """Write MET_N: the inequalities of all triangles.

    Returns
    -------
    A : csr_array, shape (4 N(N-1)(N-2)/6, N(N-1)/2)
    b : ndarray

    Examples
    --------
    >>> A, b = met(5)
    >>> A.shape
    (40, 10)
    >>> bool((A @ np.full(10, 2 / 3) <= b + 1e-12).all())
    True
    """
    return triangle_inequalities(triples(N), N)


def rmet(N: int, root: int, edges: npt.ArrayLike | None = None) -> Inequalities:
    """Write RMET_N: the inequalities of the triangles at a root.

    Parameters
    ----------
    N : int
    root : int
    edges : array_like of int, shape (m, 2), optional
        Only the triangles {root, i, j} of these pairs; pairs at the root are passed over. By
        default all pairs. A pair left out stays free, and is unbounded.

    Returns
    -------
    A : csr_array, shape (4m, N(N-1)/2)
    b : ndarray

    Raises
    ------
    ValueError
        If there is no such root.

    Examples
    --------
    >>> A, b = rmet(4, root=0)
    >>> A.shape
    (12, 6)
    """
    if not 0 <= root < N:
        raise ValueError(f"no point {root}: there are 0..{N - 1}")
    ij = pairs(N) if edges is None else np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    ij = ij[(ij != root).all(axis=1)]
    return triangle_inequalities(np.column_stack([np.full(len(ij), root), ij]), N)
