"""The bytes of one input file, and how an output file comes to be: whole, or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from mapreroot.errors import FormatError

__all__ = [
    "Text",
    "integer",
    "number",
    "read_text",
    "spell",
    "writable",
    "write_bytes",
    "write_text",
]


@dataclass(frozen=True)
class Text:
    """What a file holds, lines ending in a plain newline.

    Attributes
    ----------
    name : str
        The path as the user gave it, for messages.
    data : bytes
        Valid UTF-8, not blank.
    """

    name: str
    data: bytes

    def error(self, message: str, line: int | None = None) -> FormatError:
        """Make an error that names this file."""
        return FormatError(message, self.name, line)


def read_text(path: str | os.PathLike[str]) -> Text:
    """Read a file, or standard input for ``-``; gzip is recognised by its first two bytes.

    Raises
    ------
    FormatError
        If the file is empty, binary, or a damaged gzip file.
    OSError
        If it cannot be opened.
    """
    name = os.fspath(path)
    if name == "-":
        name, data = "<stdin>", sys.stdin.buffer.read()
    else:
        data = Path(name).read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise FormatError(f"is a damaged gzip file: {error}", name) from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise FormatError("is empty: expected a model", name)
    try:
        if b"\0" in data:
            raise FormatError(f"is not a text file: byte {data.index(0)} is 0", name)
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"is not a text file: byte {error.start} is {data[error.start]:#04x}", name
        ) from error
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return Text(name, data)


def write_text(path: str | os.PathLike[str], content: str) -> None:
    """Write a file, or standard output for ``-``; a name that ends in ``.gz`` is compressed.

    The content goes to a new file beside the old one, which it then replaces in one step: a
    reader, or a crash, never sees a half-written file.
    """
    name = os.fspath(path)
    if name == "-":
        sys.stdout.write(content)
        return
    data = content.encode()
    write_bytes(name, gzip.compress(data, mtime=0) if name.endswith(".gz") else data)


def writable(path: str | os.PathLike[str]) -> None:
    """Make sure that a file can be written there, before hours go into what it will hold.

    Raises
    ------
    OSError
        If its folder is missing or may not be written to, or if it is a folder itself.
    """
    name = os.fspath(path)
    target = Path(os.path.realpath(name))
    if name == "-":
        return
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    if not os.access(target.parent if target.is_file() or not target.exists() else target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file as it is, whole or not at all."""
    try:
        _write(Path(os.path.realpath(path)), data)
    except OSError as error:  # not of the file beside it, nor of none
        error.filename = os.fspath(path)
        raise


def _write(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
        target.write_bytes(data)
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            part.chmod(target.stat().st_mode)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def integer(token: bytes) -> int | None:
    """Read a plain decimal integer: a sign is allowed; underscores, points and exponents not."""
    digits = token[1:] if token[:1] in (b"+", b"-") else token
    # Longer ones are no index or count, and Python limits the conversion.
    return int(token) if digits.isdigit() and len(digits) < 1000 else None


def number(token: bytes) -> float | None:
    """Read a decimal number, which may come out as infinite or NaN; None if it is not one."""
    try:
        return None if b"_" in token else float(token)
    except ValueError:
        return None


def spell(value: float) -> str:
    """Write a float so that it is read back exactly, integers without a point."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
