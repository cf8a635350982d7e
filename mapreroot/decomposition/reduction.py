"""Reductions of M+ that lose nothing for MAP, and the way back.

Two rules do all the work. A *heavy* edge uv, 2 |W_uv| >= sum_x |W_ux|, ties y_u to y_v whatever
the rest does; edges at vertices of degree 1 and 2 always contain one. A vertex of degree 3
without a heavy edge follows the majority of its neighbours, and a triangle on them replaces it
(Fisher's star-triangle transformation, in the max-plus form). Both hold for any signs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition.rewriting import STEPS, linked, rewrite, undo
from mapreroot.errors import ModelError
from mapreroot.model import UprootedModel

__all__ = ["Reduction", "Step", "contract", "reduce"]

Bits = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]

NOISE = 2.0**-40
"""A sum of weights below NOISE times the smallest weight given is what cancellation left."""


class Step(IntEnum):
    """Kinds of rows in `Reduction.steps`."""

    FREE = 0
    """u had no edge left."""
    TIED = 1
    """The edge from u to a was heavy at one of its ends; u merged into a."""
    MAJORITY = 2
    """u had three edges, to a, b and c, none of them heavy; a triangle replaced it."""
    DROPPED = 3
    """The edge from u to a was dropped: its weight was noise of cancellation."""
    GIVEN = 4
    """u merged into a because the caller said so."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """A smaller model with the same optimum, and how to come back from it.

    Attributes
    ----------
    kernel : UprootedModel
        What is left; its constant holds all that was gained. No vertex at all is left when the
        model was solved.
    vertices : ndarray of int, shape (kernel.n_vertices,)
        The original vertex behind each kernel vertex, ascending.
    n_vertices : int
        Vertices of the original model.
    steps : ndarray of int, shape (k, 5)
        What was done, in order, as rows (kind, u, a, b, c) in original vertices: `Step` names the
        kinds. a, b, c are literals 2 v + s, "y_v XOR s", or -1 where the kind needs none. The
        sign s is that of the edge at the time (1 for a repulsive one), so replaying the rows on
        exact numbers gives the kernel up to rounding.

    Notes
    -----
    For every y of the kernel, ``restore(y)`` scores in the original what y scores in the kernel,
    and no assignment that agrees with y on ``vertices`` (and with the ties that were given)
    scores more.
    """

    kernel: UprootedModel
    vertices: Ints
    n_vertices: int
    steps: Ints

    def __post_init__(self) -> None:
        self.vertices.setflags(write=False)
        self.steps.setflags(write=False)

    @classmethod
    def nothing(cls, uprooted: UprootedModel) -> Reduction:
        """Give the reduction that leaves a model as it is.

        Examples
        --------
        >>> Reduction.nothing(UprootedModel(2, [(0, 1)], [1.0])).restore([0, 1]).tolist()
        [0, 1]
        """
        n = uprooted.n_vertices
        return cls(uprooted, np.arange(n), n, np.zeros((0, 5), dtype=np.int64))

    def restore(self, y: npt.ArrayLike) -> Bits:
        """Extend an assignment of the kernel to the original vertices, optimally.

        Parameters
        ----------
        y : array_like of 0 and 1, shape (kernel.n_vertices,)

        Returns
        -------
        ndarray of int8, shape (n_vertices,)

        Raises
        ------
        ModelError
            For a wrong shape, or a value that is not 0 or 1.

        Notes
        -----
        O(n_vertices). Where a vertex is free or its component is solved, it takes 0.
        """
        given = np.asarray(y)
        if given.shape != self.vertices.shape:
            raise ModelError(f"y has shape {given.shape}: expected ({len(self.vertices)},)")
        if not ((given == 0) | (given == 1)).all():
            raise ModelError("y holds something other than 0 and 1")
        full = np.zeros(self.n_vertices, dtype=np.int8)
        full[self.vertices] = given
        undo(self.steps, full)
        return full

    def then(self, other: Reduction) -> Reduction:
        """Compose with a reduction of this kernel.

        Parameters
        ----------
        other : Reduction
            Of ``self.kernel``.

        Returns
        -------
        Reduction
            From the original model to ``other.kernel``.

        Raises
        ------
        ModelError
            If the vertex counts do not fit.
        """
        if other.n_vertices != self.kernel.n_vertices:
            raise ModelError(
                f"a reduction of {other.n_vertices} vertices cannot follow one that leaves "
                f"{self.kernel.n_vertices}"
            )
        steps = other.steps.copy()
        steps[:, 1] = self.vertices[steps[:, 1]]
        literals = steps[:, 2:]
        used = literals >= 0
        literals[used] = 2 * self.vertices[literals[used] >> 1] + (literals[used] & 1)
        return Reduction(
            other.kernel,
            self.vertices[other.vertices],
            self.n_vertices,
            np.concatenate([self.steps, steps]),
        )


def reduce(uprooted: UprootedModel, tied: npt.ArrayLike | None = None) -> Reduction:
    """Apply the rules until none applies: isolated vertices, heavy edges, degrees 1, 2 and 3.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.
    tied : array_like of int, shape (n_vertices,), optional
        Relations that are known beforehand, merged first; see `contract`.

    Returns
    -------
    Reduction
        Its kernel has no vertex of degree less than 4 and no heavy edge, so a model whose
        vertices of degree at most 3 can be removed one after the other is solved.

    Raises
    ------
    ModelError
        As `contract`.

    Notes
    -----
    Near linear: a merge relinks the shorter of two lists of edges, and a list is read again only
    when a fixed share of it has changed. Weights are kept in double-double numbers, so that a
    small weight survives the cancellation of large ones; parallel edges are summed, and a sum
    below `NOISE` of the smallest weight given is dropped.

    Examples
    --------
    >>> frustrated = UprootedModel(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [-2.0, -3.0, -4.0, -1.0])
    >>> reduction = reduce(frustrated)
    >>> reduction.kernel.n_vertices, reduction.kernel.constant
    (0, 4.0)
    >>> frustrated.score(reduction.restore([]))
    4.0
    """
    return _reduced(uprooted, tied, eliminate=True)


def contract(uprooted: UprootedModel, tied: npt.ArrayLike) -> Reduction:
    """Merge vertices whose relation is known, and do nothing else.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.
    tied : array_like of int, shape (n_vertices,)
        2 v + s where y_u = y_v XOR s shall hold, with v itself not tied; -1 elsewhere.

    Returns
    -------
    Reduction
        Exact for the assignments that respect the ties.

    Raises
    ------
    ModelError
        For a wrong shape or type, a vertex that does not exist, or one tied to itself or to a
        vertex that is tied.

    Notes
    -----
    O(n + m), in double-double numbers as `reduce`.

    Examples
    --------
    >>> path = UprootedModel(3, [(0, 1), (1, 2)], [2.0, -1.0])
    >>> reduction = contract(path, [-1, 2 * 0 + 1, -1])
    >>> reduction.vertices.tolist(), reduction.kernel.weights.tolist(), reduction.kernel.constant
    ([0, 2], [1.0], -0.5)
    >>> reduction.restore([0, 1]).tolist()
    [0, 1, 1]
    """
    return _reduced(uprooted, tied, eliminate=False)


def _reduced(uprooted: UprootedModel, tied: npt.ArrayLike | None, eliminate: bool) -> Reduction:
    n, m = uprooted.n_vertices, uprooted.m
    ties = np.full(n, -1, dtype=np.int64) if tied is None else _checked(tied, n)
    graph = linked(n, uprooted.edges, uprooted.weights, uprooted.constant)
    floor = NOISE * float(np.abs(uprooted.weights).min(initial=np.inf)) if m else 0.0
    rewrite(graph, ties, floor, eliminate)
    vertices = np.flatnonzero(graph.degree >= 0)
    new = np.cumsum(graph.degree >= 0) - 1
    alive = graph.to[0::2] >= 0
    ends = new[np.stack([graph.to[1::2][alive], graph.to[0::2][alive]], axis=1)]
    ends.sort(axis=1)
    order = np.argsort(ends[:, 0] * len(vertices) + ends[:, 1], kind="stable")
    return Reduction(
        UprootedModel.from_canonical(
            len(vertices),
            np.ascontiguousarray(ends[order]),
            np.ascontiguousarray(graph.W[alive][order, 0]),
            float(graph.constant[0]),
        ),
        vertices,
        n,
        graph.steps[: graph.counters[STEPS]].copy(),  # frees the room kept for more
    )


def _checked(tied: npt.ArrayLike, n: int) -> Ints:
    ties = np.asarray(tied)
    if ties.shape != (n,) or (n and ties.dtype.kind not in "iu"):
        raise ModelError(
            f"tied has shape {ties.shape} and type {ties.dtype}: expected ({n},) of int"
        )
    ties = ties.astype(np.int64)
    u = np.flatnonzero((ties < -1) | (ties >= 2 * n))
    if len(u):
        raise ModelError(f"tied[{u[0]}] is {ties[u[0]]}: expected -1 or a literal below {2 * n}")
    u = np.flatnonzero(ties >= 0)
    chained = u[ties[ties[u] >> 1] >= 0]
    if len(chained):
        v = ties[chained[0]] >> 1
        raise ModelError(f"vertex {chained[0]} is tied to vertex {v}, which is tied itself")
    return ties
