"""Blocks of one model searched apart: on other processes, or on other machines."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mapreroot.errors import SolverError
from mapreroot.exact.search import SearchResult, search
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.pool import Failure, spread

__all__ = ["SearchTask", "search_apart"]

_GRACE = 60.0  # seconds beside the time limit, after which a process is taken for stuck


@dataclass(frozen=True, eq=False)
class SearchTask:
    """What `search` has to be told about a block.

    Attributes
    ----------
    model : UprootedModel
    initial : ndarray of int8 or None
    gap : float
    seed : int
    """

    model: UprootedModel
    initial: npt.NDArray[np.int8] | None
    gap: float
    seed: int


def search_apart(
    tasks: Mapping[int, SearchTask],
    limits: Limits,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[int, SearchResult]]:
    """Search blocks, the largest first, and give each result as soon as it is there.

    Parameters
    ----------
    tasks : mapping from keys to SearchTask
    limits : Limits
        On this machine each task has its part of the time that all processes have together. After
        Ctrl-C, and for a process that is still busy a minute after the time limit, there is no
        result.
    workers, scheduler
        As for `mapreroot.pool.spread`.

    Yields
    ------
    key : int
    result : SearchResult
        What `search` would have found here.

    Raises
    ------
    SolverError
        If a search fails, or its process dies again and again.
    """
    keys = sorted(tasks, key=lambda key: -tasks[key].model.n_vertices)
    left = None if limits.deadline is None else limits.left()
    # Clocks of different machines agree on the time of day only.
    deadline = None if left is None else time.time() + left
    sizes = {key: task.model.n_vertices for key, task in tasks.items()}
    lanes = len(keys) if scheduler is not None else workers or os.cpu_count() or 1
    shares = {key: min(1.0, lanes * size / sum(sizes.values())) for key, size in sizes.items()}
    found = spread(
        _search,
        [(tasks[key], left and left * shares[key], deadline, limits.nodes) for key in keys],
        workers,
        scheduler,
        patience=None if left is None else left + _GRACE,
        stop=lambda: limits.interrupted,
    )
    for index, result in found:
        key = keys[index]
        if not isinstance(result, Failure):
            yield key, result
        elif not result.overdue:
            N = tasks[key].model.n_vertices
            raise SolverError(f"the search of a block of {N} vertices failed: {result.message}")


def _search(given: tuple[SearchTask, float | None, float | None, int | None]) -> SearchResult:
    task, seconds, deadline, nodes = given
    if seconds is not None and deadline is not None:
        seconds = max(0.0, min(seconds, deadline - time.time()))
    return search(task.model, Limits(seconds, nodes), task.initial, task.gap, task.seed)
