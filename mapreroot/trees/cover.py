"""The optimal (2,s)-hierarchical cover of a tree: rake and compress."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError
from mapreroot.notebook import table
from mapreroot.trees.rooting import Ints, checked_edges, peeled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Kind", "Slot", "TreeCover"]

Ids = NDArray[np.int32]
Codes = NDArray[np.int8]


class Kind(IntEnum):
    """What a cluster is: a point hanging from one vertex, or a path between two."""

    RAKE = 0
    COMPRESS = 1


class Slot(IntEnum):
    """Where a cluster (or an edge) lies in its parent cluster, seen from its vertex."""

    UP = 0  # between the top and the vertex
    DOWN = 1  # between the vertex and the bottom
    RAKED = 2  # hanging from the vertex


class TreeCover:
    """Hierarchical cover of a forest by clusters with at most two boundary vertices.

    Every vertex v names one cluster S_v, split at v into smaller clusters and edges.
    Above the root of every component stands an imaginary vertex s and under every leaf
    an imaginary vertex (neither is stored), so that a cluster's boundary holds s
    whenever the cluster does: each has a *top* and, when it is a path, a *bottom*.

    Parameters
    ----------
    n : int
        Number of vertices, at least one.
    edges : array_like
        (m, 2) vertices of a forest.
    root : int, optional
        Root of its component. Every other component is rooted at its centroid, which
        in practice is at most one level from the best root.
    rake_only : bool or None, optional
        Use the rooted tree itself as cover: no path clusters, so that tables are
        vectors, at the price of a height that is the tree's own. None takes whichever
        of the two is less work for `k` labels, see :meth:`mean_work`.
    k : int, optional
        Number of labels that ``rake_only=None`` decides for.

    Attributes
    ----------
    n : int
        Number of vertices.
    edges : numpy.ndarray
        (m, 2) as given.
    height : int
        Largest level.
    level : numpy.ndarray
        (n,) longest way down from S_v to an edge; edges are at level 0.
    parent : numpy.ndarray
        (n,) vertex of the cluster that S_v is a part of; -1 for a whole component.
    kind : numpy.ndarray
        (n,) of :class:`Kind`.
    slot : numpy.ndarray
        (n,) of :class:`Slot`: the place of S_v in its parent.
    top, bottom : numpy.ndarray
        (n,) boundary vertices; -1 stands for s in `top` and for none in `bottom`.
    edge_parent, edge_slot : numpy.ndarray
        (m,) vertex of the cluster that each edge is a part of, and its place there.
    edge_top : numpy.ndarray
        (m,) 0 or 1: which of the edge's two vertices is nearer to the root.
    rake_only : bool
        Whether the cover is the rooted tree itself.

    Raises
    ------
    NotATreeError
        If the edges hold a cycle, which is in ``.cycle``.
    ModelError
        If an edge or the root names a vertex that does not exist, or n is not positive.

    Notes
    -----
    O(n) time and memory. Each round removes every vertex without live children (rake)
    and every vertex whose only live child stays (compress); the height is the smallest
    of any (2,s)-hierarchical cover with that root, and O(log n).
    Herbster, Pasteris, Vitale (2012), section 4 and Figure 1.

    Examples
    --------
    >>> cover = TreeCover(7, [(v, v + 1) for v in range(6)])
    >>> cover.height
    3
    >>> cover.ancestors(0)
    [0, 1, 3]
    >>> cover.boundary(1)
    (3,)
    """

    def __init__(
        self,
        n: int,
        edges: ArrayLike,
        root: int | None = None,
        *,
        rake_only: bool | None = False,
        k: int = 2,
    ) -> None:
        if n < 1:
            raise ModelError(f"n is {n}: a cover needs at least one vertex")
        if root is not None and not 0 <= root < n:
            raise ModelError(f"root is {root}: vertices are 0..{n - 1}")
        checked = checked_edges(n, edges)
        order, up, above = _rooted(n, peeled(n, checked), -1 if root is None else root)
        cover = _raked(up) if rake_only else _raked_and_compressed(up)
        if rake_only is None:
            tree = _raked(up)
            rake_only = _work(tree[-1], k) < _work(cover[-1], k)
            cover = tree if rake_only else cover
        # Kernels number vertices children first; -1 (s, none) is the entry behind the last.
        name = np.append(order, np.int32(-1))
        rank = np.empty(n, np.int32)
        rank[order] = np.arange(n, dtype=np.int32)
        level, kind, parent, slot, top, bottom, edge_parent, edge_slot, around = cover
        self.n = int(n)
        self.edges = checked.astype(np.int32)
        self.rake_only = rake_only
        self._around = around
        self.height = int(level.max())
        self.level, self.kind, self.slot = level[rank], kind[rank], slot[rank]
        self.parent, self.top, self.bottom = (name[ids[rank]] for ids in (parent, top, bottom))
        owned = above >= 0
        self.edge_parent = np.empty(len(checked), np.int32)
        self.edge_slot = np.empty(len(checked), np.int8)
        self.edge_top = np.empty(len(checked), np.int8)
        self.edge_parent[above[owned]] = name[edge_parent[owned]]
        self.edge_slot[above[owned]] = edge_slot[owned]
        self.edge_top[above[owned]] = self.edges[above[owned], 0] == order[owned]
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def boundary(self, v: int) -> tuple[int, ...]:
        """Real vertices that S_v shares with the rest of the forest, the top one first."""
        return tuple(int(u) for u in (self.top[v], self.bottom[v]) if u >= 0)

    def ancestors(self, v: int) -> list[int]:
        """Vertices of the clusters that an update of v touches: S_v and all around it."""
        chain = [int(v)]
        while self.parent[chain[-1]] >= 0:
            chain.append(int(self.parent[chain[-1]]))
        return chain

    def plot(
        self,
        touched_by: int | None = None,
        ax: Axes | None = None,
        names: Sequence[str] | None = None,
    ) -> Axes:
        """Draw the clusters, those that one update touches in red.

        Takes and raises what `mapreroot.report.cover.cover_tree` does.
        """
        from mapreroot.report.cover import cover_tree

        return cover_tree(self, touched_by, ax, names)

    def _repr_html_(self) -> str:
        paths = int((self.kind == Kind.COMPRESS).sum())
        return table(
            "Hierarchical cover",
            {
                "vertices": self.n,
                "edges": len(self.edges),
                "height": self.height,
                "clusters": f"{paths} paths, {self.n - paths} points",
            },
        )

    def mean_work(self, k: int) -> float:
        """Multiplications of one update and one query with k labels, mean over the vertices.

        A level costs k^3 in a path cluster and k^2 in any other, a query k^2 in all, and
        16 stands for what a level costs beside them.
        """
        return _work(self._around, k) / self.n


@njit(cache=True)
def _rooted(n: int, link: Ints, root: int) -> tuple[Ids, Ids, Ids]:
    """Root every component: children-first order, parent's rank (n: none), edge above.

    `parent` and `above` are indexed by rank, the place in the order.
    """
    parent = np.full(n, -1, np.int32)
    above = np.full(n, -1, np.int32)
    size = np.ones(n, np.int32)
    for k in range(len(link)):
        v, u = link[k, 0], link[k, 1]
        parent[v] = u
        above[v] = link[k, 2]
        size[u] += size[v]
    component = np.arange(n).astype(np.int32)
    chosen = np.arange(n).astype(np.int32)
    for k in range(len(link) - 1, -1, -1):
        v, u = link[k, 0], link[k, 1]
        c = component[u]
        component[v] = c
        if 2 * size[v] > size[c]:  # the last such vertex on the way down is a centroid
            chosen[c] = v
    if root >= 0:
        chosen[component[root]] = root
    # Only the way from the chosen root to the old one turns round: those vertices come last.
    turned = np.zeros(n, np.bool_)
    for c in range(n):
        if component[c] == c:
            v = chosen[c]
            while v >= 0:
                turned[v] = True
                v = parent[v]
    order = np.empty(n, np.int32)
    count = 0
    for k in range(len(link)):
        if not turned[link[k, 0]]:
            order[count] = link[k, 0]
            count += 1
    for c in range(n):
        if component[c] == c:
            v, below, edge_below = chosen[c], np.int32(-1), np.int32(-1)
            while v >= 0:
                parent[v], below, v = below, v, parent[v]
                above[below], edge_below = edge_below, above[below]
            v = np.int32(c)
            while v >= 0:
                order[count] = v
                count += 1
                v = parent[v]
    rank = size  # no longer needed: the same memory
    for i in range(n):
        rank[order[i]] = i
    up = np.empty(n, np.int32)
    edge = np.empty(n, np.int32)
    for i in range(n):
        up[i] = rank[parent[order[i]]] if parent[order[i]] >= 0 else n
        edge[i] = above[order[i]]
    return order, up, edge


@njit(cache=True)
def _raked_and_compressed(
    up: Ids,
) -> tuple[Ids, Codes, Ids, Codes, Ids, Ids, Ids, Codes, Ints]:
    """Merge all that can be merged, round by round, until nothing is live.

    The last array counts rake and compress clusters around a vertex, over all vertices.
    """
    n = len(up)
    level = np.zeros(n, np.int32)
    kind = np.zeros(n, np.int8)
    slot = np.full(n, 2, np.int8)
    parent = np.full(n, n, np.int32)
    top = np.full(n, n, np.int32)
    bottom = np.full(n, n, np.int32)
    edge_parent = np.full(n, n, np.int32)
    edge_slot = np.zeros(n, np.int8)

    live_parent = up.copy()
    children = np.zeros(n + 1, np.int32)
    child = np.zeros(n + 1, np.int32)  # XOR of the live children: the child when there is one
    for v in range(n):
        children[up[v]] += 1
        child[up[v]] ^= v
    size = np.ones(n + 1, np.int32)  # vertices in the clusters merged at v so far
    around = np.zeros(2, np.int64)
    between = np.full(n, -1, np.int32)  # cluster between v and its live parent, -1: an edge
    merges = np.zeros(n, np.bool_)
    live = np.arange(n).astype(np.int32)
    count = n
    this_round = 0
    while count > 0:
        this_round += 1
        for i in range(count):
            v = live[i]
            merges[v] = children[v] == 0 or (children[v] == 1 and not merges[child[v]])
        kept = 0
        for i in range(count):
            v = live[i]
            if not merges[v]:
                live[kept] = v
                kept += 1
                continue
            # The parent of a vertex that merges stays: merges of a round are independent.
            p = live_parent[v]
            level[v], top[v] = this_round, p
            if between[v] < 0:
                edge_parent[v] = v
            else:
                parent[between[v]], slot[between[v]] = v, 0
                size[v] += size[between[v]]
            if children[v] == 0:
                parent[v] = p
                children[p] -= 1
                child[p] ^= v
                size[p] += size[v]
                around[0] += size[v]
            else:
                c = child[v]
                kind[v], bottom[v] = 1, c
                if between[c] < 0:
                    edge_parent[c], edge_slot[c] = v, 1
                else:
                    parent[between[c]], slot[between[c]] = v, 1
                    size[v] += size[between[c]]
                around[1] += size[v]
                between[c] = v
                live_parent[c] = p
                child[p] ^= v ^ c
        count = kept
    return level, kind, parent, slot, top, bottom, edge_parent, edge_slot, around


@njit(cache=True)
def _raked(up: Ids) -> tuple[Ids, Codes, Ids, Codes, Ids, Ids, Ids, Codes, Ints]:
    """Rake every vertex onto its parent in the tree."""
    n = len(up)
    level = np.ones(n + 1, np.int32)
    size = np.ones(n + 1, np.int64)
    for v in range(n):
        level[up[v]] = max(level[up[v]], level[v] + 1)
        size[up[v]] += size[v]
    around = np.array([size[:n].sum(), 0])
    none = np.full(n, n, np.int32)
    itself = np.arange(n).astype(np.int32)
    raked = np.full(n, 2, np.int8)
    zero = np.zeros(n, np.int8)
    return level[:n], zero, up, raked, up, none, itself, zero, around


def _work(around: Ints, k: int) -> float:
    """Work for one update and one query of each vertex, from `_raked_and_compressed`."""
    rake, compress = int(around[0]), int(around[1])
    return float((rake + compress) * (16 + 2 * k**2) + compress * (k**3 - k**2))
