"""LOC at any root by one minimum cut, with the labels that it proves: roof duality.

The signed double cover has two copies, 2v and 2v + 1, of each vertex v: an attractive edge joins
equal copies, a repulsive one opposite copies, both times with capacity |W|. Rooting at r makes 2r
the source and 2r + 1 the sink, and LOC of M_r is

    c + 1/2 sum_(W < 0) |W| - mincut / 4

(Hammer, Hansen and Simeone 1984; Boros and Hammer 2002). A vertex whose copies are on different
sides agrees with the root, or differs from it, in an optimal assignment of M+.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot import memory
from mapreroot.errors import ModelError, SolverError
from mapreroot.flow import min_cut
from mapreroot.model import TOL, UprootedModel

__all__ = ["RoofDual", "best_loc_root", "loc_by_root", "persistent_labels", "roof_dual"]

Bits = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

BITS = 50
"""Capacities are integers below 2**BITS, held in floats, which add eight of them exactly."""

SPREAD = 2.0**36
"""Weights that differ by more than this factor need room for rounding around every label."""

BYTES_PER_EDGE, BYTES_PER_VERTEX = 250, 200
"""What the double cover and its minimum cut take."""


@dataclass(frozen=True, eq=False)
class RoofDual:
    """The relaxation LOC of one rooting, solved.

    Attributes
    ----------
    root : int
        A vertex of M+.
    bound : float
        LOC of M_root: no assignment of M+ scores more.
    d : ndarray, shape (n_vertices,)
        A half-integral optimum: 0, 1/2 or 1, the value of "y_j and y_root differ".
    strong : ndarray of int8, shape (n_vertices,)
        y_j XOR y_root where every optimal assignment has that value; -1 where nothing is known.
    weak : ndarray of int8, shape (n_vertices,)
        The same, such that some optimal assignment has all these values at once; holds what
        ``strong`` holds, and more only if it was searched for.
    """

    root: int
    bound: float
    d: Floats
    strong: Bits
    weak: Bits

    def __post_init__(self) -> None:
        for array in (self.d, self.strong, self.weak):
            array.setflags(write=False)

    @property
    def tied(self) -> Ints:
        """The weak labels as `mapreroot.decomposition.contract` takes them."""
        tied = np.where(self.weak >= 0, 2 * self.root + self.weak.astype(np.int64), -1)
        tied[self.root] = -1
        return tied

    def on_edges(self, uprooted: UprootedModel) -> Floats:
        """Extend the optimum to the edges of the model that was solved.

        Returns
        -------
        ndarray, shape (m,)
            d_ij in {0, 1/2, 1}; c - 1/2 sum W_ij d_ij is ``bound``, to rounding.
        """
        a, b = self.d[uprooted.edges].T
        # Between two halves the triangle {root, i, j} leaves all of [0, 1]: W decides.
        free = (a == 0.5) & (b == 0.5)
        values = np.where((a == 0.5) | (b == 0.5), 0.5, np.abs(a - b))
        return np.where(free, (uprooted.weights < 0).astype(float), values)


def roof_dual(uprooted: UprootedModel, root: int, weak: bool = False) -> RoofDual:
    """Solve LOC of M_root by one minimum cut.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.
    root : int
    weak : bool
        Search for weak labels too, by a second cut. They exist where optima tie, and the search
        needs weights that are small multiples of one power of two (such as +-1); elsewhere it
        adds nothing.

    Returns
    -------
    RoofDual

    Raises
    ------
    ModelError
        If there is no such vertex.
    SizeError
        If the cut would need more memory than the machine has left.
    SolverError
        If weights are not finite, or the cut engine's answer fails a check.

    Notes
    -----
    One cut with 2 N vertices and 2 m edges. Capacities are rounded down to integers below 2^50,
    in units of at most 2^-49 of the largest weight. So the engine's arithmetic is exact, the cut
    found is minimal for these capacities, and the bound, added up from them in integers, holds
    for the weights given: it exceeds LOC by at most 2^-49 of the largest weight for each edge.
    Weights that are multiples of the unit lose nothing. (This is so for PyMaxflow; OR-tools,
    where it stands in, rounds again, to 2^-61 of the sum of all capacities.)

    Labels hold exactly for weights that are multiples of the unit, and also where the largest
    weight is more than 2^36 times the smallest: there each vertex needs a margin above what
    rounding could change. In between they hold up to the rounding of the score.

    Examples
    --------
    >>> tail = [(0, 1), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    >>> frustrated = UprootedModel(5, tail, [-3.0, -2.0, -2.0, -2.0, -2.0, -2.0, -2.0])
    >>> dual = roof_dual(frustrated, 1)
    >>> dual.bound, dual.d.tolist()
    (6.0, [1.0, 0.0, 0.5, 0.5, 0.5])
    """
    if not 0 <= root < uprooted.n_vertices:
        raise ModelError(f"no vertex {root}: the model has 0..{uprooted.n_vertices - 1}")
    memory.require(
        BYTES_PER_EDGE * uprooted.m + BYTES_PER_VERTEX * uprooted.n_vertices,
        f"LOC of {uprooted.n_vertices} vertices and {uprooted.m} edges",
        "split the model, or fix some of its variables",
    )
    cover = _Cover.of(uprooted, np.array([root]))
    bound, strong = cover.solve()
    labels = cover.more_labels(strong) if weak else strong
    d = np.where(labels >= 0, labels, 0.5)
    return RoofDual(root, bound, d, strong, labels)


def persistent_labels(uprooted: UprootedModel, roots: npt.ArrayLike) -> Bits:
    """Find the strong labels at several roots, each in a component of its own, by one cut.

    Parameters
    ----------
    uprooted : UprootedModel
    roots : array_like of int
        At most one in each connected component.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        y_j XOR y_root for the root of j's component; -1 where nothing is known.

    Raises
    ------
    SolverError
        As `roof_dual`, whose notes hold here too.
    """
    return _Cover.of(uprooted, np.asarray(roots, dtype=np.int64)).solve()[1]


def loc_by_root(uprooted: UprootedModel, roots: Iterable[int]) -> Floats:
    """Compute the bound LOC of M_r for each root r.

    Returns
    -------
    ndarray
        In the order of ``roots``; one cut each.

    Raises
    ------
    ModelError, SolverError
        As `roof_dual`.
    """
    return np.array([roof_dual(uprooted, root).bound for root in roots], dtype=np.float64)


def best_loc_root(
    uprooted: UprootedModel, roots: Sequence[int] | None = None
) -> tuple[int, RoofDual, int]:
    """Find the root with the smallest LOC in a handful of cuts.

    Parameters
    ----------
    uprooted : UprootedModel
    roots : sequence of int, optional
        The candidates; all vertices by default.

    Returns
    -------
    root : int
    dual : RoofDual
        At that root.
    flows : int
        How many cuts it took.

    Raises
    ------
    ModelError
        If there is no candidate.
    SolverError
        As `roof_dual`.

    Notes
    -----
    Two facts leave few roots to try, the heaviest first: LOC_v >= LOC_r for every v persistent at
    r, and LOC_r >= c + 1/2 sum_(W < 0) |W| - 1/4 sum_j |W_rj|, as cutting off r is a cut. Roots
    that could win by less than TOL times the largest weight are not tried.

    Examples
    --------
    >>> k4 = UprootedModel(4, [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)], [4.0, 1.0, 1.0, -1.0, 1.0])
    >>> root, dual, flows = best_loc_root(k4)
    >>> root, dual.bound, flows
    (0, 0.0, 1)
    """
    size = np.abs(uprooted.weights)
    weight = np.bincount(uprooted.edges.ravel(), np.repeat(size, 2), minlength=uprooted.n_vertices)
    open_ = np.zeros(uprooted.n_vertices, dtype=np.bool_)
    open_[
        np.arange(uprooted.n_vertices) if roots is None else np.asarray(roots, dtype=np.int64)
    ] = True
    if not open_.any():
        raise ModelError("no root to choose from")
    least = uprooted.constant + size[uprooted.weights < 0].sum() / 2 - weight / 4
    slack = TOL * float(size.max(initial=0.0))
    best: RoofDual | None = None
    flows = 0
    for root in np.argsort(-weight, kind="stable").tolist():
        if not open_[root]:
            continue
        if best is not None and least[root] >= best.bound - slack:
            break  # the roots that follow are lighter still
        dual = roof_dual(uprooted, root)
        flows += 1
        open_[dual.strong >= 0] = False
        if best is None or dual.bound < best.bound - slack:
            best = dual
    assert best is not None
    return best.root, best, flows


@dataclass(frozen=True, eq=False)
class _Cover:
    """The signed double cover of M+ with integer capacities, rooted."""

    uprooted: UprootedModel
    roots: Ints
    capacity: Floats  # (m,) of both copies of an edge
    exponent: int  # capacities count units of 2**exponent
    spring: Floats  # (n_vertices,) pulls the two copies of a vertex together

    @classmethod
    def of(cls, uprooted: UprootedModel, roots: Ints) -> _Cover:
        weights = uprooted.weights
        largest = float(max(weights.max(initial=0.0), -weights.min(initial=0.0)))
        exponent = int(np.frexp(largest)[1]) - BITS if math.isfinite(largest) else 0
        capacity, smallest = _floored(weights, exponent)
        spring = np.zeros(uprooted.n_vertices)
        if largest > SPREAD * smallest:
            rounded = capacity != np.ldexp(np.abs(weights), -exponent)
            # A set A of labels beats any change by more than the sum of the springs in A, and
            # rounding changes that by less than one unit for each rounded edge at A.
            spring += np.bincount(uprooted.edges[rounded].ravel(), minlength=len(spring))
        return cls(uprooted, roots, capacity, exponent, spring)

    def solve(self) -> tuple[float, Bits]:
        """Give the bound and the strong labels."""
        side = self._cut(self.capacity, np.zeros((2, self.uprooted.n_vertices)))
        labels = _labels(side)
        self._check(labels)
        high, low, lost = _units(
            self.uprooted.edges,
            self.uprooted.weights,
            self.capacity,
            self.exponent,
            self.spring,
            side,
        )
        units = (int(high) << 26) + int(low) + 2 * lost
        return self.uprooted.constant + math.ldexp(units / 4, self.exponent), labels

    def more_labels(self, strong: Bits) -> Bits:
        """Add weak labels where optima tie, by a cut with the ties broken at random."""
        n = self.uprooted.n_vertices
        if not len(self.capacity) or (self.spring > 0).any():
            return strong
        bits = int(np.bitwise_or.reduce(self.capacity.astype(np.int64)))
        lowest = bits & -bits
        # Each vertex may add up to 2 to a cut; together they must stay below one unit.
        fine = 4 * n
        if (bits // lowest) * fine >= 2**BITS:
            return strong
        heads = np.random.default_rng(0).integers(0, 2, n)
        pull = np.stack([heads, 1 - heads]).astype(np.float64)
        pull[:, self.roots] = 0
        weak = _labels(self._cut(self.capacity / lowest * fine, pull))
        if (weak[strong >= 0] != strong[strong >= 0]).any():
            raise SolverError("two cuts disagree about labels that every optimum has")
        self._check(weak)
        return weak

    def _cut(self, capacity: Floats, pull: Floats) -> Flags:
        """Cut the cover; ``pull`` holds extra attractive and repulsive edges to the root."""
        n = self.uprooted.n_vertices
        is_root = np.zeros(n, dtype=np.bool_)
        is_root[self.roots] = True
        source = np.empty(2 * n)
        source[0::2], source[1::2] = pull
        tail, head, sizes = _doubled(
            self.uprooted.edges, self.uprooted.weights, capacity, is_root, source
        )
        sink = source.reshape(n, 2)[:, ::-1].ravel()
        sprung = np.flatnonzero(self.spring)
        if len(sprung):
            ends = (2 * sprung).astype(np.int32)
            tail, head = np.append(tail, ends), np.append(head, ends + np.int32(1))
            sizes = np.append(sizes, self.spring[sprung])
        _, side = min_cut(tail, head, sizes, source, sink)
        side[2 * self.roots], side[2 * self.roots + 1] = False, True
        return side

    def _check(self, labels: Bits) -> None:
        """Check the labels one by one, and all at once: flipping them must not raise the score.

        Unlabelled neighbours are counted against them, whatever values those take.
        """
        free = labels >= 0  # those that can be flipped
        free[self.roots] = False
        margin, weight, boundary = _margins(
            self.uprooted.edges, self.uprooted.weights, labels, free
        )
        wrong = free & (margin < -TOL * weight)
        if wrong.any():
            v = int(np.flatnonzero(wrong)[0])
            raise SolverError(f"the label of vertex {v} fails its check by {-margin[v]}")
        if boundary < -TOL * weight[free].sum():
            raise SolverError("the labels, taken together, fail their check")


def _labels(side: Flags) -> Bits:
    """Label the vertices whose copies are on different sides."""
    return np.where(side[0::2] != side[1::2], side[0::2], np.int8(-1)).astype(np.int8, copy=False)


@njit(cache=True)
def _floored(weights: Floats, exponent: int) -> tuple[Floats, float]:
    """Give |W| in units of 2**exponent, rounded down; and the smallest |W|."""
    capacity, smallest = np.empty(len(weights)), np.inf
    for e in range(len(weights)):
        size = abs(weights[e])
        smallest = min(smallest, size)
        capacity[e] = math.floor(math.ldexp(size, -exponent))
    return capacity, smallest


@njit(cache=True)
def _units(
    edges: Ints, weights: Floats, capacity: Floats, exponent: int, spring: Floats, side: Flags
) -> tuple[int, int, float]:
    """Give twice the repulsive weight and the springs, less the cut: 2**26 high + low, exactly.

    And what rounding took from the repulsive weights.
    """
    high, low, lost = 0, 0, 0.0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        crossed = 1 if weights[e] < 0 else 0
        count = 2 * crossed - (side[2 * i] != side[2 * j + crossed])
        count -= side[2 * i + 1] != side[2 * j + 1 - crossed]
        whole = int(capacity[e])
        high += count * (whole >> 26)
        low += count * (whole & (2**26 - 1))
        if crossed:
            lost += math.ldexp(-weights[e], -exponent) - capacity[e]
    for v in range(len(spring)):
        if side[2 * v] == side[2 * v + 1]:
            low += int(spring[v])
    return high, low, lost


@njit(cache=True)
def _doubled(
    edges: Ints, weights: Floats, capacity: Floats, is_root: Flags, source: Floats
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Floats]:
    """List the cover's edges between vertices that are no roots; the others go into ``source``.

    Ids alternate between the copies, so that neighbours stay close in memory.
    """
    inner = 0
    for e in range(len(edges)):
        inner += not (is_root[edges[e, 0]] or is_root[edges[e, 1]])
    # PyMaxflow has no more vertices than an int counts, either.
    tail, head = np.empty(2 * inner, np.int32), np.empty(2 * inner, np.int32)
    sizes = np.empty(2 * inner)
    k = 0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        crossed = 1 if weights[e] < 0 else 0
        if is_root[i] or is_root[j]:
            source[2 * (j if is_root[i] else i) + crossed] += capacity[e]
        else:
            tail[k], head[k], sizes[k] = 2 * i, 2 * j + crossed, capacity[e]
            tail[k + 1], head[k + 1], sizes[k + 1] = 2 * i + 1, 2 * j + 1 - crossed, capacity[e]
            k += 2
    return tail, head, sizes


@njit(cache=True)
def _margins(
    edges: Ints, weights: Floats, labels: Bits, free: Flags
) -> tuple[Floats, Floats, float]:
    """Sum what supports the label of each vertex, and |W|; and the support of all free labels."""
    margin, weight = np.zeros(len(labels)), np.zeros(len(labels))
    boundary = 0.0
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        size = abs(weights[e])
        support = -size
        if labels[i] >= 0 and labels[j] >= 0 and (labels[i] == labels[j]) == (weights[e] > 0):
            support = size
        margin[i] += support
        margin[j] += support
        weight[i] += size
        weight[j] += size
        if free[i] != free[j]:
            boundary += support
    return margin, weight, boundary
