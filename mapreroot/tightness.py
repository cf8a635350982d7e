"""Are the relaxations tight on this model, and why: a report, and the invariance of TRI."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mapreroot.balance import balancing_set, balancing_vertices, rooted_balance
from mapreroot.decomposition import blocks, reduce
from mapreroot.errors import ModelError
from mapreroot.limits import Limits, StopReason, interruptible
from mapreroot.model import Model, UprootedModel
from mapreroot.notebook import table
from mapreroot.relaxations.extension import extend
from mapreroot.relaxations.roof_duality import best_loc_root, loc_by_root, roof_dual
from mapreroot.relaxations.tri import OnProgress, tri
from mapreroot.rerooting import uproot
from mapreroot.solve import MapResult, Progress, solve
from polytopes.hypermetric import HypermetricInequality, violated_hypermetric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TightnessReport", "invariance", "tightness"]

Floats = npt.NDArray[np.float64]

_PLANAR_EDGES = 200_000  # above this a planarity test in Python takes longer than it is worth
_SUPPORT = 14  # vertices on which an inequality beyond TRI is looked for


@dataclass(frozen=True, eq=False)
class TightnessReport:
    """What LOC and TRI say of a model, beside its MAP.

    Attributes
    ----------
    loc : float
        LOC at root 0, the model as it is.
    best_loc, best_root : float, int
        The smallest LOC over all roots, and where.
    loc_by_root : dict
        LOC at the roots asked for.
    tri : float
        TRI, which is the same at every root; where a limit came first (``tri_converged`` is
        False), the bound on it so far.
    score, bound : float
        The best assignment found, and what no assignment exceeds.
    loc_tight, best_loc_tight, tri_tight : bool or None
        Whether the MAP score attains the relaxation's value; None where the MAP is not known
        well enough to say.
    reason : str
        Why, in a sentence.
    witness : dict
        What shows it, in vertices of M+: ``switching_set`` and ``root``; ``hitting_set``;
        ``block_roots``; ``fractional`` edges and a ``violated`` inequality beyond TRI.
    fractional : int
        Edges of M+ with fractional d in the optimum of TRI that was found.
    answer : MapResult
        Where score and bound come from, with the assignment.
    tri_converged : bool
        Whether ``tri`` is the optimum.
    stopped : {None, "time", "nodes", "memory", "interrupted"}
        What ended TRI or the search for the MAP early, if anything did.
    """

    loc: float
    best_loc: float
    best_root: int
    loc_by_root: dict[int, float]
    tri: float
    score: float
    bound: float
    loc_tight: bool | None
    best_loc_tight: bool | None
    tri_tight: bool | None
    reason: str
    witness: dict[str, Any]
    fractional: int
    answer: MapResult
    tri_converged: bool = True
    stopped: StopReason | None = None

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw LOC by root beside TRI and MAP: `mapreroot.report.pictures.root_profile`."""
        from mapreroot.report.pictures import root_profile

        return root_profile(self, ax)

    def _repr_html_(self) -> str:
        words = {True: "tight", False: "not tight", None: "tightness not known"}
        proved = "MAP" if self.answer.status == "optimal" else "best score found"
        return table(
            "Are the relaxations tight?",
            {
                proved: self.score,
                "bound": self.bound,
                "TRI": f"{self.tri:.10g}, {words[self.tri_tight]}",
                "best LOC": f"{self.best_loc:.10g} at root {self.best_root}, "
                f"{words[self.best_loc_tight]}",
                "LOC": f"{self.loc:.10g} at root 0, {words[self.loc_tight]}",
                "fractional edges": self.fractional,
                "why": self.reason,
            },
        )


def tightness(
    model: Model,
    roots: Iterable[int] | Literal["all"] | None = None,
    time_limit: float | None = None,
    on_progress: OnProgress | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> TightnessReport:
    """Report whether LOC and TRI are tight on a model, and why.

    Parameters
    ----------
    model : Model
    roots : iterable of int or "all", optional
        Vertices of M+ at which LOC is wanted too.
    time_limit : float, optional
        Seconds of wall time for TRI and then the MAP; without one both are solved to the end.
    on_progress : callable, optional
        Called while TRI is solved, as `mapreroot.relaxations.tri.tri` does.
    progress : callable, optional
        Called while the MAP is searched for, as `mapreroot.solve` does.

    Returns
    -------
    TightnessReport
        Also at Ctrl-C: then with the bounds so far.

    Raises
    ------
    ModelError
        For a root that is not there.
    SolverError
        If a solver under it fails.

    Notes
    -----
    Tight is decided by the value of the relaxation less the score, never by whether its solution
    is integral: where optima tie, a tight relaxation may show a fractional one. Reasons are
    tried in this order: M_0 is balanced; M_r is; two vertices hit every frustrated cycle of M+
    (Weller 2016, Theorem 4); the same in each block of M+; M+ has no K5 minor, because removing
    vertices of degree at most 3 leaves nothing, or because it is planar (Barahona and Mahjoub
    1986); the values alone; a violated inequality beyond TRI.

    Examples
    --------
    >>> K4 = Model([0] * 4, [(i, j) for j in range(4) for i in range(j)], [-2] * 6)
    >>> report = tightness(K4)
    >>> report.loc, report.best_loc, round(report.tri, 9), report.score
    (6.0, 4.5, 4.0, 4.0)
    >>> report.loc_tight, report.tri_tight, report.reason
    (False, True, 'vertices 1 and 2 hit every frustrated cycle of M+: TRI is tight')
    """
    uprooted = uproot(model)
    asked = range(uprooted.n_vertices) if roots == "all" else list(roots or ())
    for r in asked:
        if not 0 <= int(r) < uprooted.n_vertices:
            raise ModelError(f"no vertex {r}: the vertices of M+ are 0..{uprooted.n_vertices - 1}")
    limits = Limits(time_limit)
    with interruptible(limits):
        loc = roof_dual(uprooted, 0).bound
        best_root, best, _ = best_loc_root(uprooted)
        relaxed = tri(uprooted, limits, on_progress)
        left = 0.0 if limits.interrupted else None if time_limit is None else limits.left()
        answer = solve(model, time_limit=left, progress=progress)
    stopped: StopReason | None = "interrupted" if limits.interrupted else relaxed.stopped
    bound = min(answer.bound, relaxed.bound)
    tolerance = 10 * uprooted.tolerance  # of two solvers' values

    def tight(value: float) -> bool | None:
        if value - answer.score <= tolerance:
            return True
        return False if value - bound > tolerance else None

    tri_tight = tight(relaxed.bound)
    if not relaxed.converged:  # the bound is above TRI, so that only equality says something
        tri_tight = tri_tight or None
    fractional = np.flatnonzero(np.minimum(relaxed.d, 1 - relaxed.d) > 1e-6)
    reason, witness = _why(uprooted, tri_tight, relaxed.d, fractional)
    return TightnessReport(
        loc=loc,
        best_loc=best.bound,
        best_root=best_root,
        loc_by_root=dict(zip(map(int, asked), loc_by_root(uprooted, asked).tolist(), strict=True)),
        tri=relaxed.bound,
        score=answer.score,
        bound=bound,
        loc_tight=tight(loc),
        best_loc_tight=tight(best.bound),
        tri_tight=tri_tight,
        reason=reason,
        witness=witness,
        fractional=len(fractional),
        answer=answer,
        tri_converged=relaxed.converged,
        stopped=stopped or answer.stopped,
    )


def _why(
    uprooted: UprootedModel,
    tri_tight: bool | None,
    d: Floats,
    fractional: npt.NDArray[np.int64],
) -> tuple[str, dict[str, Any]]:
    """Find the first reason that applies, with its witness."""
    structural = _structure(uprooted)
    if structural is not None:
        return structural
    if tri_tight:
        return "TRI attains the MAP score, though the signs alone do not force it", {}
    support = {"fractional": uprooted.edges[fractional].tolist()}
    if tri_tight is None:
        return "the MAP is not known well enough to say whether TRI is tight", support
    violated = _beyond_tri(uprooted, d, fractional)
    if violated is None:
        return f"TRI is fractional on {len(fractional)} edges of M+", support
    points, inequality = violated
    name = "pentagonal" if inequality.is_pentagonal else "hypermetric"
    at = "-".join(str(points[p]) for p in inequality.points)
    support["violated"] = {
        "vertices": [points[p] for p in inequality.points],
        "b": list(inequality.b),
        "violation": inequality.violation,
    }
    return f"TRI is not tight: its optimum violates a {name} inequality on vertices {at}", support


def _structure(uprooted: UprootedModel) -> tuple[str, dict[str, Any]] | None:
    """Look for what makes TRI tight whatever the sizes of the weights are."""
    signs = rooted_balance(uprooted, 0)
    if signs.is_balanced:
        return "M is balanced: LOC is tight", {"root": 0, "switching_set": signs.switching_set}
    balancing = balancing_vertices(uprooted)
    if len(balancing):
        r = int(balancing[0])
        set_ = rooted_balance(uprooted, r).switching_set
        return (
            f"M+ without vertex {r} is balanced: LOC is tight when rooted there",
            {"root": r, "switching_set": set_},
        )
    pair = balancing_set(uprooted, 2)
    if pair is not None:
        a, b = sorted(pair)
        return (
            f"vertices {a} and {b} hit every frustrated cycle of M+: TRI is tight",
            {"hitting_set": pair},
        )
    parts = blocks(uprooted)
    if len(parts) > 1:
        hitting = [balancing_set(part.model, 2) for part in parts]
        if all(hit is not None for hit in hitting):
            most = max(len(hit or ()) for hit in hitting)
            roots = [
                sorted(int(part.vertices[v]) for v in hit or ())
                for part, hit in zip(parts, hitting, strict=True)
            ]
            each = "one vertex hits" if most <= 1 else "two vertices hit"
            what = "LOC is tight block by block" if most <= 1 else "TRI is tight"
            return (
                f"in each block of M+ {each} every frustrated cycle: {what}",
                {"block_roots": roots},
            )
    if reduce(uprooted).kernel.n_vertices == 0:
        return "removing vertices of degree at most 3 leaves nothing of M+: TRI is tight", {}
    if uprooted.m <= _PLANAR_EDGES and _is_planar(uprooted):
        return "M+ is planar, so without a K5 minor: TRI is tight", {}
    return None


def _is_planar(uprooted: UprootedModel) -> bool:
    if uprooted.m > 3 * uprooted.n_vertices - 6:
        return False
    import networkx as nx  # takes a fifth of a second

    graph: nx.Graph[int] = nx.Graph(uprooted.edges.tolist())
    return bool(nx.check_planarity(graph)[0])


def _beyond_tri(
    uprooted: UprootedModel, d: Floats, fractional: npt.NDArray[np.int64]
) -> tuple[list[int], HypermetricInequality] | None:
    """Look for a violated hypermetric inequality among the vertices with most fractional edges."""
    ends, counts = np.unique(uprooted.edges[fractional], return_counts=True)
    points = sorted(int(v) for v in ends[np.argsort(-counts, kind="stable")][:_SUPPORT])
    if len(points) < 5:
        return None
    i, j = np.triu_indices(len(points), 1)
    chosen = np.array(points)
    values = extend(uprooted, d, np.stack([chosen[i], chosen[j]], axis=1))
    found = violated_hypermetric(values, tolerance=1e-6, limit=1)
    return (points, found[0]) if found else None


def invariance(
    model: Model, roots: Iterable[int] | None = None, limits: Limits | None = None
) -> dict[int, float]:
    """Solve TRI under rerootings: Theorem 3 says that all values are the same.

    Parameters
    ----------
    model : Model
    roots : iterable of int, optional
        Vertices of M+; all of them by default.
    limits : Limits, optional

    Returns
    -------
    dict
        root -> TRI of M_root, each solved from scratch on the rerooted model; without those that
        the limits cut short.

    Raises
    ------
    ModelError
        For a root that is not there.

    Notes
    -----
    Weller (2016), Theorem 3.

    Examples
    --------
    >>> K5 = Model([0] * 5, [(i, j) for j in range(5) for i in range(j)], [-2] * 10)
    >>> {round(value, 6) for value in invariance(K5).values()}
    {6.666667}
    """
    uprooted = uproot(model)
    asked = range(uprooted.n_vertices) if roots is None else roots
    limits = limits or Limits()
    values = {}
    with interruptible(limits):
        for r in asked:
            relaxed = tri(uproot(uprooted.reroot(r)), limits)
            if relaxed.converged:
                values[int(r)] = relaxed.bound
            if limits.reason() is not None:
                break
    return values
