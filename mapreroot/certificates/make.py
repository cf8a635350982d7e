"""Write the arguments of a certificate down, on the same exact graphs that `verify` will use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.arrays import WideGraph
from mapreroot.certificates.graph import ExactGraph, Number, size_of
from mapreroot.model import Model
from mapreroot.residual import network, push_all

__all__ = ["Argument", "certificate", "flow_argument", "multiplier_bits", "semidefinite_argument"]

Argument = dict[str, Any]
Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int8]

_MOST = 2**60
"""Of a capacity: flows are counted in int64, and the amounts on both copies are added."""

_SCALE_BITS, _VECTOR_BITS = 110, 20
"""Of the numbers in a semidefinite argument, and of the vector that shows what it spares."""

_BITS = 60
"""Multipliers are written as integers over a power of two, the largest with this many bits."""


def certificate(
    model: Model, x: Sequence[int], score: Fraction, bound: Fraction, argument: Argument
) -> dict[str, Any]:
    """Put a certificate together.

    Parameters
    ----------
    model : Model
    x : sequence of 0 and 1
        The assignment whose score is stated.
    score : Fraction
        That score, in nats.
    bound : Fraction
        What the argument proves, in nats.
    argument : dict
        For the model's exact graph.

    Returns
    -------
    dict
        What `mapreroot.verify` takes, ready for ``json.dump``.
    """
    stated = float(bound)
    if Fraction(stated) < bound:
        stated = math.nextafter(stated, math.inf)
    return {
        "format": "mapreroot certificate 1",
        "model": model.digest,
        "x": [int(value) for value in x],
        "score": float(score),
        "bound": stated,
        "proof": argument,
    }


def flow_argument(
    graph: ExactGraph | WideGraph, root: int, switching: Bits | None = None
) -> Argument:
    """Bound a graph by a maximum flow from the root to its opposite in the signed double cover.

    Parameters
    ----------
    graph : ExactGraph or WideGraph
    root : int
    switching : ndarray of int8, shape (n,), optional
        What to flip so that all edges away from the root are attractive: then the cover falls
        into two halves, mirror images of each other, and the flow is found in one of them.

    Notes
    -----
    Where the rooting is balanced the flow proves the optimum (theory of roof duality: LOC). Its
    amounts are integers. Capacities that need more than 60 bits are rounded down, which loses
    some of the bound and nothing of its truth.
    """
    if isinstance(graph, WideGraph):
        n, edges, weights, at = graph.n, graph.edges, graph.weights, root
        unit, scale = graph.unit, 1
    else:
        names, edges, weights, unit, scale = _capacities(graph, root)
        n, at = len(names), int(np.searchsorted(names, root))
        switching = None if switching is None else switching[names]
    if not weights.any():
        return {"by": "signs"}
    if switching is not None and _is_balanced(edges, weights, at, switching):
        amounts = _half_flow(n, edges, weights, at, switching ^ switching[at])
    else:
        amounts = _flow(n, edges, weights, at)
        if (amounts & 1).any():
            scale *= 2
        else:
            amounts >>= 1
    return {"by": "flow", "root": root, "unit": unit, "scale": scale, "amounts": amounts.tolist()}


def _is_balanced(edges: Ints, weights: Ints, root: int, flips: Bits) -> bool:
    """Say whether flipping leaves no edge repulsive but those of the root."""
    flipped = flips[edges[:, 0]] != flips[edges[:, 1]]
    kept = np.where(flipped, weights <= 0, weights >= 0)
    return bool((kept | (edges == root).any(axis=1)).all())


def _capacities(graph: ExactGraph, root: int) -> tuple[Ints, Ints, Ints, int, int]:
    """Give vertices, sorted edges between them, and weights in int64, worth unit / scale."""
    edges = sorted(graph.edges())
    # No flow is larger than what can leave the root, so no capacity has to be.
    most = sum((size_of(w) for w in graph.weight[root].values()), Fraction(0))
    most = min(most, max((size_of(w) for _, _, w in edges), default=0))
    if not most:
        edges = []
    shift = math.floor(math.log2(Fraction(_MOST) / most)) if most else 0
    if all(isinstance(w, int) for _, _, w in edges):
        shift = min(shift, 0)
    whole = [_floor(min(size_of(w), most), shift) * (1 if w > 0 else -1) for _, _, w in edges]
    ends = np.array([(u, v) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)
    names, local = np.unique(ends, return_inverse=True)
    weights = np.array(whole, dtype=np.int64)
    return names, local.reshape(-1, 2), weights, 2 ** max(-shift, 0), 2 ** max(shift, 0)


def _half_flow(n: int, edges: Ints, weights: Ints, root: int, flips: Bits) -> Ints:
    """Push a maximum flow through the half of the cover that holds (v, flips[v])."""
    at_root = (edges == root).any(axis=1)
    u, v = edges[~at_root].T
    ends = edges[at_root].sum(axis=1) - root
    excess = np.zeros(n, dtype=np.int64)
    excess[ends] = np.where(flips[ends] == 1, -weights[at_root], weights[at_root])
    given = excess.copy()
    capacity = np.abs(weights[~at_root])
    r = np.repeat(capacity, 2)
    push_all(*network(n, u, v), r, excess)
    amounts = np.empty(len(weights), dtype=np.int64)
    amounts[~at_root] = (capacity - r[0::2]) * np.where(flips[u] == 1, -1, 1)
    # All of it leaves (root, 0): against the order of the ends where the root is the larger one.
    backwards = (edges[at_root, 1] == root) & (weights[at_root] > 0)
    amounts[at_root] = np.abs(given - excess)[ends] * np.where(backwards, -1, 1)
    return amounts


def _flow(n: int, edges: Ints, weights: Ints, root: int) -> Ints:
    """Push a maximum flow through the cover; give the sum of it and its mirror image."""
    at_root = (edges == root).any(axis=1)
    crossed = (weights < 0).astype(np.int64)
    (u, v), c = edges[~at_root].T, crossed[~at_root]
    tail, head = np.repeat(2 * u, 2), np.repeat(2 * v + c, 2)
    tail[1::2] += 1
    head[1::2] ^= 1
    capacity = np.repeat(np.abs(weights[~at_root]), 2)
    ends = 2 * (edges[at_root].sum(axis=1) - root) + crossed[at_root]
    excess = np.zeros(2 * n, dtype=np.int64)
    excess[ends] = np.abs(weights[at_root])
    excess[ends ^ 1] = -excess[ends]
    given = excess.copy()
    r = np.repeat(capacity, 2)
    push_all(*network(2 * n, tail, head), r, excess)
    through, pushed = capacity - r[0::2], given - excess
    amounts = np.empty(len(weights), dtype=np.int64)
    amounts[~at_root] = through[0::2] - through[1::2]
    backwards = (edges[at_root, 1] == root) & (weights[at_root] > 0)
    amounts[at_root] = (pushed[ends] - pushed[ends ^ 1]) * np.where(backwards, -1, 1)
    return amounts


def _floor(number: Number, shift: int) -> int:
    if shift >= 0:
        return math.floor(number * (1 << shift))
    return math.floor(number) >> -shift


def multiplier_bits(largest: float, bits: int) -> int:
    """Choose how fine multipliers are to be written.

    Parameters
    ----------
    largest : float
        The largest weight, in nats.
    bits : int
        A nat is 2**bits of the exact graph's units.

    Returns
    -------
    int
        For multiples of 2**-that of a unit, so that the largest has some 60 bits.
    """
    return max(0, _BITS - math.frexp(largest)[1] - bits)


def semidefinite_argument(
    graph: ExactGraph,
    vertices: Sequence[int],
    unit: Fraction,
    rows: Iterable[tuple[float, Sequence[int], Sequence[int]]],
    shift: npt.NDArray[np.float64],
) -> Argument:
    """Bound a graph by a semidefinite relaxation, given its dual point.

    Parameters
    ----------
    graph : ExactGraph
    vertices : sequence of int
        All that have edges.
    unit : Fraction
        How much one unit of the exact graph is worth in the multipliers' own.
    rows : iterable of (multiplier, vertices, signs)
        Of the inequalities sum b_i b_j s_i s_j >= (1 - k) / 2, with s = +-1 and i < j.
    shift : ndarray, shape (N,)
        Of the diagonal, for P's quadratic form without one; moved here to where the slack matrix
        is just positive definite.
    """
    N = len(vertices)
    place = {v: k for k, v in enumerate(vertices)}
    most = max((size_of(w) for _, _, w in graph.edges()), default=1)
    scale = 2 ** max(0, _SCALE_BITS - math.ceil(math.log2(most)))
    ours, theirs = (scale / unit).as_integer_ratio()
    written = []
    for y, members, signs in rows:
        if y > 0:
            top, bottom = float(y).as_integer_ratio()
            written.append([top * ours // (bottom * theirs), list(members), list(signs)])
    A = np.zeros((N, N))
    for u, v, w in graph.edges():
        A[place[u], place[v]] = A[place[v], place[u]] = -float(scale * w)
    for multiplier, members, signs in written:
        at = [place[v] for v in members]
        A[np.ix_(at, at)] -= 2.0 * multiplier * np.outer(signs, signs)
    np.fill_diagonal(A, 4.0 * scale * float(1 / unit) * shift)
    # Sparing the assignment that the lowest eigenvector shows lifts that eigenvalue to the next.
    values, vectors = np.linalg.eigh(A)
    size = float(np.abs(values).max(initial=1.0))
    vector = np.rint(vectors[:, 0] * 2.0**_VECTOR_BITS)
    lift = float(values[1] - values[0]) if N > 1 else 0.0
    spare = math.floor(lift / (4 * 4.0**_VECTOR_BITS))
    A += 4.0 * spare * np.outer(vector, vector)
    lowest = float(np.linalg.eigvalsh(A)[0])
    inside = A.diagonal() - 4.0 * spare * vector**2
    whole = [math.ceil(value) for value in ((inside - lowest) / 4 + size * 1e-13).tolist()]
    np.fill_diagonal(A, 4.0 * np.array(whole, dtype=np.float64) + 4.0 * spare * vector**2)
    # The factor's entries get some 50 bits: its product is then off by less than A's own rounding.
    grid = 2 ** max(0, 50 - math.ceil(math.log2(size) / 2))
    factor = np.linalg.cholesky(A + np.eye(N) * size * 1e-14) * grid
    return {
        "by": "semidefinite",
        "scale": scale,
        "grid": grid,
        "vertices": list(vertices),
        "shift": whole,
        "rows": written,
        "spare": {"multiplier": spare, "vector": [int(x) for x in vector.tolist()]},
        "factor": [[round(x) for x in factor[k, : k + 1].tolist()] for k in range(N)],
    }
