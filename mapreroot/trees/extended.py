"""Non-negative numbers of unlimited range: m 2^(64 e), with m a double and e an int32.

Vectors and tables are blocks of `M` and `E`. A *settled* block shares one e, the largest
m being within 2^±128; entries too small for that, below 2^-384, keep an e of their own.
So almost all sums are plain sums of doubles, yet no entry is ever lost, and scaling by
powers of two is exact.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "DOWN",
    "HIGH",
    "LOG_UP",
    "LOW",
    "SMALL",
    "UP",
    "Floats",
    "Int",
    "add",
    "add_apart",
    "log_of",
    "normal",
    "one_exponent",
    "sandwich",
    "settle",
    "split",
    "table_times_vector",
    "vector_times_table",
]

Floats = NDArray[np.float64]
Int = int | np.signedinteger  # kernels meet both int32 and int64
Ids = NDArray[np.int32]

UP, DOWN = 2.0**64, 2.0**-64  # what one step of e is worth
HIGH, LOW = 2.0**128, 2.0**-128  # where the largest entry of a settled block lies
SMALL = 2.0**-384  # entries of a settled block below this have their own e
LOG_UP = 64 * math.log(2.0)


@njit(cache=True)
def normal(m: float, e: Int) -> tuple[float, Int]:
    """Bring m into [2^-32, 2^32), unless it is 0."""
    if m == 0.0:
        return m, np.int32(0)
    while m >= 2.0**32:
        m *= DOWN
        e += 1
    while m < 2.0**-32:
        m *= UP
        e -= 1
    return m, np.int32(e)


@njit(cache=True)
def add_apart(m1: float, e1: Int, m2: float, e2: Int, maximise: bool) -> tuple[float, Int]:
    """Sum (or maximum) of two numbers whose exponents differ."""
    if m1 == 0.0:
        return m2, e2
    if m2 == 0.0:
        return m1, e1
    m1, e1 = normal(m1, e1)
    m2, e2 = normal(m2, e2)
    if e1 < e2:
        m1, e1, m2, e2 = m2, e2, m1, e1
    # Three steps apart the smaller is below 2^-128 of the larger.
    if e1 == e2 + 1:
        m2 *= DOWN
    elif e1 == e2 + 2:
        m2 *= DOWN * DOWN
    elif e1 > e2:
        m2 = 0.0
    return (max(m1, m2) if maximise else m1 + m2), e1


@njit(cache=True)
def add(m1: float, e1: Int, m2: float, e2: Int, maximise: bool) -> tuple[float, Int]:
    """Sum (or maximum) of two numbers."""
    if e1 == e2:
        return (max(m1, m2) if maximise else m1 + m2), e1
    return add_apart(m1, e1, m2, e2, maximise)


@njit(cache=True)
def log_of(m: float, e: Int) -> float:
    """Natural logarithm, -inf for 0."""
    return np.log(m) + e * LOG_UP if m > 0.0 else -np.inf


@njit(cache=True, fastmath={"nnan", "nsz"})
def _extent(values: Floats) -> tuple[float, float]:
    """Largest value and smallest one above 0."""
    high, low = 0.0, HIGH
    for m in values:
        high = max(high, m)
        low = min(low, m if m > 0.0 else HIGH)
    return high, low


@njit(cache=True)
def settle(M: Floats, E: Ids, at: Int, eat: Int, count: Int) -> None:
    """Give the `count` entries from M[at], E[eat] a common exponent as far as they allow."""
    high, low = _extent(M[at : at + count])
    if low >= SMALL and LOW <= high < HIGH and one_exponent(E, eat, count):
        return
    top = np.int32(-(2**31))
    for i in range(count):
        if M[at + i] > 0.0:
            M[at + i], E[eat + i] = normal(M[at + i], E[eat + i])
            top = max(top, E[eat + i])
    if high == 0.0:
        top = np.int32(0)
    for i in range(count):
        apart = top - E[eat + i]
        if M[at + i] == 0.0:
            E[eat + i] = top
        elif apart <= 5:
            for _ in range(apart):
                M[at + i] *= DOWN
            E[eat + i] = top


@njit(cache=True)
def split(values: Floats, start: Int, M: Floats, E: Ids, at: Int, eat: Int, count: Int) -> None:
    """Store `count` plain numbers as a settled block."""
    for i in range(count):
        M[at + i], E[eat + i] = normal(values[start + i], 0)
    settle(M, E, at, eat, count)


@njit(cache=True)
def one_exponent(E: Ids, eat: Int, count: Int) -> bool:
    """Tell whether `count` exponents are the same."""
    first, different = E[eat], np.int32(0)
    for e in E[eat : eat + count]:
        different |= e ^ first
    return different == 0


@njit(cache=True)
def vector_times_table(
    v: Floats, ve: Ids, vat: Int,
    T: Floats, Te: Ids, at: Int, eat: Int, rows: Int, columns: Int,
    even: bool, out: Floats, oute: Ids, oat: Int, oeat: Int, maximise: bool,
) -> None:  # fmt: skip
    """Set out[j] = sum_i v[i] T[i, j], to be settled; max for sum if `maximise`.

    `even` tells that T has one exponent.
    """
    if even and one_exponent(ve, vat, rows):
        total = out[oat : oat + columns]
        total[:] = 0.0
        oute[oeat : oeat + columns] = ve[vat] + Te[eat]
        for i in range(rows):
            m = v[vat + i]
            # Slices, so that the compiler sees that no index is negative.
            row = T[at + i * columns : at + (i + 1) * columns]
            if maximise:
                for j in range(columns):
                    total[j] = max(total[j], m * row[j])
            else:
                for j in range(columns):
                    total[j] += m * row[j]
    else:
        for j in range(columns):
            m, e = 0.0, np.int32(0)
            for i in range(rows):
                k = i * columns + j
                m, e = add(
                    m, e, v[vat + i] * T[at + k], np.int32(ve[vat + i] + Te[eat + k]), maximise
                )
            out[oat + j], oute[oeat + j] = normal(m, e)


@njit(cache=True)
def table_times_vector(
    T: Floats, Te: Ids, at: Int, eat: Int, rows: Int, columns: Int,
    v: Floats, ve: Ids, vat: Int,
    out: Floats, oute: Ids, oat: Int, oeat: Int, maximise: bool,
) -> None:  # fmt: skip
    """Set out[i] = sum_j T[i, j] v[j], settled; max for sum if `maximise`."""
    plain = one_exponent(ve, vat, columns) and one_exponent(Te, eat, rows * columns)
    for i in range(rows):
        row, erow = at + i * columns, eat + i * columns
        if plain:
            m, e = 0.0, np.int32(ve[vat] + Te[eat])
            if maximise:
                for j in range(columns):
                    m = max(m, T[row + j] * v[vat + j])
            else:
                for j in range(columns):
                    m += T[row + j] * v[vat + j]
        else:
            m, e = 0.0, np.int32(0)
            for j in range(columns):
                m, e = add(
                    m, e, T[row + j] * v[vat + j], np.int32(Te[erow + j] + ve[vat + j]), maximise
                )
            m, e = normal(m, e)
        out[oat + i], oute[oeat + i] = m, e
    settle(out, oute, oat, oeat, rows)


@njit(cache=True)
def sandwich(
    T: Floats, Te: Ids, U: Int, Ue: Int, rows: Int, inner: Int, S: Floats, Se: Ids, g: Int,
    W: Int, We: Int, columns: Int, out: Int, maximise: bool,
) -> None:  # fmt: skip
    """Set U diag(g) W, settled; max for sum if `maximise`.

    U and W are blocks of T. The vector g, the result and, behind it, room for one more row
    are in S.
    """
    even = one_exponent(Te, We, inner * columns)
    plain = even and one_exponent(Te, Ue, rows * inner) and one_exponent(Se, g, inner)
    row = out + rows * columns
    for a in range(rows):
        left, scaled = T[U + a * inner : U + (a + 1) * inner], S[row : row + inner]
        for c in range(inner):
            scaled[c] = left[c] * S[g + c]
        o = out + a * columns
        high, low = _extent(scaled)
        if plain and low >= SMALL and high < HIGH:
            total = S[o : o + columns]
            total[:] = 0.0
            Se[o : o + columns] = Te[Ue] + Se[g] + Te[We]
            for c in range(inner):
                m, right = scaled[c], T[W + c * columns : W + (c + 1) * columns]
                if maximise:
                    for b in range(columns):
                        total[b] = max(total[b], m * right[b])
                else:
                    for b in range(columns):
                        total[b] += m * right[b]
        else:
            for c in range(inner):
                Se[row + c] = Te[Ue + a * inner + c] + Se[g + c]
            settle(S, Se, row, row, inner)
            vector_times_table(
                S, Se, row, T, Te, W, We, inner, columns, even, S, Se, o, o, maximise
            )
    settle(S, Se, out, out, rows * columns)
