"""A proof by boxes of one cycle LP: its cuts written once, its multipliers for each box."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.cycles import Ties
from mapreroot.certificates.make import Argument, multiplier_bits
from mapreroot.exact.cycle_nodes import Box, BoxBound, CycleNodes
from mapreroot.exact.incumbent import Threshold
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cuts import Cuts

__all__ = ["BoxProof", "OpenBox"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Where a box ties this share of the vertices, a smaller graph is worth a program of its own.
_RESTART = 0.5


@dataclass(eq=False)
class OpenBox:
    """A box whose bound is to fall, and its place in the proof.

    Attributes
    ----------
    box : Box
    ties : Ties
        What the proof has tied so far, which the box is made of.
    node : dict
        What the proof says of it: ``rows`` once it was bounded, then what it goes on with.
    bound : float
        In nats.
    """

    box: Box
    ties: Ties
    node: dict[str, Any]
    bound: float = math.inf


class BoxProof:
    """A branch and bound that writes down what shows each bound.

    Parameters
    ----------
    model : UprootedModel
    names : ndarray of int64, shape (n_vertices,)
        Of its vertices in the exact graph.
    threshold : Threshold
        Which bounds will do.
    bits : int
        A nat is 2**bits of the exact graph's units.
    cuts : Cuts
        To begin with.
    place : dict
        Where to write an argument by the rule "cycles"; it grows.

    Attributes
    ----------
    root : OpenBox
    """

    def __init__(
        self,
        model: UprootedModel,
        names: Ints,
        threshold: Threshold,
        bits: int,
        cuts: Cuts,
        place: Argument,
    ) -> None:
        self.model, self.names, self.threshold = model, names, threshold
        self.nodes = CycleNodes(model)
        self.nodes.lp.add(cuts)
        more = multiplier_bits(float(np.abs(model.weights).max()), bits)
        self.bits = bits + more
        place |= {"by": "cycles", "scale": 1 << more, "rows": []}
        self.rows: list[list[Any]] = place["rows"]
        self.numbers: dict[int, int] = {}  # of the cuts in the rows
        self.root = OpenBox(self.nodes.whole, Ties({}, {}), place)

    def bound(self, at: OpenBox, share: float, limits: Limits) -> BoxBound:
        """Bound a box by the program, as a search does, and write its multipliers down."""
        closes = self.threshold.closes
        found = self.nodes.bound(
            at.box, closes, closes, self.threshold.enough, _ignore, share, limits
        )
        value, reduced = self.nodes.lp.certify()
        if value <= at.bound:
            self.write(at)
        at.bound = min(at.bound, value if found.bound > -math.inf else found.bound)
        if found.stopped is None and not closes(value):
            self.fix(at, found, value, reduced)
        return found

    def fix(self, at: OpenBox, found: BoxBound, value: float, reduced: Floats) -> None:
        """Write down the edges that reduced costs have fixed; what follows from them is clear."""
        newly = (at.box.lower < at.box.upper) & (found.box.lower == found.box.upper)
        side = found.box.lower
        newly &= np.where(side == 1, reduced > 0, reduced < 0)
        fixed = []
        for e in np.flatnonzero(newly).tolist():
            if self.threshold.closes(value - abs(float(reduced[e]))):
                u, v = self.names[self.model.edges[e]].tolist()
                fixed.append([u, v, int(side[e])])
                at.ties.tie(u, v, int(side[e]))
        if fixed:
            at.node["fixed"] = fixed

    def is_small(self, found: BoxBound) -> bool:
        """Whether a box leaves a graph that is worth a program of its own."""
        return bool((found.tied >= 0).sum() > _RESTART * len(found.tied))

    def branch(self, at: OpenBox, found: BoxBound, limits: Limits) -> list[OpenBox]:
        """Split a box, the likelier side last."""
        children = self.nodes.branch(found, self.threshold.closes, limits)
        first = children[0][1]
        e = int(((first.lower == first.upper) & (found.box.lower < found.box.upper)).argmax())
        u, v = self.names[self.model.edges[e]].tolist()
        opened = []
        for _, box in reversed(children):
            ties = at.ties.copy()
            differ = int(box.lower[e])
            ties.tie(u, v, differ)
            node: dict[str, Any] = {"rows": []}
            at.node["differ" if differ else "same"] = node
            opened.append(OpenBox(box, ties, node, at.bound))
        at.node["pair"] = [u, v]
        return opened

    def write(self, at: OpenBox) -> None:
        """Write the program's multipliers down, and the cuts that are new."""
        lp = self.nodes.lp
        used = np.flatnonzero(lp.y > 0)
        cuts = lp.cuts[used]
        names = cuts.name.tolist()
        new = np.array([k for k, name in enumerate(names) if name not in self.numbers], np.int64)
        for k, (cycle, odd) in zip(new.tolist(), self.cycles(cuts[new]), strict=True):
            self.numbers[names[k]] = len(self.rows)
            self.rows.append([0, cycle, odd])
        values = np.floor(np.ldexp(lp.y[used], self.bits)).tolist()
        priced = [(self.numbers[name], int(y)) for name, y in zip(names, values, strict=True)]
        if at is not self.root:
            at.node["rows"] = [[number, y] for number, y in priced if y]
            return
        for row in self.rows:
            row[0] = 0
        for number, y in priced:  # two equal cuts have one row
            self.rows[number][0] += y

    def cycles(self, cuts: Cuts) -> list[tuple[list[int], list[int]]]:
        """Give cycles as vertices in order, and the positions of their odd sets."""
        found = []
        for k in range(len(cuts)):
            part = slice(cuts.start[k], cuts.start[k + 1])
            ends = self.model.edges[cuts.edge[part]]
            # An edge starts at the vertex that it shares with the one before it.
            pairs = zip(np.roll(ends, 1, axis=0).tolist(), ends.tolist(), strict=True)
            start = [next(iter(set(a) & set(b))) for a, b in pairs]
            cycle = [int(self.names[v]) for v in start]
            found.append((cycle, np.flatnonzero(cuts.odd[part]).tolist()))
        return found


def _ignore(y: npt.NDArray[np.int8]) -> None:
    """Leave a rounding alone: the best assignment is given."""
