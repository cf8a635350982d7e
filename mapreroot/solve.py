"""MAP of a user's model: the straight line from `Model` to a proved answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mapreroot.certificates import verify
from mapreroot.constraints import satisfying
from mapreroot.errors import ModelError, SolverError
from mapreroot.exact.apart import search_apart
from mapreroot.exact.blockwise import BYTES, solve_blocks
from mapreroot.exact.enumeration import enumerate_map
from mapreroot.exact.local_search import improve, round_by_spanning_tree
from mapreroot.exact.mincut import balanced_map
from mapreroot.exact.prove import prove
from mapreroot.exact.ranking import k_best
from mapreroot.exact.rooted import balanced_rooting, forest_root, not_balanced, tree_at
from mapreroot.exact.search import SearchResult
from mapreroot.limits import Limits, StopReason, interruptible
from mapreroot.model import Model, UprootedModel
from mapreroot.notebook import grid_shape, image, names, table
from mapreroot.relaxations.roof_duality import best_loc_root, roof_dual
from mapreroot.relaxations.tri import tri
from mapreroot.rerooting import uproot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MapResult", "Method", "Progress", "solve"]

Bits = npt.NDArray[np.int8]
Method = Literal["auto", "maxflow", "tree", "loc", "tri", "exact", "enumerate"]


@dataclass(frozen=True)
class Progress:
    """Where a long solve stands: what ``solve(progress=...)`` is called with.

    Attributes
    ----------
    score, bound : float
        Of the whole model: the best assignment so far, and what none exceeds.
    nodes : int
        Search nodes so far.
    seconds : float
        Since the call.
    """

    score: float
    bound: float
    nodes: int
    seconds: float


@dataclass(frozen=True, eq=False)
class MapResult:
    """The answer to `solve`.

    Attributes
    ----------
    x : ndarray of int8, shape (n,)
        The best assignment found.
    score : float
        Its score on the user's model, in nats, constant included.
    bound : float
        No assignment scores more.
    status : {"optimal", "feasible"}
        "optimal" only where the bound proves it, within the gap asked for.
    stopped : {None, "time", "nodes", "memory", "interrupted"}
        Why the solver stopped early, if it did.
    method : str
        What solved it: "maxflow", "tree", "loc", "tri", "enumerate", or "exact" (blocks of M+,
        each by the cheapest of these or by search).
    root : int or None
        The vertex of M+ at which it was rooted; None where blocks have their own.
    block_roots : tuple of int
        The vertices at which the blocks were rooted; those that needed search count as -1.
    proof : {"tolerance", "exact"}
        "exact" when a certificate of ``bound`` was verified in rational arithmetic. Else a
        certificate, if there is one, proves a bound that is less good: ``proved_bound``.
    nodes : int
        Search nodes.
    seconds : float
        Wall time of the call.
    labels : tuple
        The names of the variables.
    solutions : ndarray of int8, shape (k, n)
        The best assignments, ``x`` first, in ascending order where scores are equal: as many as
        were asked for, or all that the hard constraints allow.
    scores : ndarray, shape (k,)
        Theirs.
    complete : bool
        Whether no other assignment scores more than the last of these: False where a limit came
        first.
    certificate : dict or None
        Of ``x``, when asked for; see `mapreroot.verify`.
    """

    x: Bits
    score: float
    bound: float
    status: Literal["optimal", "feasible"]
    stopped: StopReason | None
    method: str
    root: int | None
    block_roots: tuple[int, ...]
    proof: Literal["tolerance", "exact"]
    nodes: int
    seconds: float
    labels: tuple[Hashable, ...]
    solutions: Bits
    scores: npt.NDArray[np.float64]
    complete: bool
    certificate: dict[str, Any] | None = None

    @property
    def gap(self) -> float:
        """(bound - score) / max(1, abs(score)), the scale of the ``gap`` asked for."""
        return (self.bound - self.score) / max(1.0, abs(self.score))

    @property
    def proved_bound(self) -> float | None:
        """The bound that the certificate proves; None without one."""
        return None if self.certificate is None else float(self.certificate["bound"])

    @cached_property
    def assignment(self) -> dict[Any, int]:
        """The value of each variable, by label."""
        return dict(zip(self.labels, self.x.tolist(), strict=True))

    def extend(self, model: Model, fixed: Mapping[Any, int]) -> MapResult:
        """Put clamped variables back.

        Parameters
        ----------
        model : Model
            The model before ``model.condition(fixed)``, whose result was solved.
        fixed : mapping from labels to 0 or 1

        Returns
        -------
        MapResult
            For ``model``: assignments complete, in its order.
        """
        place = {label: k for k, label in enumerate(self.labels)}
        xs = np.empty((len(self.solutions), model.n), dtype=np.int8)
        for k, label in enumerate(model.labels):
            xs[:, k] = fixed[label] if label in fixed else self.solutions[:, place[label]]
        scores = np.array([model.score(x) for x in xs])
        return replace(
            self,
            x=xs[0],
            score=float(scores[0]),
            labels=model.labels,
            solutions=xs,
            scores=scores,
        )

    def plot(self, model: Model | None = None, ax: Axes | None = None) -> Axes:
        """Draw the assignment, as an image or on a model: `mapreroot.report.answers.assignment`."""
        from mapreroot.report.answers import assignment

        return assignment(self, model, ax)

    def _repr_html_(self) -> str:
        shape = grid_shape(self.labels)
        pixels = [image(self.x.reshape(shape), "x")] if shape else []
        early = f", stopped: {self.stopped}" if self.stopped else ""
        proof = ", in exact arithmetic" if self.proof == "exact" else ""
        return table(
            "The best assignment" if self.status == "optimal" else "An assignment",
            {
                "status": self.status + early + proof,
                "score": self.score,
                "bound": self.bound,
                "gap": f"{self.gap:.3%}" if self.status == "feasible" else None,
                "method": self.method,
                "root": self.root,
                "blocks": len(self.block_roots) or None,
                "nodes": self.nodes or None,
                "seconds": f"{self.seconds:.3g}",
                "x": None
                if shape
                else names(range(len(self.x)), lambda i: f"{self.labels[i]} = {self.x[i]}"),
            },
            *pixels,
        )

    def __repr__(self) -> str:
        early = f", stopped={self.stopped!r}" if self.stopped else ""
        return (
            f"MapResult(score={self.score!r}, bound={self.bound!r}, status={self.status!r}, "
            f"method={self.method!r}, root={self.root}{early})"
        )


@dataclass(frozen=True)
class _Outcome:
    """What a method says of M+: an assignment and how far the optimum can be above it."""

    y: Bits
    method: str
    slack: float = 0.0
    tolerance: float = 0.0  # slack up to here is rounding
    root: int | None = None
    block_roots: tuple[int, ...] = ()
    stopped: StopReason | None = None
    nodes: int = 0


@dataclass(frozen=True)
class _Request:
    """How the user wants it solved; handed to the method that was chosen."""

    root: int | None
    gap: float
    seed: int
    limits: Limits
    initial: Bits | None
    report: Callable[[float, float, int], None] | None
    elsewhere: Callable[..., Iterator[tuple[int, SearchResult]]] | None = None


def solve(
    model: Model,
    method: Method = "auto",
    root: int | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
    seed: int = 0,
    initial: npt.ArrayLike | Mapping[Any, int] | None = None,
    progress: Callable[[Progress], None] | None = None,
    certify: bool = False,
    nodes: int | None = None,
    solutions: int = 1,
    workers: int | None = None,
    scheduler: str | None = None,
    memory: int | None = None,
) -> MapResult:
    """Find the assignment of highest score, with a bound that proves it.

    Parameters
    ----------
    model : Model
    method : str
        "auto" takes the first of these that fits:

        1. The model is a forest: two passes of dynamic programming ("tree").
        2. M is balanced, or M+ is after removing some vertex: one minimum cut, rooted there
           ("maxflow").
        3. M+ is reduced (vertices of degree <= 3, heavy edges) and split into blocks, and each
           block is solved alone ("exact"): balanced at a root of its own, by a minimum cut; of
           at most 21 vertices, by enumeration; else persistent variables are fixed by roof
           duality, the cycle relaxation (TRI) bounds the rest, and branch and bound closes the
           gap, with a semidefinite bound where the block is dense.

        "maxflow" and "tree" insist on theirs, at ``root`` or at a root they find; "loc" (at
        ``root``, or at the root whose bound is smallest) and "tri" give the bound of the
        relaxation with the best assignment rounded from it; "exact" starts at step 3;
        "enumerate" tries all assignments of at most 25 variables.
    root : int, optional
        A vertex of M+ (0 is the user's own rooting), for "auto", "maxflow", "tree" and "loc".
    time_limit : float, optional
        Seconds of wall time, after which the best answer so far is returned. A certificate may
        take as long again.
    gap : float
        Stop when (bound - score) / max(1, abs(score)) is at most this.
    seed : int
        Of the heuristics; the answer depends on nothing else but the model.
    initial : array_like or mapping from labels, optional
        An assignment to start from; the answer is never worse.
    progress : callable, optional
        Called with a `Progress` now and then.
    certify : bool
        Attach a certificate that `mapreroot.verify` checks.
    nodes : int, optional
        Limit on search nodes, in each block of M+.
    solutions : int
        How many assignments to find, each the best of the rest ("loc" and "tri" give one). The
        ``gap`` is for the first alone.
    workers : int, optional
        Processes on this machine that search the larger blocks of M+ side by side, in step 3;
        by default this process does it all. The answer is the same.
    scheduler : str, optional
        Address of a dask.distributed scheduler that has them searched instead.
    memory : int, optional
        Bytes that may be taken beyond what the process holds at the call. What is forecast not to
        fit is not begun, and the best answer so far is returned, as at a time limit. "maxflow",
        "tree", "loc" and "enumerate" take what they need.

    Returns
    -------
    MapResult
        ``status="optimal"`` only if the bound proves it. Ctrl-C returns the incumbent, as a
        time limit does (``stopped``). A certificate may take as long again; another Ctrl-C ends
        that too.

    Raises
    ------
    ModelError
        For an unknown method, a root that is no vertex, a negative limit or gap, a wrong
        ``initial``.
    ImportError, OSError
        For a scheduler without dask, or one that does not answer.
    NotBalancedError, NotATreeError
        If "maxflow" or "tree" does not apply; they carry the cycle.
    SizeError
        If "enumerate" would take too long.
    SolverError
        If a solver under it fails.

    Notes
    -----
    Weller (2016), sections 2, 3 and 5. Steps 1 and 2 are linear time and one max-flow; step 3 is
    exponential at worst. Where blocks are searched on other processes, a script needs the usual
    ``if __name__ == "__main__":``, and Ctrl-C keeps only the blocks that are finished.

    Examples
    --------
    >>> from mapreroot import Model, solve
    >>> frustrated = Model([0.2, 0, 0], [(0, 1), (1, 2), (0, 2)], [-1, -1, -1])
    >>> result = solve(frustrated)
    >>> result.score, result.status, result.method
    (1.2, 'optimal', 'tree')
    >>> solve(frustrated, solutions=4).scores
    array([1.2, 1.2, 1.2, 1. ])
    """
    limits = Limits(time_limit, nodes, memory)
    uprooted = uproot(model, names=False)
    _check(
        method,
        root,
        uprooted.n_vertices,
        {"time_limit": time_limit, "gap": gap, "nodes": nodes, "memory": memory},
        {"solutions": solutions, "workers": workers},
    )
    start = None if initial is None else _initial(model, initial)
    report = None
    if progress is not None:

        def report(score: float, bound: float, count: int) -> None:
            progress(Progress(score, bound, count, limits.elapsed()))

    elsewhere = None
    if scheduler is not None or (workers or 1) > 1:
        elsewhere = partial(search_apart, limits=limits, workers=workers, scheduler=scheduler)
    ask = _Request(root, gap, seed, limits, start, report, elsewhere)
    with interruptible(limits):
        found = _METHODS[method](uprooted, ask)
    x, score, bound = _judge(model, uprooted, found, start)
    optimal = bound - score <= gap * max(1.0, abs(score)) + found.tolerance
    result = MapResult(
        x=x,
        score=score,
        bound=bound,
        status="optimal" if optimal else "feasible",
        stopped=None if optimal else found.stopped,
        method=found.method,
        root=found.root,
        block_roots=found.block_roots,
        proof="tolerance",
        nodes=found.nodes,
        seconds=limits.elapsed(),
        labels=model.labels,
        solutions=x[None, :],
        scores=np.array([score]),
        complete=optimal,
    )
    if solutions > 1:
        result = _ranked(model, uprooted, result, solutions, limits)
    return _certified(model, uprooted, result, limits) if certify else result


def _ranked(
    model: Model, uprooted: UprootedModel, result: MapResult, count: int, limits: Limits
) -> MapResult:
    """Add the next best assignments; what proves them proves the first."""
    y = np.concatenate([[0], result.x]).astype(np.int8)
    slack = result.bound - result.score if result.status == "optimal" else math.inf
    with interruptible(limits):
        found = k_best(uprooted, count, y, uprooted.score(y) + slack, limits, result.nodes)
    xs = found.ys[:, 1:]
    scores = np.array([model.score(x) for x in xs])
    allowed = np.flatnonzero(scores > -math.inf)
    # Rounding may order the user's scores otherwise than those of M+.
    order = allowed[np.lexsort((allowed, -scores[allowed]))]
    xs, scores = xs[order], scores[order]
    for array in (xs, scores):
        array.setflags(write=False)
    proved = found.stopped is None
    score = float(scores[0])
    return replace(
        result,
        x=xs[0],
        score=score,
        bound=score if proved else max(score, result.bound),
        status="optimal" if proved else result.status,
        stopped=found.stopped,
        seconds=limits.elapsed(),
        solutions=xs,
        scores=scores,
        complete=proved,
    )


def _certified(
    model: Model, uprooted: UprootedModel, result: MapResult, limits: Limits
) -> MapResult:
    """Attach a certificate; the proof is exact where it proves as much as was found."""
    slack = result.bound - result.score
    branch = result.status == "optimal" or result.stopped is not None
    with interruptible(limits.afresh()) as proving:
        certificate = prove(model, result.x.tolist(), proving, slack, branch)
    checked = verify(model, certificate)
    if not checked:
        raise SolverError(f"the certificate does not hold: {checked.failure}")
    exact = checked.bound - result.bound <= max(uprooted.tolerance, 2 * math.ulp(result.bound))
    bound = checked.bound if exact else result.bound
    closed = bound - result.score <= uprooted.tolerance  # a relaxation's bound may leave a gap
    return replace(
        result,
        bound=bound,
        status="optimal" if closed else result.status,
        stopped=None if closed else result.stopped,
        proof="exact" if exact else "tolerance",
        certificate=certificate,
        seconds=limits.elapsed(),
    )


def _judge(
    model: Model, uprooted: UprootedModel, found: _Outcome, start: Bits | None
) -> tuple[Bits, float, float]:
    """Map the best assignment back (Lemma 1), and score it on the user's own model."""

    def mapped(y: Bits) -> tuple[float, Bits]:
        x = y[1:] ^ y[0]
        x.setflags(write=False)
        return float(model.score(x)), x

    score, x = mapped(found.y)
    bound = (uprooted.score(found.y) if score == -math.inf else score) + found.slack
    if start is not None:
        score, x = max((score, x), mapped(start), key=lambda pair: pair[0])
    if score == -math.inf:
        # A heuristic answer may break a hard constraint, ours never does: from an assignment
        # that 2-SAT allows, the penalties keep an ascent inside.
        allowed = np.concatenate([[0], satisfying(model.forbidden, model.n)]).astype(np.int8)
        score, x = mapped(improve(uprooted, allowed))
    return x, score, float(max(score, bound))


def _check(
    method: str,
    root: int | None,
    n_vertices: int,
    amounts: Mapping[str, float | None],
    counts: Mapping[str, int | None],
) -> None:
    if method not in get_args(Method):
        raise ModelError(f"method is {method!r}: expected one of {', '.join(get_args(Method))}")
    if root is not None and not 0 <= root < n_vertices:
        raise ModelError(f"root is {root}: the vertices of M+ are 0..{n_vertices - 1}")
    for name, value in amounts.items():
        if value is not None and not value >= 0:
            raise ModelError(f"{name} is {value}: expected a number of at least 0")
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ModelError(f"{name} is {count}: expected at least 1")
    if (counts["solutions"] or 1) > 1 and method in ("loc", "tri"):
        raise ModelError(f"method {method!r} gives one assignment: several need another")


def _initial(model: Model, initial: npt.ArrayLike | Mapping[Any, int]) -> Bits:
    if isinstance(initial, Mapping):
        initial = [initial.get(label, -1) for label in model.labels]
    x = np.asarray(initial)
    if x.shape != (model.n,) or not ((x == 0) | (x == 1)).all():
        raise ModelError(f"initial must give 0 or 1 to each of the {model.n} variables")
    return np.concatenate([[0], x]).astype(np.int8)


def _auto(uprooted: UprootedModel, ask: _Request) -> _Outcome:
    if ask.limits.lacks(BYTES * (uprooted.n_vertices + uprooted.m)):
        return _exact(uprooted, ask)
    root = forest_root(uprooted) if ask.root is None else None
    if root is not None:
        return _Outcome(tree_at(uprooted, root), "tree", root=root)
    balanced = balanced_rooting(uprooted, ask.root)
    if balanced is not None and ask.limits.reason() is None:
        return _Outcome(balanced_map(uprooted, *balanced).y, "maxflow", root=balanced[0])
    return _exact(uprooted, ask)


def _maxflow(uprooted: UprootedModel, ask: _Request) -> _Outcome:
    balanced = balanced_rooting(uprooted, ask.root)
    if balanced is None:
        raise not_balanced(uprooted, ask.root)
    return _Outcome(balanced_map(uprooted, *balanced).y, "maxflow", root=balanced[0])


def _tree(uprooted: UprootedModel, ask: _Request) -> _Outcome:
    root = forest_root(uprooted) if ask.root is None else ask.root
    return _Outcome(tree_at(uprooted, root or 0), "tree", root=root or 0)


def _loc(uprooted: UprootedModel, ask: _Request) -> _Outcome:
    if ask.root is None:
        root, dual, _ = best_loc_root(uprooted)
    else:
        root, dual = ask.root, roof_dual(uprooted, ask.root)
    return _rounded(uprooted, "loc", dual.bound, dual.on_edges(uprooted), ask, root)


def _tri(uprooted: UprootedModel, ask: _Request) -> _Outcome:
    relaxed = tri(uprooted, limits=ask.limits)
    return _rounded(uprooted, "tri", relaxed.bound, relaxed.d, ask, stopped=relaxed.stopped)


def _rounded(
    uprooted: UprootedModel,
    method: str,
    bound: float,
    d: npt.NDArray[np.float64],
    ask: _Request,
    root: int | None = None,
    stopped: StopReason | None = None,
) -> _Outcome:
    """Round a relaxation's d along spanning trees, and climb from there."""
    y = improve(uprooted, round_by_spanning_tree(uprooted, d))
    slack = max(0.0, bound - uprooted.score(y))
    return _Outcome(y, method, slack, uprooted.tolerance, root, (), stopped)


def _exact(uprooted: UprootedModel, ask: _Request) -> _Outcome:
    found = solve_blocks(
        uprooted, ask.limits, ask.initial, ask.gap, ask.seed, ask.report, ask.elsewhere
    )
    return _Outcome(
        found.y,
        "exact",
        found.slack,
        found.tolerance,
        block_roots=found.block_roots,
        stopped=found.stopped,
        nodes=found.nodes,
    )


def _enumerate(uprooted: UprootedModel, ask: _Request) -> _Outcome:
    return _Outcome(enumerate_map(uprooted).y, "enumerate")


_METHODS: dict[str, Callable[[UprootedModel, _Request], _Outcome]] = {
    "auto": _auto,
    "maxflow": _maxflow,
    "tree": _tree,
    "loc": _loc,
    "tri": _tri,
    "exact": _exact,
    "enumerate": _enumerate,
}
