"""The score of one assignment, correctly rounded, at the speed of a plain sum."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

__all__ = ["exact_score"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int8]


def exact_score(constant: float, theta: Floats, edges: Ints, weights: Floats, bits: Bits) -> float:
    """Sum ``constant + theta @ bits - 1/2 sum of the weights that are cut``, rounded once.

    Parameters
    ----------
    constant : float
    theta : ndarray, shape (n,)
        May be empty: no singletons.
    edges : ndarray of int, shape (m, 2)
    weights : ndarray, shape (m,)
    bits : ndarray of 0 and 1, shape (n,)

    Returns
    -------
    float
        The float nearest to the exact sum.

    Notes
    -----
    O(n + m). The sum is kept in two floats (Knuth's error-free addition), with relative error
    below 2^-104 a term. In the rare case that this leaves two floats to choose from, `math.fsum`
    decides.

    Examples
    --------
    >>> exact_score(1e-3, np.array([1e16, 1.0, -1e16]), np.zeros((0, 2), np.int64), np.zeros(0),
    ...             np.ones(3, np.int8))
    1.001
    """
    fields = theta.view()
    fields.setflags(write=False)  # as a model's are: one compiled signature
    high, low, size = _sum(constant, fields, edges, weights, bits)
    error = size * (len(theta) + len(weights) + 1) * 2.0**-102
    if high + (low - error) == high + (low + error):
        return float(high + low)
    terms = -weights[bits[edges[:, 0]] != bits[edges[:, 1]]] / 2
    return math.fsum([constant, *terms.tolist(), *theta[bits[: len(theta)] == 1].tolist()])


@njit(cache=True)
def _sum(
    constant: float, theta: Floats, edges: Ints, weights: Floats, bits: Bits
) -> tuple[float, float, float]:
    """Give the sum as a large and a small part, and the sum of absolute values."""
    high, low, size = constant, 0.0, abs(constant)
    for k in range(len(theta) + len(weights)):
        if k < len(theta):
            if not bits[k]:
                continue
            t = theta[k]
        else:
            e = k - len(theta)
            if bits[edges[e, 0]] == bits[edges[e, 1]]:
                continue
            t = -weights[e] / 2
        s = high + t
        b = s - high
        low += (high - (s - b)) + (t - b)
        high = s
        size += abs(t)
    return high, low, size
