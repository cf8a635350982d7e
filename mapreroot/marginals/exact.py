"""log Z and all marginals of M+ by summing vertices out on tables of logarithms.

Upwards every vertex is summed out of the product of what it takes part in; downwards the same
tables are read as conditional probabilities, so that marginals are sums of products of positive
numbers: nothing is divided or cancels, at whatever magnitude of the weights.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mapreroot.marginals.elimination import Elimination, eliminate, too_large
from mapreroot.model import UprootedModel

__all__ = ["exact_log_partition", "exact_marginals"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BLOCK = 10
"""Tables are worked through in pieces of 2^BLOCK numbers, which stay in the first cache."""


def exact_log_partition(
    uprooted: UprootedModel, root: int | None = None, memory: float = 2e9
) -> float:
    """Log of the sum of exp(phi(y)) over all y of M+.

    Parameters
    ----------
    uprooted : UprootedModel
    root : int, optional
        Hold this vertex in every table: elimination on M_root. By default every table is rooted
        at its own last vertex, which is never larger.
    memory : float
        Bytes that the tables may take.

    Raises
    ------
    SizeError
        If they would take more; the message forecasts treewidth and memory.

    Notes
    -----
    O(n 2^w) for treewidth w of M+; see `mapreroot.marginals.elimination`.

    Examples
    --------
    >>> from mapreroot import Model, uproot
    >>> cycle = uproot(Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0]))
    >>> round(exact_log_partition(cycle) - math.log(2), 6)
    3.835883
    """
    if root is None:
        plan = eliminate(uprooted.n_vertices, uprooted.edges, memory=memory)
    else:
        component = _components(uprooted)
        held = component == component[root]
        plan = eliminate(uprooted.n_vertices, uprooted.edges, (root,), held, memory)
    return _Tables(uprooted, plan, False, memory).upwards()


def exact_marginals(
    uprooted: UprootedModel, root: int = 0, memory: float = 2e9
) -> tuple[float, Floats, Floats]:
    """Marginals of M = M_0, and log Z of M+.

    Parameters
    ----------
    uprooted : UprootedModel
    root : int
        Hold this vertex in every table, beside vertex 0: where M_root has no edge (0, j), the
        pair belief of Lemma 2 is computed all the same.
    memory : float

    Returns
    -------
    log_z : float
        As `exact_log_partition`.
    p : ndarray, shape (n_vertices,)
        p(y_v = 1 given y_0 = 0).
    pair : ndarray, shape (m, 2, 2)
        p(y_i = a, y_j = b given y_0 = 0) for the edges (i, j) of M+.

    Raises
    ------
    SizeError
        As `exact_log_partition`.

    Notes
    -----
    Twice to three times the time of `exact_log_partition`.
    """
    component = _components(uprooted)
    last = (0,) if root == 0 else (root, 0)
    fielded = component == component[0]
    held = fielded | (component == component[root])
    plan = eliminate(uprooted.n_vertices, uprooted.edges, last, held, memory)
    work = _Tables(uprooted, plan, True, memory)
    log_z = work.upwards()
    p, pair = work.downwards()
    np.minimum(p, 1.0, out=p)  # a sum of probabilities, each rounded
    # Without a path to vertex 0 nothing tells y from 1 - y.
    p[~fielded] = 0.5
    p[0] = 0.0
    apart = ~fielded[uprooted.edges[:, 0]]
    pair[apart] = (pair[apart] + pair[apart, ::-1, ::-1]) / 2
    return log_z, p, pair


def _components(uprooted: UprootedModel) -> Ints:
    n, (i, j) = uprooted.n_vertices, uprooted.edges.T
    graph = coo_array((np.ones(len(i), np.int8), (i, j)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1])


class _Tables:
    """One elimination's messages, in one pool of memory."""

    def __init__(
        self, uprooted: UprootedModel, plan: Elimination, keep: bool, memory: float
    ) -> None:
        self.plan, self.uprooted = plan, uprooted
        # A repulsive edge that pays for agreeing, not one that earns by differing: scores stay
        # near 0 for likely states, so that small potentials survive beside huge ones.
        repulsive = uprooted.weights[uprooted.weights < 0]
        self.offset = -float(math.fsum(repulsive.tolist())) / 2
        work, kept, total = layout(plan.start, plan.parent, keep)
        self.work, self.kept = work, kept
        needed = 8.0 * total * (2 if keep else 1)  # beliefs beside the messages
        if needed > memory:
            raise too_large(plan.treewidth, needed, memory)
        self.pool = np.empty(total)
        self.edge_start, self.edge_of = edges_of_bags(
            plan.vertex, uprooted.edges, uprooted.n_vertices
        )

    def upwards(self) -> float:
        plan, uprooted = self.plan, self.uprooted
        shift = _upwards(
            plan.vertex, plan.start, plan.separator, plan.parent, self.edge_start, self.edge_of,
            uprooted.edges, uprooted.weights, self.work, self.kept, self.pool,
        )  # fmt: skip
        # Where elimination ends, in one vertex, y and 1 - y count once each.
        ends = int((plan.parent < 0).sum()) * math.log(2)
        return math.fsum([uprooted.constant, self.offset, ends, *shift.tolist()])

    def downwards(self) -> tuple[Floats, Floats]:
        plan, uprooted = self.plan, self.uprooted
        p, pair = _downwards(
            plan.vertex, plan.start, plan.separator, plan.parent, self.edge_start, self.edge_of,
            uprooted.edges, uprooted.weights, self.kept, self.pool,
        )  # fmt: skip
        return p, pair


@njit(cache=True)
def layout(start: Ints, parent: Ints, keep: bool) -> tuple[Ints, Ints, int]:
    """Where each message is made and where it stays.

    In post-order the messages that wait lie on a stack, the children of a bag on top.
    """
    n = len(parent)
    work = np.empty(n, np.int64)
    kept = np.empty(n, np.int64)
    below = np.full(n, -1, np.int64)
    top, total = 0, 0
    for b in range(n):
        size = 1 << max(start[b + 1] - start[b] - 1, 0)
        work[b] = top
        kept[b] = top if keep or below[b] < 0 else below[b]
        total = max(total, top + size)
        top = kept[b] + size
        if parent[b] >= 0 and below[parent[b]] < 0:
            below[parent[b]] = kept[b]
        if parent[b] < 0 and not keep:
            top = kept[b]
    return work, kept, total


@njit(cache=True)
def edges_of_bags(vertex: Ints, edges: Ints, n: int) -> tuple[Ints, Ints]:
    """Give each edge to the bag of the end that is summed out first."""
    position = np.empty(n, np.int64)
    for b in range(n):
        position[vertex[b]] = b
    start = np.zeros(n + 1, np.int64)
    for e in range(len(edges)):
        start[min(position[edges[e, 0]], position[edges[e, 1]]) + 1] += 1
    start = np.cumsum(start)
    at = start[:-1].copy()
    edge_of = np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        b = min(position[edges[e, 0]], position[edges[e, 1]])
        edge_of[at[b]] = e
        at[b] += 1
    return start, edge_of


# A bag with separator S of k vertices has a table of 2^k numbers: bit 0 of the index is the
# vertex to be summed out, bit q + 1 is S[q], and S[k - 1] is held at 0. Its message has 2^(k-1)
# numbers, indexed by S[0], S[1], ... A child's index is a linear function, over GF(2), of the
# parent's: bits are moved, and where the child holds a vertex at 0 that the parent has at 1, all
# of the child's bits are flipped. So it is the XOR of one look-up for the low bits and one for
# the high bits, and scores are likewise the sum of two look-ups.


@njit(cache=True)
def child_maps(
    b: int, first: int, sibling: Ints, start: Ints, separator: Ints, low: int, high: int
) -> tuple[Ints, Ints, Ints]:
    """Children of bag b and the two look-ups of each."""
    count = 0
    c = first
    while c >= 0:
        count += 1
        c = sibling[c]
    children = np.empty(count, np.int64)
    maps_low = np.zeros((count, 1 << low), np.int64)
    maps_high = np.zeros((count, 1 << high), np.int64)
    column = np.empty(low + high, np.int64)
    begin = start[b]
    c = first
    for a in range(count):
        children[a] = c
        k = start[c + 1] - start[c]
        flip = (1 << (k - 1)) - 1
        column[:] = 0
        q = 0  # S[-1] of the parent, so to speak, is its own vertex: always the child's first
        for bit in range(low + high):
            if bit == 0:
                here = True
            else:
                here = q < k and separator[start[c] + q] == separator[begin + bit - 1]
            if here:
                column[bit] = flip if q == k - 1 else 1 << q
                q += 1
        for bit in range(low):
            for x in range(1 << bit):
                maps_low[a, x | 1 << bit] = maps_low[a, x] ^ column[bit]
        for bit in range(high):
            for x in range(1 << bit):
                maps_high[a, x | 1 << bit] = maps_high[a, x] ^ column[low + bit]
        c = sibling[c]
    return children, maps_low, maps_high


@njit(cache=True)
def own_scores(
    b: int, vertex: Ints, start: Ints, separator: Ints, edge_start: Ints, edge_of: Ints,
    edges: Ints, weights: Floats, low: int, high: int,
) -> tuple[Floats, Floats, Ints]:  # fmt: skip
    """Scores of the edges of bag b by low bits, and by high bits with the vertex at 0 and 1.

    The third array says at which bit each edge's other end is.
    """
    count = edge_start[b + 1] - edge_start[b]
    by_low = np.zeros(1 << low)
    by_high = np.zeros((2, 1 << high))
    bits = np.empty(count, np.int64)
    k = start[b + 1] - start[b]
    for a in range(count):
        e = edge_of[edge_start[b] + a]
        other = edges[e, 0] + edges[e, 1] - vertex[b]
        bit = k
        for q in range(k):
            if separator[start[b] + q] == other:
                bit = q + 1
        bits[a] = bit
        cost = abs(weights[e]) / 2
        odd = 1 if weights[e] < 0 else 0
        if low <= bit < k:
            for x in range(1 << high):
                s = x >> (bit - low) & 1
                by_high[1 - (s ^ odd), x] -= cost
        else:
            for x in range(1 << low):
                s = x >> bit & 1 if bit < k else 0
                if (x & 1) ^ s != odd:
                    by_low[x] -= cost
    return by_low, by_high, bits


@njit(cache=True)
def fill_block(
    x: int, by_low: Floats, by_high: Floats, children: Ints, maps_low: Ints, maps_high: Ints,
    kept: Ints, pool: Floats, block: Floats,
) -> None:  # fmt: skip
    """Scores of the table's entries with high bits x."""
    for y in range(0, len(block), 2):
        block[y] = by_low[y] + by_high[0, x]
        block[y + 1] = by_low[y + 1] + by_high[1, x]
    for a in range(len(children)):
        base = kept[children[a]]
        high = maps_high[a, x]
        for y in range(len(block)):
            block[y] += pool[base + (maps_low[a, y] ^ high)]


@njit(cache=True)
def links(parent: Ints) -> tuple[Ints, Ints]:
    """First child and next sibling of each bag, -1 where there is none."""
    child = np.full(len(parent), -1, np.int64)
    sibling = np.full(len(parent), -1, np.int64)
    for b in range(len(parent)):
        if parent[b] >= 0:
            sibling[b] = child[parent[b]]
            child[parent[b]] = b
    return child, sibling


@njit(cache=True)
def _upwards(
    vertex: Ints, start: Ints, separator: Ints, parent: Ints, edge_start: Ints, edge_of: Ints,
    edges: Ints, weights: Floats, work: Ints, kept: Ints, pool: Floats,
) -> Floats:  # fmt: skip
    """Fill the pool with messages, each with maximum 0; return what was taken off them."""
    n = len(vertex)
    child, sibling = links(parent)
    shift = np.zeros(n)
    for b in range(n):
        k = start[b + 1] - start[b]
        if k == 0:  # the end of a component: its children are constants, all 0 by now
            pool[work[b]] = 0.0
            pool[kept[b]] = 0.0
            continue
        low = min(k, BLOCK)
        children, maps_low, maps_high = child_maps(
            b, child[b], sibling, start, separator, low, k - low
        )
        by_low, by_high, _ = own_scores(
            b, vertex, start, separator, edge_start, edge_of, edges, weights, low, k - low
        )
        block = np.empty(1 << low)
        out = work[b]
        best = -np.inf
        for x in range(1 << (k - low)):
            fill_block(x, by_low, by_high, children, maps_low, maps_high, kept, pool, block)
            for y in range(0, len(block), 2):
                above, gap = block[y], block[y + 1] - block[y]
                if gap > 0:
                    above, gap = block[y + 1], -gap
                if gap > -40.0:
                    above += math.log1p(math.exp(gap))
                pool[out] = above
                out += 1
                best = max(best, above)
        shift[b] = best
        size = 1 << (k - 1)
        for y in range(size):
            pool[kept[b] + y] = pool[work[b] + y] - best
    return shift


@njit(cache=True)
def _downwards(
    vertex: Ints, start: Ints, separator: Ints, parent: Ints, edge_start: Ints, edge_of: Ints,
    edges: Ints, weights: Floats, kept: Ints, pool: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Probabilities p(v = 1) and pair tables, given that the last of each separator is 0."""
    n = len(vertex)
    child, sibling = links(parent)
    belief = np.zeros(len(pool))
    p = np.zeros(n)
    pair = np.empty((len(edges), 2, 2))
    for b in range(n - 1, -1, -1):
        k = start[b + 1] - start[b]
        if k == 0:
            c = child[b]
            while c >= 0:
                belief[kept[c]] = 1.0
                c = sibling[c]
            continue
        low = min(k, BLOCK)
        children, maps_low, maps_high = child_maps(
            b, child[b], sibling, start, separator, low, k - low
        )
        by_low, by_high, bits = own_scores(
            b, vertex, start, separator, edge_start, edge_of, edges, weights, low, k - low
        )
        block = np.empty(1 << low)
        sum_low = np.zeros(1 << low)
        sum_high = np.zeros((2, 1 << (k - low)))
        at = kept[b]
        for x in range(1 << (k - low)):
            fill_block(x, by_low, by_high, children, maps_low, maps_high, kept, pool, block)
            total0, total1 = 0.0, 0.0
            for y in range(0, len(block), 2):
                gap = block[y + 1] - block[y]
                t = math.exp(-abs(gap))
                likely = belief[at] / (1.0 + t)
                unlikely = likely * t
                at += 1
                if gap > 0:
                    block[y], block[y + 1] = unlikely, likely
                else:
                    block[y], block[y + 1] = likely, unlikely
                total0 += block[y]
                total1 += block[y + 1]
            sum_high[0, x], sum_high[1, x] = total0, total1
            for y in range(len(block)):
                sum_low[y] += block[y]
            for a in range(len(children)):
                base = kept[children[a]]
                high = maps_high[a, x]
                for y in range(len(block)):
                    belief[base + (maps_low[a, y] ^ high)] += block[y]
        p[vertex[b]] = sum_high[1].sum()
        for a in range(len(bits)):
            e = edge_of[edge_start[b] + a]
            table = np.zeros((2, 2))
            if low <= bits[a] < k:
                for x in range(sum_high.shape[1]):
                    s = x >> (bits[a] - low) & 1
                    table[0, s] += sum_high[0, x]
                    table[1, s] += sum_high[1, x]
            else:
                for x in range(len(sum_low)):
                    s = x >> bits[a] & 1 if bits[a] < k else 0
                    table[x & 1, s] += sum_low[x]
            pair[e] = table if edges[e, 0] == vertex[b] else table.T
    return p, pair
