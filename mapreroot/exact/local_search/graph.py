"""M+ as flat arrays, and what the searches share: gains, flips, random numbers, the start.

The vector ``gain`` of the kernels holds what a flip of each vertex would add to phi,
``gain_v = 1/2 sum_u W_uv (+1 if y_u != y_v else -1)``; a flip updates it at its neighbours only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError
from mapreroot.model import UprootedModel

__all__ = [
    "CHUNK",
    "Graph",
    "flip",
    "gains",
    "graph_of",
    "greedy",
    "random",
    "random_state",
    "start_at",
]

Bits = NDArray[np.int8]
Ids = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
State = NDArray[np.uint64]

CHUNK = 10_000_000
"""Elementary steps (a vertex or an edge end visited) between two looks at the limits: 30 ms."""

# A gain below this share of the vertex's weighted degree is rounding: no ascent may run on it.
_ROUNDING = 1e-11


class Graph(NamedTuple):
    """Neighbours of v: ``neighbour[start[v]:start[v + 1]]``, and the weights beside them.

    Gains of v up to ``slack[v]`` are rounding.
    """

    start: Ints
    neighbour: Ids
    weight: Floats
    slack: Floats


@njit(cache=True)
def _adjacency(n: int, edges: Ints, weights: Floats) -> tuple[Ints, Ids, Floats, Floats]:
    start = np.zeros(n + 1, np.int64)
    for k in range(len(weights)):
        start[edges[k, 0] + 1] += 1
        start[edges[k, 1] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    at = start.copy()
    neighbour = np.empty(2 * len(weights), np.int32)
    weight = np.empty(2 * len(weights), np.float64)
    slack = np.zeros(n)
    for k in range(len(weights)):
        i, j = edges[k, 0], edges[k, 1]
        neighbour[at[i]], weight[at[i]] = j, weights[k]
        neighbour[at[j]], weight[at[j]] = i, weights[k]
        at[i] += 1
        at[j] += 1
        slack[i] += abs(weights[k]) * _ROUNDING
        slack[j] += abs(weights[k]) * _ROUNDING
    return start, neighbour, weight, slack


@njit(cache=True)
def gains(graph: Graph, y: Bits) -> Floats:
    """Compute what the flip of each vertex adds to phi(y)."""
    gain = np.zeros(len(y))
    for v in range(len(y)):
        for e in range(graph.start[v], graph.start[v + 1]):
            gain[v] += (2 * (y[graph.neighbour[e]] ^ y[v]) - 1) * graph.weight[e]
        gain[v] /= 2
    return gain


@njit(cache=True)
def greedy(graph: Graph) -> Bits:
    """Set one vertex after the other to what those before it ask for."""
    y = np.zeros(len(graph.start) - 1, np.int8)
    for v in range(len(y)):
        pull = 0.0
        for e in range(graph.start[v], graph.start[v + 1]):
            if graph.neighbour[e] < v:
                pull += (2 * y[graph.neighbour[e]] - 1) * graph.weight[e]
        y[v] = pull > 0
    return y


@njit(cache=True, inline="always")
def flip(graph: Graph, y: Bits, gain: Floats, v: int) -> None:
    """Flip v, and keep the gains right."""
    y[v] = 1 - y[v]
    gain[v] = -gain[v]
    for e in range(graph.start[v], graph.start[v + 1]):
        u = graph.neighbour[e]
        gain[u] += graph.weight[e] if y[u] != y[v] else -graph.weight[e]


@njit(cache=True, inline="always")
def random(state: State) -> float:
    """Return the next uniform number in [0, 1): xorshift64* (Vigna 2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0


def random_state(seed: int) -> State:
    """Where the random numbers of a seed begin."""
    # splitmix64's increment, so that seeds 0, 1, 2 begin far apart; zero would stay zero.
    word = (seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) % 2**64
    return np.array([word or 1], np.uint64)


def graph_of(uprooted: UprootedModel) -> Graph:
    """Lay M+ out for the kernels."""
    return Graph(*_adjacency(uprooted.n_vertices, uprooted.edges, uprooted.weights))


def start_at(uprooted: UprootedModel, graph: Graph, initial: ArrayLike | None) -> Bits:
    """Check a given start and copy it; by default be greedy."""
    if initial is None:
        y: Bits = greedy(graph)
        return y
    y = np.array(initial)
    if y.shape != (uprooted.n_vertices,) or not ((y == 0) | (y == 1)).all():
        raise ModelError(
            f"initial has shape {y.shape}: expected {uprooted.n_vertices} values, each 0 or 1"
        )
    return y.astype(np.int8)
