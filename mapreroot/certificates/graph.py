"""A graph with exact weights: what a certificate's arguments are about.

It stands for P(y) = C - sum_ij W_ij [y_i != y_j], twice the score of M+. Floats are multiples of a
power of two, so scaled by it all weights are integers; only halving one can make a fraction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from mapreroot.model import Model

__all__ = ["ExactGraph", "Number", "RefusedError", "half_of", "over", "size_of"]

Number = int | Fraction


class RefusedError(Exception):
    """A step that does not hold."""


def size_of(number: Number) -> Number:
    """Give the absolute value."""
    return number if number >= 0 else -number


def half_of(number: Number) -> Number:
    """Halve, and stay an integer where that is one."""
    return over(number, 2)


def over(number: Number, scale: int) -> Number:
    """Divide, and stay an integer where that is one."""
    ratio = Fraction(number) / scale
    return ratio.numerator if ratio.denominator == 1 else ratio


class _Rows(dict[int, dict[int, Number]]):
    """The edges of each vertex that has any."""

    def __missing__(self, u: int) -> dict[int, Number]:
        return {}


class ExactGraph:
    """Exact weights, symmetric: ``weight[u][v]``, never zero; and the constant C."""

    def __init__(self, n: int, constant: Number) -> None:
        self.n = n
        self.weight = _Rows()
        self.constant = constant
        self.gone: set[int] = set()

    def check(self, *vertices: int) -> None:
        """Refuse what is not a vertex: a negative index would quietly mean another one."""
        for u in vertices:
            if not 0 <= u < self.n or u in self.gone:
                raise RefusedError(f"there is no vertex {u}, or no longer")

    def add(self, u: int, v: int, w: Number) -> None:
        """Add to the weight of an edge; a weight of zero is no edge."""
        total = self.weight[u].get(v, 0) + w
        for a, b in ((u, v), (v, u)):
            if total:
                self.weight.setdefault(a, {})[b] = total
            else:
                self.weight[a].pop(b, None)

    def remove(self, u: int) -> dict[int, Number]:
        """Take a vertex out, and say what its edges were."""
        self.check(u)
        edges = self.weight.pop(u, {})
        for v in edges:
            del self.weight[v][u]
        self.gone.add(u)
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

    def drop(self, u: int) -> None:
        """Maximise over a vertex of degree at most 3: edges between its neighbours say the same."""
        edges = sorted(self.remove(u).items())
        if len(edges) > 3:
            raise RefusedError(f"vertex {u} has {len(edges)} neighbours: at most 3 can be dropped")
        w = [weight for _, weight in edges]
        total = sum(w)

        def best(*differing: int) -> Number:
            there = sum(w[k] for k in differing)
            return max(-there, there - total)  # y_u on the side of the others, or of these

        top = best()
        self.constant += top
        if len(edges) == 2:
            self.add(edges[0][0], edges[1][0], top - best(0))
        if len(edges) == 3:
            a, b, c = (top - best(k) for k in range(3))
            for (i, j), weight in zip(
                ((0, 1), (0, 2), (1, 2)), (a + b - c, a + c - b, b + c - a), strict=True
            ):
                self.add(edges[i][0], edges[j][0], half_of(weight))

    def tie(self, u: int, v: int, flip: int) -> Number:
        """Unite the ends of an edge, and say what that can lose.

        If one end is turned to what the edge wants, that gains |W_uv| and loses at most the other
        edges of that end: nothing at all where the edge outweighs them.
        """
        self.check(u, v)
        w = self.weight[u].get(v, 0)
        gain = -w if flip else w
        slack: Number | None = None
        for end in sorted((u, v), key=lambda x: len(self.weight[x])):  # a hub is asked last
            loss = sum(map(size_of, self.weight[end].values())) - size_of(w) - gain
            slack = loss if slack is None else min(slack, loss)
            if slack <= 0:
                break
        self.unite(u, v, flip)
        return max(slack or 0, 0)

    def ignore(self, u: int, v: int) -> Number:
        """Leave an edge out, and say what that can lose."""
        self.check(u, v)
        w = self.weight[u].get(v, 0)
        self.add(u, v, -w)
        return max(-w, 0)

    def around(self, root: int, at: Mapping[int, int]) -> ExactGraph:
        """Build the graph that decides whether vertices can be fixed at given values.

        It holds the vertices ``at`` and the root. Every other neighbour is replaced by an edge to
        the root that gains its weight when the vertex leaves its value. If the values are optimal
        even so, then setting them never lowers P, whatever the rest does; and if they are off by
        some slack, it lowers P by at most that.
        """
        self.check(root, *at)
        if root in at or any(a not in (0, 1) for a in at.values()):
            raise RefusedError("fixed values must be 0 or 1, and none for the root itself")
        inner = ExactGraph(self.n, 0)
        for u, a in at.items():
            for v, w in self.weight[u].items():
                if v in at:
                    if u < v:
                        inner.add(u, v, w)
                elif v == root:
                    inner.add(u, root, w)
                elif a == 0:
                    inner.add(u, root, -size_of(w))
                else:
                    inner.add(u, root, size_of(w))
                    inner.constant += size_of(w)
        return inner

    def edges(self) -> Iterable[tuple[int, int, Number]]:
        """Go through (u, v, W_uv) with u < v."""
        for u, row in self.weight.items():
            for v, w in row.items():
                if u < v:
                    yield u, v, w

    def copy(self) -> ExactGraph:
        """Give a twin that shares nothing."""
        twin = ExactGraph(self.n, self.constant)
        twin.weight = _Rows({u: dict(row) for u, row in self.weight.items()})
        twin.gone = set(self.gone)
        return twin

    def value(self, y: Sequence[int] | npt.NDArray[np.int8]) -> Number:
        """P(y), for a value of every vertex."""
        return self.constant - sum(w for u, v, w in self.edges() if y[u] != y[v])

    def signs(self) -> Number:
        """Bound P by cutting every repulsive edge and no attractive one."""
        return self.constant - sum(w for _, _, w in self.edges() if w < 0)

    def flow(self, root: int, unit: int, scale: int, amounts: Sequence[int]) -> int:
        """Give the value of a flow from the root to its opposite, or refuse it.

        As the rule "flow" of `verify` describes it.
        """
        edges = sorted(self.edges())
        if len(amounts) != len(edges):
            raise RefusedError(f"amounts: expected {len(edges)} integers, found {len(amounts)}")
        excess = {root: 0}
        for k, ((u, v, w), amount) in enumerate(zip(edges, amounts, strict=True)):
            if type(amount) is not int:
                raise RefusedError(f"amounts[{k}]: {amount!r} is no integer")
            if abs(amount) * unit > size_of(w) * scale:
                raise RefusedError(f"amounts[{k}]: {amount} exceeds the capacity")
            excess[u] = excess.get(u, 0) - amount
            excess[v] = excess.get(v, 0) + (amount if w > 0 else -amount)
        value = -excess.pop(root)
        for vertex, amount in excess.items():
            if amount:
                raise RefusedError(f"the flow is not conserved at {vertex}")
        return value * unit

    def rounded(self, bits: int) -> ExactGraph:
        """Round all weights down to multiples of 2**bits: that can only raise P."""
        graph = ExactGraph(self.n, self.constant)
        graph.gone = set(self.gone)
        for u, v, w in self.edges():
            graph.add(u, v, math.floor(w) >> bits << bits)
        return graph

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
        if g and all(sum(row.values()) // g % 2 == 0 for row in self.weight.values()):
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
