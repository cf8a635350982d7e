"""Good assignments fast: one-flip and variable-depth ascent, tabu search, annealing, rounding.

Everything here maximises phi(y) = c - 1/2 sum W_ij [y_i != y_j] of an `UprootedModel` and proves
nothing. The vector ``gain`` of the kernels holds what a flip of each vertex would add to phi,
``gain_v = 1/2 sum_u W_uv (+1 if y_u != y_v else -1)``; a flip updates it at its neighbours only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel

__all__ = ["anneal", "combine", "find", "improve", "round_by_spanning_tree", "tabu"]

Bits = NDArray[np.int8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# A gain below this share of the vertex's weighted degree is rounding: no ascent may run on it.
_ROUNDING = 1e-11
# Elementary steps (a vertex or an edge end visited) between two looks at the limits: about 30 ms.
_CHUNK = 10_000_000
# Tabu search looks at every vertex for each flip: it pays when a flip changes many gains.
_TABU_VERTICES = 300
_TABU_DENSITY = 0.1
# Walks of one round, and the temperature of the coolest as a part of the hottest's.
_HEATS, _LEAST_HEAT = 5, 0.3
# Vertices touched by one chain of variable depth: more are rarely kept.
_DEPTH = 40


class _Graph(NamedTuple):
    """Neighbours of v: ``neighbour[start[v]:start[v + 1]]``, and the weights beside them."""

    start: Ints
    neighbour: Ints
    weight: Floats


@njit(cache=True)
def _adjacency(n: int, edges: Ints, weights: Floats) -> tuple[Ints, Ints, Floats]:
    start = np.zeros(n + 1, np.int64)
    for k in range(len(weights)):
        start[edges[k, 0] + 1] += 1
        start[edges[k, 1] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    at = start.copy()
    neighbour = np.empty(2 * len(weights), np.int64)
    weight = np.empty(2 * len(weights), np.float64)
    for k in range(len(weights)):
        i, j = edges[k, 0], edges[k, 1]
        neighbour[at[i]], weight[at[i]] = j, weights[k]
        neighbour[at[j]], weight[at[j]] = i, weights[k]
        at[i] += 1
        at[j] += 1
    return start, neighbour, weight


@njit(cache=True)
def _gains(start: Ints, neighbour: Ints, weight: Floats, y: Bits) -> Floats:
    gain = np.zeros(len(y))
    for v in range(len(y)):
        for e in range(start[v], start[v + 1]):
            gain[v] += weight[e] / 2 if y[neighbour[e]] != y[v] else -weight[e] / 2
    return gain


@njit(cache=True)
def _slack(start: Ints, weight: Floats) -> Floats:
    """Gains up to this are rounding."""
    slack = np.zeros(len(start) - 1)
    for v in range(len(slack)):
        for e in range(start[v], start[v + 1]):
            slack[v] += abs(weight[e])
        slack[v] *= _ROUNDING
    return slack


@njit(cache=True, inline="always")
def _flip(start: Ints, neighbour: Ints, weight: Floats, y: Bits, gain: Floats, v: int) -> None:
    y[v] = 1 - y[v]
    gain[v] = -gain[v]
    for e in range(start[v], start[v + 1]):
        u = neighbour[e]
        gain[u] += weight[e] if y[u] != y[v] else -weight[e]


@njit(cache=True, inline="always")
def _random(state: NDArray[np.uint64]) -> float:
    """Return the next uniform number in [0, 1): xorshift64* (Vigna 2016)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True)
def _ascend(
    start: Ints, neighbour: Ints, weight: Floats, slack: Floats, y: Bits, gain: Floats
) -> None:
    """Flip while a flip gains, first come first served."""
    n = len(y)
    queue = np.empty(n, np.int64)
    waiting = np.zeros(n, np.bool_)
    head, length = 0, 0
    for v in range(n):
        if gain[v] > slack[v]:
            queue[length] = v
            length += 1
            waiting[v] = True
    while length:
        v = queue[head]
        head = head + 1 if head + 1 < n else 0
        length -= 1
        waiting[v] = False
        if gain[v] <= slack[v]:
            continue
        _flip(start, neighbour, weight, y, gain, v)
        for e in range(start[v], start[v + 1]):
            u = neighbour[e]
            if gain[u] > slack[u] and not waiting[u]:
                queue[(head + length) % n] = u
                length += 1
                waiting[u] = True


@njit(cache=True)
def _chains(
    start: Ints,
    neighbour: Ints,
    weight: Floats,
    slack: Floats,
    y: Bits,
    gain: Floats,
    first: int,
    work: int,
    dirty: NDArray[np.bool_],
) -> int:
    """One chain from each dirty vertex, from ``first`` on, while work is left; says how far it got.

    A chain flips a vertex, then again and again the best vertex next to those flipped, each once,
    and goes back to its best moment. What it changed for good, and what is next to that, is dirty.
    """
    n = len(y)
    stamp = np.full(n, -1, np.int64)  # v is in the frontier of the chain that began at stamp[v]
    flipped = np.full(n, -1, np.int64)
    frontier = np.empty(n, np.int64)
    chain = np.empty(_DEPTH, np.int64)
    for seed in range(first, n):
        if work <= 0:
            return seed
        if not dirty[seed]:
            continue
        dirty[seed] = False
        size, length, best_length = 0, 0, 0
        total, best, noise = 0.0, 0.0, 0.0
        v = seed
        while True:
            total += gain[v]
            noise += slack[v]
            _flip(start, neighbour, weight, y, gain, v)
            flipped[v] = seed
            chain[length] = v
            length += 1
            if total > best and total > noise:
                best, best_length = total, length
            if length == _DEPTH:
                break
            for e in range(start[v], start[v + 1]):
                u = neighbour[e]
                if stamp[u] != seed:
                    stamp[u] = seed
                    frontier[size] = u
                    size += 1
            work -= start[v + 1] - start[v] + size
            v, k = -1, 0
            while k < size:
                u = frontier[k]
                if flipped[u] == seed:
                    size -= 1
                    frontier[k] = frontier[size]
                    continue
                if v < 0 or gain[u] > gain[v]:
                    v = u
                k += 1
            if v < 0:
                break
        for k in range(length - 1, best_length - 1, -1):
            _flip(start, neighbour, weight, y, gain, chain[k])
        for k in range(best_length):
            dirty[chain[k]] = True
            for e in range(start[chain[k]], start[chain[k] + 1]):
                dirty[neighbour[e]] = True
    return n


@njit(cache=True)
def _anneal(
    start: Ints,
    neighbour: Ints,
    weight: Floats,
    y: Bits,
    gain: Floats,
    temperatures: Floats,
    state: NDArray[np.uint64],
) -> None:
    """One Metropolis sweep over all vertices at each temperature."""
    for T in temperatures:
        never = -30.0 * T
        for v in range(len(y)):
            g = gain[v]
            if g > never and (g >= 0 or _random(state) < np.exp(g / T)):
                _flip(start, neighbour, weight, y, gain, v)


@njit(cache=True)
def _combine(start: Ints, neighbour: Ints, weight: Floats, slack: Floats, y: Bits, z: Bits) -> None:
    """Give y the values of z on each connected part of where they differ, unless that loses."""
    n = len(y)
    differ = y != z
    if 2 * differ.sum() > n:  # z flipped as a whole is nearer, and scores the same
        differ = ~differ
    stack = np.empty(n, np.int64)
    for v in range(n):
        if not differ[v]:
            continue
        differ[v] = False
        stack[0] = v
        size, done, gain, noise = 1, 0, 0.0, 0.0
        while done < size:
            u = stack[done]
            done += 1
            noise += slack[u]
            for e in range(start[u], start[u + 1]):
                w = neighbour[e]
                # The part is flipped vertex by vertex, and the gains add up.
                gain += weight[e] / 2 if y[w] != y[u] else -weight[e] / 2
                if differ[w]:
                    differ[w] = False
                    stack[size] = w
                    size += 1
            y[u] = 1 - y[u]
        if gain < -noise:
            for k in range(size):
                y[stack[k]] = 1 - y[stack[k]]


@njit(cache=True)
def _tabu(
    start: Ints,
    neighbour: Ints,
    weight: Floats,
    slack: Floats,
    y: Bits,
    gain: Floats,
    best_y: Bits,
    free_at: Ints,
    counts: Ints,
    scores: Floats,
    state: NDArray[np.uint64],
    steps: int,
    patience: int,
) -> None:
    """Flip the best vertex that is not tabu, ``steps`` times; shake after ``patience`` idle steps.

    ``counts`` is (step, step of the last gain on this climb), ``scores`` the gains over the first
    y of (y, the best of this climb, best_y): a call goes on where the last one stopped.
    """
    n = len(y)
    tenure = min(20, n // 4)
    for _ in range(steps):
        step = counts[0]
        v, ties = -1, 0
        for u in range(n):
            if free_at[u] > step and scores[0] + gain[u] <= scores[2] + slack[u]:
                continue
            if v < 0 or gain[u] > gain[v]:
                v, ties = u, 1
            elif gain[u] == gain[v]:
                ties += 1
                if _random(state) * ties < 1:
                    v = u
        counts[0] += 1
        if v >= 0:
            scores[0] += gain[v]
            _flip(start, neighbour, weight, y, gain, v)
            free_at[v] = step + 1 + tenure + int(_random(state) * 10)
            if scores[0] > scores[1] + slack[v]:
                scores[1] = scores[0]
                counts[1] = step
                if scores[0] > scores[2] + slack[v]:
                    scores[2] = scores[0]
                    for u in range(n):
                        best_y[u] = y[u]
        if step - counts[1] >= patience:
            for u in range(n):
                if y[u] != best_y[u]:
                    scores[0] += gain[u]
                    _flip(start, neighbour, weight, y, gain, u)
            share = 0.05 + 0.3 * _random(state)
            for u in range(n):
                free_at[u] = 0
                if _random(state) < share:
                    scores[0] += gain[u]
                    _flip(start, neighbour, weight, y, gain, u)
            scores[1] = scores[0]
            counts[1] = step


@njit(cache=True)
def _follow(n: int, edges: Ints, differ: NDArray[np.bool_], order: Ints) -> Bits:
    """Set y so that ``differ`` holds along the spanning forest that ``order`` builds greedily."""
    parent = np.arange(n)
    parity = np.zeros(n, np.int8)  # of v against parent[v]
    for k in order:
        roots = np.empty(2, np.int64)
        odd = np.int8(differ[k])
        for end in range(2):
            v = edges[k, end]
            while parent[v] != v:
                # Path halving, parities kept against the new parent.
                up = parent[v]
                parity[v] ^= parity[up]
                odd ^= parity[v]
                parent[v] = parent[up]
                v = parent[v]
            roots[end] = v
        if roots[0] != roots[1]:
            parent[roots[1]] = roots[0]
            parity[roots[1]] = odd
    y = np.zeros(n, np.int8)
    for v in range(n):
        u = v
        while parent[u] != u:
            y[v] ^= parity[u]
            u = parent[u]
    return y


def _graph(uprooted: UprootedModel) -> _Graph:
    return _Graph(*_adjacency(uprooted.n_vertices, uprooted.edges, uprooted.weights))


def _start(uprooted: UprootedModel, initial: ArrayLike | None) -> Bits:
    if initial is None:
        # Following the heaviest edges beats any random start.
        return round_by_spanning_tree(uprooted, np.where(uprooted.weights > 0, 0.0, 1.0))
    y = np.array(initial)
    if y.shape != (uprooted.n_vertices,) or not ((y == 0) | (y == 1)).all():
        raise ModelError(
            f"initial has shape {y.shape}: expected {uprooted.n_vertices} values, each 0 or 1"
        )
    return y.astype(np.int8)


def _random_state(seed: int) -> NDArray[np.uint64]:
    # splitmix64's increment, so that seeds 0, 1, 2 begin far apart; zero would stay zero.
    word = (seed * 0x9E3779B97F4A7C15 + 0xD1B54A32D192ED03) % 2**64
    return np.array([word or 1], np.uint64)


def round_by_spanning_tree(uprooted: UprootedModel, d: ArrayLike) -> Bits:
    """Round a point of a relaxation along a maximum spanning forest of its decided edges.

    Parameters
    ----------
    uprooted : UprootedModel
        M+, with m edges.
    d : array_like, shape (m,)
        How much the ends of each edge differ, in [0, 1].

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        y whose ends differ where d > 1/2 along the forest that maximises the sum of abs(d - 1/2),
        heavier edges first among equals. A d of zeros and ones that comes from an assignment gives
        that assignment back, up to the flip of whole components.

    Raises
    ------
    ModelError
        If there is not one d for each edge.

    Notes
    -----
    O(m log m). Barahona, Groetschel, Juenger and Reinelt (1988), section 4.

    Examples
    --------
    >>> uprooted = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-1.0, -1.0, -1.0])
    >>> round_by_spanning_tree(uprooted, [0.9, 0.6, 0.1])
    array([0, 1, 1], dtype=int8)
    """
    point = np.asarray(d, np.float64)
    if point.shape != (uprooted.m,):
        raise ModelError(f"d has shape {point.shape}: expected one value for {uprooted.m} edges")
    # Decided to within rounding counts as decided, so that the weights break the ties.
    decided = np.round(np.abs(point - 0.5), 9)
    order = np.lexsort((-np.abs(uprooted.weights), -decided))
    y: Bits = _follow(uprooted.n_vertices, uprooted.edges, point > 0.5, order)
    return y


def improve(uprooted: UprootedModel, y: ArrayLike, limits: Limits | None = None) -> Bits:
    """Climb from y: single flips while they gain, then chains of flips of variable depth.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    y : array_like, shape (n_vertices,)
        Where to start.
    limits : Limits, optional
        Asked about every 30 ms.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        A local optimum of both moves (unless a limit came first), never worse than y. The same
        input gives the same answer.

    Raises
    ------
    ModelError
        If y is not one 0 or 1 for each vertex.

    Notes
    -----
    O(n + m) for the flips of a typical sparse model, then at most 40 flips a vertex and pass.
    Kernighan and Lin (1970).

    Examples
    --------
    >>> ring = UprootedModel(4, [(0, 1), (0, 3), (1, 2), (2, 3)], [2.0, -1.0, 2.0, 2.0])
    >>> ring.score(improve(ring, [0, 1, 0, 1]))
    0.0
    """
    limits = limits or Limits()
    best = _start(uprooted, y)
    graph = _graph(uprooted)
    _climb(graph, best, _gains(*graph, best), limits)
    return best


def _climb(graph: _Graph, y: Bits, gain: Floats, limits: Limits) -> None:
    slack = _slack(graph.start, graph.weight)
    _ascend(*graph, slack, y, gain)
    dirty = np.ones(len(y), np.bool_)
    at = 0
    while dirty.any() and limits.reason() is None:
        at = _chains(*graph, slack, y, gain, at % len(y), _CHUNK, dirty)


def anneal(
    uprooted: UprootedModel,
    seed: int = 0,
    limits: Limits | None = None,
    initial: ArrayLike | None = None,
    sweeps: int = 200,
    heat: float = 1.0,
) -> Bits:
    """Cool one random walk of single flips; the choice for large sparse models.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    seed : int
        Fixes the answer, unless the time limit comes first.
    limits : Limits, optional
        Asked about every 30 ms; when time runs out the walk ends in an ascent.
    initial : array_like, optional
        An assignment to begin with; by default the heaviest edges are followed.
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
    O(sweeps (n + m)). Kirkpatrick, Gelatt and Vecchi (1983), Metropolis rule, geometric cooling.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(anneal(triangle, seed=1))
    2.0
    """
    limits = limits or Limits()
    best = _start(uprooted, initial)
    if not uprooted.m:
        return best
    graph = _graph(uprooted)
    y = best.copy()
    gain = _gains(*graph, y)
    state = _random_state(seed)
    for temperatures in _cooling(uprooted, sweeps, heat):
        if limits.reason() is not None:
            break
        _anneal(*graph, y, gain, temperatures, state)
    _climb(graph, y, _gains(*graph, y), limits)
    return _better(uprooted, graph, best, y)


def _better(uprooted: UprootedModel, graph: _Graph, y: Bits, z: Bits) -> Bits:
    combined = y.copy()
    _combine(*graph, _slack(graph.start, graph.weight), combined, z)
    return combined if uprooted.score(combined) >= uprooted.score(y) else y  # rounding


def combine(uprooted: UprootedModel, y: ArrayLike, z: ArrayLike) -> Bits:
    """Take the better of two assignments wherever they differ, each connected part for itself.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    y, z : array_like, shape (n_vertices,)

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        Scores at least what y and z score. Where a part scores the same in both, z's values, for
        the sake of change.

    Raises
    ------
    ModelError
        If y or z is not one 0 or 1 for each vertex.

    Notes
    -----
    O(n + m): no edge joins two parts, so their gains add up. Two walks over a large sparse model
    that begin at the same assignment improve it in many places, and this keeps all of them
    (partition crossover; Whitley, Hains and Howe 2009, for tours).

    Examples
    --------
    >>> star = UprootedModel(5, [(0, 1), (0, 2), (0, 3), (0, 4)], [2.0] * 4)
    >>> combine(star, [0, 1, 0, 0, 0], [0, 0, 1, 0, 0])
    array([0, 0, 0, 0, 0], dtype=int8)
    """
    return _better(uprooted, _graph(uprooted), _start(uprooted, y), _start(uprooted, z))


def _cooling(uprooted: UprootedModel, sweeps: int, heat: float = 1.0) -> list[Floats]:
    """Temperatures from a typical field of a vertex to a small part of a typical weight."""
    sizes = np.abs(uprooted.weights)
    largest = sizes.max()
    sizes = sizes / largest
    hot = heat * 0.5 * np.sqrt((sizes**2).sum() / uprooted.n_vertices)
    cold = min(0.05 * np.median(sizes), hot)
    chunk = max(1, _CHUNK // (2 * (uprooted.n_vertices + 2 * uprooted.m)))
    ladder = largest * np.geomspace(hot, cold, sweeps)
    return [ladder[at : at + chunk] for at in range(0, sweeps, chunk)]


def tabu(
    uprooted: UprootedModel,
    seed: int = 0,
    limits: Limits | None = None,
    initial: ArrayLike | None = None,
    steps: int | None = None,
) -> Bits:
    """Tabu search with random restarts around the best: the choice for dense models.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    seed : int
        Fixes the answer, unless the time limit comes first.
    limits : Limits, optional
        Asked about every 30 ms.
    initial : array_like, optional
        Where to start; by default the heaviest edges are followed.
    steps : int, optional
        Flips to make, by default 200 for each vertex.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        Never worse than the start.

    Raises
    ------
    ModelError
        If initial is not one 0 or 1 for each vertex.

    Notes
    -----
    O(n + degree) a step. Glover and Kochenberger; Palubeckis (2004), "Multistart tabu search
    strategies for the unconstrained binary quadratic optimization problem".

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(tabu(triangle, seed=1))
    2.0
    """
    limits = limits or Limits()
    y = _start(uprooted, initial)
    n = uprooted.n_vertices
    if not uprooted.m:
        return y
    graph = _graph(uprooted)
    slack = _slack(graph.start, graph.weight)
    best = y.copy()
    gain = _gains(*graph, y)
    free_at, counts, scores = np.zeros(n, np.int64), np.zeros(2, np.int64), np.zeros(3)
    state = _random_state(seed)
    left = 200 * n if steps is None else steps
    chunk = max(1, _CHUNK // (n + 2 * uprooted.m // n))
    patience = max(500, 10 * n)
    while left > 0 and limits.reason() is None:
        _tabu(
            *graph, slack, y, gain, best, free_at, counts, scores, state, min(chunk, left), patience
        )
        left -= chunk
    return best


def find(
    uprooted: UprootedModel,
    seed: int = 0,
    limits: Limits | None = None,
    initial: ArrayLike | None = None,
    rounds: int = 3,
    sweeps: int = 100,
) -> Bits:
    """Find a good assignment by the means that suit the model's size.

    Parameters
    ----------
    uprooted : UprootedModel
        M+.
    seed : int
        Fixes the answer, unless the time limit comes first.
    limits : Limits, optional
        Asked about every 30 ms.
    initial : array_like, optional
        An assignment to do at least as well as.
    rounds : int
        The first anneals from hot. Each other one is twice as long as the one before, begins
        again and again at the best assignment, heats it up more or less, and keeps what has
        become better in whatever part of the model (see `combine`). On small or dense models
        tabu search goes on from what a round has found.
    sweeps : int
        Of the first round.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)

    Raises
    ------
    ModelError
        If initial is not one 0 or 1 for each vertex.

    Examples
    --------
    >>> triangle = UprootedModel(3, [(0, 1), (0, 2), (1, 2)], [-2.0, -2.0, -1.0])
    >>> triangle.score(find(triangle))
    2.0
    """
    limits = limits or Limits()
    best = improve(uprooted, _start(uprooted, initial), limits)
    n = uprooted.n_vertices
    for k in range(rounds):
        for j in range(_HEATS if k else 1):
            if limits.reason() is not None:
                return best
            heat = _LEAST_HEAT + (1 - _LEAST_HEAT) * (j + 1) / _HEATS if k else 1.0
            visits = (sweeps << k) // (_HEATS if k else 1)
            best = anneal(uprooted, seed + _HEATS * k + j, limits, best, visits, heat)
        if n <= _TABU_VERTICES or 2 * uprooted.m >= _TABU_DENSITY * n * n:
            best = tabu(uprooted, seed + k, limits, best, (20 << k) * n)
    return best
