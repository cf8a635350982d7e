"""log Z and marginals of a model, by any method, at any root: the public face."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.marginals.exact import exact_log_partition, exact_marginals
from mapreroot.model import Model
from mapreroot.rerooting import uproot
from mapreroot.trees import find_cycle
from mapreroot.trees.forest import forest_log_partition, forest_marginals

__all__ = ["LogPartition", "Marginals", "log_partition", "marginals"]

Floats = npt.NDArray[np.float64]
Method = Literal["exact"]
Root = int | str | None

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
        Bounds on the true log Z that the method vouches for; None when it has none.
    root : int or None
        The vertex of M+ conditioned on; None where every table had its own root.
    method : str
        The algorithm that gave the value.
    """

    value: float
    converged: bool
    lower: float | None
    upper: float | None
    root: Root
    method: str


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
        False when an entry of ``pair``, mapped back from another root, is negative.
    converged : bool
    root : int or None
    method : str
        As in `LogPartition`.
    """

    p: Floats
    pair: Floats
    pair_consistent: bool
    converged: bool
    root: Root
    method: str


def log_partition(
    model: Model, method: Method = "exact", root: Root = None, *, memory: float = MEMORY
) -> LogPartition:
    """Log Z, the log of the sum of exp(score(x)) over all assignments.

    Parameters
    ----------
    model : Model
    method : {"exact"}
    root : int or "auto" or "uprooted", optional
        A vertex of M+ (0 is the model as it is). Every root has the same log Z; by default each
        table is rooted where it is smallest.
    memory : float
        Bytes that the tables may take.

    Returns
    -------
    LogPartition

    Raises
    ------
    ModelError
        For an unknown method or root.
    SizeError
        If the tables need more memory; the message forecasts treewidth and memory.

    Examples
    --------
    >>> model = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0])
    >>> round(log_partition(model).value, 6)
    3.835883
    """
    vertex = _vertex(model, method, root)
    if vertex is None and _is_forest(model):
        value = forest_log_partition(model.theta, model.edges, model.weights) + model.constant
        return LogPartition(value, True, value, value, 0, "forest")
    value = exact_log_partition(uproot(model), vertex, memory) - math.log(2)
    return LogPartition(value, True, value, value, vertex, "elimination")


def marginals(
    model: Model, method: Method = "exact", root: Root = None, *, memory: float = MEMORY
) -> Marginals:
    """Single and pair marginals of p(x) = exp(score(x)) / Z.

    Parameters and errors are those of `log_partition`.

    Returns
    -------
    Marginals

    Examples
    --------
    >>> result = marginals(Model([0.0, 1.0], [(0, 1)], [2.0]))
    >>> result.p.round(4).tolist()
    [0.6068, 0.7311]
    >>> result.pair[0].round(3).tolist()
    [[0.197, 0.197], [0.072, 0.534]]
    """
    vertex = _vertex(model, method, root)
    if vertex is None and _is_forest(model):
        p, pair = forest_marginals(model.theta, model.edges, model.weights)
        return Marginals(p, pair, True, True, 0, "forest")
    uprooted = uproot(model)
    _, p, pair = exact_marginals(uprooted, vertex or 0, memory)
    inner = uprooted.edges[:, 0] != 0
    return Marginals(p[1:], pair[inner], True, True, vertex or 0, "elimination")


def _vertex(model: Model, method: str, root: Root) -> int | None:
    if method != "exact":
        raise ModelError(f"method is {method!r}: expected 'exact'")
    if root is None or root == "auto" or root == "uprooted":
        return None
    if not isinstance(root, (int, np.integer)) or not 0 <= root <= model.n:
        raise ModelError(f"root is {root!r}: expected a vertex 0..{model.n}, 'auto' or 'uprooted'")
    return int(root)


def _is_forest(model: Model) -> bool:
    return model.m < max(model.n, 1) and find_cycle(model.n, model.edges) is None
