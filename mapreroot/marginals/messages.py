"""The fixed-point equations that Bethe and tree-reweighted inference share, on flat arrays.

Every edge e = (i, j) with appearance rho_e keeps a belief
b_e(x_i, x_j) ~ exp(-W_e / (2 rho_e) [x_i != x_j] + a_ij x_i + a_ji x_j), every vertex the log-odds
L_i of its own. They agree at i when L_i = a_ij + m_ji for all neighbours j, m_ji being the message
that sums x_j out. Stationary points of the free energy satisfy this and

    (1 + kappa_i) L_i = kappa_i L'_i + theta_i + sum_j rho_ij m_ji   at   L = L',

whatever kappa is. With rho = 1, kappa = 0 and L updated vertex by vertex this is belief
propagation. With kappa_i from sum_j rho_ij / 2 - 1 to sum_j rho_ij - 1, L' held while L is
iterated, it is the double loop of Heskes, Albers and Kappen (2003): kappa_i concave entropies are
replaced by their tangents at L', which leaves a convex problem and an upper bound of the free
energy, so that every outer step goes down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse import coo_array
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    minimum_spanning_tree,
)

__all__ = [
    "LIMIT",
    "TOLERANCE",
    "Beliefs",
    "Graph",
    "beliefs_at",
    "iterate",
    "message",
    "tree_signs",
]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-7
"""Single beliefs that change by less in a sweep have converged."""
STRICTER = 1e-3
"""Single beliefs are held to a tolerance this much stricter than what the edges' beliefs may
differ from them, which log Z feels only by its square."""
LIMIT = 20_000
"""Sweeps, at most."""
TINY = 1e-9
"""Appearances that sum to 1 within this make a vertex a leaf of every tree."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What an approximate method says of one rooted model (or of M+ itself).

    Attributes
    ----------
    log_z : float
        Without the model's constant.
    p : ndarray, shape (n,)
        Beliefs that x_i = 1.
    pair : ndarray, shape (m, 2, 2)
        Beliefs on the edges.
    converged : bool
    iterations : int
        Sweeps over the vertices.
    method : str
        The algorithm that gave them.
    appearances : ndarray, shape (m,), or None
        For tree-reweighted beliefs: how often each edge is in a random spanning tree.
    """

    log_z: float
    p: Floats
    pair: Floats
    converged: bool
    iterations: int
    method: str
    appearances: Floats | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """Half-edges by their tail: 2e and 2e + 1 are the two of edge e."""

    start: Ints
    half: Ints

    @classmethod
    def of(cls, n: int, edges: Ints) -> Graph:
        """Sort the half-edges of ``edges`` (m, 2) by their tails."""
        tail = edges.ravel()
        start = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(tail, minlength=n), out=start[1:])
        return cls(start, np.argsort(tail, kind="stable").astype(np.int64))


@njit(cache=True, error_model="numpy")
def message(w: float, h: float) -> float:
    """Log-odds that a neighbour with field h sends through the coupling -w [x_i != x_j]."""
    reach = abs(w)
    clipped = min(max(h, -reach), reach)
    tail = math.log((1.0 + math.exp(-abs(h + w))) / (1.0 + math.exp(-abs(h - w))))
    return (clipped if w >= 0 else -clipped) + tail


@njit(cache=True, error_model="numpy")
def _probability(L: float) -> float:
    return 1.0 / (1.0 + math.exp(-L)) if L > -700.0 else 0.0


@njit(cache=True, error_model="numpy")
def iterate(
    theta: Floats, start: Ints, half: Ints, w: Floats, rho: Floats, kappa: Floats,
    L: Floats, a: Floats, inner: int, tolerance: float, limit: int,
) -> tuple[int, float]:  # fmt: skip
    """Sweep over the vertices until beliefs change by less than ``tolerance``.

    ``L`` (n,) and ``a`` (2 m,) are the state, changed in place; w_e = W_e / (2 rho_e). At most
    ``inner`` sweeps are spent on each tangent L'. Returns the sweeps done and the last change.
    """
    n = len(theta)
    tangent = L.copy()
    p = np.empty(n)
    for i in range(n):
        p[i] = _probability(L[i])
    before = p.copy()
    received = np.empty(len(half))
    sweeps = 0
    outer_change = 1.0
    while sweeps < limit:
        for _ in range(inner):
            change = 0.0
            for i in range(n):
                total = kappa[i] * tangent[i] + theta[i]
                drift = 0.0
                for s in range(start[i], start[i + 1]):
                    h = half[s]
                    received[s] = message(w[h >> 1], a[h ^ 1])
                    total += rho[h >> 1] * received[s]
                    drift = max(drift, abs(a[h] + received[s] - L[i]))
                L[i] = total / (1.0 + kappa[i])
                for s in range(start[i], start[i + 1]):
                    a[half[s]] = L[i] - received[s]
                new = _probability(L[i])
                # Messages may cancel in L while the beliefs on the edges still disagree with it.
                change = max(change, abs(new - p[i]), new * (1 - new) * drift * STRICTER)
                p[i] = new
            sweeps += 1
            if change < max(tolerance, 0.1 * outer_change) or sweeps >= limit:
                break
        outer_change = change
        for i in range(n):
            outer_change = max(outer_change, abs(p[i] - before[i]))
            before[i] = p[i]
            tangent[i] = L[i]
        if outer_change < tolerance:
            break
    return sweeps, outer_change


@njit(cache=True, error_model="numpy")
def beliefs_at(
    theta: Floats, start: Ints, half: Ints, edges: Ints, w: Floats, rho: Floats,
    L: Floats, a: Floats,
) -> tuple[float, Floats, Floats]:  # fmt: skip
    """Log Z, single and pair beliefs of a state of `iterate`.

    Log Z is sum_e rho_e log Z_e + sum_i (1 - sum_j rho_ij) log Z_i, with L_i in the last sum such
    that sum_j rho_ij a_ij = theta_i + (sum_j rho_ij - 1) L_i: a function of ``a`` that is
    stationary at a fixed point, so that it is off by the square of what is left of the residual.
    """
    n, m = len(L), len(edges)
    log_z = 0.0
    pair = np.empty((m, 2, 2))
    p = np.empty(n)
    for i in range(n):
        surplus, given = -1.0, -theta[i]
        for s in range(start[i], start[i + 1]):
            surplus += rho[half[s] >> 1]
            given += rho[half[s] >> 1] * a[half[s]]
        odds = given / surplus if surplus > TINY else L[i]
        log_z -= surplus * (max(odds, 0.0) + math.log1p(math.exp(-abs(odds))))
        p[i] = _probability(L[i])
    for e in range(m):
        s00, s11 = 0.0, a[2 * e] + a[2 * e + 1]
        s01, s10 = a[2 * e + 1] - w[e], a[2 * e] - w[e]
        top = max(max(s00, s11), max(s01, s10))
        pair[e, 0, 0], pair[e, 0, 1] = math.exp(s00 - top), math.exp(s01 - top)
        pair[e, 1, 0], pair[e, 1, 1] = math.exp(s10 - top), math.exp(s11 - top)
        total = pair[e].sum()
        pair[e] /= total
        log_z += rho[e] * (top + math.log(total))
    return log_z, p, pair


def tree_signs(theta: Floats, edges: Ints, weights: Floats) -> Floats:
    """Signs +-1 that satisfy the strongest fields and couplings: a start that breaks symmetry.

    They follow a maximum spanning tree of the model uprooted, from vertex 0 (or, in a component
    without a field, from its first vertex) outwards: the ground state of every balanced model.
    """
    n = len(theta)
    field = np.flatnonzero(theta)
    i = np.concatenate([np.zeros(len(field), np.int64), edges[:, 0] + 1])
    j = np.concatenate([field + 1, edges[:, 1] + 1])
    W = np.concatenate([-2 * theta[field], weights])
    shape = (n + 1, n + 1)
    _, component = connected_components(coo_array((np.abs(W), (i, j)), shape=shape), directed=False)
    loose = np.unique(component, return_index=True)[1][1:]  # vertex 0 is in component 0
    i, j = np.concatenate([i, np.zeros(len(loose), np.int64)]), np.concatenate([j, loose])
    W = np.concatenate([W, np.full(len(loose), -1.0)])
    size = np.abs(W)
    # scipy minimises and takes 0 for a missing edge.
    cost = 2.0 - size / max(float(size.max(initial=0.0)), 1e-300)
    tree = minimum_spanning_tree(coo_array((cost, (i, j)), shape=shape).tocsr())
    order, parent = breadth_first_order(tree, 0, directed=False)
    parity = coo_array((np.sign(W), (i, j)), shape=shape).tocsr()
    parity = (parity + parity.T).tocsr()
    ahead = np.asarray(parity[parent[order[1:]], order[1:]]).ravel() if n else np.zeros(0)
    signs = np.full(n + 1, -1.0)
    for v, u, sign in zip(
        order[1:].tolist(), parent[order[1:]].tolist(), ahead.tolist(), strict=True
    ):
        signs[v] = signs[u] * sign
    return signs[1:]
