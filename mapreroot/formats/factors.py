"""Factor graphs with tables: from logarithms of the entries to a Model, and back.

UAI and libDAI files hold the same thing in two spellings.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from mapreroot.errors import InfeasibleError, ModelError
from mapreroot.formats.tokens import Tokens
from mapreroot.model import Model

__all__ = ["Factors", "Potentials", "factors_of", "read_logarithms", "without_penalty"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

EXP_LIMIT = 700.0
"""exp of a larger number may overflow, or lose digits as a subnormal number."""

COPIES_LIMIT = 1000
"""A potential that needs more factors than this, of exp(EXP_LIMIT) each, is not written."""


@dataclass(frozen=True)
class Factors:
    """A product of tables over variables of any number of states.

    Attributes
    ----------
    labels : tuple
        One name a variable.
    states : ndarray of int64, shape (n,)
        How many values each variable takes, at least 1.
    orders : ndarray of int64, shape (f,)
        How many variables each factor covers.
    scopes : ndarray of int64, shape (sum of orders,)
        The variables of factor 0, then of factor 1, and so on.
    logs : ndarray of float64
        The logarithms of all tables, one after the other, the last variable varying fastest;
        -inf for a zero.
    """

    labels: tuple[Hashable, ...]
    states: Ints
    orders: Ints
    scopes: Ints
    logs: Floats

    def condition(self, fixed: Mapping[Hashable, int]) -> Model:
        """Clamp variables, then build the model of the others.

        Raises
        ------
        ModelError
            If a value is out of range, a variable that is left has more than two states, or a
            factor covers three or more that are left.
        InfeasibleError
            If the zero entries contradict each other, or the values break one.

        Notes
        -----
        A variable with a single state costs a factor nothing and stays in the model, where its
        value 1 is forbidden. Linear in the size of the tables.
        """
        n = len(self.labels)
        index = {label: v for v, label in enumerate(self.labels)}
        clamped = np.where(self.states == 1, 0, -1)
        for label, value in fixed.items():
            v = index[label]
            if not 0 <= value < self.states[v]:
                raise ModelError(
                    f"evidence for variable {label!r} is {value}: it has {self.states[v]} states "
                    "(0-based)"
                )
            clamped[v] = value
        many = np.flatnonzero((clamped < 0) & (self.states > 2))
        if len(many):
            first = int(many[0])
            raise ModelError(
                f"variable {self.labels[first]} has {self.states[first]} states: expected 2 (or "
                "1), or evidence for it"
            )
        unary, pairs, tables, constant = self._combine(clamped)
        unary[self.states == 1, 1] = -np.inf
        given = "with the evidence, " if fixed else ""
        if constant == -math.inf:
            raise InfeasibleError(
                f"{given}the hard constraints contradict each other: a factor is zero everywhere"
            )
        try:
            model = Model.from_tables(unary, pairs, tables, constant, self.labels)
        except InfeasibleError as error:
            raise InfeasibleError(f"{given}{error}") from error
        # What is observed is isolated by now, so that its value makes no difference.
        return model.condition(dict.fromkeys(fixed, 0)) if n and fixed else model

    def _combine(self, clamped: Ints) -> tuple[Floats, Ints, Floats, float]:
        """Slice the tables at the clamped values and sort them by what they still cover."""
        factor = np.repeat(np.arange(len(self.orders)), self.orders)
        gone = np.bincount(factor, clamped[self.scopes] >= 0, minlength=len(self.orders))
        free = self.orders - gone.astype(np.int64)
        if (free > 2).any():
            first = int(np.flatnonzero(free > 2)[0])
            names = ", ".join(str(self.labels[v]) for v in self.scopes[factor == first])
            out = f", {int(gone[first])} of them observed or of one state" if gone[first] else ""
            raise ModelError(
                f"factor {first} has order {self.orders[first]} (variables {names}{out}): expected "
                "at most 2 variables that are not observed"
            )
        sizes = np.ones(len(self.orders), dtype=np.int64)
        np.multiply.at(sizes, factor, self.states[self.scopes])
        scope_starts = np.cumsum(self.orders) - self.orders
        log_starts = np.cumsum(sizes) - sizes
        whole = gone == 0
        unary = np.zeros((len(self.labels), 2))
        constants = [self.logs[log_starts[whole & (self.orders == 0)]]]
        ones = np.flatnonzero(whole & (self.orders == 1))
        np.add.at(
            unary, self.scopes[scope_starts[ones]], self.logs[log_starts[ones, None] + [0, 1]]
        )
        twos = np.flatnonzero(whole & (self.orders == 2))
        pairs = [self.scopes[scope_starts[twos, None] + [0, 1]]]
        tables = [self.logs[log_starts[twos, None] + np.arange(4)].reshape(-1, 2, 2)]
        for k in np.flatnonzero(~whole):
            scope = self.scopes[scope_starts[k] : scope_starts[k] + self.orders[k]]
            shape = self.states[scope]
            at = tuple(int(a) if a >= 0 else slice(None) for a in clamped[scope])
            table = self.logs[log_starts[k] : log_starts[k] + sizes[k]].reshape(shape)[at]
            rest = scope[clamped[scope] < 0]
            if len(rest) == 0:
                constants.append(np.atleast_1d(table))
            elif len(rest) == 1:
                unary[rest[0]] += table
            else:
                pairs.append(rest[None, :])
                tables.append(table[None, :, :])
        total = np.concatenate(constants)
        constant = -math.inf if np.isneginf(total).any() else math.fsum(total.tolist())
        return unary, np.concatenate(pairs), np.concatenate(tables), constant


def read_logarithms(tokens: Tokens, positions: Sequence[int], factors: Sequence[int]) -> Floats:
    """Read table entries and take their logarithms.

    Parameters
    ----------
    tokens : Tokens
    positions : sequence of int
        Where the entries are.
    factors : sequence of int
        The factor each belongs to, for messages.

    Raises
    ------
    FormatError
        For an entry that is negative, not a number or not finite.

    Notes
    -----
    A positive entry too small for a float is no zero, and so no hard constraint: its logarithm
    is taken with decimal arithmetic.
    """
    words = [tokens.words[position] for position in positions]
    try:
        values = np.array([float(word) for word in words])
        fine = b"_" not in tokens.text.data  # float() would take 1_0
    except ValueError:
        values, fine = np.zeros(0), False
    fine = fine and bool(((values >= 0) & (values < np.inf)).all())
    if not fine:
        _explain(tokens, positions, factors)
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(values)
    for k in np.flatnonzero(values == 0):
        exact = Decimal(words[k].decode())
        if exact:
            logs[k] = float(exact.ln())
    return logs


def _explain(tokens: Tokens, positions: Sequence[int], factors: Sequence[int]) -> None:
    for position, k in zip(positions, factors, strict=True):
        word = tokens.words[position]
        try:
            value = math.nan if b"_" in word else float(word)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            problem = "is negative" if value < 0 else "is not a finite number"
            raise tokens.error(
                f"factor {k}: the table entry {tokens.show(position)} {problem}: expected a "
                "factor's value, 0 or more",
                position,
            )


def factors_of(model: Model) -> Iterator[tuple[tuple[int, ...], list[float]]]:
    """Write a model as tables whose product is exp(score), zeros at the hard constraints.

    Yields
    ------
    tuple of int, list of float
        The variables and the 1, 2 or 4 entries, the last variable varying fastest, each 0 or
        within exp(+-EXP_LIMIT). Every variable has a factor of its own, be it of ones.

    Raises
    ------
    ModelError
        If a potential is so large that it would take more than COPIES_LIMIT factors.

    Notes
    -----
    A potential above EXP_LIMIT is spread over several equal factors. The logarithms of the
    entries are within 1e-13 of the potentials where one factor is enough.
    """
    finite = without_penalty(model)
    holes: dict[tuple[int, ...], set[int]] = {}
    for row in model.forbidden:
        holes.setdefault(row[::2], set()).add(row[1] if len(row) == 2 else 2 * row[1] + row[3])
    labels = model.labels
    if finite.constant:
        yield from _spread((), finite.constant, "the constant", {0}, set())
    for i, t in enumerate(finite.theta.tolist()):
        what = f"theta of variable {labels[i]!r}"
        yield from _spread((i,), t, what, {1}, holes.pop((i,), set()))
    for (i, j), w in zip(finite.edges.tolist(), finite.weights.tolist(), strict=True):
        what = f"the weight of ({labels[i]!r}, {labels[j]!r})"
        yield from _spread((i, j), -w / 2, what, {1, 2}, holes.pop((i, j), set()))
    for scope, rest in holes.items():
        yield from _spread(scope, 0.0, "", set(), rest)


def _spread(
    scope: tuple[int, ...], size: float, what: str, places: set[int], holes: set[int]
) -> Iterator[tuple[tuple[int, ...], list[float]]]:
    """Give one table, or several, with exp(size) at some places, 0 at the holes, else 1."""
    copies = max(1, math.ceil(abs(size) / EXP_LIMIT))
    if copies > COPIES_LIMIT:
        raise ModelError(
            f"{what} is of size {abs(size):g}: a table holds exponentials, at most "
            f"exp({EXP_LIMIT:g}) a factor; write .json, which holds the number itself"
        )
    entry = math.exp(size / copies)
    table = [entry if place in places else 1.0 for place in range(2 ** len(scope))]
    for _ in range(copies - 1):
        yield scope, table
    yield scope, [0.0 if place in holes else value for place, value in enumerate(table)]


@dataclass(frozen=True)
class Potentials:
    """The numbers of a model, as in `mapreroot.Model`."""

    theta: Floats
    edges: Ints
    weights: Floats
    constant: float


def without_penalty(model: Model) -> Potentials:
    """Potentials with the scores of the model wherever no hard constraint is broken.

    Where one is broken the score is free. It is chosen so that the pair's weight vanishes and
    only fields are left, and with the weight goes the penalty that it carried.
    """
    if not model.forbidden:
        return Potentials(model.theta, model.edges, model.weights, model.constant)
    holes: dict[tuple[int, int], set[tuple[int, int]]] = {}
    forced: dict[int, int] = {}
    for row in model.forbidden:
        if len(row) == 2:
            forced[row[0]] = 1 - row[1]
        else:
            holes.setdefault((row[0], row[2]), set()).add((row[1], row[3]))
    theta, W, constants = model.theta.copy(), model.weights.copy(), [model.constant]
    place = {(i, j): e for e, (i, j) in enumerate(model.edges.tolist())}
    for (i, j), gone in holes.items():
        w = float(W[place[i, j]]) if (i, j) in place else 0.0
        if (i, j) in place:
            W[place[i, j]] = 0.0
        T = {(a, b): -w / 2 if a != b else 0.0 for a in (0, 1) for b in (0, 1)}
        left = sorted(set(T) - gone)
        if len(left) == 3:
            ((a, b),) = gone
            T[a, b] = T[a, 1 - b] + T[1 - a, b] - T[1 - a, 1 - b]
            theta[i] += T[1, 0] - T[0, 0]
            theta[j] += T[0, 1] - T[0, 0]
            constants.append(T[0, 0])
            continue
        # One or two pairs of values are left. Both ends alike, or always different: the same
        # score for either. Otherwise one end is forced, and the other may still choose.
        constants.append(T[left[0]])
        for v, other, side in ((i, j, 0), (j, i, 1)):
            values = {pair[side] for pair in left}
            if len(values) == 1:
                forced[v] = values.pop()
                if len(left) == 2:
                    theta[other] += T[left[1]] - T[left[0]]
    for v, value in forced.items():
        constants.append(float(theta[v]) * value)
        theta[v] = 0.0
    keep = W != 0
    return Potentials(theta, model.edges[keep], W[keep], math.fsum(constants))
