"""MAP of any M+: reduce it, split it into blocks, and solve each at a root of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition import blocks, recombine, reduce
from mapreroot.exact.apart import SearchTask
from mapreroot.exact.local_search import ENDLESS, find, improve
from mapreroot.exact.mincut import balanced_map
from mapreroot.exact.rooted import balanced_rooting
from mapreroot.exact.search import SearchResult, search, trivial_bound
from mapreroot.limits import Limits, StopReason
from mapreroot.model import UprootedModel

__all__ = ["BlockwiseSolution", "solve_blocks"]

Bits = npt.NDArray[np.int8]

BYTES = 120
"""What reduction, roof duality and minimum cuts take per vertex and edge, all in all."""

# Reduction takes up to so many seconds a vertex and edge, and cannot be interrupted. Where there is
# less, walks take the rest, or so many rounds of them where there is less room than it needs; the
# first walk has so many sweeps.
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
        When to stop; every block then still gets an assignment and a bound.
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
        rounds = ENDLESS if reason == "time" else _ROUNDS
        y = find(uprooted, seed, limits, initial, rounds, _SWEEPS)
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
        found = balanced_map(block.model, *balanced)
        ys[k] = found.y
        done += found.bound
        roots[k] = int(reduction.vertices[block.vertices[balanced[0]]])
    # The largest last: where time runs out, the many small ones have been answered.
    hard.sort(key=lambda k: parts[k].model.n_vertices)
    waiting = {k: trivial_bound(parts[k].model) for k in hard}
    allowed = gap and gap * _least_size(done, [parts[k].model for k in hard])
    sent = {
        k: SearchTask(
            parts[k].model,
            None if start is None else start[parts[k].vertices],
            allowed / len(hard),
            seed,
        )
        for k in hard
        if elsewhere is not None and parts[k].model.n_vertices >= _SENT
    }
    answered: dict[int, SearchResult] = {}
    if elsewhere is not None and len(sent) > 1:
        for k, found in elsewhere(sent):
            answered[k] = found
            if on_progress is not None:
                there = [(parts[j].model.score(f.y), f.bound) for j, f in answered.items()]
                unknown = sum(bound for j, bound in waiting.items() if j not in answered)
                on_progress(
                    done + sum(score for score, _ in there),
                    done + sum(bound for _, bound in there) + unknown,
                    sum(f.nodes for f in answered.values()),
                )
    slack = tolerance = 0.0
    nodes = 0
    stopped: StopReason | None = None
    for k in hard:
        part = parts[k].model
        del waiting[k]
        found = answered.get(k) or search(
            part,
            limits=limits,
            initial=None if start is None else start[parts[k].vertices],
            gap=max(0.0, allowed - slack) / (len(waiting) + 1),
            seed=seed,
            on_progress=on_progress
            and partial(_relay, on_progress, done, done + slack + sum(waiting.values()), nodes),
        )
        ys[k] = found.y
        score = part.score(found.y)
        missing = max(0.0, found.bound - score)
        done += score
        nodes += found.nodes
        if missing:
            slack += missing
            tolerance = max(tolerance, part.tolerance)
            stopped = stopped or found.stopped
    whole = recombine(kernel.n_vertices, parts, [y for y in ys if y is not None])
    return BlockwiseSolution(
        reduction.restore(whole), slack, tolerance, tuple(roots), nodes, stopped
    )


def _least_size(done: float, hard: list[UprootedModel]) -> float:
    """Give a number that max(1, abs(score of the whole)) will not be below."""
    low = done + sum(part.score(improve(part, np.zeros(part.n_vertices))) for part in hard)
    high = done + sum(trivial_bound(part) for part in hard)
    return max(1.0, low, -high)


def _relay(
    on_progress: Callable[[float, float, int], None],
    done: float,
    above: float,
    nodes: int,
    score: float,
    bound: float,
    count: int,
) -> None:
    """Report one block's search as progress of the whole."""
    on_progress(done + score, above + bound, nodes + count)
