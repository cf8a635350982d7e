"""Many pieces of work, on processes of this machine or on a cluster, whatever dies meanwhile."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running
from pathlib import Path
from typing import Any, TypeVar

from mapreroot.errors import MapRerootError, ModelError, SolverError

__all__ = ["Failure", "spread"]

Task = TypeVar("Task")
Result = TypeVar("Result")

# Spawned, not forked: compiled code and its threads do not survive a fork everywhere.
_SPAWN = multiprocessing.get_context("spawn")
_STARTS = 3  # processes in a row that die before they take work: none ever will
_LOOK = 0.2  # seconds between two questions whether to stop
_NEVER = float("inf")
_ORPHANED = 5.0  # seconds after which an overdue process ends itself, if nobody else does


@dataclass(frozen=True)
class Failure:
    """What became of a piece of work that has no result.

    Attributes
    ----------
    message : str
        One line: the last error, or how its process ended.
    overdue : bool
        Its process was killed because it took too long.
    """

    message: str
    overdue: bool = False


def spread(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    workers: int | None = None,
    scheduler: str | None = None,
    retries: int = 1,
    patience: float | None = None,
    stop: Callable[[], object] | None = None,
) -> Iterator[tuple[int, Result | Failure]]:
    """Call a function on each task somewhere, and give each result as soon as it is there.

    Parameters
    ----------
    function : callable
        Picklable, and so are its results, unless ``workers`` is 1.
    tasks : sequence
    workers : int, optional
        Processes on this machine; one per core by default. One worker is this process itself,
        unless there is a ``patience``.
    scheduler : str, optional
        Address of a dask.distributed scheduler that does the work instead.
    retries : int
        How often a task is tried again after an error or the death of its process. A cluster
        counts deaths by its own rule (``distributed.scheduler.allowed-failures``).
    patience : float, optional
        Seconds after which a process that is still busy with a task is killed, whatever it is
        doing; that task is not tried again, and all others go on. On a cluster, each task then
        has a process of its own beside the worker, and pays for its start.
    stop : callable, optional
        Asked several times a second; when it says yes, no more results come. Processes of this
        machine are then ended. What a cluster has begun goes on there.

    Yields
    ------
    index : int
        Of the task; each comes exactly once, in any order.
    result : object or Failure

    Raises
    ------
    ModelError
        For counts out of range.
    ImportError
        If there is a scheduler, but no dask.
    OSError
        If the scheduler does not answer.
    SolverError
        If processes of this machine do not start.

    Notes
    -----
    A script that spreads work over processes needs the usual ``if __name__ == "__main__":``.
    Leaving the loop early ends the processes.

    Examples
    --------
    >>> list(spread(abs, [-1, 2], workers=1))
    [(0, 1), (1, 2)]
    >>> list(spread(int, ["x"], workers=1))[0][1].message
    "ValueError: invalid literal for int() with base 10: 'x'"
    """
    if workers is not None and workers < 1:
        raise ModelError(f"workers is {workers}: expected at least 1")
    if retries < 0:
        raise ModelError(f"retries is {retries}: expected 0 or more")
    if patience is not None and not patience >= 0:
        raise ModelError(f"patience is {patience}: expected a number of at least 0")
    workers = min(workers or os.cpu_count() or 1, len(tasks))
    if scheduler is not None:
        return _on_cluster(function, tasks, scheduler, retries, patience, stop)
    if workers > 1 or (tasks and patience is not None):
        return _on_processes(function, tasks, workers, retries, patience, stop)
    return _here(function, tasks, retries, stop)


def _attempt(function: Callable[[Task], Result], task: Task) -> Result | Failure:
    try:
        return function(task)
    except Exception as error:
        return _failure(error)


def _failure(error: BaseException) -> Failure:
    text = " ".join(str(error).split())
    if text and isinstance(error, (MapRerootError, OSError)):
        return Failure(text)
    return Failure(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _here(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    retries: int,
    stop: Callable[[], object] | None,
) -> Iterator[tuple[int, Result | Failure]]:
    for index, task in enumerate(tasks):
        if stop is not None and stop():
            return
        found = _attempt(function, task)
        for _ in range(retries):
            if not isinstance(found, Failure):
                break
            found = _attempt(function, task)
        yield index, found


class _Lane:
    """A process with one task at a time: when it dies, it is known whose fault that was."""

    def __init__(self, function: Callable[[Any], Any], patience: float | None) -> None:
        self.patience = _NEVER if patience is None else patience
        self.due = _NEVER
        self.connection, there = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(function, there, patience), daemon=True)
        with _deaf():
            self.process.start()
        there.close()
        self.started = False
        self.index: int | None = None

    def give(self, index: int, task: Any) -> None:
        self.index = index
        self.due = time.monotonic() + self.patience
        with suppress(OSError):  # it has just died, and `take` will say so
            self.connection.send(task)

    def heard(self, ready: list[Any]) -> bool:
        """Whether there is something to take: a message, its end, or nothing when one was due."""
        return self.connection in ready or self._late()

    def _late(self) -> bool:
        return time.monotonic() >= self.due

    def take(self) -> Any:
        """Receive a result, or None from a process that has just started."""
        if self._late() and not self.connection.poll():
            self.process.kill()
            self.process.join()
            return Failure(f"killed: still busy after {self.patience:g} s", overdue=True)
        self.due = _NEVER
        try:
            found = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            return Failure(f"its process died with exit code {self.process.exitcode}")
        self.started = True
        return found

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


@contextmanager
def _deaf() -> Iterator[None]:
    """Have processes born that do not hear Ctrl-C: it is their parent that ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ensure_running()  # the tracker would unblock the signal when it starts
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _serve(function: Callable[[Any], Any], connection: Connection, patience: float | None) -> None:
    """Say that work is welcome, and work until the other end is closed."""
    with suppress(OSError):  # where memory runs out, Linux kills this process, not its parent
        Path("/proc/self/oom_score_adj").write_text("1000")
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    with suppress(EOFError, OSError):
        connection.send(None)
        while True:
            task = connection.recv()
            with _limited(patience):
                found = _attempt(function, task)
            connection.send(found)


@contextmanager
def _limited(patience: float | None) -> Iterator[None]:
    """End this process when it takes too long; no lock of Python's can keep this from it."""
    if patience is None:
        yield
        return
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(patience + _ORPHANED, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _follow(parent: BaseProcess) -> None:
    """End this process when its parent has ended, however long the work would still take."""
    parent.join()
    os._exit(1)


def _on_processes(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    workers: int,
    retries: int,
    patience: float | None,
    stop: Callable[[], object] | None,
) -> Iterator[tuple[int, Result | Failure]]:
    queue = deque(range(len(tasks)))
    tries = [0] * len(tasks)
    left = len(tasks)
    lanes: dict[Connection, _Lane] = {}
    stillborn = 0

    def open_lane() -> None:
        lane = _Lane(function, patience)
        lanes[lane.connection] = lane

    try:
        for _ in range(workers):
            open_lane()
        while left:
            if stop is not None and stop():
                return
            rest = min(lane.due for lane in lanes.values()) - time.monotonic()
            if stop is not None:
                rest = min(rest, _LOOK)
            ready = wait(list(lanes), None if rest == _NEVER else max(0.0, rest))
            for lane in [lane for lane in lanes.values() if lane.heard(ready)]:
                found, index, lane.index = lane.take(), lane.index, None
                stillborn = 0 if lane.started else stillborn + 1
                if stillborn == _STARTS:
                    raise SolverError(f"processes do not start: {found.message}")
                if index is not None:
                    tries[index] += 1
                    failed = isinstance(found, Failure) and not found.overdue
                    if failed and tries[index] <= retries:
                        queue.append(index)
                    else:
                        left -= 1
                        yield index, found
                if not lane.process.is_alive():
                    lanes.pop(lane.connection).end()
                    if queue:
                        open_lane()
                elif queue:
                    index = queue.popleft()
                    lane.give(index, tasks[index])
    finally:
        for lane in lanes.values():
            lane.end()


def _on_cluster(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    scheduler: str,
    retries: int,
    patience: float | None,
    stop: Callable[[], object] | None,
) -> Iterator[tuple[int, Result | Failure]]:
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise ImportError("a scheduler needs dask: pip install 'mapreroot[experiments]'") from error
    if not tasks:
        return
    one = function if patience is None else partial(_beside, function, patience)
    with Client(scheduler) as client:
        indices = {
            client.submit(one, task, pure=False, retries=retries): index
            for index, task in enumerate(tasks)
        }
        done = as_completed(list(indices))
        while indices:
            while stop is not None and not done.has_ready():
                if stop():
                    return
                time.sleep(_LOOK)
            future = next(done)
            # Deaths of workers arrive as errors too, once the scheduler gives a task up.
            yield indices.pop(future), _attempt(lambda done: done.result(), future)


def _beside(function: Callable[[Task], Result], patience: float, task: Task) -> Result | Failure:
    """Work in a process that can be killed, on a worker that must not be."""
    # A process that dask's nanny started is a daemon, and those may not have children.
    multiprocessing.current_process().daemon = False
    ((_, found),) = _on_processes(function, [task], 1, 0, patience, None)
    if isinstance(found, Failure) and not found.overdue:
        raise SolverError(found.message)  # to be tried again
    return found
