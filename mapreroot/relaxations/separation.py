"""Violated cycle inequalities of a point d, found on the edges present.

For a cycle C and an odd subset F of its edges, every cut satisfies
``d(F) - d(C - F) <= |F| - 1`` (Barahona and Mahjoub 1986). Give an edge the length 1 - d if it is
in F and d otherwise: the inequality says that the cycle is at least 1 long. In the doubled graph,
with copies v' and v'' of each vertex, edges outside F join equal copies and edges of F opposite
ones, so a violated inequality is a path from some v' to v'' shorter than 1.

Three things make this fast, and none of them loses a violated inequality:

* the components of edges with d at 0 or 1 are points, with a parity for each of their vertices;
* swapping the copies is a symmetry of the doubled graph, so a path shorter than 1 has its middle
  on an edge whose ends are closer than 1/2 to v' and v'', and a ball of radius 1/2 shows it;
* a vertex through which no violated cycle goes is erased before the next one is tried.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cuts import Cuts
from mapreroot.relaxations.odd_cycles import (
    CHOICES,
    VIOLATION,
    Forest,
    Point,
    Pool,
    Search,
    View,
    adjacency,
    contract,
    from_cuts,
    from_edges,
    from_vertices,
    spread,
    triangle_excess,
    triangles,
)
from mapreroot.relaxations.shrinking import Shrunk

__all__ = ["Separator"]

TIGHT, SPLIT = 1e-6, 6
"""Lifted cuts are kept up to this slack, and up to so many times what there was to lift."""

MANY = 1_000_000
"""Of more violated triangles than this only so many, the most violated, are compared."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Separator:
    """Finds violated cycle inequalities on one graph, again and again.

    Parameters
    ----------
    uprooted : UprootedModel
        Only its edges count.

    Notes
    -----
    O(N + m) memory, besides the list of triangles (12 bytes each).
    """

    def __init__(self, uprooted: UprootedModel) -> None:
        n, m = uprooted.n_vertices, uprooted.m
        self.n, self.m = n, m
        self.ends = np.ascontiguousarray(uprooted.edges.T)
        self.graph = adjacency(n, self.ends[0], self.ends[1], np.arange(m))
        self.triangles = triangles(self.graph, self.ends)
        # Each arc of the doubled graph, 8 m in all, enters the heap at most once per search.
        self._search = Search(
            dist=np.zeros(2 * n),
            seen=np.zeros(2 * n, np.int64),
            done=np.zeros(2 * n, np.int64),
            prev=np.zeros(2 * n, np.int64),
            via=np.zeros(2 * n, np.int64),
            key=np.zeros(8 * m + 2),
            node=np.zeros(8 * m + 2, np.int64),
            mark=np.full(n, -1, np.int64),
            total=np.zeros(CHOICES),
            choice=np.zeros((CHOICES, 3), np.int64),
            walk=np.zeros((8 * n + 16, 4), np.int64),
            cycles=np.zeros((4 * n + 64, 3), np.int64),
            reach=np.zeros(n + 1),
            queue=np.zeros((2, n), np.int64),
            reached=np.full(n, -1, np.int64),
            link=np.zeros(n, np.int64),
            size=np.zeros(1, np.int64),
        )
        self._stamp = 0
        alone = np.zeros(n, np.int64)
        self._points = Forest(np.arange(n), alone)

    def triangle_cuts(self, d: Floats, wanted: int, per_edge: int) -> Cuts:
        """Give violated triangle inequalities, the most violated first.

        Parameters
        ----------
        d : ndarray, shape (m,)
        wanted, per_edge : int
            At most so many cuts, and at most so many with the same edge.
        """
        if not len(self.triangles):
            return Cuts.none()
        excess, kind = triangle_excess(self.triangles, d)
        found = np.flatnonzero(excess > VIOLATION)
        if len(found) > MANY:  # sorting them all would take longer than the program they enter
            noise = 1e-9 * np.random.default_rng(0).random(len(found))
            found = np.sort(found[np.argpartition(-(excess[found] + noise), MANY)[:MANY]])
        odd = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.bool_)
        cuts = Cuts(
            np.arange(len(found) + 1) * 3,
            self.triangles[found].astype(np.int64).ravel(),
            odd[kind[found]].ravel(),
        )
        return self.best(cuts, d, wanted, per_edge)

    def best(self, cuts: Cuts, d: Floats, wanted: int, per_edge: int) -> Cuts:
        """Choose cuts that are much violated for their length and share few edges.

        Hundreds of cuts through the same few edges are little better than one of them, and make
        the linear program slow.
        """
        if len(cuts) == 0:
            return cuts
        depth = cuts.violation(d) / np.sqrt(np.diff(cuts.start))
        # Ties are broken at random, or they would all go to the first vertices.
        noise = np.random.default_rng(0).random(len(cuts))
        order = np.lexsort((noise, -np.round(depth, 6)))
        taken = spread(order, cuts.start, cuts.edge, self.m, per_edge, wanted)
        return cuts[np.flatnonzero(taken)]

    def cycle_cuts(
        self,
        d: Floats,
        wanted: int,
        penalty: float = 0.0,
        each: int = 3,
        per_edge: int | None = None,
        limits: Limits | None = None,
    ) -> Cuts:
        """Give violated inequalities on chordless cycles.

        Parameters
        ----------
        d : ndarray, shape (m,)
        wanted : int
            No further vertex is tried once so many have been found. The answer is empty only
            if no inequality is violated by more than VIOLATION.
        penalty : float
            Added per edge where cycles through integral edges are searched: prefers short ones.
        each : int
            Cuts per vertex and search, before they are split at chords.
        per_edge : int
            Searches go round edges that so many cuts have, so that cycles are found side by side
            and not all through the same few edges. On tori this halves the rounds, but long cuts
            in such numbers cost the simplex method more than that.
        limits : Limits, optional
            When it is late, the cuts found so far are returned, or none.

        Notes
        -----
        O(k (m' + N') log N') for the N' components joined by m' fractional edges, k of them
        tried.
        """
        limits = limits or Limits()
        most = wanted + 1 if per_edge is None else per_edge
        pool = self._pool(4 * wanted, 40 * wanted + 16 * self.n + 64, most)
        point = Point(self.graph, self.ends, d)
        forest, n_components = contract(self.graph, d)
        u, v = self.ends
        a, b = forest.component[u], forest.component[v]
        twist = forest.parity[u] ^ forest.parity[v]
        length = np.where(twist == 0, d, 1.0 - d)
        outer = np.flatnonzero(a != b)
        quotient = View(adjacency(n_components, a[outer], b[outer], outer), forest, length, twist)
        inner = np.flatnonzero((a == b) & (length > VIOLATION))
        if len(inner):
            order = inner[np.argsort(-length[inner], kind="stable")]
            whole = View(self.graph, self._points, d, np.zeros(self.m, np.int64))
            # Without a penalty a search would walk through all of a component.
            short = max(penalty, 1e-3)
            self._from_vertices(whole, point, u[order], short, each, wanted, pool, limits)
            from_edges(quotient, point, order, wanted, self._search, pool)
        # Vertices of many edges first: they are erased before they can slow the others down.
        degree = np.diff(quotient.graph.start)
        sources = np.argsort(-degree, kind="stable")[: np.count_nonzero(degree)]
        self._from_vertices(quotient, point, sources, 0.0, each, wanted, pool, limits)
        return self._found(pool)

    def _from_vertices(
        self,
        view: View,
        point: Point,
        sources: Ints,
        penalty: float,
        each: int,
        wanted: int,
        pool: Pool,
        limits: Limits,
    ) -> None:
        """Collect cuts through the sources, some at a time: on a large model all take long."""
        erased, tried = np.zeros((2, len(view.graph.start) - 1), np.bool_)
        for first, end in limits.batches(len(sources)):
            some = sources[first:end]
            from_vertices(
                view, point, some, penalty, each, wanted, erased, tried, self._search, pool
            )
            if pool.size[0] >= wanted:
                return

    def lifted(self, shrunk: Shrunk, cuts: Cuts, d: Floats) -> Cuts:
        """Lift cycle inequalities of a model shrunk from this graph's, and split them at chords.

        Parameters
        ----------
        shrunk : Shrunk
        cuts : Cuts
            Of ``shrunk.model``.
        d : ndarray, shape (m,)
            An optimum of that model, extended: the cuts that its bound needs are tight there, and
            where a cycle has a chord both parts are tight, and say more.
        """
        long = shrunk.stretch(cuts)
        wanted = SPLIT * len(long)
        pool = self._pool(wanted, SPLIT * len(long.edge) + self.n, wanted)
        joined = Point(self.graph, self.ends, shrunk.joined)
        point = Point(self.graph, self.ends, d)
        edge, odd = np.ascontiguousarray(long.edge), np.ascontiguousarray(long.odd)
        from_cuts(long.start, edge, odd, shrunk.forest, joined, point, -TIGHT, self._search, pool)
        return self._found(pool)

    def _pool(self, wanted: int, room: int, most: int) -> Pool:
        return Pool(
            start=np.zeros(wanted + 65, np.int64),
            edge=np.zeros(room, np.int64),
            odd=np.zeros(room, np.bool_),
            table=np.zeros(1 << (4 * wanted + 256).bit_length(), np.uint64),
            uses=np.zeros(self.m, np.int64),
            most=most,
            size=np.array([0, self._stamp]),
        )

    def _found(self, pool: Pool) -> Cuts:
        self._stamp = pool.size[1]
        k = pool.size[0]
        size = pool.start[k]
        return Cuts(pool.start[: k + 1].copy(), pool.edge[:size].copy(), pool.odd[:size].copy())
