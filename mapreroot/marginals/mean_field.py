"""Naive mean field: independent variables, and a bound on log Z from below."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.marginals.messages import TOLERANCE, Beliefs, Graph, tree_signs

__all__ = ["mean_field"]

COARSE = 1e-3
"""Largest change of a belief that ends a run, but for the last one."""
COOLING = 0.95
"""Factor by which a sweep lowers the temperature of a start that is cooled."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def mean_field(
    theta: Floats,
    edges: Ints,
    weights: Floats,
    restarts: int = 48,
    tolerance: float = TOLERANCE,
    limit: int = 2000,
) -> Beliefs:
    """Maximise the naive mean-field bound on log Z.

    Parameters
    ----------
    theta : ndarray, shape (n,)
    edges : ndarray of int, shape (m, 2)
    weights : ndarray, shape (m,)
    restarts : int
        Random starts, beside those from the fields and from the signs of a maximum spanning tree.
    tolerance : float
        Largest change of a belief in the last sweep.
    limit : int
        Sweeps of each run, at most.

    Returns
    -------
    Beliefs
        The best of all runs. ``log_z`` is a lower bound whether or not it converged.

    Notes
    -----
    Coordinate ascent, which never goes down; most of the random starts are cooled, each from its
    own temperature below that at which the strongest couplings order, which avoids shallow
    optima. The starts are the same in every call. A start without fields would stay at the
    symmetric point: there the random ones count.

    Examples
    --------
    >>> edges = np.array([(0, 1), (0, 2), (1, 2)])
    >>> round(mean_field(np.zeros(3), edges, np.full(3, -2.0)).log_z, 4)  # log Z is 3.8359
    3.5794
    """
    n = len(theta)
    graph = Graph.of(n, edges)
    rng = np.random.default_rng(0)
    signs = tree_signs(theta, edges, weights)
    starts = np.vstack([np.tanh(theta), signs, rng.uniform(-1, 1, (restarts, n))])
    heat = np.ones(len(starts))
    strength = np.bincount(edges.ravel(), np.repeat(np.abs(weights), 2), minlength=n)
    critical = float(strength.max(initial=0.0)) / 4  # above it every start ends alike
    cooled = slice(2 + 3 * restarts // 10, None)
    heat[cooled] = np.maximum(1.0, critical * rng.uniform(0.3, 0.9, len(heat[cooled])))
    log_z, spin, sweeps, change = _ascend(
        theta, edges, weights, graph.start, graph.half, starts, heat, tolerance, limit
    )
    p = (1 + spin) / 2
    q = np.stack([1 - p, p], axis=1)
    pair = q[edges[:, 0], :, None] * q[edges[:, 1], None, :]
    return Beliefs(log_z, p, pair, change < tolerance, sweeps, "coordinate ascent")


@njit(cache=True)
def _entropy(s: float) -> float:
    total = 0.0
    for q in ((1 + s) / 2, (1 - s) / 2):
        if q > 0:
            total -= q * np.log(q)
    return total


@njit(cache=True)
def _ascend(
    theta: Floats, edges: Ints, weights: Floats, start: Ints, half: Ints, starts: Floats,
    heats: Floats, tolerance: float, limit: int,
) -> tuple[float, Floats, int, float]:  # fmt: skip
    """Best value over all starts, its spins 2 p - 1, its sweeps and last change."""
    n = len(theta)
    best, best_sweeps, change = -np.inf, 0, np.inf
    best_spin, s = np.zeros(n), np.empty(n)
    for k in range(len(starts) + 1):
        if k < len(starts):
            s[:] = starts[k]
            heat, enough, sweeps = heats[k], max(COARSE, tolerance), 0
        else:  # the winner again, to the end
            s[:] = best_spin
            heat, enough, sweeps = 1.0, tolerance, best_sweeps
        while sweeps < limit:
            change = 0.0
            for i in range(n):
                field = theta[i]
                for c in range(start[i], start[i + 1]):
                    e = half[c] >> 1
                    field += weights[e] / 2 * s[edges[e, 0] + edges[e, 1] - i]
                new = np.tanh(field / (2 * heat))
                change = max(change, abs(new - s[i]) / 2)
                s[i] = new
            sweeps += 1
            if heat > 1:
                heat = max(1.0, heat * COOLING)
            elif change < enough:
                break
        value = 0.0
        for i in range(n):
            value += theta[i] * (1 + s[i]) / 2 + _entropy(s[i])
        for e in range(len(edges)):
            value -= weights[e] / 4 * (1 - s[edges[e, 0]] * s[edges[e, 1]])
        if value > best or k == len(starts):
            best, best_sweeps = value, sweeps
            best_spin[:] = s
    return best, best_spin, best_sweeps, change
