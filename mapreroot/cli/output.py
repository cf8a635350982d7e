"""What goes where: results to stdout, messages and progress to stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mapreroot.errors import MapRerootError, SolverError

if TYPE_CHECKING:
    from mapreroot.solve import Progress

__all__ = ["EXPECTED", "complain", "print_json", "print_table", "progress_line", "say", "shown"]


def say(message: str) -> None:
    """Print a message to stderr, on one line."""
    print("mapreroot: " + " ".join(message.split()), file=sys.stderr)


EXPECTED = (MapRerootError, OSError, ImportError, MemoryError)  # errors that need no traceback


def complain(error: BaseException) -> int:
    """Print an expected error to stderr, and give its exit code."""
    say(f"error: {str(error) or 'out of memory'}")
    return 3 if isinstance(error, SolverError) else 2


def print_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object to stdout; what JSON has no word for becomes a string or null."""
    print(json.dumps(_plain(values), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if hasattr(value, "tolist"):  # an array or a number of numpy's
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)


def print_table(rows: Mapping[str, Any]) -> None:
    """Print names and values, one a line, aligned; None is left out."""
    width = max(len(name) for name in rows) + 2
    for name, value in rows.items():
        if value is not None:
            print(f"{name:<{width}}{value}")


def shown(number: float) -> str:
    """Write a score so that nothing a reader could need is lost."""
    return f"{number:.12g}"


@contextmanager
def progress_line(quiet: bool) -> Iterator[Any]:
    """Give a callback for `mapreroot.solve` that keeps one line on a terminal's stderr current."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from numba.core import event
    from rich.console import Console

    class Compiling(event.Listener):  # type: ignore[misc]
        """Say what the first run on a machine spends its time on."""

        def on_start(self, _: object) -> None:
            status.update("compiling for this machine: once, about half a minute")

        def on_end(self, _: object) -> None:
            status.update("solving")

    with (
        Console(stderr=True).status("solving") as status,
        event.install_listener("numba:compile", Compiling()),
    ):

        def update(state: Progress) -> None:
            gap = (state.bound - state.score) / max(1.0, abs(state.score))
            status.update(
                f"score {state.score:.9g}  bound {state.bound:.9g}  gap {gap:.2%}  "
                f"nodes {state.nodes}  {state.seconds:.1f} s"
            )

        yield update
