"""TRI at scale: a linear program over cycle inequalities, by cutting planes.

The relaxation over all triangles of the complete graph and the one over the cycle inequalities of
the edges present have the same optimum (Barahona and Mahjoub 1986), so a sparse model needs one
variable per edge and only the inequalities that matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from time import process_time
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt

from mapreroot.errors import SolverError
from mapreroot.limits import Limits, StopReason
from mapreroot.model import TOL, UprootedModel
from mapreroot.relaxations.cuts import Cuts, dual_bound
from mapreroot.relaxations.highs import new_highs
from mapreroot.relaxations.separation import Separator
from mapreroot.relaxations.shrinking import shrink

__all__ = [
    "CycleLP",
    "CycleRelaxation",
    "cutting_planes",
    "has_equal_weights",
    "round_down",
    "score_step",
    "solve_cycle_lp",
]

Floats = npt.NDArray[np.float64]

SLACK = 1e-6
PATIENCE, DEGENERATE_PATIENCE = 5, 2
"""Cuts leave when they were slack by more than SLACK so many times in a row."""

LARGE, DEVEX = 10_000, 1
"""Beyond LARGE edges approximate edge weights pay: exact ones cost a solve per row of each new
program."""

PER_EDGE, DEGENERATE_PER_EDGE, DENSE_PER_EDGE = 3, 10, 16
"""New cuts of one round that may share an edge: few make small programs, many make few rounds."""

TILTS = (0.1, 0.01, 0.001, 0.00001)
"""Relative size of the changes of equal costs, one after the other, before the true ones: the
optimum is then one vertex, where with equal costs separation goes round a large face."""

CENTRAL_PER_EDGE, SNAP, WORK = 30, 1e-6, 50
"""In the middle of the optimal face: new cuts that may share an edge, the distance to 0 or 1 that
the interior-point method leaves, and simplex iterations that take as long as one of that."""

SHRUNK, WORTH_SHRINKING = 0.25, 500
STALL, AGAIN, DEGENERATE_STALL, DEGENERATE_AGAIN = 0.02, 0.5, 0.03, 0.2
"""Where a round finds fewer than STALL cuts a vertex, a model of SHRUNK times the vertices is
asked for more, and again after AGAIN times the simplex iterations that this took: the best on
Gaussian tori of 100 x 100 among .2 to .36, .01 to .02 and .05 to 1. Smaller ones gain nothing. On
+-1 tori of 50 x 50 looking sooner, with slack cuts leaving sooner, takes two thirds of the time."""


def has_equal_weights(uprooted: UprootedModel) -> bool:
    """Say whether the weights have few sizes, so that optima of a relaxation form a large face."""
    return 8 * len(np.unique(np.abs(uprooted.weights))) < uprooted.m


def score_step(uprooted: UprootedModel) -> float:
    """Give a number whose multiples contain all differences of scores, or 0.0.

    Parameters
    ----------
    uprooted : UprootedModel

    Returns
    -------
    float
        phi(y) - constant is a multiple of this for every y. 0.0 when the weights have no
        common unit worth the name (less than 2**-30 of the largest).

    Notes
    -----
    With all weights multiples of g, the weight of a cut is the sum of the weighted degrees on
    one side minus twice the weight inside, so the greatest common divisor of 2 g and all
    weighted degrees divides it: on an Eulerian graph with weights +-1 cuts are even. Exact.

    Examples
    --------
    >>> score_step(UprootedModel(3, [(0, 1), (1, 2)], [1.0, -3.0]))
    0.5
    >>> score_step(UprootedModel(3, [(0, 1), (1, 2), (0, 2)], [1.0, 1.0, 1.0]))
    1.0
    """
    W = uprooted.weights
    if not len(W):
        return 0.0
    _, exponent = np.frexp(W)
    shift = 30 - int(exponent.max())
    scaled = np.ldexp(W, shift)
    whole = scaled.astype(np.int64)
    if (whole != scaled).any():
        return 0.0
    degree = np.zeros(uprooted.n_vertices, np.int64)
    np.add.at(degree, uprooted.edges.ravel(), np.repeat(whole, 2))
    g = np.gcd(2 * np.gcd.reduce(whole), np.gcd.reduce(degree))
    return math.ldexp(float(g), -shift - 1)


def round_down(bound: float, constant: float, step: float) -> float:
    """Lower a bound to the next score that can occur: constant plus a multiple of ``step``.

    Examples
    --------
    >>> round_down(7.9, constant=0.25, step=0.5)
    7.75
    """
    if step == 0.0 or not math.isfinite(bound):
        return bound
    times = (Fraction(bound) - Fraction(constant)) // Fraction(step)
    return min(bound, float(Fraction(constant) + times * Fraction(step)))


class CycleLP:
    """The linear program of one model, with the cuts found so far; it grows and shrinks.

    Parameters
    ----------
    uprooted : UprootedModel
        What is left of a model after reduction: one block.

    Attributes
    ----------
    c : ndarray, shape (m,)
        Objective -W/2 of ``d``.
    lower, upper : ndarray, shape (m,)
        The box, [0, 1] at first; `box` changes it.
    cuts : Cuts
        The inequalities in the program.
    d : ndarray, shape (m,)
        The last optimum.
    y : ndarray, shape (k,)
        Its multipliers, one per cut, non-negative.
    central : bool
        Whether `solve` goes to the middle of the optimal face, by the interior-point method.
    iterations : int
        Simplex or interior-point iterations in all; WORK for one to the middle.

    Raises
    ------
    SolverError
        By any method, when HiGHS refuses or fails; the message carries its status.

    Notes
    -----
    Cuts are valid for every assignment, so a search may keep them while it changes the box. As
    long as the box fixes edges the way some assignment does, the program is feasible.
    """

    def __init__(self, uprooted: UprootedModel) -> None:
        m = uprooted.m
        self.uprooted = uprooted
        self.separator = Separator(uprooted)
        self.c = -uprooted.weights / 2
        self.lower, self.upper = np.zeros(m), np.ones(m)
        self.cuts = Cuts.none()
        self._cost = self.c
        self.d = (self.c > 0).astype(np.float64)
        self.y = np.zeros(0)
        self.iterations = 0
        self.interior = uprooted.n_vertices >= 50 and m >= uprooted.n_vertices**2 / 4
        self.central = False
        self._age = np.zeros(0, np.int64)
        self._highs = new_highs()
        self._limits = Limits()
        # A long run looks at the limits by itself. Stopping it every so often to look would cost
        # the simplex method what it knows beside its basis: on equal weights, minutes.
        self._highs.cbSimplexInterrupt += self._look_up
        self._highs.cbIpmInterrupt += self._look_up
        for name, value in (
            ("simplex_scale_strategy", 0),
            ("primal_feasibility_tolerance", 1e-9),
            ("dual_feasibility_tolerance", 1e-9),
            ("run_crossover", "off"),
            ("presolve", "off"),
            ("simplex_dual_edge_weight_strategy", DEVEX if m > LARGE else -1),
            # HiGHS changes costs against ties, and where there are none undoes it each time.
            ("dual_simplex_cost_perturbation_multiplier", float(score_step(uprooted) > 0)),
        ):
            _check(self._highs.setOptionValue(name, value), f"option {name}")
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = m, 0
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = -self.c, self.lower, self.upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.zeros(1, np.int32)
        _check(self._highs.passModel(lp), "model")

    def _look_up(self, event: Any) -> None:
        # HiGHS keeps the last answer, and would break off the next run too.
        event.interrupt(self._limits.reason() is not None)

    def cost(self, c: Floats) -> None:
        """Optimise another objective for a while; `bound` goes on speaking of the model's own."""
        self._cost, m = c, len(c)
        status = self._highs.changeColsCost(m, np.arange(m, dtype=np.int32), -c)
        _check(status, "costs")

    def box(self, lower: Floats, upper: Floats) -> None:
        """Restrict d to lower <= d <= upper, each 0 or 1: a node of a search."""
        self.lower, self.upper = lower.copy(), upper.copy()
        m = len(lower)
        status = self._highs.changeColsBounds(m, np.arange(m, dtype=np.int32), lower, upper)
        _check(status, "box")

    def add(self, cuts: Cuts) -> None:
        """Append inequalities."""
        k = len(cuts)
        if not k:
            return
        status = self._highs.addRows(
            k,
            np.full(k, -np.inf),
            cuts.rhs,
            len(cuts.edge),
            cuts.start[:-1].astype(np.int32),
            cuts.edge.astype(np.int32),
            cuts.sign,
        )
        _check(status, "rows")
        self.cuts += cuts
        self.y = np.concatenate([self.y, np.zeros(k)])
        self._age = np.concatenate([self._age, np.zeros(k, np.int64)])

    def solve(self, limits: Limits | None = None, pivots: int | None = None) -> StopReason | None:
        """Optimise over the cuts at hand, or make a number of dual simplex steps towards it.

        Returns
        -------
        str or None
            None at an optimum, which ``d`` and ``y`` then hold, or after ``pivots`` steps; why it
            stopped otherwise.
        """
        self._limits = limits = limits or Limits()
        if not len(self.c):  # which HiGHS does not call optimal
            return limits.reason()
        highs = self._highs
        interior = (self.interior or self.central) and len(self.cuts)
        solver = "ipm" if interior else "simplex"
        _check(highs.setOptionValue("solver", solver), "solver")
        most = highspy.kHighsIInf if pivots is None else pivots
        _check(highs.setOptionValue("simplex_iteration_limit", most), "iteration limit")
        while True:
            reason = limits.reason()
            if reason:
                return reason
            _check(highs.run(), "run")
            info = highs.getInfo()
            steps = max(0, info.simplex_iteration_count, info.ipm_iteration_count)
            self.iterations += steps * (WORK if self.central and interior else 1)
            status = highs.getModelStatus()
            if status != highspy.HighsModelStatus.kInterrupt:
                break
        enough = pivots is not None and status == highspy.HighsModelStatus.kIterationLimit
        # What the interior-point method calls imprecise proves a bound nevertheless.
        enough |= self.central and status == highspy.HighsModelStatus.kUnknown
        if status != highspy.HighsModelStatus.kOptimal and not enough:
            if solver == "ipm":
                self.interior = self.central = False
                return self.solve(limits)
            raise SolverError(
                f"HiGHS stopped with {highs.modelStatusToString(status)} on {len(self.c)} edges "
                f"and {len(self.cuts)} cycle inequalities"
            )
        solution = highs.getSolution()
        self.d = np.clip(np.array(solution.col_value), self.lower, self.upper)
        self.y = np.maximum(0.0, -np.array(solution.row_dual))
        if self.central:
            whole = np.round(self.d)
            self.d = np.where(np.abs(self.d - whole) < SNAP, whole, self.d)
        return None

    def basis(self) -> Any:
        """Give the basis that `restart` goes back to, while no cut comes or leaves."""
        return self._highs.getBasis()

    def restart(self, basis: Any) -> None:
        """Let the next `solve` begin where another ended."""
        if len(self.c):
            _check(self._highs.setBasis(basis), "basis")

    def bound(self) -> float:
        """Bound every score in the box, rigorously, by the multipliers (see `dual_bound`)."""
        return self.certify()[0]

    def certify(self) -> tuple[float, Floats]:
        """Give `bound` with the reduced costs it rests on: what fixes edges in a search."""
        return dual_bound(self.uprooted.constant, self.c, self.lower, self.upper, self.cuts, self.y)

    def separate(self, per_edge: int = PER_EDGE, limits: Limits | None = None) -> Cuts:
        """Find inequalities that d violates; none only if there are none, or if it is late.

        Parameters
        ----------
        per_edge : int
            How many of the new cuts may share an edge, where the simplex method is used.
        limits : Limits, optional
        """
        n, m = self.uprooted.n_vertices, self.uprooted.m
        finder, d = self.separator, self.d
        if self.interior:
            cuts = finder.triangle_cuts(d, 5 * m, per_edge=DENSE_PER_EDGE)
            return cuts if len(cuts) else finder.cycle_cuts(d, n, limits=limits)
        cuts = finder.triangle_cuts(d, m, per_edge)
        if len(cuts) < n / 6:
            found = finder.cycle_cuts(d, n, penalty=0.05, limits=limits)
            cuts += finder.best(found, d, n, per_edge)
        return cuts

    def look_ahead(self, limits: Limits | None = None) -> CycleRelaxation | None:
        """Find inequalities by solving a smaller model, where edges that have settled are merged.

        Returns
        -------
        CycleRelaxation or None
            Of the smaller model, but in terms of this one: ``d`` violates nothing, and ``cuts``
            are new here. None where too few edges have settled, or a limit came first.
        """
        model, c = self.uprooted, self._cost
        reduced = dual_bound(0.0, c, self.lower, self.upper, self.cuts, self.y)[1]
        costs = UprootedModel.from_canonical(model.n_vertices, model.edges, -2 * c)
        shrunk = shrink(costs, self.d, reduced, int(SHRUNK * model.n_vertices))
        if shrunk is None:
            return None
        small = solve_cycle_lp(shrunk.model, limits=limits, perturb=False)
        if not small.converged:
            return None
        d = shrunk.extend(small.d)
        cuts = self.separator.lifted(shrunk, small.cuts, d)
        return replace(small, d=d, cuts=cuts[~np.isin(cuts.name, self.cuts.name)])

    def purge(self, patience: int = PATIENCE) -> None:
        """Let go of inequalities that were slack ``patience`` times in a row.

        A slack row is basic, and a basis without some of its basic rows is a basis.
        """
        slack = -self.cuts.violation(self.d)
        self._age = np.where(slack > SLACK, self._age + 1, 0)
        old = np.flatnonzero(self._age >= patience)
        if not len(old):
            return
        _check(self._highs.deleteRows(len(old), old.astype(np.int32)), "deletion")
        keep = self._age < patience
        self.cuts, self.y, self._age = self.cuts[keep], self.y[keep], self._age[keep]


@dataclass(frozen=True, eq=False)
class CycleRelaxation:
    """What `solve_cycle_lp` found.

    Attributes
    ----------
    bound : float
        Nothing in the box scores more (see `dual_bound`); rounded down to a score that can
        occur where the weights have a common unit (`score_step`).
    value : float
        The same bound before that rounding: the TRI optimum if ``converged``, up to VIOLATION.
    d : ndarray, shape (m,)
        An optimum if ``converged``, else that of the last linear program.
    cuts : Cuts
        The inequalities that the bound needs.
    y : ndarray, shape (len(cuts),)
        Their multipliers, positive: ``dual_bound(constant, c, lower, upper, cuts, y)`` is the
        value again.
    rounds : int
        Linear programs solved, those of smaller models left out.
    converged : bool
        The exact separation found no inequality that d violates, and d attains the value.
    stopped : str or None
        Why the limits ended it, if they did.
    iterations : int
        Of the simplex or interior-point method, in all.
    lp_seconds, separation_seconds : float
        CPU time.
    """

    bound: float
    value: float
    d: Floats
    cuts: Cuts
    y: Floats
    rounds: int
    converged: bool
    stopped: StopReason | None
    iterations: int
    lp_seconds: float
    separation_seconds: float


OnRound = Callable[[int, float, int, Floats], "float | None"]


def solve_cycle_lp(
    uprooted: UprootedModel,
    *,
    lower: float | None = None,
    limits: Limits | None = None,
    on_round: OnRound | None = None,
    cuts: Cuts | None = None,
    perturb: bool | None = None,
) -> CycleRelaxation:
    """Solve TRI by cutting planes on the edges present.

    Parameters
    ----------
    uprooted : UprootedModel
        Best reduced and split into blocks before.
    lower : float, optional
        A score known to be possible: stop as soon as the bound shows that none is better.
    limits : Limits, optional
    on_round : callable, optional
        Called with (rounds, bound, number of cuts, d) after each linear program; may return a
        new ``lower``. d is that of a smaller model where one was solved in between.
    cuts : Cuts, optional
        Inequalities to begin with.
    perturb : bool, optional
        Whether to approach the optimum with slightly changed costs, and to finish with the
        true ones: this pays where many weights are equal, which is the default rule.

    Returns
    -------
    CycleRelaxation

    Raises
    ------
    SolverError
        If HiGHS fails.

    Notes
    -----
    Barahona and Mahjoub (1986). The value is TRI, of any rooting (Weller 2016, Theorem 3).
    Where rounds find little, a model in which the settled edges are merged is solved for the cuts
    that are still missing (see `mapreroot.relaxations.shrinking`).

    Examples
    --------
    On K_5 with all weights -1 TRI is not tight: d = 2/3 scores 10/3, the best cut 3.

    >>> K5 = UprootedModel(5, [(i, j) for j in range(5) for i in range(j)], [-1.0] * 10)
    >>> result = solve_cycle_lp(K5)
    >>> round(result.value, 6), result.bound, result.converged
    (3.333333, 3.0, True)
    """
    lp = CycleLP(uprooted)
    if cuts is not None:
        lp.add(cuts)
    return cutting_planes(lp, lower=lower, limits=limits, on_round=on_round, perturb=perturb)


def cutting_planes(
    lp: CycleLP,
    *,
    lower: float | None = None,
    limits: Limits | None = None,
    on_round: OnRound | None = None,
    perturb: bool | None = None,
    central: bool = False,
) -> CycleRelaxation:
    """Do what `solve_cycle_lp` does, on a program that goes on: in its box, from its basis.

    See `solve_cycle_lp`; ``lp`` keeps its cuts afterwards. With ``central`` the points separated
    are in the middle of the optimal face, and so the bound sinks fast where weights are equal and
    the face is large; none of them is an optimum for certain, and the end is never ``converged``.
    """
    limits = limits or Limits()
    model = lp.uprooted
    step = score_step(model)
    scale = float(np.abs(model.weights).max(initial=0.0))
    if perturb is None:
        perturb = has_equal_weights(model)
    tilts = list(TILTS) if perturb and not central else []
    per_edge, patience, stall, again = PER_EDGE, PATIENCE, STALL, AGAIN
    if tilts:
        per_edge, patience = DEGENERATE_PER_EDGE, DEGENERATE_PATIENCE
        stall, again = DEGENERATE_STALL, DEGENERATE_AGAIN
    if central:
        lp.central, per_edge = not lp.interior, CENTRAL_PER_EDGE
    noise = np.random.default_rng(0).uniform(-1, 1, model.m)
    if tilts:
        lp.cost(lp.c * (1 + tilts[0] * noise))
    value, best = lp.bound(), (lp.cuts, lp.y)
    rounds, before, lp_seconds, separation_seconds = 0, lp.iterations, 0.0, 0.0
    converged = False
    feasible, attained = lp.d, -math.inf  # a point that violates nothing, and its value
    stopped: StopReason | None = None
    whole = not lp.lower.any() and bool(lp.upper.all())
    shrinks = whole and not (central or lp.interior) and model.n_vertices >= WORTH_SHRINKING
    seen: CycleRelaxation | None = None
    ahead, due = [], 0.0
    try:
        while True:
            clock = process_time()
            stopped = lp.solve(limits)
            lp_seconds += process_time() - clock
            if stopped:
                break
            rounds += 1
            current = lp.bound()
            if current <= value:
                value, best = current, (lp.cuts, lp.y)
            if on_round is not None:
                better = on_round(rounds, value, len(lp.cuts), seen.d if seen else lp.d)
                if better is not None and (lower is None or better > lower):
                    lower = better
            if value - attained <= TOL * scale:
                converged = True
                break
            if lower is not None and (
                round_down(value, model.constant, step) <= lower + TOL * scale
            ):
                break
            clock = process_time()
            cuts = lp.separate(per_edge, limits)
            separation_seconds += process_time() - clock
            stopped = limits.reason()
            if stopped:
                break
            d, seen = lp.d, None
            if len(cuts):
                lp.purge(patience)
                lp.add(cuts)
                if shrinks and lp.iterations >= due and len(cuts) < stall * model.n_vertices:
                    seen = lp.look_ahead(limits)
                    shrinks = seen is not None
                if seen is None:
                    continue
                lp.add(seen.cuts)
                ahead.append(seen)
                due = lp.iterations + again * seen.iterations
                d = seen.d
            if central:
                break
            objective = model.constant + float(lp.c @ d)
            if objective > attained:
                feasible, attained = d, objective
            if len(cuts):
                continue
            if tilts:
                tilts.pop(0)
                lp.cost(lp.c * (1 + tilts[0] * noise) if tilts else lp.c)
            else:
                converged = True
                break
    finally:
        lp.central = False
        if tilts:
            lp.cost(lp.c)
    used = best[1] > 0
    return CycleRelaxation(
        round_down(value, model.constant, step),
        value,
        feasible if converged else lp.d,
        best[0][used],
        best[1][used],
        rounds,
        converged,
        stopped,
        lp.iterations - before + sum(small.iterations for small in ahead),
        lp_seconds + sum(small.lp_seconds for small in ahead),
        separation_seconds + sum(small.separation_seconds for small in ahead),
    )


def _check(status: Any, what: str) -> None:
    if status == highspy.HighsStatus.kError:
        raise SolverError(f"HiGHS refused the {what} of a cycle relaxation")
