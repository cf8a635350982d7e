"""The heuristics put together: rounds of walks, counted or by the clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapreroot.exact.local_search.annealing import walk
from mapreroot.exact.local_search.ascent import ascend
from mapreroot.exact.local_search.combining import combine_into
from mapreroot.exact.local_search.graph import Graph, State, gains, graph_of, random_state, start_at
from mapreroot.exact.local_search.renormalising import REPLICAS, merge
from mapreroot.exact.local_search.tabu import ENDLESS, tabu
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["find", "find_by_the_clock", "refine"]

Bits = NDArray[np.int8]

# Tabu search looks at every vertex for each flip: it pays when a flip changes many gains.
_TABU_VERTICES = 300
_TABU_DENSITY = 0.1
# How hot the walks that are merged begin, in turn.
_HEATS = (0.7, 0.5)
# How often that is done in a round, and the sweeps of those walks as a part of the first one's.
_MERGES, _PART = 2, 4
# By the clock: what the first walk takes of a round, the walks of a merger, and tabu search.
_FIRST, _WALKS, _TABU = 0.5, 0.7, 0.3
# The rounds, each four times as long as the one before, as parts of what is left; but none of less
# than so many seconds a vertex and edge's end: some hundred sweeps.
_ROUNDS, _SHORTEST = (1 / 85, 4 / 84, 16 / 80, 1), 2e-6


def find(
    uprooted: UprootedModel,
    seed: int = 0,
    limits: Limits | None = None,
    initial: ArrayLike | None = None,
    rounds: int = 3,
    sweeps: int = 100,
) -> Bits:
    """Find a good assignment by the means that suit the model's size.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    seed : int
        Fixes the answer, unless the time limit comes first.
    limits : Limits, optional
        Asked about every 30 ms.
    initial : array_like, optional
        An assignment to do at least as well as; by default a greedy one.
    rounds : int
        Each is twice as long as the one before: a walk from hot, then shorter ones that warm the
        best assignment up, merged into one (see `merge`), twice. On small or dense models
        tabu search goes on from what a round has found.
    sweeps : int
        Of the first walk.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)

    Raises
    ------
    ModelError
        If initial is not one 0 or 1 for each vertex.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(find(triangle))
    2.0
    """
    limits = limits or Limits()
    graph, best = _begun(uprooted, initial)
    if not uprooted.m:
        return best
    state = random_state(seed)
    for k in range(rounds):
        if limits.reason() is not None:
            break
        far = walk(graph, best, sweeps << k, 1.0, state, limits)
        best = combine_into(uprooted, graph, best, far)
        for _ in range(_MERGES):
            best = refined(uprooted, graph, best, -(-(sweeps << k) // _PART), state, limits)
        if _suits_tabu(uprooted):
            best = tabu(uprooted, seed + k, limits, best, (20 << k) * uprooted.n_vertices)
    return best


def find_by_the_clock(
    uprooted: UprootedModel, seed: int, limits: Limits, initial: ArrayLike | None = None
) -> Bits:
    """Find a good assignment in the time there is: `find`, as long as the limits allow.

    Parameters
    ----------
    uprooted, seed, limits, initial
        As for `find`; the limits have a deadline, and the last round, which finds the most, is
        over when it comes.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        The same seed need not give the same again.

    Notes
    -----
    One long walk beats several short ones, so that rounds of a fixed length, of which time cuts
    the last, gave away most of it: on 10^6 random edges 269,000 instead of 279,000 after 1.5 s.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(find_by_the_clock(triangle, 0, Limits(0.01)))
    2.0
    """
    graph, best = _begun(uprooted, initial)
    if not uprooted.m:
        return best
    state = random_state(seed)
    shortest = _SHORTEST * (uprooted.n_vertices + 2 * uprooted.m)
    for share in _ROUNDS:
        mine = limits.part(share)
        if share < 1 and mine.left() < shortest:
            continue
        walks = mine.part(1 - _TABU) if _suits_tabu(uprooted) else mine
        far = walk(graph, best, None, 1.0, state, walks.part(_FIRST))
        best = combine_into(uprooted, graph, best, far)
        left = _MERGES
        while walks.reason() is None:
            best = refined(uprooted, graph, best, None, state, walks.part(1 / left))
            left = max(1, left - 1)
        if _suits_tabu(uprooted):
            best = tabu(uprooted, seed, mine, best, ENDLESS)
    return best


def _begun(uprooted: UprootedModel, initial: ArrayLike | None) -> tuple[Graph, Bits]:
    """Ascend from the initial assignment, or from a greedy one."""
    graph = graph_of(uprooted)
    best = start_at(uprooted, graph, initial)
    if uprooted.m:
        ascend(graph, best, gains(graph, best))
    return graph, best


def _suits_tabu(uprooted: UprootedModel) -> bool:
    n = uprooted.n_vertices
    return n <= _TABU_VERTICES or 2 * uprooted.m >= _TABU_DENSITY * n * n


def refined(
    uprooted: UprootedModel,
    graph: Graph,
    y: Bits,
    sweeps: int | None,
    state: State,
    limits: Limits,
) -> Bits:
    """Warm y up several times, and merge what comes of it: never worse than y."""
    walks = [y]
    for k in range(REPLICAS):
        if limits.reason() is not None:
            break
        mine = limits if sweeps is not None else limits.part(_WALKS / (REPLICAS - k * _WALKS))
        walks.append(walk(graph, y, sweeps, _HEATS[k % len(_HEATS)], state, mine))
    return merge(uprooted, graph, walks, state, limits) if len(walks) > 1 else y


def refine(
    uprooted: UprootedModel, y: ArrayLike, seed: int, limits: Limits, sweeps: int | None
) -> Bits:
    """Look around a good assignment: `find` without its first walk.

    Parameters
    ----------
    uprooted, y, seed, limits
        As for `find`, y for its initial assignment.
    sweeps : int or None
        In all, shared by several walks; None for as many as there is time for.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        Never worse than y.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(refine(triangle, [0, 0, 0], 0, Limits(), 80))
    2.0
    """
    graph = graph_of(uprooted)
    start = start_at(uprooted, graph, y)
    each = None if sweeps is None else -(-sweeps // REPLICAS)
    return refined(uprooted, graph, start, each, random_state(seed), limits)
