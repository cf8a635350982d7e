"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mapreroot.errors import InfeasibleError, ModelError
from mapreroot.formats import FORMATS, ModelFile, read_evidence, read_file

__all__ = [
    "EvidenceOption",
    "FileArgument",
    "FixOption",
    "FormatOption",
    "JsonOption",
    "QuietOption",
    "SchedulerOption",
    "load",
]

_NAMES = ", ".join(form.name for form in FORMATS)

FileArgument = Annotated[str, typer.Argument(help="A model file, .gz or not; - for stdin.")]
FormatOption = Annotated[
    str | None, typer.Option("--format", help=f"One of {_NAMES}; by default by the extension.")
]
EvidenceOption = Annotated[
    Path | None, typer.Option("--evidence", help="A UAI evidence file to condition on.")
]
FixOption = Annotated[
    list[str] | None,
    typer.Option("--fix", metavar="LABEL=0/1", help="Clamp a variable; may be repeated."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, nothing else.")]
SchedulerOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A dask.distributed scheduler that does the work."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages.")]


def load(
    path: str,
    format: str | None,  # noqa: A002
    evidence: Path | None,
    fix: list[str] | None,
) -> ModelFile:
    """Read a file, conditioned on what the options say."""
    observed = {} if evidence is None else dict(read_evidence(evidence))
    for text in fix or ():
        name, _, value = text.rpartition("=")
        if not name or value not in ("0", "1"):
            raise ModelError(f"--fix {text}: expected LABEL=0 or LABEL=1")
        if observed.setdefault(name, int(value)) != int(value):
            raise InfeasibleError(f"--fix {text} contradicts the evidence, which says otherwise")
    return read_file(path, format, observed)
