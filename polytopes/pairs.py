"""The pairs of N points, in one fixed order, and vectors indexed by them.

Every vector d of this package lists the pairs of {0, ..., N-1} lexicographically:
(0,1), (0,2), ..., (0,N-1), (1,2), ...
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = [
    "Floats",
    "Ints",
    "index_of_pair",
    "n_pairs",
    "n_points",
    "pair_of_index",
    "pairs",
    "to_matrix",
    "to_vector",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def n_pairs(N: int) -> int:
    """Count the pairs of N points.

    Examples
    --------
    >>> n_pairs(5)
    10
    """
    return N * (N - 1) // 2


def n_points(length: int) -> int:
    """Count the points that have this many pairs: the inverse of `n_pairs`.

    Raises
    ------
    ValueError
        If no number of points has exactly ``length`` pairs.

    Examples
    --------
    >>> n_points(10)
    5
    """
    N = (1 + math.isqrt(1 + 8 * max(length, 0))) // 2
    if length < 1 or n_pairs(N) != length:
        raise ValueError(f"{length} numbers are not one for each pair of N >= 2 points")
    return N


def pairs(N: int) -> Ints:
    """List all pairs i < j in order.

    Returns
    -------
    ndarray of int64, shape (N(N-1)/2, 2)

    Examples
    --------
    >>> pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.stack(np.triu_indices(N, 1), axis=1).astype(np.int64)


def index_of_pair(i: npt.ArrayLike, j: npt.ArrayLike, N: int) -> Ints:
    """Find where the pair {i, j} stands.

    Parameters
    ----------
    i, j : array_like of int
        Broadcast against each other; either order.
    N : int

    Returns
    -------
    ndarray of int64

    Raises
    ------
    ValueError
        If i = j somewhere, or a point is not in 0..N-1.

    Examples
    --------
    >>> index_of_pair([0, 3], 2, 4)
    array([1, 5])
    """
    low, high = np.minimum(i, j), np.maximum(i, j)
    bad = np.flatnonzero((low < 0) | (high >= N) | (low == high))
    if len(bad):
        pair = np.broadcast_to(low, high.shape).flat[bad[0]], high.flat[bad[0]]
        raise ValueError(f"({pair[0]}, {pair[1]}) is not a pair of two of the points 0..{N - 1}")
    return np.asarray(_first_with(low, N) + high - low - 1, dtype=np.int64)


def pair_of_index(k: npt.ArrayLike, N: int) -> tuple[Ints, Ints]:
    """Find which pair i < j stands at k: the inverse of `index_of_pair`.

    Raises
    ------
    ValueError
        If an index is not in 0..N(N-1)/2-1.

    Notes
    -----
    O(log N) each, exact for every N (no square roots).

    Examples
    --------
    >>> i, j = pair_of_index([1, 5], 4)
    >>> i.tolist(), j.tolist()
    ([0, 2], [2, 3])
    """
    at = np.asarray(k, dtype=np.int64)
    if ((at < 0) | (at >= n_pairs(N))).any():
        raise ValueError(f"indices of pairs of {N} points are 0..{n_pairs(N) - 1}")
    first = _first_with(np.arange(N), N)
    i = np.searchsorted(first, at, side="right") - 1
    # The last point starts no pair, so its (empty) row must not be chosen.
    i = np.minimum(i, N - 2)
    return i, at - first[i] + i + 1


def to_matrix(d: npt.ArrayLike) -> Floats:
    """Write d as a symmetric matrix with zero diagonal.

    Parameters
    ----------
    d : array_like, shape (N(N-1)/2,)

    Returns
    -------
    ndarray, shape (N, N)

    Raises
    ------
    ValueError
        If d has no such shape.

    Examples
    --------
    >>> to_matrix([1, 2, 3])
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    vector = np.asarray(d, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"d has shape {vector.shape}: expected one dimension")
    N = n_points(len(vector))
    D = np.zeros((N, N))
    D[np.triu_indices(N, 1)] = vector
    return D + D.T


def to_vector(D: npt.ArrayLike) -> Floats:
    """Read the upper triangle of a matrix: the inverse of `to_matrix`.

    Raises
    ------
    ValueError
        If D is not square.

    Examples
    --------
    >>> to_vector([[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    array([1., 2., 3.])
    """
    matrix = np.asarray(D, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"D has shape {matrix.shape}: expected a square matrix")
    return matrix[np.triu_indices(len(matrix), 1)]


def _first_with(i: Ints, N: int) -> Ints:
    """Index of the pair (i, i+1)."""
    return i * N - i * (i + 1) // 2
