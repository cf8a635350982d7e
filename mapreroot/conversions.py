"""The user's forms and ours: QUBO, Ising, max-cut, log tables, image grids, networkx and dimod.

Each ``from_`` function returns the arguments of `mapreroot.Model`; each ``to_`` function takes
the fields of one. The constant is part of every form.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from mapreroot.errors import ModelError

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "from_bqm",
    "from_grid",
    "from_ising",
    "from_maxcut",
    "from_networkx",
    "from_qubo",
    "from_tables",
    "to_bqm",
    "to_ising",
    "to_networkx",
    "to_qubo",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Labels = tuple[Hashable, ...] | None
Parts = tuple[Floats, Ints, Floats, float, Labels]


def from_qubo(Q: Any, sense: str = "min", constant: float = 0.0) -> Parts:
    """Read ``x'Qx + constant``: score = -(x'Qx + constant), or + where it is maximised.

    Parameters
    ----------
    Q : array_like (n, n), scipy sparse (n, n), or dict (i, j) -> coefficient
        A pair's coefficient is Q_ij + Q_ji, the diagonal is linear. Labels are the dict's own,
        in order of appearance (integers ascending), or 0..n-1.
    sense : {"min", "max"}
    constant : float
        Part of the objective, in its sense.

    Raises
    ------
    ModelError
        For a shape that is not square, an unknown sense, or (from `Model`) bad numbers.

    Notes
    -----
    W_ij = -(Q_ij + Q_ji), theta_i = -Q_ii + 1/2 sum_j W_ij, c = -constant, for "min".

    Examples
    --------
    >>> from mapreroot import Model
    >>> model = Model.from_qubo({("a", "a"): -1, ("a", "b"): 2}, constant=0.5)
    >>> model.score({"a": 1, "b": 0})
    0.5
    """
    if sense not in ("min", "max"):
        raise ModelError(f"sense is {sense!r}: expected 'min' or 'max'")
    sign = -1.0 if sense == "min" else 1.0
    labels, i, j, q = _pairs(Q, "Q")
    n = len(labels)
    on = i == j
    W = sign * q[~on]
    edges = np.stack([i[~on], j[~on]], axis=1)
    theta = np.zeros(n)
    np.add.at(theta, i[on], sign * q[on])
    np.add.at(theta, edges.ravel(), np.repeat(W, 2) / 2)
    return theta, edges, W, sign * float(constant), labels


def to_qubo(
    theta: Floats, edges: Ints, weights: Floats, constant: float, labels: Sequence[Hashable]
) -> tuple[dict[tuple[Any, Any], float], float]:
    """Give ``(Q, constant)`` with x'Qx + constant = -score(x), each pair once, all (i, i) there."""
    linear = -theta
    np.add.at(linear, edges.ravel(), np.repeat(weights, 2) / 2)
    Q = {(a, a): q for a, q in zip(labels, linear.tolist(), strict=True)}
    for (i, j), w in zip(edges.tolist(), weights.tolist(), strict=True):
        Q[labels[i], labels[j]] = -w
    return Q, _plus_zero(-constant)


def from_ising(h: Any, J: Any, constant: float = 0.0) -> Parts:
    """Read the energy ``sum h_i s_i + sum J_ij s_i s_j + constant``, s = 2x - 1, to be minimised.

    Parameters
    ----------
    h : mapping, array_like (n,), or None
        Fields; None for none.
    J : mapping (i, j) -> coupling, array_like or scipy sparse (n, n)
        A matrix gives each pair once, as J_ij + J_ji, and its diagonal goes to the constant.
    constant : float

    Raises
    ------
    ModelError
        If the shapes of h and J do not fit, or (from `Model`) for bad numbers.

    Notes
    -----
    W_ij = -4 J_ij, theta_i = -2 h_i, c = sum h - sum J - constant.

    Examples
    --------
    >>> from mapreroot import Model
    >>> Model.from_ising(None, {("a", "b"): -1}).score([1, 1])
    1.0
    """
    labels, i, j, coupling = _pairs(J, "J")
    if h is not None:
        if isinstance(h, Mapping):
            given, field = list(h), np.array([float(value) for value in h.values()])
        else:
            field = np.array(h, dtype=np.float64).reshape(-1)
            given = list(range(len(field)))
            if not isinstance(J, Mapping) and len(field) != len(labels):
                raise ModelError(
                    f"h has {len(field)} entries but J is {len(labels)} x {len(labels)}"
                )
        old = labels
        labels = _in_order([*given, *old])
        index = {label: k for k, label in enumerate(labels)}
        move = np.array([index[label] for label in old], dtype=np.int64)
        i, j = move[i], move[j]
        theta = np.zeros(len(labels))
        np.add.at(theta, [index[label] for label in given], -2 * field)
    else:
        theta, field = np.zeros(len(labels)), np.zeros(0)
    on = i == j  # s_i s_i = 1
    edges = np.stack([i[~on], j[~on]], axis=1)
    c = _sum([*field.tolist(), *(-coupling).tolist(), -float(constant)])
    return theta, edges, -4 * coupling[~on], c, labels


def to_ising(
    theta: Floats, edges: Ints, weights: Floats, constant: float, labels: Sequence[Hashable]
) -> tuple[dict[Any, float], dict[tuple[Any, Any], float], float]:
    """Give ``(h, J, constant)``, the energy that is -score, every variable in h."""
    h = [_plus_zero(-t / 2) for t in theta.tolist()]
    J = [-w / 4 for w in weights.tolist()]
    pairs = [(labels[i], labels[j]) for i, j in edges.tolist()]
    k = _sum([*h, *(-value for value in J), -constant])
    return dict(zip(labels, h, strict=True)), dict(zip(pairs, J, strict=True)), k


def from_maxcut(graph: Any, weight: str = "weight", default: float | None = None) -> Parts:
    """Read a weighted graph: score = the weight of the cut.

    Parameters
    ----------
    graph : networkx graph, or array_like or scipy sparse (n, n)
        Parallel edges add up. A matrix is an adjacency matrix: symmetric, or triangular.
    weight : str
        The edge attribute of a networkx graph.
    default : float, optional
        For edges without the attribute; by default they are an error.

    Raises
    ------
    ModelError
        For a directed graph, a self-loop, a missing weight, a matrix that is neither symmetric
        nor triangular.

    Notes
    -----
    W_ij = -2 w_ij, theta = 0.

    Examples
    --------
    >>> import networkx as nx
    >>> from mapreroot import Model
    >>> Model.from_maxcut(nx.path_graph(3), default=1).score([0, 1, 0])
    2.0
    """
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes"):
        labels, edges, w = _graph_edges(graph, weight, default)
        return np.zeros(len(labels)), edges, -2 * w, 0.0, labels
    matrix = _matrix(graph, "the adjacency matrix")
    if matrix.diagonal().any():
        i = int(np.flatnonzero(matrix.diagonal())[0])
        raise ModelError(f"the adjacency matrix has a self-loop at {i}")
    upper, lower = sp.triu(matrix, format="csr"), sp.tril(matrix, format="csr")
    if upper.nnz and lower.nnz:
        if abs(matrix - matrix.T).count_nonzero():
            raise ModelError("the adjacency matrix is neither symmetric nor triangular")
        matrix = upper
    part = matrix.tocoo()
    edges = np.stack([part.row, part.col], axis=1).astype(np.int64)
    n = matrix.shape[0]
    return np.zeros(n), edges, -2.0 * part.data, 0.0, tuple(range(n))


def from_tables(
    unary: npt.ArrayLike,
    edges: npt.ArrayLike,
    pairwise: npt.ArrayLike,
    constant: float = 0.0,
    labels: Iterable[Hashable] | None = None,
) -> tuple[Floats, Ints, Floats, float, Labels, list[tuple[int, ...]]]:
    """Read tables of log-potentials; -inf entries become hard constraints.

    Parameters
    ----------
    unary : array_like, shape (n, 2)
        In nats.
    edges : array_like of int, shape (m, 2)
    pairwise : array_like, shape (m, 2, 2)
        ``pairwise[e, a, b]`` belongs to the edge's first end at a, its second at b.
    constant : float
    labels : iterable of hashable, optional

    Raises
    ------
    ModelError
        For wrong shapes, NaN or +inf.
    InfeasibleError
        If the -inf entries contradict each other.

    Notes
    -----
    W_ij += T00 + T11 - T01 - T10, theta_i += (T10 - T00 + T11 - T01) / 2, theta_j alike with
    the table transposed, c += T00.

    Examples
    --------
    >>> from mapreroot import Model
    >>> model = Model.from_tables([[0, 1], [0, 0]], [(0, 1)], [[[0, 0], [0, float("-inf")]]])
    >>> model.forbidden, model.score([1, 1])
    (((0, 1, 1, 1),), -inf)
    """
    t = np.array(unary, dtype=np.float64)
    if t.size == 0:
        t = t.reshape(-1, 2)
    if t.ndim != 2 or t.shape[1] != 2:
        raise ModelError(f"unary has shape {t.shape}: expected (n, 2)")
    given = np.asarray(edges)
    pairs = np.zeros((0, 2), dtype=np.int64) if given.size == 0 else given
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ModelError(f"edges is {pairs.dtype} of shape {pairs.shape}: expected int (m, 2)")
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(t)):
        raise ModelError(
            f"edges hold indices {pairs.min()}..{pairs.max()}: expected 0..{len(t) - 1}"
        )
    T = np.array(pairwise, dtype=np.float64)
    T = T.reshape(0, 2, 2) if T.size == 0 else T
    if T.ndim != 3 or T.shape[1:] != (2, 2) or len(T) != len(pairs):
        raise ModelError(f"pairwise has shape {T.shape}: expected ({len(pairs)}, 2, 2)")
    for name, table in (("unary", t), ("pairwise", T)):
        bad = np.argwhere(np.isnan(table) | (table == np.inf))
        if len(bad):
            place = tuple(bad[0].tolist())
            raise ModelError(f"{name}{list(place)} is {table[place]}: expected a number or -inf")
    forbidden: list[tuple[int, ...]] = [(int(i), int(a)) for i, a in np.argwhere(np.isneginf(t))]
    for e, a, b in np.argwhere(np.isneginf(T)).tolist():
        forbidden.append((int(pairs[e, 0]), a, int(pairs[e, 1]), b))
    # A forbidden entry needs some finite number under the penalty. The row's neighbour that
    # makes the table additive where it can keeps hard constraints from inventing couplings.
    t = np.where(np.isfinite(t), t, np.where(np.isfinite(t[:, ::-1]), t[:, ::-1], 0.0))
    T = _fill(T)
    theta = t[:, 1] - t[:, 0]
    i, j = pairs[:, 0], pairs[:, 1]
    np.add.at(theta, i, (T[:, 1, 0] - T[:, 0, 0] + T[:, 1, 1] - T[:, 0, 1]) / 2)
    np.add.at(theta, j, (T[:, 0, 1] - T[:, 0, 0] + T[:, 1, 1] - T[:, 1, 0]) / 2)
    W = T[:, 0, 0] + T[:, 1, 1] - T[:, 0, 1] - T[:, 1, 0]
    c = _sum([float(constant), *t[:, 0].tolist(), *T[:, 0, 0].tolist()])
    return theta, pairs, W, c, None if labels is None else tuple(labels), forbidden


def _fill(T: Floats) -> Floats:
    """Replace -inf by finite entries: one alone so that W = 0, more by zeros or a neighbour."""
    T = T.copy()
    gone = ~np.isfinite(T)
    for e in np.flatnonzero(gone.any(axis=(1, 2))):
        holes = np.argwhere(gone[e])
        if len(holes) == 1:
            a, b = holes[0]
            T[e, a, b] = T[e, a, 1 - b] + T[e, 1 - a, b] - T[e, 1 - a, 1 - b]
        else:
            known = T[e][~gone[e]]
            T[e][gone[e]] = known.max() if len(known) else 0.0
    return T


def from_grid(
    theta: npt.ArrayLike,
    right: npt.ArrayLike,
    down: npt.ArrayLike,
    diagonals: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    constant: float = 0.0,
) -> Parts:
    """Read an image: a pixel is a variable, joined to its 4 neighbours, or 8 with diagonals.

    Parameters
    ----------
    theta : array_like, shape (h, w)
        What a pixel gains by the value 1, in nats.
    right : array_like, shape (h, w - 1)
        ``right[r, c]`` is W, in nats, between (r, c) and (r, c + 1): positive to keep them alike.
    down : array_like, shape (h - 1, w)
        Between (r, c) and (r + 1, c).
    diagonals : pair of array_like, both of shape (h - 1, w - 1), optional
        First between (r, c) and (r + 1, c + 1), then between (r, c + 1) and (r + 1, c).
    constant : float

    Raises
    ------
    ModelError
        For shapes that do not fit together, or (from `Model`) bad numbers.

    Notes
    -----
    The labels are (row, column). The variables are in reading order, so that the answer takes
    the image's shape back by ``solve(model).x.reshape(theta.shape)``, and so do marginals.
    O(h w); a million pixels take about a second.

    Examples
    --------
    >>> from mapreroot import Model
    >>> model = Model.from_grid([[1, -1], [1, -3]], right=[[4], [0]], down=[[0.5, 2]])
    >>> model.labels
    ((0, 0), (0, 1), (1, 0), (1, 1))
    >>> model.score([1, 0, 1, 0]), model.score([1, 1, 1, 0])
    (0.0, 0.0)
    """
    field = np.asarray(theta, dtype=np.float64)
    if field.ndim != 2:
        raise ModelError(f"theta has shape {field.shape}: expected an image, (h, w)")
    h, w = field.shape
    # To the right, down left, down, down right: each row's neighbours in ascending order.
    parts: list[tuple[str, npt.ArrayLike, int, tuple[slice, slice]]]
    parts = [("right", right, 0, np.s_[:, :-1]), ("down", down, 2, np.s_[:-1, :])]
    if diagonals is not None:
        falling, rising = diagonals
        parts.append(("diagonals[0]", falling, 3, np.s_[:-1, :-1]))
        parts.append(("diagonals[1]", rising, 1, np.s_[:-1, 1:]))
    W = np.zeros((h, w, 4))
    there = np.zeros((h, w, 4), dtype=np.bool_)
    for name, given, column, at in parts:
        part, place = np.asarray(given, dtype=np.float64), W[at][..., column]
        if part.shape != place.shape and (part.size or place.size):
            raise ModelError(
                f"{name} has shape {part.shape}: expected {place.shape} for an image of {h} x {w}"
            )
        place[...] = part.reshape(place.shape)
        there[at][..., column] = True
    here = np.arange(h * w).reshape(h, w, 1)
    other = here + np.array([1, w - 1, w, w + 1])
    edges = np.stack([np.broadcast_to(here, W.shape)[there], other[there]], axis=1)
    labels = tuple((r, c) for r in range(h) for c in range(w))
    return field.ravel(), edges, W[there], float(constant), labels


def from_networkx(
    graph: Any, theta: str = "theta", weight: str = "weight", default: float | None = None
) -> Parts:
    """Read an undirected graph: node attribute ``theta`` (0 if missing), edge weight W.

    Parameters
    ----------
    graph : networkx graph
        ``graph.graph["constant"]`` is the constant, if there. Parallel edges add up.
    theta, weight : str
        The attributes to read.
    default : float, optional
        For edges without the attribute; by default they are an error.

    Raises
    ------
    ModelError
        For a directed graph, a self-loop or a missing weight.

    Notes
    -----
    Weights are W of the paper, positive when attractive. A graph whose weights are to be cut is
    read by `from_maxcut`.

    Examples
    --------
    >>> from mapreroot import Model
    >>> model = Model([0.5, -1], [(0, 1)], [2], constant=3, labels="ab")
    >>> Model.from_networkx(model.to_networkx()) == model
    True
    """
    labels, edges, w = _graph_edges(graph, weight, default)
    field = np.array([float(data.get(theta, 0.0)) for _, data in graph.nodes(data=True)])
    return field, edges, w, float(graph.graph.get("constant", 0.0)), labels


def to_networkx(
    theta: Floats, edges: Ints, weights: Floats, constant: float, labels: Sequence[Hashable]
) -> nx.Graph[Any]:
    """Give a graph with node attribute theta, edge attribute weight and the graph's constant."""
    import networkx as nx

    graph: nx.Graph[Any] = nx.Graph(constant=constant)
    graph.add_nodes_from((a, {"theta": t}) for a, t in zip(labels, theta.tolist(), strict=True))
    graph.add_weighted_edges_from(
        (labels[i], labels[j], w)
        for (i, j), w in zip(edges.tolist(), weights.tolist(), strict=True)
    )
    return graph


def from_bqm(bqm: Any) -> Parts:
    """Read a dimod binary quadratic model: score = -energy.

    Parameters
    ----------
    bqm : object with ``linear``, ``quadratic``, ``offset`` and ``vartype.name``
        dimod itself is not needed. Variables keep their names and their order.

    Raises
    ------
    ModelError
        If the vartype is neither BINARY nor SPIN.
    """
    vartype = getattr(bqm.vartype, "name", bqm.vartype)
    linear = {label: float(value) for label, value in bqm.linear.items()}
    labels = tuple(linear)
    index = {label: k for k, label in enumerate(labels)}
    ends = [(index[u], index[v]) for u, v in bqm.quadratic]
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)
    q = np.array([float(value) for value in bqm.quadratic.values()])
    h = np.array(list(linear.values()))
    offset = float(bqm.offset)
    if vartype == "BINARY":
        theta = -h
        np.add.at(theta, edges.ravel(), np.repeat(-q, 2) / 2)
        return theta, edges, -q, _plus_zero(-offset), labels
    if vartype == "SPIN":
        c = _sum([*h.tolist(), *(-q).tolist(), -offset])
        return -2 * h, edges, -4 * q, c, labels
    raise ModelError(f"the model's vartype is {vartype!r}: expected BINARY or SPIN")


def to_bqm(
    theta: Floats,
    edges: Ints,
    weights: Floats,
    constant: float,
    labels: Sequence[Hashable],
    vartype: str = "BINARY",
) -> Any:
    """Give a dimod model whose energy is -score, in the vartype asked for (needs dimod)."""
    try:
        import dimod
    except ImportError as error:
        raise ImportError("to_bqm needs dimod: pip install 'mapreroot[dimod]'") from error
    bqm = dimod.BinaryQuadraticModel(vartype)
    if vartype == "BINARY":
        Q, offset = to_qubo(theta, edges, weights, constant, labels)
        bqm.add_linear_from({a: q for (a, b), q in Q.items() if a == b})
        bqm.add_quadratic_from({(a, b): q for (a, b), q in Q.items() if a != b})
    else:
        h, J, offset = to_ising(theta, edges, weights, constant, labels)
        bqm.add_linear_from(h)
        bqm.add_quadratic_from(J)
    bqm.offset = offset
    return bqm


def _pairs(M: Any, name: str) -> tuple[tuple[Hashable, ...], Ints, Ints, Floats]:
    """Take a matrix or a dict of pairs apart: labels, rows, columns, float64 values."""
    if isinstance(M, Mapping):
        for key in M:
            if not (isinstance(key, tuple) and len(key) == 2):
                raise ModelError(f"{name} has key {key!r}: expected a pair (i, j)")
        labels = _in_order([label for key in M for label in key])
        index = {label: k for k, label in enumerate(labels)}
        i = np.array([index[a] for a, _ in M], dtype=np.int64)
        j = np.array([index[b] for _, b in M], dtype=np.int64)
        values = np.array([_number(value, name, key) for key, value in M.items()])
        return labels, i, j, values.reshape(len(i))
    matrix = _matrix(M, name).tocoo()
    labels = tuple(range(matrix.shape[0]))
    i, j = matrix.row.astype(np.int64), matrix.col.astype(np.int64)
    return labels, i, j, np.asarray(matrix.data)


def _matrix(M: Any, name: str) -> sp.csr_array:
    if sp.issparse(M):
        M = sp.coo_array(M)
        if M.ndim != 2 or M.shape[0] != M.shape[1]:
            raise ModelError(f"{name} has shape {M.shape}: expected a square matrix")
        # Cast before duplicates are summed: a small integer type would wrap around.
        entries = M.data.astype(np.float64), (M.row, M.col)
        return sp.csr_array(sp.coo_array(entries, shape=M.shape))
    try:
        dense = np.asarray(M, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be a matrix of real numbers: {error}") from None
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise ModelError(f"{name} has shape {dense.shape}: expected a square matrix")
    return sp.csr_array(dense)


def _graph_edges(
    graph: Any, weight: str, default: float | None
) -> tuple[tuple[Hashable, ...], Ints, Floats]:
    if graph.is_directed():
        raise ModelError("the graph is directed: give an undirected one, each pair once")
    labels = tuple(graph.nodes)
    index = {label: k for k, label in enumerate(labels)}
    ends, values = [], []
    for u, v, data in graph.edges(data=True):
        if u == v:
            raise ModelError(f"the graph has a self-loop at {u!r}")
        value = data.get(weight, default)
        if value is None:
            raise ModelError(
                f"edge ({u!r}, {v!r}) has no weight {weight!r}: set it, or pass default="
            )
        ends.append((index[u], index[v]))
        values.append(_number(value, weight, (u, v)))
    return labels, np.array(ends, dtype=np.int64).reshape(-1, 2), np.array(values, dtype=np.float64)


def _in_order(labels: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Distinct labels in order of appearance; all-integer ones ascending."""
    distinct = list(dict.fromkeys(labels))
    if all(isinstance(label, (int, np.integer)) for label in distinct):
        return tuple(sorted(distinct))  # type: ignore[type-var]
    return tuple(distinct)


def _number(value: Any, name: str, key: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name}[{key!r}] is {value!r}: expected a real number") from error


def _sum(terms: Iterable[float]) -> float:
    """Correctly rounded sum; NaN and overflow are left for `Model` to name."""
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):
        return math.inf


def _plus_zero(value: float) -> float:
    return value + 0.0
