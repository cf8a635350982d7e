"""M+ at one root: a minimum cut where that is balanced, two passes where it is a forest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mapreroot.balance import balancing_vertices, rooted_balance
from mapreroot.errors import NotATreeError, NotBalancedError
from mapreroot.model import UprootedModel
from mapreroot.roots import forest_root, forest_roots
from mapreroot.trees import find_cycle, forest_max

__all__ = ["balanced_rooting", "forest_root", "forest_roots", "not_balanced", "tree_at"]

Bits = npt.NDArray[np.int8]


def balanced_rooting(uprooted: UprootedModel, root: int | None = None) -> tuple[int, Bits] | None:
    """Find a balanced rooting.

    Parameters
    ----------
    uprooted : UprootedModel
    root : int, optional
        The only one to look at; by default the lowest vertex that has one.

    Returns
    -------
    (root, switching) or None
        What `balanced_map` takes.
    """
    # Most often it is the model's own; and that is cheaper to see than all balancing vertices.
    flips = rooted_balance(uprooted, root or 0).switching
    if flips is not None:
        return root or 0, flips
    found = balancing_vertices(uprooted) if root is None else []
    if not found:
        return None
    flips = rooted_balance(uprooted, found[0]).switching
    assert flips is not None
    return found[0], flips


def not_balanced(uprooted: UprootedModel, root: int | None) -> NotBalancedError:
    """Make the error that shows why a rooting, or every rooting, is not balanced."""
    at = 0 if root is None else root
    cycle = rooted_balance(uprooted, at).frustrated_cycle or ()
    which = f"M_{root} is not balanced" if root is not None else "no rooting of M+ is balanced"
    return NotBalancedError(
        f"{which}: the cycle {'-'.join(map(str, cycle))} of M_{at} has an odd number of repulsive "
        "edges; take another root, or method='auto'",
        cycle,
    )


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
