"""Tabu search: the best flip that was not made lately, whether it gains or not."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.exact.local_search.graph import (
    CHUNK,
    Graph,
    State,
    flip,
    gains,
    graph_of,
    random,
    random_state,
    start_at,
)
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["ENDLESS", "tabu"]

Bits = NDArray[np.int8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ENDLESS = 2**62
"""Steps of `tabu` that only a limit ends."""


@njit(cache=True)
def _tabu(
    graph: Graph,
    y: Bits,
    gain: Floats,
    best_y: Bits,
    free_at: Ints,
    counts: Ints,
    scores: Floats,
    state: State,
    steps: int,
    patience: int,
) -> None:
    """Flip the best vertex that is not tabu, ``steps`` times; shake after ``patience`` idle steps.

    ``counts`` is (step, step of the last gain on this climb), ``scores`` the gains over the first
    y of (y, the best of this climb, best_y): a call goes on where the last one stopped.
    """
    n = len(y)
    tenure = min(20, n // 4)
    for _ in range(steps):
        step = counts[0]
        v, ties = -1, 0
        for u in range(n):
            if free_at[u] > step and scores[0] + gain[u] <= scores[2] + graph.slack[u]:
                continue
            if v < 0 or gain[u] > gain[v]:
                v, ties = u, 1
            elif gain[u] == gain[v]:
                ties += 1
                if random(state) * ties < 1:
                    v = u
        counts[0] += 1
        if v >= 0:
            scores[0] += gain[v]
            flip(graph, y, gain, v)
            free_at[v] = step + 1 + tenure + int(random(state) * 10)
            if scores[0] > scores[1] + graph.slack[v]:
                scores[1] = scores[0]
                counts[1] = step
                if scores[0] > scores[2] + graph.slack[v]:
                    scores[2] = scores[0]
                    for u in range(n):
                        best_y[u] = y[u]
        if step - counts[1] >= patience:
            for u in range(n):
                if y[u] != best_y[u]:
                    scores[0] += gain[u]
                    flip(graph, y, gain, u)
            share = 0.05 + 0.3 * random(state)
            for u in range(n):
                free_at[u] = 0
                if random(state) < share:
                    scores[0] += gain[u]
                    flip(graph, y, gain, u)
            scores[1] = scores[0]
            counts[1] = step


def tabu(
    uprooted: UprootedModel,
    seed: int = 0,
    limits: Limits | None = None,
    initial: ArrayLike | None = None,
    steps: int | None = None,
) -> Bits:
    """Tabu search with random restarts around the best: the choice for dense models.

    Parameters
    ----------
    uprooted, seed, limits, initial
        As for `find`.
    steps : int, optional
        Flips to make, by default 200 for each vertex.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        Never worse than the start.

    Notes
    -----
    O(n + degree) a step. Glover and Kochenberger; Palubeckis (2004), "Multistart tabu search
    strategies for the unconstrained binary quadratic optimization problem".

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(tabu(triangle, seed=1))
    2.0
    """
    limits = limits or Limits()
    n = uprooted.n_vertices
    graph = graph_of(uprooted)
    y = start_at(uprooted, graph, initial)
    if not uprooted.m:
        return y
    best = y.copy()
    gain = gains(graph, y)
    free_at, counts, scores = np.zeros(n, np.int64), np.zeros(2, np.int64), np.zeros(3)
    state = random_state(seed)
    left = 200 * n if steps is None else steps
    chunk = max(1, CHUNK // (n + 2 * uprooted.m // n))
    patience = max(500, 10 * n)
    while left > 0 and limits.reason() is None:
        _tabu(graph, y, gain, best, free_at, counts, scores, state, min(chunk, left), patience)
        left -= chunk
    return best
