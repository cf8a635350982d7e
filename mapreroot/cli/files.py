"""``info`` and ``convert``: what a file says, and the same in another format."""

from __future__ import annotations

from json import dumps
from pathlib import Path
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
from mapreroot.errors import ModelError
from mapreroot.formats import find_format, write_model
from mapreroot.formats.text import write_text
from mapreroot.interop.lp import lp_format, write_lp
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
    target: Annotated[str, typer.Argument(help="The file to write; - for stdout.", metavar="OUT")],
    format: FormatOption = None,  # noqa: A002
    to: Annotated[
        str | None,
        typer.Option("--to", help="Format of OUT, lp and mps too; by default by its extension."),
    ] = None,
    relaxation: Annotated[
        str | None,
        typer.Option(
            help="For OUT in lp or mps: mip, the integer program whose maximum is the best score, "
            "by default; loc; or tri."
        ),
    ] = None,
    root: Annotated[
        int | None, typer.Option(help="For mip and loc: a vertex of M+ to root at; 0 by default.")
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(help="For lp and mps: write what each column stands for, as JSON."),
    ] = None,
    evidence: EvidenceOption = None,
    fix: FixOption = None,
) -> None:
    """Write a model in another format, every score the same, or for an LP or MIP solver.

    Example: mapreroot convert model.uai model.json

    Example: mapreroot convert model.uai model.lp --relaxation tri --names names.json
    """
    linear = lp_format(target, to)
    given = {"--relaxation": relaxation, "--root": root, "--names": names}
    for option, value in given.items():
        if linear is None and value is not None:
            raise ModelError(f"{option} {value}: only where OUT is in lp or mps")
    model_file = load(source, format, evidence, fix)
    model = model_file.model
    if linear is None:
        write_model(model, target, to)
        written = find_format(target, to).name
    else:
        kind = relaxation or "mip"
        # write_lp names a kind that it does not know
        columns = write_lp(model, target, kind, root or 0, linear)  # type: ignore[arg-type]
        if names is not None:
            write_text(names, dumps(columns, default=str, indent=1) + "\n")
        written = f"{linear}: {kind}, the score is maximised over {len(columns)} columns"
    attractive = int(np.count_nonzero(model.weights > 0))
    rule = f"; {model_file.doubling}" if model_file.doubling else ""
    say(
        f"{source} ({model_file.format}: {model_file.sense} {model_file.measure}{rule}; constant "
        f"{shown(model_file.constant)}) -> {target} ({written}): {model.n} "
        f"variables, {model.m} edges, {attractive} attractive, {model.m - attractive} repulsive"
    )
