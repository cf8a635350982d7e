"""Cut vectors, the cut polytope they span, and switching.

A 0/1 labelling y of N points cuts the pairs whose ends differ: d_ij = [y_i != y_j]. CUT_N is
the convex hull of these 2^(N-1) vectors, and the marginal polytope of a binary pairwise model
on N - 1 variables in other coordinates (Deza and Laurent, Geometry of Cuts and Metrics, 1997,
chapters 4 and 5).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polytopes.pairs import Floats, n_pairs, n_points

__all__ = ["MAX_POINTS", "cut_vector", "cut_vertices", "switch", "switch_inequalities"]

MAX_POINTS = 18
"""`cut_vertices` lists 2^(N-1) vectors up to this N (20 million numbers)."""


def cut_vector(y: npt.ArrayLike) -> Floats:
    """Mark the pairs that a labelling cuts.

    Parameters
    ----------
    y : array_like of 0 and 1, shape (..., N)

    Returns
    -------
    ndarray, shape (..., N(N-1)/2)
        1.0 where the ends differ, else 0.0. y and 1 - y give the same.

    Raises
    ------
    ValueError
        If y holds anything but 0 and 1.

    Examples
    --------
    >>> cut_vector([0, 1, 1])
    array([1., 1., 0.])
    """
    labels = np.asarray(y)
    if not np.isin(labels, (0, 1)).all():
        raise ValueError("y holds something other than 0 and 1")
    i, j = np.triu_indices(labels.shape[-1], 1)
    return np.asarray(labels[..., i] != labels[..., j], dtype=np.float64)


def cut_vertices(N: int) -> Floats:
    """List the vertices of CUT_N.

    Returns
    -------
    ndarray, shape (2^(N-1), N(N-1)/2)
        One cut vector a row: those with y_0 = 0, where y counts up in binary.

    Raises
    ------
    ValueError
        If N is not in 1..`MAX_POINTS`.

    Examples
    --------
    >>> cut_vertices(3)
    array([[0., 0., 0.],
           [0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    """
    if not 1 <= N <= MAX_POINTS:
        raise ValueError(f"CUT_{N} would have 2^{N - 1} vertices: expected N in 1..{MAX_POINTS}")
    y = np.arange(1 << (N - 1))[:, None] >> np.arange(N - 1, -1, -1) & 1
    return cut_vector(y)


def switch(d: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
    """Flip the points with y = 1: d becomes 1 - d on the pairs that y cuts.

    Switching is a symmetry of CUT and of MET, and carries any cut to any other; rerooting a
    model and flipping its variables are both seen here as the one thing they are.

    Parameters
    ----------
    d : array_like, shape (..., N(N-1)/2)
    y : array_like of 0 and 1, shape (N,)

    Returns
    -------
    ndarray, the shape of d

    Examples
    --------
    >>> switch([2 / 3, 2 / 3, 2 / 3], [1, 0, 0]).round(3)
    array([0.333, 0.333, 0.667])
    """
    vector, cut = np.asarray(d, dtype=np.float64), cut_vector(y)
    if vector.shape[-1] != len(cut):
        raise ValueError(f"d has {vector.shape[-1]} pairs but y cuts {len(cut)}")
    return np.where(cut == 1, 1 - vector, vector)


def switch_inequalities(
    A: sp.csr_array, b: npt.ArrayLike, y: npt.ArrayLike
) -> tuple[sp.csr_array, Floats]:
    """Switch the inequalities A d <= b, so that ``switch(d, y)`` meets the new ones iff d the old.

    Parameters
    ----------
    A : sparse array, shape (k, N(N-1)/2)
    b : array_like, shape (k,)
    y : array_like of 0 and 1, shape (N,)

    Examples
    --------
    >>> A, b = switch_inequalities(sp.csr_array([[1.0, 1.0, 1.0]]), [2.0], [1, 0, 0])
    >>> A.toarray(), b
    (array([[-1., -1.,  1.]]), array([0.]))
    """
    cut = cut_vector(y)
    n_points(A.shape[1])
    if len(cut) != A.shape[1]:
        raise ValueError(f"A has {A.shape[1]} columns, but y has {n_pairs(np.size(y))} pairs")
    return sp.csr_array(A @ sp.diags_array(1 - 2 * cut)), np.asarray(b, np.float64) - A @ cut
