"""Many model files in, one table out: a batch that can be killed and called again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import get_args

from mapreroot.errors import FormatError, MapRerootError, ModelError, SolverError
from mapreroot.experiments.shards import Shards
from mapreroot.experiments.table import check_table, write_table
from mapreroot.experiments.versions import versions
from mapreroot.formats import find_format, read_file
from mapreroot.formats.text import read_text
from mapreroot.pool import Failure, spread
from mapreroot.solve import Method, solve

__all__ = ["BatchRow", "model_files", "run_batch", "solve_file"]


@dataclass(frozen=True)
class BatchRow:
    """What became of one model file; what is not known is None.

    Attributes
    ----------
    file : str
        As it was given.
    digest : str
        `Model.digest`.
    n, m : int
        Variables and edges.
    status, stopped, score, bound, gap, method, root
        As in `MapResult`.
    objective : float
        The score in the file's own terms.
    sense : str
        "max" or "min", of the objective.
    seconds : float
        Wall time of `solve`.
    versions : str
        What it was computed with.
    error : str
        Why there is no answer: the file cannot be read, or the solver failed.
    """

    file: str
    digest: str | None = None
    n: int | None = None
    m: int | None = None
    status: str | None = None
    stopped: str | None = None
    score: float | None = None
    bound: float | None = None
    gap: float | None = None
    objective: float | None = None
    sense: str | None = None
    method: str | None = None
    root: int | None = None
    seconds: float | None = None
    versions: str | None = None
    error: str | None = None


_INTEGERS, _FLOATS = {"n", "m", "root"}, {"score", "bound", "gap", "objective", "seconds"}
_COLUMNS = {
    name: int if name in _INTEGERS else float if name in _FLOATS else str
    for name in BatchRow.__dataclass_fields__
}


def run_batch(
    paths: Iterable[str | Path],
    output: str | Path,
    time_limit: float | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    retries: int = 1,
    progress: Callable[[int, int], None] | None = None,
    method: Method = "auto",
    gap: float = 0.0,
    format: str | None = None,  # noqa: A002
    grace: float = 60.0,
) -> tuple[BatchRow, ...]:
    r"""Solve many model files, and write one table with a row for each.

    Parameters
    ----------
    paths : iterable of paths
        A file named twice counts once.
    output : path
        ``.parquet``, ``.csv`` or ``.csv.gz``; written at the end, in one step. Until then, and
        after, results are in the folder of the same name with ``.shards`` added. Called again
        after a kill, or with more files, only what is missing is computed: files that are new or
        have changed, and those where the solver failed or the limits are others.
    time_limit : float, optional
        Seconds of wall time for each model.
    workers : int, optional
        Processes on this machine; one per core by default. Without a time limit, 1 stays in this
        process.
    scheduler : str, optional
        Address of a dask.distributed scheduler that does the work instead. Its workers read the
        files by themselves, under the same absolute paths.
    retries : int
        How often a model is tried again after a failure of the solver, of the file system, or
        of the process. A file that is wrong is not tried again.
    progress : callable, optional
        Called with the number of files done and of all.
    method, gap
        As for `solve`.
    format : str, optional
        Of all files; by default each one's extension says it.
    grace : float
        Seconds beside the time limit, for reading the file, and for compilation in the first run
        on a machine. A process that is still busy after both is killed, whatever it is stuck in:
        the row's error says so, and the others go on.

    Returns
    -------
    tuple of BatchRow
        In the order of the paths.

    Raises
    ------
    ModelError
        For arguments out of range, an unknown method, or no paths at all.
    FormatError
        For an unknown format, or a damaged shard.
    ImportError
        For Parquet without pyarrow, or a scheduler without dask.
    OSError
        If the table cannot be written, or the scheduler does not answer.
    KeyboardInterrupt
        After Ctrl-C; what is finished is kept.

    Notes
    -----
    A script that solves on other processes needs the usual ``if __name__ == "__main__":``. On a
    cluster with a time limit, each model gets a process of its own beside dask's worker, which
    costs a second or two of starting; what a killed batch had begun there runs up to its limit.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "path.mc").write_text("3 2\n1 2 1\n2 3 1\n")
    >>> _ = (folder / "wrong.mc").write_text("3 2\n1 2 1\n")
    >>> rows = run_batch(sorted(folder.glob("*.mc")), folder / "results.csv", workers=1)
    >>> [(row.objective, row.status, row.error is None) for row in rows]
    [(2.0, 'optimal', True), (None, None, False)]
    """
    files = list(dict.fromkeys(os.fspath(path) for path in paths))
    if not files:
        raise ModelError("there are no model files to solve")
    check_table(output)
    if format is not None:
        find_format("", format)
    if method not in get_args(Method):
        raise ModelError(f"method is {method!r}: expected one of {', '.join(get_args(Method))}")
    for name, value in (("time_limit", time_limit), ("gap", gap), ("grace", grace)):
        if value is not None and not value >= 0:
            raise ModelError(f"{name} is {value}: expected a number of at least 0")
    patience = None if time_limit is None else time_limit + grace
    one = partial(solve_file, time_limit=time_limit, method=method, gap=gap, format=format)
    keys = [json.dumps([file, _fingerprint(file), one.keywords]) for file in files]
    failed: dict[str, BatchRow] = {}
    with Shards(Path(f"{os.fspath(output)}.shards")) as shards:
        missing = [k for k, key in enumerate(keys) if key not in shards.results]
        done = len(files) - len(missing)
        if progress is not None:
            progress(done, len(files))
        absolute = [os.path.abspath(files[k]) for k in missing]
        for index, found in spread(one, absolute, workers, scheduler, retries, patience):
            file, key = files[missing[index]], keys[missing[index]]
            if isinstance(found, Failure):
                failed[key] = BatchRow(file, error=found.message)
            elif found.stopped == "interrupted":
                raise KeyboardInterrupt
            else:
                shards.append(key, asdict(replace(found, file=file)))
            done += 1
            if progress is not None:
                progress(done, len(files))
        rows = tuple(failed.get(key) or BatchRow(**shards.results[key]) for key in keys)
    write_table(output, _COLUMNS, map(astuple, rows))
    return rows


def solve_file(
    path: str,
    time_limit: float | None = None,
    method: Method = "auto",
    gap: float = 0.0,
    format: str | None = None,  # noqa: A002
) -> BatchRow:
    """Read and solve one model; what would go wrong again the same way is put into the row.

    Raises
    ------
    SolverError, OSError, MemoryError
        Which may not happen the next time.
    """
    row = BatchRow(path, versions=_versions())
    try:
        file = read_file(path, format)
        model = file.model
        row = replace(row, digest=model.digest, n=model.n, m=model.m, sense=file.sense)
        result = solve(model, method, time_limit=time_limit, gap=gap)
    except SolverError:
        raise
    except MapRerootError as error:
        return replace(row, error=" ".join(str(error).split()))
    return replace(
        row,
        status=result.status,
        stopped=result.stopped,
        score=result.score,
        bound=result.bound,
        gap=result.gap,
        objective=file.objective(result.score),
        method=result.method,
        root=result.root,
        seconds=result.seconds,
    )


def model_files(source: str | Path, format: str | None = None) -> list[str]:  # noqa: A002
    """List the model files that a folder, or a list of paths, stands for.

    Parameters
    ----------
    source : path
        A folder: all files in it whose extension is a format's, in the order of their names, or
        all files if a format is given. A text file that ends in ``.txt`` or ``.list``: one path
        a line, relative to the list's own folder, ``#`` before a comment; so is standard input,
        ``-``. Anything else is a model file itself.
    format : str, optional

    Raises
    ------
    FormatError
        For a list that names no file.
    OSError
        If the folder or the list cannot be read.

    Examples
    --------
    >>> model_files("spins.mc")
    ['spins.mc']
    """
    path = Path(source)
    if path.is_dir():
        return [
            str(file)
            for file in sorted(path.iterdir())
            if file.is_file()
            and not file.name.startswith(".")
            and (format is not None or _is_model(file))
        ]
    if str(source) != "-" and path.suffix not in (".txt", ".list"):
        return [str(source)]
    text = read_text(source)
    lines = (line.strip() for line in text.data.decode().splitlines())
    listed = [str(path.parent / line) for line in lines if line and not line.startswith("#")]
    if not any(map(os.path.isfile, listed)):
        raise text.error("names no file: expected one path a line")
    return listed


def _is_model(path: Path) -> bool:
    try:
        return bool(find_format(path))
    except FormatError:
        return False


def _fingerprint(path: str) -> str | None:
    """Tell whether a file has changed; None for one that cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _versions() -> str:
    return ", ".join(f"{name} {found}" for name, found in versions().items() if found)
