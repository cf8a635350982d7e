"""QUBO files of MQLib: the lines of Biq Mac's, but x'Qx is maximised.

Nothing in such a file tells the two apart, so that this format is used only when it is named.
"""

from __future__ import annotations

from mapreroot.formats.biqmac import matrix_lines, numbered, read_matrix
from mapreroot.formats.text import Text
from mapreroot.model import Model

__all__ = ["read", "write"]


def read(text: Text) -> Model:
    """Read an MQLib QUBO file: score = x'Qx, labels 1..n."""
    return numbered(Model.from_qubo(read_matrix(text), sense="max"))


def write(model: Model) -> str:
    """Write a model as an MQLib QUBO file."""
    return matrix_lines(model, "mqlib-qubo", -1.0)
