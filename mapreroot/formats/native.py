"""Our own JSON: the model to the last bit, labels and hard constraints included.

One object with ``mapreroot`` (the version of this format, 1), ``theta``, ``edges``, ``weights``,
``constant``, ``labels`` (left out when they are 0..n-1) and ``forbidden``, as in
`mapreroot.Model`. Potentials carry the penalty of the hard constraints. Tuples in labels are
arrays.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from mapreroot.errors import InfeasibleError, ModelError
from mapreroot.formats.text import Text
from mapreroot.model import Model

__all__ = ["read", "write"]

REQUIRED = {"mapreroot", "theta", "edges", "weights"}
OPTIONAL = {"constant", "labels", "forbidden"}


def read(text: Text) -> Model:
    """Read a model as it was written."""

    def refuse(name: str) -> None:
        raise text.error(f"holds {name}: expected finite numbers")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise text.error("holds an object with the same key twice")
        return dict(pairs)

    try:
        content = json.loads(text.data, parse_constant=refuse, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise text.error(f"is not JSON: {error.msg}", error.lineno) from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise text.error(f"is not JSON that can be read: {error}") from error
    if not isinstance(content, dict) or not set(content) >= REQUIRED:
        raise text.error(f"expected a JSON object with {', '.join(sorted(REQUIRED))}")
    if unknown := sorted(set(content) - REQUIRED - OPTIONAL):
        raise text.error(f"unknown key {unknown[0]!r}: expected {_names(REQUIRED | OPTIONAL)}")
    if content["mapreroot"] != 1:
        raise text.error(f"is of version {content['mapreroot']!r}: this program reads version 1")
    rows = content.get("forbidden", [])
    if not _is_rows(rows):
        raise text.error("forbidden: expected a list of lists of integers")
    labels = content.get("labels")
    if labels is not None and not isinstance(labels, list):
        raise text.error("labels: expected a list")
    try:
        model = Model.from_penalised(
            content["theta"],
            content["edges"],
            content["weights"],
            _constant(content.get("constant", 0.0)),
            None if labels is None else map(_decode, labels),
            rows,
        )
        pairs = np.sort(np.asarray(content["edges"], dtype=np.int64).reshape(-1, 2), axis=1)
    except InfeasibleError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise text.error(str(error)) from error
    if len(np.unique(pairs, axis=0)) < len(pairs):
        raise text.error("edges: a pair is given twice")
    return model


def write(model: Model) -> str:
    """Write a model so that it reads back equal."""
    parts: dict[str, Any] = {
        "mapreroot": 1,
        "theta": model.theta.tolist(),
        "edges": model.edges.tolist(),
        "weights": model.weights.tolist(),
        "constant": model.constant,
    }
    if model.labels != tuple(range(model.n)) or not all(type(a) is int for a in model.labels):
        parts["labels"] = [_encode(label, label) for label in model.labels]
    if model.forbidden:
        parts["forbidden"] = [list(row) for row in model.forbidden]
    lines = (f"{json.dumps(key)}: {json.dumps(part)}" for key, part in parts.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _encode(part: Any, label: Hashable) -> Any:
    if isinstance(part, tuple):
        return [_encode(each, label) for each in part]
    if part is None or isinstance(part, (bool, str)):
        return part
    if isinstance(part, np.bool_):
        return bool(part)
    if isinstance(part, (int, np.integer)):
        return int(part)
    if isinstance(part, (float, np.floating)) and math.isfinite(part) and float(part) == part:
        return float(part)
    raise ModelError(
        f"label {label!r} cannot be written as JSON and read back: expected strings, numbers, "
        "booleans, None, or tuples of these"
    )


def _decode(part: Any) -> Any:
    if isinstance(part, list):
        return tuple(map(_decode, part))
    if isinstance(part, dict):
        raise ModelError(f"label {part!r} is an object: expected a value or an array of values")
    return part


def _constant(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ModelError(f"constant is {value!r}: expected a number")
    return float(value)


def _is_rows(rows: Any) -> bool:
    return isinstance(rows, list) and all(
        isinstance(row, list) and all(type(part) is int for part in row) for row in rows
    )


def _names(keys: set[str]) -> str:
    return ", ".join(sorted(keys))
