"""Max-marginals of M+ by elimination: the tables of log Z with maxima for sums."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.decomposition import components
from mapreroot.errors import SizeError
from mapreroot.marginals.elimination import Elimination, eliminate
from mapreroot.marginals.exact import (
    BLOCK,
    child_maps,
    edges_of_bags,
    fill_block,
    layout,
    links,
    own_scores,
)
from mapreroot.model import UprootedModel

__all__ = ["elimination_order", "max_product"]

Bits = npt.NDArray[np.int8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def elimination_order(uprooted: UprootedModel, root: int, entries: int) -> Elimination | None:
    """Plan `max_product`; None where its tables would have more than ``entries`` numbers.

    Notes
    -----
    The root is eliminated last, and is in every table of its component.
    """
    component = components(uprooted)[1]
    held = component == component[root]
    try:
        plan = eliminate(uprooted.n_vertices, uprooted.edges, (root,), held, 8.0 * entries)
    except SizeError:
        return None
    return plan if plan.entries <= entries else None


def max_product(uprooted: UprootedModel, root: int, plan: Elimination) -> tuple[Bits, Floats]:
    """Find an optimum of M+ and what it costs to hold each vertex at either value.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats.
    root : int
    plan : Elimination
        Of `elimination_order`, for the same root.

    Returns
    -------
    y : ndarray of int8, shape (n_vertices,)
        An optimum.
    below : ndarray, shape (n_vertices, 2)
        ``[v, a]``: the best score with y_v XOR y_root = a, less the best of all: at most 0.
        ``[root, 1]`` is -inf. Without a path to the root both are 0.

    Notes
    -----
    O(n 2^w) for treewidth w of M+. Downwards a table is what its maximum is plus how far each
    entry is below it, so that nothing cancels; see `mapreroot.marginals.exact`.

    Examples
    --------
    >>> path = UprootedModel(3, [(0, 1), (1, 2)], [-2.0, 3.0])
    >>> y, below = max_product(path, 0, elimination_order(path, 0, 100))
    >>> y.tolist(), below[1:].tolist()
    ([0, 1, 1], [[-1.0, 0.0], [-1.0, 0.0]])
    """
    work, kept, total = layout(plan.start, plan.parent, True)
    edge_start, edge_of = edges_of_bags(plan.vertex, uprooted.edges, uprooted.n_vertices)
    pool = np.empty(total)
    y, below = _max_product(
        plan.vertex, plan.start, plan.separator, plan.parent, edge_start, edge_of,
        uprooted.edges, uprooted.weights, work, kept, pool,
    )  # fmt: skip
    component = components(uprooted)[1]
    below[component != component[root]] = 0.0
    below[root] = 0.0, -np.inf
    return y, below


@njit(cache=True)
def _max_product(
    vertex: Ints, start: Ints, separator: Ints, parent: Ints, edge_start: Ints, edge_of: Ints,
    edges: Ints, weights: Floats, work: Ints, kept: Ints, pool: Floats,
) -> tuple[Bits, Floats]:  # fmt: skip
    """Messages upwards, each with maximum 0; an optimum and max-marginals downwards."""
    n = len(vertex)
    child, sibling = links(parent)
    best = np.zeros(len(pool))
    y = np.zeros(n, np.int8)
    below = np.full((n, 2), -np.inf)
    for step in range(2 * n):
        upwards = step < n
        b = step if upwards else 2 * n - 1 - step
        k = start[b + 1] - start[b]
        if k == 0:  # the end of a component
            if upwards:
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
        if upwards:
            out = work[b]
            top = -np.inf
            for x in range(1 << (k - low)):
                fill_block(x, by_low, by_high, children, maps_low, maps_high, kept, pool, block)
                for z in range(0, len(block), 2):
                    pool[out] = max(block[z], block[z + 1])
                    top = max(top, pool[out])
                    out += 1
            for z in range(1 << (k - 1)):
                pool[kept[b] + z] = pool[work[b] + z] - top
                best[kept[b] + z] = -np.inf
            if parent[b] >= 0 and start[parent[b] + 1] == start[parent[b]]:
                best[kept[b]] = 0.0
            continue
        held = y[separator[start[b] + k - 1]]
        chosen = 0
        for q in range(k - 1):
            chosen |= (y[separator[start[b] + q]] ^ held) << q
        entry = 0
        v = vertex[b]
        for x in range(1 << (k - low)):
            fill_block(x, by_low, by_high, children, maps_low, maps_high, kept, pool, block)
            for z in range(0, len(block), 2):
                gap = block[z + 1] - block[z]
                if entry == chosen:
                    y[v] = held ^ np.int8(gap > 0)
                block[z] = best[kept[b] + entry] - max(gap, 0.0)
                block[z + 1] = best[kept[b] + entry] + min(gap, 0.0)
                below[v, 0] = max(below[v, 0], block[z])
                below[v, 1] = max(below[v, 1], block[z + 1])
                entry += 1
            for a in range(len(children)):
                base = kept[children[a]]
                high = maps_high[a, x]
                for z in range(len(block)):
                    at = base + (maps_low[a, z] ^ high)
                    best[at] = max(best[at], block[z])
    return y, below
