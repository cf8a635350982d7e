"""Branch and bound on M+: contract, reduce, bound by the cycle LP or a semidefinite program.

A branch ties two vertices of M+, equal in one child and opposite in the other; both children are
models again, with a vertex less, and are reduced and split into blocks as the first one was. While
little has been tied, the children of a sparse model share one linear program and its cuts, and
differ by a box only.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapreroot.decomposition import (
    Block,
    Reduction,
    blocks,
    components,
    recombine,
    reduce,
)
from mapreroot.exact.cycle_nodes import Box, CycleNodes
from mapreroot.exact.enumeration import enumerate_map
from mapreroot.exact.incumbent import Incumbent
from mapreroot.exact.local_search import combine, find, find_by_the_clock, improve, refine
from mapreroot.exact.semidefinite import Multipliers, SdpBound, sdp_bound
from mapreroot.exact.semidefinite_nodes import (
    carried,
    hyperplane_roundings,
    is_dense,
    is_half_dense,
    splitting_pair,
)
from mapreroot.exact.windows import Windows
from mapreroot.limits import Limits, StopReason
from mapreroot.model import Solution, UprootedModel
from mapreroot.relaxations.kernel import reduce_fully
from mapreroot.relaxations.tri import BYTES_PER_EDGE

__all__ = ["Search", "SearchResult", "search", "trivial_bound"]

Bits = NDArray[np.int8]
Ints = NDArray[np.int64]

# Blocks up to this size are enumerated.
_SMALL = 21
# Up to this size an annealing run takes some hundredths of a second.
_ANNEALED = 3000
# Beside a linear program: a simplex iteration, which takes the time of several, pays for a sweep of
# annealing; so many are worth a look.
_SWEEPS = 800
# In larger models with so many edges a vertex at most, windows are looked at instead: their share
# of simplex iterations. Where scores have a common unit they are looked at as well, for a larger
# share: there the assignments that the linear program suggests are poor to its end.
_SPARSE, _BESIDE, _BESIDE_UNIT = 4, 0.25, 3.0
# How much of what is left ten rounds of separation must close: while a semidefinite bound is
# waiting, and while there is only branching.
_IMPATIENT, _PATIENT = 0.64, 0.005
# Rounds of the first heuristic: smaller models mostly are proved by the first bound.
_MEDIUM, _ROUNDS, _FIRST = 300, 5, 50
# Of those with so many edges a vertex, and from so many vertices on, a proof is out of reach unless
# the relaxation is tight. Without a time limit walks visit about so many vertices and edges' ends
# in each of some twenty sweeps; with one they take this share of the time first.
_LARGE, _DENSE, _VISITS, _SHARE = 20_000, 20, 20_000_000, 0.5
# A proof is near when the bound is, as a part of where it began. If it is not after this share of
# the time, walks take the rest, but no more than so many seconds a vertex and edge's end: some
# hundred thousand sweeps.
_NEAR, _TRIAL, _LONGEST = 0.03, 0.3, 3e-4
# Seconds an edge of a minimum cut, and of all that comes before the first linear program is solved:
# neither can be interrupted.
_FLOW_SECONDS, _SETUP_SECONDS = 1e-6, 2e-6
# When a box ties this share of the vertices, a smaller model with its own LP is worth the start.
_RESTART = 0.5


@dataclass(frozen=True)
class SearchResult(Solution):
    """A `Solution` with the size of the search.

    Attributes
    ----------
    nodes : int
        Subproblems that were bounded.
    """

    nodes: int = 0


@dataclass(order=True)
class _Node:
    """A subproblem: the assignments that ``way`` can restore, or those in a box of its LP."""

    priority: tuple[float, int]
    bound: float = field(compare=False)
    way: Reduction = field(compare=False)
    multipliers: Multipliers | None = field(compare=False, default=None)
    relaxation: CycleNodes | None = field(compare=False, default=None)
    box: Box | None = field(compare=False, default=None)


def search(
    uprooted: UprootedModel,
    limits: Limits | None = None,
    initial: ArrayLike | None = None,
    gap: float = 0.0,
    seed: int = 0,
    on_progress: Callable[[float, float, int], None] | None = None,
) -> SearchResult:
    """Find an optimum and prove it, by branch and bound.

    Parameters
    ----------
    uprooted : UprootedModel
        One block of M+, best reduced beforehand.
    limits : Limits, optional
        Asked several times a second.
    initial : array_like, shape (n_vertices,), optional
        An assignment to start from.
    gap : float
        Stop when the bound is at most this above the score; absolute.
    seed : int
        Of the heuristics. Without a time limit the answer depends on nothing else.
    on_progress : callable, optional
        Called with (score, bound, nodes) after each node.

    Returns
    -------
    SearchResult
        When nothing stopped it, ``bound`` exceeds the score by at most ``gap`` and what TOL allows.

    Raises
    ------
    SolverError
        If the LP solver fails.

    Notes
    -----
    Exponential at worst. Blocks of up to 21 vertices are enumerated (Gray code). Sparse models are
    bounded by the cycle relaxation (Barahona and Mahjoub 1986) with reduced-cost fixing; dense
    ones, and those on which it leaves a gap, by a semidefinite program with hypermetric
    inequalities (see `sdp_bound`). Bounds are rounded down to a multiple of the scores' common
    unit, if the weights have one.

    Examples
    --------
    >>> from itertools import combinations
    >>> k5 = UprootedModel(5, list(combinations(range(5), 2)), [-2.0] * 10)
    >>> result = search(k5)
    >>> k5.score(result.y), result.bound, result.nodes
    (6.0, 6.0, 1)
    """
    limits = limits or Limits()
    return Search(uprooted, limits, initial, gap, seed).run(limits, on_progress)


class Search:
    """A search that can be taken up again where a limit stopped it.

    Its open nodes are taken best bound first, with dives into the likelier child of sparse ones.

    Parameters
    ----------
    uprooted, limits, initial, gap, seed
        As for `search`; the limits are for the first assignment.
    """

    def __init__(
        self,
        uprooted: UprootedModel,
        limits: Limits,
        initial: ArrayLike | None = None,
        gap: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.incumbent = Incumbent(uprooted, _first(uprooted, limits, initial, seed), gap)
        self.seed = seed
        self.count = itertools.count()
        self.nodes = 0
        self.walks = 0
        n, m = uprooted.n_vertices, uprooted.m
        sparse = n > _ANNEALED and m <= _SPARSE * n
        self.windows = Windows(uprooted, seed) if sparse else None
        self.closed = -np.inf  # the largest bound of a node that was closed
        self.branched = False
        self.semidefinite = False  # which bound the tree is built on
        self.trivial = trivial_bound(uprooted)
        self.near = n < _MEDIUM  # to a proof, so that all time is for that
        self.open = [_Node((0.0, 0), self.trivial, Reduction.nothing(uprooted))]
        self.dive: _Node | None = None
        self.stopped: StopReason | None = None

    def run(
        self, limits: Limits, on_progress: Callable[[float, float, int], None] | None = None
    ) -> SearchResult:
        """Search to the end, or to the limits.

        Parameters
        ----------
        limits, on_progress
            As for `search`. The limit on nodes counts those of earlier runs.

        Returns
        -------
        SearchResult
        """
        self.whole = limits
        self.limits = limits if self.near else limits.part(self._trial(limits.left()))
        if self.nodes == 0 and limits.left() < _SETUP_SECONDS * self.incumbent.uprooted.m:
            self.stopped = "time"
        else:
            self._branch_and_bound(on_progress)
        if self.stopped == "time":
            self._walk_on(limits)
        return SearchResult(self.incumbent.y, self._bound(), self.stopped, self.nodes)

    def _branch_and_bound(self, on_progress: Callable[[float, float, int], None] | None) -> None:
        self.stopped = None
        while self.open or self.dive is not None:
            self.stopped = self.limits.reason(self.nodes)
            if self.stopped is not None:
                break
            node, self.dive = self.dive or heapq.heappop(self.open), None
            if self._close(node.bound):
                continue
            self.nodes += 1
            self._look_elsewhere()
            self._expand(node)
            if self.stopped is not None:
                self._push(node)
                break
            self._hope(self._bound())
            if on_progress is not None:
                on_progress(self.incumbent.score, self._bound(), self.nodes)

    def _trial(self, seconds: float) -> float:
        """Say which part of the time passes before walks take the rest."""
        uprooted = self.incumbent.uprooted
        walks = _LONGEST * (uprooted.n_vertices + 2 * uprooted.m)
        return max(_TRIAL, 1 - walks / max(seconds, walks))

    def _walk_on(self, limits: Limits) -> None:
        uprooted = self.incumbent.uprooted
        if not _out_of_reach(uprooted) and limits.reason() is None:
            self.walks += 1
            y = find_by_the_clock(uprooted, self.seed + self.walks, limits, self.incumbent.y)
            self.incumbent.offer(y)
        while limits.reason() is None:  # from where a long walk has led
            self._refine(None, limits)

    def _hope(self, bound: float) -> None:
        """Take the whole time once the bound is near."""
        score = self.incumbent.score
        if not self.near and bound - score <= _NEAR * (self.trivial - score):
            self.near = True
            self.limits.deadline = self.whole.deadline

    def _look_elsewhere(self) -> None:
        """Refine once more: beside a node's bound this costs nothing, and it may end the search."""
        if self.nodes > 1 and self.incumbent.uprooted.n_vertices <= _ANNEALED:
            self._refine(500, self.limits)

    def _look_beside(self, relaxation: CycleNodes) -> None:
        """Look for a better assignment while that is cheap beside the linear program's work."""
        if self.windows is not None:
            self._look_through(self.windows, relaxation.lp.iterations)
            if not self.incumbent.step:
                return
        sweeps = relaxation.lp.iterations - relaxation.counted
        if sweeps >= _SWEEPS:
            relaxation.counted = relaxation.lp.iterations
            self._refine(sweeps, self.limits)

    def _look_through(self, windows: Windows, iterations: int) -> None:
        incumbent, limits = self.incumbent, self.limits
        enough = iterations * (_BESIDE_UNIT if incumbent.step else _BESIDE)
        while windows.work < enough and limits.reason() is None:
            incumbent.offer(windows.improve(incumbent.y, limits))

    def _refine(self, sweeps: int | None, limits: Limits) -> None:
        self.walks += 1
        incumbent, seed = self.incumbent, self.seed + self.walks
        incumbent.offer(refine(incumbent.uprooted, incumbent.y, seed, limits, sweeps))

    def _bound(self) -> float:
        there = [self.closed, *(node.bound for node in self.open[:1])]
        if self.dive is not None:
            there.append(self.dive.bound)
        return self.incumbent.rounded(max(there))

    def _close(self, bound: float) -> bool:
        if not self.incumbent.closes(bound):
            return False
        # What was cut off stays in the final bound, unless the incumbent accounts for it.
        self.closed = max(self.closed, bound)
        return True

    def _push(self, node: _Node) -> None:
        node.priority = (-node.bound, next(self.count))
        heapq.heappush(self.open, node)

    def _offer(self, way: Reduction, y: Bits) -> None:
        uprooted = self.incumbent.uprooted
        better = improve(uprooted, way.restore(y), self.limits)
        self.incumbent.offer(combine(uprooted, self.incumbent.y, better))

    def _expand(self, node: _Node) -> None:
        if node.relaxation is not None:
            self._expand_box(node)
            return
        more = self._settled(node.way.kernel)
        if self.stopped is not None:
            return
        node.way = node.way.then(more)
        if node.multipliers is not None:
            node.multipliers = carried(node.multipliers, more)
        kernel = node.way.kernel
        N = kernel.n_vertices
        if kernel.m and self.nodes == 1 and not _out_of_reach(self.incumbent.uprooted):
            rounds = 1 if N < _MEDIUM else _ROUNDS
            given = self.incumbent.y[node.way.vertices]
            y = find(kernel, self.seed, self.limits.part(_SHARE), given, rounds, _FIRST)
            self.incumbent.offer(node.way.restore(y))
        if kernel.m == 0:
            self.incumbent.offer(node.way.restore(np.zeros(N, np.int8)))
            self.closed = max(self.closed, kernel.constant)
        elif self.semidefinite or (not self.branched and is_dense(kernel)):
            self.semidefinite = True
            self._expand_semidefinite(node)
        elif self.limits.lacks(BYTES_PER_EDGE * kernel.m):
            self.stopped = "memory"
        else:
            node.relaxation = CycleNodes(kernel)
            node.box = node.relaxation.whole
            self._expand_box(node)

    def _settled(self, model: UprootedModel) -> Reduction:
        """Reduce, and solve all blocks but the largest, or all if they are small."""
        hurried = self.branched or self.limits.left() < _FLOW_SECONDS * model.m
        way = reduce(model) if hurried else reduce_fully(model, self.limits)
        while True:
            parts = sorted(blocks(way.kernel), key=lambda block: block.model.n_vertices)
            if parts and parts[-1].model.n_vertices > _SMALL:
                parts.pop()
            if not parts:
                return way
            ys = []
            for block in parts:
                if block.model.n_vertices <= _SMALL:
                    ys.append(enumerate_map(block.model).y)
                    continue
                inner = search(block.model, self.limits, seed=self.seed)
                self.nodes += inner.nodes
                self.stopped = inner.stopped
                if self.stopped is not None:
                    return way
                ys.append(inner.y)
            ties = _ties(way.kernel.n_vertices, parts, ys)
            way = way.then(reduce(way.kernel, ties))

    def _expand_semidefinite(self, node: _Node) -> None:
        kernel = node.way.kernel
        found = sdp_bound(kernel, self.incumbent.enough(), self.limits, node.multipliers)
        node.bound = min(node.bound, found.bound)
        if found.y is not None:
            self.incumbent.offer(node.way.restore(found.y))
        for y in hyperplane_roundings(found.X, self.seed + self.nodes):
            self._offer(node.way, improve(kernel, y, self.limits))
        node.multipliers = found.multipliers
        self.stopped = found.stopped
        if self.stopped is None and not self._close(node.bound):
            self._split(node, found)

    def _split(self, node: _Node, found: SdpBound) -> None:
        self.branched = True
        u, v = splitting_pair(found.X)
        for opposite in (0, 1):
            tied = np.full(node.way.kernel.n_vertices, -1, np.int64)
            tied[v] = 2 * u + opposite
            child = reduce(node.way.kernel, tied)
            multipliers = carried(found.multipliers, child)
            self._push(_Node((0.0, 0), node.bound, node.way.then(child), multipliers))

    def _expand_box(self, node: _Node) -> None:
        relaxation, box, incumbent = node.relaxation, node.box, self.incumbent
        assert relaxation is not None
        assert box is not None
        kernel = node.way.kernel
        whole = not self.branched
        waiting = whole and is_half_dense(kernel)

        def offer(y: Bits) -> None:
            self._offer(node.way, y)
            self._look_beside(relaxation)

        def closes(bound: float) -> bool:
            self._hope(bound if whole else np.inf)
            return incumbent.closes(bound)

        found = relaxation.bound(
            box,
            closes,
            incumbent.excludes,
            incumbent.enough,
            offer,
            _IMPATIENT if waiting else _PATIENT,
            self.limits,
        )
        node.bound = min(node.bound, found.bound)
        self.stopped = found.stopped
        if self.stopped is not None or self._close(node.bound):
            return
        node.box = found.box
        if (found.tied >= 0).sum() > _RESTART * len(found.tied):
            smaller = node.way.then(reduce(kernel, found.tied))
            self._push(_Node((0.0, 0), node.bound, smaller))
            return
        if waiting:
            self.semidefinite = self.branched = True
            self._push(_Node((0.0, 0), node.bound, node.way))
            return
        self.branched = True
        children = relaxation.branch(found, incumbent.closes, self.limits)
        for k, (bound, child_box) in enumerate(children):
            bound = min(node.bound, bound)
            child = _Node((0.0, 0), bound, node.way, None, relaxation, child_box)
            if k == 0:
                self.dive = child
            else:
                self._push(child)


def _first(uprooted: UprootedModel, limits: Limits, initial: ArrayLike | None, seed: int) -> Bits:
    """Find the assignment to start from: by walks where reducing M+ takes time, or by an ascent."""
    given = None if initial is None else improve(uprooted, initial, limits)
    if uprooted.n_vertices <= _SMALL:
        return np.zeros(uprooted.n_vertices, np.int8) if given is None else given
    if not _out_of_reach(uprooted):
        return find(uprooted, seed, limits, given, 0)
    if limits.deadline is not None:
        return find_by_the_clock(uprooted, seed, limits.part(_SHARE), given)
    sweeps = _VISITS // (uprooted.n_vertices + 2 * uprooted.m)
    return find(uprooted, seed, limits, given, 1, min(_FIRST, max(4, sweeps)))


def _out_of_reach(uprooted: UprootedModel) -> bool:
    n = uprooted.n_vertices
    return n >= _LARGE or (n >= _MEDIUM and uprooted.m >= _DENSE * n)


def trivial_bound(uprooted: UprootedModel) -> float:
    """Score every repulsive edge as cut, and no attractive one."""
    return uprooted.constant + float(np.maximum(-uprooted.weights, 0).sum()) / 2


def _ties(n: int, solved: Sequence[Block], ys: Sequence[Bits]) -> Ints:
    """Literals that tie all vertices of connected solved blocks to the first of them."""
    y = recombine(n, solved, ys)
    edges = np.concatenate([block.vertices[block.model.edges] for block in solved])
    _, component = components(UprootedModel(n, edges, np.ones(len(edges))))
    _, first = np.unique(component, return_index=True)
    head = first[component]
    return np.where(head == np.arange(n), -1, 2 * head + (y ^ y[head]))
