"""Exact ways to make M+ smaller: reductions and biconnected blocks, with the way back."""

from mapreroot.decomposition.blocks import (
    Block,
    align,
    block_counts,
    blocks,
    components,
    outwards,
    recombine,
)
from mapreroot.decomposition.reduction import Reduction, Step, contract, reduce

__all__ = [
    "Block",
    "Reduction",
    "Step",
    "align",
    "block_counts",
    "blocks",
    "components",
    "contract",
    "outwards",
    "recombine",
    "reduce",
]
