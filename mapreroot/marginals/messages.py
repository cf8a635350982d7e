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
REACH = 300.0
"""Logs up to this have odds that may be multiplied in pairs."""
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

    A message costs one division on odds exp(L), exp(a), and four logarithms and exponentials on
    the logs: those are left to models whose odds overflow.
    """
    n = len(theta)
    tangent = L.copy()
    received = np.empty(len(half))
    reach = max(_largest(L), _largest(a))
    for i in range(n):
        pull = abs(theta[i])
        for s in range(start[i], start[i + 1]):
            pull += rho[half[s] >> 1] * abs(w[half[s] >> 1])
        reach = max(reach, pull)
    odds = reach + _largest(w) < REACH
    if odds:
        L[:], a[:], k = np.exp(L), np.exp(a), np.exp(-w)
        whole = bool((rho == 1.0).all())
    p = np.empty(n)
    for i in range(n):
        p[i] = L[i] / (1.0 + L[i]) if odds else _probability(L[i])
    before = p.copy()
    sweeps = 0
    outer_change = 1.0
    while sweeps < limit:
        for _ in range(inner):
            if odds:
                change = _sweep_of_odds(
                    theta, start, half, k, rho, whole, kappa, tangent, L, a, p, received
                )
            else:
                change = _sweep(theta, start, half, w, rho, kappa, tangent, L, a, p, received)
            sweeps += 1
            if change < max(tolerance, 0.1 * outer_change) or sweeps >= limit:
                break
        outer_change = change
        for i in range(n):
            outer_change = max(outer_change, abs(p[i] - before[i]))
            before[i] = p[i]
            tangent[i] = math.log(L[i]) if odds else L[i]
        if outer_change < tolerance:
            break
    if odds:
        L[:], a[:] = np.log(L), np.log(a)
    return sweeps, outer_change


@njit(cache=True, error_model="numpy")
def _largest(x: Floats) -> float:
    top = 0.0
    for value in x:
        top = max(top, abs(value))
    return top


@njit(cache=True, error_model="numpy")
def _sweep(
    theta: Floats, start: Ints, half: Ints, w: Floats, rho: Floats, kappa: Floats,
    tangent: Floats, L: Floats, a: Floats, p: Floats, received: Floats,
) -> float:  # fmt: skip
    """Update all vertices in turn; the largest change of a belief."""
    change = 0.0
    for i in range(len(theta)):
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
    return change


@njit(cache=True, error_model="numpy")
def _sweep_of_odds(
    theta: Floats, start: Ints, half: Ints, k: Floats, rho: Floats, whole: bool, kappa: Floats,
    tangent: Floats, L: Floats, a: Floats, p: Floats, received: Floats,
) -> float:  # fmt: skip
    """`_sweep` where ``L``, ``a`` and the messages are odds, and k = exp(-w)."""
    change = 0.0
    for i in range(len(theta)):
        total = kappa[i] * tangent[i] + theta[i]
        product, low, high = 1.0, L[i], L[i]
        for s in range(start[i], start[i + 1]):
            h = half[s]
            c, o = k[h >> 1], a[h ^ 1]
            ratio = (c + o) / (1.0 + c * o)
            received[s] = ratio
            edge = a[h] * ratio
            low, high = min(low, edge), max(high, edge)
            if whole:
                product *= ratio
            else:
                total += rho[h >> 1] * math.log(ratio)
        drift = min(max(high / L[i], L[i] / low) - 1.0, 1e9)
        if kappa[i] == 0.0:
            L[i] = math.exp(total) * product
        else:
            L[i] = math.exp((total + math.log(product)) / (1.0 + kappa[i]))
        for s in range(start[i], start[i + 1]):
            a[half[s]] = L[i] / received[s]
        new = L[i] / (1.0 + L[i])
        change = max(change, abs(new - p[i]), new * (1 - new) * drift * STRICTER)
        p[i] = new
    return change


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
    field = np.flatnonzero(theta)
    i = np.concatenate([np.zeros(len(field), np.int64), edges[:, 0] + 1])
    j = np.concatenate([field + 1, edges[:, 1] + 1])
    W = np.concatenate([-2 * theta[field], weights])
    signs = _join(len(theta) + 1, i, j, W, np.argsort(-np.abs(W), kind="stable"))
    return np.asarray(signs[1:])


@njit(cache=True)
def _join(n: int, i: Ints, j: Ints, W: Floats, order: Ints) -> Floats:
    """Kruskal's algorithm; a vertex knows its sign relative to the one it points to."""
    above = np.arange(n)  # the least vertex of a part is its top
    sign = np.ones(n)
    for e in order:
        top = np.array([i[e], j[e]])
        parity = 1.0 if W[e] >= 0 else -1.0
        for side in range(2):
            while above[top[side]] != top[side]:
                parity *= sign[top[side]]
                top[side] = above[top[side]]
        if top[0] != top[1]:
            above[top.max()], sign[top.max()] = top.min(), parity
    for v in range(n):  # what is above v is less, and is done
        sign[v] = sign[v] * sign[above[v]] if above[v] != v else -1.0
    return sign
