"""What a result was computed with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["SOLVERS", "versions"]

SOLVERS = ("numpy", "scipy", "numba", "highspy", "PyMaxflow", "ortools")


def versions(packages: tuple[str, ...] = ("mapreroot", *SOLVERS)) -> dict[str, str | None]:
    """Look up the versions of packages, and of Python; None for what is not installed.

    Examples
    --------
    >>> versions(("no such package",))["no such package"] is None
    True
    """
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
