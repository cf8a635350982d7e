"""Exact inference on trees: two-pass solvers, and the hierarchical cover as an online engine."""

from mapreroot.trees.cover import Kind, Slot, TreeCover
from mapreroot.trees.forest import forest_log_partition, forest_marginals, forest_max
from mapreroot.trees.hedge import TreeHedge
from mapreroot.trees.max_product import OnlineMaxProduct
from mapreroot.trees.rooting import find_cycle
from mapreroot.trees.sum_product import OnlineSumProduct

__all__ = [
    "Kind",
    "OnlineMaxProduct",
    "OnlineSumProduct",
    "Slot",
    "TreeCover",
    "TreeHedge",
    "find_cycle",
    "forest_log_partition",
    "forest_marginals",
    "forest_max",
]
