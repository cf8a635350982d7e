"""All optimal assignments of M+: branch as in a search, but keep what ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapreroot.decomposition import Reduction, contract
from mapreroot.exact.cycle_nodes import CycleNodes
from mapreroot.exact.enumeration import enumerate_optima
from mapreroot.exact.search import search
from mapreroot.exact.semidefinite import Multipliers, sdp_bound
from mapreroot.exact.semidefinite_nodes import carried, is_dense, splitting_pair
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cycles import round_down, score_step

__all__ = ["all_optima"]

Bits = NDArray[np.int8]

_SMALL = 20  # vertices up to which all assignments are tried, as in a search
_PATIENT = 0.02


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
    Scores within TOL of the largest absolute weight count as equal. No reduction is used, as those
    keep one optimum only: the time grows with the number of optima and with the nodes that a
    search without reductions takes.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -2.0])
    >>> solutions, complete = all_optima(triangle, 10)
    >>> solutions.tolist(), complete
    ([[0, 0, 1], [0, 1, 0], [0, 1, 1]], True)
    """
    if uprooted.n_vertices <= _SMALL:
        return enumerate_optima(uprooted, limit)
    limits = limits or Limits()
    first = search(uprooted, limits, seed=seed)
    if first.stopped is not None:
        return (first.y ^ first.y[0])[None, :][:limit], False
    found = _Collection(uprooted, uprooted.score(first.y), limit)
    N = uprooted.n_vertices
    if is_dense(uprooted):
        whole = contract(uprooted, np.full(N, -1, np.int64))
        finished = _by_semidefinite_bounds(found, [(whole, None)], limits)
    else:
        finished = _by_cycle_bounds(found, limits)
    solutions = np.unique(np.array(found.ys, np.int8).reshape(-1, N), axis=0)
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

    def collect(self, way: Reduction) -> bool:
        """Add the optima among what ``way`` restores, if that is little enough to try it all."""
        kernel = way.kernel
        room = self.limit + 1 - len(self.ys)
        if kernel.m == 0:
            # Nothing is left but free flips of what has been tied together.
            count = min(room, 2 ** min(kernel.n_vertices - 1, 62))
            bits = np.arange(count)[:, None] >> np.minimum(np.arange(kernel.n_vertices - 1), 62) & 1
            optima = np.hstack([np.zeros((count, 1), np.int64), bits])
        elif kernel.n_vertices <= _SMALL:
            optima, _ = enumerate_optima(kernel, room)
        else:
            return False
        for z in optima:
            y = way.restore(z)
            if self.uprooted.score(y) < self.least:
                break  # the kernel's optima all score the same
            self.ys.append(y ^ y[0])
        return True


def _by_cycle_bounds(found: _Collection, limits: Limits) -> bool:
    """Collect depth first in boxes of one cycle LP; say whether nothing was left out."""
    nodes = CycleNodes(found.uprooted)
    boxes = [nodes.whole]
    while boxes:
        if found.is_full() or limits.reason() is not None:
            return False
        box = nodes.bound(
            boxes.pop(),
            found.closes,
            found.closes,
            lambda: found.least,
            lambda y: None,
            _PATIENT,
            limits,
        )
        if box.stopped is not None:
            return False
        if found.closes(box.bound) or found.collect(contract(found.uprooted, box.tied)):
            continue
        boxes += [child for _, child in nodes.branch(box, found.closes, limits)]
    return True


def _by_semidefinite_bounds(
    found: _Collection, ways: list[tuple[Reduction, Multipliers | None]], limits: Limits
) -> bool:
    """Collect depth first in contractions; say whether nothing was left out."""
    while ways:
        if found.is_full() or limits.reason() is not None:
            return False
        way, multipliers = ways.pop()
        if found.collect(way):
            continue
        kernel = way.kernel
        bound = sdp_bound(kernel, found.least - found.step, limits, multipliers)
        if bound.stopped is not None:
            return False
        if found.closes(bound.bound):
            continue
        u, v = splitting_pair(bound.X)
        for opposite in (0, 1):
            tied = np.full(kernel.n_vertices, -1, np.int64)
            tied[v] = 2 * u + opposite
            child = contract(kernel, tied)
            ways.append((way.then(child), carried(bound.multipliers, child)))
    return True
