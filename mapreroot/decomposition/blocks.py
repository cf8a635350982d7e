"""Biconnected blocks of M+: each is solved alone, and the answers are aligned by flipping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import ModelError
from mapreroot.model import UprootedModel

__all__ = ["Block", "align", "block_counts", "blocks", "components", "outwards", "recombine"]

Bits = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Block:
    """A biconnected block of M+.

    Attributes
    ----------
    vertices : ndarray of int
        Ascending.
    model : UprootedModel
        The block's edges; local vertex k is ``vertices[k]``, and the constant is 0.
    """

    vertices: Ints
    model: UprootedModel


def blocks(uprooted: UprootedModel) -> list[Block]:
    """Split M+ into its biconnected blocks.

    Parameters
    ----------
    uprooted : UprootedModel

    Returns
    -------
    list of Block
        Every edge is in exactly one block (a bridge is a block by itself), an isolated vertex in
        none. phi(y) is the constant plus the sum of the blocks' scores, and the best score
        the constant plus the sum of their best scores.

    Notes
    -----
    O(n + m), one depth-first search (Hopcroft and Tarjan 1973), and some microseconds for each
    block's own arrays: a forest of 10^6 edges is better given to `reduce` first, which
    leaves no vertex of degree 1, hence at least one larger block at every end of the block tree.

    Examples
    --------
    >>> bow = UprootedModel(6, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)], [1.0] * 5)
    >>> sorted(block.vertices.tolist() for block in blocks(bow))
    [[0, 1, 2], [2, 3], [3, 4]]
    """
    if uprooted.m == 0:
        return []
    start, neighbour, via = _adjacency(uprooted.n_vertices, uprooted.edges)
    block, count = _search(start, neighbour, via)
    order = np.argsort(block, kind="stable")
    edge_start = np.searchsorted(block[order], np.arange(count + 1))
    vertices, vertex_start, local = _members(start, via, uprooted.edges, block, count)
    vertices.setflags(write=False)
    local, weights = local[order], uprooted.weights[order]
    found = []
    for k in range(count):
        members = vertices[vertex_start[k] : vertex_start[k + 1]]
        part = slice(edge_start[k], edge_start[k + 1])
        model = UprootedModel.from_canonical(len(members), local[part], weights[part])
        found.append(Block(members, model))
    return found


def recombine(n_vertices: int, blocks: Sequence[Block], ys: Sequence[npt.ArrayLike]) -> Bits:
    """Put the blocks' assignments together.

    Parameters
    ----------
    n_vertices : int
        Of the model that was split.
    blocks : sequence of Block
        All of its blocks.
    ys : sequence of array_like of 0 and 1
        One assignment for each, in local vertices.

    Returns
    -------
    ndarray of int8, shape (n_vertices,)
        Agrees with each of ``ys`` up to flipping the whole block, so its score is the sum of
        theirs. Each component's first vertex, and every vertex without a block, takes 0.

    Raises
    ------
    ModelError
        If there are not as many assignments as blocks, or one has the wrong length.

    Notes
    -----
    Union-find with parity: near linear.
    """
    if len(blocks) != len(ys):
        raise ModelError(f"{len(ys)} assignments for {len(blocks)} blocks")
    if not blocks:
        return np.zeros(n_vertices, dtype=np.int8)
    parts = [np.asarray(y, dtype=np.int8) for y in ys]
    sizes = np.array([len(block.vertices) for block in blocks])
    for k, y in enumerate(parts):
        if y.shape != (sizes[k],):
            raise ModelError(f"ys[{k}] has shape {y.shape}: block {k} has {sizes[k]} vertices")
    vertices = np.concatenate([block.vertices for block in blocks])
    y = np.concatenate(parts)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return align(n_vertices, vertices[first], vertices, y ^ y[first])[1]


def outwards(n_vertices: int, blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Order blocks from vertex 0 outwards, so that each hangs on one that came before.

    Parameters
    ----------
    n_vertices : int
        Of the model that was split.
    blocks : sequence of Block
        All of its blocks.

    Returns
    -------
    list of (int, int)
        Each block's number and its gate: its vertex nearest to vertex 0. Components without
        vertex 0 follow, from their lowest vertex outwards.

    Notes
    -----
    O(n + total size of the blocks), breadth first.

    Examples
    --------
    >>> path = UprootedModel(4, [(0, 3), (1, 3), (1, 2)], [1.0] * 3)
    >>> [gate for _, gate in outwards(4, blocks(path))]
    [0, 3, 1]
    """
    at: list[list[int]] = [[] for _ in range(n_vertices)]
    for k, block in enumerate(blocks):
        for v in block.vertices.tolist():
            at[v].append(k)
    order: list[tuple[int, int]] = []
    seen = [False] * len(blocks)
    for first in range(n_vertices):
        waiting = [first]
        for gate in waiting:  # grows while it is walked
            for k in at[gate]:
                if not seen[k]:
                    seen[k] = True
                    order.append((k, gate))
                    waiting += [v for v in blocks[k].vertices.tolist() if v != gate]
    return order


def align(n_vertices: int, one: Ints, other: Ints, differ: Bits) -> tuple[Ints, Bits]:
    """Follow relations y_other[k] = y_one[k] XOR differ[k] that do not contradict each other.

    Parameters
    ----------
    n_vertices : int
    one, other : ndarray of int, shape (k,)
    differ : ndarray of int8, shape (k,)

    Returns
    -------
    first : ndarray of int, shape (n_vertices,)
        The smallest vertex to which each one is related, itself included.
    y : ndarray of int8, shape (n_vertices,)
        y_v XOR y_first.

    Notes
    -----
    Union-find with parity: near linear. A row that follows from the rows before it is not
    compared with them.

    Examples
    --------
    >>> align(4, np.array([3, 3]), np.array([1, 2]), np.array([1, 0], dtype=np.int8))
    (array([0, 1, 1, 1]), array([0, 0, 1, 1], dtype=int8))
    """
    first, y = _align(n_vertices, one, other, differ)
    return first, y


def components(uprooted: UprootedModel) -> tuple[int, Ints]:
    """Find the connected components, isolated vertices included.

    Parameters
    ----------
    uprooted : UprootedModel

    Returns
    -------
    count : int
    component : ndarray of int, shape (n_vertices,)
        0..count-1, numbered by their first vertices.

    Notes
    -----
    Near linear.

    Examples
    --------
    >>> components(UprootedModel(4, [(0, 2)], [1.0]))
    (3, array([0, 1, 0, 2]))
    """
    first = _first_of_component(uprooted.n_vertices, uprooted.edges)
    is_first = first == np.arange(uprooted.n_vertices)
    return int(is_first.sum()), (np.cumsum(is_first) - 1)[first]


def block_counts(uprooted: UprootedModel) -> Ints:
    """Count the blocks on which each vertex lies.

    Parameters
    ----------
    uprooted : UprootedModel

    Returns
    -------
    ndarray of int, shape (n_vertices,)
        0 for an isolated vertex, 2 or more for a cut vertex.

    Notes
    -----
    O(n + m).

    Examples
    --------
    >>> block_counts(UprootedModel(4, [(0, 1), (1, 2)], [1.0, 1.0]))
    array([1, 2, 1, 0])
    """
    if uprooted.m == 0:
        return np.zeros(uprooted.n_vertices, dtype=np.int64)
    start, neighbour, via = _adjacency(uprooted.n_vertices, uprooted.edges)
    block, count = _search(start, neighbour, via)
    vertices, _, _ = _members(start, via, uprooted.edges, block, count)
    return np.bincount(vertices, minlength=uprooted.n_vertices)


@njit(cache=True)
def _adjacency(n: int, edges: Ints) -> tuple[Ints, Ints, Ints]:
    """List the neighbours and edges of v at positions start[v] .. start[v + 1] - 1."""
    m = len(edges)
    start = np.zeros(n + 1, np.int64)
    for e in range(m):
        start[edges[e, 0] + 1] += 1
        start[edges[e, 1] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    free = start[:-1].copy()
    neighbour = np.empty(2 * m, np.int64)
    via = np.empty(2 * m, np.int64)
    for e in range(m):
        i, j = edges[e, 0], edges[e, 1]
        neighbour[free[i]], via[free[i]] = j, e
        neighbour[free[j]], via[free[j]] = i, e
        free[i] += 1
        free[j] += 1
    return start, neighbour, via


@njit(cache=True)
def _search(start: Ints, neighbour: Ints, via: Ints) -> tuple[Ints, int]:
    """Find the biconnected block of every edge, by depth-first search without recursion."""
    n, m = len(start) - 1, len(via) // 2
    entered = np.full(n, -1, np.int64)
    low = np.empty(n, np.int64)
    arrival = np.full(n, -1, np.int64)  # the edge by which v was entered
    at = start[:-1].copy()
    path = np.empty(n, np.int64)
    stack = np.empty(m, np.int64)  # edges whose block is still open
    block = np.full(m, -1, np.int64)
    clock = count = open_edges = 0
    for source in range(n):
        if entered[source] >= 0:
            continue
        depth = 0
        path[0] = source
        entered[source] = low[source] = clock
        clock += 1
        while depth >= 0:
            v = path[depth]
            if at[v] < start[v + 1]:
                w, e = neighbour[at[v]], via[at[v]]
                at[v] += 1
                if entered[w] < 0:
                    stack[open_edges] = e
                    open_edges += 1
                    arrival[w] = e
                    entered[w] = low[w] = clock
                    clock += 1
                    depth += 1
                    path[depth] = w
                elif entered[w] < entered[v] and e != arrival[v]:
                    stack[open_edges] = e
                    open_edges += 1
                    low[v] = min(low[v], entered[w])
                continue
            depth -= 1
            if depth >= 0:
                parent = path[depth]
                low[parent] = min(low[parent], low[v])
                if low[v] >= entered[parent]:
                    while True:
                        open_edges -= 1
                        block[stack[open_edges]] = count
                        if stack[open_edges] == arrival[v]:
                            break
                    count += 1
    return block, count


@njit(cache=True)
def _members(
    start: Ints, via: Ints, edges: Ints, block: Ints, count: int
) -> tuple[Ints, Ints, Ints]:
    """List each block's vertices, ascending, and write the edges in positions of that list."""
    n = len(start) - 1
    last = np.full(count, -1, np.int64)
    vertex_start = np.zeros(count + 1, np.int64)
    for v in range(n):
        for a in range(start[v], start[v + 1]):
            b = block[via[a]]
            if last[b] != v:
                last[b] = v
                vertex_start[b + 1] += 1
    for b in range(count):
        vertex_start[b + 1] += vertex_start[b]
    last = np.full(count, -1, np.int64)
    size = np.zeros(count, np.int64)
    vertices = np.empty(vertex_start[count], np.int64)
    local = np.empty((len(edges), 2), np.int64)
    for v in range(n):
        for a in range(start[v], start[v + 1]):
            e = via[a]
            b = block[e]
            if last[b] != v:
                last[b] = v
                vertices[vertex_start[b] + size[b]] = v
                size[b] += 1
            local[e, 0 if edges[e, 0] == v else 1] = size[b] - 1
    return vertices, vertex_start, local


@njit(cache=True)
def _first_of_component(n: int, edges: Ints) -> Ints:
    parent = np.arange(n)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i != j:
            parent[max(i, j)] = min(i, j)
    for v in range(n):  # parents have smaller numbers, so theirs are final
        parent[v] = parent[parent[v]]
    return parent


@njit(cache=True)
def _align(n: int, one: Ints, other: Ints, differ: Bits) -> tuple[Ints, Bits]:
    parent = np.arange(n)
    parity = np.zeros(n, np.int8)
    for k in range(len(one)):
        i, p = _root(parent, parity, one[k])
        j, q = _root(parent, parity, other[k])
        if i != j:
            parent[max(i, j)] = min(i, j)
            parity[max(i, j)] = p ^ q ^ differ[k]
    for v in range(n):
        u = parent[v]
        if u != v:
            parity[v] ^= parity[u]  # of u relative to its root: u < v is done
            parent[v] = parent[u]
    return parent, parity


@njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)  # only kernels call it
def _root(parent: Ints, parity: Bits, v: int) -> tuple[int, int]:
    """Find the representative of v and the parity to it, halving the path."""
    p = 0
    while parent[v] != v:
        u = parent[v]
        if parent[u] != u:
            parity[v] ^= parity[u]
            parent[v] = parent[u]
        p ^= parity[v]
        v = parent[v]
    return v, p
