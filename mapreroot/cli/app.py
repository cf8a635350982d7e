"""The program itself: its commands, and what becomes of errors."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from mapreroot import __version__
from mapreroot.cli import (
    answers,
    doctor,
    families,
    files,
    inference,
    report,
    studies,
    tightness,
)
from mapreroot.cli.output import EXPECTED, complain, say

__all__ = ["app", "main"]

# typer has its own copy of click in some releases and imports click in others; either way this
# is the class its errors come from.
_ClickException: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="mapreroot",
    help="MAP inference on binary pairwise models (QUBO, Ising, max-cut, UAI), by rerooting.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: tuple[Callable[..., int | None], ...] = (
    answers.solve,
    answers.verify,
    answers.roots,
    tightness.tightness,
    inference.logz,
    inference.marginals,
    files.info,
    files.convert,
    report.report,
    studies.batch,
    doctor.doctor,
)
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(families.app)
app.add_typer(studies.app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mapreroot {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
) -> None:
    """Declare what comes before a command."""


def main() -> None:
    """Run the command line; the exit codes are 0, 1, 2, 3 and 130.

    0: solved as asked. 1: a feasible answer with a gap, or a certificate refused. 2: bad usage or
    bad input. 3: a solver failed. 130: interrupted, the incumbent printed.
    """
    try:
        code = app(standalone_mode=False)
    except _ClickException as error:
        if message := error.format_message():  # type: ignore[attr-defined]  # empty when it was help that was asked for
            say(f"error: {message} (see --help)")
        code = 2
    except EXPECTED as error:
        code = complain(error)
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        code = 130
    sys.exit(code or 0)
