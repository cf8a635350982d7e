"""Section 6 of Weller (2016): how rerooting changes approximate inference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mapreroot.experiments.draws import (
    METHODS,
    UPROOTED,
    Draw,
    PaperSettings,
    Record,
    solve_draws,
)
from mapreroot.experiments.table import check_table, write_table

__all__ = ["COLUMNS", "ROOTINGS", "rows", "run_paper", "summarise"]

ROOTINGS = ("original", "uprooted", "worst", "best", "max_w", "max_tw")
COLUMNS: dict[str, type] = {
    "family": str, "kind": str, "singletons": str, "w_max": float, "run": int, "method": str,
    "rooting": str, "root": int, "exact": float, "log_z": float, "error": float, "l1": float,
    "converged": int,
}  # fmt: skip
CELL = ("family", "kind", "singletons", "w_max", "method", "rooting")


def run_paper(
    settings: PaperSettings,
    out: str | Path,
    seed: int = 0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Regenerate section 6 of the paper: a table, its summary and figures.

    Parameters
    ----------
    settings : PaperSettings
    out : path
        A folder. Results go to ``shards`` in it as they come: called again after a kill, with
        the same or with more settings, only what is missing is computed.
    seed : int
    workers : int, optional
        Processes on this machine; one per core by default, and 1 stays in this process.
    scheduler : str, optional
        Address of a dask.distributed scheduler that does the work instead.
    progress : callable, optional
        Called with the number of models done and of all.

    Returns
    -------
    list of Path
        ``results.parquet`` (``results.csv`` without pyarrow), ``summary.csv``, and one figure
        for each family, kind and method (none without matplotlib).

    Raises
    ------
    ModelError
        For settings or counts out of range.
    FormatError
        For a damaged shard.
    SolverError
        If a model fails twice; those before it are kept.

    Notes
    -----
    Each model gives one row for each method and rooting. "worst" and "best" are over all roots,
    of the error of log Z and of the l1 error each by itself: they may be different roots. They
    come from the models that every root is known of, in this call or from earlier ones.
    """
    folder = Path(out)
    records = solve_draws(settings, folder, seed, workers, scheduler, progress)
    found = [
        row for draw, record in records.items() for row in rows(draw, record, settings.methods)
    ]
    summary = summarise([dict(zip(COLUMNS, row, strict=True)) for row in found])
    table = _write_results(folder, found)
    _write_summary(folder / "summary.csv", summary)
    from mapreroot.experiments.figures import draw_figures

    return [table, folder / "summary.csv", *draw_figures(summary, folder)]


def rows(draw: Draw, record: Record, methods: Sequence[str] = METHODS) -> list[list[Any]]:
    """Rows of one model, in the order of the table's columns."""
    exact = record["exact"]
    named = {"original": 0, "max_w": record["max_w"], "max_tw": record["max_tw"]}
    lines: list[list[Any]] = []
    for method in methods:
        at_root = {row[0]: row[1:] for row in record[method]}
        entries = [(name, root, at_root[root]) for name, root in named.items()]
        entries.append((UPROOTED, None, at_root[UPROOTED]))
        tried = [found for root, found in at_root.items() if root != UPROOTED]
        if len(tried) == draw.n + 1:
            converged = min(found[2] for found in tried)
            for name, choose in (("worst", max), ("best", min)):
                value = choose(tried, key=lambda found: abs(found[0] - exact))[0]
                l1 = choose(found[1] for found in tried)
                entries.append((name, None, [value, l1, converged]))
        for name, root, (value, l1, converged) in entries:
            lines.append([
                draw.family, draw.kind, draw.singletons, draw.w_max, draw.run, method, name, root,
                exact, value, value - exact, l1, converged,
            ])  # fmt: skip
    return lines


def summarise(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the runs, with standard errors, of |log Z error| and of the l1 error."""
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault(tuple(row[name] for name in CELL), []).append(row)
    summary = []
    for cell, members in cells.items():
        line = dict(zip(CELL, cell, strict=True)) | {"runs": len(members)}
        for name, values in (
            ("log_z_error", [abs(row["error"]) for row in members]),
            ("l1", [row["l1"] for row in members]),
        ):
            line[name] = float(np.mean(values))
            spread = np.std(values, ddof=1) if len(values) > 1 else math.nan
            line[name + "_se"] = float(spread / math.sqrt(len(values)))
        line["converged"] = float(np.mean([row["converged"] for row in members]))
        line["at_vertex_0"] = float(np.mean([row["root"] == 0 for row in members]))
        summary.append(line)
    return summary


def _write_results(folder: Path, rows: Sequence[Sequence[Any]]) -> Path:
    path = folder / "results.parquet"
    try:
        check_table(path)
    except ImportError:
        path = folder / "results.csv"
    write_table(path, COLUMNS, rows)
    return path


def _write_summary(path: Path, summary: Sequence[dict[str, Any]]) -> None:
    kinds = {name: type(value) for name, value in summary[0].items()}
    write_table(path, kinds, [list(line.values()) for line in summary])
