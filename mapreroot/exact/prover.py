"""Arguments about exact graphs: split, relax, and go on where gaps are open."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.graph import ExactGraph, Number
from mapreroot.certificates.make import Argument, semidefinite_argument
from mapreroot.certificates.rules import bound_of
from mapreroot.decomposition import blocks
from mapreroot.exact.heritage import Heritage
from mapreroot.exact.incumbent import Threshold
from mapreroot.exact.proof_boxes import BoxProof, OpenBox
from mapreroot.exact.proof_steps import balanced_flow, fixed, floats, heaviest_flow, part, reduced
from mapreroot.exact.rooted import balanced_rooting
from mapreroot.exact.semidefinite import Multipliers, sdp_bound
from mapreroot.exact.semidefinite_nodes import is_dense, is_half_dense, splitting_pair
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.tri import BYTES_PER_EDGE

__all__ = ["Prover"]

Ints = npt.NDArray[np.int64]
_Work = Callable[[Limits], None]

_SMALL = 11  # vertices that are tried out one by one
_PART = 0.999  # of a gap that will do: what is written down must fit in, rounded
# How much of what is left ten rounds of separation must close, as in a search: while a semidefinite
# bound is waiting, while there are only cases, and where there is nothing else.
_IMPATIENT, _PATIENT, _ENDLESS = 0.64, 0.005, 0.0


@dataclass(eq=False)
class _Block:
    """A graph that needs a relaxation, and the argument about it, which stands in the proof."""

    graph: ExactGraph
    target: Number
    model: UprootedModel
    names: Ints
    slack: float  # a gap that needs no closing, in nats
    threshold: Threshold  # and what a relaxation need not close
    place: Argument

    @property
    def bound(self) -> Number:
        """What the argument proves."""
        return bound_of(self.graph, self.place)

    def take(self, argument: Argument) -> None:
        """Replace the argument by another one, unless that proves less."""
        if not self.place or bound_of(self.graph, argument) <= self.bound:
            self.place.clear()
            self.place.update(argument)


class Prover:
    """The scale of the exact graphs, when to stop, and the gaps that are still open."""

    def __init__(self, scale: int, limits: Limits, slack: float, branch: bool) -> None:
        self.scale, self.limits, self.branch = scale, limits, branch
        self.worst_first = slack > 0.0
        self.slack = slack  # of what comes next
        self.used = 0.0  # of the slack, by what is closed, or may stay open
        self.opened = 0
        self.open: list[tuple[float, int, _Work]] = []
        self.unfinished: dict[int, _Block] = {}  # whose relaxation was stopped

    def proof(self, graph: ExactGraph, y: Sequence[int]) -> Argument:
        """Prove what relaxations prove, then go on where gaps are open; uses the graph up."""
        argument = self.graph(graph, y)
        while self.open and self.limits.reason() is None:
            _, number, work = heapq.heappop(self.open)
            self.unfinished.pop(number, None)
            work(self.limits)
        for at in self.unfinished.values():
            at.take(heaviest_flow(at.graph, at.model, at.names))
        return argument

    def later(self, gap: float, work: _Work, unfinished: _Block | None = None) -> None:
        """Keep in mind what may close a gap, in nats, and if it is a relaxation that goes on."""
        self.opened += 1
        if unfinished is not None:
            self.unfinished[-self.opened] = unfinished
        # Where all gaps must be closed, the newest first holds fewest graphs.
        heapq.heappush(self.open, (-gap if self.worst_first else 0.0, -self.opened, work))

    def graph(self, graph: ExactGraph, y: Sequence[int]) -> Argument:
        """Reduce, split, and prove each block for the part of y in it; uses the graph up."""
        model, names = floats(graph, self.scale)
        self.worst_first = self.slack > model.tolerance
        if model.n_vertices > _SMALL and (balanced := balanced_rooting(model)) is not None:
            return balanced_flow(graph, names, *balanced)
        steps = reduced(graph, self.scale)
        return {"by": "steps", "steps": steps, "then": self.apart(graph, y, self.limits)}

    def apart(self, graph: ExactGraph, y: Sequence[int], limits: Limits) -> Argument:
        """Prove block by block, the smallest first, each in its part of the time."""
        model, names = floats(graph, self.scale)
        parts = sorted(blocks(model), key=lambda block: block.model.n_vertices)
        if len(parts) == 1:
            return self.block(graph, y, limits)
        slack, used = self.slack, self.used
        pieces = []
        turns = limits.turns(block.model.n_vertices for block in parts)
        for k, (block, turn) in enumerate(zip(parts, turns, strict=True)):
            allowed = self.slack = max(0.0, slack + used - self.used) / (len(parts) - k)
            opened = self.opened
            inside = [int(names[v]) for v in block.vertices]
            pieces.append({"vertices": inside, "proof": self.block(part(graph, inside), y, turn)})
            self.used += allowed if self.opened > opened else 0.0
        return {"by": "parts", "parts": pieces}

    def block(self, graph: ExactGraph, y: Sequence[int], limits: Limits) -> Argument:
        """Prove that nothing exceeds y, if the limits let it; uses the graph up."""
        model, names = floats(graph, self.scale)
        settled = self.settled(graph, model, names)
        if settled is not None:
            return settled
        steps = fixed(graph, model, names)
        if steps:
            steps += reduced(graph, self.scale)
            return {"by": "steps", "steps": steps, "then": self.apart(graph, y, limits)}
        return self.relaxed(graph, graph.value(y), model, names, Heritage(), limits)

    def case(
        self, graph: ExactGraph, target: Number, heritage: Heritage, limits: Limits
    ) -> Argument:
        """Prove that nothing exceeds a target in a graph with less vertices than there were."""
        steps = reduced(graph, self.scale)
        model, names = floats(graph, self.scale)
        then = self.settled(graph, model, names)
        if then is None:
            more = fixed(graph, model, names)
            heritage.unite(steps + more)
            if more:
                then = self.case(graph, target, heritage, limits)
            else:
                then = self.relaxed(graph, target, model, names, heritage, limits)
            steps += more
        return {"by": "steps", "steps": steps, "then": then}

    def settled(self, graph: ExactGraph, model: UprootedModel, names: Ints) -> Argument | None:
        """Prove what is small or balanced."""
        if model.n_vertices == 0:
            return {"by": "signs"}
        balanced = balanced_rooting(model)
        if balanced is not None:
            return balanced_flow(graph, names, *balanced)
        return {"by": "all"} if model.n_vertices <= _SMALL else None

    def relaxed(
        self, graph: ExactGraph, target: Number, model: UprootedModel, names: Ints,
        heritage: Heritage, limits: Limits,
    ) -> Argument:  # fmt: skip
        """Bound by a relaxation; what goes on where that leaves a gap is kept in mind."""
        dense = is_dense(model) or heritage.dual is not None
        fits = dense or not limits.lacks(BYTES_PER_EDGE * model.m)
        if limits.reason() is not None or not fits:  # one flow, LOC: there is always time for that
            return heaviest_flow(graph, model, names)
        score = float(Fraction(target) / (2 * self.scale))
        # Where relaxations are all that will be tried, they need leave nothing.
        spared = _PART * self.slack if self.branch else 0.0
        threshold = Threshold(model, score, spared)
        at = _Block(graph, target, model, names, self.slack, threshold, {})
        if dense:
            self.semidefinite(at, heritage, limits)
        else:
            cuts = heritage.cuts(model, names)
            bits = self.scale.bit_length()
            proof = BoxProof(model, names, threshold, bits, cuts, at.place)
            self.expand(at, proof, proof.root, limits)
        return at.place

    def expand(self, at: _Block, proof: BoxProof, box: OpenBox, limits: Limits) -> None:
        """Bound a box by cycle inequalities, and go on where that leaves a gap."""
        dense = is_half_dense(at.model)
        share = (_IMPATIENT if dense else _PATIENT) if self.branch else _ENDLESS
        found = proof.bound(box, share, limits)
        gap = box.bound - at.threshold.score
        if at.threshold.closes(box.bound):
            self.used += max(0.0, gap)
        elif found.stopped is not None:
            self.later(gap, partial(self.expand, at, proof, box), at)
        elif dense:
            self.semidefinite(at, Heritage(), limits)
        elif not self.branch:
            return
        elif proof.is_small(found):
            graph, heritage = at.graph.copy(), Heritage(at.place["rows"])
            for u, v, flip in box.ties.unions():
                graph.unite(u, v, flip)
                heritage.unite([["tie", u, v, flip]])
            self.slack = at.slack
            box.node["then"] = self.case(graph, at.target, heritage, limits)
        else:
            for child in proof.branch(box, found, limits):
                self.later(gap, partial(self.expand, at, proof, child))

    def semidefinite(self, at: _Block, heritage: Heritage, limits: Limits) -> None:
        """Bound by the semidefinite relaxation, and go on where that leaves a gap."""
        threshold, names = at.threshold, at.names
        enough = threshold.score + max(_PART * threshold.step, threshold.gap)
        start = heritage.multipliers(names)
        found = sdp_bound(at.model, enough, limits, start)
        at.take(_semidefinite(at.graph, at.model, names, found.multipliers, self.scale))
        gap = float(Fraction(at.bound - at.target) / (2 * self.scale))
        heritage = Heritage(dual=(found.multipliers, names))
        if gap <= threshold.slack:
            self.used += max(0.0, gap)
        elif found.stopped is not None:
            self.later(gap, partial(self.semidefinite, at, heritage), at)
        elif self.branch:
            self.later(gap, partial(self.cases, at, splitting_pair(found.X), heritage))

    def cases(self, at: _Block, pair: tuple[int, int], before: Heritage, limits: Limits) -> None:
        """Say that two vertices are equal or differ, and bound both."""
        self.slack = at.slack
        u, v = at.names[list(pair)].tolist()
        cases: Argument = {"by": "cases", "pair": [u, v]}
        for flip, name in ((0, "same"), (1, "differ")):
            graph, heritage = at.graph.copy(), Heritage(dual=before.dual)
            graph.unite(u, v, flip)
            heritage.unite([["tie", u, v, flip]])
            cases[name] = self.case(graph, at.target, heritage, limits)
        if limits.reason() is None:  # else its cases have but the bounds at hand
            at.place.clear()
            at.place.update(cases)


def _semidefinite(
    graph: ExactGraph, model: UprootedModel, names: Ints, dual: Multipliers, scale: int
) -> Argument:
    """Write semidefinite multipliers down."""
    rows = []
    for y, codes in zip(dual.weights.tolist(), dual.rows.tolist(), strict=True):
        used = [code for code in codes if code >= 0]
        members = [int(names[code >> 1]) for code in used]
        rows.append((y, members, [-1 if code & 1 else 1 for code in used]))
    # The form that the shifts belong to has a diagonal: minus an eighth of the degrees.
    ends, double = model.edges.ravel(), np.repeat(model.weights, 2)
    degree = np.bincount(ends, double, minlength=model.n_vertices)
    unit = Fraction(1, 2 * scale)
    return semidefinite_argument(graph, names.tolist(), unit, rows, dual.shift + degree / 8)
