"""The nodes of a search that share one cycle LP: boxes, reduced-cost fixing, branching on edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mapreroot.exact.local_search import round_by_spanning_tree
from mapreroot.limits import Limits, StopReason
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cycles import CycleLP, cutting_planes, has_equal_weights, score_step

__all__ = ["Box", "BoxBound", "CycleNodes"]

Bits = NDArray[np.int8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# d closer than this to 0 or 1 counts as decided.
_INTEGRAL = 1e-6
# Separation ends when this many rounds gained little.
_ROUNDS = 10
# Edges tried before a branch at most, tries without a better one before giving up, and tries after
# which an edge's own history is trusted.
_CANDIDATES, _LOOKAHEAD, _RELIABLE = 12, 4, 3
# Simplex steps of a try: what it has not lost by then it hardly loses.
_PIVOTS = 200
# Up to this many edges the degeneracy of equal weights does no harm.
_SMALL_LP = 500
# What is done against it, one after the other: whether costs are changed, and whether points in the
# middle of the optimal face are separated.
_DEGENERATE = (False, True), (True, False)


class Box(NamedTuple):
    """Edges known to agree have upper = 0, edges known to differ have lower = 1; shape (m,)."""

    lower: Floats
    upper: Floats


@dataclass(frozen=True)
class BoxBound:
    """What the LP says of a box.

    Attributes
    ----------
    bound : float
        No assignment in the box given scores more.
    box : Box
        With what reduced costs fixed: all that is not excluded.
    tied : ndarray of int, shape (n_vertices,)
        2 u + s where the box implies y_v = y_u XOR s for a vertex u that is not tied; or -1.
    d : ndarray, shape (m,)
        The last optimum.
    stopped : str or None
    """

    bound: float
    box: Box
    tied: Ints
    d: Floats
    stopped: StopReason | None = None


class CycleNodes:
    """A cycle LP with what branching on it has taught.

    Parameters
    ----------
    uprooted : UprootedModel
        A reduced model.
    """

    def __init__(self, uprooted: UprootedModel) -> None:
        self.uprooted = uprooted
        self.lp = CycleLP(uprooted)
        self.whole = Box(np.zeros(uprooted.m), np.ones(uprooted.m))
        # For each edge and each end of its box: total loss of bound a unit of d, and tries.
        self.loss = np.zeros((uprooted.m, 2))
        self.tries = np.zeros((uprooted.m, 2), np.int64)
        self.counted = 0  # iterations of the program that have been answered by annealing
        self.against: tuple[tuple[bool, bool], ...] = ()
        if uprooted.m > _SMALL_LP and score_step(uprooted):
            self.against = _DEGENERATE if has_equal_weights(uprooted) else _DEGENERATE[1:]

    def bound(
        self,
        box: Box,
        closes: Callable[[float], bool],
        excludes: Callable[[float], bool],
        enough: Callable[[], float],
        offer: Callable[[Bits], None],
        share: float,
        limits: Limits,
    ) -> BoxBound:
        """Separate and round until the box is closed, nothing is violated, or little is gained.

        Little is less than the ``share`` of what is left to ``enough``, in ten rounds. Reduced
        costs then fix what ``excludes`` allows: whatever bound it is true of, it is true of all
        smaller ones.
        """
        self.lp.box(*box)
        history: list[float] = []

        def look(rounds: int, bound: float, rows: int, d: Floats) -> float | None:
            if closes(bound):
                return np.inf
            offer(round_by_spanning_tree(self.uprooted, d))
            history.append(bound)
            if len(history) > _ROUNDS:
                then = history[-1 - _ROUNDS]
                if then - bound < share * (then - enough()):
                    return np.inf
            return None

        for tilted, central in (*self.against, (False, False)):
            history.clear()
            found = cutting_planes(
                self.lp, limits=limits, on_round=look, perturb=tilted, central=central
            )
            if found.stopped is not None or closes(found.value):
                break
        self.against = ()
        bound, reduced = self.lp.certify()
        fixed = self._fixed(box, reduced, bound, excludes)
        implied, tied = self._implied(fixed)
        if implied is None:
            # No assignment is left that is not excluded.
            return BoxBound(-np.inf, fixed, tied, self.lp.d, found.stopped)
        return BoxBound(min(bound, found.value), implied, tied, self.lp.d, found.stopped)

    def _fixed(
        self, box: Box, reduced: Floats, bound: float, excludes: Callable[[float], bool]
    ) -> Box:
        """Fix every edge whose other value would lower the bound so far that it excludes it."""
        free = box.lower < box.upper
        size = np.sort(np.abs(reduced[free]))
        # The smallest reduced cost that is enough, by bisection.
        low, high = 0, len(size)
        while low < high:
            middle = (low + high) // 2
            if excludes(bound - size[middle]):
                high = middle
            else:
                low = middle + 1
        if low == len(size):
            return box
        sure = free & (np.abs(reduced) >= size[low]) & (reduced != 0)
        return Box(
            np.where(sure & (reduced > 0), 1.0, box.lower),
            np.where(sure & (reduced < 0), 0.0, box.upper),
        )

    def _implied(self, box: Box) -> tuple[Box | None, Ints]:
        lower, upper = box.lower.copy(), box.upper.copy()
        consistent, tied = _close_box(self.uprooted.n_vertices, self.uprooted.edges, lower, upper)
        return (Box(lower, upper) if consistent else None), tied

    def branch(
        self, found: BoxBound, closes: Callable[[float], bool], limits: Limits
    ) -> list[tuple[float, Box]]:
        """Split a box at the edge that promises most, the likelier side first.

        Edges are tried (one LP without new cuts for each side) until their history is reliable.
        Where a side of some edge closes, that edge is taken at once. A side without any assignment
        is left out.
        """
        d, bound = found.d, found.bound
        doubt = np.minimum(d, 1 - d)
        free = np.flatnonzero(found.box.lower < found.box.upper)
        # An edge that is integral in the LP may still be open: last resort.
        weight = np.abs(self.lp.c)
        order = free[np.lexsort((-weight[free], -np.round(doubt[free] * weight[free], 12)))]
        candidates = order[:_CANDIDATES]
        known = (self.tries[order] >= _RELIABLE).all(axis=1)
        trusted = order[known]
        best_score, best, idle = -1.0, None, 0
        basis = self.lp.basis()
        for e in np.concatenate([trusted, candidates[~np.isin(candidates, trusted)]]):
            reliable = (self.tries[e] >= _RELIABLE).all()
            if reliable:
                gains = self.loss[e] / self.tries[e] * np.array([d[e], 1 - d[e]])
                score = max(gains[0], 1e-9) * max(gains[1], 1e-9)
                if score > best_score:
                    best_score, best = score, (int(e), bound - gains, False)
                continue
            sides = []
            for side in (0, 1):
                box = self._side(found.box, int(e), side)
                value = -np.inf
                if box is not None:
                    self.lp.box(*box)
                    self.lp.restart(basis)
                    if self.lp.solve(limits, _PIVOTS) is not None:
                        break
                    value = min(bound, self.lp.bound())
                    self.loss[e, side] += (bound - value) / max(
                        d[e] if side == 0 else 1 - d[e], 0.05
                    )
                    self.tries[e, side] += 1
                sides.append((value, box))
            if len(sides) < 2:
                break
            if any(box is None or closes(value) for value, box in sides):
                sides.sort(key=lambda child: -child[0])
                return [(value, box) for value, box in sides if box is not None]
            gains = np.array([bound - value for value, _ in sides])
            score = max(gains[0], 1e-9) * max(gains[1], 1e-9)
            if score > best_score:
                best_score, best, idle = score, (int(e), bound - gains, True), 0
            else:
                idle += 1
                if idle >= _LOOKAHEAD:
                    break
        if best is None:
            best = (int(order[0]), np.array([bound, bound]), False)
        e, values, proved = best
        children = []
        for side in (0, 1):
            box = self._side(found.box, e, side)
            if box is not None:
                children.append((float(values[side]), box))
        children.sort(key=lambda child: -child[0])
        return [(value if proved else bound, box) for value, box in children]

    def _side(self, box: Box, e: int, side: int) -> Box | None:
        lower, upper = box.lower.copy(), box.upper.copy()
        lower[e] = upper[e] = side
        return self._implied(Box(lower, upper))[0]


@njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # only kernels call it
def _find(parent: Ints, parity: Ints, v: int) -> tuple[int, int]:
    """Find the representative of v and the parity to it; halve the path."""
    odd = 0
    while parent[v] != v:
        up = parent[v]
        parity[v] ^= parity[up]  # 0 where up is a root
        parent[v] = parent[up]
        odd ^= parity[v]
        v = parent[v]
    return v, odd


@njit(cache=True)
def _close_box(n: int, edges: Ints, lower: Floats, upper: Floats) -> tuple[bool, Ints]:
    """Fix what the fixed edges imply by parity; say whether they agree, and who is tied to whom."""
    parent = np.arange(n)
    parity = np.zeros(n, np.int64)
    consistent = True
    for e in range(len(edges)):
        if lower[e] == upper[e]:
            i, p = _find(parent, parity, edges[e, 0])
            j, q = _find(parent, parity, edges[e, 1])
            odd = p ^ q ^ int(upper[e])
            if i != j:
                parent[max(i, j)] = min(i, j)
                parity[max(i, j)] = odd
            elif odd:
                consistent = False
    for e in range(len(edges)):
        if lower[e] != upper[e]:
            i, p = _find(parent, parity, edges[e, 0])
            j, q = _find(parent, parity, edges[e, 1])
            if i == j:
                lower[e] = upper[e] = float(p ^ q)
    tied = np.full(n, -1, np.int64)
    for v in range(n):
        u, odd = _find(parent, parity, v)
        if u != v:
            tied[v] = 2 * u + odd
    return consistent, tied
