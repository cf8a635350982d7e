"""The first heuristic: rounds of walks, each twice as long as the ones before."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapreroot.exact.local_search.annealing import walk
from mapreroot.exact.local_search.ascent import ascend
from mapreroot.exact.local_search.combining import combine_into
from mapreroot.exact.local_search.graph import Graph, State, gains, graph_of, random_state, start_at
from mapreroot.exact.local_search.renormalising import REPLICAS, merge
from mapreroot.exact.local_search.tabu import tabu
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["ENDLESS", "find", "refine"]

Bits = NDArray[np.int8]

ENDLESS = 30
"""Rounds of `find` that only a deadline ends: each is twice as long as the one before."""

# Tabu search looks at every vertex for each flip: it pays when a flip changes many gains.
_TABU_VERTICES = 300
_TABU_DENSITY = 0.1
# How hot the walks that are merged begin, in turn.
_HEATS = (0.7, 0.5)
# How often that is done in a round, and the sweeps of those walks as a part of the first one's.
_MERGES, _PART = 2, 4


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
        An assignment to do at least as well as.
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
    graph = graph_of(uprooted)
    best = start_at(uprooted, graph, initial)
    if not uprooted.m:
        return best
    ascend(graph, best, gains(graph, best))
    n = uprooted.n_vertices
    state = random_state(seed)
    for k in range(rounds):
        if limits.reason() is not None:
            break
        far = walk(graph, best, sweeps << k, 1.0, state, limits)
        best = combine_into(uprooted, graph, best, far)
        for _ in range(_MERGES):
            best = refined(uprooted, graph, best, -(-(sweeps << k) // _PART), state, limits)
        if n <= _TABU_VERTICES or 2 * uprooted.m >= _TABU_DENSITY * n * n:
            best = tabu(uprooted, seed + k, limits, best, (20 << k) * n)
    return best


def refined(
    uprooted: UprootedModel, graph: Graph, y: Bits, sweeps: int, state: State, limits: Limits
) -> Bits:
    """Warm y up several times, and merge what comes of it: never worse than y."""
    walks = [y]
    for k in range(REPLICAS):
        if limits.reason() is not None:
            break
        walks.append(walk(graph, y, sweeps, _HEATS[k % len(_HEATS)], state, limits))
    return merge(uprooted, graph, walks, state, limits)


def refine(uprooted: UprootedModel, y: ArrayLike, seed: int, limits: Limits, sweeps: int) -> Bits:
    """Look around a good assignment: `find` without its first walk.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    y : array_like, shape (n_vertices,)
    seed : int
    limits : Limits
    sweeps : int
        In all, shared by several walks.

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
    return refined(uprooted, graph, start, -(-sweeps // REPLICAS), random_state(seed), limits)
