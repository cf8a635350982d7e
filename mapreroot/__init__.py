"""MAP inference on binary pairwise models by uprooting and rerooting (Weller 2016)."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # as type checkers know it, without loading typing
if TYPE_CHECKING:
    from typing import Any

    from mapreroot.api import *  # noqa: F403

    __version__: str


class _Package(ModuleType):
    """Imports what it holds when that is asked for, so that the command line is there at once."""

    def __getattr__(self, name: str) -> Any:
        from importlib.util import find_spec

        if name == "__version__":
            from importlib.metadata import version

            self.__version__ = version("mapreroot")
        elif name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        elif find_spec(f"mapreroot.{name}"):
            import_module(f"mapreroot.{name}")
        else:
            setattr(self, name, getattr(import_module("mapreroot.api"), name))
        return vars(self)[name]

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing mapreroot.solve binds that name to the module; here it stays the function.
        if isinstance(value, ModuleType):
            value = vars(value).get(name, value)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *import_module("mapreroot.api").__all__})


sys.modules[__name__].__class__ = _Package
