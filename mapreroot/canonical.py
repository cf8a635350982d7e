"""What a model makes of its input: checked arrays in one canonical order, and their digest."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.errors import ModelError

__all__ = [
    "Bits",
    "Floats",
    "Ints",
    "check_range",
    "digest_of",
    "distinct_labels",
    "real_number",
    "real_numbers",
    "sorted_edges",
    "zeros_and_ones",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.int8]


def real_numbers(values: npt.ArrayLike, name: str) -> Floats:
    """Copy into one dimension of doubles."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" and array.size and array.dtype.kind != "O":
        raise ModelError(f"{name} has type {array.dtype}: expected real numbers")
    try:
        array = np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{name} must hold real numbers: {error}") from None
    if array.ndim == 0 or array.ndim > 1:
        raise ModelError(f"{name} has shape {array.shape}: expected one dimension")
    return array


def sorted_edges(n: int, edges: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Ints, Floats]:
    """Check pairs and weights; sort, orient i < j, sum duplicates, drop zeros."""
    W = real_numbers(weights, "weights")
    given = np.asarray(edges)
    if given.size == 0:
        given = np.zeros((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2:
        raise ModelError(f"edges has shape {given.shape}: expected (m, 2)")
    if given.dtype.kind not in "iu":
        raise ModelError(f"edges has type {given.dtype}: expected integers")
    pairs = given.astype(np.int64, order="C")
    if len(pairs) != len(W):
        raise ModelError(f"{len(pairs)} edges but {len(W)} weights")
    if _in_order(n, pairs, W):
        return pairs, W
    bad = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= n).any(axis=1))
    if len(bad):
        i, j = pairs[bad[0]]
        raise ModelError(f"edge {bad[0]} is ({i}, {j}): expected indices in 0..{n - 1}")
    bad = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(bad):
        i = pairs[bad[0], 0]
        raise ModelError(
            f"edge {bad[0]} is a self-loop ({i}, {i}), which carries no score: drop it, or add "
            f"what was meant to theta[{i}]"
        )
    bad = np.flatnonzero(~np.isfinite(W))
    if len(bad):
        i, j = pairs[bad[0]]
        raise ModelError(
            f"the weight of edge ({i}, {j}) is {W[bad[0]]}: weights must be finite "
            "(for a hard constraint use forbidden=)"
        )
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    key = low * n + high
    if len(key) and not (np.diff(key) > 0).all():
        # Ties broken by weight: the sum of duplicates does not depend on the input's order.
        order = np.lexsort((W, key))
        key, W = key[order], W[order]
        first = np.flatnonzero(np.concatenate([[True], np.diff(key) > 0]))
        with np.errstate(over="ignore"):  # check_range names it
            W, key = np.add.reduceat(W, first), key[first]
        low, high = key // n, key % n
    keep = W != 0
    if not keep.all():
        low, high, W = low[keep], high[keep], W[keep]
    return np.stack([low, high], axis=1), W


@njit(cache=True)
def _in_order(n: int, pairs: Ints, W: Floats) -> bool:
    """Say whether edges are lawful and already as a model keeps them; one pass, no arrays."""
    a, b = -1, -1
    for e in range(len(W)):
        i, j = pairs[e]
        ascending = i > a or (i == a and j > b)
        if not (0 <= i < j < n and ascending and 0 < abs(W[e]) < np.inf):
            return False
        a, b = i, j
    return True


def real_number(value: Any) -> float:
    """Return the constant as a finite double."""
    try:
        constant = float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"the constant is {value!r}: expected a real number") from error
    if not math.isfinite(constant):
        raise ModelError(f"the constant is {constant}: expected a finite number")
    return constant


def check_range(theta: Floats, weights: Floats, constant: float) -> None:
    """Refuse models whose scores could overflow, here or on the doubled edges of M+."""
    with np.errstate(over="ignore"):
        reach = 2 * np.abs(theta).sum() + np.abs(weights).sum() + abs(constant)
    if not math.isfinite(4 * float(reach)):
        raise ModelError("the potentials are so large that a score overflows: scale them down")


def distinct_labels(labels: Iterable[Hashable] | None, n: int) -> tuple[Hashable, ...]:
    """Return the variables' names: 0..n - 1 where none are given."""
    if labels is None:
        return tuple(range(n))
    names = tuple(labels)
    if len(names) != n:
        raise ModelError(f"{len(names)} labels for {n} variables")
    try:
        seen: dict[Hashable, Hashable] = {}
        for name in names:
            if name in seen:
                raise ModelError(f"label {name!r} is equal to label {seen[name]!r}")
            seen[name] = name
    except TypeError as error:
        raise ModelError(f"labels must be hashable: {error}") from error
    return names


def zeros_and_ones(x: npt.ArrayLike, n: int) -> Bits:
    """Return one assignment, or one per row."""
    array = np.asarray(x)
    if array.ndim not in (1, 2) or array.shape[-1] != n:
        raise ModelError(f"x has shape {array.shape}: expected ({n},) or (k, {n})")
    if not ((array == 0) | (array == 1)).all():
        raise ModelError("x holds something other than 0 and 1")
    return array.astype(np.int8)


def digest_of(kind: bytes, n: int, constant: float, arrays: Iterable[Any], more: str) -> str:
    """Hash of all that makes two models equal, the same on every platform."""
    state = hashlib.sha256(b"mapreroot 1 " + kind + f" {n} {constant!r} {more}".encode())
    for array in arrays:
        state.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    return state.hexdigest()
