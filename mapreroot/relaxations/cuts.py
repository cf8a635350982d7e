"""Cycle inequalities as flat arrays, and the bound that multipliers of them prove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Cuts", "dual_bound"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cuts:
    """Cycle inequalities ``sum of d over F - sum of d over C - F <= |F| - 1``.

    Attributes
    ----------
    start : ndarray of int64, shape (k + 1,)
        Cut r is made of the entries start[r]:start[r + 1] of the other two arrays.
    edge : ndarray of int64
        Edge numbers of the model, along each cycle.
    odd : ndarray of bool
        Whether the edge belongs to F, an odd number of times in each cut.

    Examples
    --------
    >>> cuts = Cuts(np.array([0, 3]), np.array([0, 2, 1]), np.array([True, True, True]))
    >>> len(cuts), cuts.rhs.tolist()
    (1, [2.0])
    """

    start: Ints
    edge: Ints
    odd: Flags

    @classmethod
    def none(cls) -> Self:
        """No cuts at all."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def row(self) -> Ints:
        """The cut that each entry belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def sign(self) -> Floats:
        """Coefficient of each entry: 1 in F, -1 outside."""
        return np.where(self.odd, 1.0, -1.0)

    @property
    def rhs(self) -> Floats:
        """Right sides |F| - 1, shape (k,)."""
        return np.asarray(np.bincount(self.row, self.odd, len(self)) - 1.0, np.float64)

    @property
    def name(self) -> npt.NDArray[np.uint64]:
        """A number that a cut shares with its equals, wherever the cycle begins, shape (k,)."""
        mixed = (2 * self.edge + self.odd + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        return np.asarray(sums[self.start[1:]] - sums[self.start[:-1]], np.uint64)

    def violation(self, d: Floats) -> Floats:
        """How much each inequality is exceeded at d (negative: slack), shape (k,)."""
        return np.bincount(self.row, self.sign * d[self.edge], len(self)) - self.rhs

    def __getitem__(self, keep: Any) -> Cuts:
        """Give the cuts of a Boolean mask or an array of numbers, in that order."""
        chosen = np.arange(len(self))[keep]
        length = np.diff(self.start)[chosen]
        start = np.concatenate([[0], np.cumsum(length)])
        entry = np.repeat(self.start[chosen] - start[:-1], length) + np.arange(start[-1])
        return Cuts(start, self.edge[entry], self.odd[entry])

    def __add__(self, other: Cuts) -> Cuts:
        return Cuts(
            np.concatenate([self.start, self.start[-1] + other.start[1:]]),
            np.concatenate([self.edge, other.edge]),
            np.concatenate([self.odd, other.odd]),
        )


def dual_bound(
    constant: float, c: Floats, lower: Floats, upper: Floats, cuts: Cuts, y: Floats
) -> tuple[float, Floats]:
    """Bound ``max constant + c @ d`` over a box and cycle inequalities, rigorously.

    Parameters
    ----------
    constant : float
    c, lower, upper : ndarray, shape (m,)
        Objective and box.
    cuts : Cuts
        k inequalities.
    y : ndarray, shape (k,)
        Any multipliers. What is negative counts as 0.

    Returns
    -------
    bound : float
        ``constant + y @ b + sum of max r_e d_e over the box``, r = c - A'y. No point that
        satisfies the inequalities has a larger objective, whatever y is: weak duality.
    r : ndarray, shape (m,)
        The reduced costs.

    Notes
    -----
    The bound holds for the exact numbers, not only up to rounding. The multipliers are first
    rounded down to a grid, multiples of one power of two, so coarse (2**-52 of their sum) that A'y
    and y @ b come out exact in floating point; this changes the value a little but not the
    truth of the inequality. Each r_e then takes one subtraction, and its product with the box
    another, both moved outward by one unit in the last place. The terms are added by
    `math.fsum`, which rounds once, and that is moved outward too. O(m + nonzeros).

    Examples
    --------
    >>> triangle = Cuts(np.array([0, 3]), np.array([0, 1, 2]), np.array([True, True, True]))
    >>> zero, one = np.zeros(3), np.ones(3)
    >>> bound, r = dual_bound(0.0, one, zero, one, triangle, np.array([1.0]))
    >>> abs(bound - 2) < 1e-12, r.tolist()
    (True, [0.0, 0.0, 0.0])
    """
    y = np.maximum(y, 0.0)
    y[~np.isfinite(y)] = 0.0
    most = float((y * np.diff(cuts.start)).sum())
    if most > 0:
        grid = math.ldexp(1.0, math.frexp(most)[1] - 51)
        y = np.floor(y / grid) * grid
    into = np.bincount(cuts.edge, (y[cuts.row] * cuts.sign), len(c))
    r = c - into
    inexact = (into != 0) & (r != c)
    high = np.where(inexact, np.nextafter(r, np.inf), r)
    low = np.where(inexact, np.nextafter(r, -np.inf), r)
    gain = np.maximum(high * upper, low * lower)
    if not (((lower == 0) | (lower == 1)) & ((upper == 0) | (upper == 1))).all():
        gain = np.nextafter(gain, np.inf)
    total = math.fsum([constant, *(y * cuts.rhs).tolist(), *gain[gain != 0].tolist()])
    return math.nextafter(total, math.inf), r
