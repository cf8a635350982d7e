"""Binary pairwise models that are forests: MAP, log Z and marginals in two linear passes."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError
from mapreroot.trees.rooting import Ints, checked_edges, peeled

__all__ = ["forest_log_partition", "forest_marginals", "forest_max"]

Floats = NDArray[np.float64]


def forest_max(theta: ArrayLike, edges: ArrayLike, weights: ArrayLike) -> NDArray[np.int8]:
    """MAP assignment of a binary pairwise model that is a forest.

    Parameters
    ----------
    theta : array_like
        (n,) singleton scores in nats.
    edges : array_like
        (m, 2) vertices.
    weights : array_like
        (m,) weights W in nats, positive attracts:
        ``score(x) = theta @ x - 1/2 sum W_ij [x_i != x_j]``.

    Returns
    -------
    numpy.ndarray
        (n,) of 0/1 with the largest score. A vertex that does not care takes the
        value 0.

    Raises
    ------
    NotATreeError
        If the edges hold a cycle; it is in ``.cycle``.
    ModelError
        If shapes do not fit, a number is not finite or a vertex does not exist.

    Notes
    -----
    O(n). The message of a leaf is its field clipped to ``[-|W|/2, |W|/2]``, so no
    magnitude overflows and none swallows the answer of another branch.

    Examples
    --------
    >>> forest_max([1.0, -0.5, 0.2], [(0, 1), (1, 2)], [2.0, -3.0]).tolist()
    [1, 1, 0]
    """
    field, link, W = _checked_model(theta, edges, weights)
    x: NDArray[np.int8] = _decode(_collect_max(field, link, W), link, W)
    return x


def forest_log_partition(theta: ArrayLike, edges: ArrayLike, weights: ArrayLike) -> float:
    """Log of the sum of ``exp(score(x))`` over all x, for a forest.

    Parameters, errors and the convention of the score are those of
    :func:`forest_max`.

    Returns
    -------
    float
        log Z in nats.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> round(forest_log_partition([0.0, 0.0], [(0, 1)], [2.0]), 6)
    1.006409
    """
    field, link, W = _checked_model(theta, edges, weights)
    return float(_collect_sum(field, link, W))


def forest_marginals(
    theta: ArrayLike, edges: ArrayLike, weights: ArrayLike
) -> tuple[Floats, Floats]:
    """Single and pair marginals of ``p(x) = exp(score(x)) / Z``, for a forest.

    Parameters, errors and the convention of the score are those of
    :func:`forest_max`.

    Returns
    -------
    p : numpy.ndarray
        (n,) probabilities that ``x_i = 1``.
    pair : numpy.ndarray
        (m, 2, 2); ``pair[e, a, b]`` has a = value of ``edges[e][0]``.

    Notes
    -----
    O(n). Downwards only conditional probabilities are multiplied: nothing is
    subtracted or divided, so small probabilities keep their relative accuracy.

    Examples
    --------
    >>> p, pair = forest_marginals([0.0, 1.0], [(0, 1)], [2.0])
    >>> p.round(4).tolist()
    [0.6068, 0.7311]
    >>> bool(np.isclose(pair[0, 1].sum(), p[0]))
    True
    """
    field, link, W = _checked_model(theta, edges, weights)
    _collect_sum(field, link, W)
    p, pair = _distribute(field, link, W, checked_edges(len(field), edges))
    return p, pair


def _checked_numbers(values: ArrayLike, name: str, length: int | None = None) -> Floats:
    # A copy, because the upward pass adds messages to it.
    array = np.array(values, np.float64)
    if array.ndim != 1 or (length is not None and len(array) != length):
        expected = "one row of numbers" if length is None else f"{length} numbers, one per edge"
        raise ModelError(f"{name} has shape {array.shape}: expected {expected}")
    if not np.isfinite(array).all():
        i = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ModelError(f"{name}[{i}] is {array[i]}: it must be finite")
    return array


def _checked_model(
    theta: ArrayLike, edges: ArrayLike, weights: ArrayLike
) -> tuple[Floats, Ints, Floats]:
    field = _checked_numbers(theta, "theta")
    checked = checked_edges(len(field), edges)
    W = _checked_numbers(weights, "weights", len(checked))
    return field, peeled(len(field), checked), W


@njit(cache=True)
def _collect_max(field: Floats, link: Ints, W: Floats) -> Floats:
    """Add to every field the max-messages of the leaves removed before it."""
    for k in range(len(link)):
        w = 0.5 * W[link[k, 2]]
        h = field[link[k, 0]]
        field[link[k, 1]] += min(max(h, -w), w) if w >= 0 else -min(max(h, w), -w)
    return field


@njit(cache=True)
def _decode(field: Floats, link: Ints, W: Floats) -> NDArray[np.int8]:
    x = np.empty(len(field), np.int8)
    for v in range(len(field)):
        x[v] = field[v] > 0
    for k in range(len(link) - 1, -1, -1):
        w = 0.5 * W[link[k, 2]]
        x[link[k, 0]] = field[link[k, 0]] + (w if x[link[k, 1]] else -w) > 0
    return x


@njit(cache=True)
def _collect_sum(field: Floats, link: Ints, W: Floats) -> float:
    """Add to every field the sum-messages of the leaves removed before it; return log Z."""
    log_z = 0.0
    is_root = np.ones(len(field), np.bool_)
    for k in range(len(link)):
        v = link[k, 0]
        w = 0.5 * W[link[k, 2]]
        h = field[v]
        below = math.log1p(math.exp(-abs(h - w)))
        above = math.log1p(math.exp(-abs(h + w)))
        # The max-message is exact at every magnitude; the rest is at most log 2.
        clipped = min(max(h, -w), w) if w >= 0 else -min(max(h, w), -w)
        field[link[k, 1]] += clipped + (above - below)
        log_z += max(0.0, h - w) + below
        is_root[v] = False
    for v in range(len(field)):
        if is_root[v]:
            log_z += max(0.0, field[v]) + math.log1p(math.exp(-abs(field[v])))
    return log_z


@njit(cache=True)
def _distribute(field: Floats, link: Ints, W: Floats, edges: Ints) -> tuple[Floats, Floats]:
    p = np.full(len(field), -1.0)
    q = np.empty(len(field))  # 1 - p, carried along so that it keeps its digits
    pair = np.empty((len(link), 2, 2))
    for k in range(len(link) - 1, -1, -1):
        v, u, e = link[k, 0], link[k, 1], link[k, 2]
        if p[u] < 0:
            q[u], p[u] = _two_state(field[u])
        w = 0.5 * W[e]
        q_if_0, p_if_0 = _two_state(field[v] - w)
        q_if_1, p_if_1 = _two_state(field[v] + w)
        p00, p01, p10, p11 = q[u] * q_if_0, q[u] * p_if_0, p[u] * q_if_1, p[u] * p_if_1
        q[v], p[v] = p00 + p10, p01 + p11
        if edges[e, 0] == v:
            p01, p10 = p10, p01
        pair[e, 0, 0], pair[e, 0, 1], pair[e, 1, 0], pair[e, 1, 1] = p00, p01, p10, p11
    for v in range(len(field)):
        if p[v] < 0:
            q[v], p[v] = _two_state(field[v])
    return p, pair


@njit(cache=True)
def _two_state(field: float) -> tuple[float, float]:
    """Probabilities of 0 and of 1 under weights 1 and ``exp(field)``."""
    t = math.exp(-abs(field))
    likely, unlikely = 1.0 / (1.0 + t), t / (1.0 + t)
    return (unlikely, likely) if field > 0 else (likely, unlikely)
