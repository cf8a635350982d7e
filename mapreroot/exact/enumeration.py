"""All assignments, one flip at a time: the oracle, and the end of every small block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import SizeError
from mapreroot.model import Solution, UprootedModel

__all__ = ["LIMIT", "enumerate_best", "enumerate_map", "enumerate_optima"]

LIMIT = 26
"""Largest number of vertices of M+ that is enumerated: 2^25 assignments, about a second."""


def enumerate_map(uprooted: UprootedModel) -> Solution:
    """Find an optimum by trying every assignment with y_0 = 0.

    Parameters
    ----------
    uprooted : UprootedModel
        At most `LIMIT` vertices.

    Returns
    -------
    Solution
        ``bound`` is the optimum.

    Raises
    ------
    SizeError
        For more vertices.

    Notes
    -----
    O(2^(n_vertices - 1)) flips of O(1) vertices each, along a Gray code.

    Examples
    --------
    >>> enumerate_map(UprootedModel(3, [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0])).bound
    2.0
    """
    W = _dense(uprooted)
    y = np.zeros(uprooted.n_vertices, dtype=np.int8)
    if uprooted.n_vertices > 1:
        code, _, _ = _walk(W, 0.0, np.zeros(0, dtype=np.int64))
        y[1:] = _bits(code, uprooted.n_vertices - 1)
    return Solution(y, uprooted.score(y))


def enumerate_optima(uprooted: UprootedModel, limit: int) -> tuple[npt.NDArray[np.int8], bool]:
    """List the optimal assignments with y_0 = 0, at most ``limit`` of them.

    Returns
    -------
    solutions : ndarray of int8, shape (k, n_vertices)
        In ascending order.
    complete : bool
        False when ``limit`` cut the list short.

    Raises
    ------
    SizeError
        For more than `LIMIT` vertices.

    Notes
    -----
    Scores within TOL of the largest absolute weight count as equal. O(2^(n_vertices - 1)).

    Examples
    --------
    >>> solutions, complete = enumerate_optima(UprootedModel(3, [(1, 2)], [-1.0]), 10)
    >>> solutions.tolist(), complete
    ([[0, 0, 1], [0, 1, 0]], True)
    """
    N = uprooted.n_vertices
    W = _dense(uprooted)
    if N <= 1:
        return np.zeros((1, N), dtype=np.int8), limit >= 1
    _, best, _ = _walk(W, 0.0, np.zeros(0, dtype=np.int64))
    found = np.zeros(limit + 1, dtype=np.int64)
    _, _, count = _walk(W, best - uprooted.tolerance, found)
    complete = count <= limit
    rows = np.array([_bits(int(code), N - 1) for code in found[:count]], dtype=np.int8)
    rows = rows.reshape(-1, N - 1)
    solutions = np.hstack([np.zeros((len(rows), 1), dtype=np.int8), rows])
    order = np.lexsort(solutions.T[::-1])
    return solutions[order[:limit]], complete


def enumerate_best(uprooted: UprootedModel, count: int) -> npt.NDArray[np.int8]:
    """List the assignments of highest score with y_0 = 0, the best first.

    Returns
    -------
    ndarray of int8, shape (k, n_vertices)
        At most ``count``; in ascending order where scores are equal.

    Raises
    ------
    SizeError
        For more than `LIMIT` vertices.

    Notes
    -----
    O(2^(n_vertices - 1)) numbers: the scores of the first v vertices give those of v + 1.

    Examples
    --------
    >>> enumerate_best(UprootedModel(3, [(0, 1), (1, 2)], [-2.0, 1.0]), 3).tolist()
    [[0, 1, 1], [0, 1, 0], [0, 0, 0]]
    """
    W = _dense(uprooted)
    # Bit N - 1 - v of an index is y_v, so that ascending indices are ascending assignments.
    scores = np.zeros(1)
    for v in range(1, len(W)):
        differ = np.zeros(1)  # from the vertices at 1 before v, when y_v = 0
        for u in range(v):
            differ = np.stack([differ, differ + W[u, v]], axis=1).ravel() if u else differ
        total = W[:v, v].sum()
        scores = np.stack([scores - differ / 2, scores - (total - differ) / 2], axis=1).ravel()
    least = np.partition(scores, -count)[-count] if count < len(scores) else -np.inf
    above, ties = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
    best = np.concatenate([above[np.argsort(-scores[above], kind="stable")], ties])[:count]
    return (best[:, None] >> np.arange(len(W) - 1, -1, -1) & 1).astype(np.int8)


def _dense(uprooted: UprootedModel) -> npt.NDArray[np.float64]:
    N = uprooted.n_vertices
    if N > LIMIT:
        raise SizeError(
            f"enumeration of {N - 1} variables would try 2^{N - 1} assignments; the limit is "
            f"{LIMIT - 1} variables: use method='exact'"
        )
    W = np.zeros((N, N))
    i, j = uprooted.edges.T
    W[i, j] = W[j, i] = uprooted.weights
    return W


def _bits(code: int, count: int) -> list[int]:
    return [code >> k & 1 for k in range(count)]


@njit(cache=True)
def _walk(
    W: npt.NDArray[np.float64], least: float, found: npt.NDArray[np.int64]
) -> tuple[int, float, int]:
    """Walk the Gray code; bit k of a code is y_{k+1}.

    Returns the best code, its score, and how many codes scoring at least ``least`` were put into
    ``found``; the walk ends early when that is full.
    """
    N = W.shape[0]
    y = np.zeros(N, dtype=np.int8)
    gain = np.zeros(N)  # what flipping v adds to the score
    score, best, best_code, count = 0.0, -np.inf, 0, 0
    for step in range(1 << (N - 1)):
        if step & 4095 == 0:  # start afresh, before rounding errors add up
            code = step ^ (step >> 1)
            for v in range(1, N):
                y[v] = (code >> (v - 1)) & 1
            score = 0.0
            for v in range(N):
                gain[v] = 0.0
                for u in range(N):
                    differ = y[u] != y[v]
                    gain[v] += W[u, v] / 2 if differ else -W[u, v] / 2
                    if differ and u < v:
                        score -= W[u, v] / 2
        else:
            k = 0
            while not (step >> k) & 1:
                k += 1
            v = k + 1
            score += gain[v]
            gain[v] = -gain[v]
            for u in range(N):
                if u != v:
                    gain[u] += W[u, v] if y[u] == y[v] else -W[u, v]
            y[v] ^= 1
            code = step ^ (step >> 1)
        if score > best:
            best, best_code = score, code
        if score >= least and len(found):
            found[count] = code
            count += 1
            if count == len(found):
                break
    return best_code, best, count
