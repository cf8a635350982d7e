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
    spin, sweeps = _best_of(
        theta, edges, weights, graph.start, graph.half, starts, heat, max(COARSE, tolerance), limit
    )
    log_z, sweeps, change = _ascend(
        theta, edges, weights, graph.start, graph.half, spin, sweeps, tolerance, limit
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
def _value(theta: Floats, edges: Ints, weights: Floats, s: Floats) -> float:
    total = 0.0
    for i in range(len(theta)):
        total += theta[i] * (1 + s[i]) / 2 + _entropy(s[i])
    for e in range(len(edges)):
        total -= weights[e] / 4 * (1 - s[edges[e, 0]] * s[edges[e, 1]])
    return total


@njit(cache=True)
def _ascend(
    theta: Floats, edges: Ints, weights: Floats, start: Ints, half: Ints, s: Floats, sweeps: int,
    tolerance: float, limit: int,
) -> tuple[float, int, float]:  # fmt: skip
    """Take spins s = 2 p - 1 to the end, in place; the value, all sweeps and the last change."""
    change = np.inf
    while sweeps < limit and not change < tolerance:
        change = 0.0
        for i in range(len(theta)):
            field = theta[i]
            for c in range(start[i], start[i + 1]):
                e = half[c] >> 1
                field += weights[e] / 2 * s[edges[e, 0] + edges[e, 1] - i]
            new = np.tanh(field / 2)
            change = max(change, abs(new - s[i]) / 2)
            s[i] = new
        sweeps += 1
    return _value(theta, edges, weights, s), sweeps, change


@njit(cache=True, error_model="numpy")
def _best_of(
    theta: Floats, edges: Ints, weights: Floats, start: Ints, half: Ints, starts: Floats,
    heats: Floats, enough: float, limit: int,
) -> tuple[Floats, int]:  # fmt: skip
    """Run all starts side by side; the spins with the best value, and the sweeps they took.

    The starts are the columns of one table, which the processor adds up several at a time, with
    the continued fraction of tanh, right to 1e-4. A column that is done goes behind the others.
    """
    n, lanes = len(theta), len(starts)
    s = starts.T.copy()
    slope, change, field = 0.5 / heats, np.zeros(lanes), np.empty(lanes)
    best, best_sweeps, best_spin = -np.inf, 0, np.zeros(n)
    sweeps = 0
    while lanes > 0:
        change[:] = 0.0
        for i in range(n):
            field[:] = theta[i]
            for c in range(start[i], start[i + 1]):
                e = half[c] >> 1
                half_w, other = weights[e] / 2, s[edges[e, 0] + edges[e, 1] - i]
                for k in range(lanes):
                    field[k] += half_w * other[k]
            own = s[i]
            for k in range(lanes):
                x = field[k] * slope[k]
                x = 9.0 if x > 9.0 else x
                x = -9.0 if x < -9.0 else x
                y = x * x
                over = x * (135135.0 + y * (17325.0 + y * (378.0 + y)))
                new = over / (135135.0 + y * (62370.0 + y * (3150.0 + y * 28.0)))
                new = 1.0 if new > 1.0 else new
                new = -1.0 if new < -1.0 else new
                moved = abs(new - own[k])
                change[k] = moved if moved > change[k] else change[k]
                own[k] = new
        sweeps += 1
        for k in range(lanes - 1, -1, -1):
            if sweeps < limit and (slope[k] < 0.5 or change[k] / 2 >= enough):
                slope[k] = min(0.5, slope[k] / COOLING)
                continue
            spin = s[:, k].copy()
            value = _value(theta, edges, weights, spin)
            if value > best:
                best, best_sweeps, best_spin = value, sweeps, spin
            lanes -= 1
            s[:, k], slope[k] = s[:, lanes], slope[lanes]
    return best_spin, best_sweeps
