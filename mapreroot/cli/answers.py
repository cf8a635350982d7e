"""``solve`` and ``roots``: what is the best assignment, and where to root for it."""

from __future__ import annotations

import time
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from mapreroot.balance import balancing_vertices
from mapreroot.certificates import verify as verify_certificate
from mapreroot.cli.options import (
    EvidenceOption,
    FileArgument,
    FixOption,
    FormatOption,
    JsonOption,
    QuietOption,
    SchedulerOption,
    load,
)
from mapreroot.cli.output import (
    EXPECTED,
    complain,
    print_json,
    print_table,
    progress_line,
    say,
    shown,
)
from mapreroot.errors import ModelError
from mapreroot.formats import ModelFile, write_mpe
from mapreroot.formats.text import writable, write_text
from mapreroot.max_marginals import MaxMarginals, max_marginals
from mapreroot.rerooting import uproot
from mapreroot.roots import choose_root
from mapreroot.solve import MapResult
from mapreroot.solve import solve as solve_model

__all__ = ["roots", "solve", "verify"]

# A time limit counts from the call: the processor time so far is what the imports have taken.
_STARTED = time.monotonic() - time.process_time()
_SHOWN = 64  # variables whose values fit on a screen


def solve(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Model files, .gz or not; - for stdin."),
    ],
    method: Annotated[
        str, typer.Option(help="auto, maxflow, tree, loc, tri, exact or enumerate.")
    ] = "auto",
    root: Annotated[
        int | None, typer.Option(help="A vertex of M+ to root at; 0 is the file's own rooting.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds of wall time; the best answer so far is printed. A certificate may take "
            "as long again."
        ),
    ] = None,
    gap: Annotated[float, typer.Option(help="Stop at this relative gap.")] = 0.0,
    nodes: Annotated[int | None, typer.Option(help="Stop after this many search nodes.")] = None,
    memory: Annotated[
        float | None, typer.Option(help="Megabytes to take at most; what fits is printed.")
    ] = None,
    solutions: Annotated[
        int, typer.Option(help="How many assignments to print, each the best of the rest.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Of the heuristics.")] = 0,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the assignment: UAI's layout for .MPE, else label value."
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Prove the answer, and write the proof to this file.")
    ] = None,
    margins: Annotated[
        bool,
        typer.Option(help="Say how much is lost, at least, where one variable is turned."),
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes that search large blocks of M+ side by side.")
    ] = None,
    scheduler: SchedulerOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Find the best assignment of each model, with a proof or a bound.

    With several files, the exit code is the worst one. Each has the limits to itself.

    Example: mapreroot solve spins.mc --time-limit 10
    """
    if time_limit is not None and not time_limit >= 0:
        raise ModelError(f"--time-limit {time_limit}: expected a number of seconds")
    if len(files) > 1 and (output or certificate):
        raise ModelError("--output and --certificate are for one file")
    for path in (output, certificate):
        if path is not None:
            writable(path)
    worst = 0
    for place, file in enumerate(files):
        started = time.monotonic() if place else _STARTED
        try:
            model_file = load(file, format, evidence, fix)
            left = time_limit and max(0.0, time_limit - (time.monotonic() - started))
            with progress_line(quiet) as progress:
                result = solve_model(
                    model_file.model,
                    method=method,  # type: ignore[arg-type]  # solve names what it does not know
                    root=root,
                    time_limit=left,
                    gap=gap,
                    seed=seed,
                    nodes=nodes,
                    progress=progress,
                    certify=certificate is not None,
                    solutions=solutions,
                    memory=None if memory is None else round(1e6 * memory),
                    workers=workers,
                    scheduler=scheduler,
                )
        except EXPECTED as error:
            worst = max(worst, complain(error))
            continue
        kept = output is not None
        try:
            if certificate is not None:
                write_text(certificate, dumps(result.certificate) + "\n")
            if output is not None:
                _write(model_file, result, output)
        except OSError as error:  # all the same, the answer is not lost
            worst, kept = complain(error), False
        sure = max_marginals(model_file.model, time_limit=left) if margins else None
        if json:
            print_json(_record(model_file, result, sure, several=solutions > 1))
        else:
            if place:
                print()
            _print(model_file, result, whole=not kept, several=solutions > 1)
            for label, margin in (sure.margins if sure else {}).items():
                print(f"margin      {label} {shown(margin)}")
        if result.stopped == "interrupted":
            if not quiet:
                say("interrupted: this is the best answer so far")
            return 130
        worst = max(worst, 0 if result.complete else 1)
    return worst


def verify(
    file: FileArgument,
    certificate: Annotated[Path, typer.Argument(help="What solve --certificate wrote.")],
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    json: JsonOption = False,
) -> int:
    """Check a certificate in exact arithmetic, without any solver.

    Example: mapreroot verify spins.mc spins.proof.json
    """
    model_file = load(file, format, evidence, fix)
    checked = verify_certificate(model_file.model, certificate)
    if json:
        print_json(
            {
                "file": model_file.path,
                "certificate": certificate,
                "holds": bool(checked),
                "score": checked.score,
                "bound": checked.bound,
                "objective": model_file.objective(checked.score),
                "objective_bound": model_file.objective(checked.bound),
                "sense": model_file.sense,
                "gap": checked.gap if checked else None,
                "failure": checked.failure,
            }
        )
    elif checked:
        above = float(checked.exact_gap or 0)
        best = f"at most {above:.2g} better is possible" if above else "no better is possible"
        print_table(
            {
                "holds": "every step, in exact arithmetic",
                "objective": f"{shown(model_file.objective(checked.score))} ({model_file.measure})",
                "bound": f"{shown(model_file.objective(checked.bound))} ({best})",
            }
        )
    else:
        print(f"refused  {checked.failure}")
    return 0 if checked else 1


def _record(
    file: ModelFile, result: MapResult, sure: MaxMarginals | None, several: bool
) -> dict[str, Any]:
    margins = None
    if sure is not None:
        known = zip(sure.labels, sure.margin.tolist(), sure.exact.tolist(), strict=True)
        margins = [[label, margin, exact] for label, margin, exact in known]
    return {
        "file": file.path,
        "format": file.format,
        "n": file.model.n,
        "m": file.model.m,
        "status": result.status,
        "stopped": result.stopped,
        "score": result.score,
        "bound": result.bound,
        "gap": result.gap,
        "objective": file.objective(result.score),
        "objective_bound": file.objective(result.bound),
        "sense": file.sense,
        "measure": file.measure,
        "method": result.method,
        "root": result.root,
        "block_roots": result.block_roots,
        "nodes": result.nodes,
        "proof": result.proof,
        "assignment": [[label, value] for label, value in file.assignment(result.x).items()],
        "solutions": [
            {
                "score": score,
                "objective": file.objective(score),
                "assignment": [[label, value] for label, value in file.assignment(x).items()],
            }
            for score, x in zip(result.scores.tolist(), result.solutions, strict=True)
        ]
        if several
        else None,
        "complete": result.complete,
        "margins": margins,
        "seconds": result.seconds,
    }


def _print(file: ModelFile, result: MapResult, whole: bool, several: bool) -> None:
    proved = "proved optimal" if result.status == "optimal" else f"gap {result.gap:.3%}"
    early = f", stopped: {result.stopped}" if result.stopped else ""
    direction = "maximised" if file.sense == "max" else "minimised"
    where = f" at root {result.root}" if result.root is not None else ""
    flows = sum(r >= 0 for r in result.block_roots)
    blocks = len(result.block_roots)
    parts = f" on {blocks} block{'' if blocks == 1 else 's'}, {flows} by max-flow" if blocks else ""
    found = f"{len(result.scores)} (" + (
        "all proved)" if result.complete else "perhaps not the best)"
    )
    print_table(
        {
            "file": f"{file.path} ({file.format}: {file.model.n} variables, {file.model.m} edges)",
            "objective": f"{shown(file.objective(result.score))} ({file.measure}, {direction})",
            "bound": f"{shown(file.objective(result.bound))} ({proved}{early})",
            "solutions": found if several else None,
            "method": f"{result.method}{where}{parts}",
            "seconds": f"{result.seconds:.3f}",
        }
    )
    if not whole:
        return
    for score, x in zip(result.scores.tolist(), result.solutions, strict=True):
        value = f"{shown(file.objective(score))} " if several else ""
        print(f"assignment  {value}{_values(file.assignment(x))}")


def _values(values: dict[Any, int]) -> str:
    """Write an assignment on a line."""
    if len(values) <= _SHOWN:
        return " ".join(f"{label}={value}" for label, value in values.items())
    bits = "".join(map(str, values.values()))
    return bits if len(bits) <= 4096 else f"{bits[:4096]}... (see --output)"


def _write(file: ModelFile, result: MapResult, path: Path) -> None:
    values = file.assignment(result.x)
    if path.suffix.upper() == ".MPE":
        text = write_mpe(list(values.values()))
    else:
        text = "".join(f"{label} {value}\n" for label, value in values.items())
    write_text(path, text)


def roots(
    file: FileArgument,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    json: JsonOption = False,
) -> None:
    """Say at which vertex to root a model, why, and with what witness.

    Example: mapreroot roots image.uai
    """
    model_file = load(file, format, evidence, fix)
    uprooted = uproot(model_file.model)
    choice = choose_root(uprooted)
    balancing = [int(v) for v in balancing_vertices(uprooted)]
    name = uprooted.labels[choice.root]
    if json:
        print_json(
            {
                "file": model_file.path,
                "format": model_file.format,
                "vertices": uprooted.n_vertices,
                "root": choice.root,
                "label": name,
                "reason": choice.reason.name,
                "balancing_roots": balancing,
            }
        )
        return
    listed = " ".join(map(str, balancing[:10])) + (" ..." if len(balancing) > 10 else "")
    print_table(
        {
            "file": f"{model_file.path} ({model_file.format})",
            "root": f"{choice.root} (the added vertex: the model as it is)"
            if choice.root == 0
            else f"{choice.root} (variable {name})",
            "reason": choice.reason.name.lower().replace("_", " "),
            "balancing": f"{len(balancing)} of {uprooted.n_vertices} vertices"
            + (f": {listed}" if balancing else ""),
        }
    )
