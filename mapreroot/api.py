"""The names of the package, all at once: ``mapreroot.solve`` is ``mapreroot.api.solve``."""

from mapreroot import trees
from mapreroot.balance import Balance, balance, balancing_set, balancing_vertices
from mapreroot.certificates import Verification, verify
from mapreroot.clamping import Clamping, clamp_and_reroot
from mapreroot.errors import (
    FormatError,
    InfeasibleError,
    MapRerootError,
    ModelError,
    NotATreeError,
    NotBalancedError,
    SizeError,
    SolverError,
)
from mapreroot.formats import read_model, write_model
from mapreroot.marginals import (
    Bounds,
    Estimate,
    LogPartition,
    Marginals,
    bounds,
    estimate_log_partition,
    log_partition,
    marginals,
)
from mapreroot.max_marginals import MaxMarginals, max_marginals
from mapreroot.model import Model, UprootedModel
from mapreroot.optima import Optima, all_optima
from mapreroot.relax import Relaxation, relax
from mapreroot.rerooting import restore_map, restore_marginals, uproot
from mapreroot.roots import RootChoice, choose_root
from mapreroot.solve import MapResult, Progress, solve
from mapreroot.tightness import TightnessReport, invariance, tightness

__all__ = [
    "Balance",
    "Bounds",
    "Clamping",
    "Estimate",
    "FormatError",
    "InfeasibleError",
    "LogPartition",
    "MapRerootError",
    "MapResult",
    "Marginals",
    "MaxMarginals",
    "Model",
    "ModelError",
    "NotATreeError",
    "NotBalancedError",
    "Optima",
    "Progress",
    "Relaxation",
    "RootChoice",
    "SizeError",
    "SolverError",
    "TightnessReport",
    "UprootedModel",
    "Verification",
    "all_optima",
    "balance",
    "balancing_set",
    "balancing_vertices",
    "bounds",
    "choose_root",
    "clamp_and_reroot",
    "estimate_log_partition",
    "invariance",
    "log_partition",
    "marginals",
    "max_marginals",
    "read_model",
    "relax",
    "restore_map",
    "restore_marginals",
    "solve",
    "tightness",
    "trees",
    "uproot",
    "verify",
    "write_model",
]
