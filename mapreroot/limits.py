"""When to stop: one object that every anytime solver asks between two steps."""

from __future__ import annotations

import copy
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from mapreroot.memory import resident

__all__ = ["Limits", "StopReason", "interruptible"]

StopReason = Literal["time", "nodes", "memory", "interrupted"]


class Limits:
    """A deadline, limits on nodes and memory, and a flag for Ctrl-C.

    Solvers call `reason` between steps and hand back what they have when it is not None; none
    of them reads the clock or the signal by itself.

    Parameters
    ----------
    seconds : float, optional
        Wall time from now; None for no limit.
    nodes : int, optional
        Search nodes; None for no limit.
    memory : int, optional
        Bytes that the process may hold more than now; None for no limit.

    Examples
    --------
    >>> Limits(seconds=0.0).reason()
    'time'
    >>> Limits().reason() is None
    True
    """

    def __init__(
        self, seconds: float | None = None, nodes: int | None = None, memory: int | None = None
    ) -> None:
        self.start = time.monotonic()
        self.deadline = None if seconds is None else self.start + seconds
        self.seconds, self.nodes, self.memory = seconds, nodes, memory
        self.ceiling = None if memory is None else resident() + memory
        self._interrupted = [False]

    @property
    def interrupted(self) -> bool:
        """Whether the user wants an end."""
        return self._interrupted[0]

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self._interrupted[0] = value

    def part(self, share: float) -> Limits:
        """Make limits that end with these, or when this share of the time left is over.

        Examples
        --------
        >>> Limits(seconds=100.0).part(0.3).left() <= 30.0
        True
        """
        limits = copy.copy(self)
        if self.deadline is not None:
            limits.deadline = time.monotonic() + share * self.left()
        return limits

    def turns(self, weights: Iterable[float]) -> Iterator[Limits]:
        """Share the time left by weights, one turn after the other: what one leaves, others have.

        Examples
        --------
        >>> [turn.left() <= most for turn, most in zip(Limits(8.0).turns([1, 3]), [2, 8])]
        [True, True]
        """
        weights = list(weights)
        left = sum(weights)
        for weight in weights:
            yield self.part(weight / max(left, weight))
            left -= weight

    def elapsed(self) -> float:
        """Seconds since the limits were made."""
        return time.monotonic() - self.start

    def left(self) -> float:
        """Seconds until the deadline, never negative; infinity without one."""
        if self.deadline is None:
            return float("inf")
        return max(0.0, self.deadline - time.monotonic())

    def reason(self, nodes: int = 0) -> StopReason | None:
        """Why to stop now, or None to go on."""
        if self.interrupted:
            return "interrupted"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "time"
        if self.nodes is not None and nodes >= self.nodes:
            return "nodes"
        if self.lacks(0):
            return "memory"
        return None

    def afresh(self) -> Limits:
        """Give limits for what follows: as much time and memory again, and no Ctrl-C yet.

        After Ctrl-C it is the time that has gone by. Nodes are not limited.
        """
        return Limits(self.elapsed() if self.interrupted else self.seconds, memory=self.memory)

    def late(self) -> bool:
        """Whether the time is over, or the user wants an end: not the nodes, nor the memory."""
        return self.interrupted or self.left() == 0.0

    def batches(self, n: int) -> Iterator[tuple[int, int]]:
        """Cut 0..n-1 into (first, end), each of some hundredths of a second, until it is late."""
        first, size = 0, 16
        while first < n and not self.late():
            end, begun = min(first + size, n), time.monotonic()
            yield first, end
            first = end
            if time.monotonic() - begun < 0.02:
                size *= 2

    def lacks(self, memory: float) -> bool:
        """Whether so many bytes more would be too many: ask before allocating them."""
        return self.ceiling is not None and resident() + memory > self.ceiling


@contextmanager
def interruptible(limits: Limits) -> Iterator[Limits]:
    """Turn the first Ctrl-C inside the block into ``limits.interrupted``; a second one raises.

    Signals can only be caught in the main thread; elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield limits
        return

    def on_interrupt(signum: int, frame: object) -> None:
        if limits.interrupted:
            raise KeyboardInterrupt
        limits.interrupted = True

    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield limits
    finally:
        signal.signal(signal.SIGINT, previous)
