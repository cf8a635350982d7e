"""Models of the UAI competitions (``.uai``): MARKOV and BAYES, which mean the same product.

A preamble of sizes and scopes, then the tables, the last variable of a scope varying fastest.
The score is the natural logarithm of the product. Lines whose first word is ``c`` are comments.
"""

from __future__ import annotations

import math

import numpy as np

from mapreroot.formats.capacity import check_numbered, check_size
from mapreroot.formats.factors import Factors, factors_of, read_logarithms
from mapreroot.formats.text import Text, spell
from mapreroot.formats.tokens import Tokens
from mapreroot.model import Model

__all__ = ["read", "write"]


def read(text: Text) -> Factors:
    """Read a UAI file, labels 0..n-1."""
    tokens = Tokens(text, b"c")
    if tokens.words[:1] not in ([b"MARKOV"], [b"BAYES"]):
        found = tokens.show(0) if tokens.words else "nothing"
        raise tokens.error(f"expected MARKOV or BAYES at the beginning, found {found}")
    tokens.position = 1
    n = tokens.integer("the number of variables")
    check_size(text, n, 1)
    states = tokens.integers(n, "a number of states")
    if 0 in states:
        v = states.index(0)
        raise tokens.error(f"variable {v} has 0 states", tokens.position - n + v)
    scopes = _read_scopes(tokens, n)
    sizes = [math.prod(states[v] for v in scope) for scope in scopes]
    starts = _find_tables(tokens, scopes, sizes, states)
    first = tokens.position
    is_size = np.zeros(len(tokens.words) - first, dtype=bool)
    is_size[np.array(starts, dtype=np.int64) - first] = True
    positions = (np.flatnonzero(~is_size) + first).tolist()
    logs = read_logarithms(tokens, positions, np.repeat(np.arange(len(sizes)), sizes).tolist())
    return Factors(
        tuple(range(n)),
        np.array(states, dtype=np.int64),
        np.array([len(scope) for scope in scopes], dtype=np.int64),
        np.array([v for scope in scopes for v in scope], dtype=np.int64),
        logs,
    )


def _read_scopes(tokens: Tokens, n: int) -> list[list[int]]:
    scopes = []
    for k in range(tokens.integer("the number of factors")):
        scope = tokens.integers(tokens.integer(f"the order of factor {k}"), "a variable's index")
        if len(set(scope)) < len(scope):
            raise tokens.error(f"factor {k} covers a variable twice", tokens.position - 1)
        if scope and max(scope) >= n:
            raise tokens.error(
                f"factor {k} covers variable {max(scope)}: expected 0..{n - 1} (0-based)",
                tokens.position - len(scope) + scope.index(max(scope)),
            )
        scopes.append(scope)
    return scopes


def _find_tables(
    tokens: Tokens, scopes: list[list[int]], sizes: list[int], states: list[int]
) -> list[int]:
    """Give the position of each table's size, once all are what they should be."""
    starts, position, stop = [], tokens.position, len(tokens.words)
    for k, (scope, size) in enumerate(zip(scopes, sizes, strict=True)):
        if position >= stop:
            raise tokens.error(f"the file ends where the table of factor {k} is expected", stop)
        if tokens.words[position] != b"%d" % size:
            shape = " x ".join(str(states[v]) for v in scope) or "1"
            raise tokens.error(
                f"factor {k} has order {len(scope)} ({shape} states): expected a table of {size} "
                f"entries, found {tokens.show(position)}",
                position,
            )
        starts.append(position)
        position += 1 + size
        if position > stop:
            raise tokens.error(
                f"the file ends inside the table of factor {k}: expected {size} entries, found "
                f"{size - (position - stop)}",
                stop,
            )
    if position < stop:
        first, tokens.position = tokens.position, position
        tokens.check_end("the last table")
        tokens.position = first
    return starts


def write(model: Model) -> str:
    """Write a model as a MARKOV file; the constant becomes a factor of order 0."""
    check_numbered(model, "uai", 0)
    factors = list(factors_of(model))
    lines = ["MARKOV", str(model.n), " ".join(["2"] * model.n), str(len(factors))]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope, _ in factors]
    lines.append("")
    for _, table in factors:
        lines += [str(len(table)), " " + " ".join(map(spell, table))]
    return "\n".join(lines) + "\n"
