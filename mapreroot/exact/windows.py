"""Large neighbourhoods searched by the cycle LP: one part of a sparse model after another.

With everything outside a window held as it is, what is left is a model of the window and one vertex
more. Its cycle LP is mostly tight, so that its best assignment takes a fraction of a second where
flips, chains and annealing need luck.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from mapreroot.decomposition import reduce
from mapreroot.exact.cycle_nodes import CycleNodes
from mapreroot.exact.incumbent import Incumbent
from mapreroot.exact.local_search import combine, find, improve
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["Windows"]

Bits = NDArray[np.int8]
Ints = NDArray[np.int64]

# Vertices of the first window; how much the next grows when one gained nothing; the largest part
# of all vertices.
_FIRST, _GROWTH, _LARGEST = 1000, 1.1, 0.25
# Balls do not spread through a vertex with so many times the mean degree, as the vertex 0 of a
# model with fields: everything is near to it.
_HUB = 8
# A window is left when ten rounds closed less than this share of its gap.
_PATIENT = 0.05
# What a window costs beside its linear programs: as much as a simplex iteration so many vertices.
_VERTICES = 4


class Windows:
    """Windows of one model: each a ball around a vertex that was in fewest of them so far.

    Parameters
    ----------
    uprooted : UprootedModel
        Connected, and sparse, so that balls have small borders.
    seed : int
        Of the centres.

    Attributes
    ----------
    work : int
        What the windows so far cost, in simplex iterations.
    """

    def __init__(self, uprooted: UprootedModel, seed: int = 0) -> None:
        n = uprooted.n_vertices
        self.uprooted = uprooted
        self.work = 0
        degree = np.bincount(uprooted.edges.ravel(), minlength=n)
        near = (degree[uprooted.edges] <= _HUB * degree.mean()).all(axis=1)
        i, j = uprooted.edges[near].T
        self._graph = csr_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n))
        self._random = np.random.default_rng(seed)
        self._largest = int(_LARGEST * n)
        self._size = min(_FIRST, self._largest)
        self._visits = np.zeros(n, np.int64)

    def improve(self, y: Bits, limits: Limits) -> Bits:
        """Optimise the next window; return y if that gains nothing."""
        ball = self._next()
        way = reduce(self.uprooted, self._held(y, ball))
        z = way.restore(self._best(way.kernel, y[way.vertices], limits))
        self.work += 1 + len(ball) // _VERTICES
        if self.uprooted.score(z) > self.uprooted.score(y):
            return z
        self._size = min(math.ceil(_GROWTH * self._size), self._largest)
        return y

    def _next(self) -> Ints:
        if self._visits.min() > 0:
            self._visits[:] = 0
        centre = self._random.choice(np.flatnonzero(self._visits == self._visits.min()))
        around = breadth_first_order(self._graph, centre, directed=False, return_predecessors=False)
        ball: Ints = around[: self._size]
        self._visits[ball] += 1
        return ball

    def _held(self, y: Bits, ball: Ints) -> Ints:
        """Literals that tie all vertices but those of the ball, as in y."""
        outside = np.ones(len(y), np.bool_)
        outside[ball] = False
        others = np.flatnonzero(outside)
        first, rest = others[0], others[1:]
        tied = np.full(len(y), -1, np.int64)
        tied[rest] = 2 * first + (y[rest] ^ y[first])
        return tied

    def _best(self, model: UprootedModel, y: Bits, limits: Limits) -> Bits:
        """Optimise a window, from the assignment it has: a walk, then the root of a search."""
        if not model.m:
            return y
        incumbent = Incumbent(model, find(model, 0, limits, y, 1), 0.0)
        nodes = CycleNodes(model)

        def offer(z: Bits) -> None:
            incumbent.offer(combine(model, incumbent.y, improve(model, z, limits)))

        closes, excludes, enough = incumbent.closes, incumbent.excludes, incumbent.enough
        nodes.bound(nodes.whole, closes, excludes, enough, offer, _PATIENT, limits)
        self.work += nodes.lp.iterations
        return incumbent.y
