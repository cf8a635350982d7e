"""The k best assignments of M+: branch as in a search, against the k-th best so far."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition import Reduction
from mapreroot.exact.collecting import SMALL, collect
from mapreroot.exact.enumeration import enumerate_best
from mapreroot.limits import Limits, StopReason
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cycles import round_down, score_step

__all__ = ["Ranking", "k_best"]

Bits = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best assignments with y_0 = 0.

    Attributes
    ----------
    ys : ndarray of int8, shape (k, n_vertices)
        Distinct; the best first, in ascending order where scores are equal.
    stopped : str or None
        None when no other assignment scores more than the last of these, or there are no others;
        else why these are only the best that were found.
    """

    ys: Bits
    stopped: StopReason | None


def k_best(
    uprooted: UprootedModel,
    k: int,
    y: npt.ArrayLike,
    bound: float = np.inf,
    limits: Limits | None = None,
    nodes: int = 0,
) -> Ranking:
    """Find the k assignments of highest score, each the best of the rest.

    Parameters
    ----------
    uprooted : UprootedModel
    k : int
        At least 1. With fewer assignments than that, all are given.
    y : array_like, shape (n_vertices,)
        A good one.
    bound : float
        No assignment scores more.
    limits : Limits, optional
    nodes : int
        Search nodes so far, which count.

    Returns
    -------
    Ranking

    Raises
    ------
    SolverError
        If a solver under it fails.

    Notes
    -----
    Scores within TOL of the largest absolute weight count as equal at the end of the list. A flood
    of single flips from ``y`` gives k candidates; what the k-th of them excludes by LOC, with one
    vertex clamped, is fixed; the rest is searched in boxes of one cycle LP or by semidefinite
    bounds, with leaves of at most 20 vertices. Of tied assignments at the end any may be given.

    Examples
    --------
    >>> path = UprootedModel(3, [(0, 1), (1, 2)], [-2.0, 1.0])
    >>> k_best(path, 2, [0, 0, 0]).ys.tolist()
    [[0, 1, 1], [0, 1, 0]]
    """
    limits = limits or Limits()
    pool = _Pool(uprooted, k)
    if uprooted.n_vertices <= SMALL:
        for best in enumerate_best(uprooted, k):
            pool.offer(best)
        return Ranking(pool.ranked(), None)
    pool.flood(np.asarray(y, np.int8), limits)
    # Where the optima fill the list, their bound is the proof.
    stopped = None if pool.closes(bound) else collect(pool, uprooted, limits, nodes)
    return Ranking(pool.ranked(), stopped)


class _Pool:
    """The k best so far, and the bounds under which there is nothing better than the last."""

    def __init__(self, uprooted: UprootedModel, k: int) -> None:
        self.uprooted, self.k = uprooted, k
        self.step = score_step(uprooted)
        size = abs(uprooted.constant) + float(np.abs(uprooted.weights).sum())
        self.rounding = 1e-6 * self.step + 1e-15 * size
        self.heap: list[tuple[float, bytes]] = []
        self.there: set[bytes] = set()

    @property
    def least(self) -> float:
        """The score that an assignment must exceed; -inf while there is room."""
        return self.heap[0][0] if len(self.heap) == self.k else -np.inf

    def offer(self, y: Bits) -> bool:
        """Take an assignment if it is new; say whether it is among the k best."""
        score, key = self.uprooted.score(y), (y ^ y[0]).tobytes()
        if score <= self.least:
            return False
        if key in self.there:
            return True
        self.there.add(key)
        if len(self.heap) < self.k:
            heapq.heappush(self.heap, (score, key))
        else:
            _, gone = heapq.heapreplace(self.heap, (score, key))
            self.there.remove(gone)
        return True

    def ranked(self) -> Bits:
        """Give all, the best first."""
        order = sorted(self.heap, key=lambda entry: (-entry[0], entry[1]))
        rows = [np.frombuffer(key, np.int8) for _, key in order]
        return np.array(rows, np.int8).reshape(-1, self.uprooted.n_vertices)

    def flood(self, start: Bits, limits: Limits) -> None:
        """Flip every vertex of the best one, of the next best, and so on while that adds any."""
        i, j = self.uprooted.edges.T
        half, n = self.uprooted.weights / 2, self.uprooted.n_vertices
        self.offer(start)
        waiting = [(-self.uprooted.score(start), (start ^ start[0]).tobytes())]
        while waiting and limits.reason() in (None, "nodes"):
            score, key = heapq.heappop(waiting)
            if key not in self.there:
                continue
            y = np.frombuffer(key, np.int8)
            pull = np.where(y[i] == y[j], -half, half)
            gain = np.bincount(i, pull, n) + np.bincount(j, pull, n)
            flips = np.flatnonzero(gain - score > self.least)
            if len(flips) > self.k:
                flips = flips[np.argpartition(-gain[flips], self.k - 1)[: self.k]]
            for v in flips[np.argsort(-gain[flips], kind="stable")]:
                flipped = y.copy()
                flipped[v] ^= 1
                key = (flipped ^ flipped[0]).tobytes()
                if key in self.there:
                    continue
                if not self.offer(flipped):
                    break
                heapq.heappush(waiting, (score - float(gain[v]), key))

    def closes(self, bound: float) -> bool:
        """Whether nothing under this bound is better than the last."""
        reached = round_down(bound + self.rounding, self.uprooted.constant, self.step)
        return reached <= self.least + self.uprooted.tolerance

    def enough(self) -> float:
        """Give a bound that closes, nearly the largest."""
        return self.least + max(self.uprooted.tolerance, self.step - 2 * self.rounding)

    def is_full(self) -> bool:
        """Never: a better one takes the place of the last."""
        return False

    def take(self, way: Reduction) -> bool:
        """Offer the best that ``way`` restores, if that is little enough to try it all."""
        kernel = way.kernel
        n = kernel.n_vertices
        if kernel.m == 0:
            # Nothing is left but free flips of what has been tied together.
            count = min(self.k, 2 ** min(n - 1, 62))
            place = np.minimum(np.arange(n), 62)
            best = (np.arange(count)[:, None] >> place & 1).astype(np.int8)[:, ::-1]
        elif n <= SMALL:
            best = enumerate_best(kernel, self.k)
        else:
            return False
        for z in best:
            if not self.offer(way.restore(z)):
                break  # the others score no more
        return True
