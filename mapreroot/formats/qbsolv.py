"""QUBO files of qbsolv (``.qubo``).

``p qubo topology maxNodes nNodes nCouplers``, then nNodes lines ``i i q`` and nCouplers lines
``i j q``, 0-based and below maxNodes. The energy, in which every line counts once, is minimised.
Lines that start with ``c`` are comments; ``c offset = 1.5`` is ours, and is read back as the
constant of the energy.
"""

from __future__ import annotations

import re

import numpy as np

from mapreroot.errors import ModelError
from mapreroot.formats.capacity import check_no_forbidden
from mapreroot.formats.rows import read_header, read_rows
from mapreroot.formats.text import Text, integer, number, spell
from mapreroot.model import Model

__all__ = ["index_labels", "read", "read_offset", "write"]


def read(text: Text) -> Model:
    """Read a qbsolv file: score = -energy, labels the indices that appear."""
    line, words = read_header(text, b"c")
    sizes = [integer(word) for word in words[3:]]
    if words[:2] != [b"p", b"qubo"] or len(sizes) != 3 or None in sizes:
        raise text.error(
            "expected the header 'p qubo topology maxNodes nNodes nCouplers', found "
            f"{b' '.join(words)[:60].decode(errors='replace')!r}",
            line,
        )
    largest, nodes, couplers = (size for size in sizes if size is not None)
    rows = read_rows(text, b"c", line)
    rows.check_count(nodes + couplers, line, "nodes and couplers")
    loops = int((rows.i == rows.j).sum())
    if loops != nodes:
        raise text.error(f"the header promises {nodes} nodes, the file has {loops}", line)
    rows.check_range(0, largest - 1)
    rows.check_distinct()
    labels, ends = np.unique(np.stack([rows.i, rows.j]), return_inverse=True)
    i, j = ends.reshape(2, -1)
    theta, on = np.zeros(len(labels)), i == j
    np.add.at(theta, i[on], -rows.value[on])
    edges, W = np.stack([i[~on], j[~on]], axis=1), -rows.value[~on]
    np.add.at(theta, edges.ravel(), np.repeat(W, 2) / 2)
    return Model(theta, edges, W, -read_offset(text, b"c"), labels=labels.tolist())


def write(model: Model) -> str:
    """Write a model as a qbsolv file."""
    check_no_forbidden(model, "qbsolv")
    labels = index_labels(model, "qbsolv")
    Q, offset = model.to_qubo()
    index = dict(zip(model.labels, labels, strict=True))
    nodes = [f"{index[a]} {index[a]} {spell(q)}" for (a, b), q in Q.items() if a == b]
    couplers = []
    for (a, b), q in Q.items():
        if a != b:
            i, j = sorted((index[a], index[b]))
            couplers.append(f"{i} {j} {spell(q)}")
    largest = max(labels, default=-1) + 1
    lines = [
        *([f"c offset = {offset!r}"] if offset else []),
        f"p qubo 0 {largest} {len(nodes)} {len(couplers)}",
        *nodes,
        *couplers,
    ]
    return "\n".join(lines) + "\n"


def read_offset(text: Text, comment: bytes) -> float:
    """Find the constant of the energy in a comment ``offset = value``; 0 without one."""
    pattern = rb"^[ \t]*" + comment + rb"[ \t]*offset[ \t]*=[ \t]*(\S*)[ \t]*$"
    found = list(re.finditer(pattern, text.data, re.MULTILINE))
    if not found:
        return 0.0
    line = text.data.count(b"\n", 0, found[-1].start()) + 1
    value = number(found[-1][1])
    if len(found) > 1 or value is None or not np.isfinite(value):
        raise text.error("expected one offset, a finite number", line)
    return value


def index_labels(model: Model, name: str) -> list[int]:
    """Give the labels as the indices they are, or refuse."""
    for label in model.labels:
        if not isinstance(label, (int, np.integer)) or isinstance(label, bool) or label < 0:
            raise ModelError(
                f"the {name} format names variables by integers, 0 or more, and label {label!r} "
                "would be lost: write .json"
            )
    return [int(label) for label in model.labels]  # type: ignore[call-overload]
