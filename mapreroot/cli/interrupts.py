"""What Ctrl-C does before a command runs, while it runs, and after."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

__all__ = ["ignored_at_exit", "leaving_at_once", "raising"]


def leaving_at_once() -> AbstractContextManager[None]:
    """End the program at Ctrl-C while there is nothing to lose: in the middle of imports.

    A KeyboardInterrupt would be swallowed, or shown with a traceback, by whatever it hits there.
    """
    return _answered(_leave)


def raising() -> AbstractContextManager[None]:
    """Raise KeyboardInterrupt at Ctrl-C, as usual: a command has to tidy up."""
    return _answered(signal.default_int_handler)


def ignored_at_exit() -> None:
    """Let Python tidy up undisturbed: all is said and done."""
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)


def _leave(signum: int, frame: object) -> None:
    os.write(2, b"mapreroot: interrupted\n")
    os._exit(130)


@contextmanager
def _answered(handler: Callable[[int, Any], Any]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # which gets no signals
        yield
        return
    previous = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
