"""From d on the edges of M+ to d on other pairs of vertices, without leaving the relaxation."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from mapreroot.model import UprootedModel

__all__ = ["PartialSemimetric", "extend"]

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
    metric = PartialSemimetric(uprooted.n_vertices)
    for (u, v), value in zip(uprooted.edges.tolist(), d.tolist(), strict=True):
        metric.join(u, v, value)
    return np.array([metric.between(u, v) for u, v in np.asarray(pairs).tolist()])


class PartialSemimetric:
    """d on some pairs of n vertices, satisfying their cycle inequalities, that can grow.

    Examples
    --------
    >>> metric = PartialSemimetric(3)
    >>> metric.join(0, 1, 1.0)
    >>> metric.join(1, 2, 0.75)
    >>> metric.between(0, 2)
    0.25
    """

    def __init__(self, n_vertices: int) -> None:
        self._near: list[dict[int, float]] = [{} for _ in range(n_vertices)]

    def join(self, u: int, v: int, d: float) -> None:
        """Set d of a pair, to a value that the caller knows to be consistent."""
        self._near[u][v] = self._near[v][u] = min(max(d, 0.0), 1.0)

    def between(self, u: int, v: int) -> float:
        """Give d of a pair; a new one gets the middle of what is possible, and keeps it."""
        if u == v:
            return 0.0
        if v not in self._near[u]:
            same, opposite = _distances(self._near, u, v)
            self.join(u, v, (max(0.0, 1 - opposite) + min(1.0, same)) / 2)
        return self._near[u][v]


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
