"""Newton's method on the fixed-point equations of `mapreroot.marginals.messages`.

With r_h = L_i - a_h - m_h on half-edge h = (i, j), t_h the derivative of its message m_h by the
a of its other half g, and R_i = theta_i + (sum_h rho_h - 1) L_i - sum_h rho_h a_h, a step solves

    da_h + t_h da_g - dL_i = r_h      and      sum_h rho_h da_h - (sum_h rho_h - 1) dL_i = R_i.

The first pair of an edge gives da in terms of dL, with D = 1 - t_h t_g; what is left are n
equations, whose matrix has 1 + sum_h rho_h t_h t_g / D on its diagonal, and -rho_h t_h / D beside.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.marginals.messages import _largest, iterate, message

__all__ = ["polish"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STEEP = 200.0
"""Logs up to this have odds whose products neither overflow nor vanish."""
STEPS = 30
"""Steps, at most."""
MOST = 300
"""Variables up to which a dense linear system is soon solved."""


@njit(cache=True, error_model="numpy")
def polish(
    theta: Floats, start: Ints, half: Ints, tail: Ints, w: Floats, rho: Floats,
    L: Floats, a: Floats, tolerance: float,
) -> tuple[int, float]:  # fmt: skip
    """Step, and sweep once after it, as long as the state comes nearer to a fixed point.

    ``tail`` (2 m,) is the vertex of each half-edge; the rest as in `iterate`, which also says
    what is returned. The state is changed in place: for the worse, if the change is infinite.
    """
    no_damping = np.zeros(len(theta))
    last = np.inf
    for sweep in range(1, STEPS + 1):
        if len(theta) > MOST or max(_largest(w), _largest(L), _largest(a)) > STEEP:
            break
        if not _step(theta, start, half, tail, w, rho, L, a):
            break
        _, change = iterate(theta, start, half, w, rho, no_damping, L, a, 1, 0.0, 1)
        if change < tolerance:
            return sweep, change
        if change > last:
            break
        last = change
    return sweep, np.inf


@njit(cache=True, error_model="numpy")
def _step(
    theta: Floats, start: Ints, half: Ints, tail: Ints, w: Floats, rho: Floats,
    L: Floats, a: Floats,
) -> bool:  # fmt: skip
    """Take one step, if there is one."""
    n = len(theta)
    slope, rest = np.empty(len(a)), np.empty(len(a))
    gap = np.empty(len(a))
    for h in range(len(a)):
        o, k = math.exp(a[h ^ 1]), math.exp(-abs(w[h >> 1]))
        span = (k + o) * (1 + k * o)
        slope[h] = (1 - k * k) * o / span * (1.0 if w[h >> 1] >= 0 else -1.0)
        rest[h] = k * (1 + 2 * k * o + o * o) / span  # 1 - |slope|, without cancellation
        gap[h] = L[tail[h]] - a[h] - message(w[h >> 1], a[h ^ 1])
    matrix = np.zeros((n, n))
    right = np.empty(n)
    for i in range(n):
        diagonal, surplus, value = 1.0, -1.0, theta[i]
        for s in range(start[i], start[i + 1]):
            h = half[s]
            g = h ^ 1
            loose = rest[h] + abs(slope[h]) * rest[g]  # 1 - slope[h] slope[g]
            share = rho[h >> 1] / loose
            diagonal += share * slope[h] * slope[g]
            matrix[i, tail[g]] = -share * slope[h]
            surplus += rho[h >> 1]
            value -= rho[h >> 1] * a[h] + share * (gap[h] - slope[h] * gap[g])
        matrix[i, i] = diagonal * (1 + 1e-14)  # never quite singular
        right[i] = value + surplus * L[i]
    try:
        d = np.linalg.solve(matrix, right)
    except Exception:  # numba knows no other kind: here a singular matrix
        return False
    for h in range(0, len(a), 2):
        g = h + 1
        loose = rest[h] + abs(slope[h]) * rest[g]
        to_h, to_g = d[tail[h]] + gap[h], d[tail[g]] + gap[g]
        a[h] += (to_h - slope[h] * to_g) / loose
        a[g] += (to_g - slope[g] * to_h) / loose
    L += d
    return bool(np.isfinite(L.sum() + a.sum()))
