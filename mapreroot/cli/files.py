"""``info`` and ``convert``: what a file says, and the same in another format."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from mapreroot.balance import balance
from mapreroot.cli.options import (
    EvidenceOption,
    FileArgument,
    FixOption,
    FormatOption,
    JsonOption,
    load,
)
from mapreroot.cli.output import print_json, print_table, say, shown
from mapreroot.decomposition import components
from mapreroot.formats import find_format, write_model
from mapreroot.rerooting import uproot

__all__ = ["convert", "info"]


def info(
    file: FileArgument,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    json: JsonOption = False,
) -> None:
    """Say what a model file holds, and how it was understood.

    Example: mapreroot info be120.3.5.sparse
    """
    model_file = load(file, format, evidence, fix)
    model = model_file.model
    record = {
        "file": model_file.path,
        "format": model_file.format,
        "sense": model_file.sense,
        "measure": model_file.measure,
        "doubling": model_file.doubling,
        "constant": model_file.constant,
        "n": model.n,
        "m": model.m,
        "fields": int(np.count_nonzero(model.theta)),
        "attractive": int(np.count_nonzero(model.weights > 0)),
        "repulsive": int(np.count_nonzero(model.weights < 0)),
        "forbidden": len(model.forbidden),
        "observed": len(model_file.fixed),
        "components": components(uproot(model))[0],
        "balanced": balance(model).is_balanced,
        "digest": model.digest,
    }
    if json:
        print_json(record)
        return
    print_table(
        {
            "file": record["file"],
            "format": record["format"],
            "objective": f"{record['sense']} {record['measure']}"
            + (f"; {record['doubling']}" if record["doubling"] else ""),
            "constant": shown(model_file.constant),
            "variables": f"{model.n} ({record['fields']} with a field)"
            + (f", {record['observed']} observed" if record["observed"] else ""),
            "edges": f"{model.m} ({record['attractive']} attractive, "
            f"{record['repulsive']} repulsive)",
            "forbidden": f"{record['forbidden']} hard constraints" if model.forbidden else None,
            "components": f"{record['components']} of M+",
            "balanced": "yes" if record["balanced"] else "no",
        }
    )


def convert(
    source: Annotated[str, typer.Argument(help="The file to read; - for stdin.", metavar="IN")],
    target: Annotated[str, typer.Argument(help="The file to write.", metavar="OUT")],
    format: FormatOption = None,  # noqa: A002
    to: Annotated[
        str | None, typer.Option("--to", help="Format of OUT; by default by its extension.")
    ] = None,
    evidence: EvidenceOption = None,
    fix: FixOption = None,
) -> None:
    """Write a model in another format; every score stays the same.

    Example: mapreroot convert model.uai model.json
    """
    model_file = load(source, format, evidence, fix)
    model = model_file.model
    write_model(model, target, to)
    attractive = int(np.count_nonzero(model.weights > 0))
    rule = f"; {model_file.doubling}" if model_file.doubling else ""
    say(
        f"{source} ({model_file.format}: {model_file.sense} {model_file.measure}{rule}; constant "
        f"{shown(model_file.constant)}) -> {target} ({find_format(target, to).name}): {model.n} "
        f"variables, {model.m} edges, {attractive} attractive, {model.m - attractive} repulsive"
    )
