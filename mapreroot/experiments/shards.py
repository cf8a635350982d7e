"""Results that survive a kill: append-only files of one JSON line per finished piece of work."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from mapreroot.errors import FormatError

__all__ = ["Shards"]


class Shards:
    """A folder of shards; every run appends to a new one of its own.

    A line counts when it ends in a newline, so that one cut short by a kill is never read; the
    same key twice counts once.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Raises
    ------
    FormatError
        If a complete line is not what was written; the error names file and line.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Shards(Path(folder)) as first:
    ...         first.append("a", [1, 2])
    ...     again = Shards(Path(folder)).results
    >>> again
    {'a': [1, 2]}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.results: dict[str, Any] = {}
        self._file: IO[str] | None = None
        for path in sorted(folder.glob("*.jsonl")):
            self.results.update(_read(path))

    def append(self, key: str, result: Any) -> None:
        """Write one result down for good."""
        if self._file is None:
            self._file = self._new()
        self._file.write(json.dumps([key, result]) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.results[key] = result

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _new(self) -> IO[str]:
        number = len(list(self.folder.glob("*.jsonl")))
        while True:
            try:  # "x": two runs at a time never share a shard
                return (self.folder / f"{number:06d}.jsonl").open("x", encoding="utf-8")
            except FileExistsError:
                number += 1


def _read(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            key, result = json.loads(line)
        except ValueError as error:
            raise FormatError(f"expected a key and a result: {error}", str(path), number) from None
        yield str(key), result
