"""Lines of ``i j value``: the part that the line formats share.

numpy's reader takes whole files at C speed. What it refuses, or what turns out wrong later, is
walked through line by line, so that the error names the line.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mapreroot.formats.text import Text, integer, number

__all__ = ["Rows", "read_header", "read_rows"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """The data lines of a file, as columns.

    Attributes
    ----------
    i, j : ndarray of int64, shape (k,)
        As in the file.
    value : ndarray of float64, shape (k,)
        Finite.
    text, comment, skip
        Where they are from, as given to `read_rows`.
    """

    i: Ints
    j: Ints
    value: Floats
    text: Text
    comment: bytes
    skip: int

    def __len__(self) -> int:
        return len(self.i)

    def line(self, row: int) -> int:
        """Find the line of a row; only errors need to know."""
        lines = _data_lines(self.text, self.comment, self.skip)
        return next(line for k, (line, _) in enumerate(lines) if k == row)

    def check_count(self, expected: int, header: int, what: str = "lines of data") -> None:
        """Refuse a file whose header, on line ``header``, promises another number of rows."""
        if len(self) != expected:
            raise self.text.error(
                f"the header promises {expected} {what}, the file has {len(self)}", header
            )

    def check_range(self, low: int, high: int | None = None) -> None:
        """Refuse indices outside low..high."""
        ends = np.stack([self.i, self.j], axis=1)
        bad = np.argwhere((ends < low) | (ends > (np.inf if high is None else high)))
        if len(bad):
            row, side = bad[0].tolist()
            allowed = f"{low} or more" if high is None else f"{low}..{high}"
            raise self.text.error(
                f"index {ends[row, side]} is out of range: expected {allowed} ({low}-based)",
                self.line(row),
            )

    def check_no_loops(self) -> None:
        """Refuse rows that join a vertex to itself."""
        loops = np.flatnonzero(self.i == self.j)
        if len(loops):
            row = int(loops[0])
            raise self.text.error(
                f"self-loop at {self.i[row]}: an edge joins two different vertices",
                self.line(row),
            )

    def check_distinct(self) -> None:
        """Refuse a pair that comes twice, in whichever order."""
        low, high = np.minimum(self.i, self.j), np.maximum(self.i, self.j)
        order = np.lexsort((high, low))
        twice = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
        if twice.any():
            # The sort is stable: of the rows of a pair, each follows the one before it in the file.
            k = np.flatnonzero(twice)
            k = k[np.argmin(order[k + 1])]
            first, second = int(order[k]), int(order[k + 1])
            raise self.text.error(
                f"duplicate of line {self.line(first)}: the pair ({self.i[second]}, "
                f"{self.j[second]}) may be given once only, in either order",
                self.line(second),
            )


def read_header(text: Text, comment: bytes) -> tuple[int, list[bytes]]:
    """Give the line number and the words of the first line that is neither blank nor comment."""
    for line, words in _data_lines(text, comment, 0):
        return line, words
    raise text.error("holds nothing but comments: expected a header line")


def read_rows(text: Text, comment: bytes, skip: int, default: float | None = None) -> Rows:
    """Read every line after the first ``skip`` as ``i j value``.

    Parameters
    ----------
    text : Text
    comment : bytes
        Lines that start with it are skipped, as blank ones are; may be empty.
    skip : int
        Lines before the first that may hold data.
    default : float, optional
        The value of a line ``i j``; by default such a line is an error.

    Raises
    ------
    FormatError
        Naming the line that holds too few or too many words, a word that is not a number, or a
        value that is not finite.

    Notes
    -----
    10^6 lines take about half a second.
    """
    empty = Rows(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), text, comment, skip)
    lines = _data_lines(text, comment, skip)
    first = next(lines, None)
    if first is None:
        return empty
    columns = len(first[1])
    if columns == 3 or (columns == 2 and default is not None):
        table = _read_table(text, comment, skip, columns)
        if table is not None:
            value = table["value"] if columns == 3 else np.full(len(table), default)
            rows = replace(empty, i=table["i"].copy(), j=table["j"].copy(), value=value.copy())
            if np.isfinite(rows.value).all():
                return rows
    found = [_row(text, line, words, default) for line, words in _data_lines(text, comment, skip)]
    i, j, values = zip(*found, strict=True)
    return replace(
        empty, i=np.array(i, np.int64), j=np.array(j, np.int64), value=np.array(values, np.float64)
    )


def _read_table(text: Text, comment: bytes, skip: int, columns: int) -> npt.NDArray[np.void] | None:
    """Let numpy read the table; None if it stumbles."""
    start = 0
    for _ in range(skip):
        start = text.data.index(b"\n", start) + 1
    body = text.data[start:]
    if comment and comment in body:
        lines = body.split(b"\n")
        body = b"\n".join(line for line in lines if not line.lstrip().startswith(comment))
    kinds = [("i", np.int64), ("j", np.int64), ("value", np.float64)][:columns]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # older releases only warn of an index such as 1.5
            table: npt.NDArray[np.void] = np.loadtxt(
                io.BytesIO(body), dtype=kinds, comments=None, ndmin=1
            )
    except (ValueError, Warning):
        return None
    return table


def _data_lines(text: Text, comment: bytes, skip: int) -> Iterator[tuple[int, list[bytes]]]:
    for line, content in enumerate(io.BytesIO(text.data), 1):
        if line > skip:
            words = content.split()
            if words and not (comment and words[0].startswith(comment)):
                yield line, words


def _row(
    text: Text, line: int, words: list[bytes], default: float | None
) -> tuple[int, int, float]:
    expected = "i j value" if default is None else "i j or i j value"
    if len(words) != 3 and not (len(words) == 2 and default is not None):
        raise text.error(f"found {len(words)} words, expected {expected}", line)
    for word in words[:2]:
        index = integer(word)
        if index is None or abs(index) >= 2**62:
            raise text.error(f"{_show(word)} is not an index: expected {expected}", line)
    value = default if len(words) == 2 else number(words[2])
    if value is None:
        raise text.error(f"{_show(words[2])} is not a number: expected {expected}", line)
    if not np.isfinite(value):
        raise text.error(f"the value {_show(words[2])} is not a finite number", line)
    return int(words[0]), int(words[1]), value


def _show(word: bytes) -> str:
    text = word.decode(errors="replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")
