"""dimod's coordinate text (``.coo``).

``# vartype=SPIN`` or ``# vartype=BINARY`` (the default), then lines ``i j bias``: the energy, in
which every line counts once and ``i i`` is linear, is minimised. Lines that start with ``#`` are
comments; ``# offset = 1.5`` is ours, and is read back as the constant of the energy (dimod skips
it).
"""

from __future__ import annotations

import re

import numpy as np

from mapreroot.formats.capacity import check_no_forbidden
from mapreroot.formats.qbsolv import index_labels, read_offset
from mapreroot.formats.rows import read_rows
from mapreroot.formats.text import Text
from mapreroot.model import Model

__all__ = ["read", "write"]


def read(text: Text) -> Model:
    """Read coordinate text: score = -energy, labels the indices that appear, ascending."""
    rows = read_rows(text, b"#", 0)
    rows.check_range(0)
    rows.check_distinct()
    indices = np.unique(np.stack([rows.i, rows.j])).tolist()
    on = rows.i == rows.j
    h = dict.fromkeys(indices, 0.0) | dict(
        zip(rows.i[on].tolist(), rows.value[on].tolist(), strict=True)
    )
    pairs = zip(rows.i[~on].tolist(), rows.j[~on].tolist(), strict=True)
    J = dict(zip(pairs, rows.value[~on].tolist(), strict=True))
    offset = read_offset(text, b"#")
    if _is_spin(text):
        return Model.from_ising(h, J, offset)
    return Model.from_qubo({(i, i): value for i, value in h.items()} | J, "min", offset)


def write(model: Model) -> str:
    """Write a model as coordinate text in spins, where theta and W keep every digit.

    Numbers are written without exponents, since dimod skips lines that have one.
    """
    check_no_forbidden(model, "coo")
    index = dict(zip(model.labels, index_labels(model, "coo"), strict=True))
    h, J, offset = model.to_ising()
    lines = ["# vartype=SPIN"]
    if offset:
        lines.append(f"# offset = {offset!r}")
    lines += [f"{index[a]} {index[a]} {_positional(value)}" for a, value in h.items()]
    for (a, b), value in J.items():
        i, j = sorted((index[a], index[b]))
        lines.append(f"{i} {j} {_positional(value)}")
    return "\n".join(lines) + "\n"


def _is_spin(text: Text) -> bool:
    pattern = rb"^[ \t]*#[ \t]*vartype[ \t]*=[ \t]*(\S*)[ \t]*$"
    found = list(re.finditer(pattern, text.data, re.MULTILINE))
    names = {match[1] for match in found}
    if not names <= {b"SPIN", b"BINARY"} or len(names) > 1:
        line = text.data.count(b"\n", 0, found[-1].start()) + 1
        raise text.error("expected one vartype, SPIN or BINARY", line)
    return names == {b"SPIN"}


def _positional(value: float) -> str:
    return np.format_float_positional(value, trim="-")
