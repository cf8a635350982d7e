"""Many assignments made one: contract what they agree on, and solve what is left.

Where several good assignments give an edge the same relation, it is most likely right. Tied along
these edges, M+ becomes a small model of clusters which still holds every one of the assignments,
and whose single flips move whole domains. It is reduced exactly and annealed afresh, again several
times, and so on down: Houdayer and Martin (1999), "Renormalization for discrete optimization".
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mapreroot.decomposition import reduce
from mapreroot.exact.local_search.annealing import walk
from mapreroot.exact.local_search.ascent import ascend
from mapreroot.exact.local_search.combining import combine_into
from mapreroot.exact.local_search.graph import Graph, State, gains, graph_of, random
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["REPLICAS", "merge"]

Bits = NDArray[np.int8]
Ids = NDArray[np.int32]

REPLICAS = 8
"""Walks that are merged at a time: 4 leave more errors in common, 16 agree on too little."""

# A contracted model larger than this share is no easier: the assignments are merged in pairs.
_SMALLER = 0.3
# Sweeps of the walks on a contracted model.
_SWEEPS = 300


@njit(cache=True)
def _clusters(graph: Graph, pattern: NDArray[np.uint16], all_differ: int) -> tuple[Ids, int]:
    """Give each part that is connected by edges on which all agree a number.

    Bit k of a vertex's pattern is its value in assignment k.
    """
    n = len(pattern)
    cluster = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    count = 0
    for seed in range(n):
        if cluster[seed] >= 0:
            continue
        cluster[seed] = count
        stack[0] = seed
        size = 1
        while size:
            size -= 1
            v = stack[size]
            for e in range(graph.start[v], graph.start[v + 1]):
                u = graph.neighbour[e]
                relation = pattern[u] ^ pattern[v]
                if cluster[u] < 0 and (relation == 0 or relation == all_differ):
                    cluster[u] = count
                    stack[size] = u
                    size += 1
        count += 1
    return cluster, count


@njit(cache=True)
def _anywhere(n: int, state: State) -> Bits:
    y = np.empty(n, np.int8)
    for v in range(n):
        y[v] = random(state) < 0.5
    return y


def _contracted(uprooted: UprootedModel, graph: Graph, ys: list[Bits]) -> tuple[UprootedModel, Ids]:
    """M+ in c, where y = ys[0] XOR c of the cluster; up to a constant."""
    pattern = np.zeros(uprooted.n_vertices, np.uint16)
    for k, y in enumerate(ys):
        pattern |= y.astype(np.uint16) << np.uint16(k)
    cluster, count = _clusters(graph, pattern, 2 ** len(ys) - 1)
    ends = cluster[uprooted.edges]
    between = ends[:, 0] != ends[:, 1]
    i, j = uprooted.edges[between].T
    W = uprooted.weights[between]
    W = np.where(ys[0][i] != ys[0][j], -W, W)
    return UprootedModel(count, ends[between], W), cluster


def merge(
    uprooted: UprootedModel, graph: Graph, ys: list[Bits], state: State, limits: Limits
) -> Bits:
    """Find an assignment at least as good as each of those given, up to 16."""
    best = max(ys, key=uprooted.score)
    small, cluster = _contracted(uprooted, graph, ys)
    if small.n_vertices > _SMALLER * uprooted.n_vertices:
        for y in ys:
            best = combine_into(uprooted, graph, best, y)
        return best
    y = ys[0] ^ _solve(small, state, limits)[cluster]
    ascend(graph, y, gains(graph, y))
    return y if uprooted.score(y) > uprooted.score(best) else best


def _solve(uprooted: UprootedModel, state: State, limits: Limits) -> Bits:
    """Reduce, then merge walks that begin anywhere."""
    way = reduce(uprooted)
    kernel = way.kernel
    n = kernel.n_vertices
    if not n or limits.reason() is not None:
        return way.restore(np.zeros(n, np.int8))
    graph = graph_of(kernel)
    ys = []
    for _ in range(REPLICAS):
        ys.append(walk(graph, _anywhere(n, state), _SWEEPS, 1.0, state, limits))
    return way.restore(merge(kernel, graph, ys, state, limits))
