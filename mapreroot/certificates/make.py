"""Write the arguments of a certificate down, on the same exact graphs that `verify` will use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.graph import ExactGraph, Number, size_of
from mapreroot.errors import SolverError
from mapreroot.model import Model

__all__ = ["certificate", "cycles_argument", "flow_argument", "semidefinite_argument"]

Argument = dict[str, Any]

_MOST = 2**61
"""OR-tools counts in int64; a flow of this size leaves room for its sums."""

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


def flow_argument(graph: ExactGraph, root: int) -> Argument:
    """Bound a graph by a maximum flow from the root to its opposite in the signed double cover.

    Raises
    ------
    SolverError
        If OR-tools is missing or fails: of the max-flow libraries at hand it is the one that
        hands its flow out.

    Notes
    -----
    Where the rooting is balanced the flow proves the optimum (theory of roof duality: LOC). Its
    amounts are integers. Capacities that need more than 61 bits are rounded down, which loses
    some of the bound and nothing of its truth.
    """
    try:
        from ortools.graph.python import max_flow
    except ImportError as error:
        raise SolverError(
            "certificates of flows need OR-tools: pip install 'mapreroot[permissive]'"
        ) from error
    edges = list(graph.edges())
    # No flow is larger than what can leave the root, so no capacity has to be.
    most = sum((size_of(w) for w in graph.weight[root].values()), Fraction(0))
    if not most:
        return {"by": "signs"}
    shift = math.floor(math.log2(Fraction(_MOST) / most))
    if all(isinstance(w, int) for _, _, w in edges):
        shift = min(shift, 0)
    capacity = [_floor(min(size_of(w), most), shift) for _, _, w in edges]
    u = np.array([e[0] for e in edges], dtype=np.int64)
    v = np.array([e[1] for e in edges], dtype=np.int64)
    twist = np.array([w < 0 for _, _, w in edges], dtype=np.int64)
    tail = np.concatenate([2 * u, 2 * u + 1])
    head = np.concatenate([2 * v + twist, 2 * v + 1 - twist])
    both = np.array(capacity * 2, dtype=np.int64)
    flow = max_flow.SimpleMaxFlow()
    forth = flow.add_arcs_with_capacity(tail.astype(np.int32), head.astype(np.int32), both)
    back = flow.add_arcs_with_capacity(head.astype(np.int32), tail.astype(np.int32), both)
    status = flow.solve(2 * root, 2 * root + 1)
    if status != flow.OPTIMAL:
        raise SolverError(f"OR-tools max-flow stopped with status {status}")
    amount = flow.flows(forth) - flow.flows(back)
    up = max(-shift, 0)
    arcs = [
        [int(tail[k]) >> 1, int(tail[k]) & 1, int(head[k]) >> 1, int(amount[k]) << up]
        for k in np.flatnonzero(amount)
    ]
    return {"by": "flow", "root": root, "scale": 2 ** max(shift, 0), "arcs": arcs}


def _floor(number: Number, shift: int) -> int:
    if shift >= 0:
        return math.floor(number * (1 << shift))
    return math.floor(number) >> -shift


def cycles_argument(
    unit: Fraction, rows: Iterable[tuple[float, Sequence[int], Sequence[int]]]
) -> Argument:
    """Bound a graph by multipliers of cycle inequalities.

    Parameters
    ----------
    unit : Fraction
        How much one unit of the exact graph is worth in the multipliers' own.
    rows : iterable of (multiplier, cycle, odd)
        The cycle's vertices in order, and the positions k of the edges (cycle[k], cycle[k + 1])
        of F. Multipliers that are not positive are left out.
    """
    kept = [(float(y), list(cycle), list(odd)) for y, cycle, odd in rows if y > 0]
    if not kept:
        return {"by": "signs"}
    largest = Fraction(max(y for y, _, _ in kept)) / unit
    scale = 2 ** max(0, _BITS - math.ceil(math.log2(largest)))
    written = [[math.floor(Fraction(y) / unit * scale), cycle, odd] for y, cycle, odd in kept]
    return {"by": "cycles", "scale": scale, "rows": written}


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
    written = [
        [math.floor(Fraction(float(y)) / unit * scale), list(members), list(signs)]
        for y, members, signs in rows
        if y > 0
    ]
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
