"""The nodes of a search bounded by the semidefinite program: inheritance, rounding, branching."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapreroot.decomposition import Reduction, Step
from mapreroot.exact.semidefinite import Multipliers

__all__ = ["carried", "hyperplane_roundings", "splitting_pair"]

Bits = NDArray[np.int8]
Floats = NDArray[np.float64]


def carried(multipliers: Multipliers, way: Reduction) -> Multipliers:
    """Carry multipliers over to the kernel of a reduction: any give a true bound there.

    Vertices that merged take their multipliers along; what rests on a vertex that was eliminated
    is dropped.
    """
    image = np.full(way.n_vertices, -1, np.int64)
    flipped = np.zeros(way.n_vertices, np.bool_)
    image[way.vertices] = np.arange(len(way.vertices))
    for kind, u, a, _, _ in way.steps[::-1]:
        if kind in (Step.TIED, Step.GIVEN):
            image[u] = image[a >> 1]
            flipped[u] = flipped[a >> 1] ^ bool(a & 1)
    return multipliers.contract(image, flipped, len(way.vertices))


def hyperplane_roundings(X: Floats, seed: int, count: int = 10) -> Bits:
    """Round a Gram matrix of spins by random hyperplanes (Goemans and Williamson 1995).

    Returns
    -------
    ndarray of int8, shape (count, N)
        Distinct, and 0 at the first vertex.
    """
    values, vectors = np.linalg.eigh(X)
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    normals = np.random.default_rng(seed).standard_normal((len(X), count))
    y = (spread @ normals > 0).T.astype(np.int8)
    return np.unique(y ^ y[:, :1], axis=0)


def splitting_pair(X: Floats) -> tuple[int, int]:
    """Choose the two vertices whose relation is least decided, u < v."""
    N = len(X)
    doubt = np.abs(X) + 2 * np.tri(N)
    u, v = divmod(int(np.argmin(doubt)), N)
    return u, v
