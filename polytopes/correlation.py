"""Pseudomarginals: LOC and TRI as usually written, and the map to cut coordinates.

A point mu lists q_i = P(X_i = 1) for n variables, then q_ij = P(X_i = X_j = 1) for their pairs
in order. The covariance map at a root r takes d on n + 1 points to it:

    q_i = d_ri,    q_ij = (d_ri + d_rj - d_ij) / 2.

It is a linear bijection, of CUT onto the marginal polytope, of MET onto TRI and of RMET at r
onto LOC (Deza and Laurent 1997, section 5.2). There are as many q and q_ij as pairs of n + 1
points, and with root 0 q_i stands where d_0i does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polytopes.pairs import Floats, Ints, index_of_pair, n_pairs, n_points, pairs
from polytopes.semimetric import Inequalities, triples

__all__ = ["covariance_map", "inverse_covariance_map", "loc", "to_correlation", "to_cut", "tri"]


def covariance_map(N: int, root: int = 0) -> sp.csr_array:
    """Write the covariance map as a square matrix C: mu = C d.

    Parameters
    ----------
    N : int
        Number of points, the root included; the variables are the others, ascending.
    root : int

    Returns
    -------
    csr_array, shape (N(N-1)/2, N(N-1)/2)

    Raises
    ------
    ValueError
        If there is no such root.

    Examples
    --------
    >>> (covariance_map(3) @ np.array([1.0, 1.0, 0.0])).tolist()
    [1.0, 1.0, 1.0]
    """
    others, ij = _variables(N, root)
    single, P = np.arange(N - 1), n_pairs(N)
    pair = np.arange(N - 1, P)
    rows = np.concatenate([single, pair, pair, pair])
    columns = np.concatenate(
        [
            index_of_pair(root, others, N),
            index_of_pair(root, ij[:, 0], N),
            index_of_pair(root, ij[:, 1], N),
            index_of_pair(ij[:, 0], ij[:, 1], N),
        ]
    )
    halves = np.full(len(pair), 0.5)
    values = np.concatenate([np.ones(N - 1), halves, halves, -halves])
    return sp.csr_array((values, (rows, columns)), shape=(P, P))


def inverse_covariance_map(N: int, root: int = 0) -> sp.csr_array:
    """Write the inverse of the covariance map: d = C^-1 mu, d_ij = q_i + q_j - 2 q_ij.

    It takes and raises what `covariance_map` does.

    Examples
    --------
    >>> (inverse_covariance_map(3) @ np.array([1.0, 1.0, 1.0])).tolist()
    [1.0, 1.0, 0.0]
    """
    others, ij = _variables(N, root)
    single, P = np.arange(N - 1), n_pairs(N)
    pair = np.arange(N - 1, P)
    at_root, at_pair = index_of_pair(root, others, N), index_of_pair(ij[:, 0], ij[:, 1], N)
    i, j = np.triu_indices(N - 1, 1)
    rows = np.concatenate([at_root, at_pair, at_pair, at_pair])
    columns = np.concatenate([single, i, j, pair])
    ones = np.ones(len(pair))
    values = np.concatenate([np.ones(N - 1), ones, ones, -2 * ones])
    return sp.csr_array((values, (rows, columns)), shape=(P, P))


def to_correlation(d: npt.ArrayLike, root: int = 0) -> Floats:
    """Read d as pseudomarginals of the model rooted at ``root``.

    Parameters
    ----------
    d : array_like, shape (N(N-1)/2,)
    root : int

    Returns
    -------
    ndarray, the same shape: the N - 1 numbers q_i, then the q_ij

    Examples
    --------
    >>> to_correlation([0.5, 0.5, 1.0])
    array([0.5, 0.5, 0. ])
    """
    vector = np.asarray(d, dtype=np.float64)
    return np.asarray(covariance_map(n_points(len(vector)), root) @ vector)


def to_cut(mu: npt.ArrayLike, root: int = 0) -> Floats:
    """Read pseudomarginals as d: the inverse of `to_correlation`.

    Examples
    --------
    >>> to_cut([0.5, 0.5, 0.0])
    array([0.5, 0.5, 1. ])
    """
    vector = np.asarray(mu, dtype=np.float64)
    return np.asarray(inverse_covariance_map(n_points(len(vector)), root) @ vector)


def loc(n: int, edges: npt.ArrayLike | None = None) -> Inequalities:
    """Write the local polytope on n variables.

    For each edge ij: q_ij >= 0, q_ij <= q_i, q_ij <= q_j and q_i + q_j <= 1 + q_ij, that is,
    every 2 x 2 table of pseudomarginals is non-negative.

    Parameters
    ----------
    n : int
    edges : array_like of int, shape (m, 2), optional
        All pairs by default. A variable in no edge stays unbounded.

    Returns
    -------
    A : csr_array, shape (4m, n + n(n-1)/2)
    b : ndarray

    Examples
    --------
    >>> A, b = loc(2)
    >>> A.toarray().astype(int).tolist(), b.tolist()
    ([[0, 0, -1], [-1, 0, 1], [0, -1, 1], [1, 1, -1]], [0.0, 0.0, 0.0, 1.0])
    """
    ij = pairs(n) if edges is None else np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    i, j, pair = ij[:, 0], ij[:, 1], n + index_of_pair(ij[:, 0], ij[:, 1], n)
    pattern = np.array([[0, 0, -1], [-1, 0, 1], [0, -1, 1], [1, 1, -1]])
    right = np.array([0.0, 0.0, 0.0, 1.0])
    return _stack(np.column_stack([i, j, pair]), pattern, right, n)


def tri(n: int) -> Inequalities:
    """Write the triplet-consistent polytope on n variables.

    Beyond LOC it asks, for each i < j < k, q_ij + q_ik <= q_i + q_jk (and its two turns), and
    q_i + q_j + q_k <= 1 + q_ij + q_ik + q_jk.

    Returns
    -------
    A : csr_array
        The rows of `loc`, then four a triple.
    b : ndarray

    Examples
    --------
    >>> A, b = tri(3)
    >>> A.shape
    (16, 6)
    """
    A, b = loc(n)
    i, j, k = triples(n).T
    columns = [i, j, k, n + index_of_pair(i, j, n), n + index_of_pair(i, k, n)]
    columns.append(n + index_of_pair(j, k, n))
    pattern = np.array(
        [
            [-1, 0, 0, 1, 1, -1],
            [0, -1, 0, 1, -1, 1],
            [0, 0, -1, -1, 1, 1],
            [1, 1, 1, -1, -1, -1],
        ]
    )
    more, right = _stack(np.column_stack(columns), pattern, np.array([0.0, 0.0, 0.0, 1.0]), n)
    return sp.csr_array(sp.vstack([A, more])), np.concatenate([b, right])


def _variables(N: int, root: int) -> tuple[Ints, Ints]:
    """Give the points other than the root, and their pairs in order."""
    if not 0 <= root < N:
        raise ValueError(f"no point {root}: there are 0..{N - 1}")
    others = np.delete(np.arange(N), root)
    return others, others[pairs(N - 1)]


def _stack(columns: Ints, pattern: Ints, right: Floats, n: int) -> Inequalities:
    """Repeat one dense pattern of rows over many sets of columns."""
    groups, (height, width) = len(columns), pattern.shape
    start = np.arange(0, groups * height * width + 1, width)
    values = np.tile(pattern.ravel(), groups).astype(np.float64)
    where = np.repeat(columns, height, axis=0).ravel()
    A = sp.csr_array((values, where, start), shape=(groups * height, n + n_pairs(n)))
    A.eliminate_zeros()
    return A, np.tile(right, groups)
