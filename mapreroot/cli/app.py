"""The program itself: its commands, and what becomes of errors."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mapreroot.cli.interrupts import leaving_at_once, raising
from mapreroot.cli.output import EXPECTED, complain, say

__all__ = ["app", "run"]

# typer has its own copy of click in some releases and imports click in others; either way this
# is the class its errors come from.
_ClickException: type[Exception] = typer.BadParameter.__mro__[2]

# Which module each command is in.
_MODULES = {
    "solve": "answers",
    "verify": "answers",
    "roots": "answers",
    "tightness": "tightness",
    "logz": "inference",
    "marginals": "inference",
    "info": "files",
    "convert": "files",
    "report": "report",
    "batch": "studies",
    "doctor": "doctor",
    "generate": "families",
    "experiment": "studies",
}


class _Commands(TyperGroup):
    """Commands that are imported when they are asked for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        known: Any = dict.fromkeys(_MODULES)
        self.commands.update(known)  # from which a typing error is explained

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _MODULES:
            return None
        with leaving_at_once():
            module = import_module(f"mapreroot.cli.{_MODULES[cmd_name]}")
        found = getattr(module, cmd_name)
        if isinstance(found, typer.Typer):
            return typer.main.get_group(found)
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(cmd_name)(found)
        return typer.main.get_command(alone)

    def invoke(self, ctx: Any) -> Any:
        try:
            with raising():
                code = super().invoke(ctx)
                if sys.stdout is not None:  # None where it was closed before the start
                    sys.stdout.flush()
                return code
        except KeyboardInterrupt:  # of which typer would say nothing
            say("interrupted")
            raise typer.Exit(130) from None


app = typer.Typer(
    name="mapreroot",
    cls=_Commands,
    help="MAP inference on binary pairwise models (QUBO, Ising, max-cut, UAI), by rerooting.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from mapreroot import __version__

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


def run() -> int:
    """Run what `sys.argv` says, and give the exit code."""
    try:
        return app(standalone_mode=False) or 0
    except _ClickException as error:
        if message := error.format_message():  # type: ignore[attr-defined]  # empty when it was help that was asked for
            say(f"error: {message} (see --help)")
        return 2
    except EXPECTED as error:
        return complain(error)
