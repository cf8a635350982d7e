"""The two models of the paper: M with its singletons, and M+ without.

score(x) = c + sum_i theta_i x_i - 1/2 sum_ij W_ij [x_i != x_j], in nats, to be maximised
(Weller 2016, equation 1). W > 0 is attractive, W < 0 repulsive.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt

from mapreroot import conversions
from mapreroot.canonical import (
    Bits,
    Floats,
    Ints,
    check_range,
    digest_of,
    distinct_labels,
    real_number,
    real_numbers,
    sorted_edges,
    zeros_and_ones,
)
from mapreroot.constraints import (
    Row,
    canonical_rows,
    check_satisfiable,
    penalty,
    penalty_tables,
    violated,
)
from mapreroot.errors import InfeasibleError, ModelError
from mapreroot.limits import StopReason
from mapreroot.scoring import exact_score

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["TOL", "Model", "Solution", "UprootedModel"]

TOL = 1e-9
"""Two scores closer than TOL times the largest weight in play count as equal."""


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A binary pairwise model M: n variables in {0, 1}, fields and weighted edges.

    Parameters
    ----------
    theta : array_like, shape (n,)
        Singleton potentials, in nats.
    edges : array_like of int, shape (m, 2)
        Pairs of variables. Duplicates are summed, in either order; the result is sorted.
    weights : array_like, shape (m,)
        W of the paper, in nats. Zero weights are dropped (the variables stay).
    constant : float
        Added to every score.
    labels : iterable of hashable, optional
        The user's own names, distinct; 0..n-1 by default.
    forbidden : iterable of (i, a) or (i, a, j, b)
        Hard constraints, by index: x_i = a, or x_i = a together with x_j = b, never happens.
        The potentials then carry a finite penalty for them (`mapreroot.constraints`).

    Raises
    ------
    ModelError
        For NaN or infinite numbers, sums that overflow, self-loops, indices out of range, wrong
        shapes, or labels that are not distinct.
    InfeasibleError
        If the hard constraints contradict each other.

    Notes
    -----
    Arrays are copied to float64 and int64, and are read-only. Models are values: equal when all
    their numbers and labels are.

    Examples
    --------
    >>> model = Model([0.5, -1.0], [(0, 1)], [2.0])
    >>> model.score([1, 1]), model.score([1, 0])
    (-0.5, -0.5)
    """

    theta: Floats
    edges: Ints
    weights: Floats
    constant: float = 0.0
    labels: tuple[Hashable, ...] = ()
    forbidden: tuple[Row, ...] = ()

    def __init__(
        self,
        theta: npt.ArrayLike,
        edges: npt.ArrayLike,
        weights: npt.ArrayLike,
        constant: float = 0.0,
        labels: Iterable[Hashable] | None = None,
        forbidden: Iterable[Sequence[int]] = (),
    ) -> None:
        field = real_numbers(theta, "theta")
        n = len(field)
        bad = np.flatnonzero(~np.isfinite(field))
        if len(bad):
            raise ModelError(f"theta[{bad[0]}] is {field[bad[0]]}: potentials must be finite")
        pairs, W = sorted_edges(n, edges, weights)
        c = real_number(constant)
        rows = canonical_rows(forbidden, n)
        if rows:
            check_satisfiable(rows, n)
            more = penalty_tables(rows, penalty(field, W), n)
            field, c = field + more[0], c + more[3]
            pairs, W = sorted_edges(n, np.vstack([pairs, more[1]]), np.concatenate([W, more[2]]))
        self._set(field, pairs, W, c, distinct_labels(labels, n), rows)

    def _set(
        self,
        theta: Floats,
        edges: Ints,
        weights: Floats,
        constant: float,
        labels: tuple[Hashable, ...],
        forbidden: tuple[Row, ...],
    ) -> Self:
        check_range(theta, weights, constant)
        for name, array in (("theta", theta), ("edges", edges), ("weights", weights)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "constant", constant)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "forbidden", forbidden)
        return self

    @classmethod
    def from_penalised(
        cls,
        theta: npt.ArrayLike,
        edges: npt.ArrayLike,
        weights: npt.ArrayLike,
        constant: float = 0.0,
        labels: Iterable[Hashable] | None = None,
        forbidden: Iterable[Sequence[int]] = (),
    ) -> Self:
        """Build a model whose potentials already carry the penalty for ``forbidden``.

        This is how a stored model, or one derived from another, comes back unchanged. It takes
        and raises what `Model` does.
        """
        plain = cls(theta, edges, weights, constant, labels)
        rows = canonical_rows(forbidden, plain.n)
        check_satisfiable(rows, plain.n)
        object.__setattr__(plain, "forbidden", rows)
        return plain

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.theta)

    @property
    def m(self) -> int:
        """Number of edges, all of non-zero weight."""
        return len(self.weights)

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of all numbers (not of the labels)."""
        parts = (self.theta, self.edges, self.weights)
        return digest_of(b"M", self.n, self.constant, parts, repr(self.forbidden))

    @overload
    def score(self, x: Mapping[Hashable, int]) -> float: ...
    @overload
    def score(self, x: npt.ArrayLike) -> Any: ...
    def score(self, x: npt.ArrayLike | Mapping[Hashable, int]) -> Any:
        """Score one assignment, or a batch of them.

        Parameters
        ----------
        x : array_like of 0 and 1, shape (n,) or (k, n), or a mapping from labels

        Returns
        -------
        float or ndarray of shape (k,)
            In nats, constant included; -inf where a hard constraint is broken. One assignment's
            score is the correctly rounded sum.

        Raises
        ------
        ModelError
            For a wrong shape, a value that is not 0 or 1, or a missing label.
        """
        if isinstance(x, Mapping):
            missing = [label for label in self.labels if label not in x]
            if missing:
                raise ModelError(f"the assignment says nothing of {missing[0]!r}")
            x = [x[label] for label in self.labels]
        bits = zeros_and_ones(x, self.n)
        if bits.ndim == 1:
            if self.forbidden and violated(self.forbidden, bits[None, :])[0]:
                return -math.inf
            return exact_score(self.constant, self.theta, self.edges, self.weights, bits)
        scores = self.constant + bits @ self.theta
        for start in range(0, len(bits), 4096):  # bounds the (k, m) intermediate
            part = bits[start : start + 4096]
            differ = part[:, self.edges[:, 0]] != part[:, self.edges[:, 1]]
            scores[start : start + 4096] -= differ @ self.weights / 2
        if self.forbidden:
            scores[violated(self.forbidden, bits)] = -math.inf
        return scores

    def condition(self, fixed: Mapping[Any, int]) -> Model:
        """Clamp variables and remove them.

        Parameters
        ----------
        fixed : mapping from labels to 0 or 1

        Returns
        -------
        Model
            On the other variables, in order; the scores are those of the whole assignment.

        Raises
        ------
        ModelError
            For an unknown label or a value that is not 0 or 1.
        InfeasibleError
            If the values break a hard constraint.

        Notes
        -----
        O(n + m).

        Examples
        --------
        >>> Model([0.5, -1.0], [(0, 1)], [2.0]).condition({0: 1}).theta
        array([0.])
        """
        index = {label: i for i, label in enumerate(self.labels)}
        value = np.full(self.n, -1, dtype=np.int8)
        for label, a in fixed.items():
            if label not in index:
                raise ModelError(f"no variable is called {label!r}")
            if a not in (0, 1):
                raise ModelError(f"variable {label!r} cannot be fixed at {a!r}: expected 0 or 1")
            value[index[label]] = int(a)
        free = value < 0
        new = np.cumsum(free) - 1
        i, j = self.edges.T
        theta, W = self.theta.copy(), self.weights
        one_way = [self.constant, *theta[value == 1].tolist()]
        both = ~free[i] & ~free[j]
        one_way += (-W[both & (value[i] != value[j])] / 2).tolist()
        for end, other in ((i, j), (j, i)):  # edges from a fixed end to a free other
            part = ~free[end] & free[other]
            a = value[end[part]]
            np.add.at(theta, other[part], np.where(a == 1, W[part], -W[part]) / 2)
            one_way += (-W[part][a == 1] / 2).tolist()
        keep = free[i] & free[j]
        rows: list[Sequence[int]] = []
        for row in self.forbidden:
            ends = list(zip(row[::2], row[1::2], strict=True))
            if any(not free[v] and value[v] != a for v, a in ends):
                continue
            rest = [part for v, a in ends if free[v] for part in (new[v], a)]
            if not rest:
                names = ", ".join(f"{self.labels[v]!r} = {a}" for v, a in ends)
                raise InfeasibleError(f"the evidence contradicts a hard constraint: {names}")
            rows.append(rest)
        try:
            return type(self).from_penalised(
                theta[free],
                new[self.edges[keep]],
                W[keep],
                math.fsum(one_way),
                [label for label, f in zip(self.labels, free, strict=True) if f],
                rows,
            )
        except InfeasibleError as error:
            raise InfeasibleError(f"with the evidence, {error}") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model):
            return NotImplemented
        return (
            self.constant == other.constant
            and self.labels == other.labels
            and self.forbidden == other.forbidden
            and np.array_equal(self.theta, other.theta)
            and np.array_equal(self.edges, other.edges)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        hard = f", forbidden={len(self.forbidden)}" if self.forbidden else ""
        return f"Model(n={self.n}, m={self.m}, constant={self.constant!r}{hard})"

    # Conversions: the formulas and their docstrings are in mapreroot.conversions.

    @classmethod
    def from_qubo(cls, Q: Any, sense: Literal["min", "max"] = "min", constant: float = 0.0) -> Self:
        """Read ``x'Qx + constant``, to be minimised or maximised; see `conversions.from_qubo`."""
        return cls(*conversions.from_qubo(Q, sense, constant))

    @classmethod
    def from_ising(cls, h: Any, J: Any, constant: float = 0.0) -> Self:
        """Read an Ising energy, to be minimised; see `conversions.from_ising`."""
        return cls(*conversions.from_ising(h, J, constant))

    @classmethod
    def from_maxcut(cls, graph: Any, weight: str = "weight", default: float | None = None) -> Self:
        """Read a weighted graph whose cut is to be maximised; see `conversions.from_maxcut`."""
        return cls(*conversions.from_maxcut(graph, weight, default))

    @classmethod
    def from_tables(
        cls,
        unary: npt.ArrayLike,
        edges: npt.ArrayLike,
        pairwise: npt.ArrayLike,
        constant: float = 0.0,
        labels: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read tables of log-potentials; see `conversions.from_tables`."""
        return cls(*conversions.from_tables(unary, edges, pairwise, constant, labels))

    @classmethod
    def from_grid(
        cls,
        theta: npt.ArrayLike,
        right: npt.ArrayLike,
        down: npt.ArrayLike,
        diagonals: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        constant: float = 0.0,
    ) -> Self:
        """Read an image, a variable a pixel; see `conversions.from_grid`."""
        return cls(*conversions.from_grid(theta, right, down, diagonals, constant))

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph[Any],
        theta: str = "theta",
        weight: str = "weight",
        default: float | None = None,
    ) -> Self:
        """Read node and edge attributes of a graph; see `conversions.from_networkx`."""
        return cls(*conversions.from_networkx(graph, theta, weight, default))

    @classmethod
    def from_bqm(cls, bqm: Any) -> Self:
        """Read a dimod binary quadratic model, to be minimised; see `conversions.from_bqm`."""
        return cls(*conversions.from_bqm(bqm))

    def to_qubo(self) -> tuple[dict[tuple[Any, Any], float], float]:
        """Give ``(Q, constant)`` with x'Qx + constant = -score(x); the inverse of `from_qubo`."""
        return conversions.to_qubo(self.theta, self.edges, self.weights, self.constant, self.labels)

    def to_ising(self) -> tuple[dict[Any, float], dict[tuple[Any, Any], float], float]:
        """Give ``(h, J, constant)``, the energy that is -score; the inverse of `from_ising`."""
        return conversions.to_ising(
            self.theta, self.edges, self.weights, self.constant, self.labels
        )

    def to_networkx(self) -> nx.Graph[Any]:
        """Give a graph that holds all of the model; the inverse of `from_networkx`."""
        return conversions.to_networkx(
            self.theta, self.edges, self.weights, self.constant, self.labels
        )

    def to_bqm(self, vartype: Literal["BINARY", "SPIN"] = "BINARY") -> Any:
        """Give a dimod model whose energy is -score (needs dimod); the inverse of `from_bqm`."""
        return conversions.to_bqm(
            self.theta, self.edges, self.weights, self.constant, self.labels, vartype
        )


@dataclass(frozen=True, eq=False, repr=False)
class UprootedModel:
    """A symmetric model M+: no singletons, the same score for y and for 1 - y.

    phi(y) = c - 1/2 sum_ij W_ij [y_i != y_j] (Weller 2016, section 2). Vertex 0 is the added
    one, vertex j + 1 is variable j of the model that was uprooted; vertices without an edge stay.

    Parameters
    ----------
    n_vertices : int
    edges : array_like of int, shape (m, 2)
        Treated as in `Model`: duplicates summed, zero weights dropped, sorted.
    weights : array_like, shape (m,)
        In nats.
    constant : float
    labels : iterable of hashable, optional
        One name a vertex, distinct; 0..n_vertices-1 by default.

    Raises
    ------
    ModelError
        As `Model`.

    Examples
    --------
    >>> uprooted = UprootedModel(3, [(0, 1), (1, 2)], [-1.0, 2.0])
    >>> uprooted.score([0, 1, 1])
    0.5
    >>> uprooted.reroot(1).theta
    array([ 0.5, -1. ])
    """

    n_vertices: int
    edges: Ints
    weights: Floats
    constant: float = 0.0
    labels: tuple[Hashable, ...] = ()

    def __init__(
        self,
        n_vertices: int,
        edges: npt.ArrayLike,
        weights: npt.ArrayLike,
        constant: float = 0.0,
        labels: Iterable[Hashable] | None = None,
    ) -> None:
        pairs, W = sorted_edges(n_vertices, edges, weights)
        self._set(n_vertices, pairs, W, real_number(constant), distinct_labels(labels, n_vertices))
        check_range(np.zeros(0), W, self.constant)

    def _set(
        self,
        n_vertices: int,
        edges: Ints,
        weights: Floats,
        constant: float,
        labels: tuple[Hashable, ...],
    ) -> Self:
        edges.setflags(write=False)
        weights.setflags(write=False)
        for name, value in (
            ("n_vertices", n_vertices),
            ("edges", edges),
            ("weights", weights),
            ("constant", constant),
            ("labels", labels),
        ):
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def from_canonical(
        cls,
        n_vertices: int,
        edges: Ints,
        weights: Floats,
        constant: float = 0.0,
        labels: tuple[Hashable, ...] = (),
    ) -> Self:
        """Wrap arrays that are known to be canonical: i < j, sorted, distinct, non-zero, finite.

        Nothing is checked or copied, the arrays become read-only, and no labels are made up: this
        is for the inner loops of solvers.
        """
        return cls.__new__(cls)._set(n_vertices, edges, weights, constant, labels)

    @property
    def m(self) -> int:
        """Number of edges, all of non-zero weight."""
        return len(self.weights)

    @property
    def tolerance(self) -> float:
        """Two scores closer than this, TOL times the largest absolute weight, count as equal."""
        return TOL * float(np.abs(self.weights).max(initial=0.0))

    def score(self, y: npt.ArrayLike) -> float:
        """Score one assignment of all vertices, shape (n_vertices,): phi(y), correctly rounded."""
        bits = zeros_and_ones(y, self.n_vertices)
        if bits.ndim != 1:
            raise ModelError(f"expected one assignment of {self.n_vertices} vertices")
        return exact_score(self.constant, np.zeros(0), self.edges, self.weights, bits)

    def reroot(self, root: int) -> Model:
        """Condition on y_root = 0 (Weller 2016, section 3).

        Returns
        -------
        Model
            M_root on the other vertices in ascending order, theta_j = -W_rj / 2. ``reroot(0)``
            undoes `mapreroot.uproot`.

        Raises
        ------
        ModelError
            If there is no such vertex.

        Notes
        -----
        O(n + m).
        """
        if not 0 <= root < self.n_vertices:
            raise ModelError(f"no vertex {root}: the model has 0..{self.n_vertices - 1}")
        i, j = self.edges.T
        at_root = (i == root) | (j == root)
        other = i[at_root] + j[at_root] - root
        theta = np.zeros(self.n_vertices)
        theta[other] = -self.weights[at_root] / 2
        edges = self.edges[~at_root]
        labels = self.labels or tuple(range(self.n_vertices))
        return Model.__new__(Model)._set(
            np.delete(theta, root),
            edges - (edges > root),
            self.weights[~at_root],
            self.constant,
            labels[:root] + labels[root + 1 :],
            (),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UprootedModel):
            return NotImplemented
        return (
            self.n_vertices == other.n_vertices
            and self.constant == other.constant
            and self.labels == other.labels
            and np.array_equal(self.edges, other.edges)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash(
            digest_of(b"M+", self.n_vertices, self.constant, (self.edges, self.weights), "")
        )

    def __repr__(self) -> str:
        return (
            f"UprootedModel(n_vertices={self.n_vertices}, m={self.m}, constant={self.constant!r})"
        )


@dataclass(frozen=True)
class Solution:
    """What a solver says of the `UprootedModel` it was given.

    Attributes
    ----------
    y : ndarray of int8, shape (n_vertices,)
        The best assignment found.
    bound : float
        No assignment scores more (up to rounding in the last places).
    stopped : str or None
        Why the solver stopped early, if it did.
    """

    y: Bits
    bound: float
    stopped: StopReason | None = None
