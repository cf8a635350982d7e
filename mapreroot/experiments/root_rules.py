"""Rules that choose a root for approximate inference from what is cheap to know of M+.

A rule gives every vertex of M+ a score, and takes the vertex with the highest, the lowest vertex on
ties. Those with a parameter are trained (`mapreroot.experiments.roots`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mapreroot.balance import balancing_vertices
from mapreroot.marginals.messages import Graph, beliefs_at, iterate
from mapreroot.model import UprootedModel

__all__ = ["RULES", "Evidence", "Parameter", "Rule", "choices"]

Floats = npt.NDArray[np.float64]
Parameter = tuple[float, ...]


@dataclass(frozen=True)
class Evidence:
    """M+, LOC at each of its roots, and what several rules ask of them."""

    uprooted: UprootedModel
    loc: Floats

    def at_ends(self, sizes: Floats) -> Floats:
        """Sum a quantity of the edges over those of each vertex."""
        ends = self.uprooted.edges.ravel()
        repeated = np.repeat(sizes, 2)
        return np.bincount(ends, repeated, minlength=self.uprooted.n_vertices).astype(np.float64)

    @cached_property
    def sizes(self) -> Floats:
        """|W| of each edge."""
        return np.abs(self.uprooted.weights)

    @cached_property
    def strength(self) -> Floats:
        """Sum of |W| over the edges of each vertex: what maxW maximises."""
        return self.at_ends(self.sizes)

    @cached_property
    def degree(self) -> Floats:
        """How many edges each vertex has, at least 1."""
        return np.maximum(self.at_ends(np.ones(self.uprooted.m)), 1.0)

    @cached_property
    def frustration(self) -> Floats:
        """Frustrated closed walks of 3 and 4 steps through each vertex, weighed by tanh(|W|/4)."""
        n = self.uprooted.n_vertices
        signed = np.zeros((n, n))
        i, j = self.uprooted.edges.T
        signed[i, j] = signed[j, i] = np.tanh(self.uprooted.weights / 4)
        total = np.zeros(n)
        for matrix, sign in ((np.abs(signed), 1), (signed, -1)):
            square = matrix @ matrix
            total += sign * np.einsum("ij,ji->i", square, matrix)
            total += sign * np.einsum("ij,ji->i", square, square)
        return total

    @cached_property
    def swept(self) -> Floats:
        """The Bethe log Z at each root after one sweep of belief propagation."""
        values = np.empty(self.uprooted.n_vertices)
        for root in range(len(values)):
            rooted = self.uprooted.reroot(root)
            graph = Graph.of(rooted.n, rooted.edges)
            w, ones = rooted.weights / 2, np.ones(rooted.m)
            L, a = rooted.theta.copy(), rooted.theta[rooted.edges.ravel()]
            order = (rooted.theta, graph.start, graph.half)
            iterate(*order, w, ones, np.zeros(rooted.n), L, a, 1, 1e-7, 1)
            values[root] = beliefs_at(*order, rooted.edges, w, ones, L, a)[0]
        return values

    def with_0_times(self, factor: float, scores: Floats) -> Floats:
        """Let vertex 0 count for more or for less."""
        scores = scores.copy()
        scores[0] *= factor
        return scores


@dataclass(frozen=True)
class Rule:
    """A way to choose a root.

    Attributes
    ----------
    what : str
        In words.
    scores : callable
        Of the evidence and the parameter.
    parameters : tuple
        Those to choose from; a single () for a rule that has none.
    """

    what: str
    scores: Callable[[Evidence, Parameter], Floats]
    parameters: tuple[Parameter, ...] = ((),)


def choices(evidence: Evidence) -> dict[tuple[str, Parameter], int]:
    """Give the root of each rule at each of its parameters."""
    return {
        (name, parameter): int(rule.scores(evidence, parameter).argmax())
        for name, rule in RULES.items()
        for parameter in rule.parameters
    }


def _original(evidence: Evidence, _: Parameter) -> Floats:
    return evidence.with_0_times(2.0, np.ones(evidence.uprooted.n_vertices))


def _max_w(evidence: Evidence, _: Parameter) -> Floats:
    return evidence.strength


def _tanh(evidence: Evidence, parameter: Parameter) -> Floats:
    (scale,) = parameter or (4.0,)
    return evidence.at_ends(np.tanh(evidence.sizes / scale))


def _power(evidence: Evidence, parameter: Parameter) -> Floats:
    (power,) = parameter
    return evidence.at_ends(np.float_power(evidence.sizes, power))


def _handicap(evidence: Evidence, parameter: Parameter) -> Floats:
    return evidence.with_0_times(parameter[0], evidence.strength)


def _power_handicap(evidence: Evidence, parameter: Parameter) -> Floats:
    return evidence.with_0_times(parameter[1], _power(evidence, parameter[:1]))


def _per_degree(evidence: Evidence, parameter: Parameter) -> Floats:
    (power,) = parameter
    return evidence.strength / np.float_power(evidence.degree, power)


def _balanced_first(evidence: Evidence, _: Parameter) -> Floats:
    bonus = np.zeros(evidence.uprooted.n_vertices)
    bonus[balancing_vertices(evidence.uprooted)] = evidence.strength.max() + 1.0
    return evidence.strength + bonus


def _guideline(evidence: Evidence, _: Parameter) -> Floats:
    fields = (evidence.uprooted.edges == 0).any(axis=1)
    sizes = evidence.sizes
    if fields.any() and sizes[fields].mean() * 4 > sizes[~fields].mean():
        return _original(evidence, ())
    return _tanh(evidence, ())


def _frustration(evidence: Evidence, _: Parameter) -> Floats:
    return evidence.frustration


def _one_sweep(evidence: Evidence, _: Parameter) -> Floats:
    return -evidence.swept


def _loc(evidence: Evidence, _: Parameter) -> Floats:
    # Values that differ by rounding are tied, and the strongest of their vertices wins.
    tied = evidence.loc <= evidence.loc.min() + 1e-9 * max(evidence.sizes.max(initial=0.0), 1.0)
    return np.where(tied, evidence.strength + 1.0, 0.0)


_FACTORS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)
_POWERS = (0.5, 0.75, 1.25, 1.5, 2.0, 3.0)

RULES: Mapping[str, Rule] = {
    "original": Rule("vertex 0", _original),
    "max_w": Rule("largest sum |W| (the paper's maxW)", _max_w),
    "max_tw": Rule("largest sum tanh(|W|/4) (the paper's maxtW)", _tanh),
    "tanh": Rule(
        "largest sum tanh(|W|/c)",
        _tanh,
        tuple((c,) for c in (1.0, 2.0, 6.0, 8.0, 12.0, 16.0, 32.0)),
    ),
    "power": Rule("largest sum |W|^p", _power, tuple((p,) for p in _POWERS)),
    "handicap": Rule(
        "largest sum |W|, vertex 0's times b", _handicap, tuple((b,) for b in _FACTORS)
    ),
    "power_handicap": Rule(
        "largest sum |W|^p, vertex 0's times b",
        _power_handicap,
        tuple((p, b) for p in _POWERS for b in _FACTORS),
    ),
    "per_degree": Rule(
        "largest sum |W| / degree^a", _per_degree, tuple((a,) for a in (0.1, 0.25, 0.5, 0.75, 1.0))
    ),
    "balanced_first": Rule("a balancing vertex, else maxW", _balanced_first),
    "guideline": Rule("section 6.1: maxtW where fields are low, vertex 0 elsewhere", _guideline),
    "frustration": Rule("most frustrated triangles and squares, weighed", _frustration),
    "one_sweep": Rule("lowest Bethe log Z after one sweep from each root", _one_sweep),
    "loc": Rule("lowest LOC, the largest sum |W| on ties", _loc),
}
"""All of them, by name."""
