"""``generate``: one command for each seeded family of `mapreroot.generate`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mapreroot.cli.output import say
from mapreroot.formats import write_model
from mapreroot.generate import FAMILIES

__all__ = ["generate"]

generate = typer.Typer(
    name="generate",
    help="Write a seeded random model of one of the papers' families.",
    no_args_is_help=True,
)


def _option(parameter: inspect.Parameter) -> inspect.Parameter:
    """Make a family's parameter one that the command line can parse."""
    if parameter.annotation in (str | float, float | str):
        parameter = parameter.replace(annotation=str, default=str(parameter.default))
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _value(text: Any) -> Any:
    """Read a number where a parameter takes a name or a number."""
    try:
        return float(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _command(name: str, family: Callable[..., Any]) -> Callable[..., None]:
    def command(output: str, to: str | None, **parameters: Any) -> None:
        model = family(**{key: _value(value) for key, value in parameters.items()})
        write_model(model, output, to)
        say(f"{output}: {name}, {model.n} variables, {model.m} edges")

    given = inspect.signature(family, eval_str=True).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [
        inspect.Parameter(
            "output",
            keyword,
            annotation=Annotated[str, typer.Argument(help="The file to write.", metavar="OUT")],
        ),
        inspect.Parameter(
            "to",
            keyword,
            default=None,
            annotation=Annotated[
                str | None, typer.Option("--to", help="Format of OUT; by default by its extension.")
            ],
        ),
    ]
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*own, *map(_option, given)]
    )
    purpose = (family.__doc__ or "").strip().partition("\n")[0]
    command.__doc__ = f"{purpose}\n\nExample: mapreroot generate {name} model.json --seed 1"
    return command


for _name, _family in FAMILIES.items():
    generate.command(_name)(_command(_name, _family))
