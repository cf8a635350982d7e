"""Simulated annealing: Metropolis sweeps of single flips, each vertex at a temperature of its own.

A vertex's temperature is a multiple of the root of the sum of its squared weights: what its field
is in a random assignment. So vertices with large weights, or many, freeze together with the others,
and no model needs a schedule of its own.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.exact.local_search.ascent import ascend
from mapreroot.exact.local_search.combining import combine_into
from mapreroot.exact.local_search.graph import (
    CHUNK,
    Graph,
    State,
    gains,
    graph_of,
    random_state,
    start_at,
)
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["anneal", "walk"]

Bits = NDArray[np.int8]
Floats = NDArray[np.float64]

# Where walks begin and end, as multiples of a vertex's typical field. Straight down from .4 or .5
# to .04 beat .6, 1.2 and .02, .1, geometric and harmonic schedules, and a common temperature: on
# 2D and 3D tori (+-1 and Gaussian), grids with fields, random, dense and planar graphs, hubs, and
# weights over six decades (by .1 to 2 % of the score at 100 to 1000 sweeps).
_HOT, _COLD = 0.45, 0.04
# Minus the logarithm of a uniform number, at the middles of as many equal parts of (0, 1).
_BITS = 12
_EXPONENTIAL = -np.log((np.arange(2**_BITS) + 0.5) / 2**_BITS)


@njit(cache=True)
def _scales(graph: Graph) -> Floats:
    """Root of the sum of the squares of the halved weights at each vertex."""
    scale = np.zeros(len(graph.start) - 1)
    for v in range(len(scale)):
        largest = 0.0
        for e in range(graph.start[v], graph.start[v + 1]):
            largest = max(largest, abs(graph.weight[e]))
        for e in range(graph.start[v], graph.start[v + 1]):
            scale[v] += (graph.weight[e] / largest) ** 2
        scale[v] = largest * np.sqrt(scale[v]) / 2
    return scale


@njit(cache=True)
def _sweep(
    graph: Graph,
    spin: Bits,
    field: Floats,
    scale: Floats,
    temperatures: Floats,
    exponential: Floats,
    state: State,
) -> None:
    """One Metropolis sweep over all vertices, in order, at each temperature.

    ``field_v`` is half the sum of W_uv spin_u: a flip gains -spin_v field_v, and what it does to
    its neighbours' fields does not depend on their spins.
    """
    x = state[0]
    least = exponential[0]
    shift = np.uint64(64 - _BITS)
    for T in temperatures:
        for v in range(len(spin)):
            gain = -spin[v] * field[v]
            t = T * scale[v]
            # Nearly all flips are refused in the end, and most need no random number for it.
            if gain > -least * t:
                x ^= x << np.uint64(13)  # xorshift64 (Marsaglia 2003)
                x ^= x >> np.uint64(7)
                x ^= x << np.uint64(17)
                if gain + t * exponential[x >> shift] > 0:
                    change = -float(spin[v])
                    spin[v] = -spin[v]
                    for e in range(graph.start[v], graph.start[v + 1]):
                        field[graph.neighbour[e]] += change * graph.weight[e]
    state[0] = x


def walk(graph: Graph, y: Bits, sweeps: int, heat: float, state: State, limits: Limits) -> Bits:
    """Cool from y, then ascend: the kernel's frame, without regard for where it began."""
    spin = 2 * y - 1
    field = -spin * gains(graph, y)
    scale = _scales(graph)
    ladder = np.linspace(heat * _HOT, min(heat * _HOT, _COLD), sweeps)
    chunk = max(1, CHUNK // (len(y) + len(graph.weight)))
    for at in range(0, sweeps, chunk):
        if limits.reason() is not None:
            break
        _sweep(graph, spin, field, scale, ladder[at : at + chunk], _EXPONENTIAL, state)
    z = (spin > 0).astype(np.int8)
    ascend(graph, z, gains(graph, z))
    return z


def anneal(
    uprooted: UprootedModel,
    seed: int = 0,
    limits: Limits | None = None,
    initial: ArrayLike | None = None,
    sweeps: int = 200,
    heat: float = 1.0,
) -> Bits:
    """Cool one random walk of single flips.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    seed : int
        Fixes the answer, unless the time limit comes first.
    limits : Limits, optional
        Asked about every 30 ms; when time runs out the walk ends in an ascent.
    initial : array_like, optional
        An assignment to begin with; by default a greedy one.
    sweeps : int
        Visits of every vertex: better answers for more time.
    heat : float
        Where to begin: 1 forgets the initial assignment, less keeps the more of it.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        Where the walk ended, whole or in parts, and the initial values elsewhere (see `combine`);
        never worse than those.

    Raises
    ------
    ModelError
        If initial is not one 0 or 1 for each vertex.

    Notes
    -----
    O(sweeps (n + m)). Kirkpatrick, Gelatt and Vecchi (1983), Metropolis rule, linear cooling.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(anneal(triangle, seed=1))
    2.0
    """
    limits = limits or Limits()
    graph = graph_of(uprooted)
    best = start_at(uprooted, graph, initial)
    y = walk(graph, best, sweeps, heat, random_state(seed), limits)
    return combine_into(uprooted, graph, best, y)
