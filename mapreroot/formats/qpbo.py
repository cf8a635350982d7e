"""Quadratic pseudo-Boolean files of toulbar2 (``.qpbo``): Biq Mac's lines, and more headers.

A header ``N M``, then |M| lines ``i j w``, 1-based. x'Wx, in which an entry with i != j counts
twice, is minimised, or maximised where M is negative. Where N is negative the values are 1 and
-1, which the model takes as 1 and 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from mapreroot.formats.biqmac import matrix_lines, numbered
from mapreroot.formats.capacity import check_size
from mapreroot.formats.rows import read_header, read_rows
from mapreroot.formats.text import Text, integer
from mapreroot.model import Model

__all__ = ["read", "sense", "write"]


def sense(text: Text) -> Literal["max", "min"]:
    """Say whether the file is to be maximised ("max") or minimised ("min")."""
    return "max" if _sizes(text)[2] < 0 else "min"


def read(text: Text) -> Model:
    """Read a QPBO file: score = -x'Wx, or x'Wx where that is maximised; labels 1..n."""
    line, N, M = _sizes(text)
    n = abs(N)
    rows = read_rows(text, b"", line)
    rows.check_count(abs(M), line, "coefficients")
    rows.check_range(1, n)
    rows.check_distinct()
    w = np.where(rows.i == rows.j, rows.value, 2 * rows.value)
    W = sp.coo_array((w, (rows.i - 1, rows.j - 1)), shape=(n, n))
    if N < 0:
        return numbered(Model.from_ising(None, -W if M < 0 else W))
    return numbered(Model.from_qubo(W, "max" if M < 0 else "min"))


def write(model: Model) -> str:
    """Write a model as a QPBO file of values 0 and 1, to be minimised."""
    return matrix_lines(model, "qpbo", 1.0)


def _sizes(text: Text) -> tuple[int, int, int]:
    line, words = read_header(text, b"")
    sizes = [integer(word) for word in words]
    if len(sizes) != 2 or sizes[0] is None or sizes[1] is None:
        found = b" ".join(words)[:60].decode(errors="replace")
        raise text.error(f"the header is {found!r}: expected two integers, N and M", line)
    check_size(text, abs(sizes[0]), line)
    return line, sizes[0], sizes[1]
