"""``logz`` and ``marginals``: inference beside MAP, under any rooting."""

from __future__ import annotations

from typing import Annotated

import typer

from mapreroot.cli.options import (
    EvidenceOption,
    FileArgument,
    FixOption,
    FormatOption,
    JsonOption,
    load,
)
from mapreroot.cli.output import print_json, print_table, shown
from mapreroot.errors import ModelError
from mapreroot.marginals import log_partition
from mapreroot.marginals import marginals as model_marginals

__all__ = ["logz", "marginals"]

MethodOption = Annotated[str, typer.Option(help="exact, bethe, trw or mean_field.")]
RootOption = Annotated[
    str | None,
    typer.Option(help="A vertex of M+, or auto (the default), max_w, max_tw, uprooted."),
]


def _root(text: str | None) -> int | str | None:
    if text is None or not text.lstrip("-").isdigit():
        return text
    return int(text)


def logz(
    file: FileArgument,
    method: MethodOption = "exact",
    root: RootOption = None,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    json: JsonOption = False,
) -> int:
    """Compute the log partition function, in natural-log units.

    Example: mapreroot logz grid.uai --method trw --root max_tw
    """
    model_file = load(file, format, evidence, fix)
    result = log_partition(model_file.model, method, _root(root))  # type: ignore[arg-type]
    record = {
        "file": model_file.path,
        "format": model_file.format,
        "method": method,
        "root": result.root,
        "log_z": result.value,
        "lower": result.lower,
        "upper": result.upper,
        "converged": result.converged,
        "algorithm": result.method,
        "iterations": result.iterations,
    }
    if json:
        print_json(record)
    else:
        print_table(
            {
                "file": f"{model_file.path} ({model_file.format})",
                "log Z": shown(result.value) + ("" if result.converged else " (not converged)"),
                "at least": None if result.lower is None else shown(result.lower),
                "at most": None if result.upper is None else shown(result.upper),
                "method": f"{method} at root {result.root}",
            }
        )
    return 0 if result.converged else 1


def marginals(
    file: FileArgument,
    method: MethodOption = "exact",
    root: RootOption = None,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    json: JsonOption = False,
) -> None:
    """Compute the probability that each variable is 1.

    Example: mapreroot marginals grid.uai --method bethe
    """
    model_file = load(file, format, evidence, fix)
    result = model_marginals(model_file.model, method, _root(root))  # type: ignore[arg-type]
    p = dict(zip(model_file.model.labels, result.p.tolist(), strict=True))
    p.update({label: float(value) for label, value in model_file.fixed.items()})
    if set(p) != set(model_file.labels):
        raise ModelError(f"{model_file.path}: labels of the model and of the file differ")
    if json:
        print_json(
            {
                "file": model_file.path,
                "format": model_file.format,
                "method": method,
                "marginals": [[label, p[label]] for label in model_file.labels],
            }
        )
        return
    for label in model_file.labels:
        print(f"{label} {p[label]:.9g}")
