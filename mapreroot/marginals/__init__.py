"""log Z and marginals, exact and approximate, under any rooting."""

from mapreroot.marginals.bounds import Bounds, bounds
from mapreroot.marginals.inference import LogPartition, Marginals, log_partition, marginals
from mapreroot.marginals.subgraphs import Estimate, estimate_log_partition

__all__ = [
    "Bounds",
    "Estimate",
    "LogPartition",
    "Marginals",
    "bounds",
    "estimate_log_partition",
    "log_partition",
    "marginals",
]
