"""The exact graph as arrays, for the rules that look once at every edge of a large model.

Weights are int64, so they have at most `BITS` bits. Where a model's numbers need more they are
rounded down, which can only raise P. Whatever is added up is added in two halves of 31 bits, so
that no sum overflows: everything here is as exact as `ExactGraph` is, or not done at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.graph import ExactGraph, RefusedError
from mapreroot.model import Model

__all__ = ["BITS", "MOST_SCALE", "WideGraph", "denominator_bits", "exact_sum", "integers"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int8]

BITS = 58
"""Of a weight that is given; sums of parallel edges may have two more."""

MOST_SCALE = 4
"""By which a weight can be multiplied."""

_HALF = 31
_MASK = (1 << _HALF) - 1


@dataclass(frozen=True, eq=False)
class WideGraph:
    """P(y) = constant - unit * sum_ij weights_ij [y_i != y_j].

    Attributes
    ----------
    n : int
    edges : ndarray of int64, shape (m, 2)
        i < j, sorted.
    weights : ndarray of int64, shape (m,)
        Never zero.
    constant, unit : int
    gone : ndarray of bool, shape (n,)
    """

    n: int
    edges: Ints
    weights: Ints
    constant: int
    unit: int
    gone: npt.NDArray[np.bool_]

    @classmethod
    def uprooted(cls, model: Model, scale_bits: int, rounded: int) -> WideGraph | None:
        """Build M+ as `ExactGraph.uprooted` does, weights rounded down to whole 2**rounded.

        None if they do not fit even so.
        """
        field = np.flatnonzero(model.theta)
        edges = np.concatenate(
            [np.stack([np.zeros_like(field), field + 1], axis=1), model.edges + 1]
        )
        W = np.concatenate([-2 * model.theta[field], model.weights])
        if W.size and math.frexp(float(np.abs(W).max()))[1] + scale_bits - rounded > BITS:
            return None
        units = np.floor(np.ldexp(W, scale_bits - rounded))
        units[(W < 0) & (units == 0)] = -1  # what has vanished was rounded up
        constant = 2 * Fraction(model.constant) * 2**scale_bits
        kept = units != 0
        gone = np.zeros(model.n + 1, dtype=np.bool_)
        whole = units[kept].astype(np.int64)
        return cls(model.n + 1, edges[kept], whole, int(constant), 1 << rounded, gone)

    def narrow(self) -> ExactGraph:
        """Give the same graph as one that can be changed."""
        graph = ExactGraph(self.n, self.constant)
        graph.gone = set(np.flatnonzero(self.gone).tolist())
        for (u, v), w in zip(self.edges.tolist(), self.weights.tolist(), strict=True):
            graph.add(u, v, w * self.unit)
        return graph

    def check(self, *given: int) -> None:
        """Refuse what is not a vertex."""
        vertices = np.array(given, dtype=np.int64)
        outside = (vertices < 0) | (vertices >= self.n)
        bad = outside | self.gone[np.where(outside, 0, vertices)]
        if bad.any():
            raise RefusedError(f"there is no vertex {vertices[bad.argmax()]}, or no longer")

    def value(self, y: Bits) -> int:
        """P(y)."""
        cut = y[self.edges[:, 0]] != y[self.edges[:, 1]]
        return self.constant - self.unit * _total(self.weights[cut])

    def step(self) -> int:
        """Find a number that divides every difference P(y) - C, as `ExactGraph.step` does."""
        g = int(np.gcd.reduce(self.weights))
        if g == 0:
            return 0
        odd = self.weights // g & 1 == 1
        degrees = np.bincount(self.edges[odd].ravel(), minlength=1)
        return self.unit * (g if (degrees & 1).any() else 2 * g)

    def signs(self) -> int:
        """Bound P by cutting every repulsive edge and no attractive one."""
        return self.constant - self.unit * _total(self.weights[self.weights < 0])

    def flow(self, root: int, scale: int, amounts: Ints) -> int:
        """Give the value of a flow from the root to its opposite, or refuse it.

        As the rule "flow" of `verify` describes it; amounts count ``unit`` here, and scale is at
        most `MOST_SCALE`.
        """
        capacity = np.abs(self.weights) * scale
        over = (amounts > capacity) | (amounts < -capacity)
        if over.any():
            k = int(over.argmax())
            raise RefusedError(f"amounts[{k}]: {amounts[k]} exceeds the capacity")
        u, v = self.edges.T
        into = np.where(self.weights > 0, amounts, -amounts)
        high, low = _sums(np.concatenate([u, v]), np.concatenate([-amounts, into]), self.n)
        value = -((int(high[root]) << _HALF) + int(low[root]))
        high[root] = low[root] = 0
        left = (high != 0) | (low != 0)
        if left.any():
            raise RefusedError(f"the flow is not conserved at {int(left.argmax())}")
        return self.unit * value

    def around(self, root: int, at: Bits) -> WideGraph | None:
        """Do what `ExactGraph.around` does; ``at`` holds 0, 1 or, where nothing is fixed, -1."""
        u, v = self.edges.T
        fixed_u, fixed_v = at[u] >= 0, at[v] >= 0
        inside = (fixed_u | (u == root)) & (fixed_v | (v == root))
        leaving = ~inside & (fixed_u | fixed_v)
        end = np.where(fixed_u, u, v)[leaving]
        size = np.abs(self.weights[leaving])
        turned = at[end] == 1
        constant = self.unit * _total(size[turned])
        pulls = np.where(turned, size, -size)
        ends = np.concatenate([self.edges[inside], _pairs(root, end)])
        whole = np.concatenate([self.weights[inside], pulls])
        return self._merged(ends, whole, constant, self.gone)

    def united(self, root: int, at: Bits) -> WideGraph | None:
        """Unite with the root what ``at`` fixes to 0 or 1."""
        side = np.where(at >= 0, at, 0)
        u, v = self.edges.T
        differ = side[u] != side[v]
        constant = self.constant - self.unit * _total(self.weights[differ])
        weights = np.where(differ, -self.weights, self.weights)
        home = np.where(at >= 0, root, np.arange(self.n))
        ends = np.sort(home[self.edges], axis=1)
        apart = ends[:, 0] != ends[:, 1]
        return self._merged(ends[apart], weights[apart], constant, self.gone | (at >= 0))

    def _merged(
        self, ends: Ints, weights: Ints, constant: int, gone: npt.NDArray[np.bool_]
    ) -> WideGraph | None:
        """Sort edges and sum the parallel ones; None if a sum does not fit."""
        key, place = np.unique(ends[:, 0] * self.n + ends[:, 1], return_inverse=True)
        high, low = _sums(place, weights, len(key))
        if (np.abs(high) >= 1 << (BITS + 2 - _HALF)).any():
            return None
        whole = (high << _HALF) + low
        kept = whole != 0
        edges = np.stack([key // self.n, key % self.n], axis=1)
        return WideGraph(self.n, edges[kept], whole[kept], constant, self.unit, gone)


def integers(values: Sequence[int], what: str, count: int) -> Ints | None:
    """Take a list of integers; None if one is too large for int64.

    Raises
    ------
    RefusedError
        For the wrong number of them, or something else than an integer.
    """
    if len(values) != count:
        raise RefusedError(f"{what}: expected {count} integers, found {len(values)}")
    if not set(map(type, values)) <= {int}:
        k = next(k for k, value in enumerate(values) if type(value) is not int)
        raise RefusedError(f"{what}[{k}]: {values[k]!r} is no integer")
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return None


def denominator_bits(values: Floats) -> int:
    """Find the least k >= 0 such that all values are multiples of 2**-k.

    Examples
    --------
    >>> denominator_bits(np.array([1.5, 0.375, 8.0]))
    3
    """
    fraction, exponent = np.frexp(values[values != 0])
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    zeros = np.frexp((mantissa & -mantissa).astype(np.float64))[1] - 1
    return max(0, int((53 - exponent.astype(np.int64) - zeros).max(initial=0)))


def exact_sum(values: Floats) -> Fraction:
    """Add floats without rounding.

    Examples
    --------
    >>> exact_sum(np.array([1e300, 0.25, -1e300]))
    Fraction(1, 4)
    """
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    exponents, place = np.unique(exponent, return_inverse=True)
    high, low = _sums(place, mantissa, len(exponents))
    total = Fraction(0)
    for e, a, b in zip(exponents.tolist(), high.tolist(), low.tolist(), strict=True):
        total += ((a << _HALF) + b) * Fraction(2) ** (e - 53)
    return total


def _total(values: Ints) -> int:
    return (int((values >> _HALF).sum()) << _HALF) + int((values & _MASK).sum())


def _sums(place: Ints, values: Ints, size: int) -> tuple[Ints, Ints]:
    """Sum values by place, as 2**31 high + low with 0 <= low < 2**31."""
    high, low = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    np.add.at(high, place, values >> _HALF)
    np.add.at(low, place, values & _MASK)
    return high + (low >> _HALF), low & _MASK


def _pairs(root: int, others: Ints) -> Ints:
    home = np.full_like(others, root)
    return np.stack([np.minimum(home, others), np.maximum(home, others)], axis=1)
