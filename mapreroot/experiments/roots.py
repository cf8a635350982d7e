"""Which root for approximate inference: rules trained and judged on the models of section 6."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError, SolverError
from mapreroot.experiments.draws import (
    UPROOTED,
    Draw,
    PaperSettings,
    Record,
    known_draws,
    solve_draws,
)
from mapreroot.experiments.root_rules import RULES, Evidence, Parameter, choices
from mapreroot.experiments.table import write_table
from mapreroot.model import TOL
from mapreroot.pool import Failure, spread
from mapreroot.rerooting import uproot
from mapreroot.roots import SHARE_OF_0

__all__ = ["loc_table", "root_table", "run_roots"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Choice = tuple[str, Parameter]

MEASURES = {"log_z": 0.1, "l1": 0.02}
"""What errors are of, and the mean gap between vertex 0 and the best root from which on it makes
sense to ask how much of it a rule recovers."""
BETTER_BOUND: Choice = ("better_bound", ())
"""Two runs, at vertex 0 and at the largest sum |W| elsewhere: the better bound on log Z stands."""
AUTO: Choice = ("auto", ())
"""What `mapreroot.roots.inference_roots` does on these models, none of which has a forest in it."""
SHARES = ("recovered", "recovered_se", "over_max_tw", "over_max_tw_se")
SIDE = {"trw": 1.0, "mean_field": -1.0}
"""Bounds from above are better when they are lower."""


def run_roots(
    settings: PaperSettings,
    out: str | Path,
    seed: int = 0,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    known: bool = False,
) -> list[Path]:
    """Measure how much of the gap between vertex 0 and the best root each rule recovers.

    Parameters
    ----------
    settings : PaperSettings
        At least two runs: those with even numbers train the rules' parameters, the others judge.
    out : path
        A folder, as for `mapreroot.experiments.run_paper`, whose results are continued.
    seed, workers, scheduler, progress
        As there.
    known : bool
        Compute nothing: study the models that every root is known of so far.

    Returns
    -------
    list of Path
        ``roots.csv``, a row for each setting, method, measure and rule; ``roots_summary.csv``,
        the same over all Wmax, and (family "all") over all settings; ``roots_loc.csv``, LOC
        instead of an error; and ``roots.png`` (none without matplotlib).

    Raises
    ------
    ModelError, FormatError, SolverError
        As `mapreroot.experiments.run_paper`.
    """
    if settings.runs < 2:
        raise ModelError(f"runs is {settings.runs}: training and judging need at least 2")
    folder = Path(out)
    everything = replace(settings, every_root=True)
    if known:
        records = known_draws(everything, folder, seed, loc=True)
    else:
        records = solve_draws(everything, folder, seed, workers, scheduler, progress, loc=True)
    if {draw.run % 2 for draw in records} != {0, 1}:
        raise ModelError(f"{folder}: no models to train on, or none to judge by")
    chosen = _choose(records, workers, scheduler)
    by_setting, summary = root_table(records, chosen, settings.methods)
    loc = loc_table(records, chosen)
    paths = []
    for name, lines in (("roots", by_setting), ("roots_summary", summary), ("roots_loc", loc)):
        paths.append(folder / f"{name}.csv")
        columns = dict.fromkeys(lines[0], str)
        write_table(paths[-1], columns, [[_short(v) for v in line.values()] for line in lines])
    from mapreroot.experiments.figures import draw_roots

    return [*paths, *draw_roots(summary, folder)]


def _choose(
    records: Mapping[Draw, Record], workers: int | None, scheduler: str | None
) -> dict[Draw, dict[Choice, int]]:
    """Give each rule's root for each draw, at each parameter."""
    draws = list(records)
    pieces = [(draw, records[draw]["loc"]["bounds"]) for draw in draws]
    chosen: dict[Draw, dict[Choice, int]] = {}
    for index, result in spread(_choices_of, pieces, workers, scheduler):
        if isinstance(result, Failure):
            raise SolverError(f"{draws[index].key}: {result.message}")
        chosen[draws[index]] = result
    return chosen


def _choices_of(piece: tuple[Draw, Sequence[float]]) -> dict[Choice, int]:
    draw, loc = piece
    return choices(Evidence(uproot(draw.model()), np.array(loc)))


@dataclass(frozen=True)
class _Errors:
    """Errors of one method by one measure: an entry for each draw."""

    least: float
    original: Floats
    best: Floats
    of: dict[Choice, Floats]

    def matter(self, rows: Ints) -> bool:
        """Whether there is a gap to speak of."""
        return bool((self.original[rows] - self.best[rows]).mean() >= self.least)

    def recovered(
        self, choice: Choice, rows: Ints, beyond: Floats | None = None
    ) -> tuple[float, float]:
        """Share of the gap, and its standard error (of a ratio of means).

        With errors ``beyond``, the share that is gained over them instead of over vertex 0.
        """
        gap = self.original[rows] - self.best[rows]
        gain = (self.original if beyond is None else beyond)[rows] - self.of[choice][rows]
        share = gain.sum() / gap.sum()
        off = gain - share * gap
        n = len(off)
        error = math.sqrt(off @ off / (n * (n - 1))) / gap.mean() if n > 1 else math.nan
        return float(share), float(error)

    def line(self, choice: Choice, rows: Ints) -> dict[str, Any]:
        """Columns that say how a choice does."""
        values = self.of[choice][rows]
        n = len(values)
        line = {
            "runs": n,
            "error": float(values.mean()),
            "error_se": float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan,
        }
        shares: dict[str, float | None] = dict.fromkeys(SHARES)
        if self.matter(rows):
            old = self.of["max_tw", ()]
            found = (*self.recovered(choice, rows), *self.recovered(choice, rows, old))
            shares = dict(zip(SHARES, found, strict=True))
        return line | shares


def root_table(
    records: Mapping[Draw, Record],
    chosen: Mapping[Draw, Mapping[Choice, int]],
    methods: Sequence[str],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Train each rule on the even runs; judge all on the odd ones, by setting and in summary.

    A rule's parameter is, for each method, the one with the largest mean share of the gap
    recovered, over measures and over settings (all Wmax together) where there is one. Shares
    over all settings, in the lines of family "all", are such means too. ``over_max_tw`` is the
    share gained over maxtW on the same models.
    """
    draws = list(records)
    judging = [draw.run % 2 == 1 for draw in draws]
    training = _groups(draws, [not judge for judge in judging], 3)
    fine, coarse = _groups(draws, judging, 4), _groups(draws, judging, 3)
    judges = np.flatnonzero(judging)
    by_setting: list[dict[str, Any]] = []
    summary: list[dict[str, Any]] = []
    for method in methods:
        errors = {
            measure: _errors(records, chosen, method, column, least)
            for column, (measure, least) in enumerate(MEASURES.items(), start=1)
        }
        for choice in _trained(errors, list(training.values())):
            for measure, found in errors.items():
                rule, parameter = choice
                label = {
                    "method": method,
                    "measure": measure,
                    "rule": rule,
                    "parameter": "/".join(f"{value:g}" for value in parameter),
                }
                by_setting += [_cell(key) | label | found.line(choice, fine[key]) for key in fine]
                lines = [_cell(key) | label | found.line(choice, coarse[key]) for key in coarse]
                total = found.line(choice, judges) | _mean_shares(lines)
                summary += [*lines, _cell(("all", "", "")) | label | total]
    return by_setting, summary


def loc_table(
    records: Mapping[Draw, Record], chosen: Mapping[Draw, Mapping[Choice, int]]
) -> list[dict[str, Any]]:
    """For MAP: how often a rule's root has the smallest LOC, and how far off it is.

    ``recovered`` is the share of the gap between LOC at vertex 0 and the smallest; ``flows`` is
    how many minimum cuts `best_loc_root` takes on average.
    """
    lines = []
    for setting in dict.fromkeys((d.family, d.kind, d.singletons) for d in records):
        part = [d for d in records if (d.family, d.kind, d.singletons) == setting]
        loc = [np.array(records[draw]["loc"]["bounds"]) for draw in part]
        least = np.array([bounds.min() for bounds in loc])
        gap = np.array([bounds[0] for bounds in loc]) - least
        slack = np.array([TOL * max(1.0, draw.w_max) for draw in part])
        for name in ("original", "max_w", "max_tw", "best_loc_root"):
            if name == "best_loc_root":
                roots = [records[draw]["loc"]["found"] for draw in part]
            else:
                roots = [chosen[draw][name, ()] for draw in part]
            over = np.array([b[r] for b, r in zip(loc, roots, strict=True)]) - least
            total = float(gap.sum())
            line = _cell(setting) | {
                "rule": name,
                "runs": len(part),
                "smallest": float(np.mean(over <= slack)),
                "above": float(over.mean()),
                "recovered": 1 - float(over.sum()) / total if total > 0 else None,
                "flows": 0.0,
            }
            if name == "best_loc_root":
                line["flows"] = float(np.mean([records[draw]["loc"]["flows"] for draw in part]))
            lines.append(line)
    return lines


def _errors(
    records: Mapping[Draw, Record],
    chosen: Mapping[Draw, Mapping[Choice, int]],
    method: str,
    column: int,
    least: float,
) -> _Errors:
    at_roots = []
    bounds = []
    for record in records.values():
        rows = sorted(row for row in record[method] if row[0] != UPROOTED)
        values = np.array([row[column] for row in rows])
        at_roots.append(np.abs(values - record["exact"]) if column == 1 else values)
        bounds.append([row[1] for row in rows])
    of = {
        choice: np.array([e[chosen[d][choice]] for d, e in zip(records, at_roots, strict=True)])
        for choice in next(iter(chosen.values()))
    }
    of[AUTO] = of["handicap", (SHARE_OF_0,)]
    if method in SIDE:
        heaviest = [chosen[draw]["handicap", (0.0,)] for draw in records]
        keep = [
            r if SIDE[method] * (b[r] - b[0]) < 0 else 0
            for r, b in zip(heaviest, bounds, strict=True)
        ]
        of[AUTO] = of[BETTER_BOUND] = np.array([e[r] for e, r in zip(at_roots, keep, strict=True)])
    of["best", ()] = np.array([errors.min() for errors in at_roots])
    return _Errors(least, np.array([errors[0] for errors in at_roots]), of["best", ()], of)


def _trained(errors: Mapping[str, _Errors], groups: Sequence[Ints]) -> list[Choice]:
    """Each rule with the parameter that is best on the training half, and what has none."""
    cases = [(found, rows) for found in errors.values() for rows in groups if found.matter(rows)]

    def worth(choice: Choice) -> float:
        return float(np.mean([found.recovered(choice, rows)[0] for found, rows in cases] or [0.0]))

    trained = [
        max(((name, parameter) for parameter in rule.parameters), key=worth)
        for name, rule in RULES.items()
    ]
    others = [c for c in next(iter(errors.values())).of if c[0] not in RULES]
    return trained + others


def _groups(
    draws: Sequence[Draw], wanted: Sequence[bool], depth: int
) -> dict[tuple[Any, ...], Ints]:
    """List the draws that are wanted, by the first ``depth`` parts of their settings."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, (draw, keep) in enumerate(zip(draws, wanted, strict=True)):
        if keep:
            setting = (draw.family, draw.kind, draw.singletons, draw.w_max)
            groups.setdefault(setting[:depth], []).append(index)
    return {key: np.array(indices, dtype=np.int64) for key, indices in groups.items()}


def _mean_shares(lines: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Give the mean over settings, with its standard error."""
    found = [[line[name] for name in SHARES] for line in lines if line["recovered"] is not None]
    if not found:
        return dict.fromkeys(SHARES)
    share, share_se, over, over_se = np.array(found).T
    n = len(found)
    means = share.mean(), math.hypot(*share_se) / n, over.mean(), math.hypot(*over_se) / n
    return {name: float(mean) for name, mean in zip(SHARES, means, strict=True)}


def _cell(setting: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("family", "kind", "singletons", "w_max"), setting, strict=False))


def _short(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value
