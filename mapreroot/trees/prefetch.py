"""Asking for the records of a batch before they are needed."""

from __future__ import annotations

from numba import njit

from mapreroot.prefetch import prefetch
from mapreroot.trees.cover import Ids
from mapreroot.trees.extended import Int
from mapreroot.trees.records import Records, head

__all__ = ["AHEAD", "look_ahead"]

AHEAD = 8  # items between a record's first request and its use; one more level per item
RING = 16  # a power of two above AHEAD


@njit(cache=True)
def look_ahead(R: Records, at: Ids, j: Int, ring: Ids) -> None:
    """Before item j of a batch: request records of the next items, a level more of each.

    Start with j = -AHEAD and a ring of zeros.
    """
    for level in range(AHEAD):
        item = j + AHEAD - level
        if 0 <= item < len(at):
            x = at[item] if level == 0 else R.I[head(R, ring[item % RING])]
            ring[item % RING] = x
            word = head(R, x) // 2
            for line in range(3 if R.k == 2 else 8):
                prefetch(R.F, min(word + 8 * line, len(R.F) - 1))
