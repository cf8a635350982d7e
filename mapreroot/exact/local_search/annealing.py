"""Simulated annealing: Metropolis sweeps of single flips, each vertex at a temperature of its own.

A vertex's temperature is a multiple of the root of the sum of its squared weights: what its field
is in a random assignment. So vertices with large weights, or many, freeze together with the others,
and no model needs a schedule of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mapreroot.exact.local_search.ascent import ascend
from mapreroot.exact.local_search.graph import CHUNK, Graph, State, gains
from mapreroot.limits import Limits

__all__ = ["walk"]

Bits = NDArray[np.int8]
Floats = NDArray[np.float64]

# Where walks begin and end, as multiples of a vertex's typical field. Straight down from .4 or .5
# to .04 beat .6, 1.2 and .02, .1, geometric and harmonic schedules, and a common temperature: on
# 2D and 3D tori (+-1 and Gaussian), grids with fields, random, dense and planar graphs, hubs, and
# weights over six decades (by .1 to 2 % of the score at 100 to 1000 sweeps).
_HOT, _COLD = 0.45, 0.04
# A walk by the clock looks at it whenever it has become longer by this part.
_LOOKS = 16
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


def walk(
    graph: Graph, y: Bits, sweeps: int | None, heat: float, state: State, limits: Limits
) -> Bits:
    """Cool from y, then ascend.

    Parameters
    ----------
    graph : Graph
    y : ndarray of int8, shape (n,)
        Where to begin; it stays as it is.
    sweeps : int or None
        Visits of every vertex, or None for as many as there is time for.
    heat : float
        Where to begin: 1 forgets y, less keeps the more of it.
    state : State
        Of the random numbers.
    limits : Limits
        Asked about every 30 ms; when time runs out the walk ends in the ascent.

    Returns
    -------
    ndarray of int8, shape (n,)
        No single flip gains there; it may score less than y.

    Notes
    -----
    O(sweeps (n + m)). Kirkpatrick, Gelatt and Vecchi (1983), Metropolis rule, linear cooling.
    """
    spin = 2 * y - 1
    field = -spin * gains(graph, y)
    scale = _scales(graph)
    hot = heat * _HOT
    cold = min(hot, _COLD)
    most = max(1, CHUNK // (len(y) + len(graph.weight)))
    for over in _by_the_clock(most, limits) if sweeps is None else _counted(sweeps, most, limits):
        temperatures = hot + (cold - hot) * over
        _sweep(graph, spin, field, scale, temperatures, _EXPONENTIAL, state)
    z = (spin > 0).astype(np.int8)
    ascend(graph, z, gains(graph, z))
    return z


def _counted(sweeps: int, most: int, limits: Limits) -> Iterator[Floats]:
    """Say which part of a walk is over at each sweep, at most so many at a time."""
    over = np.linspace(0, 1, sweeps)
    for at in range(0, sweeps, most):
        if limits.reason() is not None:
            break
        yield over[at : at + most]


def _by_the_clock(most: int, limits: Limits) -> Iterator[Floats]:
    """Say the same of a walk that is over when the time is: the sweeps to come as fast as those."""
    whole = limits.left()
    sweeps, count = 0, 1
    while limits.reason() is None:
        over = 1 - limits.left() / whole
        ahead = min(1 - over, over / max(1, sweeps) * count)
        yield np.linspace(over, over + ahead, count, endpoint=False)
        sweeps += count
        # Hot sweeps take longer than cold ones, and a clock has ticks.
        count = max(1, min(most, 2 * count, sweeps // _LOOKS))
