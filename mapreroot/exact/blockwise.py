"""MAP of any M+: reduce it, split it into blocks, and solve each at a root of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition import blocks, recombine, reduce
from mapreroot.exact.apart import SearchTask
from mapreroot.exact.local_search import find, find_by_the_clock, improve
from mapreroot.exact.mincut import balanced_map
from mapreroot.exact.rooted import balanced_rooting
from mapreroot.exact.search import Search, SearchResult, trivial_bound
from mapreroot.limits import Limits, StopReason
from mapreroot.model import UprootedModel

__all__ = ["BlockwiseSolution", "solve_blocks"]

Bits = npt.NDArray[np.int8]

BYTES = 120
"""What reduction, roof duality and minimum cuts take per vertex and edge, all in all."""

# Reduction takes up to so many seconds a vertex and edge, and cannot be interrupted. Where there is
# less, walks take the rest; where there is less room than it needs, so many rounds of them, the
# first with so many sweeps.
_SECONDS, _ROUNDS, _SWEEPS = 1e-6, 5, 4
# Smaller blocks are searched sooner than sent.
_SENT = 40


@dataclass(frozen=True, eq=False)
class BlockwiseSolution:
    """An assignment of M+ with what is left to prove about it.

    Attributes
    ----------
    y : ndarray of int8, shape (n_vertices,)
    slack : float
        No assignment scores more than ``slack`` above this one.
    tolerance : float
        Slack up to here is rounding, at the scale of the blocks it is in.
    block_roots : tuple of int
        For each block the vertex it was rooted at for a minimum cut, or -1 for a search.
    nodes : int
        Search nodes.
    stopped : str or None
    """

    y: Bits
    slack: float
    tolerance: float
    block_roots: tuple[int, ...]
    nodes: int
    stopped: StopReason | None


def solve_blocks(
    uprooted: UprootedModel,
    limits: Limits | None = None,
    initial: Bits | None = None,
    gap: float = 0.0,
    seed: int = 0,
    on_progress: Callable[[float, float, int], None] | None = None,
    elsewhere: Callable[[Mapping[int, SearchTask]], Iterable[tuple[int, SearchResult]]]
    | None = None,
) -> BlockwiseSolution:
    """Find an optimum of M+ block by block.

    Parameters
    ----------
    uprooted : UprootedModel
    limits : Limits, optional
        When to stop; every block then still gets an assignment and a bound. Each has its part of
        the time, and what others leave; nodes are counted block by block.
    initial : ndarray of int8, shape (n_vertices,), optional
        Where the searches start.
    gap : float
        Stop at this slack, relative to the score (at least 1).
    seed : int
    on_progress : callable, optional
        Called with (score, bound, nodes) of the whole model.
    elsewhere : callable, optional
        Searches the larger blocks, if there are several, and need not answer for all: see
        `mapreroot.exact.apart.search_apart`.

    Returns
    -------
    BlockwiseSolution

    Notes
    -----
    Vertices of degree up to 3 and heavy edges go first, then biconnected blocks are independent
    up to a flip at each cut vertex (theory: Weller 2016, section 3, applied to each block). A
    block with a balanced rooting is one minimum cut; so a model whose blocks all have one is
    solved by max-flow alone, even where no single root balances the whole.
    """
    limits = Limits() if limits is None else limits
    reason = limits.reason()
    if limits.lacks(BYTES * (uprooted.n_vertices + uprooted.m)):
        reason = "memory"
    if reason is None and limits.left() < _SECONDS * (uprooted.n_vertices + uprooted.m):
        reason = "time"
    if reason is not None:  # not even time, or room, to reduce it
        if reason == "time":
            y = find_by_the_clock(uprooted, seed, limits, initial)
        else:
            y = find(uprooted, seed, limits, initial, _ROUNDS, _SWEEPS)
        slack = trivial_bound(uprooted) - uprooted.score(y)
        return BlockwiseSolution(y, slack, 0.0, (), 0, reason)
    reduction = reduce(uprooted)
    kernel = reduction.kernel
    parts = blocks(kernel)
    start = None if initial is None else initial[reduction.vertices]
    ys: list[Bits | None] = [None] * len(parts)
    roots = [-1] * len(parts)
    hard = []
    done = kernel.constant
    for k, block in enumerate(parts):
        balanced = balanced_rooting(block.model)
        if balanced is None:
            hard.append(k)
            continue
        cut = balanced_map(block.model, *balanced)
        ys[k] = cut.y
        done += cut.bound
        roots[k] = int(reduction.vertices[block.vertices[balanced[0]]])
    # The largest last: where time runs out, the many small ones have been answered.
    hard.sort(key=lambda k: parts[k].model.n_vertices)
    models = {k: parts[k].model for k in hard}
    allowed = gap and gap * _least_size(done, list(models.values()))
    tasks = {
        k: SearchTask(
            model, None if start is None else start[parts[k].vertices], allowed / len(hard), seed
        )
        for k, model in models.items()
    }
    standing = _Standing(done, models, on_progress)
    answered = {} if elsewhere is None else _answered(tasks, elsewhere, standing)
    here = {
        k: task if k not in answered else replace(task, initial=answered[k].y)
        for k, task in tasks.items()
        if k not in answered or (answered[k].stopped == "time" and limits.reason() is None)
    }
    found = answered | {
        k: _both(answered.get(k), result)
        for k, result in _search_in_turns(here, limits, standing).items()
    }
    slack = tolerance = 0.0
    stopped: StopReason | None = None
    for k, result in found.items():
        ys[k] = result.y
        missing = max(0.0, result.bound - models[k].score(result.y))
        if missing:
            slack += missing
            tolerance = max(tolerance, models[k].tolerance)
            stopped = stopped or result.stopped
    whole = recombine(kernel.n_vertices, parts, [y for y in ys if y is not None])
    nodes = sum(result.nodes for result in found.values())
    return BlockwiseSolution(
        reduction.restore(whole), slack, tolerance, tuple(roots), nodes, stopped
    )


class _Standing:
    """How far the searches are, as progress of the whole."""

    def __init__(
        self,
        done: float,
        models: Mapping[int, UprootedModel],
        listener: Callable[[float, float, int], None] | None,
    ) -> None:
        # To begin with, everything on one side, and a bound that needs no work.
        self.blocks = {k: (m.constant, trivial_bound(m), 0) for k, m in models.items()}
        self.score = done + sum(score for score, _, _ in self.blocks.values())
        self.bound = done + sum(bound for _, bound, _ in self.blocks.values())
        self.nodes = 0
        self.listener = listener

    def put(self, k: int, score: float, bound: float, nodes: int) -> None:
        before = self.blocks[k]
        # A search that begins once more does not know how far the first one was.
        score, bound = max(score, before[0]), min(bound, before[1])
        self.blocks[k] = score, bound, nodes
        self.score += score - before[0]
        self.bound += bound - before[1]
        self.nodes += nodes - before[2]
        if self.listener is not None:
            self.listener(self.score, self.bound, self.nodes)


def _answered(
    tasks: Mapping[int, SearchTask],
    elsewhere: Callable[[Mapping[int, SearchTask]], Iterable[tuple[int, SearchResult]]],
    standing: _Standing,
) -> dict[int, SearchResult]:
    """Have the larger blocks searched elsewhere, if there are several."""
    sent = {k: task for k, task in tasks.items() if task.model.n_vertices >= _SENT}
    found = {}
    for k, result in elsewhere(sent) if len(sent) > 1 else ():
        found[k] = result
        standing.put(k, tasks[k].model.score(result.y), result.bound, result.nodes)
    return found


def _both(elsewhere: SearchResult | None, here: SearchResult) -> SearchResult:
    """Put two searches of a block together, of which the later began where the other ended."""
    if elsewhere is None:
        return here
    bound = min(elsewhere.bound, here.bound)
    return replace(here, bound=bound, nodes=elsewhere.nodes + here.nodes)


def _search_in_turns(
    tasks: Mapping[int, SearchTask], limits: Limits, standing: _Standing
) -> dict[int, SearchResult]:
    """Search every block for its part of the time, and go on with those that it did not suffice."""
    searches: dict[int, Search] = {}
    found: dict[int, SearchResult] = {}
    waiting = {k: float(task.model.n_vertices) for k, task in tasks.items()}
    while waiting:
        unfinished = {}
        for k, turn in zip(waiting, limits.turns(waiting.values()), strict=True):
            task = tasks[k]
            if k not in searches:
                searches[k] = Search(task.model, turn, task.initial, task.gap, task.seed)
            result = found[k] = searches[k].run(turn, partial(standing.put, k))
            score = task.model.score(result.y)
            standing.put(k, score, result.bound, result.nodes)
            if result.stopped == "time" and result.bound > score:
                unfinished[k] = result.bound - score
            else:
                del searches[k]  # with its linear programs
        waiting = unfinished if limits.reason() is None else {}
    return found


def _least_size(done: float, hard: list[UprootedModel]) -> float:
    """Give a number that max(1, abs(score of the whole)) will not be below."""
    low = done + sum(part.score(improve(part, np.zeros(part.n_vertices))) for part in hard)
    high = done + sum(trivial_bound(part) for part in hard)
    return max(1.0, low, -high)
