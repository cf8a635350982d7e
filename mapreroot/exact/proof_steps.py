"""What is done to models in floats, done again on exact graphs, and written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.graph import ExactGraph, size_of
from mapreroot.certificates.make import Argument, flow_argument
from mapreroot.decomposition import Step, reduce
from mapreroot.model import UprootedModel
from mapreroot.relaxations.roof_duality import best_loc_root

__all__ = ["Steps", "balanced_flow", "fixed", "floats", "heaviest_flow", "part", "reduced"]

Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int8]
Steps = list[list[Any]]


def floats(graph: ExactGraph, scale: int) -> tuple[UprootedModel, Ints]:
    """Give the vertices that have edges as a model in floats, and their names, ascending."""
    edges = list(graph.edges())
    ends = np.array([(u, v) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)
    names, local = np.unique(ends, return_inverse=True)
    weights = [float(w / scale) for _, _, w in edges]
    constant = float(graph.constant / (2 * scale))
    return UprootedModel(len(names), local.reshape(-1, 2), weights, constant), names


def reduced(graph: ExactGraph, scale: int) -> Steps:
    """Do on the exact graph what `reduce` does in floats."""
    model, names = floats(graph, scale)
    steps: Steps = []
    for kind, u, a, _, _ in reduce(model).steps.tolist():
        vertex = int(names[u])
        if kind == Step.TIED:
            other, flip = int(names[a >> 1]), a & 1
            steps.append(["tie", vertex, other, flip])
            graph.unite(vertex, other, flip)
        elif kind == Step.DROPPED:
            steps.append(["ignore", vertex, int(names[a >> 1])])
            graph.ignore(vertex, int(names[a >> 1]))
        else:
            steps += _ignored_beyond_three(graph, vertex)
            steps.append(["drop", vertex])
            graph.drop(vertex)
    return steps


def _ignored_beyond_three(graph: ExactGraph, u: int) -> Steps:
    """Ignore the lightest edges of a vertex, which vanished in floats, down to degree 3."""
    edges = sorted(graph.weight[u].items(), key=lambda edge: size_of(edge[1]))
    steps: Steps = []
    for v, _ in edges[: max(0, len(edges) - 3)]:
        steps.append(["ignore", u, v])
        graph.ignore(u, v)
    return steps


def fixed(graph: ExactGraph, model: UprootedModel, names: Ints) -> Steps:
    """Fix what roof duality ties to the best root, with a flow that proves it."""
    root, dual, _ = best_loc_root(model)
    tied = np.flatnonzero(dual.strong >= 0)
    values = {int(names[v]): int(dual.strong[v]) for v in tied if v != root}
    if not values:
        return []
    home = int(names[root])
    proof = flow_argument(graph.around(home, values), home)
    for u, a in values.items():
        graph.unite(u, home, a)
    return [["fix", home, [[u, a] for u, a in values.items()], proof]]


def balanced_flow(graph: ExactGraph, names: Ints, root: int, flips: Bits) -> Argument:
    """Bound a graph that is balanced at a root, by one flow."""
    switching = np.zeros(graph.n, dtype=np.int8)
    switching[names] = flips
    return flow_argument(graph, int(names[root]), switching)


def heaviest_flow(graph: ExactGraph, model: UprootedModel, names: Ints) -> Argument:
    """Bound by LOC at the heaviest vertex, which takes one flow."""
    ends, sizes = model.edges.ravel(), np.repeat(np.abs(model.weights), 2)
    return flow_argument(graph, int(names[np.bincount(ends, sizes).argmax()]))


def part(graph: ExactGraph, inside: Sequence[int]) -> ExactGraph:
    """Give the edges inside a set of vertices as a graph of their own."""
    piece = ExactGraph(graph.n, 0)
    members = set(inside)
    for u in inside:
        for v, w in graph.weight[u].items():
            if u < v and v in members:
                piece.add(u, v, w)
    return piece
