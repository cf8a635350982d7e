"""How results look in a notebook: small tables and images as HTML without scripts.

Every name in them is escaped. They need nothing but the standard library and numpy.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Hashable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["grid_shape", "image", "names", "table"]

_NAMES = 12  # names that fit on a line
_PIXELS = 256  # of an image, along each side


def table(title: str, rows: Mapping[str, object], *images: str) -> str:
    """Set names and values in a table; None is left out.

    Examples
    --------
    >>> table("A <b>", {"score": 0.5, "root": None})  # doctest: +ELLIPSIS
    '<table><caption>A &lt;b&gt;</caption><tr><th style="text-align: left">score</th>...</table>'
    """
    left = 'style="text-align: left"'  # notebooks have it otherwise
    cells = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(_shown(value))}</td></tr>"
        for name, value in rows.items()
        if value is not None
    )
    html = f"<table><caption>{escape(title)}</caption>{cells}</table>{''.join(images)}"
    return html.encode(errors="replace").decode()  # labels may hold lone surrogates


def image(values: npt.ArrayLike, caption: str) -> str:
    """Show a matrix of numbers in [0, 1] as pixels, 0 black and 1 white.

    Examples
    --------
    >>> image([[0, 1], [1, 0]], "x")[:39]
    '<figure><img width="64" height="64" alt'
    """
    shade = np.asarray(values, dtype=np.float64)
    step = -(-max(shade.shape) // _PIXELS)
    shade = np.rint(255 * np.clip(shade[::step, ::step], 0, 1)).astype(np.uint8)
    height, width = shade.shape
    rows = np.hstack([np.zeros((height, 1), np.uint8), shade])  # 0: a row without a filter
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
            (b"IDAT", zlib.compress(rows.tobytes())),
            (b"IEND", b""),
        )
    )
    scale = max(1, min(32, _PIXELS // max(shade.shape)))
    return (
        f'<figure><img width="{scale * width}" height="{scale * height}" alt="{escape(caption)}" '
        f'style="image-rendering: pixelated" src="data:image/png;base64,{b64encode(png).decode()}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def names(items: Sequence[Any], spell: Callable[[Any], str] = str) -> str:
    """List the first of some items, and say how many more there are.

    Examples
    --------
    >>> names(["a", "b"]), names(range(20))[-13:]
    ('a, b', '11 and 8 more')
    """
    more = f" and {len(items) - _NAMES} more" if len(items) > _NAMES else ""
    return ", ".join(map(spell, items[:_NAMES])) + more


def grid_shape(labels: Sequence[Hashable]) -> tuple[int, int] | None:
    """Tell the shape of the image whose pixels, (row, column), are the labels in reading order.

    Examples
    --------
    >>> grid_shape([(0, 0), (0, 1), (1, 0), (1, 1)]), grid_shape(["a", "b"])
    ((2, 2), None)
    """
    last = labels[-1] if labels else None
    if not (isinstance(last, tuple) and len(last) == 2 and all(isinstance(k, int) for k in last)):
        return None
    rows, columns = last[0] + 1, last[1] + 1
    if len(labels) < 2 or rows * columns != len(labels) or columns < 1:
        return None
    cells = ((row, column) for row in range(rows) for column in range(columns))
    return (rows, columns) if all(a == b for a, b in zip(labels, cells, strict=True)) else None


def _shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
