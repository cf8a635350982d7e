"""log Z and marginals, exact and approximate, under any rooting."""

from mapreroot.marginals.inference import LogPartition, Marginals, log_partition, marginals

__all__ = ["LogPartition", "Marginals", "log_partition", "marginals"]
