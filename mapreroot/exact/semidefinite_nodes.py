"""The nodes of a search bounded by the semidefinite program: inheritance, rounding, branching."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapreroot.decomposition import Reduction, Step
from mapreroot.exact.semidefinite import Multipliers
from mapreroot.model import UprootedModel

__all__ = ["carried", "hyperplane_roundings", "is_dense", "is_half_dense", "splitting_pair"]

Bits = NDArray[np.int8]
Floats = NDArray[np.float64]


# The semidefinite bound is the better one from this share of all N^2 / 2 edges on, and worth a
# try from so many edges a vertex; with more vertices eigenvalue decompositions take too long.
_DENSE, _HALF_DENSE, _EIGEN_VERTICES = 0.3, 4.0, 400


def is_dense(uprooted: UprootedModel) -> bool:
    """Whether the semidefinite bound should come before the cycle relaxation."""
    N = uprooted.n_vertices
    return 2 * uprooted.m >= _DENSE * N**2 and N <= _EIGEN_VERTICES


def is_half_dense(uprooted: UprootedModel) -> bool:
    """Whether the semidefinite bound is worth a try where the cycle relaxation leaves a gap."""
    N = uprooted.n_vertices
    return uprooted.m >= _HALF_DENSE * N and N <= _EIGEN_VERTICES


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
