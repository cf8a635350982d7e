"""A smaller model in place of one whose linear program is nearly solved, and the way back for cuts.

Late in the cutting-plane method most edges have settled at 0 or 1 with large reduced costs, and
every round still pays for all of them. So their ends are merged, the small model is solved to the
end, and its cycle inequalities are lifted: between the edges of a small cycle, paths of settled
edges close the gaps. Nothing rests on what was merged: lifted cuts are cycle inequalities like any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.model import UprootedModel
from mapreroot.relaxations.cuts import Cuts
from mapreroot.relaxations.odd_cycles import INTEGRAL, Forest, adjacency, contract

__all__ = ["Shrunk", "shrink"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNDECIDED = 0.5
"""Stands for d on edges along which nothing was merged."""


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A model whose vertices are components of settled edges of another one.

    Attributes
    ----------
    model : UprootedModel
        Parallel edges are merged.
    forest : Forest
        Component and parity of each original vertex.
    joined : ndarray, shape (m,)
        d on the edges that joined the components, `UNDECIDED` elsewhere.
    edge : ndarray of int, shape (m,)
        The edge of ``model`` that each original edge became; -1 within a component.
    twist : ndarray of int, shape (m,)
        1 where d became 1 - d; within a component, d.
    chosen : ndarray of int, shape (2, model.m)
        The original edges that stand for each of ``model`` outside F and in F: those whose
        reduced costs bear most of it.
    """

    model: UprootedModel
    forest: Forest
    joined: Floats
    edge: Ints
    twist: Ints
    chosen: Ints

    def extend(self, d: Floats) -> Floats:
        """Give d of the original edges from that of the model's."""
        there = np.append(d, 0.0)[self.edge]  # the last one is for -1
        return np.where(self.twist == 1, 1.0 - there, there)

    def stretch(self, cuts: Cuts) -> Cuts:
        """Write the model's cuts with original edges, a gap in each component they pass through."""
        edge = self.chosen[cuts.odd.astype(np.int64), cuts.edge]
        return Cuts(cuts.start, edge, cuts.odd ^ (self.twist[edge] == 1))


def shrink(model: UprootedModel, d: Floats, reduced: Floats, most: int) -> Shrunk | None:
    """Merge the ends of edges that will hardly move, the surest first.

    Parameters
    ----------
    model : UprootedModel
    d, reduced : ndarray, shape (m,)
        A solution of its linear program, and the reduced costs.
    most : int
        How many vertices to leave.

    Returns
    -------
    Shrunk or None
        None if too few edges are integral and have reduced costs.

    Notes
    -----
    O(n + m log m).
    """
    n, m = model.n_vertices, model.m
    u, v = np.ascontiguousarray(model.edges.T)
    size = np.abs(reduced)
    sure = np.flatnonzero((np.minimum(d, 1 - d) <= INTEGRAL) & (size > 0))
    order = sure[np.argsort(-size[sure], kind="stable")]
    joined = np.where(_strongest(n, u, v, order, most), d, UNDECIDED)
    forest, count = contract(adjacency(n, u, v, np.arange(m)), joined)
    if count > most:
        return None
    a, b = forest.component[u], forest.component[v]
    twist = forest.parity[u] ^ forest.parity[v]
    outer = np.flatnonzero(a != b)
    pair = np.minimum(a, b)[outer] * count + np.maximum(a, b)[outer]
    pairs, name = np.unique(pair, return_inverse=True)
    edge = np.full(m, -1)
    edge[outer] = name
    sign = np.where(twist == 1, -1.0, 1.0)
    ends = np.stack([pairs // count, pairs % count], axis=1)
    weights = np.zeros(len(pairs))
    np.add.at(weights, name, (sign * model.weights)[outer])
    small = UprootedModel.from_canonical(count, ends, weights)
    # A cut takes from the reduced cost of an edge in F, and adds to that of others.
    order = outer[np.lexsort(((sign * reduced)[outer], name))]
    parallel = np.bincount(name, minlength=len(pairs))
    last = np.cumsum(parallel) - 1
    chosen = np.stack([order[last - parallel + 1], order[last]])
    return Shrunk(small, forest, joined, edge, twist, chosen)


@njit(cache=True)
def _strongest(n: int, u: Ints, v: Ints, order: Ints, most: int) -> Flags:
    """Join vertices by edges in order, until ``most`` components are left; which edges it took."""
    parent = np.arange(n)
    taken = np.zeros(len(u), np.bool_)
    for e in order:
        if n <= most:
            break
        a, b = u[e], v[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[max(a, b)] = min(a, b)
            taken[e] = True
            n -= 1
    return taken
