"""Data rows and edge factors from the user's shapes to flat arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError
from mapreroot.trees.cover import Ids
from mapreroot.trees.rooting import Ints

__all__ = ["Rows", "flat_factors", "flat_rows", "numbers", "vertices_of"]

Rows = ArrayLike | Sequence[ArrayLike]
Floats = NDArray[np.float64]


def flat_rows(rows: Rows, count: int, name: str, k: Ids | None = None) -> tuple[Floats, Ints, Ids]:
    """Lay rows end to end.

    Parameters
    ----------
    rows : array_like
        A (count, k) array, or a list of rows of different lengths.
    count : int
        Number of rows expected.
    name : str
        What to call them in an error.
    k : numpy.ndarray, optional
        (count,) lengths expected.

    Returns
    -------
    flat, starts, lengths : numpy.ndarray
        All entries, the first entry of each row, and (count,) lengths.

    Raises
    ------
    ModelError
        If a count or a length is wrong, or an entry is negative or not finite.
    """
    array = rows if isinstance(rows, np.ndarray) else _rectangular(rows)
    if array is not None:
        if array.ndim != 2 or len(array) != count or not array.shape[1]:
            raise ModelError(f"{name} has shape {array.shape}: expected {count} rows of numbers")
        lengths = np.full(count, array.shape[1], np.int32)
        flat = numbers(array, name)
        starts = np.arange(count) * array.shape[1]
    else:
        listed = [np.atleast_1d(np.asarray(row)) for row in rows]  # type: ignore[union-attr]
        if len(listed) != count:
            raise ModelError(f"{name} has {len(listed)} rows: expected {count}")
        for i, row in enumerate(listed):
            if row.ndim != 1 or not len(row):
                raise ModelError(f"{name}[{i}] has shape {row.shape}: expected a row of numbers")
            numbers(row, f"{name}[{i}]")
        lengths = np.array([len(row) for row in listed], np.int32)
        flat = np.concatenate(listed).astype(np.float64)
        starts = np.append(0, np.cumsum(lengths[:-1], dtype=np.int64))
    if k is not None and not np.array_equal(lengths, k):
        i = int(np.flatnonzero(lengths != k)[0])
        raise ModelError(f"{name}[{i}] has {lengths[i]} numbers: its vertex has {k[i]} labels")
    return flat, starts, lengths


def flat_factors(factors: Rows, edges: Ids, shapes: Ids) -> tuple[Floats, Ints]:
    """Lay edge factors end to end.

    Parameters
    ----------
    factors : array_like
        One matrix for all edges, an (m, k_u, k_v) array, or a list of m matrices.
    edges : numpy.ndarray
        (m, 2) vertices.
    shapes : numpy.ndarray
        (m, 2) label counts of the edges' vertices.

    Returns
    -------
    flat, starts : numpy.ndarray
        All entries, and the first entry of each edge's matrix (the same one for all
        edges when they share it).

    Raises
    ------
    ModelError
        If a shape does not fit its vertices, or an entry is negative or not finite.
    """
    m = len(edges)
    array = factors if isinstance(factors, np.ndarray) else _rectangular(factors)
    if array is not None and array.ndim == 2 and array.size:
        _fits(np.broadcast_to(array.shape, (m, 2)), shapes, edges, "the shared factor")
        return numbers(array, "factors"), np.zeros(m, np.int64)
    if array is not None and array.ndim == 3 and len(array) == m:
        _fits(np.broadcast_to(array.shape[1:], (m, 2)), shapes, edges, "its factor")
        size = array.shape[1] * array.shape[2]
        return numbers(array, "factors"), np.arange(m) * size
    if m == 0 and (array is None or array.size == 0):
        return np.empty(0), np.empty(0, np.int64)
    if array is not None:
        raise ModelError(
            f"factors has shape {array.shape}: expected one matrix, or {m}, one per edge"
        )
    listed = [np.asarray(matrix) for matrix in factors]  # type: ignore[union-attr]
    if len(listed) != m:
        raise ModelError(f"{len(listed)} factors for {m} edges: expected one per edge")
    for e, matrix in enumerate(listed):
        if matrix.ndim != 2:
            raise ModelError(f"factors[{e}] has shape {matrix.shape}: expected a matrix")
    _fits(np.array([matrix.shape for matrix in listed]), shapes, edges, "its factor")
    flat = [numbers(matrix, f"factors[{e}]") for e, matrix in enumerate(listed)]
    sizes = [matrix.size for matrix in listed]
    return np.concatenate(flat), np.append(0, np.cumsum(sizes[:-1], dtype=np.int64))


def vertices_of(vertices: ArrayLike, n: int) -> Ints:
    """Give `vertices` as a checked int64 array."""
    array = np.atleast_1d(np.asarray(vertices))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ModelError(f"vertices are integers in one row, not {array.dtype} {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= n):
        i = int(np.flatnonzero((array < 0) | (array >= n))[0])
        raise ModelError(f"vertices[{i}] is {array[i]}: vertices are 0..{n - 1}")
    return array.astype(np.int64)


def _rectangular(rows: Rows) -> NDArray[np.generic] | None:
    try:
        return np.asarray(rows)
    except ValueError:  # rows of different lengths
        return None


def numbers(values: ArrayLike, name: str) -> Floats:
    """Give `values` as a flat array, or raise ModelError naming the first bad entry."""
    try:
        array = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{name} holds something that is not a number") from None
    flat = array.ravel()
    wrong = ~((flat >= 0) & (flat < np.inf))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        at = ", ".join(str(j) for j in np.unravel_index(i, array.shape))
        raise ModelError(f"{name}[{at}] is {flat[i]}: it must be finite and not negative")
    return flat


def _fits(found: Ints, expected: Ids, edges: Ids, what: str) -> None:
    wrong = np.flatnonzero((found != expected).any(axis=1))
    if len(wrong):
        e = int(wrong[0])
        u, v = edges[e]
        raise ModelError(
            f"edge {e} = ({u}, {v}): {what} has shape {tuple(map(int, found[e]))}, "
            f"but the vertices have {expected[e, 0]} and {expected[e, 1]} labels"
        )
