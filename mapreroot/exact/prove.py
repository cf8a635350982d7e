"""Certificates: prove in exact arithmetic that nothing scores more than a given assignment.

The solvers are asked again, on graphs whose weights are the exact numbers of the certificate, and
whatever they say is written down as an argument that can be checked without them. With the
optimum known, that takes about the time of the solve.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.arrays import BITS, WideGraph, denominator_bits
from mapreroot.certificates.graph import ExactGraph, Number, size_of
from mapreroot.certificates.make import (
    Argument,
    certificate,
    cycles_argument,
    flow_argument,
    semidefinite_argument,
)
from mapreroot.certificates.verify import bound_of, model_score
from mapreroot.decomposition import Step, blocks, reduce
from mapreroot.exact.rooted import balanced_rooting
from mapreroot.exact.semidefinite import Multipliers, sdp_bound
from mapreroot.exact.semidefinite_nodes import is_dense, is_half_dense, splitting_pair
from mapreroot.limits import Limits
from mapreroot.model import Model, UprootedModel
from mapreroot.relaxations.cuts import Cuts
from mapreroot.relaxations.cycles import CycleRelaxation, solve_cycle_lp
from mapreroot.relaxations.roof_duality import SPREAD, best_loc_root, roof_dual
from mapreroot.rerooting import uproot
from mapreroot.roots import max_w

__all__ = ["prove"]

Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int8]

_LARGE = 5000  # variables and edges from which on the first steps work on arrays
_SMALL = 11  # vertices that are tried out one by one
_PART = Fraction(999, 1000)  # of a gap that will do: what is written down must fit in, rounded
_PATIENCE = 20.0  # of the semidefinite bound: here the gap is known to close

_Dual = tuple[Multipliers, Ints]  # semidefinite multipliers, and the vertices they are of
_Bounded = tuple[Argument, tuple[int, int], _Dual | None]  # with the pair to branch on


def prove(
    model: Model,
    x: Sequence[int],
    limits: Limits | None = None,
    slack: float = 0.0,
    branch: bool = True,
) -> dict[str, Any]:
    """Write a certificate that an assignment is optimal, or of the best bound there is time for.

    Parameters
    ----------
    model : Model
    x : sequence of 0 and 1
        Its best assignment known.
    limits : Limits, optional
        When to be content with the bounds at hand.
    slack : float
        A gap, in nats, that needs no closing.
    branch : bool
        Whether to go on by cases where the relaxations leave a larger gap. With a slack the
        worst case comes first, so that the bound falls for as long as there is time.

    Returns
    -------
    dict
        What `mapreroot.verify` takes.

    Raises
    ------
    SolverError
        If a solver under it fails.
    """
    limits = limits or Limits()
    y = [0, *map(int, x)]
    wide = _rounded(model) if model.n + model.m > _LARGE else None
    if wide is None:
        scale, graph = ExactGraph.uprooted(model)
        argument = _Prover(scale, limits, slack, branch).proof(graph.copy(), y)
        bound = bound_of(graph, argument)
    else:
        scale, rounded = wide
        argument = _large(model, rounded, y, _Prover(scale, limits, slack, branch))
        bound = bound_of(rounded, argument)
        if rounded.unit > 1:
            argument = {"by": "round", "bits": rounded.unit.bit_length() - 1, "then": argument}
    score = model_score(model, np.array(y[1:], dtype=np.int8))
    return certificate(model, x, score, Fraction(bound) / (2 * scale), argument)


def _rounded(model: Model) -> tuple[int, WideGraph] | None:
    """Give M+ in integers, rounded as little as lets them fit, and the scale.

    None where weights differ so much that rounding could hide the small ones.
    """
    scale_bits = denominator_bits(np.concatenate([model.theta, model.weights, [model.constant]]))
    sizes = np.abs(np.concatenate([2 * model.theta[model.theta != 0], model.weights]))
    largest = float(sizes.max(initial=0.0))
    if largest > SPREAD * float(sizes.min(initial=np.inf)):
        return None
    bits = int(np.frexp(largest)[1]) + scale_bits
    graph = WideGraph.uprooted(model, scale_bits, max(0, bits - BITS))
    return None if graph is None else (1 << scale_bits, graph)


def _large(model: Model, graph: WideGraph, y: Sequence[int], prover: _Prover) -> Argument:
    """Prove by one flow what one flow can prove, and leave the rest to the prover."""
    uprooted = uproot(model, names=False)
    balanced = balanced_rooting(uprooted)
    if balanced is not None:
        return flow_argument(graph, *balanced)
    root = max_w(uprooted)
    dual = roof_dual(uprooted, root)
    tied = np.flatnonzero(dual.strong >= 0)
    tied = tied[tied != root]
    if prover.limits.reason() is not None:
        return flow_argument(graph, root)
    if not len(tied):
        return prover.proof(graph.narrow(), y)
    at = np.where(np.arange(graph.n) == root, -1, dual.strong)
    inner, rest = graph.around(root, at), graph.united(root, at)
    if inner is None or rest is None:
        return prover.proof(graph.narrow(), y)
    pairs = np.stack([tied, dual.strong[tied]], axis=1).tolist()
    step = ["fix", root, pairs, flow_argument(inner, root)]
    return {"by": "steps", "steps": [step], "then": prover.proof(rest.narrow(), y)}


class _Heritage:
    """What a case takes over from the relaxation it came from, and who was united since."""

    def __init__(self, argument: Argument, dual: _Dual | None) -> None:
        self.rows: list[list[Any]] = argument["rows"] if argument["by"] == "cycles" else []
        self.dual = dual
        self.home: dict[int, tuple[int, int]] = {}

    def unite(self, steps: list[list[Any]]) -> None:
        """Take note of the vertices that steps unite."""
        for kind, *step in steps:
            if kind == "tie":
                self.home[step[0]] = (step[1], step[2])
            elif kind == "fix":
                self.home |= {u: (step[0], a) for u, a in step[1]}

    def follow(self, u: int) -> tuple[int, int]:
        """Say with whom a vertex is united now, and whether as its opposite."""
        flip = 0
        while u in self.home:
            u, more = self.home[u]
            flip ^= more
        return u, flip

    def multipliers(self, names: Ints) -> Multipliers | None:
        """Carry the semidefinite multipliers over: any give a true bound."""
        if self.dual is None:
            return None
        multipliers, before = self.dual
        local = {name: k for k, name in enumerate(names.tolist())}
        ends = [self.follow(u) for u in before.tolist()]
        image = np.array([local.get(u, -1) for u, _ in ends], dtype=np.int64)
        flipped = np.array([flip == 1 for _, flip in ends], dtype=np.bool_)
        return multipliers.contract(image, flipped, len(names))

    def cuts(self, model: UprootedModel, names: Ints) -> Cuts:
        """Give the cycles that are still cycles of the model, with their odd sets as they are now.

        An edge between two that are united is no more, one to an opposite changes sides.
        """
        local = {name: k for k, name in enumerate(names.tolist())}
        numbers = {(u, v): e for e, (u, v) in enumerate(model.edges.tolist())}
        edges: list[int] = []
        odds: list[bool] = []
        start = [0]
        for _, cycle, odd in self.rows:
            ends = [self.follow(u) for u in cycle]
            kept: list[tuple[int, bool]] = []
            chosen = set(odd)
            for k, ((u, flip), (v, other)) in enumerate(itertools.pairwise([*ends, ends[0]])):
                inside = (k in chosen) ^ (flip != other)
                a, b = local.get(u, -1), local.get(v, -1)
                if u != v:
                    kept.append((numbers.get((min(a, b), max(a, b)), -1), inside))
                elif inside:  # it holds of all points
                    break
            else:
                at = {u for u, _ in ends}
                if len(at) == len(kept) > 2 and all(e >= 0 for e, _ in kept):
                    edges += [e for e, _ in kept]
                    odds += [inside for _, inside in kept]
                    start.append(len(edges))
        return Cuts(
            np.array(start, dtype=np.int64),
            np.array(edges, dtype=np.int64),
            np.array(odds, dtype=np.bool_),
        )


@dataclass(frozen=True, eq=False)
class _Open:
    """An argument that leaves a gap, to be replaced by cases in its place in the proof."""

    argument: Argument
    graph: ExactGraph
    target: Number
    pair: tuple[int, int]
    dual: _Dual | None


class _Prover:
    """The scale of the exact graphs, when to stop, and the gaps that are still open."""

    def __init__(self, scale: int, limits: Limits, slack: float, branch: bool) -> None:
        self.scale, self.limits, self.branch = scale, limits, branch
        self.slack = Fraction(slack)  # for each block
        self.opened = 0
        self.open: list[tuple[Number, int, _Open]] = []  # the first is to be closed next

    def proof(self, graph: ExactGraph, y: Sequence[int]) -> Argument:
        """Prove what relaxations prove, then go on by cases while gaps are open; uses graph up."""
        argument = self.graph(graph, y)
        while self.open and self.limits.reason() is None:
            _, _, at = heapq.heappop(self.open)
            cases = self.cases(at)
            if self.limits.reason() is None:  # else its cases have but the bounds at hand
                at.argument.clear()
                at.argument.update(cases)
        return argument

    def graph(self, graph: ExactGraph, y: Sequence[int]) -> Argument:
        """Reduce, split, and prove each block for the part of y in it; uses the graph up."""
        model, names = self.floats(graph)
        if model.n_vertices > _SMALL and (balanced := balanced_rooting(model)) is not None:
            return _balanced_flow(graph, names, *balanced)
        steps = self.reduced(graph)
        model, names = self.floats(graph)
        parts = blocks(model)
        if len(parts) == 1:
            then = self.block(graph, graph.value(y))
        else:
            self.slack /= max(1, len(parts))
            pieces = []
            for part in parts:
                inside = [int(names[v]) for v in part.vertices]
                piece = _part(graph, inside)
                pieces.append({"vertices": inside, "proof": self.block(piece, piece.value(y))})
            then = {"by": "parts", "parts": pieces}
        return {"by": "steps", "steps": steps, "then": then}

    def block(
        self, graph: ExactGraph, target: Number, heritage: _Heritage | None = None
    ) -> Argument:
        """Prove that nothing exceeds the target, if the limits let it; uses the graph up."""
        model, names = self.floats(graph)
        if model.n_vertices == 0:
            return {"by": "signs"}
        balanced = balanced_rooting(model)
        if balanced is not None:
            return _balanced_flow(graph, names, *balanced)
        if model.n_vertices <= _SMALL:
            return {"by": "all"}
        steps = self.fixed(graph, model, names)
        if steps:
            steps += self.reduced(graph)
            if heritage is not None:
                heritage.unite(steps)
            return {"by": "steps", "steps": steps, "then": self.block(graph, target, heritage)}
        return self.relaxed(graph, target, model, names, heritage)

    def relaxed(
        self, graph: ExactGraph, target: Number, model: UprootedModel, names: Ints,
        heritage: _Heritage | None,
    ) -> Argument:  # fmt: skip
        """Bound by a relaxation; where that leaves a gap, it is kept in mind."""
        if self.limits.reason() is not None:  # one flow, LOC, is what there is always time for
            ends, sizes = model.edges.ravel(), np.repeat(np.abs(model.weights), 2)
            return flow_argument(graph, int(names[np.bincount(ends, sizes).argmax()]))
        tolerance = Fraction(model.tolerance)
        argument, least = {"by": "signs"}, graph.signs()
        for method in self.relaxations(model):
            found, pair, dual = method(graph, target, model, names, heritage)
            bound = bound_of(graph, found)
            if bound <= least:
                argument, least = found, bound
            if least - target <= 2 * self.scale * max(self.slack, tolerance):
                return argument
        if self.branch:
            # Without a slack all gaps must be closed: the newest first holds fewest graphs.
            order = target - least if self.slack > tolerance else 0
            self.opened += 1
            u, v = int(names[pair[0]]), int(names[pair[1]])
            at = _Open(argument, graph, target, (u, v), dual)
            heapq.heappush(self.open, (order, -self.opened, at))
        return argument

    def cases(self, at: _Open) -> Argument:
        """Say that two vertices are equal or differ, and bound both."""
        u, v = at.pair
        cases: Argument = {"by": "cases", "pair": [u, v]}
        for flip, name in ((0, "same"), (1, "differ")):
            case = at.graph.copy()
            case.unite(u, v, flip)
            steps = self.reduced(case)
            heritage = _Heritage(at.argument, at.dual)
            heritage.unite([["tie", u, v, flip], *steps])
            then = self.block(case, at.target, heritage)
            cases[name] = {"by": "steps", "steps": steps, "then": then}
        return cases

    @property
    def spared(self) -> Fraction:
        """What a relaxation need not close: nothing where it is all that will be tried."""
        return self.slack if self.branch else Fraction(0)

    def relaxations(self, model: UprootedModel) -> list[Callable[..., _Bounded]]:
        """Say which relaxations to try on a model, as `search` does."""
        if not is_half_dense(model):
            return [self.cycles]
        return [self.semidefinite] if is_dense(model) else [self.cycles, self.semidefinite]

    def cycles(
        self, graph: ExactGraph, target: Number, model: UprootedModel, names: Ints,
        heritage: _Heritage | None,
    ) -> _Bounded:  # fmt: skip
        """Bound by cycle inequalities; and where they hesitate most about a heavy edge."""
        lower = float(Fraction(target) / (2 * self.scale) + _PART * self.spared)
        cuts = None if heritage is None else heritage.cuts(model, names)
        relaxation = solve_cycle_lp(model, lower=lower, limits=self.limits, cuts=cuts)
        argument = cycles_argument(Fraction(1, 2 * self.scale), _rows(relaxation, model, names))
        doubt = np.minimum(relaxation.d, 1 - relaxation.d) * np.abs(model.weights)
        u, v = model.edges[int(doubt.argmax())].tolist()
        return argument, (u, v), None

    def semidefinite(
        self, graph: ExactGraph, target: Number, model: UprootedModel, names: Ints,
        heritage: _Heritage | None,
    ) -> _Bounded:  # fmt: skip
        """Bound by the semidefinite relaxation; and the pair that it decides least."""
        unit = Fraction(1, 2 * self.scale)
        enough = float(target * unit + _PART * max(graph.step() * unit, self.spared))
        start = None if heritage is None else heritage.multipliers(names)
        found = sdp_bound(model, enough, self.limits, start, hope=_PATIENCE)
        dual = found.multipliers
        rows = []
        for y, codes in zip(dual.weights.tolist(), dual.rows.tolist(), strict=True):
            used = [code for code in codes if code >= 0]
            members = [int(names[code >> 1]) for code in used]
            rows.append((y, members, [-1 if code & 1 else 1 for code in used]))
        # The form that the shifts belong to has a diagonal: minus an eighth of the degrees.
        ends, double = model.edges.ravel(), np.repeat(model.weights, 2)
        degree = np.bincount(ends, double, minlength=model.n_vertices)
        shift = dual.shift + degree / 8
        argument = semidefinite_argument(graph, names.tolist(), unit, rows, shift)
        return argument, splitting_pair(found.X), (dual, names)

    def floats(self, graph: ExactGraph) -> tuple[UprootedModel, Ints]:
        """Give the vertices that have edges as a model in floats, and their names."""
        edges = list(graph.edges())
        ends = np.array([(u, v) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)
        names, local = np.unique(ends, return_inverse=True)
        weights = [float(Fraction(w) / self.scale) for _, _, w in edges]
        constant = float(Fraction(graph.constant) / (2 * self.scale))
        model = UprootedModel(len(names), local.reshape(-1, 2), weights, constant)
        return model, names

    def reduced(self, graph: ExactGraph) -> list[list[Any]]:
        """Do on the exact graph what `reduce` does in floats."""
        model, names = self.floats(graph)
        steps: list[list[Any]] = []
        for kind, u, a, _, _ in reduce(model).steps.tolist():
            vertex = int(names[u])
            if kind == Step.TIED:
                other, flip = int(names[a >> 1]), a & 1
                steps.append(["tie", vertex, other, flip])
                graph.unite(vertex, other, flip)
            elif kind == Step.DROPPED:
                steps.append(["ignore", vertex, int(names[a >> 1])])
                graph.ignore(vertex, int(names[a >> 1]))
            else:
                steps += _ignored_beyond_three(graph, vertex)
                steps.append(["drop", vertex])
                graph.drop(vertex)
        return steps

    def fixed(self, graph: ExactGraph, model: UprootedModel, names: Ints) -> list[list[Any]]:
        """Fix what roof duality ties to the best root, with a flow that proves it."""
        root, dual, _ = best_loc_root(model)
        tied = np.flatnonzero(dual.strong >= 0)
        values = {int(names[v]): int(dual.strong[v]) for v in tied if v != root}
        if not values:
            return []
        home = int(names[root])
        proof = flow_argument(graph.around(home, values), home)
        for u, a in values.items():
            graph.unite(u, home, a)
        return [["fix", home, [[u, a] for u, a in values.items()], proof]]


def _balanced_flow(graph: ExactGraph, names: Ints, root: int, flips: Bits) -> Argument:
    switching = np.zeros(graph.n, dtype=np.int8)
    switching[names] = flips
    return flow_argument(graph, int(names[root]), switching)


def _part(graph: ExactGraph, inside: Sequence[int]) -> ExactGraph:
    """Give the edges inside a set of vertices as a graph of their own."""
    piece = ExactGraph(graph.n, 0)
    members = set(inside)
    for u in inside:
        for v, w in graph.weight[u].items():
            if u < v and v in members:
                piece.add(u, v, w)
    return piece


def _ignored_beyond_three(graph: ExactGraph, u: int) -> list[list[Any]]:
    """Ignore the lightest edges of a vertex, which vanished in floats, down to degree 3."""
    edges = sorted(graph.weight[u].items(), key=lambda edge: size_of(edge[1]))
    steps: list[list[Any]] = []
    for v, _ in edges[: max(0, len(edges) - 3)]:
        steps.append(["ignore", u, v])
        graph.ignore(u, v)
    return steps


def _rows(
    relaxation: CycleRelaxation, model: UprootedModel, names: Ints
) -> list[tuple[float, list[int], list[int]]]:
    """Give multipliers, cycles as vertices in order, and the positions of their odd sets."""
    rows = []
    cuts = relaxation.cuts
    for k, y in enumerate(relaxation.y.tolist()):
        part = slice(cuts.start[k], cuts.start[k + 1])
        ends = model.edges[cuts.edge[part]]
        # An edge starts at the vertex that it shares with the one before it.
        pairs = zip(np.roll(ends, 1, axis=0).tolist(), ends.tolist(), strict=True)
        start = [next(iter(set(a) & set(b))) for a, b in pairs]
        rows.append((y, [int(names[v]) for v in start], np.flatnonzero(cuts.odd[part]).tolist()))
    return rows
