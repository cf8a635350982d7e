"""Good assignments with one vertex held at the value it does not have in the best one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.model import UprootedModel
from mapreroot.residual import network

__all__ = ["detours"]

Bits = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ROUNDING = 1e-12
"""Gains below this part of the weights at a vertex are not climbed."""


def detours(uprooted: UprootedModel, root: int, y: Bits) -> tuple[Bits, Floats]:
    """Flip each vertex in turn, and climb from there with it and the root held.

    Parameters
    ----------
    uprooted : UprootedModel
    root : int
    y : ndarray of int8, shape (n_vertices,)
        A good assignment.

    Returns
    -------
    y : ndarray of int8, shape (n_vertices,)
        The one given, or a better one if a detour came upon it.
    below : ndarray, shape (n_vertices, 2)
        ``[v, a]``: the score of an assignment with y_v XOR y_root = a, less that of ``y``.

    Notes
    -----
    A local search from each vertex that ends near it, with every assignment seen counted for all
    vertices it changes; O(n m) or so at worst.

    Examples
    --------
    >>> path = UprootedModel(3, [(0, 1), (1, 2)], [2.0, 3.0])
    >>> detours(path, 0, np.zeros(3, dtype=np.int8))[1].tolist()
    [[0.0, -inf], [0.0, -1.0], [0.0, -1.0]]
    """
    n = uprooted.n_vertices
    start, half, to = network(n, uprooted.edges[:, 0].copy(), uprooted.edges[:, 1].copy())
    best = np.array(y, dtype=np.int8)
    rows = np.arange(n)
    while True:
        found, better, value = _walk(start, half, to, np.array(uprooted.weights), best, root)
        # A better one is a new place to start from, if it survives exact arithmetic.
        if not better > 0 or uprooted.score(found) <= uprooted.score(best):
            break
        best = found
    agree = best ^ best[root]
    below = np.zeros((n, 2))
    below[rows, 1 - agree] = value
    below[root] = 0.0, -np.inf
    return best, below


@njit(cache=True)
def _walk(
    start: Ints, half: Ints, to: Ints, weights: Floats, y: Bits, root: int
) -> tuple[Bits, float, Floats]:
    """Best assignment seen, its gain over y, and the best gain with each vertex flipped."""
    n = len(y)
    gain = np.zeros(n)  # what flipping v adds, at y
    slack = np.zeros(n)
    for v in range(n):
        for k in range(start[v], start[v + 1]):
            w = weights[half[k] >> 1]
            gain[v] += w / 2 if y[to[half[k]]] != y[v] else -w / 2
            slack[v] += abs(w)
        slack[v] *= ROUNDING
    value = np.full(n, -np.inf)
    best, best_y = 0.0, y.copy()
    z, now = y.copy(), gain.copy()
    waiting = np.zeros(n, np.bool_)
    touched = np.zeros(n, np.bool_)
    seen, queue = np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        if v == root:
            continue
        head, length, count = 0, 1, 0
        queue[0] = v
        total = 0.0
        while length > 0:
            u = queue[head]
            head = (head + 1) % n
            length -= 1
            waiting[u] = False
            if u == root or (u != v and now[u] <= slack[u]):
                continue
            total += now[u]
            z[u] = 1 - z[u]
            now[u] = -now[u]
            if not touched[u]:
                touched[u] = True
                seen[count] = u
                count += 1
            for k in range(start[u], start[u + 1]):
                t = to[half[k]]
                w = weights[half[k] >> 1]
                now[t] += w if z[t] != z[u] else -w
                if not touched[t]:
                    touched[t] = True
                    seen[count] = t
                    count += 1
                if t != v and not waiting[t] and now[t] > slack[t]:
                    waiting[t] = True
                    queue[(head + length) % n] = t
                    length += 1
        if total > best:
            best = total
            best_y[:] = z
        for k in range(count):
            u = seen[k]
            if z[u] != y[u]:
                value[u] = max(value[u], total)
            z[u], now[u], touched[u] = y[u], gain[u], False
    return best_y, best, value
