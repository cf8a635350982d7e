"""``batch`` and ``experiment``: many models in, tables out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from mapreroot.cli.options import FormatOption, JsonOption, QuietOption, SchedulerOption
from mapreroot.cli.output import print_json, print_table, say
from mapreroot.experiments import (
    PaperSettings,
    model_files,
    run_batch,
    run_paper,
    run_roots,
)

__all__ = ["batch", "experiment"]

WorkersOption = Annotated[
    int | None, typer.Option(help="Processes on this machine; one per core by default.")
]

_SAID = 10  # errors that fit on a screen


def batch(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR_OR_LIST",
            help="A folder of model files, or a list of paths: a .txt or .list file, one path a "
            "line, or - for stdin. Model files by name are welcome too.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The table: .parquet, .csv or .csv.gz.")
    ],
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds of wall time for each model.")
    ] = None,
    method: Annotated[str, typer.Option(help="As for solve.")] = "auto",
    gap: Annotated[float, typer.Option(help="Stop each model at this relative gap.")] = 0.0,
    format: FormatOption = None,  # noqa: A002
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    retries: Annotated[
        int, typer.Option(help="Tries after a failed solver or a process that died.")
    ] = 1,
    grace: Annotated[
        float,
        typer.Option(help="Seconds after the time limit before a model that goes on is killed."),
    ] = 60.0,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Solve many model files; one table with a row for each.

    Results are kept as they come: after a kill, the same command goes on where it stopped.

    Example: mapreroot batch models/ -o results.parquet --time-limit 60
    """
    paths = [path for source in sources for path in model_files(source, format)]
    with _resumable(), _progress_bar(quiet) as progress:
        rows = run_batch(
            paths,
            output,
            time_limit,
            workers,
            scheduler,
            retries,
            progress,
            method,  # type: ignore[arg-type]  # run_batch names what it does not know
            gap,
            format,
            grace,
        )
    errors = [row for row in rows if row.error is not None]
    counts = Counter(row.status for row in rows)
    if not quiet:
        for row in errors[:_SAID]:
            where = "" if row.file in str(row.error) else f"{row.file}: "
            say(f"error: {where}{row.error}")
        if len(errors) > _SAID:
            say(f"and {len(errors) - _SAID} more, see the table")
    record = {
        "output": output,
        "files": len(rows),
        "optimal": counts["optimal"],
        "feasible": counts["feasible"],
        "errors": len(errors),
    }
    if json:
        print_json(record)
    else:
        print_table(record)
    return 2 if errors else 1 if counts["feasible"] else 0


experiment = typer.Typer(
    name="experiment",
    help="Regenerate a published experiment: tables and figures, in a folder.",
    no_args_is_help=True,
)


FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="Where tables, figures and shards go.")
]
RunsOption = Annotated[int, typer.Option(help="Models for each combination.")]
FamilyOption = Annotated[
    list[str], typer.Option(help="Graphs: K10, K15, T5 or T9; may be repeated.")
]
KindOption = Annotated[
    list[str], typer.Option(help="Couplings: mixed or attractive; may be repeated.")
]
SingletonsOption = Annotated[
    list[str], typer.Option(help="Fields: low, medium or scaled; may be repeated.")
]
WMaxOption = Annotated[list[float], typer.Option(help="Strengths of couplings; may be repeated.")]
MethodOption = Annotated[list[str], typer.Option(help="bethe, trw or mean_field; may be repeated.")]
SeedOption = Annotated[int, typer.Option(help="Of the models.")]


@experiment.command()
def paper(
    out: FolderArgument,
    runs: RunsOption = PaperSettings.runs,
    family: FamilyOption = list(PaperSettings.families),  # noqa: B006
    kind: KindOption = list(PaperSettings.kinds),  # noqa: B006
    singletons: SingletonsOption = list(PaperSettings.singletons),  # noqa: B006
    w_max: WMaxOption = list(PaperSettings.w_max),  # noqa: B006
    method: MethodOption = list(PaperSettings.methods),  # noqa: B006
    every_root: Annotated[
        bool, typer.Option(help="Run every root to know the best and the worst: most of the time.")
    ] = True,
    seed: SeedOption = 0,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    quiet: QuietOption = False,
) -> None:
    """Weller (2016), section 6: errors of approximate inference under rerooting.

    The same command goes on where a killed one stopped, and more runs keep those that are there.

    Example: mapreroot experiment paper figures/ --family K10 --runs 10
    """
    settings = PaperSettings(
        tuple(family),
        tuple(kind),
        tuple(singletons),
        tuple(w_max),
        runs,
        tuple(method),
        every_root,
    )
    with _resumable(), _progress_bar(quiet) as progress:
        paths = run_paper(settings, out, seed, workers, scheduler, progress)
    for path in paths:
        print(path)


@experiment.command()
def roots(
    out: FolderArgument,
    runs: RunsOption = PaperSettings.runs,
    family: FamilyOption = list(PaperSettings.families),  # noqa: B006
    kind: KindOption = list(PaperSettings.kinds),  # noqa: B006
    singletons: SingletonsOption = list(PaperSettings.singletons),  # noqa: B006
    w_max: WMaxOption = list(PaperSettings.w_max),  # noqa: B006
    method: MethodOption = list(PaperSettings.methods),  # noqa: B006
    known: Annotated[
        bool, typer.Option("--known", help="Compute nothing: study the models solved so far.")
    ] = False,
    seed: SeedOption = 0,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    quiet: QuietOption = False,
) -> None:
    """Which root for approximate inference: rules trained on half the models, judged on the rest.

    The folder may be one of `experiment paper`: what is in it is not computed again.

    Example: mapreroot experiment roots study/ --family K10 --runs 10
    """
    settings = PaperSettings(
        tuple(family), tuple(kind), tuple(singletons), tuple(w_max), runs, tuple(method)
    )
    with _resumable(), _progress_bar(quiet) as progress:
        paths = run_roots(settings, out, seed, workers, scheduler, progress, known)
    for path in paths:
        print(path)


@contextmanager
def _resumable() -> Iterator[None]:
    """Say after Ctrl-C that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted: what is finished is kept, and the same command goes on from there")
        raise typer.Exit(130) from None


@contextmanager
def _progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Give a callback that keeps a bar on a terminal's stderr."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
