"""MAP inference on binary pairwise models by uprooting and rerooting (Weller 2016)."""

from importlib.metadata import version

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
from mapreroot.model import Model, UprootedModel
from mapreroot.rerooting import restore_map, restore_marginals, uproot

__version__ = version("mapreroot")

__all__ = [
    "FormatError",
    "InfeasibleError",
    "MapRerootError",
    "Model",
    "ModelError",
    "NotATreeError",
    "NotBalancedError",
    "SizeError",
    "SolverError",
    "UprootedModel",
    "read_model",
    "restore_map",
    "restore_marginals",
    "uproot",
    "write_model",
]
