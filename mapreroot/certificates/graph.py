"""A graph with exact weights: what a certificate's arguments are about.

It stands for P(y) = C - sum_ij W_ij [y_i != y_j], twice the score of M+. Floats are multiples of a
power of two, so scaled by it all weights are integers; only halving one can make a fraction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Self

from mapreroot.model import Model

__all__ = ["ExactGraph", "Number", "RefusedError", "half_of", "size_of"]

Number = int | Fraction


class RefusedError(Exception):
    """A step that does not hold."""


def size_of(number: Number) -> Number:
    """Give the absolute value."""
    return number if number >= 0 else -number


def half_of(number: Number) -> Number:
    """Halve, and stay an integer where that is one."""
    half = Fraction(number, 2)
    return half.numerator if half.denominator == 1 else half


class ExactGraph:
    """Exact weights, symmetric: ``weight[u][v]``, never zero; and the constant C."""

    def __init__(self, n: int, constant: Number) -> None:
        self.weight: list[dict[int, Number]] = [{} for _ in range(n)]
        self.constant = constant
        self.gone = [False] * n

    def check(self, *vertices: int) -> None:
        """Refuse what is not a vertex: a negative index would quietly mean another one."""
        for u in vertices:
            if not 0 <= u < len(self.gone) or self.gone[u]:
                raise RefusedError(f"there is no vertex {u}, or no longer")

    def add(self, u: int, v: int, w: Number) -> None:
        """Add to the weight of an edge; a weight of zero is no edge."""
        total = self.weight[u].get(v, 0) + w
        if total:
            self.weight[u][v] = self.weight[v][u] = total
        else:
            self.weight[u].pop(v, None)
            self.weight[v].pop(u, None)

    def remove(self, u: int) -> dict[int, Number]:
        """Take a vertex out, and say what its edges were."""
        self.check(u)
        edges = self.weight[u]
        for v in edges:
            del self.weight[v][u]
        self.weight[u] = {}
        self.gone[u] = True
        return edges

    def unite(self, u: int, v: int, flip: int) -> None:
        """Replace y_u by y_v, or by its opposite."""
        self.check(u, v)
        if u == v or flip not in (0, 1):
            raise RefusedError(f"cannot unite {u} with {v}, flip {flip}")
        for k, w in self.remove(u).items():
            if k == v:
                self.constant -= w if flip else 0
            elif flip:  # [y_u != y_k] = 1 - [y_v != y_k]
                self.constant -= w
                self.add(v, k, -w)
            else:
                self.add(v, k, w)

    def edges(self) -> Iterable[tuple[int, int, Number]]:
        """Go through (u, v, W_uv) with u < v."""
        for u, row in enumerate(self.weight):
            for v, w in row.items():
                if u < v:
                    yield u, v, w

    def copy(self) -> ExactGraph:
        """Give a twin that shares nothing."""
        twin = ExactGraph(0, self.constant)
        twin.weight = [dict(row) for row in self.weight]
        twin.gone = list(self.gone)
        return twin

    def value(self, y: Sequence[int]) -> Number:
        """P(y), for a value of every vertex."""
        return self.constant - sum(w for u, v, w in self.edges() if y[u] != y[v])

    def step(self) -> int:
        """Find a number that divides every difference P(y) - C; 0 if there is none to be had.

        Cuts add up weights, so the greatest common divisor g does; and where all weighted degrees
        are even multiples of g, every cut is: it is the sum of the degrees on one side, less twice
        the weights inside.
        """
        g = 0
        for _, _, w in self.edges():
            if isinstance(w, Fraction):
                if w.denominator != 1:
                    return 0
                w = w.numerator
            g = math.gcd(g, w)
        if g and all(sum(row.values()) // g % 2 == 0 for row in self.weight):
            return 2 * g
        return g

    @classmethod
    def uprooted(cls, model: Model) -> tuple[int, Self]:
        """Build M+ with integer weights, and say what they were multiplied by."""
        theta, weights = model.theta.tolist(), model.weights.tolist()
        numbers = [*theta, *weights, model.constant]
        scale = max((number.as_integer_ratio()[1] for number in numbers), default=1)

        def integer(number: float) -> int:
            top, bottom = number.as_integer_ratio()
            return top * (scale // bottom)

        graph = cls(model.n + 1, 2 * integer(model.constant))
        for j, t in enumerate(theta):
            if t:
                graph.add(0, j + 1, -2 * integer(t))
        for (i, j), w in zip(model.edges.tolist(), weights, strict=True):
            graph.add(i + 1, j + 1, integer(w))
        return scale, graph
