"""``tightness``: how good the relaxations are on a model, and why."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
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
        float | None, typer.Option(help="Seconds for proving the MAP; without one it is proved.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the sampled rerootings.")] = 0,
    format: FormatOption = None,  # noqa: A002
    evidence: EvidenceOption = None,
    fix: FixOption = None,
    json: JsonOption = False,
) -> None:
    """Report whether LOC and TRI are tight, and why.

    Example: mapreroot tightness grid.uai --invariance 5
    """
    model_file = load(file, format, evidence, fix)
    model = model_file.model
    report = model_tightness(model, _roots(roots), time_limit)
    spread = None
    if invariance_ is not None:
        values = invariance(model, _sample(invariance_, model.n + 1, seed))
        spread = {"values": values, "spread": max(values.values()) - min(values.values())}
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
            }
        )
        return
    _print(report, model_file.path, spread)


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
            "TRI": f"{shown(report.tri)}: {words[report.tri_tight]}"
            + (f", {report.fractional} fractional edges" if report.fractional else ""),
            "why": report.reason,
        }
    )
    for root, value in report.loc_by_root.items():
        print(f"LOC at root {root:<6} {shown(value)}")
    if spread is not None:
        print(f"TRI under {len(spread['values'])} rerootings: spread {spread['spread']:.3g}")
