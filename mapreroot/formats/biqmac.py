"""QUBO files of Biq Mac (``.bq``, ``.sparse``): the upper half of a symmetric matrix.

A header ``n m``, then m lines ``i j q``, 1-based. x'Qx is minimised, and since Q is symmetric an
entry with i != j counts twice. MQLib has the same lines, but maximises: `mapreroot.formats.mqlib`.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mapreroot.formats.capacity import check_constant, check_no_forbidden, check_numbered
from mapreroot.formats.rows import read_rows
from mapreroot.formats.rudy import read_sizes
from mapreroot.formats.text import Text, spell
from mapreroot.model import Model

__all__ = ["matrix_lines", "numbered", "read", "read_matrix", "write"]


def read(text: Text) -> Model:
    """Read a Biq Mac file: score = -x'Qx, labels 1..n."""
    return numbered(Model.from_qubo(read_matrix(text), sense="min"))


def write(model: Model) -> str:
    """Write a model as a Biq Mac file."""
    return matrix_lines(model, "bq", 1.0)


def read_matrix(text: Text) -> sp.coo_array:
    """Read the lines as a matrix, the off-diagonal entries doubled."""
    line, n, m = read_sizes(text)
    rows = read_rows(text, b"", line)
    rows.check_count(m, line, "entries")
    rows.check_range(1, n)
    rows.check_distinct()
    q = np.where(rows.i == rows.j, rows.value, 2 * rows.value)
    return sp.coo_array((q, (rows.i - 1, rows.j - 1)), shape=(n, n))


def numbered(model: Model) -> Model:
    """Call the variables 1..n."""
    return Model(
        model.theta, model.edges, model.weights, model.constant, labels=range(1, model.n + 1)
    )


def matrix_lines(model: Model, name: str, sign: float) -> str:
    """Write x'Qx = -sign * score."""
    check_no_forbidden(model, name)
    check_constant(model, name)
    check_numbered(model, name, 1)
    linear = -model.theta
    np.add.at(linear, model.edges.ravel(), np.repeat(model.weights, 2) / 2)
    entries = [(i, i, sign * q) for i, q in enumerate(linear.tolist(), 1) if q]
    for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True):
        entries.append((i + 1, j + 1, -sign * w / 2))
    lines = [f"{model.n} {len(entries)}", *(f"{i} {j} {spell(q)}" for i, j, q in entries)]
    return "\n".join(lines) + "\n"
