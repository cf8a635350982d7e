"""Bounds with one vertex clamped, for all vertices and both values from one flow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import ModelError
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cycles import solve_cycle_lp
from mapreroot.residual import (
    augment,
    checked,
    network,
    opened,
    restore_flow,
    restore_supply,
    saturate,
)

__all__ = ["clamped_cycle_bounds", "clamped_roof_duals"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

SHARES = (0.8, 0.95, 1.0)
"""Parts of the multipliers that are tried: all give the best bound on the whole, and leave the
least to tell values apart."""


def clamped_roof_duals(uprooted: UprootedModel, root: int, limits: Limits | None = None) -> Floats:
    """Bound the score of M+ with each vertex held equal to the root, and different from it.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.
    root : int
    limits : Limits, optional
        For the clamps; the bound on all scores is found in any case, and stands for the rest.

    Returns
    -------
    ndarray, shape (n_vertices, 2)
        No y with y_v XOR y_root = a scores more than ``[v, a]`` (up to rounding): LOC of M_root
        with v clamped. ``[root, 1]`` is -inf.

    Raises
    ------
    ModelError
        If there is no such vertex.
    SolverError
        If weights are not finite.

    Notes
    -----
    In the signed double cover (`mapreroot.relaxations.roof_duality`) clamping v joins its two
    copies to the two terminals. What can then still be pushed through the residual network of
    the one maximum flow lowers the bound by a quarter of itself; it is undone for the next
    vertex. 2 n searches that mostly stay near v, each a maximum flow at worst.

    Examples
    --------
    >>> frustrated = UprootedModel(4, [(1, 2), (1, 3), (2, 3)], [-2.0, -2.0, -2.0])
    >>> clamped_roof_duals(frustrated, 0)[1:3].tolist()  # LOC of M_0 is 3, the optimum 2
    [[2.0, 2.0], [2.0, 2.0]]
    """
    n = uprooted.n_vertices
    if not 0 <= root < n:
        raise ModelError(f"no vertex {root}: the model has 0..{n - 1}")
    i, j = uprooted.edges.T
    crossed = (uprooted.weights < 0).astype(np.int64)
    size = np.abs(uprooted.weights)
    inner = (i != root) & (j != root)
    tail = np.concatenate([2 * i[inner], 2 * i[inner] + 1])
    head = np.concatenate([2 * j[inner] + crossed[inner], 2 * j[inner] + 1 - crossed[inner]])
    other = i[~inner] + j[~inner] - root
    source, sink = np.zeros(2 * n), np.zeros(2 * n)
    source[2 * other + crossed[~inner]] = size[~inner]
    sink[2 * other + 1 - crossed[~inner]] = size[~inner]
    r, give, take = checked(np.repeat(np.tile(size[inner], 2), 2), source, sink)
    start, half, to = network(2 * n, tail, head)
    scratch = opened(2 * n, len(half) // 2)
    flow = saturate(start, half, to, r, give, take, scratch)
    more = np.zeros((n, 2))
    for first, end in (limits or Limits()).batches(n):
        _clamp(start, half, to, r, give, take, scratch, first, end, more)
    highest = uprooted.constant + float(size[crossed == 1].sum()) / 2
    bounds = (highest - flow / 4) - more / 4
    bounds[root] = highest - flow / 4, -np.inf
    return np.asarray(bounds)


def clamped_cycle_bounds(
    uprooted: UprootedModel, root: int, limits: Limits | None = None
) -> Floats:
    """Bound the same scores by TRI, from one linear program and a few flows.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.
    root : int
    limits : Limits, optional
        For the linear program and the clamps; the bounds hold whenever it stops.

    Returns
    -------
    ndarray, shape (n_vertices, 2)
        As `clamped_roof_duals`, and nowhere more. None but ``[root, 1]`` exceeds TRI, if the
        linear program was solved.

    Raises
    ------
    ModelError, SolverError
        As `clamped_roof_duals`, and if HiGHS fails.

    Notes
    -----
    With multipliers y >= 0 of the cycle inequalities A d <= b that solve TRI, no score exceeds
    score + y (b - A d). That is the score of a model on the same edges, W + 2 A'y for W, whose
    roof dual at any root is at most TRI: so it does for the clamped ones what roof duality does
    for M+. Smaller multipliers are as valid, and better for some clamps.

    Examples
    --------
    >>> tail = [(0, 1), (1, 2), (2, 3), (3, 4), (2, 4)]
    >>> frustrated = UprootedModel(5, tail, [1.0, 1.0, -2.0, -2.0, -2.0])
    >>> clamped_roof_duals(frustrated, 0)[1].tolist()
    [2.75, 2.25]
    >>> clamped_cycle_bounds(frustrated, 0)[1].round(6).tolist()
    [2.0, 1.5]
    """
    limits = limits or Limits()
    best = clamped_roof_duals(uprooted, root, limits)
    found = solve_cycle_lp(uprooted, limits=limits)
    for share in SHARES:
        if limits.late():
            break
        y = share * found.y
        into = np.bincount(found.cuts.edge, y[found.cuts.row] * found.cuts.sign, uprooted.m)
        shifted = UprootedModel(
            uprooted.n_vertices,
            uprooted.edges,
            uprooted.weights + 2 * into,
            uprooted.constant + float(y @ found.cuts.rhs),
        )
        best = np.minimum(best, clamped_roof_duals(shifted, root, limits))
    return np.minimum(best, found.bound)


@njit(cache=True)
def _clamp(
    start: Ints, half: Ints, to: Ints, r: Floats, give: Floats, take: Floats,
    scratch: tuple[Ints, Ints, Ints, Ints, Floats, Ints, Floats, Ints], first: int, end: int,
    more: Floats,
) -> None:  # fmt: skip
    """Fill ``more[first:end]``: the flow that each clamp adds; the root has no edges here."""
    want = np.zeros(len(give))
    for v in range(first, end):
        for a in range(2):
            # Differing from the root (a = 1) puts copy 2v on the sink's side, 2v + 1 on the other.
            sunk, fed = 2 * v + 1 - a, 2 * v + a
            # First from the source to the new sink. The source then reaches neither sink, and
            # what the new source pushes to both of them does not change that.
            want[sunk] = np.inf
            more[v, a] = augment(start, half, to, r, 1, give, want, np.array([sunk]), scratch)
            want[sunk] = 0.0
            restore_supply(give, scratch)
            own = take[sunk]
            want[fed], take[sunk] = np.inf, np.inf
            more[v, a] += augment(start, half, to, r, 0, take, want, np.array([fed]), scratch)
            restore_supply(take, scratch)
            want[fed], take[sunk] = 0.0, own
            restore_flow(r, scratch)
