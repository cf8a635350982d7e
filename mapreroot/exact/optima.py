"""All optimal assignments of M+: branch as in a search, but keep what ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapreroot.decomposition import Reduction
from mapreroot.exact.collecting import SMALL, collect
from mapreroot.exact.enumeration import enumerate_optima
from mapreroot.exact.search import search
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cycles import round_down, score_step

__all__ = ["all_optima"]

Bits = NDArray[np.int8]


def all_optima(
    uprooted: UprootedModel, limit: int, limits: Limits | None = None, seed: int = 0
) -> tuple[Bits, bool]:
    """List the optimal assignments of M+ with y_0 = 0.

    Parameters
    ----------
    uprooted : UprootedModel
    limit : int
        How many at most.
    limits : Limits, optional
    seed : int
        Of the heuristics of the search for the first one.

    Returns
    -------
    solutions : ndarray of int8, shape (k, n_vertices)
        Distinct, ascending. Where a limit came first, the best that is known.
    complete : bool
        Whether these are all.

    Raises
    ------
    SolverError
        If the LP solver fails.

    Notes
    -----
    Scores within TOL of the largest absolute weight count as equal. No reduction is used that
    keeps one optimum only: the time grows with the number of optima and with the nodes that a
    search without reductions takes.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -2.0])
    >>> solutions, complete = all_optima(triangle, 10)
    >>> solutions.tolist(), complete
    ([[0, 0, 1], [0, 1, 0], [0, 1, 1]], True)
    """
    if uprooted.n_vertices <= SMALL:
        return enumerate_optima(uprooted, limit)
    limits = limits or Limits()
    first = search(uprooted, limits, seed=seed)
    if first.stopped is not None:
        return (first.y ^ first.y[0])[None, :][:limit], False
    found = _Collection(uprooted, uprooted.score(first.y), limit)
    finished = collect(found, uprooted, limits, first.nodes) is None
    solutions = np.unique(np.array(found.ys, np.int8).reshape(-1, uprooted.n_vertices), axis=0)
    if not len(solutions):
        solutions = (first.y ^ first.y[0])[None, :]
    return solutions[:limit], finished and len(solutions) <= limit


class _Collection:
    """The optima found so far, and the bounds under which there are none."""

    def __init__(self, uprooted: UprootedModel, best: float, limit: int) -> None:
        self.uprooted = uprooted
        self.least = best - uprooted.tolerance
        self.step = score_step(uprooted)
        size = abs(uprooted.constant) + float(np.abs(uprooted.weights).sum())
        self.rounding = 1e-6 * self.step + 1e-15 * size
        self.limit = limit
        self.ys: list[Bits] = []

    def closes(self, bound: float) -> bool:
        """Whether everything under this bound is worse than an optimum."""
        reached = round_down(bound + self.rounding, self.uprooted.constant, self.step)
        return reached < self.least

    def is_full(self) -> bool:
        """Whether one more than was asked for is there: the list is not complete."""
        return len(self.ys) > self.limit

    def enough(self) -> float:
        """Give a bound that closes, nearly the largest."""
        return self.least - self.step

    def take(self, way: Reduction) -> bool:
        """Add the optima among what ``way`` restores, if that is little enough to try it all."""
        kernel = way.kernel
        room = self.limit + 1 - len(self.ys)
        if kernel.m == 0:
            # Nothing is left but free flips of what has been tied together.
            count = min(room, 2 ** min(kernel.n_vertices - 1, 62))
            bits = np.arange(count)[:, None] >> np.minimum(np.arange(kernel.n_vertices - 1), 62) & 1
            optima = np.hstack([np.zeros((count, 1), np.int64), bits])
        elif kernel.n_vertices <= SMALL:
            optima, _ = enumerate_optima(kernel, room)
        else:
            return False
        for z in optima:
            y = way.restore(z)
            if self.uprooted.score(y) < self.least:
                break  # the kernel's optima all score the same
            self.ys.append(y ^ y[0])
        return True
