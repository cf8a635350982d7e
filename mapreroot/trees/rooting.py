"""Edge lists as rooted forests: peeling leaves, and showing a cycle where that fails."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError, NotATreeError

__all__ = ["Ints", "checked_edges", "find_cycle", "peeled"]

Ints = NDArray[np.int64]


def find_cycle(n: int, edges: ArrayLike) -> tuple[int, ...] | None:
    """Show a cycle of a graph, if it has one.

    Parameters
    ----------
    n : int
        Number of vertices.
    edges : array_like
        (m, 2) vertices in ``0..n-1``. A self-loop is a cycle of one vertex, a
        repeated edge a cycle of two.

    Returns
    -------
    tuple of int or None
        The cycle's vertices in order, the first not repeated; None for a forest.

    Raises
    ------
    ModelError
        If an edge names a vertex outside ``0..n-1``.

    Notes
    -----
    O(n + m): what is left when leaves are removed until none is left.

    Examples
    --------
    >>> find_cycle(4, [(0, 1), (1, 2), (2, 3)]) is None
    True
    >>> sorted(find_cycle(4, [(0, 1), (1, 2), (2, 0), (2, 3)]))
    [0, 1, 2]
    """
    checked = checked_edges(n, edges)
    link, degree = _leaves_first(n, checked)
    if len(link) == len(checked):
        return None
    return tuple(int(v) for v in _walk_to_cycle(checked, degree))


def checked_edges(n: int, edges: ArrayLike) -> Ints:
    """Give `edges` as an (m, 2) int64 array, or raise ModelError naming the first bad edge."""
    array = np.asarray(edges)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ModelError(
            f"edges must be an (m, 2) array of integers, not {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0 or array.max() >= n:
        e = int(np.flatnonzero(((array < 0) | (array >= n)).any(axis=1))[0])
        raise ModelError(f"edge {e} is ({array[e, 0]}, {array[e, 1]}): vertices are 0..{n - 1}")
    return np.ascontiguousarray(array, np.int64)


def peeled(n: int, edges: Ints) -> Ints:
    """Remove leaves until none is left: a children-first order with its edges.

    Parameters
    ----------
    n : int
        Number of vertices.
    edges : numpy.ndarray
        (m, 2) checked vertices.

    Returns
    -------
    numpy.ndarray
        (m, 3) rows (leaf, neighbour, edge) in the order of removal: every vertex is a
        leaf at most once, after all vertices it was the neighbour of.

    Raises
    ------
    NotATreeError
        If a cycle remains; it is in ``.cycle``.

    Notes
    -----
    O(n + m).
    """
    link, degree = _leaves_first(n, edges)
    if len(link) < len(edges):
        cycle = tuple(int(v) for v in _walk_to_cycle(edges, degree))
        shown = [str(v) for v in cycle[:12]] + (["..."] if len(cycle) > 12 else [str(cycle[0])])
        raise NotATreeError(
            f"the edges hold the cycle {'-'.join(shown)} of {len(cycle)} vertices: "
            "tree methods need a forest",
            cycle,
        )
    rows: Ints = link
    return rows


@njit(cache=True)
def _leaves_first(n: int, edges: Ints) -> tuple[Ints, Ints]:
    """Remove leaves until none is left.

    Returns rows (leaf, neighbour, edge) in the order of removal, and what remains of
    every degree: not all zero iff there is a cycle.
    """
    # XOR of the live neighbours and of the live edges: of a leaf, the only ones.
    degree = np.zeros(n, np.int64)
    neighbours = np.zeros((n, 2), np.int64)
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        degree[u] += 1
        degree[v] += 1
        neighbours[u, 0] ^= v
        neighbours[v, 0] ^= u
        neighbours[u, 1] ^= e
        neighbours[v, 1] ^= e
    link = np.empty((len(edges), 3), np.int64)
    count = 0
    for start in range(n):
        v = start
        while degree[v] == 1:
            u, e = neighbours[v, 0], neighbours[v, 1]
            link[count, 0], link[count, 1], link[count, 2] = v, u, e
            count += 1
            degree[v] = 0
            degree[u] -= 1
            neighbours[u, 0] ^= v
            neighbours[u, 1] ^= e
            v = u
    return link[:count], degree


@njit(cache=True)
def _walk_to_cycle(edges: Ints, degree: Ints) -> Ints:
    """Follow edges between vertices of remaining degree 2 and more until one repeats."""
    n = len(degree)
    # Any two edges per vertex will do: leave by the one that was not used to come.
    exits = np.full((n, 2), -1, np.int64)
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        if degree[u] > 0 and degree[v] > 0:
            exits[u, 0], exits[u, 1] = exits[u, 1], e
            exits[v, 0], exits[v, 1] = exits[v, 1], e
    seen_at = np.full(n, -1, np.int64)
    path = np.empty(n + 1, np.int64)
    v = np.argmax(degree > 0)
    e = -1
    length = 0
    while seen_at[v] < 0:
        seen_at[v] = length
        path[length] = v
        length += 1
        e = exits[v, 0] if exits[v, 0] != e else exits[v, 1]
        v = edges[e, 0] + edges[e, 1] - v
    return path[seen_at[v] : length]
