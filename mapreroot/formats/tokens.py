"""A stream of words: how the free-form formats (UAI, libDAI, evidence) are read."""

from __future__ import annotations

from mapreroot.errors import FormatError
from mapreroot.formats.text import Text, integer

__all__ = ["Tokens"]


class Tokens:
    """The words of a file, taken one after the other.

    Parameters
    ----------
    text : Text
    comment : bytes
        Lines whose first word starts with it (``#``) or is it (a letter) are skipped.
    """

    def __init__(self, text: Text, comment: bytes) -> None:
        self.text = text
        self.comment = comment
        if comment in text.data:
            self.words = [word for _, words in self._lines() for word in words]
        else:
            self.words = text.data.split()
        self.position = 0

    def _lines(self) -> list[tuple[int, list[bytes]]]:
        lines = []
        for line, content in enumerate(self.text.data.split(b"\n"), 1):
            words = content.split()
            if words and not self._is_comment(words[0]):
                lines.append((line, words))
        return lines

    def _is_comment(self, word: bytes) -> bool:
        return word == self.comment or (self.comment == b"#" and word.startswith(b"#"))

    @property
    def left(self) -> int:
        """How many words are still to be read."""
        return len(self.words) - self.position

    def error(self, message: str, position: int | None = None) -> FormatError:
        """Make an error at a word, by default the one to be read next."""
        wanted = self.position if position is None else position
        line = None
        for line, words in self._lines():  # noqa: B007  (past the end: the last line)
            wanted -= len(words)
            if wanted < 0:
                break
        return self.text.error(message, line)

    def show(self, position: int) -> str:
        """Quote a word."""
        word = self.words[position].decode(errors="replace")
        return repr(word if len(word) <= 40 else word[:37] + "...")

    def integer(self, what: str) -> int:
        """Take one non-negative integer."""
        return self.integers(1, what)[0]

    def integers(self, count: int, what: str) -> list[int]:
        """Take some non-negative integers."""
        stop = self.position + count
        if stop > len(self.words):
            raise self.error(f"the file ends where {what} is expected", len(self.words))
        try:
            # The common case in one go; isdigit alone keeps out signs, points and underscores.
            part = self.words[self.position : stop]
            if all(map(bytes.isdigit, part)):
                values = list(map(int, part))
                self.position = stop
                return values
        except ValueError:  # too long for Python's conversion: reported below
            pass
        for position in range(self.position, stop):
            value = integer(self.words[position])
            if value is None or value < 0:
                raise self.error(
                    f"{self.show(position)} is not {what}: expected an integer, 0 or more",
                    position,
                )
        raise self.error(f"{what} is too large")

    def check_end(self, what: str) -> None:
        """Refuse words that are left over."""
        if self.left:
            raise self.error(
                f"trailing {self.show(self.position)} after {what}: {self.left} words too many"
            )
