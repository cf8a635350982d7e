"""The exceptions of mapreroot: one family, so that one ``except`` catches them all."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "FormatError",
    "InfeasibleError",
    "MapRerootError",
    "ModelError",
    "NotATreeError",
    "NotBalancedError",
    "SizeError",
    "SolverError",
]


class MapRerootError(Exception):
    """Base of every error that mapreroot raises on purpose."""


class ModelError(MapRerootError, ValueError):
    """A model, or an argument that goes with one, that breaks a rule."""


class FormatError(ModelError):
    """A file that does not say what its format says it should.

    Attributes
    ----------
    path : str or None
        The file.
    line : int or None
        The 1-based line where reading stopped, when one line is to blame.
    """

    def __init__(self, message: str, path: str | None = None, line: int | None = None) -> None:
        self.message, self.path, self.line = message, path, line
        where = "" if path is None else path + (":" if line is None else f", line {line}:") + " "
        super().__init__(where + message)

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, str | None, int | None]]:
        return type(self), (self.message, self.path, self.line)


class InfeasibleError(MapRerootError, ValueError):
    """Hard constraints (with the evidence, if any) that contradict each other."""


class _CycleError(MapRerootError, ValueError):
    """A method's precondition fails, and a cycle shows it."""

    def __init__(self, message: str, cycle: Sequence[int] = ()) -> None:
        self.message, self.cycle = message, tuple(cycle)
        super().__init__(message)

    def __reduce__(self) -> tuple[type[_CycleError], tuple[str, tuple[int, ...]]]:
        return type(self), (self.message, self.cycle)


class NotBalancedError(_CycleError):
    """A minimum cut was asked for where a frustrated cycle forbids it.

    Attributes
    ----------
    cycle : tuple of int
        Vertices of a cycle with an odd number of repulsive edges.
    """


class NotATreeError(_CycleError):
    """A tree method was asked for where there is a cycle.

    Attributes
    ----------
    cycle : tuple of int
        Vertices of a cycle.
    """


class SizeError(MapRerootError):
    """The work would not fit: the message forecasts its size and names the way out."""


class SolverError(MapRerootError):
    """A solver stopped without a usable answer; the message carries its own status."""
