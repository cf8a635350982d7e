"""Memory: what the process holds, and a forecast beside what the machine has left."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

from mapreroot.errors import SizeError

__all__ = ["available", "require", "resident"]

SMALL = 1e8
"""Bytes that are not worth a look at the machine."""


def available() -> float:
    """Bytes to be had without swapping; all of the machine's, or infinity, where it does not tell.

    Examples
    --------
    >>> available() > 1_000_000
    True
    """
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def resident() -> int:
    """Bytes of memory that the process holds; where the system does not tell, the most it has held.

    Examples
    --------
    >>> resident() > 1_000_000
    True
    """
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def require(needed: float, what: str, way_out: str) -> None:
    """Raise SizeError where ``needed`` bytes are more than there are.

    Examples
    --------
    >>> require(1e18, "a table of all assignments", "use bounds")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    mapreroot.errors.SizeError: a table of all assignments needs about 1000000000.0 GB, ...
    """
    if needed > SMALL and needed > (free := available()):
        raise SizeError(
            f"{what} needs about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free; {way_out}"
        )
