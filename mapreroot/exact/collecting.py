"""Branch until what is left is little enough to list: no reduction loses a single assignment."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition import Reduction, contract
from mapreroot.exact.cycle_nodes import CycleNodes
from mapreroot.exact.semidefinite import Multipliers, sdp_bound
from mapreroot.exact.semidefinite_nodes import carried, is_dense, splitting_pair
from mapreroot.limits import Limits, StopReason
from mapreroot.model import UprootedModel
from mapreroot.relaxations.clamped_roof_duals import clamped_roof_duals
from mapreroot.relaxations.roof_duality import best_loc_root
from mapreroot.relaxations.tri import BYTES_PER_EDGE

__all__ = ["SMALL", "Collection", "collect"]

SMALL = 20
"""Vertices up to which all assignments are tried, as in a search."""

_PATIENT = 0.02
# Flows that clamp one vertex each stay short where roof duality decides this share of them.
_DECIDED = 0.5


class Collection(Protocol):
    """What is collected: it says which bounds are of no interest, and takes the leaves."""

    def closes(self, bound: float) -> bool:
        """Whether nothing under this bound is wanted."""

    def enough(self) -> float:
        """Give a bound that closes, nearly the largest; -inf if there is none."""

    def is_full(self) -> bool:
        """Whether no more can be taken."""

    def take(self, way: Reduction) -> bool:
        """Take what is wanted of all that ``way`` restores, if that is little enough to list."""


def collect(
    found: Collection, uprooted: UprootedModel, limits: Limits, nodes: int = 0
) -> StopReason | None:
    """Go through all assignments of M+, bounded by the relaxation that suits it.

    Parameters
    ----------
    found : Collection
    uprooted : UprootedModel
    limits : Limits
    nodes : int
        Search nodes so far, which count.

    Returns
    -------
    str or None
        Why it stopped early; "nodes" also when the collection was full.

    Raises
    ------
    SolverError
        If a solver under it fails.
    """
    if (reason := limits.reason(nodes)) is not None:
        return reason
    way = contract(uprooted, np.full(uprooted.n_vertices, -1, np.int64))
    if found.take(way):
        return None
    way = way.then(contract(uprooted, _decided(found, uprooted)))
    if found.take(way):
        return None
    by = _by_semidefinite_bounds if is_dense(way.kernel) else _by_cycle_bounds
    return by(found, way, limits, nodes)


def _decided(found: Collection, uprooted: UprootedModel) -> npt.NDArray[np.int64]:
    """Tie what LOC says no wanted assignment does otherwise."""
    root, dual, _ = best_loc_root(uprooted)
    tied = np.full(uprooted.n_vertices, -1, np.int64)
    if (dual.strong >= 0).mean() < _DECIDED:
        return tied
    for v, bounds in enumerate(clamped_roof_duals(uprooted, root).tolist()):
        if v != root and any(map(found.closes, bounds)):
            tied[v] = 2 * root + int(found.closes(bounds[0]))
    return tied


def _by_cycle_bounds(
    found: Collection, whole: Reduction, limits: Limits, nodes: int
) -> StopReason | None:
    """Collect depth first in boxes of one cycle LP."""
    if limits.lacks(BYTES_PER_EDGE * whole.kernel.m):
        return "memory"
    relaxation = CycleNodes(whole.kernel)
    boxes = [relaxation.whole]
    while boxes:
        if (reason := limits.reason(nodes)) is not None or found.is_full():
            return reason or "nodes"
        nodes += 1
        box = relaxation.bound(
            boxes.pop(),
            found.closes,
            found.closes,
            found.enough,
            lambda y: None,
            _PATIENT,
            limits,
        )
        if box.stopped is not None:
            return box.stopped
        if found.closes(box.bound) or found.take(whole.then(contract(whole.kernel, box.tied))):
            continue
        boxes += [child for _, child in reversed(relaxation.branch(box, found.closes, limits))]
    return None


def _by_semidefinite_bounds(
    found: Collection, whole: Reduction, limits: Limits, nodes: int
) -> StopReason | None:
    """Collect depth first in contractions."""
    ways: list[tuple[Reduction, Multipliers | None]] = [(whole, None)]
    while ways:
        if (reason := limits.reason(nodes)) is not None or found.is_full():
            return reason or "nodes"
        nodes += 1
        way, multipliers = ways.pop()
        if found.take(way):
            continue
        kernel = way.kernel
        bound = sdp_bound(kernel, found.enough(), limits, multipliers)
        if bound.stopped is not None:
            return bound.stopped
        if found.closes(bound.bound):
            continue
        u, v = splitting_pair(bound.X)
        likely = int(bound.X[u, v] < 0)
        for opposite in (1 - likely, likely):
            tied = np.full(kernel.n_vertices, -1, np.int64)
            tied[v] = 2 * u + opposite
            child = contract(kernel, tied)
            ways.append((way.then(child), carried(bound.multipliers, child)))
    return None
