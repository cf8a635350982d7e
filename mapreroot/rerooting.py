"""Uprooting, and mapping answers back: sections 2 and 3 of Weller (2016)."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.model import Model, UprootedModel

__all__ = ["restore_map", "restore_marginals", "uproot"]


def uproot(model: Model, names: bool = True) -> UprootedModel:
    """Turn a model M into its symmetric model M+.

    Parameters
    ----------
    model : Model
    names : bool
        Whether to carry the labels over; solvers do not look at them.

    Returns
    -------
    UprootedModel
        Vertex 0 is new, vertex j + 1 is variable j; W_0j = -2 theta_j where theta_j != 0.
        phi(0, x) = score(x), phi(y) = phi(1 - y) and Z(M+) = 2 Z(M).

    Notes
    -----
    O(n + m). Weller (2016), equation 2.

    Examples
    --------
    >>> uproot(Model([0.5, 0.0], [(0, 1)], [2.0])).edges.tolist()
    [[0, 1], [1, 2]]
    """
    field = np.flatnonzero(model.theta)
    k = len(field)
    edges = np.empty((k + model.m, 2), dtype=np.int64)
    edges[:k, 0] = 0
    np.add(field, 1, out=edges[:k, 1])
    np.add(model.edges, 1, out=edges[k:])
    weights = np.empty(k + model.m)
    np.multiply(model.theta[field], -2, out=weights[:k])
    weights[k:] = model.weights
    return UprootedModel.from_canonical(
        model.n + 1, edges, weights, model.constant, _with_root(model.labels) if names else ()
    )


def _with_root(labels: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    root = "X0"
    taken = set(labels)
    while root in taken:  # the user's own names stay as they are
        root += "'"
    return (root, *labels)


def restore_map(x_rooted: npt.ArrayLike, root: int) -> npt.NDArray[np.int8]:
    """Map an assignment of M_root to the one of M with the same score (Lemma 1).

    Parameters
    ----------
    x_rooted : array_like of 0 and 1, shape (n,)
        Values of the vertices other than ``root``, ascending.
    root : int
        A vertex of M+, 0..n.

    Returns
    -------
    ndarray of int8, shape (n,)

    Raises
    ------
    ModelError
        If ``root`` is not in 0..n.

    Notes
    -----
    O(n). Weller (2016), Lemma 1: x_j = y_j XOR y_0 with y_root = 0 put back.

    Examples
    --------
    >>> restore_map([1, 0, 1], root=2)
    array([1, 1, 0], dtype=int8)
    """
    x = np.asarray(x_rooted, dtype=np.int8)
    if not 0 <= root <= len(x):
        raise ModelError(f"no vertex {root}: the model has 0..{len(x)}")
    y = np.insert(x, root, 0)
    return np.asarray(y[1:] ^ y[0])


def restore_marginals(
    p: npt.ArrayLike, differ: npt.ArrayLike, root: int
) -> npt.NDArray[np.float64]:
    """Map marginals of M_root to those of M (Lemma 2).

    Parameters
    ----------
    p : array_like, shape (n,)
        p_r(y_j = 1) for the vertices j other than ``root``, ascending.
    differ : array_like, shape (n,)
        p_r(y_j != y_0) for the same vertices; ignored at j = 0, and altogether at root 0.
    root : int
        A vertex of M+, 0..n.

    Returns
    -------
    ndarray of float, shape (n,)
        p(x_j = 1) for the variables of M.

    Raises
    ------
    ModelError
        If ``root`` is not in 0..n, or the shapes differ.

    Notes
    -----
    O(n). Weller (2016), Lemma 2: p(x_j = 1) = p_r(y_j != y_0), and p(x_r = 1) = p_r(y_0 = 1).

    Examples
    --------
    >>> restore_marginals([0.3, 0.6], [0.0, 0.4], root=1)
    array([0.3, 0.4])
    """
    single = np.array(p, dtype=np.float64)
    pair = np.array(differ, dtype=np.float64)
    if not 0 <= root <= len(single):
        raise ModelError(f"no vertex {root}: the model has 0..{len(single)}")
    if single.shape != pair.shape or single.ndim != 1:
        raise ModelError(f"p has shape {single.shape}, differ {pair.shape}: expected (n,) twice")
    if root == 0:
        return single
    return np.insert(pair[1:], root - 1, single[0])
