"""``tightness``: how good the relaxations are on a model, and why."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import numpy as np
import typer

from mapreroot.cli.options import (
    EvidenceOption,
    FileArgument,
    FixOption,
    FormatOption,
    JsonOption,
    QuietOption,
    load,
)
from mapreroot.cli.output import (
    print_json,
    print_table,
    say,
    search_state,
    shown,
    status_line,
    tri_state,
)
from mapreroot.errors import ModelError
from mapreroot.limits import Limits
from mapreroot.tightness import TightnessReport, invariance
from mapreroot.tightness import tightness as model_tightness

__all__ = ["tightness"]


def tightness(
    file: FileArgument,
    roots: Annotated[
        str | None, typer.Option(help="all, or vertices of M+ (0,4,7) to show LOC at.")
    ] = None,
    invariance_: Annotated[
        str | None,
        typer.Option(
            "--invariance",
            help="Solve TRI under this many sampled rerootings (or all) and show the spread.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds of wall time; the bounds so far are printed."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the sampled rerootings.")] = 0,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Report whether LOC and TRI are tight, and why.

    The exit code is 1 where the time limit, and 130 where Ctrl-C, came before the end.

    Example: mapreroot tightness grid.uai --invariance 5
    """
    model_file = load(file, format, evidence, fix)
    model = model_file.model
    asked = None if invariance_ is None else _sample(invariance_, model.n + 1, seed)
    started = time.monotonic()
    with status_line(quiet) as show:
        report = model_tightness(
            model,
            _roots(roots),
            time_limit,
            on_progress=show and (lambda *state: show(tri_state(*state))),
            progress=show and (lambda state: show(search_state(state))),
        )
    stopped, spread = report.stopped, None
    if invariance_ is not None and stopped != "interrupted":
        left = None if time_limit is None else time_limit - (time.monotonic() - started)
        limits = Limits(left)
        values = invariance(model, asked, limits)
        stopped = limits.reason() if len(values) < len(asked or range(model.n + 1)) else stopped
        spread = {"values": values, "spread": np.ptp([*values.values()]) if values else None}
    if json:
        print_json(
            {
                "file": model_file.path,
                "format": model_file.format,
                "loc": report.loc,
                "best_loc": report.best_loc,
                "best_root": report.best_root,
                "loc_by_root": report.loc_by_root,
                "tri": report.tri,
                "tri_converged": report.tri_converged,
                "score": report.score,
                "bound": report.bound,
                "loc_tight": report.loc_tight,
                "best_loc_tight": report.best_loc_tight,
                "tri_tight": report.tri_tight,
                "reason": report.reason,
                "witness": {
                    key: sorted(value) if isinstance(value, frozenset) else value
                    for key, value in report.witness.items()
                },
                "fractional_edges": report.fractional,
                "invariance": spread,
                "stopped": stopped,
            }
        )
    else:
        _print(report, model_file.path, spread)
    if stopped is None:
        return 0
    if not quiet:
        why = "interrupted" if stopped == "interrupted" else "the time limit came first"
        say(f"{why}: these are the best bounds so far")
    return 130 if stopped == "interrupted" else 1


def _roots(text: str | None) -> list[int] | Literal["all"] | None:
    if text is None or text == "all":
        return text  # type: ignore[return-value]  # narrowed to "all"
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ModelError(f"--roots {text}: expected all, or vertices such as 0,4,7") from None


def _sample(text: str, n_vertices: int, seed: int) -> list[int] | None:
    if text == "all":
        return None
    if not text.isdigit() or int(text) < 1:
        raise ModelError(f"--invariance {text}: expected a number of rerootings, or all")
    count = min(int(text), n_vertices)
    drawn = np.random.default_rng(seed).choice(n_vertices, count, replace=False)
    return sorted(drawn.tolist())


def _print(report: TightnessReport, path: str, spread: dict[str, Any] | None) -> None:
    words = {True: "tight", False: "not tight", None: "tightness not known"}
    proved = report.answer.status == "optimal"
    at_most = "" if proved else f" (at most {shown(report.bound)})"
    print_table(
        {
            "file": path,
            "MAP": shown(report.score) + at_most,
            "LOC": f"{shown(report.loc)} at root 0: {words[report.loc_tight]}",
            "best LOC": f"{shown(report.best_loc)} at root {report.best_root}: "
            f"{words[report.best_loc_tight]}",
            "TRI": ("" if report.tri_converged else "at most ")
            + f"{shown(report.tri)}: {words[report.tri_tight]}"
            + (f", {report.fractional} fractional edges" if report.fractional else ""),
            "why": report.reason,
        }
    )
    for root, value in report.loc_by_root.items():
        print(f"LOC at root {root:<6} {shown(value)}")
    if spread is not None:
        known = spread["spread"]
        print(
            f"TRI under {len(spread['values'])} rerootings: spread "
            + ("not known" if known is None else f"{known:.3g}")
        )
