"""The relaxations LOC and TRI of a user's model, solved, with what they settle."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition import reduce
from mapreroot.errors import ModelError
from mapreroot.exact.enumeration import enumerate_map
from mapreroot.exact.local_search import improve, round_by_spanning_tree
from mapreroot.limits import Limits, StopReason, interruptible
from mapreroot.model import Model, UprootedModel
from mapreroot.notebook import grid_shape, image, table
from mapreroot.relaxations.extension import extend
from mapreroot.relaxations.roof_duality import roof_dual
from mapreroot.relaxations.tri import OnProgress, tri
from mapreroot.rerooting import uproot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Relaxation", "relax"]

Bits = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ENUMERATED = 20  # kernel vertices up to which tightness is decided by brute force


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The optimum of LOC or TRI.

    Attributes
    ----------
    kind : {"loc", "tri"}
    root : int or None
        Where LOC was rooted; None for TRI, which is the same at every root.
    bound : float
        The optimal value, in nats: no assignment scores more.
    pairs : ndarray of int, shape (k, 2)
        Pairs of vertices of M+ (0 is the added one, j + 1 is variable j).
    d : ndarray, shape (k,)
        Of an optimum, "y_i and y_j differ" for each pair, in [0, 1].
    q : ndarray, shape (n,), or None
        For LOC at root 0, the pseudomarginals q_i of x_i = 1.
    persistent : dict
        LOC: label -> value that every optimal assignment has. Away from root 0, only where the
        added vertex is itself tied to the root.
    relations : dict
        LOC: vertex -> 0 or 1, whether every optimal assignment has it equal to the root, or
        opposite.
    converged : bool
        False where a limit ended TRI: the bound holds, the optimum is lower.
    rounds, n_cuts : int
        TRI: linear programs solved, and cycle inequalities that the bound rests on.
    stopped : {None, "time", "interrupted"}
        Why TRI ended early, if it did.

    Notes
    -----
    ``x``, ``score`` and ``is_tight`` are found when first asked for.
    """

    kind: Literal["loc", "tri"]
    root: int | None
    bound: float
    pairs: Ints
    d: Floats
    q: Floats | None
    persistent: dict[Any, int]
    relations: dict[int, int]
    _model: Model = field(repr=False)
    _uprooted: UprootedModel = field(repr=False)
    _edge_d: Floats = field(repr=False)
    converged: bool = True
    rounds: int = 0
    n_cuts: int = 0
    stopped: StopReason | None = None

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The names of the variables."""
        return self._model.labels

    @cached_property
    def x(self) -> Bits:
        """The best assignment that rounding found, int8 of shape (n,)."""
        y = improve(self._uprooted, round_by_spanning_tree(self._uprooted, self._edge_d))
        x: Bits = y[1:] ^ y[0]
        return x

    @cached_property
    def score(self) -> float:
        """The score of ``x``."""
        return float(self._model.score(self.x))

    @cached_property
    def is_tight(self) -> bool | None:
        """Whether some assignment attains the bound; None where that is not known.

        The bound is compared with scores: whether d is 0 or 1 says nothing where optima tie.
        """
        if not self.converged:
            return None
        tolerance = self._uprooted.tolerance
        if self.bound - self.score <= tolerance:
            return True
        kernel = reduce(self._uprooted).kernel
        if kernel.n_vertices <= _ENUMERATED:
            return bool(self.bound - enumerate_map(kernel).bound <= tolerance)
        return None

    def __repr__(self) -> str:
        at = f", root={self.root}" if self.root is not None else ""
        return f"Relaxation({self.kind!r}{at}, bound={self.bound!r}, is_tight={self.is_tight})"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the optimum and where it is fractional: `mapreroot.report.answers.relaxed`."""
        from mapreroot.report.answers import relaxed

        return relaxed(self, ax)

    def _repr_html_(self) -> str:
        shape = grid_shape(self.labels)
        pixels = [image(self.q.reshape(shape), "q")] if shape and self.q is not None else []
        loc = self.kind == "loc"
        return table(
            f"{self.kind.upper()}, a relaxation",
            {
                "root": self.root,
                "bound": self.bound,
                "rounded": self.score,
                "tight": {True: "yes", False: "no", None: "not known"}[self.is_tight],
                "persistent": f"{len(self.persistent)} of {len(self.labels)}" if loc else None,
                "inequalities": None if loc else self.n_cuts,
                "stopped early": self.stopped,
            },
            *pixels,
        )


def relax(
    model: Model,
    kind: Literal["loc", "tri"],
    root: int = 0,
    pairs: npt.ArrayLike | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> Relaxation:
    """Solve a linear relaxation of MAP at scale.

    Parameters
    ----------
    model : Model
    kind : {"loc", "tri"}
        LOC (the rooted semimetric polytope RMET) or TRI (the full one, MET).
    root : int
        For LOC, the vertex of M+ to root at; TRI is the same at every root.
    pairs : array_like of int, shape (k, 2), optional
        The pairs of vertices of M+ that ``d`` is wanted for; its edges by default.
    limits : Limits, optional
        When TRI should stop with the bound it has; it also does at Ctrl-C.
    on_progress : callable, optional
        Called after each linear program of TRI with the bound so far, the number of linear
        programs and the number of cycle inequalities in the last one.

    Returns
    -------
    Relaxation

    Raises
    ------
    ModelError
        For an unknown kind, a root or a pair that is not there.
    SolverError
        If a solver under it fails.

    Notes
    -----
    LOC is one max-flow on the signed double cover (roof duality), TRI is cutting planes on the
    edges present: the same values as the linear programs of `mapreroot.relaxations.declarative`,
    which are written for reading. Weller (2016), sections 4 and 5.

    Examples
    --------
    >>> frustrated = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2, -2, -2])
    >>> relax(frustrated, "loc"), relax(frustrated, "loc").q
    (Relaxation('loc', root=0, bound=3.0, is_tight=False), array([0.5, 0.5, 0.5]))
    >>> relax(frustrated, "loc", root=1)
    Relaxation('loc', root=1, bound=2.0, is_tight=True)
    >>> relax(frustrated, "tri").is_tight
    True
    """
    uprooted = uproot(model)
    if kind not in ("loc", "tri"):
        raise ModelError(f"the relaxation is {kind!r}: expected 'loc' or 'tri'")
    if not 0 <= root < uprooted.n_vertices:
        raise ModelError(f"no vertex {root}: the vertices of M+ are 0..{uprooted.n_vertices - 1}")
    wanted = uprooted.edges if pairs is None else _checked(pairs, uprooted.n_vertices)
    if kind == "loc":
        return _loc(model, uprooted, root, wanted, pairs is None)
    limits = limits or Limits()
    with interruptible(limits):
        return _tri(model, uprooted, wanted, pairs is None, limits, on_progress)


def _loc(
    model: Model, uprooted: UprootedModel, root: int, wanted: Ints, on_edges: bool
) -> Relaxation:
    dual = roof_dual(uprooted, root)
    edge_d = dual.on_edges(uprooted)
    # Where LOC says nothing of a pair but its triangle with the root, any d between will do.
    d = edge_d if on_edges else _through_root(uprooted, edge_d, dual.d, wanted)
    settled = np.flatnonzero(dual.strong >= 0)
    settled = settled[settled != root]
    relations = dict(zip(settled.tolist(), dual.strong[settled].tolist(), strict=True))
    persistent: dict[Any, int] = {}
    if dual.strong[0] >= 0 or root == 0:
        at = dual.strong.copy()
        at[root] = 0
        known = np.flatnonzero(at[1:] >= 0)
        names = [model.labels[j] for j in known.tolist()]
        persistent = dict(zip(names, (at[known + 1] ^ at[0]).tolist(), strict=True))
    return Relaxation(
        kind="loc",
        root=root,
        bound=dual.bound,
        pairs=wanted,
        d=d,
        q=dual.d[1:].copy() if root == 0 else None,
        persistent=persistent,
        relations=relations,
        _model=model,
        _uprooted=uprooted,
        _edge_d=edge_d,
    )


def _tri(
    model: Model,
    uprooted: UprootedModel,
    wanted: Ints,
    on_edges: bool,
    limits: Limits,
    on_progress: OnProgress | None,
) -> Relaxation:
    relaxed = tri(uprooted, limits, on_progress)
    return Relaxation(
        kind="tri",
        root=None,
        bound=relaxed.bound,
        pairs=wanted,
        d=relaxed.d if on_edges else extend(uprooted, relaxed.d, wanted),
        q=None,
        persistent={},
        relations={},
        _model=model,
        _uprooted=uprooted,
        _edge_d=relaxed.d,
        converged=relaxed.converged,
        rounds=relaxed.rounds,
        n_cuts=relaxed.n_cuts,
        stopped=relaxed.stopped,
    )


def _checked(pairs: npt.ArrayLike | Iterable[tuple[int, int]], n_vertices: int) -> Ints:
    array = np.asarray(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise ModelError(f"pairs is {array.dtype} of shape {array.shape}: expected int (k, 2)")
    if array.size and not (array.min() >= 0 and array.max() < n_vertices):
        raise ModelError(f"pairs hold {array.min()}..{array.max()}: expected 0..{n_vertices - 1}")
    return array.astype(np.int64)


def _through_root(
    uprooted: UprootedModel, edge_d: Floats, from_root: Floats, wanted: Ints
) -> Floats:
    i, j = wanted.T
    known = dict(zip(map(tuple, uprooted.edges.tolist()), edge_d.tolist(), strict=True))
    gap = np.abs(from_root[i] - from_root[j])
    pairs = zip(np.minimum(i, j).tolist(), np.maximum(i, j).tolist(), gap.tolist(), strict=True)
    return np.array([known.get((a, b), other) for a, b, other in pairs])
