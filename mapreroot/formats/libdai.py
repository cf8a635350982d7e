"""Factor graphs of libDAI (``.fg``).

The number of factors, then a block for each: how many variables, their labels, their numbers of
states, how many entries follow, and the entries as ``index value``, the first variable varying
fastest; entries that are left out are 0. The score is the natural logarithm of the product.
Lines that start with ``#`` are comments.
"""

from __future__ import annotations

import math

import numpy as np

from mapreroot.formats.factors import Factors, factors_of, read_logarithms
from mapreroot.formats.qbsolv import index_labels
from mapreroot.formats.text import Text, spell
from mapreroot.formats.tokens import Tokens
from mapreroot.model import Model

__all__ = ["read", "write"]


def read(text: Text) -> Factors:
    """Read a libDAI file, labels the numbers that appear, ascending."""
    tokens = Tokens(text, b"#")
    states: dict[int, int] = {}
    scopes: list[list[int]] = []
    positions: list[int] = []
    places: list[int] = []
    factor_of_entry: list[int] = []
    total = 0
    for k in range(tokens.integer("the number of factors")):
        order = tokens.integer(f"the number of variables of factor {k}")
        scope = tokens.integers(order, "a variable's label")
        if len(set(scope)) < len(scope):
            raise tokens.error(f"factor {k} covers a variable twice", tokens.position - 1)
        shape = tokens.integers(order, "a number of states")
        for at, (label, count) in enumerate(zip(scope, shape, strict=True)):
            if count == 0 or states.setdefault(label, count) != count:
                raise tokens.error(
                    f"variable {label} has {count} states"
                    + ("" if count == 0 else f" in factor {k}, {states[label]} before"),
                    tokens.position - order + at,
                )
        size, entries = math.prod(shape), tokens.integer("the number of entries")
        if entries > size or size > 2**31:
            raise tokens.error(
                f"factor {k} has {size} entries, {entries} are announced", tokens.position - 1
            )
        seen = set()
        for _ in range(entries):
            place = tokens.integer(f"an index into the table of factor {k}")
            if place >= size or place in seen:
                what = "is given twice" if place in seen else f"is out of range: {size} entries"
                raise tokens.error(f"factor {k}: table index {place} {what}", tokens.position - 1)
            if not tokens.left:
                raise tokens.error(f"the file ends inside the table of factor {k}")
            seen.add(place)
            positions.append(tokens.position)
            places.append(total + place)
            factor_of_entry.append(k)
            tokens.position += 1
        total += size
        scopes.append(scope[::-1])  # the first varies fastest here, the last in Factors
    tokens.check_end("the last factor")
    labels = sorted(states)
    index = {label: v for v, label in enumerate(labels)}
    logs = np.full(total, -np.inf)
    logs[np.array(places, dtype=np.int64)] = read_logarithms(tokens, positions, factor_of_entry)
    return Factors(
        tuple(labels),
        np.array([states[label] for label in labels], dtype=np.int64),
        np.array([len(scope) for scope in scopes], dtype=np.int64),
        np.array([index[v] for scope in scopes for v in scope], dtype=np.int64),
        logs,
    )


def write(model: Model) -> str:
    """Write a model as a libDAI file; the constant becomes a factor without variables."""
    labels = index_labels(model, "fg")
    factors = list(factors_of(model))
    blocks = [f"{len(factors)}\n"]
    for scope, table in factors:
        entries = [f"{place} {spell(value)}" for place, value in enumerate(table) if value]
        lines = [
            str(len(scope)),
            " ".join(str(labels[v]) for v in reversed(scope)),  # the first varies fastest here
            " ".join(["2"] * len(scope)),
            str(len(entries)),
            *entries,
        ]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)
