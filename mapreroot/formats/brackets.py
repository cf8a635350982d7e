"""Loose JSON: words and what stands between brackets, nothing else told apart.

Quotes, commas and colons may be left out, braces and brackets stand for each other, and lines
that start with ``#`` are comments.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mapreroot.errors import FormatError
from mapreroot.formats.text import Text

__all__ = ["Node", "error_at", "fields", "number_of", "parse", "show", "words_before_close"]

_TOKEN = re.compile(
    r'(?P<comment>^#.*)|(?P<open>[{\[])|(?P<close>[}\]])|"(?P<quoted>[^"\n]*)"|'
    r'(?P<bare>[^\s,:{}\[\]"]+)|(?P<stray>")',
    re.ASCII | re.MULTILINE,
)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")


class Node(NamedTuple):
    """A word, or (where ``word`` is None) what stands between two brackets."""

    position: int
    word: str | None
    items: tuple[Node, ...] = ()

    @property
    def is_name(self) -> bool:
        """Whether it is a word, and not meant to be a number."""
        return self.word is not None and self.word[:1] not in tuple("0123456789+-.")


def error_at(text: Text, node: Node, message: str) -> FormatError:
    """Make an error at the line where a node begins."""
    return text.error(message, text.data.decode().count("\n", 0, node.position) + 1)


def parse(text: Text) -> Node:
    """Build the tree of the one pair of brackets around everything."""
    stack: list[tuple[int, list[Node]]] = [(0, [])]
    for kind, position, word in _tokens(text):
        if kind == "open":
            stack.append((position, []))
        elif kind != "close":
            stack[-1][1].append(Node(position, word))
        elif len(stack) == 1:
            raise error_at(text, Node(position, None), "a bracket is closed that was not opened")
        else:
            opened, items = stack.pop()
            stack[-1][1].append(Node(opened, None, tuple(items)))
    if len(stack) > 1:
        raise error_at(text, Node(stack[-1][0], None), "the bracket is not closed")
    top = stack[0][1]
    if len(top) != 1 or top[0].word is not None:
        last = top[-1] if top else Node(0, None)
        raise error_at(text, last, "expected one pair of brackets around everything")
    return top[0]


def words_before_close(text: Text) -> list[str]:
    """Give the words before the first closing bracket; the rest is not looked at."""
    before = itertools.takewhile(lambda token: token[0] != "close", _tokens(text))
    return [word for kind, _, word in before if kind != "open"]


def fields(text: Text, node: Node, tags: Sequence[str]) -> list[Node]:
    """Take an object apart whose fields come in a given order; their tags may be left out."""
    found, items = [], list(node.items)
    for tag in tags:
        if items and items[0].word == tag:
            del items[0]
        if not items:
            raise error_at(text, node, f"{tag!r} is missing: expected {', '.join(tags)}")
        found.append(items.pop(0))
    if items:
        raise error_at(
            text, items[0], f"{show(items[0])} is too much: expected {', '.join(tags)} only"
        )
    return found


def number_of(text: Text, node: Node) -> float:
    """Read a decimal number, without an exponent."""
    if node.word is None or not _NUMBER.fullmatch(node.word):
        raise error_at(text, node, f"{show(node)} is not a decimal number")
    value = float(node.word)
    if not math.isfinite(value):
        raise error_at(text, node, f"the number {show(node)} is too large")
    return value


def show(node: Node) -> str:
    """Quote a word."""
    if node.word is None:
        return "a bracket"
    return repr(node.word if len(node.word) <= 40 else node.word[:37] + "...")


def _tokens(text: Text) -> Iterator[tuple[str, int, str]]:
    """Give the kind, the position and the content of what is neither blank nor comment."""
    for token in _TOKEN.finditer(text.data.decode()):
        kind = str(token.lastgroup)
        if kind == "stray":
            raise error_at(text, Node(token.start(), None), "the quote is not closed in its line")
        if kind != "comment":
            yield kind, token.start(), token[kind]
