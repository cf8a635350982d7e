"""The Bethe approximation: stationary points of its free energy, the best one found."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mapreroot.marginals.mean_field import mean_field
from mapreroot.marginals.messages import (
    LIMIT,
    TOLERANCE,
    Beliefs,
    Graph,
    beliefs_at,
    iterate,
)

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
    The double loop of Heskes, Albers and Kappen (2003) goes down until it converges, and is run
    from the fields alone and from the mean-field optimum. Without fields the first start is the
    symmetric point, which is stationary but may be far from the minimum: the second one breaks
    the symmetry. Belief propagation starts from the fields, and counts only
    where it converges. At a vertex of degree d the tangents replace (d - 1) / 2 entropies, half
    of those that are concave: each edge's entropy makes half of one at both its ends convex.

    Examples
    --------
    >>> edges = np.array([(0, 1), (0, 2), (1, 2)])
    >>> round(bethe(np.zeros(3), edges, np.full(3, -2.0)).log_z, 4)  # log Z is 3.8359
    3.9398
    """
    n = len(theta)
    graph = Graph.of(n, edges)
    w, rho = weights / 2, np.ones(len(weights))
    convex = np.maximum((np.diff(graph.start) - 1) / 2, 0.0)
    spin = 2 * mean_field(theta, edges, weights, restarts=12).p - 1
    runs = [
        ("belief propagation", np.zeros(n), 1, min(limit, 200), theta),
        ("double loop", convex, 10, limit, theta),
        ("double loop", convex, 10, limit, 2 * np.arctanh(0.999 * spin)),
    ]
    best: Beliefs | None = None
    for method, kappa, inner, sweeps, field in runs:
        L, a = field.copy(), field[edges.ravel()]
        done, change = iterate(
            theta, graph.start, graph.half, w, rho, kappa, L, a, inner, tolerance, sweeps
        )
        log_z, p, pair = beliefs_at(theta, graph.start, graph.half, edges, w, rho, L, a)
        found = Beliefs(log_z, p, pair, change < tolerance, done, method)
        # Equal up to what is left of the residual: the earlier run stands.
        if best is None or (found.converged, log_z) > (best.converged, best.log_z + 1e-6):
            best = found
    assert best is not None
    return best
