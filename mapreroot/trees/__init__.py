"""Exact inference on trees: two-pass solvers, and the hierarchical cover as an online engine."""

from mapreroot.trees.forest import (
    find_cycle,
    forest_log_partition,
    forest_marginals,
    forest_max,
)

__all__ = [
    "find_cycle",
    "forest_log_partition",
    "forest_marginals",
    "forest_max",
]
