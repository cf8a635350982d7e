"""Observed variables: from a mapping, or from a UAI evidence file in either dialect."""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Mapping
from typing import Any

from mapreroot.errors import ModelError
from mapreroot.formats.text import read_text
from mapreroot.formats.tokens import Tokens

__all__ = ["read_evidence", "resolve"]


def read_evidence(path: str | os.PathLike[str]) -> dict[str, int]:
    """Read an evidence file: variables, as written, and their values.

    ``k v1 a1 .. vk ak`` (2014 and later) has an odd number of words. The older dialect puts the
    number of samples before it, which makes it even; that number must be 1.

    Raises
    ------
    FormatError
        For anything else, or a variable that is observed twice.
    """
    tokens = Tokens(read_text(path), b"#")
    if tokens.left % 2 == 0:
        samples = tokens.integer("the number of samples")
        if samples != 1:
            raise tokens.error(f"{samples} samples of evidence: expected 1", 0)
    count = tokens.integer("the number of observed variables")
    if tokens.left != 2 * count:
        raise tokens.error(
            f"{count} observed variables need {2 * count} words, the file has {tokens.left}",
            tokens.position - 1,
        )
    observed: dict[str, int] = {}
    for _ in range(count):
        start = tokens.position
        variable, value = tokens.integers(2, "an observed variable and its value")
        if str(variable) in observed:
            raise tokens.error(f"variable {variable} is observed twice", start)
        observed[str(variable)] = value
    return observed


def resolve(
    evidence: str | os.PathLike[str] | Mapping[Any, int] | None, labels: tuple[Hashable, ...]
) -> dict[Hashable, int]:
    """Match evidence with a model's labels; a string also matches the label that prints so.

    Raises
    ------
    ModelError
        For a variable that is not there, one that is observed twice, or a value that is no
        integer.
    """
    if evidence is None:
        return {}
    observed = evidence if isinstance(evidence, Mapping) else read_evidence(evidence)
    if not observed:
        return {}
    known = set(labels)
    printed: dict[str, list[Hashable]] = {}
    for label in labels:
        printed.setdefault(str(label), []).append(label)
    fixed: dict[Hashable, int] = {}
    for name, value in observed.items():
        matches = [name] if name in known else []
        if not matches and isinstance(name, str):
            matches = printed.get(name, [])
        if len(matches) != 1:
            raise ModelError(
                f"evidence for {name!r}: "
                + ("no variable is called that" if not matches else "several variables print so")
            )
        if matches[0] in fixed:
            raise ModelError(f"evidence for {name!r}: the variable is observed twice")
        try:
            fixed[matches[0]] = operator.index(value)
        except TypeError:
            raise ModelError(f"evidence for {name!r} is {value!r}: expected an integer") from None
    return {label: fixed[label] for label in labels if label in fixed}
