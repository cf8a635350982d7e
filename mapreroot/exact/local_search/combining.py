"""Two assignments made one: the better of both wherever they differ."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.exact.local_search.graph import Graph, graph_of, start_at
from mapreroot.model import UprootedModel

__all__ = ["combine", "combine_into"]

Bits = NDArray[np.int8]


@njit(cache=True)
def _combine(graph: Graph, y: Bits, z: Bits) -> None:
    """Give y the values of z on each connected part of where they differ, unless that loses."""
    n = len(y)
    differ = y != z
    if 2 * differ.sum() > n:  # z flipped as a whole is nearer, and scores the same
        differ = ~differ
    stack = np.empty(n, np.int64)
    for v in range(n):
        if not differ[v]:
            continue
        differ[v] = False
        stack[0] = v
        size, done, gain, noise = 1, 0, 0.0, 0.0
        while done < size:
            u = stack[done]
            done += 1
            noise += graph.slack[u]
            for e in range(graph.start[u], graph.start[u + 1]):
                w = graph.neighbour[e]
                # The part is flipped vertex by vertex, and the gains add up.
                gain += graph.weight[e] / 2 if y[w] != y[u] else -graph.weight[e] / 2
                if differ[w]:
                    differ[w] = False
                    stack[size] = w
                    size += 1
            y[u] = 1 - y[u]
        if gain < -noise:
            for k in range(size):
                y[stack[k]] = 1 - y[stack[k]]


def combine_into(uprooted: UprootedModel, graph: Graph, y: Bits, z: Bits) -> Bits:
    """`combine` for those who have the graph."""
    combined = y.copy()
    _combine(graph, combined, z)
    return combined if uprooted.score(combined) >= uprooted.score(y) else y  # rounding


def combine(uprooted: UprootedModel, y: ArrayLike, z: ArrayLike) -> Bits:
    """Take the better of two assignments wherever they differ, each connected part for itself.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    y, z : array_like, shape (n_vertices,)

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        Scores at least what y and z score. Where a part scores the same in both, z's values, for
        the sake of change.

    Raises
    ------
    ModelError
        If y or z is not one 0 or 1 for each vertex.

    Notes
    -----
    O(n + m): no edge joins two parts, so their gains add up. Two walks over a large sparse model
    that begin at the same assignment improve it in many places, and this keeps all of them
    (partition crossover; Whitley, Hains and Howe 2009, for tours).

    Examples
    --------
    >>> star = UprootedModel(5, [(0, 1), (0, 2), (0, 3), (0, 4)], [2.0] * 4)
    >>> combine(star, [0, 1, 0, 0, 0], [0, 0, 1, 0, 0])
    array([0, 0, 0, 0, 0], dtype=int8)
    """
    graph = graph_of(uprooted)
    y, z = start_at(uprooted, graph, y), start_at(uprooted, graph, z)
    return combine_into(uprooted, graph, y, z)
