"""``report``: a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapreroot.cli.options import EvidenceOption, FileArgument, FixOption, FormatOption, load
from mapreroot.cli.output import say
from mapreroot.report.page import write_page

__all__ = ["report"]


def report(
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page to write; - for stdout.")
    ],
    certificate: Annotated[
        Path | None, typer.Option(help="What solve --certificate wrote, to be checked and shown.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for proving the MAP; without one it is proved.")
    ] = None,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
) -> None:
    """Write a self-contained HTML page on which the model can be rerooted.

    Example: mapreroot report spins.mc -o report.html
    """
    model_file = load(file, format, evidence, fix)
    write_page(model_file, output, certificate, time_limit)
    say(f"{output}: {model_file.model.n} variables, {model_file.model.m} edges")
