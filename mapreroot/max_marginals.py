"""How sure is each label? The best score with each variable at 0, and at 1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from mapreroot.constraints import possible_values, satisfying
from mapreroot.decomposition import Block, blocks, contract, outwards, recombine
from mapreroot.errors import ModelError
from mapreroot.exact.cut_margins import cut_margins
from mapreroot.exact.detours import detours
from mapreroot.exact.rooted import balanced_rooting
from mapreroot.exact.search import search
from mapreroot.limits import Limits, interruptible
from mapreroot.marginals.max_product import elimination_order, max_product
from mapreroot.model import Model, UprootedModel
from mapreroot.notebook import grid_shape, image, names, table
from mapreroot.relaxations.clamped_roof_duals import clamped_cycle_bounds, clamped_roof_duals
from mapreroot.rerooting import uproot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MaxMarginals", "max_marginals"]

Bits = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]

SMALL = 2**16
"""Tables of so many numbers are worth more than any flow."""
NUMBERS_PER_VERTEX = 64
"""So are tables of so many numbers a vertex."""


@dataclass(frozen=True, eq=False)
class MaxMarginals:
    """The best score with each variable at each value, known or enclosed.

    Attributes
    ----------
    x : ndarray of int8, shape (n,)
        The best assignment found.
    score : float
        Its score, in nats, constant included.
    scores_low, scores_high : ndarray, shape (n, 2)
        ``[i, a]`` encloses the best score of all assignments with x_i = a: some assignment
        scores at least ``scores_low``, none more than ``scores_high``. Both are -inf where hard
        constraints leave none.
    margin : ndarray, shape (n,)
        At least so much is lost when x_i takes the value that it has not in ``x``, and the others
        follow as is best. 0 where optima tie, inf where the other value is impossible, and
        negative where ``x`` is not proved right about it.
    exact : ndarray of bool, shape (n,)
        Where ``scores_low`` and ``scores_high`` are the same, up to rounding.
    labels : tuple
        The names of the variables.
    """

    x: Bits
    score: float
    scores_low: Floats
    scores_high: Floats
    margin: Floats
    exact: npt.NDArray[np.bool_]
    labels: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        for array in (self.x, self.scores_low, self.scores_high, self.margin, self.exact):
            array.setflags(write=False)

    @property
    def margins(self) -> dict[Any, float]:
        """The margin of each variable, by label."""
        return dict(zip(self.labels, self.margin.tolist(), strict=True))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the margin of each variable: `mapreroot.report.answers.margins`."""
        from mapreroot.report.answers import margins

        return margins(self, ax)

    def _repr_html_(self) -> str:
        shape = grid_shape(self.labels)
        pixels = [image(self.x.reshape(shape), "x")] if shape else []
        order = np.argsort(self.margin, kind="stable").tolist()

        def sure(i: int) -> str:
            return f"{self.labels[i]} = {self.x[i]} by {self.margin[i]:.4g}"

        return table(
            "Max-marginals",
            {
                "score": self.score,
                "exact": f"{int(self.exact.sum())} of {len(self.x)} margins",
                "least sure": names(order, sure),
            },
            *pixels,
        )


def max_marginals(
    model: Model,
    *,
    bound: Literal["loc", "tri", "search"] = "tri",
    nodes: int | None = 100,
    time_limit: float | None = None,
    entries: int = 2**24,
) -> MaxMarginals:
    """Find, for every variable, the best score with it at 0 and with it at 1.

    Parameters
    ----------
    model : Model
    bound : {"loc", "tri", "search"}
        What bounds the scores in a block for which nothing below is exact: LOC, by one flow for
        all vertices; TRI, by one linear program and a few flows; or a search for each vertex and
        value that is still open, which is exact where it ends.
    nodes : int, optional
        Limit on the nodes of each search: for the optimum of such a block, and for "search"
        with each of its vertices clamped. 0 leaves the relaxation.
    time_limit : float, optional
        Seconds of wall time. What has begun of a flow is finished; then the vertices that are
        left get what local search and the bounds so far say of them.
    entries : int
        Numbers that a table of dynamic programming may have.

    Returns
    -------
    MaxMarginals
        ``margin`` is how sure the label is.

    Raises
    ------
    ModelError
        For a negative limit, or an unknown ``bound``.
    SolverError
        If a solver under it fails.

    Notes
    -----
    Max-marginals answer "what would it cost to be wrong about x_i?", marginals p(x_i = 1) answer
    "how often is x_i = 1?", and neither tells the other. A label may be certain in the best
    assignment and improbable over all: with weights 0, 5, 3, 4 of (x_0, x_1) = 00, 01, 10, 11 the
    best assignment is 01, with x_0 = 0 by a margin of log(5/4), though p(x_0 = 1) = 7/12.
    The margins are those of one joint optimum, the marginals those of all assignments together,
    and the most probable value of each variable need not even make a possible assignment.

    1. If M+ has small treewidth (a forest M has two at most), elimination with maxima for sums
       is exact: O(n 2^w).
    2. Else each biconnected block of M+ is solved for itself, relative to its vertex g that is
       nearest to vertex 0: by elimination if that is narrow; if some rooting M_r is balanced, by
       one maximum flow (two if r is not g, with g clamped to agree with r and to differ), in
       whose residual network a short search gives each margin (`mapreroot.exact.cut_margins`);
       else by wider elimination, up to ``entries``.
    3. A block for which none of these fits gets intervals: branch and bound for an optimum or,
       at the limits, a bound on it (TRI); local search with each vertex held at its other value
       from below, and from above LOC with it held there, all from one flow
       (`mapreroot.relaxations.clamped_roof_duals`), made as tight as TRI by multipliers.
    4. The differences of the blocks on the way to vertex 0 combine by maxima.

    Weller (2016), sections 3 and 5, block by block; Kohli and Torr (2006) for the margins.

    Examples
    --------
    >>> tables = [[[-9.0, np.log(5)], [np.log(3), np.log(4)]]]
    >>> result = max_marginals(Model.from_tables(np.zeros((2, 2)), [(0, 1)], tables))
    >>> result.x.tolist(), np.exp(result.scores_low).round(6).tolist()
    ([0, 1], [[5.0, 4.0], [3.0, 5.0]])
    >>> np.exp(result.margin).round(4).tolist()
    [1.25, 1.6667]
    """
    if bound not in ("loc", "tri", "search"):
        raise ModelError(f"bound is {bound!r}: expected 'loc', 'tri' or 'search'")
    for name, value in (("nodes", nodes), ("time_limit", time_limit), ("entries", entries)):
        if value is not None and not value >= 0:
            raise ModelError(f"{name} is {value}: expected a number of at least 0")
    uprooted = uproot(model)
    start = np.concatenate([[0], satisfying(model.forbidden, model.n)]).astype(np.int8)
    ask = _Request(bound, Limits(time_limit, nodes), entries)
    plan = elimination_order(uprooted, 0, min(entries, _narrow(uprooted)))
    if plan is not None:
        y, below = max_product(uprooted, 0, plan)
        found = _Paths(y, below, below, np.zeros(len(y)), 0.0)
    else:
        with interruptible(ask.limits):
            found = _by_blocks(uprooted, start if model.forbidden else None, ask)
    x = found.y[1:] ^ found.y[0]
    score = float(model.score(x))
    low, high = score + found.low[1:], (score + found.slack) + found.high[1:]
    margin = -found.high[np.arange(1, model.n + 1), 1 - x] - found.doubt[1:] + 0.0  # no -0.0
    impossible = ~possible_values(model.forbidden, model.n)
    low[impossible] = high[impossible] = -math.inf
    margin[impossible[np.arange(model.n), 1 - x]] = math.inf
    exact = (low == high).all(axis=1)
    return MaxMarginals(x, score, low, high, margin, exact, model.labels)


@dataclass(frozen=True)
class _Request:
    """What a block may cost."""

    bound: str
    limits: Limits
    entries: int


@dataclass(frozen=True, eq=False)
class _Paths:
    """Scores with y_v XOR y_0 = a, less the best: found, and not exceeded.

    ``high`` counts from a bound that may be ``slack`` above the score of ``y``; ``doubt`` is the
    part of it in the blocks between v and vertex 0.
    """

    y: Bits
    low: Floats
    high: Floats
    doubt: Floats
    slack: float


def _narrow(uprooted: UprootedModel) -> int:
    return max(SMALL, NUMBERS_PER_VERTEX * uprooted.n_vertices)


def _by_blocks(uprooted: UprootedModel, start: Bits | None, ask: _Request) -> _Paths:
    """Solve the blocks outwards from vertex 0, and combine them along the way."""
    parts = blocks(uprooted)
    low, high = np.zeros((2, uprooted.n_vertices, 2))
    low[0, 1] = high[0, 1] = -math.inf
    doubt = np.zeros(uprooted.n_vertices)
    ys: list[Bits | None] = [None] * len(parts)
    slack = 0.0
    # Components without vertex 0 come last: their gates are tied between both values.
    for k, gate in outwards(uprooted.n_vertices, parts):
        vertices = parts[k].vertices
        inside = int(np.searchsorted(vertices, gate))
        found = _block(parts[k], inside, None if start is None else start[vertices], ask)
        ys[k] = found.y
        slack += found.slack
        rest = np.delete(np.arange(len(vertices)), inside)
        low[vertices[rest]] = _combined(low[gate], found.low[rest])
        high[vertices[rest]] = _combined(high[gate], found.high[rest])
        doubt[vertices[rest]] = doubt[gate] + found.slack
    y = recombine(uprooted.n_vertices, parts, [part for part in ys if part is not None])
    return _Paths(y, low, high, doubt, slack)


def _combined(gate: Floats, part: Floats) -> Floats:
    """Add what the two parities of the gate leave to v, and take the better."""
    return np.asarray(np.maximum(gate[0] + part, gate[1] + part[:, ::-1]))


def _block(block: Block, gate: int, start: Bits | None, ask: _Request) -> _Paths:
    part = block.model
    none = np.zeros(part.n_vertices)
    if part.m == 1:
        W = float(part.weights[0])
        below = np.array([[0.0, -math.inf], [0.0, -math.inf]])
        below[1 - gate] = min(0.0, W / 2), min(0.0, -W / 2)
        return _Paths(np.array([0, W < 0], dtype=np.int8), below, below, none, 0.0)
    plan = elimination_order(part, gate, ask.entries)
    if plan is None or plan.entries > _narrow(part):
        if ask.limits.late():
            return _enclosed(part, gate, start, ask)
        rooting = balanced_rooting(part, gate) or balanced_rooting(part)
        if rooting is not None:
            return _balanced(part, *rooting, gate, ask.limits)
    if plan is not None:
        y, below = max_product(part, gate, plan)
        return _Paths(y, below, below, none, 0.0)
    return _enclosed(part, gate, start, ask)


def _balanced(part: UprootedModel, root: int, flip: Bits, gate: int, limits: Limits) -> _Paths:
    """Max-marginals relative to the gate of a block that is balanced at the root."""
    none = np.zeros(part.n_vertices)
    if root == gate:
        y, _, low, high = _cut(part, root, flip, None, limits)
        return _Paths(y, low, high, none, 0.0)
    # With the gate held at 0 and at 1 the model is still balanced at the root.
    (y, score, *zero), (other, better, *one) = (
        _cut(part, root, flip, (gate, b), limits) for b in (0, 1)
    )
    top = max(score, better)
    # What is found with the gate at b is relative to the root.
    low, high = (
        np.maximum(score - top + if_0, better - top + if_1[:, ::-1])
        for if_0, if_1 in zip(zero, one, strict=True)
    )
    low[gate] = high[gate] = 0.0, -math.inf
    return _Paths(y if score == top else other, low, high, none, 0.0)


def _cut(
    part: UprootedModel, root: int, flip: Bits, held: tuple[int, int] | None, limits: Limits
) -> tuple[Bits, float, Floats, Floats]:
    """Give an optimum with y_root = 0 and what y_v = a costs, where M_root is balanced."""
    fixed = [(root, 0)] + ([] if held is None else [held])
    i, j = part.edges.T
    attractive = np.where(flip[i] == flip[j], part.weights, -part.weights)
    from_source, to_sink = np.zeros((2, part.n_vertices))
    inner = np.ones(part.m, dtype=np.bool_)
    for vertex, value in fixed:
        side = value ^ int(flip[vertex])
        touches = inner & ((i == vertex) | (j == vertex))
        inner &= ~touches
        other = i[touches] + j[touches] - vertex
        pull = attractive[touches] * (1 - 2 * side)  # towards the source's side
        np.add.at(from_source, other, np.maximum(pull, 0) / 2)
        np.add.at(to_sink, other, np.maximum(-pull, 0) / 2)
    tail, head = i[inner].copy(), j[inner].copy()
    _, sunk, margin = cut_margins(tail, head, attractive[inner] / 2, from_source, to_sink, limits)
    y = sunk.astype(np.int8) ^ flip
    for vertex, value in fixed:
        y[vertex] = value
    rows = np.arange(part.n_vertices)
    low, high = np.zeros((2, part.n_vertices, 2))
    known = ~np.isnan(margin)
    low[rows, 1 - y] = np.where(known, -margin, np.minimum(_flips(part, y), 0.0))
    high[rows, 1 - y] = np.where(known, -margin, 0.0)
    for vertex, value in fixed:
        low[vertex, 1 - value] = high[vertex, 1 - value] = -math.inf
    return y, part.score(y), low, high


def _flips(part: UprootedModel, y: Bits) -> Floats:
    """Say what flipping each vertex alone adds to the score of y."""
    i, j = part.edges.T
    gain = np.where(y[i] == y[j], -part.weights, part.weights) / 2
    return np.asarray(np.bincount(part.edges.ravel(), np.repeat(gain, 2), part.n_vertices))


def _enclosed(part: UprootedModel, gate: int, start: Bits | None, ask: _Request) -> _Paths:
    """Intervals: an optimum or a bound on it, detours from below, relaxations from above."""
    found = search(part, limits=ask.limits, initial=start)
    if ask.limits.late():
        y = found.y
        below = np.zeros((part.n_vertices, 2))
        below[np.arange(part.n_vertices), 1 - (y ^ y[gate])] = _flips(part, y)
    else:
        y, below = detours(part, gate, found.y)
    score = part.score(y)
    low = score + below
    if ask.limits.late():
        bounds = np.full((part.n_vertices, 2), math.inf)
    elif ask.bound == "loc":
        bounds = clamped_roof_duals(part, gate, ask.limits)
    else:
        bounds = clamped_cycle_bounds(part, gate, ask.limits)
    bounds = np.minimum(bounds, max(found.bound, score))
    tiny = part.tolerance
    if ask.bound == "search":
        y = _clamped_searches(part, gate, y, low, bounds, tiny, ask)
        score = part.score(y)
    rest = np.arange(part.n_vertices) != gate
    best = float(bounds[rest].max(axis=1).min())
    slack = best - score if best - score > tiny else 0.0
    low[rest] = np.minimum(low[rest] - score, 0.0)
    bounds[rest] = np.minimum(bounds[rest] - (score + slack), 0.0)
    bounds[rest] = np.maximum(bounds[rest], low[rest] - slack)  # rounding
    low[gate] = bounds[gate] = 0.0, -math.inf
    if slack == 0.0:
        bounds[rest] = np.where(bounds[rest] - low[rest] <= tiny, low[rest], bounds[rest])
    return _Paths(y, low, bounds, np.zeros(part.n_vertices), slack)


def _clamped_searches(
    part: UprootedModel,
    gate: int,
    y: Bits,
    low: Floats,
    bounds: Floats,
    tiny: float,
    ask: _Request,
) -> Bits:
    """Search with each open vertex clamped; tightens low and bounds, gives the best y seen."""
    rows = np.arange(part.n_vertices)
    for v, a in itertools.product(rows.tolist(), (0, 1)):
        if v == gate or bounds[v, a] - low[v, a] <= tiny:
            continue
        if ask.limits.late():
            break
        tied = np.full(part.n_vertices, -1)
        tied[v] = 2 * gate + a
        way = contract(part, tied)
        left = ask.limits.left()
        limits = Limits(None if left == math.inf else left, ask.limits.nodes)
        found = search(way.kernel, limits=limits)
        bounds[v, a] = min(bounds[v, a], found.bound)
        seen = way.restore(found.y)
        score = part.score(seen)
        agree = seen ^ seen[gate]
        low[rows, agree] = np.maximum(low[rows, agree], score)
        if score > part.score(y):
            y = seen
    return y
