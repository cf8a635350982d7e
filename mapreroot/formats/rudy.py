"""Max-cut files of rudy, the G-set, Biq Mac (``.mc``) and MQLib.

A header ``n m``, then m lines ``i j w``, 1-based; the weight may be left out and is then 1.
The weight of the cut is maximised. Lines before the header may be comments with ``#``, and the
header may end in a 0, as in the DIMACS torus files.
"""

from __future__ import annotations

import numpy as np

from mapreroot.errors import ModelError
from mapreroot.formats.capacity import (
    check_constant,
    check_no_forbidden,
    check_numbered,
    check_size,
)
from mapreroot.formats.rows import read_header, read_rows
from mapreroot.formats.text import Text, integer, spell
from mapreroot.model import Model

__all__ = ["read", "read_sizes", "write"]


def read(text: Text) -> Model:
    """Read a max-cut file: score = the weight of the cut, W = -2 w, labels 1..n."""
    line, n, m = read_sizes(text)
    rows = read_rows(text, b"", line, default=1.0)
    rows.check_count(m, line, "edges")
    rows.check_range(1, n)
    rows.check_no_loops()
    rows.check_distinct()
    edges = np.stack([rows.i, rows.j], axis=1) - 1
    return Model(np.zeros(n), edges, -2 * rows.value, labels=range(1, n + 1))


def write(model: Model) -> str:
    """Write a model without fields as a max-cut file."""
    if model.theta.any():
        i = int(np.flatnonzero(model.theta)[0])
        raise ModelError(
            f"a max-cut file cannot hold fields, and theta of variable {model.labels[i]!r} is "
            f"{model.theta[i]:g}: write .bq, .uai or .json, or uproot(model), which has none"
        )
    check_no_forbidden(model, "rudy")
    check_constant(model, "rudy")
    check_numbered(model, "rudy", 1)
    lines = [f"{model.n} {model.m}"]
    for (i, j), w in zip(model.edges.tolist(), (-model.weights / 2).tolist(), strict=True):
        lines.append(f"{i + 1} {j + 1} {spell(w)}")
    return "\n".join(lines) + "\n"


def read_sizes(text: Text) -> tuple[int, int, int]:
    """Read a header ``n m``: its line, n and m."""
    line, words = read_header(text, b"#")
    sizes = [integer(word) for word in words]
    if len(sizes) == 3 and sizes[2] == 0:
        del sizes[2]
    if len(sizes) != 2 or sizes[0] is None or sizes[1] is None or min(sizes[0], sizes[1]) < 0:
        found = b" ".join(words)[:60].decode(errors="replace")
        raise text.error(f"the header is {found!r}: expected two integers, n and m", line)
    check_size(text, sizes[0], line)
    return line, sizes[0], sizes[1]
