"""One record per cluster: all that a level of an update or a query reads, side by side.

Records stand in depth-first order of the cover, the imaginary vertex s first, so that a
record's position is larger than its parent's and a way up stays in few pages. A record
of a cluster with vertex x, top p and bottom c holds, in words of 8 bytes,

    header   parent's position, kind + 2 slot              2 int32
    U        table between p and x                         k_p k_x doubles
    W        path: table between x and c                   k_x k_c doubles
             point: the vector A last pushed to the parent k_p doubles
    P        product of the non-zero vectors raked onto x  k_x doubles
    d        data of x                                     k_x doubles
    E        exponents of U, W, P, d (see `extended`)      int32 each
    zeros    how many raked vectors are 0 at each label    k_x int32
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mapreroot.errors import SizeError
from mapreroot.trees.cover import Ids, TreeCover
from mapreroot.trees.extended import Floats, Int
from mapreroot.trees.rooting import Ints

__all__ = ["BINARY", "MANY", "Records", "Words", "around", "head", "place", "positions", "records"]

MANY = 64  # updates of more than n / MANY vertices share their ways up
BINARY = 20  # words of a record with two labels at its vertex, its top and its bottom


class Records(NamedTuple):
    """All records of an engine, and where to find what."""

    F: Floats  # the words
    I: Ids  # the same memory as int32
    K: Ids  # label counts, by position
    top: Ids  # positions of the boundary vertices, 0 being s
    bottom: Ids
    base: Ints  # first word of each record; none are needed where all have BINARY words
    k: int  # number of labels of all vertices, s too; 0 where they differ


class Words(NamedTuple):
    """Places of one record: words of its blocks, and what to add for their exponents."""

    k_top: Int
    k: Int
    k_bottom: Int
    U: Int
    W: Int
    P: Int
    d: Int
    E: Int  # exponent of word w is I[w + E]
    zeros: Int


def positions(cover: TreeCover) -> Ids:
    """Depth-first numbers 1..n of the cover's vertices; s is 0."""
    order = np.argsort(-cover.level, kind="stable")
    ids: Ids = _depth_first(cover.parent, order)
    return ids


def records(cover: TreeCover, position: Ids, k: Ids) -> Records:
    """Lay out the records, all tables and data being ones.

    Where all vertices have the same number of labels the imaginary vertex has it too, so
    that no label count need be looked up. With two labels all records are equally long,
    and `binary` has the numbers of their words built in. SizeError if there is no room.
    """
    n = cover.n
    same_k = int(k[0]) if (k == k[0]).all() else 0
    place_of = np.append(position, np.int32(0))  # s, and no bottom, are -1: the last entry
    K = np.full(n + 1, max(same_k, 1), np.int32)
    K[position] = k
    top, bottom, parent, code = (np.zeros(n + 1, np.int32) for _ in range(4))
    top[position], bottom[position] = place_of[cover.top], place_of[cover.bottom]
    parent[position] = place_of[cover.parent]
    code[position] = cover.kind + 2 * cover.slot
    if same_k == 2:
        base = np.empty(0, np.int64)
        F = _words((n + 1) * BINARY)
    else:
        k_top, k_own = K[top].astype(np.int64), K.astype(np.int64)
        doubles = k_top * k_own + np.where(code & 1, k_own * K[bottom], k_top) + 2 * k_own
        base = np.zeros(n + 2, np.int64)
        np.cumsum(1 + doubles + (doubles + k_own + 1) // 2, out=base[1:])
        F = _words(int(base[-1]))
    R = Records(F, F.view(np.int32), K, top, bottom, base, same_k)
    _fill(R, parent, code)
    return R


def _words(count: int) -> Floats:
    try:
        return np.empty(count)
    except MemoryError:
        raise SizeError(
            f"the tables of all clusters would take {count * 8 / 2**30:.0f} GiB: an edge takes "
            "the product of its vertices' label counts, so use fewer labels or part of the tree"
        ) from None


@njit(cache=True)
def head(R: Records, x: Int) -> Int:
    """Find the header of the record at position x: its parent's position, then its code."""
    return 2 * BINARY * np.int64(x) if R.k == 2 else 2 * R.base[x]


@njit(cache=True)
def place(R: Records, x: Int) -> Words:
    """Find the blocks of the record at position x."""
    U = head(R, x) // 2 + 1
    if R.k == 2:
        return Words(2, 2, 2, U, U + 4, U + 8, U + 10, U + 24, 2 * U + 36)
    k_top, k, k_bottom = R.k, R.k, R.k
    if R.k == 0:
        k_top, k, k_bottom = R.K[R.top[x]], R.K[x], R.K[R.bottom[x]]
    W = U + k_top * k
    P = W + (k * k_bottom if R.I[2 * U - 1] & 1 else k_top)
    d = P + k
    E = 2 * (d + k) - U
    return Words(k_top, k, k_bottom, U, W, P, d, E, E + d + k)


@njit(cache=True)
def around(R: Records, at: Ids) -> NDArray[np.bool_]:
    """Mark some positions and all on the way up from them, s left out."""
    marked = np.zeros(len(R.K), np.bool_)
    marked[0] = True
    for i in range(len(at)):
        x: Int = np.int64(at[i])
        while not marked[x]:
            marked[x] = True
            x = np.int64(R.I[head(R, x)])
    marked[0] = False
    return marked


@njit(cache=True)
def _fill(R: Records, parent: Ids, code: Ids) -> None:
    for x in range(len(parent)):
        i = head(R, x)
        R.I[i], R.I[i + 1] = parent[x], code[x]
        r = place(R, x)
        for w in range(r.U, r.d + r.k):
            R.F[w], R.I[w + r.E] = 1.0, 0
        for c in range(r.k):
            R.I[r.zeros + c] = 0


@njit(cache=True)
def _depth_first(parent: Ids, top_down: Ints) -> Ids:
    n = len(parent)
    size = np.ones(n, np.int32)
    for i in range(n - 1, -1, -1):
        v = top_down[i]
        if parent[v] >= 0:
            size[parent[v]] += size[v]
    position = np.empty(n, np.int32)
    free = np.ones(n + 1, np.int32)  # next position inside each cluster; of s, the last entry
    for i in range(n):
        v = top_down[i]
        position[v] = free[parent[v]]
        free[parent[v]] += size[v]
        free[v] = position[v] + 1
    return position
