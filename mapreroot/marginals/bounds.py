"""The best interval for log Z that the approximate methods prove, over several rootings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mapreroot.balance import balancing_vertices
from mapreroot.errors import ModelError, SolverError
from mapreroot.marginals.inference import LogPartition, log_partition
from mapreroot.model import Model
from mapreroot.notebook import table
from mapreroot.rerooting import uproot
from mapreroot.roots import max_tw, max_w

__all__ = ["Bounds", "bounds"]

Root = int | Literal["uprooted"]

FEW = 16
"""Up to so many vertices of M+ all are tried."""
BALANCING = 3
"""Of the roots that balance the model, so many are tried."""
CROSSING = 1e-6
"""Bounds may cross by this, relative to log Z: what is left when the methods have converged."""


@dataclass(frozen=True)
class Bounds:
    """An interval that holds log Z, and who proves it.

    Attributes
    ----------
    lower, upper : float
        In nats, constant included; ``upper`` is inf if nothing bounded it.
    lower_method, upper_method : str
        "mean_field", "bethe" or "trw"; "none" for an upper bound of inf.
    lower_root, upper_root : int, "uprooted" or None
        The vertex of M+ at which that method gave the bound.
    tried : tuple
        All rootings that were tried.
    """

    lower: float
    upper: float
    lower_method: str
    upper_method: str
    lower_root: Root | None
    upper_root: Root | None
    tried: tuple[Root, ...]

    def _repr_html_(self) -> str:
        return table(
            "Bounds on log Z, in nats",
            {
                "upper": f"{self.upper:.10g} ({self.upper_method}, root {self.upper_root})",
                "lower": f"{self.lower:.10g} ({self.lower_method}, root {self.lower_root})",
                "rootings tried": len(self.tried),
            },
        )


def bounds(
    model: Model, roots: Sequence[Root] | Literal["all"] | None = None, *, steps: int = 0
) -> Bounds:
    """Enclose log Z by the best bounds of approximate methods at several roots.

    Parameters
    ----------
    model : Model
    roots : sequence of int and "uprooted", or "all", optional
        Vertices of M+ to root at, and M+ itself. By default all of them for small models; else
        the model's own root, M+, the maxW and maxtW vertices and some that balance it.
    steps : int
        Conditional-gradient steps of TRW at each root, which lower the upper bound.

    Returns
    -------
    Bounds

    Raises
    ------
    ModelError
        If there is no root to try, or one that is no vertex.
    SolverError
        If a lower bound exceeds an upper one: a method has converged to something else.

    Notes
    -----
    Z is the same at every root, what the methods say of it is not. From below: mean field
    anywhere, and Bethe where M_r is balanced (Ruozzi 2012). From above: TRW anywhere, and Bethe
    plus log 2 for each cycle where components have one at most. Three runs a root.
    Weller (2016), section 5.

    Examples
    --------
    >>> model = Model([0, 0, 0, 0], [(0, 1), (1, 2), (0, 2), (2, 3)], [-2.0, -2.0, -2.0, 1.0])
    >>> found = bounds(model)
    >>> round(found.lower, 4), found.lower_method, round(found.upper, 4), found.upper_method
    (4.31, 'bethe', 4.31, 'bethe')
    >>> found.lower_root, bounds(model, [0]).lower_method
    (1, 'mean_field')
    """
    tried = _candidates(model) if roots is None else _given(model, roots)
    if not tried:
        raise ModelError("no root to try")
    found = [
        (method, log_partition(model, method, root, steps=steps))
        for root in tried
        for method in ("mean_field", "bethe", "trw")
    ]
    low_method, low = max(
        (one for one in found if one[1].lower is not None), key=lambda one: _lower(one[1])
    )
    high_method, high = min(found, key=lambda one: _upper(one[1]))
    lower, upper = _lower(low), _upper(high)
    if lower > upper + CROSSING * max(1.0, abs(upper)):
        raise SolverError(
            f"{low_method} at root {low.root} bounds log Z by {lower} from below, {high_method} at "
            f"root {high.root} by {upper} from above"
        )
    known = upper < math.inf
    return Bounds(
        lower,
        max(lower, upper),
        low_method,
        high_method if known else "none",
        _root(low),
        _root(high) if known else None,
        tried,
    )


def _candidates(model: Model) -> tuple[Root, ...]:
    plus = uproot(model)
    if plus.n_vertices <= FEW:
        return _given(model, "all")
    balancing = [] if model.m == 0 else balancing_vertices(plus)[:BALANCING]
    return tuple(dict.fromkeys((0, max_w(plus), max_tw(plus), *balancing, "uprooted")))


def _given(model: Model, roots: Sequence[Root] | Literal["all"]) -> tuple[Root, ...]:
    return (*range(model.n + 1), "uprooted") if roots == "all" else tuple(roots)


def _lower(found: LogPartition) -> float:
    return -math.inf if found.lower is None else found.lower


def _upper(found: LogPartition) -> float:
    return math.inf if found.upper is None else found.upper


def _root(found: LogPartition) -> Root:
    assert isinstance(found.root, int) or found.root == "uprooted"
    return found.root
