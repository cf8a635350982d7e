"""M+ at one root: a minimum cut where that is balanced, two passes where it is a forest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mapreroot.balance import balancing_vertices, rooted_balance
from mapreroot.decomposition import block_counts, components
from mapreroot.errors import NotATreeError, NotBalancedError
from mapreroot.exact.mincut import balanced_map
from mapreroot.model import UprootedModel
from mapreroot.trees import find_cycle, forest_max

__all__ = ["balanced_root", "cut_at", "forest_root", "forest_roots", "tree_at"]

Bits = npt.NDArray[np.int8]


def balanced_root(uprooted: UprootedModel) -> int | None:
    """Find the lowest vertex whose rooting is balanced; None if there is none."""
    if rooted_balance(uprooted, 0).is_balanced:  # the common case, and cheaper to see
        return 0
    found = balancing_vertices(uprooted)
    return int(found[0]) if len(found) else None


def cut_at(uprooted: UprootedModel, root: int) -> Bits:
    """Solve a balanced rooting by a minimum cut.

    Raises
    ------
    NotBalancedError
        With a frustrated cycle of M_root, in vertices of M+.
    """
    signs = rooted_balance(uprooted, root)
    if signs.switching is None:
        cycle = signs.frustrated_cycle or ()
        raise NotBalancedError(
            f"M_{root} is not balanced: its cycle {'-'.join(map(str, cycle))} has an odd number of "
            "repulsive edges; take another root or another method ('auto' finds one)",
            cycle,
        )
    return balanced_map(uprooted, root, signs.switching).y


def forest_roots(uprooted: UprootedModel) -> npt.NDArray[np.int64]:
    """Find all vertices that lie on every cycle of M+: rooted there it is a forest.

    Notes
    -----
    Removing v takes its deg(v) edges and splits its component into as many parts as it lies on
    blocks; a forest is left iff deg(v) - blocks(v) is the number of independent cycles. Linear.

    Examples
    --------
    >>> forest_roots(UprootedModel(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [1.0] * 4)).tolist()
    [0, 1, 2]
    """
    degree = np.bincount(uprooted.edges.ravel(), minlength=uprooted.n_vertices)
    independent = uprooted.m - uprooted.n_vertices + components(uprooted)[0]
    return np.flatnonzero(degree - block_counts(uprooted) == independent)


def forest_root(uprooted: UprootedModel) -> int | None:
    """Find the lowest vertex whose rooting is a forest; None if there is none."""
    i, j = uprooted.edges.T
    if np.count_nonzero((i > 0) & (j > 0)) >= max(1, uprooted.n_vertices - 1):
        least = uprooted.m - uprooted.n_vertices + 2  # a root has to take this many edges away
        if np.bincount(uprooted.edges.ravel()).max() < least:
            return None
    found = forest_roots(uprooted)
    return int(found[0]) if len(found) else None


def tree_at(uprooted: UprootedModel, root: int) -> Bits:
    """Solve a rooting that is a forest by dynamic programming.

    Raises
    ------
    NotATreeError
        With a cycle of M_root, in vertices of M+.
    """
    rest = (uprooted.edges != root).all(axis=1)
    cycle = find_cycle(uprooted.n_vertices, uprooted.edges[rest])
    if cycle is not None:
        raise NotATreeError(
            f"M_{root} is not a forest: it has the cycle {'-'.join(map(str, cycle))}", cycle
        )
    rooted = uprooted.reroot(root)
    return np.insert(forest_max(rooted.theta, rooted.edges, rooted.weights), root, 0)
