"""What goes where: results to stdout, messages and progress to stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mapreroot.errors import MapRerootError, SolverError

if TYPE_CHECKING:
    from mapreroot.solve import Progress

__all__ = [
    "EXPECTED",
    "complain",
    "print_json",
    "print_table",
    "progress_line",
    "say",
    "search_state",
    "shown",
    "status_line",
    "tri_state",
]


def say(message: str) -> None:
    """Print a message to stderr, on one line."""
    print("mapreroot: " + " ".join(message.split()), file=sys.stderr)


EXPECTED = (MapRerootError, OSError, ImportError, MemoryError)  # errors that need no traceback


def complain(error: BaseException) -> int:
    """Print an expected error to stderr, and give its exit code."""
    text = str(error) or "out of memory"
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    say(f"error: {text}")
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


def search_state(state: Progress) -> str:
    """Say where a search stands, on one line."""
    gap = (state.bound - state.score) / max(1.0, abs(state.score))
    return (
        f"score {state.score:.9g}  bound {state.bound:.9g}  gap {gap:.2%}  "
        f"nodes {state.nodes}  {state.seconds:.1f} s"
    )


def tri_state(bound: float, rounds: int, n_cuts: int) -> str:
    """Say where the cutting planes of TRI stand, on one line."""
    return f"TRI at most {bound:.9g}  linear programs {rounds}  cycle inequalities {n_cuts}"


@contextmanager
def progress_line(quiet: bool) -> Iterator[Any]:
    """Give a callback for `mapreroot.solve` that keeps one line on a terminal's stderr current."""
    with status_line(quiet) as show:

        def update(state: Progress) -> None:
            if show is not None:
                show(search_state(state))

        yield show and update


@contextmanager
def status_line(quiet: bool) -> Iterator[Callable[[str], None] | None]:
    """Give what keeps one line on a terminal's stderr current; None where there is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from numba.core import event
    from rich.console import Console

    class Compiling(event.Listener):  # type: ignore[misc]
        """Say what the first run on a machine spends its time on."""

        def on_start(self, _: object) -> None:
            status.update("compiling for this machine: once, up to a minute")

        def on_end(self, _: object) -> None:
            status.update("solving")

    with (
        Console(stderr=True).status("solving") as status,
        event.install_listener("numba:compile", Compiling()),
    ):
        yield status.update
