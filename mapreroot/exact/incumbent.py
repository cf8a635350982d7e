"""Which bounds are superfluous beside a score, and the best assignment of a search so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapreroot.model import UprootedModel
from mapreroot.relaxations.cycles import round_down, score_step

__all__ = ["Incumbent", "Threshold"]

Bits = NDArray[np.int8]


class Threshold:
    """A score, and which bounds it makes superfluous."""

    def __init__(self, uprooted: UprootedModel, score: float, gap: float) -> None:
        self.uprooted = uprooted
        self.score, self.gap = score, gap
        self.step = score_step(uprooted)
        self.slack = gap + uprooted.tolerance
        # Sums of the weights, in whatever order, are right up to this.
        size = abs(uprooted.constant) + float(np.abs(uprooted.weights).sum())
        self.rounding = 1e-6 * self.step + 1e-15 * size if self.step else 0.0

    def rounded(self, bound: float) -> float:
        """Lower a bound to a score that can occur."""
        lowered = round_down(bound + self.rounding, self.uprooted.constant, self.step)
        return max(self.score, lowered)

    def closes(self, bound: float) -> bool:
        """Whether nothing under this bound is worth a look."""
        return self.rounded(bound) <= self.score + self.slack

    def excludes(self, bound: float) -> bool:
        """Whether nothing under this bound scores more, slack or not."""
        return self.rounded(bound) <= self.score

    def enough(self) -> float:
        """Give a bound that closes a node, nearly the largest."""
        return self.score + max(self.slack, self.step - 2 * self.rounding)


class Incumbent(Threshold):
    """The best assignment so far, and which bounds it makes superfluous."""

    def __init__(self, uprooted: UprootedModel, y: Bits, gap: float) -> None:
        super().__init__(uprooted, uprooted.score(y), gap)
        self.y = y

    def offer(self, y: Bits) -> None:
        """Keep an assignment if it is better."""
        score = self.uprooted.score(y)
        if score > self.score:
            self.y, self.score = y, score
