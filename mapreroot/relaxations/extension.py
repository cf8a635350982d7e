"""From d on the edges of M+ to d on other pairs of vertices, without leaving the relaxation."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from mapreroot.model import UprootedModel

__all__ = ["extend"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def extend(uprooted: UprootedModel, d: Floats, pairs: Ints) -> Floats:
    """Give d for any pairs so that all cycle inequalities still hold.

    Parameters
    ----------
    uprooted : UprootedModel
    d : ndarray, shape (m,)
        In [0, 1], satisfying the cycle inequalities of the edges.
    pairs : ndarray of int, shape (k, 2)
        Edges of the model get their own d.

    Returns
    -------
    ndarray, shape (k,)
        Together with ``d`` it satisfies the cycle inequalities of the larger graph; on all pairs
        of some vertices it is a point of their MET.

    Notes
    -----
    One pair after another becomes an edge. Its d may lie anywhere between the bounds that the
    paths between its ends set (Barahona and Mahjoub 1986: the cycle relaxation of a graph is the
    projection of that of a larger one), and the middle is taken. Two runs of Dijkstra's algorithm
    a pair.

    Examples
    --------
    >>> path = UprootedModel(3, [(0, 1), (1, 2)], [-1.0, -1.0])
    >>> extend(path, np.array([1.0, 0.75]), np.array([[0, 2], [1, 2]])).tolist()
    [0.25, 0.75]
    """
    near: list[dict[int, float]] = [{} for _ in range(uprooted.n_vertices)]
    for (u, v), value in zip(uprooted.edges.tolist(), d.tolist(), strict=True):
        near[u][v] = near[v][u] = min(max(value, 0.0), 1.0)
    values = []
    for u, v in np.asarray(pairs).tolist():
        if u == v:
            values.append(0.0)
            continue
        if v not in near[u]:
            same, opposite = _distances(near, u, v)
            low, high = max(0.0, 1 - opposite), min(1.0, same)
            near[u][v] = near[v][u] = (low + high) / 2
        values.append(near[u][v])
    return np.array(values)


def _distances(near: list[dict[int, float]], u: int, v: int) -> tuple[float, float]:
    """Shortest paths in the doubled graph from a copy of u to the same and the opposite of v.

    An edge joins equal copies at length d and opposite copies at length 1 - d. Nothing beyond 1
    matters.
    """
    best = {(u, 0): 0.0}
    heap = [(0.0, u, 0)]
    while heap:
        length, x, side = heapq.heappop(heap)
        if length > best[x, side]:
            continue
        for y, d in near[x].items():
            for other, more in ((side, d), (1 - side, 1 - d)):
                reached = length + more
                if reached < 1 and reached < best.get((y, other), 1.0):
                    best[y, other] = reached
                    heapq.heappush(heap, (reached, y, other))
    return best.get((v, 0), 1.0), best.get((v, 1), 1.0)
