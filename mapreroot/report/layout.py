"""Where the vertices of a signed graph are drawn: the same model, the same picture."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from mapreroot.model import Model, UprootedModel

__all__ = ["place"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_ROUNDS = 200  # stress hardly moves after that many


def place(model: Model | UprootedModel) -> Floats:
    """Place the vertices of a model's graph in the unit square.

    Parameters
    ----------
    model : Model or UprootedModel

    Returns
    -------
    ndarray, shape (number of vertices, 2)
        x to the right and y upwards, both in [0, 1].

    Notes
    -----
    Labels that are pairs of integers, as those of `Model.from_grid`, are rows and columns.
    Otherwise a sparse graph is drawn so that distances on the page follow those in the graph
    (stress majorisation from classical scaling: Gansner, Koren and North 2004), and a dense one
    on a circle. The added vertex of an `UprootedModel`, which every field is tied to, would pull
    all others together: it does not count, and stands above them. O(N^3).

    Examples
    --------
    >>> place(Model.from_grid([[0, 0], [0, 0]], [[1], [1]], [[1, 1]])).tolist()
    [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    """
    if isinstance(model, Model):
        return _unit(_variables(model.n, model.edges, model.labels))
    if model.n_vertices == 0:
        return np.zeros((0, 2))
    own = (model.edges != 0).all(axis=1)
    rest = _unit(_variables(model.n_vertices - 1, model.edges[own] - 1, model.labels[1:]))
    return _unit(np.vstack([[0.5, rest[:, 1].max(initial=0.5) + 0.25], rest]))


def _variables(n: int, edges: Ints, labels: Sequence[Hashable]) -> Floats:
    if n > 1 and _are_cells(labels):
        rows_and_columns = np.array(labels, dtype=np.float64)
        return np.stack([rows_and_columns[:, 1], -rows_and_columns[:, 0]], axis=1)
    if 4 * len(edges) > n * (n - 1):  # more than half of all pairs
        turn = np.pi / 2 - 2 * np.pi * (np.arange(n) + 0.5) / n
        return np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return _by_distance(_distances(n, edges))


def _are_cells(labels: Sequence[Hashable]) -> TypeGuard[Sequence[tuple[int, int]]]:
    return all(
        isinstance(label, tuple) and len(label) == 2 and all(isinstance(k, int) for k in label)
        for label in labels
    )


def _distances(n: int, edges: Ints) -> Floats:
    """Count the edges on shortest paths; components stand side by side."""
    graph = coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    distance: Floats = shortest_path(graph, directed=False, unweighted=True)
    width = np.where(np.isfinite(distance), distance, 0.0).max(axis=1, initial=0.0)
    apart = 1.0 + (width[:, None] + width[None]) / 2
    known: Floats = np.where(np.isfinite(distance), distance, apart)
    return known


def _by_distance(distance: Floats) -> Floats:
    """Minimise the stress, sum over pairs of (|p_i - p_j| - D_ij)^2 / D_ij^2."""
    n = len(distance)
    if n < 3:
        return np.stack([np.arange(n, dtype=np.float64), np.zeros(n)], axis=1)
    points = _scaled(distance)
    weight = np.zeros_like(distance)
    off = ~np.eye(n, dtype=bool)
    weight[off] = distance[off] ** -2.0
    pull = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        ratio = np.divide(weight * distance, apart, out=np.zeros_like(apart), where=apart > 1e-9)
        points = pull @ (ratio.sum(axis=1)[:, None] * points - ratio @ points)
    centred: Floats = points - points.mean(axis=0)
    return centred


def _scaled(distance: Floats) -> Floats:
    """Project the distances to two dimensions (classical scaling), with a sign of its own."""
    n = len(distance)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
    points: Floats = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0.0))
    # An eigenvector comes with either sign: the first vertex that is off the axis decides.
    for axis in points.T:
        off = np.flatnonzero(np.abs(axis) > 1e-6 * np.abs(axis).max(initial=0.0))
        if len(off) and axis[off[0]] > 0:
            axis *= -1
    # Vertices with the same distances to all others would never come apart.
    spread: Floats = np.stack([np.cos(np.arange(n)), np.sin(np.arange(n))], axis=1)
    return points + 1e-2 * spread


def _unit(points: Floats) -> Floats:
    """Scale to the unit square, keeping proportions, and centre."""
    if not len(points):
        return points
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max()) or 1.0
    scaled: Floats = (points - (low + high) / 2) / size + 0.5
    return scaled
