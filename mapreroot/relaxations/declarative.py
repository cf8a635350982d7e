"""LOC and TRI as one reads them in the paper: triangle inequalities handed to an LP solver.

The readable reference for the fast versions beside it, for models of up to some fifty variables.
Both maximise c - 1/2 sum W_ij d_ij over points d with one number for each pair of vertices of M+,
"how far y_i and y_j differ" (Weller 2016, section 5): over RMET for LOC, over MET for TRI.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from mapreroot.canonical import Floats, Ints
from mapreroot.errors import ModelError, SizeError, SolverError
from mapreroot.model import UprootedModel
from mapreroot.relaxations.highs import new_highs
from polytopes import index_of_pair, met, n_pairs, rmet

__all__ = ["MAX_PAIRS", "MAX_ROWS", "LinearProgramBound", "loc", "tri", "tri_rows"]

MAX_PAIRS = 10_000_000
"""`loc` refuses to number more pairs than this, those of 4472 connected vertices."""

MAX_ROWS = 250_000
"""`tri` refuses to write more triangle inequalities than this, 72 connected vertices' worth."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LinearProgramBound:
    """The optimum of LOC or TRI.

    Attributes
    ----------
    bound : float
        In nats, constant included. Computed from the dual solution, so that no assignment scores
        more, whatever the solver's tolerance (only the rounding of this last sum remains).
    pairs : ndarray of int64, shape (k, 2)
        The pairs asked for.
    d : ndarray of float64, shape (k,)
        How far their ends differ, in [0, 1].
    q : ndarray of float64 or None
        For LOC, q_j = d_rj of the other vertices in ascending order: P(y_j = 1) in M_r.
    """

    bound: float
    pairs: Ints
    d: Floats
    q: Floats | None = None


def loc(
    uprooted: UprootedModel, root: int = 0, pairs: npt.ArrayLike | None = None
) -> LinearProgramBound:
    """Solve LOC of M_root, the standard relaxation of a rooting.

    Parameters
    ----------
    uprooted : UprootedModel
    root : int
    pairs : array_like of int, shape (k, 2), optional
        Where to give d; by default the edges of M+.

    Returns
    -------
    LinearProgramBound
        The bound depends on the root.

    Raises
    ------
    ModelError
        If there is no such root or pair.
    SizeError
        If the vertices with an edge have more than `MAX_PAIRS` pairs.
    SolverError
        If the solver stops without an optimum.

    Notes
    -----
    Four inequalities for each edge of M_root: the triangle it makes with the root. An isolated
    vertex has no say, and is put on the root. Optimal to the solver's tolerance, relative to the
    largest weight; `mapreroot.relax` gives the same number by one maximum flow.

    Examples
    --------
    >>> frustrated = UprootedModel(4, [(1, 2), (1, 3), (2, 3)], [-2.0, -2.0, -2.0])
    >>> round(loc(frustrated, root=0).bound, 6), round(loc(frustrated, root=1).bound, 6)
    (3.0, 2.0)
    """
    N = uprooted.n_vertices
    if not 0 <= root < N:
        raise ModelError(f"no vertex {root}: the model has 0..{N - 1}")
    wanted = _wanted(uprooted, pairs)
    kept = np.union1d(uprooted.edges, root)
    place = _places(kept, N, root)
    edges, ends = place[uprooted.edges], place[wanted]
    r, size = int(place[root]), len(kept)
    if n_pairs(size) > MAX_PAIRS:
        raise SizeError(
            f"LOC as written here numbers the {n_pairs(size)} pairs of {size} vertices, more than "
            f"{MAX_PAIRS}: use mapreroot.relax(model, 'loc'), which needs the edges only"
        )
    # A pair that was asked for but carries no weight needs its triangle too, and nothing else.
    inner = np.unique(np.sort(np.vstack([edges, ends[ends[:, 0] != ends[:, 1]]]), axis=1), axis=0)
    bound, d = _maximise(uprooted, edges, size, *rmet(size, r, inner))
    q = np.delete(_at(d, place[root], place, size), root)
    return LinearProgramBound(bound, wanted, _at(d, ends[:, 0], ends[:, 1], size), q)


def tri(
    uprooted: UprootedModel,
    pairs: npt.ArrayLike | None = None,
    max_rows: int = MAX_ROWS,
) -> LinearProgramBound:
    """Solve TRI, the triplet-consistent relaxation, the same number for every rooting.

    Parameters
    ----------
    uprooted : UprootedModel
    pairs : array_like of int, shape (k, 2), optional
        Where to give d; by default the edges of M+.
    max_rows : int
        The most triangle inequalities to write; `tri_rows` says how many there are.

    Returns
    -------
    LinearProgramBound
        Without q, for there is no root.

    Raises
    ------
    SizeError
        If the model has more triangle inequalities than ``max_rows``; nothing is built then.
    ModelError
        If there is no such pair.
    SolverError
        If the solver stops without an optimum.

    Notes
    -----
    Every triangle of the N' vertices that have an edge: 4 C(N', 3) rows, logged (level INFO,
    logger ``mapreroot.relaxations.declarative``) before they are written. An isolated vertex is
    put on one of the others. `mapreroot.relax` gives the same number by cycle inequalities, on
    the edges only and without this limit. Weller (2016), Theorem 3; optimal to the solver's
    tolerance, relative to the largest weight.

    Examples
    --------
    >>> W = np.full(10, -2.0)  # K5: the largest cut is 6
    >>> clique = UprootedModel(5, [(i, j) for j in range(5) for i in range(j)], W)
    >>> round(tri(clique).bound, 6)
    6.666667
    """
    wanted = _wanted(uprooted, pairs)
    rows = tri_rows(uprooted)
    kept = np.unique(uprooted.edges)
    size = len(kept)
    log.info("TRI on %d vertices: 4 * C(%d, 3) = %d triangle inequalities", size, size, rows)
    if rows > max_rows:
        raise SizeError(
            f"TRI would write {rows} triangle inequalities (4 for each three of {size} vertices), "
            f"more than {max_rows}: use mapreroot.relax(model, 'tri'), which writes only the "
            "violated ones, or raise max_rows"
        )
    place = _places(kept, uprooted.n_vertices, int(kept[0]) if size else 0)
    bound, d = _maximise(uprooted, place[uprooted.edges], size, *met(size))
    ends = place[wanted]
    return LinearProgramBound(bound, wanted, _at(d, ends[:, 0], ends[:, 1], size))


def tri_rows(uprooted: UprootedModel) -> int:
    """Count the triangle inequalities that `tri` would write: 4 C(N', 3).

    N' is the number of vertices of M+ that have an edge.

    Examples
    --------
    >>> tri_rows(UprootedModel(5, [(1, 2), (2, 3), (3, 4)], [1.0, 1.0, 1.0]))
    16
    """
    return 4 * math.comb(len(np.unique(uprooted.edges)), 3)


def _maximise(
    uprooted: UprootedModel,
    edges: Ints,
    size: int,
    A: sp.csr_array,
    b: Floats,
) -> tuple[float, Floats]:
    """Maximise the score over A d <= b in the unit box, on the pairs of ``size`` points.

    ``edges`` are those of the model, renumbered. Pairs in no row and without weight are set to 0.
    """
    import cvxpy as cp

    P = n_pairs(size)
    if not uprooted.m:
        return uprooted.constant, np.zeros(P)
    # Scaled to one, so that the solver's absolute tolerances mean the same for every model.
    scale = float(np.abs(uprooted.weights).max())
    c = np.zeros(P)
    c[index_of_pair(edges[:, 0], edges[:, 1], size)] = -uprooted.weights / scale / 2
    used = np.union1d(np.flatnonzero(c), A.indices)
    A, c = A[:, used], c[used]
    x = cp.Variable(len(used), bounds=[0, 1])
    triangles = [A @ x <= b] if len(b) else []
    problem = cp.Problem(cp.Maximize(c @ x), triangles)
    new_highs()  # uses up the banner of HiGHS
    try:
        problem.solve(solver=cp.HIGHS)
    except cp.SolverError as error:
        raise SolverError(f"HiGHS failed on {len(b)} triangle inequalities: {error}") from error
    if problem.status != cp.OPTIMAL:
        raise SolverError(f"HiGHS stopped: {problem.status} ({len(b)} triangle inequalities)")
    d = np.zeros(P)
    d[used] = np.clip(x.value, 0.0, 1.0) + 0.0  # no -0.0
    # Weak duality: for any multipliers >= 0, the box takes what the rows leave of c.
    dual = np.maximum(triangles[0].dual_value, 0.0) if triangles else np.zeros(0)
    rest = np.maximum(c - A.T @ dual, 0.0)
    return uprooted.constant + scale * math.fsum([*(b * dual).tolist(), *rest.tolist()]), d


def _wanted(uprooted: UprootedModel, pairs: npt.ArrayLike | None) -> Ints:
    if pairs is None:
        return uprooted.edges
    wanted = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    outside = (wanted < 0) | (wanted >= uprooted.n_vertices)
    bad = np.flatnonzero(outside.any(axis=1) | (wanted[:, 0] == wanted[:, 1]))
    if len(bad):
        i, j = wanted[bad[0]]
        raise ModelError(
            f"pair {bad[0]} is ({i}, {j}): expected two of the vertices "
            f"0..{uprooted.n_vertices - 1}"
        )
    return wanted


def _places(kept: Ints, N: int, home: int) -> Ints:
    """Give each kept vertex its number, and all the others the number of ``home``."""
    place = np.full(N, np.searchsorted(kept, home), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return place


def _at(d: Floats, i: npt.ArrayLike, j: npt.ArrayLike, size: int) -> Floats:
    """Read d between places; 0 from a place to itself."""
    i, j = np.broadcast_arrays(i, j)
    value = np.zeros(i.shape)
    apart = i != j
    value[apart] = d[index_of_pair(i[apart], j[apart], size)]
    return value
