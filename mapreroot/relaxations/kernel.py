"""The smallest model that reductions and roof duality leave: what LP and search start from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition import Reduction, align, blocks, reduce
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.roof_duality import persistent_labels

__all__ = ["persistent_ties", "reduce_fully"]

Ints = npt.NDArray[np.int64]

WORTHWHILE = 0.01
"""Go on only while a round removes this share of the vertices: each one costs a cut."""


def reduce_fully(uprooted: UprootedModel, limits: Limits | None = None) -> Reduction:
    """Reduce, merge what roof duality ties, and repeat while the model shrinks.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.
    limits : Limits, optional
        Asked between two rounds; what has been reached by then is returned.

    Returns
    -------
    Reduction
        From ``uprooted`` to a kernel with the same optimum: ``restore`` takes an optimal
        assignment of the kernel to an optimal one.

    Raises
    ------
    SolverError
        As `roof_dual`.

    Notes
    -----
    A round is one minimum cut of the signed double cover, in which every biconnected block is
    rooted at its heaviest vertex, and a near linear reduction.

    Examples
    --------
    >>> edges = [(i, j) for i in range(6) for j in range(i + 1, 6)]
    >>> reduce_fully(UprootedModel(6, edges, [2.0, 2.0, 2.0, 2.0, 2.0] + [1.0] * 10)).kernel.m
    0
    """
    reduction = reduce(uprooted)
    while reduction.kernel.n_vertices and (limits is None or limits.reason() is None):
        before = reduction.kernel.n_vertices
        tied = persistent_ties(reduction.kernel)
        if not (tied >= 0).any():
            break
        reduction = reduction.then(reduce(reduction.kernel, tied))
        if before - reduction.kernel.n_vertices < WORTHWHILE * before:
            break
    return reduction


def persistent_ties(uprooted: UprootedModel) -> Ints:
    """Find vertices that are tied in every optimum, each block rooted at its heaviest vertex.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.

    Returns
    -------
    ndarray of int, shape (n_vertices,)
        2 v + s where y_u = y_v XOR s, -1 elsewhere: what `contract` and `reduce` take.

    Raises
    ------
    SolverError
        As `roof_dual`.

    Notes
    -----
    One minimum cut for all blocks together, each with its own copies of the cut vertices.
    """
    parts = blocks(uprooted)
    if not parts:
        return np.full(uprooted.n_vertices, -1, dtype=np.int64)
    vertices = np.concatenate([part.vertices for part in parts])
    sizes = np.array([len(part.vertices) for part in parts])
    offset = np.cumsum(sizes) - sizes
    edges = np.concatenate([part.model.edges + o for part, o in zip(parts, offset, strict=True)])
    weights = np.concatenate([part.model.weights for part in parts])
    apart = UprootedModel.from_canonical(len(vertices), edges, weights)
    weight = np.bincount(edges.ravel(), np.repeat(np.abs(weights), 2), len(vertices))
    heaviest = np.lexsort((-weight, np.repeat(np.arange(len(parts)), sizes)))[offset]
    labels = persistent_labels(apart, heaviest)
    known = np.flatnonzero(labels >= 0)
    roots = vertices[np.repeat(heaviest, sizes)]
    first, y = align(uprooted.n_vertices, roots[known], vertices[known], labels[known])
    return np.where(first == np.arange(len(first)), -1, 2 * first + y)
