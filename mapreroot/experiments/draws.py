"""The models of Weller (2016), section 6, drawn and solved at their roots, each once for good."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from mapreroot import generate
from mapreroot.errors import ModelError, SolverError
from mapreroot.experiments.shards import Shards
from mapreroot.marginals.exact import exact_marginals
from mapreroot.marginals.inference import approximate
from mapreroot.model import Model, UprootedModel
from mapreroot.pool import Failure, spread
from mapreroot.relaxations.roof_duality import best_loc_root, loc_by_root
from mapreroot.rerooting import uproot
from mapreroot.roots import max_tw, max_w

__all__ = [
    "METHODS",
    "UPROOTED",
    "Draw",
    "PaperSettings",
    "Record",
    "Task",
    "known_draws",
    "solve_draws",
    "solve_task",
]

FAMILIES = ("K10", "K15", "T5", "T9")
KINDS = ("mixed", "attractive")
SINGLETONS = ("low", "medium", "scaled")
METHODS = ("bethe", "trw", "mean_field")
UPROOTED: Literal["uprooted"] = "uprooted"

Record = dict[str, Any]
"""What is known of a draw, as JSON can say it: ``exact`` log Z; ``max_w`` and ``max_tw``, the
roots of these rules; under a method's name rows of root (or "uprooted"), log Z, l1 error of the
marginals, and 1 where it converged; ``loc``, if asked for, LOC at each root, and what
`best_loc_root` finds and how many flows that takes."""


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

    def draws(self, seed: int) -> Iterator[Draw]:
        """All models, those of a setting together."""
        for family, kind, singletons, w, run in itertools.product(
            self.families, self.kinds, self.singletons, self.w_max, range(self.runs)
        ):
            yield Draw(family, kind, singletons, float(w), run, seed)


@dataclass(frozen=True)
class Draw:
    """One random model."""

    family: str
    kind: str
    singletons: str
    w_max: float
    run: int
    seed: int

    @property
    def key(self) -> str:
        """Names all that the model depends on."""
        parts = (self.family, self.kind, self.singletons, f"{self.w_max:g}", self.run, self.seed)
        return "/".join(map(str, parts))

    @property
    def n(self) -> int:
        """Variables of the model: roots 0..n."""
        size = int(self.family[1:])
        return size if self.family[0] == "K" else size * size

    def model(self) -> Model:
        """Draw the model: the same for the same fields on every platform."""
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


@dataclass(frozen=True)
class Task:
    """A draw, what is wanted of it, and what is known of it already."""

    draw: Draw
    methods: tuple[str, ...]
    every_root: bool
    loc: bool = False
    known: Record = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether nothing is missing."""
        least = self.draw.n + 2 if self.every_root else 1
        rows_wanted = all(len(self.known.get(name, ())) >= least for name in self.methods)
        return rows_wanted and (not self.loc or "loc" in self.known)


def solve_draws(
    settings: PaperSettings,
    folder: Path,
    seed: int,
    workers: int | None,
    scheduler: str | None,
    progress: Callable[[int, int], None] | None,
    loc: bool = False,
) -> dict[Draw, Record]:
    """Solve what ``folder``/shards does not know yet, and give the records of all draws.

    Raises
    ------
    ModelError
        For settings or counts out of range.
    FormatError
        For a damaged shard.
    SolverError
        If a model fails twice; those before it are kept.
    """
    if seed < 0:
        raise ModelError(f"the seed is {seed}: expected 0 or more")
    draws = list(settings.draws(seed))
    with Shards(folder / "shards") as shards:
        tasks = [
            Task(d, settings.methods, settings.every_root, loc, shards.results.get(d.key, {}))
            for d in draws
        ]
        missing = [task for task in tasks if not task.done]
        done = len(tasks) - len(missing)
        if progress is not None:
            progress(done, len(tasks))
        for index, result in spread(solve_task, missing, workers, scheduler):
            key = missing[index].draw.key
            if isinstance(result, Failure):
                raise SolverError(f"{key}: {result.message}")
            shards.append(key, result)
            done += 1
            if progress is not None:
                progress(done, len(tasks))
        return {draw: shards.results[draw.key] for draw in draws}


def known_draws(settings: PaperSettings, folder: Path, seed: int, loc: bool) -> dict[Draw, Record]:
    """Give the records in ``folder``/shards in which nothing that is wanted is missing."""
    with Shards(folder / "shards") as shards:
        records = {draw: shards.results.get(draw.key, {}) for draw in settings.draws(seed)}
    return {
        draw: record
        for draw, record in records.items()
        if Task(draw, settings.methods, settings.every_root, loc, record).done
    }


def solve_task(task: Task) -> Record:
    """Add what is wanted of a draw to what is known of it."""
    uprooted = uproot(task.draw.model())
    log_z, exact_p, _ = exact_marginals(uprooted)
    record = {
        "exact": log_z - math.log(2),
        "max_w": max_w(uprooted),
        "max_tw": max_tw(uprooted),
        **task.known,
    }
    roots: list[int | Literal["uprooted"]] = [UPROOTED]
    if task.every_root:
        roots += range(uprooted.n_vertices)
    else:
        roots += sorted({0, record["max_w"], record["max_tw"]})
    for method in task.methods:
        known = record.get(method, [])
        there = {row[0] for row in known}
        record[method] = known + [
            _at_root(uprooted, root, method, exact_p[1:]) for root in roots if root not in there
        ]
    if task.loc and "loc" not in record:
        found, _, flows = best_loc_root(uprooted)
        bounds = loc_by_root(uprooted, range(uprooted.n_vertices))
        record["loc"] = {"bounds": bounds.tolist(), "found": found, "flows": flows}
    return record


def _at_root(
    uprooted: UprootedModel, root: int | Literal["uprooted"], method: str, exact_p: Any
) -> list[Any]:
    found = approximate(uprooted, root, method)
    l1 = float(np.abs(found.p - exact_p).mean())
    return [root, found.log_z, l1, int(found.converged)]
