"""Section 6 of Weller (2016): how rerooting changes approximate inference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mapreroot import generate
from mapreroot.errors import ModelError, SolverError
from mapreroot.experiments.pool import Failure, spread
from mapreroot.experiments.shards import Shards
from mapreroot.experiments.table import check_table, write_table
from mapreroot.marginals.exact import exact_marginals
from mapreroot.marginals.inference import approximate
from mapreroot.model import Model
from mapreroot.rerooting import uproot
from mapreroot.roots import max_tw, max_w

__all__ = ["ROOTINGS", "PaperSettings", "Task", "run_paper", "solve_task", "summarise"]

FAMILIES = ("K10", "K15", "T5", "T9")
KINDS = ("mixed", "attractive")
SINGLETONS = ("low", "medium", "scaled")
METHODS = ("bethe", "trw", "mean_field")
UPROOTED: Literal["uprooted"] = "uprooted"
ROOTINGS = ("original", "uprooted", "worst", "best", "max_w", "max_tw")
COLUMNS: dict[str, type] = {
    "family": str, "kind": str, "singletons": str, "w_max": float, "run": int, "method": str,
    "rooting": str, "root": int, "exact": float, "log_z": float, "error": float, "l1": float,
    "converged": int,
}  # fmt: skip
CELL = ("family", "kind", "singletons", "w_max", "method", "rooting")


@dataclass(frozen=True)
class PaperSettings:
    """What to run: all combinations of these.

    Attributes
    ----------
    families : tuple of {"K10", "K15", "T5", "T9"}
        Complete graphs on 10 and 15 variables, tori 5 x 5 and 9 x 9.
    kinds : tuple of {"mixed", "attractive"}
        W ~ U[-Wmax, Wmax] or U[0, Wmax].
    singletons : tuple of {"low", "medium", "scaled"}
        theta ~ U[-.1, .1], U[-2, 2] or U[-Wmax/2, Wmax/2].
    w_max : tuple of float
    runs : int
        Models for each combination.
    methods : tuple of {"bethe", "trw", "mean_field"}
    every_root : bool
        Run every root, to know the worst and the best one: most of the time goes there.
    """

    families: tuple[str, ...] = FAMILIES
    kinds: tuple[str, ...] = KINDS
    singletons: tuple[str, ...] = SINGLETONS
    w_max: tuple[float, ...] = (2.0, 4.0, 8.0, 12.0, 16.0)
    runs: int = 100
    methods: tuple[str, ...] = METHODS
    every_root: bool = True

    def __post_init__(self) -> None:
        for name, known in (
            ("families", FAMILIES),
            ("kinds", KINDS),
            ("singletons", SINGLETONS),
            ("methods", METHODS),
        ):
            for value in getattr(self, name):
                if value not in known:
                    raise ModelError(f"{name} has {value!r}: expected some of {', '.join(known)}")
        for value in self.w_max:
            if not 0 < value < math.inf:
                raise ModelError(f"w_max has {value}: expected positive numbers")
        if self.runs < 1:
            raise ModelError(f"runs is {self.runs}: expected at least 1")


@dataclass(frozen=True)
class Task:
    """One model, to be solved exactly and by each method at each root."""

    family: str
    kind: str
    singletons: str
    w_max: float
    run: int
    seed: int
    methods: tuple[str, ...]
    every_root: bool

    @property
    def key(self) -> str:
        """Names all that the result depends on."""
        roots = "all" if self.every_root else "few"
        parts = (self.family, self.kind, self.singletons, f"{self.w_max:g}", self.run, self.seed)
        return "/".join(map(str, parts)) + f"/{'+'.join(self.methods)}/{roots}"

    def model(self) -> Model:
        """Draw the model: the same for the same fields of the task on every platform."""
        stream = (
            self.seed,
            FAMILIES.index(self.family),
            KINDS.index(self.kind),
            SINGLETONS.index(self.singletons),
            round(self.w_max * 1e6),
            self.run,
        )
        seed = int(np.random.SeedSequence(stream).generate_state(1)[0])
        size = int(self.family[1:])
        attractive = self.kind == "attractive"
        if self.family[0] == "K":
            return generate.complete(
                size,
                couplings="uniform",
                strength=self.w_max,
                attractive=attractive,
                fields=self.singletons,
                seed=seed,
            )
        return generate.torus(
            size,
            size,
            couplings="uniform",
            strength=self.w_max,
            attractive=attractive,
            fields=self.singletons,
            seed=seed,
        )


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
    of the error of log Z and of the l1 error each by itself: they may be different roots.
    """
    if seed < 0:
        raise ModelError(f"the seed is {seed}: expected 0 or more")
    folder = Path(out)
    tasks = _tasks(settings, seed)
    with Shards(folder / "shards") as shards:
        missing = [task for task in tasks if task.key not in shards.results]
        done = len(tasks) - len(missing)
        if progress is not None:
            progress(done, len(tasks))
        for index, result in spread(solve_task, missing, workers, scheduler):
            if isinstance(result, Failure):
                raise SolverError(f"{missing[index].key}: {result.message}")
            shards.append(missing[index].key, result)
            done += 1
            if progress is not None:
                progress(done, len(tasks))
        found = [row for task in tasks for row in shards.results[task.key]]
    summary = summarise([dict(zip(COLUMNS, row, strict=True)) for row in found])
    table = _write_results(folder, found)
    _write_summary(folder / "summary.csv", summary)
    from mapreroot.experiments.figures import draw_figures

    return [table, folder / "summary.csv", *draw_figures(summary, folder)]


def solve_task(task: Task) -> list[list[Any]]:
    """Rows of one model, in the order of the table's columns."""
    model = task.model()
    uprooted = uproot(model)
    log_z, exact_p, _ = exact_marginals(uprooted)
    exact = log_z - math.log(2)
    named = {"max_w": max_w(uprooted), "max_tw": max_tw(uprooted), "original": 0}
    roots = range(uprooted.n_vertices) if task.every_root else sorted(set(named.values()))
    rows: list[list[Any]] = []

    def add(method: str, rooting: str, root: int | None, found: Sequence[Any]) -> None:
        value, l1, converged = found
        rows.append([
            task.family, task.kind, task.singletons, task.w_max, task.run, method, rooting, root,
            exact, value, value - exact, l1, int(converged),
        ])  # fmt: skip

    for method in task.methods:
        by_root: dict[int | Literal["uprooted"], tuple[float, float, bool]] = {}
        for root in (*roots, UPROOTED):
            found = approximate(uprooted, root, method)
            l1 = float(np.abs(found.p - exact_p[1:]).mean())
            by_root[root] = (found.log_z, l1, found.converged)
        for rooting, vertex in named.items():
            add(method, rooting, vertex, by_root[vertex])
        add(method, "uprooted", None, by_root[UPROOTED])
        if task.every_root:
            tried = [by_root[root] for root in roots]
            for rooting, choose in (("worst", max), ("best", min)):
                value = choose(tried, key=lambda entry: abs(entry[0] - exact))[0]
                l1 = choose(entry[1] for entry in tried)
                add(method, rooting, None, (value, l1, all(entry[2] for entry in tried)))
    return rows


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


def _tasks(settings: PaperSettings, seed: int) -> list[Task]:
    cells = itertools.product(
        settings.families, settings.kinds, settings.singletons, settings.w_max, range(settings.runs)
    )
    return [
        Task(family, kind, singletons, float(w), run, seed, settings.methods, settings.every_root)
        for family, kind, singletons, w, run in cells
    ]


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
