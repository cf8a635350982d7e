"""What the cases of a proof take over from the relaxation that they came from."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.exact.proof_steps import Steps
from mapreroot.exact.semidefinite import Multipliers
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cuts import Cuts

__all__ = ["Dual", "Heritage"]

Ints = npt.NDArray[np.int64]
Dual = tuple[Multipliers, Ints]
"""Semidefinite multipliers, and the vertices they are of."""


class Heritage:
    """What a case takes over from the relaxation it came from, and who was united since."""

    def __init__(self, rows: Sequence[list[Any]] = (), dual: Dual | None = None) -> None:
        self.rows, self.dual = rows, dual
        self.home: dict[int, tuple[int, int]] = {}

    def unite(self, steps: Steps) -> None:
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
