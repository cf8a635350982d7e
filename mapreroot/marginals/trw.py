"""Tree-reweighted inference: a convex free energy whose optimum bounds log Z from above."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse import coo_array, csc_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.sparse.linalg import splu

from mapreroot.errors import SolverError
from mapreroot.marginals.messages import LIMIT, TOLERANCE, Beliefs, Graph, beliefs_at, iterate
from mapreroot.marginals.newton import polish

__all__ = ["spanning_tree_appearances", "trw"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DEPTH = 8
"""Steps that the acceleration looks back."""
DENSE = 600
"""Up to so many vertices a dense inverse of the Laplacian is the fastest."""


def trw(
    theta: Floats,
    edges: Ints,
    weights: Floats,
    appearances: Floats | None = None,
    steps: int = 0,
    tolerance: float = TOLERANCE,
    limit: int = LIMIT,
) -> Beliefs:
    """Maximise the tree-reweighted bound on log Z (Wainwright, Jaakkola, Willsky 2005).

    Parameters
    ----------
    theta : ndarray, shape (n,)
    edges : ndarray of int, shape (m, 2)
    weights : ndarray, shape (m,)
    appearances : ndarray, shape (m,), optional
        How often each edge is in a random spanning tree; by default those of the uniform one.
    steps : int
        Conditional-gradient steps that lower the bound by changing the appearances.
    tolerance : float
        Largest change of a belief in the last sweep.
    limit : int
        Sweeps, at most.

    Returns
    -------
    Beliefs
        ``log_z`` is an upper bound once converged (within the square of the tolerance).

    Notes
    -----
    The problem is convex, so any way to its fixed point will do: sweeps of message passing with
    Anderson acceleration, and the double loop of `mapreroot.marginals.messages` where they fail.

    Examples
    --------
    >>> edges = np.array([(0, 1), (0, 2), (1, 2)])
    >>> round(trw(np.zeros(3), edges, np.full(3, -2.0)).log_z, 4)  # log Z is 3.8359
    4.096
    """
    rho = spanning_tree_appearances(len(theta), edges) if appearances is None else appearances
    best = _solve(theta, edges, weights, rho, None, tolerance, limit)
    for k in range(steps):
        tree = _heaviest_tree(len(theta), edges, _mutual_information(best[0]))
        step = 2.0 / (k + 3)
        for _ in range(5):  # the bound is convex in the appearances: a shorter step goes down
            other = (1 - step) * rho + step * tree
            found = _solve(theta, edges, weights, other, best[1], tolerance, limit)
            if found[0].log_z < best[0].log_z:
                rho, best = other, found
                break
            step /= 4
    return best[0]


def spanning_tree_appearances(n: int, edges: Ints, dense: int = DENSE) -> Floats:
    """Probability of each edge to be in a uniformly random spanning tree (forest).

    Parameters
    ----------
    n : int
    edges : ndarray of int, shape (m, 2)
    dense : int
        Vertices up to which the inverse is a dense matrix.

    Returns
    -------
    ndarray, shape (m,)
        The effective resistance between the edge's ends; 1 for a bridge. Each connected
        component's sum is its number of vertices less one.

    Notes
    -----
    From the inverse of the Laplacian, one vertex of each component grounded: O(n^3) for small
    or dense graphs, and for large sparse ones only those entries that the factors of the
    Laplacian have, by the recursion of Takahashi, Fagan and Chen (1973).

    Examples
    --------
    >>> spanning_tree_appearances(4, np.array([(0, 1), (0, 2), (1, 2), (2, 3)])).round(4)
    array([0.6667, 0.6667, 0.6667, 1.    ])
    """
    m = len(edges)
    if m == 0:
        return np.zeros(0)
    if n <= dense:
        return np.asarray(np.clip(_dense_appearances(n, edges), 0.0, 1.0))
    i, j = edges.T
    adjacency = coo_array((np.ones(m), (i, j)), shape=(n, n))
    _, component = connected_components(adjacency, directed=False)
    grounded = np.zeros(n, np.bool_)
    grounded[np.unique(component, return_index=True)[1]] = True
    place = np.cumsum(~grounded) - 1
    size = n - int(grounded.sum())
    degree = np.bincount(edges.ravel(), minlength=n).astype(np.float64)
    u, v = place[i], place[j]
    live_i, live_j = ~grounded[i], ~grounded[j]
    both = live_i & live_j
    rows = np.concatenate([np.arange(size), u[both], v[both]])
    cols = np.concatenate([np.arange(size), v[both], u[both]])
    data = np.concatenate([degree[~grounded], np.full(2 * int(both.sum()), -1.0)])
    laplacian = csc_array((data, (rows, cols)), shape=(size, size))
    # R_ij = G_ii + G_jj - 2 G_ij, where grounded rows of the inverse G are 0.
    diagonal = np.zeros(n)
    between = np.zeros(m)
    itself = np.arange(size)
    rows, cols = np.concatenate([itself, u[both]]), np.concatenate([itself, v[both]])
    found = _inverse_at(laplacian, rows, cols)
    diagonal[~grounded], between[both] = found[:size], found[size:]
    resistance = diagonal[i] + diagonal[j] - 2 * between
    return np.asarray(np.clip(resistance, 0.0, 1.0))


@njit(cache=True)
def _dense_appearances(n: int, edges: Ints) -> Floats:
    above = np.arange(n)  # the least vertex of a component is its top, and grounded
    laplacian = np.zeros((n, n))
    for i, j in edges:
        laplacian[i, i] += 1.0
        laplacian[j, j] += 1.0
        laplacian[i, j] = laplacian[j, i] = -1.0
        while above[i] != i:
            i = above[i]
        while above[j] != j:
            j = above[j]
        above[max(i, j)] = min(i, j)
    grounded = above == np.arange(n)
    for v in np.flatnonzero(grounded):
        laplacian[v], laplacian[:, v] = 0.0, 0.0
        laplacian[v, v] = 1.0
    inverse = np.linalg.inv(laplacian)
    for v in np.flatnonzero(grounded):
        inverse[v, v] = 0.0
    resistance = np.empty(len(edges))
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        resistance[e] = inverse[i, i] + inverse[j, j] - 2 * inverse[i, j]
    return resistance


def _inverse_at(matrix: csc_array, rows: Ints, cols: Ints) -> Floats:
    """Entries of a symmetric matrix's inverse, where the matrix has some itself."""
    factor = splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    place = factor.perm_c
    if not np.array_equal(place, factor.perm_r):
        raise SolverError("the Laplacian's factorisation did not stay symmetric")
    lower = factor.L.tocsc()
    lower.sort_indices()
    values = _takahashi(
        lower.indptr.astype(np.int64),
        lower.indices.astype(np.int64),
        lower.data,
        factor.U.diagonal(),
    )
    n = len(place)
    key = np.repeat(np.arange(n), np.diff(lower.indptr)) * n + lower.indices  # ascending
    i, j = place[rows], place[cols]
    asked = np.minimum(i, j).astype(np.int64) * n + np.maximum(i, j)
    at = np.searchsorted(key, asked)
    if not np.array_equal(key[np.minimum(at, len(key) - 1)], asked):
        raise SolverError("the Laplacian's factors lack an entry of the Laplacian")
    return np.asarray(values[at])


@njit(cache=True)
def _takahashi(start: Ints, row: Ints, lower: Floats, pivot: Floats) -> Floats:
    """Entries of (L D L')^-1 on the pattern of L, columns from the last to the first."""
    inverse = np.zeros(len(row))
    slot = np.full(len(pivot), -1, np.int64)
    for j in range(len(pivot) - 1, -1, -1):
        first, end = start[j] + 1, start[j + 1]  # before `first` is the diagonal
        for s in range(first, end):
            slot[row[s]] = s
        for s in range(first, end):
            k = row[s]
            inverse[s] -= inverse[start[k]] * lower[s]
            for t in range(start[k] + 1, start[k + 1]):
                q = slot[row[t]]
                if q >= 0:
                    inverse[q] -= inverse[t] * lower[s]
                    inverse[s] -= inverse[t] * lower[q]
        total = 1.0 / pivot[j]
        for s in range(first, end):
            total -= lower[s] * inverse[s]
            slot[row[s]] = -1
        inverse[start[j]] = total
    return inverse


def _solve(
    theta: Floats,
    edges: Ints,
    weights: Floats,
    rho: Floats,
    state: Floats | None,
    tolerance: float,
    limit: int,
) -> tuple[Beliefs, Floats]:
    n = len(theta)
    graph = Graph.of(n, edges)
    w = weights / (2 * rho)
    at_fields = np.concatenate([theta[edges.ravel()], theta])
    state = at_fields.copy() if state is None else state.copy()
    sweeps, change = _ascend(
        theta, graph.start, graph.half, edges.ravel(), w, rho, state, tolerance, min(limit, 4000)
    )
    method = "message passing"
    if not change < tolerance and sweeps < limit:
        method = "double loop"
        state = at_fields
        total = np.bincount(edges.ravel(), np.repeat(rho, 2), minlength=n)
        kappa = np.maximum((total - 1) / 2, 0.0)
        more, change = iterate(
            theta, graph.start, graph.half, w, rho, kappa, state[2 * len(w) :],
            state[: 2 * len(w)], 10, tolerance,
            limit - sweeps,
        )  # fmt: skip
        sweeps += more
    log_z, p, pair = beliefs_at(
        theta, graph.start, graph.half, edges, w, rho, state[2 * len(w) :], state[: 2 * len(w)]
    )
    return Beliefs(log_z, p, pair, change < tolerance, sweeps, method, rho), state


@njit(cache=True, error_model="numpy")
def _ascend(
    theta: Floats, start: Ints, half: Ints, tail: Ints, w: Floats, rho: Floats, state: Floats,
    tolerance: float, limit: int,
) -> tuple[int, float]:  # fmt: skip
    """Sweep, and try now and then whether Newton's method can take over."""
    sweeps, more, change = 0, 20, np.inf
    while sweeps < limit:
        more = min(2 * more, limit - sweeps)
        done, change = _accelerated(theta, start, half, w, rho, state, DEPTH, tolerance, more)
        sweeps += done
        if change < tolerance or sweeps >= limit:
            break
        trial = state.copy()
        done, nearer = polish(
            theta, start, half, tail, w, rho, trial[len(half) :], trial[: len(half)], tolerance
        )
        sweeps += done
        if nearer < tolerance:
            state[:] = trial
            return sweeps, nearer
    return sweeps, change


@njit(cache=True)
def _accelerated(
    theta: Floats, start: Ints, half: Ints, w: Floats, rho: Floats, state: Floats,
    depth: int, tolerance: float, limit: int,
) -> tuple[int, float]:  # fmt: skip
    """Anderson acceleration of sweeps: extrapolate from the last ``depth`` steps.

    ``state`` holds a (2 m,) and then L (n,) of `iterate`, and is changed in place. The
    least-squares problem is solved by its normal equations, slightly regularised.
    """
    size = len(state)
    a, L = state[: len(half)], state[len(half) :]
    no_damping = np.zeros(len(theta))
    step = np.empty((depth, size))  # differences of iterates, and of their changes
    turn = np.empty((depth, size))
    gram = np.zeros((depth, depth))
    last, last_change = np.empty(size), np.empty(size)
    held, at = 0, 0
    best = np.inf
    change = np.inf
    for sweep in range(1, limit + 1):
        x = state.copy()
        _, change = iterate(theta, start, half, w, rho, no_damping, L, a, 1, 0.0, 1)
        if change < tolerance:
            return sweep, change
        f = state - x
        size_of_f = np.sqrt((f * f).sum())
        if sweep > 1 and size_of_f < 1e3 * best:
            step[at], turn[at] = x - last, f - last_change
            held = min(held + 1, depth)
            gram[at, :held] = turn[:held] @ turn[at]
            gram[:held, at] = gram[at, :held]
            at = (at + 1) % depth
            scale = 0.0
            for k in range(held):
                scale = max(scale, gram[k, k])
            system = gram[:held, :held].copy()
            for k in range(held):
                system[k, k] += 1e-13 * scale + 1e-300
            gamma = np.linalg.solve(system, turn[:held] @ f)
            for k in range(held):
                state -= gamma[k] * (step[k] + turn[k])
            if not np.isfinite(state.sum()):
                state[:] = x + f
                held, at = 0, 0
        elif sweep > 1:  # an extrapolation went astray: forget what led there
            held, at = 0, 0
        best = min(best, size_of_f)
        last[:], last_change[:] = x, f
    return limit, change


def _mutual_information(beliefs: Beliefs) -> Floats:
    pair = beliefs.pair
    product = pair.sum(axis=2)[:, :, None] * pair.sum(axis=1)[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(pair > 0, pair * np.log(pair / product), 0.0)
    return np.asarray(terms.sum(axis=(1, 2)))


def _heaviest_tree(n: int, edges: Ints, gain: Floats) -> Floats:
    # scipy minimises and takes 0 for a missing edge: costs between 1 and 2.
    cost = 2.0 - gain / max(float(gain.max(initial=0.0)), 1e-300)
    rows = coo_array((cost, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    tree = minimum_spanning_tree(rows).tocoo()
    return np.isin(edges[:, 0] * n + edges[:, 1], tree.row * n + tree.col).astype(np.float64)
