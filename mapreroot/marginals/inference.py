"""log Z and marginals of a model, by any method, at any root: the public face."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.marginals.bethe import bethe
from mapreroot.marginals.exact import exact_log_partition, exact_marginals
from mapreroot.marginals.guarantees import guarantees
from mapreroot.marginals.mean_field import mean_field
from mapreroot.marginals.messages import Beliefs
from mapreroot.marginals.trw import trw
from mapreroot.model import TOL, Model, UprootedModel
from mapreroot.notebook import grid_shape, image, names, table
from mapreroot.rerooting import restore_marginals, uproot
from mapreroot.roots import inference_roots, max_tw, max_w
from mapreroot.trees import find_cycle
from mapreroot.trees.forest import forest_log_partition, forest_marginals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LogPartition", "Marginals", "approximate", "log_partition", "marginals"]

Floats = npt.NDArray[np.float64]
Method = Literal["exact", "bethe", "trw", "mean_field"]
Root = int | Literal["auto", "max_w", "max_tw", "uprooted"] | None

METHODS = ("exact", "bethe", "trw", "mean_field")
MEMORY = 2e9
"""Bytes that the tables of an exact method may take."""


@dataclass(frozen=True, eq=False)
class LogPartition:
    """What a method says of log Z.

    Attributes
    ----------
    value : float
        log Z of the user's model in nats, constant included.
    converged : bool
        False when an approximate method stopped at its iteration limit.
    lower, upper : float or None
        Bounds on the true log Z that the method vouches for (`mapreroot.marginals.guarantees`);
        None when it has none.
    root : int, "uprooted" or None
        The vertex of M+ conditioned on; None where every table had its own root.
    method : str
        The algorithm that gave the value: for Bethe "belief propagation", which is not damped,
        or the "double loop", which is.
    iterations : int
        Sweeps over the variables by the run that gave the value; 0 for an exact method.
    """

    value: float
    converged: bool
    lower: float | None
    upper: float | None
    root: Root
    method: str
    iterations: int = 0

    def _repr_html_(self) -> str:
        return table(
            "log Z, in nats",
            {
                "value": self.value,
                "lower bound": self.lower,
                "upper bound": self.upper,
                "method": self.method,
                "root": self.root,
                "stopped early": None if self.converged else "yes",
            },
        )


@dataclass(frozen=True, eq=False)
class Marginals:
    """Single and pair marginals of the user's model.

    Attributes
    ----------
    p : ndarray, shape (n,)
        p(x_i = 1).
    pair : ndarray, shape (m, 2, 2)
        p(x_i = a, x_j = b) for the edges (i, j) of the model.
    pair_consistent : bool
        False when an entry of ``pair``, mapped back from another root, is negative: approximate
        beliefs on the three pairs of a triangle need not fit together.
    converged : bool
    root : int, "uprooted" or None
    method : str
        As in `LogPartition`.
    labels : tuple
        The names of the variables.
    iterations : int
        As in `LogPartition`.
    """

    p: Floats
    pair: Floats
    pair_consistent: bool
    converged: bool
    root: Root
    method: str
    labels: tuple[Hashable, ...]
    iterations: int = 0

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw p(x_i = 1) of each variable: `mapreroot.report.answers.probabilities`."""
        from mapreroot.report.answers import probabilities

        return probabilities(self, ax)

    def _repr_html_(self) -> str:
        shape = grid_shape(self.labels)
        pixels = [image(self.p.reshape(shape), "p(x = 1)")] if shape else []
        return table(
            "Marginals",
            {
                "p(x = 1)": None
                if shape
                else names(range(len(self.p)), lambda i: f"{self.labels[i]}: {self.p[i]:.4g}"),
                "method": self.method,
                "root": self.root,
                "pairs fit together": None if self.pair_consistent else "no",
                "stopped early": None if self.converged else "yes",
            },
            *pixels,
        )


def log_partition(
    model: Model,
    method: Method = "exact",
    root: Root = None,
    *,
    memory: float = MEMORY,
    steps: int = 0,
) -> LogPartition:
    """Log Z, the log of the sum of exp(score(x)) over all assignments.

    Parameters
    ----------
    model : Model
    method : {"exact", "bethe", "trw", "mean_field"}
        Elimination; the best stationary point of the Bethe free energy; the tree-reweighted
        upper bound, with the edge appearances of the uniform spanning tree; naive mean field, a
        lower bound. The approximate ones depend on the root.
    root : int or {"auto", "max_w", "max_tw", "uprooted"}, optional
        A vertex of M+ (0 is the model as it is); the vertex with the largest sum_j |W_ij| or
        sum_j tanh(|W_ij| / 4); or M+ itself, its log 2 taken off. "auto", the default:

        1. "exact" needs no root: each table has its own.
        2. "bethe" and "trw": the lowest vertex at which the rooted model is a forest, if there
           is one; they are exact there.
        3. "trw" and "mean_field": vertex 0, or the vertex beside it with the largest
           sum_j |W_ij|: both are run, and the better bound stands.
        4. "bethe": the vertex with the largest sum_j |W_ij|, where the sum of vertex 0 counts for
           a fifth.

        These won a study on the models of section 6 (`mapreroot.roots.inference_roots`).
    memory : float
        Bytes that the tables of "exact" may take.
    steps : int
        For "trw": conditional-gradient steps that lower the bound by moving the appearances.

    Returns
    -------
    LogPartition

    Raises
    ------
    ModelError
        For an unknown method or root.
    SizeError
        If "exact" needs more memory; the message forecasts treewidth and memory.

    Notes
    -----
    Weller (2016), section 4.2. All methods are deterministic.

    Examples
    --------
    >>> model = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0])
    >>> round(log_partition(model).value, 6)
    3.835883
    >>> round(log_partition(model, "bethe", root=0).value, 2)  # a frustrated cycle
    3.94
    >>> round(log_partition(model, "bethe", root=1).value, 6)  # a tree
    3.835883
    """
    _check_method(method)
    if method != "exact":
        uprooted = uproot(model)
        vertex, found = _best(uprooted, root, method, steps)
        value = found.log_z + model.constant
        lower, upper = (
            None if bound is None else bound + model.constant
            for bound in guarantees(_rooted(uprooted, vertex), method, found)
        )
        return LogPartition(
            value, found.converged, lower, upper, vertex, found.method, found.iterations
        )
    own = root in (None, "auto", "uprooted")
    if own and _is_forest(model):
        value = forest_log_partition(model.theta, model.edges, model.weights) + model.constant
        return LogPartition(value, True, value, value, 0, "forest")
    uprooted = uproot(model)
    given = None if own else _as_int(_vertex(uprooted, root))
    value = exact_log_partition(uprooted, given, memory) - math.log(2)
    return LogPartition(value, True, value, value, given, "elimination")


def marginals(
    model: Model,
    method: Method = "exact",
    root: Root = None,
    *,
    memory: float = MEMORY,
    steps: int = 0,
) -> Marginals:
    """Single and pair marginals of p(x) = exp(score(x)) / Z.

    Parameters and errors are those of `log_partition`.

    Returns
    -------
    Marginals

    Notes
    -----
    Answers at another root are mapped back by Lemma 2, which asks for p_r(y_j != y_0). Where M_r
    has no edge (0, j), "exact" computes it, and the approximate methods take y_0 and y_j to be
    independent.

    Examples
    --------
    >>> result = marginals(Model([0.0, 1.0], [(0, 1)], [2.0]))
    >>> result.p.round(4).tolist()
    [0.6068, 0.7311]
    >>> result.pair[0].round(3).tolist()
    [[0.197, 0.197], [0.072, 0.534]]
    """
    _check_method(method)
    if method != "exact":
        uprooted = uproot(model)
        vertex, found = _best(uprooted, root, method, steps)
        pair = found.pair
        consistent = bool(pair.min(initial=0.0) >= -TOL)
        if consistent:
            pair = np.maximum(pair, 0.0)
        return Marginals(
            found.p, pair, consistent, found.converged, vertex, found.method, model.labels,
            found.iterations,
        )  # fmt: skip
    own = root in (None, "auto", "uprooted")
    if own and _is_forest(model):
        p, pair = forest_marginals(model.theta, model.edges, model.weights)
        return Marginals(p, pair, True, True, 0, "forest", model.labels)
    uprooted = uproot(model)
    given = 0 if own else _as_int(_vertex(uprooted, root))
    _, p, pair = exact_marginals(uprooted, given, memory)
    inner = pair[uprooted.edges[:, 0] != 0]
    return Marginals(p[1:], inner, True, True, given, "elimination", model.labels)


def approximate(
    uprooted: UprootedModel, vertex: int | Literal["uprooted"], method: str, steps: int = 0
) -> Beliefs:
    """Run an approximate method at one root, and map what it says back to the user's model.

    Parameters
    ----------
    uprooted : UprootedModel
    vertex : int or "uprooted"
    method : {"bethe", "trw", "mean_field"}
    steps : int
        As in `log_partition`.

    Returns
    -------
    Beliefs
        log Z of M without the constant, and beliefs in the variables and edges of M. Pair
        beliefs are those of the method at root 0, elsewhere what p and p(x_i != x_j) imply.
    """
    rooted = _rooted(uprooted, vertex)
    given = rooted.theta, rooted.edges, rooted.weights
    if method == "bethe":
        found = bethe(*given)
    elif method == "trw":
        found = trw(*given, steps=steps)
    else:
        found = mean_field(*given)
    p, pair = _restored(uprooted, vertex, found)
    log_z = found.log_z - (math.log(2) if vertex == "uprooted" else 0.0)
    return replace(found, log_z=log_z, p=p, pair=pair)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ModelError(f"method is {method!r}: expected one of {', '.join(METHODS)}")


def _best(
    uprooted: UprootedModel, root: Root, method: Literal["bethe", "trw", "mean_field"], steps: int
) -> tuple[int | Literal["uprooted"], Beliefs]:
    """Run at the root asked for; "auto" may try several, and keeps the better bound."""
    if root is None or root == "auto":
        vertices = inference_roots(uprooted, method)
        tried = [(vertex, approximate(uprooted, vertex, method, steps)) for vertex in vertices]
        better = max if method == "mean_field" else min
        return better(tried, key=lambda entry: entry[1].log_z)
    vertex = _vertex(uprooted, root)
    return vertex, approximate(uprooted, vertex, method, steps)


def _vertex(uprooted: UprootedModel, root: Root) -> int | Literal["uprooted"]:
    if root == "uprooted":
        return "uprooted"
    if root == "max_w":
        return max_w(uprooted)
    if root == "max_tw":
        return max_tw(uprooted)
    if isinstance(root, (int, np.integer)) and 0 <= root < uprooted.n_vertices:
        return int(root)
    raise ModelError(
        f"root is {root!r}: expected a vertex 0..{uprooted.n_vertices - 1}, 'auto', 'max_w', "
        "'max_tw' or 'uprooted'"
    )


def _as_int(vertex: int | Literal["uprooted"]) -> int:
    assert isinstance(vertex, int)
    return vertex


def _is_forest(model: Model) -> bool:
    return model.m < max(model.n, 1) and find_cycle(model.n, model.edges) is None


def _rooted(uprooted: UprootedModel, vertex: int | Literal["uprooted"]) -> Model:
    if vertex == "uprooted":
        return Model(np.zeros(uprooted.n_vertices), uprooted.edges, uprooted.weights)
    return uprooted.reroot(vertex)


def _restored(
    uprooted: UprootedModel, vertex: int | Literal["uprooted"], beliefs: Beliefs
) -> tuple[Floats, Floats]:
    """Single and pair beliefs of the user's model from those at another root."""
    i, j = uprooted.edges.T
    inner = i != 0
    if vertex == 0:
        return beliefs.p, beliefs.pair
    differ = np.empty(uprooted.m)
    if vertex == "uprooted":
        q = beliefs.p
        differ[:] = beliefs.pair[:, 0, 1] + beliefs.pair[:, 1, 0]
    else:
        q = np.insert(beliefs.p, vertex, 0.0)
        at_root = (i == vertex) | (j == vertex)
        differ[at_root] = q[i[at_root] + j[at_root] - vertex]
        differ[~at_root] = beliefs.pair[:, 0, 1] + beliefs.pair[:, 1, 0]
    from_0 = q * (1 - q[0]) + q[0] * (1 - q)
    from_0[j[~inner]] = differ[~inner]
    if vertex == "uprooted":
        p = from_0[1:]
    else:
        p = restore_marginals(beliefs.p, np.delete(from_0, vertex), vertex)
    pi, pj, d = p[i[inner] - 1], p[j[inner] - 1], differ[inner]
    pair = np.empty((len(d), 2, 2))
    pair[:, 0, 0], pair[:, 0, 1] = 1 - (pi + pj + d) / 2, (d + pj - pi) / 2
    pair[:, 1, 0], pair[:, 1, 1] = (d + pi - pj) / 2, (pi + pj - d) / 2
    return p, pair
