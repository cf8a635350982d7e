"""The Bethe approximation: stationary points of its free energy, the best one found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.marginals.mean_field import mean_field
from mapreroot.marginals.messages import (
    LIMIT,
    TOLERANCE,
    Beliefs,
    Graph,
    beliefs_at,
    iterate,
)
from mapreroot.marginals.newton import polish

__all__ = ["bethe"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def bethe(
    theta: Floats, edges: Ints, weights: Floats, tolerance: float = TOLERANCE, limit: int = LIMIT
) -> Beliefs:
    """Minimise the Bethe free energy; log Z is estimated by minus its value.

    Parameters
    ----------
    theta : ndarray, shape (n,)
    edges : ndarray of int, shape (m, 2)
    weights : ndarray, shape (m,)
    tolerance : float
        Largest change of a belief in the last sweep.
    limit : int
        Sweeps of each run, at most.

    Returns
    -------
    Beliefs
        Of the lowest free energy among what converged; ``method`` says which algorithm found
        it, "double loop" or "belief propagation".

    Notes
    -----
    The double loop of Heskes, Albers and Kappen (2003) goes down from the fields alone, and where
    it is near to a fixed point Newton's method takes the last steps (`mapreroot.marginals.newton`).
    At a vertex of degree d the tangents replace (d - 1) / 2 entropies, half of those that are
    concave: each edge's entropy makes half of one at both its ends convex. Belief propagation
    starts from the fields and from the mean-field optimum, and counts only where it converges.
    Without fields the symmetric point is stationary but may be far from the minimum: there the
    double loop starts from the mean-field optimum.

    Examples
    --------
    >>> edges = np.array([(0, 1), (0, 2), (1, 2)])
    >>> round(bethe(np.zeros(3), edges, np.full(3, -2.0)).log_z, 4)  # log Z is 3.8359
    3.9398
    """
    graph = Graph.of(len(theta), edges)
    tail = edges.ravel()
    w, rho = weights / 2, np.ones(len(weights))
    no_damping = np.zeros(len(theta))
    convex = np.maximum((np.diff(graph.start) - 1) / 2, 0.0)
    spin = 2 * mean_field(theta, edges, weights, restarts=12).p - 1
    optimum = 2 * np.arctanh(0.999 * spin)

    def run(method: str, field: Floats) -> Beliefs:
        L, a = field.copy(), field[tail]
        given = theta, graph.start, graph.half, w, rho
        if method == "belief propagation":
            done, change = iterate(*given, no_damping, L, a, 1, tolerance, min(limit, 200))
        else:
            done, change = _descend(*given, tail, convex, L, a, tolerance, limit)
        log_z, p, pair = beliefs_at(theta, graph.start, graph.half, edges, w, rho, L, a)
        return Beliefs(log_z, p, pair, change < tolerance, done, method)

    best = run("belief propagation", theta)
    for method, field in (
        ("double loop", theta if theta.any() else optimum),
        ("belief propagation", optimum),
    ):
        found = run(method, field)
        # Equal up to what is left of the residual: the earlier run stands.
        if (found.converged, found.log_z) > (best.converged, best.log_z + 1e-6):
            best = found
    return best


@njit(cache=True, error_model="numpy")
def _descend(
    theta: Floats, start: Ints, half: Ints, w: Floats, rho: Floats, tail: Ints, kappa: Floats,
    L: Floats, a: Floats, tolerance: float, limit: int,
) -> tuple[int, float]:  # fmt: skip
    """Run the double loop, and Newton's method where it comes near to a fixed point."""
    sweeps, change = 0, np.inf
    for near in (1e-3, 1e-5, 0.0):
        more, change = iterate(
            theta, start, half, w, rho, kappa, L, a, 10, max(tolerance, near), limit - sweeps
        )
        sweeps += more
        if change < tolerance or sweeps >= limit:
            break
        log_odds, fields = L.copy(), a.copy()
        more, nearer = polish(theta, start, half, tail, w, rho, log_odds, fields, tolerance)
        sweeps += more
        if nearer < tolerance:
            L[:], a[:] = log_odds, fields
            return sweeps, nearer
    return sweeps, change
