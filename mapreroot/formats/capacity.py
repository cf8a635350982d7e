"""What a format has no room for: refused before anything is written."""

from __future__ import annotations

from mapreroot.errors import ModelError
from mapreroot.formats.text import Text
from mapreroot.model import Model

__all__ = ["check_constant", "check_no_forbidden", "check_numbered", "check_size"]


def check_size(text: Text, n: int, line: int) -> None:
    """Refuse a header's number of variables that no array could be made for."""
    if n >= 2**31:
        raise text.error(f"{n} variables: expected fewer than 2^31", line)


def check_no_forbidden(model: Model, name: str) -> None:
    """Refuse hard constraints: without them the penalty would become the user's objective."""
    if model.forbidden:
        raise ModelError(
            f"the {name} format cannot hold hard constraints, and the model has "
            f"{len(model.forbidden)}: write .json, .uai or .fg"
        )


def check_constant(model: Model, name: str) -> None:
    """Refuse a constant."""
    if model.constant:
        raise ModelError(
            f"the {name} format cannot hold the constant {model.constant!r}: write .json, .uai, "
            ".fg, .coo or .qubo, or set it to 0 and add it to the objective yourself"
        )


def check_numbered(model: Model, name: str, first: int) -> None:
    """Refuse labels that a format which numbers its variables from ``first`` would lose.

    Both 0..n-1 and 1..n count as the plain order, so that numbered formats convert into each
    other.
    """
    for start in (0, 1):
        if all(label == k for k, label in enumerate(model.labels, start)):
            return
    raise ModelError(
        f"the {name} format numbers its variables from {first}, and the labels "
        f"{', '.join(map(repr, model.labels[:3]))}{', ...' if model.n > 3 else ''} would be lost: "
        "write .json"
    )
