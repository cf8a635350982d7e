"""The hot loops for two labels everywhere: the records of `general`, unrolled.

A record of two labels has 20 words; its blocks, and the int32 of their exponents, are
counted from its start. Each step first looks whether all exponents of a block agree, as
they do nearly always, and then works on plain doubles.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mapreroot.trees.cover import Ids
from mapreroot.trees.extended import DOWN, HIGH, LOW, SMALL, UP, Floats, Int, add, normal, settle
from mapreroot.trees.prefetch import AHEAD, RING, look_ahead
from mapreroot.trees.records import MANY, Records, around

__all__ = ["climb", "probabilities", "sweep", "trials", "update_all"]

WORDS, INTS = 20, 40
U, W, P, D = 1, 5, 9, 11
EU, EW, EP, ED, ZEROS = 26, 30, 34, 36, 38
P_HIGH, P_LOW = 2.0**64, 2.0**-64  # P stays between: a product of four blocks is in range


@njit(cache=True)
def climb(R: Records, x: Int, maximise: bool) -> None:
    """Recompute the cluster at x and all around it."""
    while x > 0:
        x = _refresh(R.F, R.I, x, maximise)


@njit(cache=True)
def sweep(R: Records, marked: NDArray[np.bool_], maximise: bool) -> None:
    """Recompute the marked clusters, parts before wholes."""
    for x in range(len(marked) - 1, 0, -1):
        if marked[x]:
            _refresh(R.F, R.I, x, maximise)


@njit(cache=True)
def update_all(R: Records, at: Ids, rows: Floats, maximise: bool) -> None:
    """Replace the data at many positions, later rows over earlier ones."""
    if MANY * len(at) > len(R.K):
        for j in range(len(at)):
            _write(R.F, R.I, np.int64(at[j]), rows, j)
        sweep(R, around(R, at), maximise)
        return
    ring = np.zeros(RING, np.int32)
    for j in range(-AHEAD, len(at)):
        look_ahead(R, at, j, ring)
        if j >= 0:
            _write(R.F, R.I, np.int64(at[j]), rows, j)
            climb(R, np.int64(at[j]), maximise)


@njit(cache=True)
def probabilities(R: Records, at: Ids, height: Int, maximise: bool, out: Floats) -> None:
    """Set the normalised beliefs at some positions."""
    way = np.empty(height, np.int32)
    ring = np.zeros(RING, np.int32)
    for j in range(-AHEAD, len(at)):
        look_ahead(R, at, j, ring)
        if j >= 0:
            out[2 * j], out[2 * j + 1] = _believe(R.F, R.I, np.int64(at[j]), way, maximise)


@njit(cache=True)
def trials(R: Records, at: Ids, rows: Floats, height: Int, maximise: bool, out: Floats) -> None:
    """Predict, then update, one position after another."""
    way = np.empty(height, np.int32)
    ring = np.zeros(RING, np.int32)
    for j in range(-AHEAD, len(at)):
        look_ahead(R, at, j, ring)
        if j >= 0:
            x = np.int64(at[j])
            out[2 * j], out[2 * j + 1] = _believe(R.F, R.I, x, way, maximise)
            _write(R.F, R.I, x, rows, j)
            climb(R, x, maximise)


@njit(cache=True)
def _write(F: Floats, I: Ids, x: Int, rows: Floats, j: Int) -> None:
    f, i = WORDS * x, INTS * x
    F[f + D], I[i + ED] = normal(rows[2 * j], np.int32(0))
    F[f + D + 1], I[i + ED + 1] = normal(rows[2 * j + 1], np.int32(0))


@njit(cache=True)
def _agree(I: Ids, i: Int) -> bool:
    """Tell whether four exponents are the same."""
    return I[i] == I[i + 1] and I[i] == I[i + 2] and I[i] == I[i + 3]


@njit(cache=True)
def _refresh(F: Floats, I: Ids, x: Int, maximise: bool) -> Int:
    """Recompute the table of the cluster at x in its parent's record; return the parent."""
    f, i = WORDS * x, INTS * x
    parent, code = np.int64(I[i]), I[i + 1]
    pf, pi = WORDS * parent, INTS * parent
    e = np.int64(I[i + EP]) + I[i + ED]
    agree = e == np.int64(I[i + EP + 1]) + I[i + ED + 1] and _agree(I, i + EU)
    if not agree or (I[i + ZEROS] | I[i + ZEROS + 1]) != 0:
        return _refresh_apart(F, I, x, maximise)
    e += I[i + EU]
    g0, g1 = F[f + P] * F[f + D], F[f + P + 1] * F[f + D + 1]
    m00, m01, m10, m11 = F[f + U] * g0, F[f + U + 1] * g1, F[f + U + 2] * g0, F[f + U + 3] * g1
    if code & 1:
        if not _agree(I, i + EW):
            return _refresh_apart(F, I, x, maximise)
        e += I[i + EW]
        w00, w01, w10, w11 = F[f + W], F[f + W + 1], F[f + W + 2], F[f + W + 3]
        if maximise:
            b00, b01 = max(m00 * w00, m01 * w10), max(m00 * w01, m01 * w11)
            b10, b11 = max(m10 * w00, m11 * w10), max(m10 * w01, m11 * w11)
        else:
            b00, b01 = m00 * w00 + m01 * w10, m00 * w01 + m01 * w11
            b10, b11 = m10 * w00 + m11 * w10, m10 * w01 + m11 * w11
        t, te = (pf + U, pi + EU) if code == 1 else (pf + W, pi + EW)
        F[t], F[t + 1], F[t + 2], F[t + 3] = b00, b01, b10, b11
        I[te], I[te + 1], I[te + 2], I[te + 3] = e, e, e, e
        high, low = max(max(b00, b01), max(b10, b11)), min(min(b00, b01), min(b10, b11))
        if not (low >= SMALL and LOW <= high < HIGH):
            settle(F, I, t, te, 4)
        return parent
    a0, a1 = (max(m00, m01), max(m10, m11)) if maximise else (m00 + m01, m10 + m11)
    old0, old1 = F[f + W], F[f + W + 1]
    usual = P_LOW <= a0 < P_HIGH and P_LOW <= a1 < P_HIGH and old0 > 0.0 and old1 > 0.0
    if not usual:
        return _refresh_apart(F, I, x, maximise)
    p0, p1 = F[pf + P] * (a0 / old0), F[pf + P + 1] * (a1 / old1)
    e0, e1 = I[pi + EP] + e - I[i + EW], I[pi + EP + 1] + e - I[i + EW + 1]
    F[f + W], F[f + W + 1] = a0, a1
    I[i + EW], I[i + EW + 1] = e, e
    F[pf + P], I[pi + EP] = _in_range(p0, e0)
    F[pf + P + 1], I[pi + EP + 1] = _in_range(p1, e1)
    return parent


@njit(cache=True)
def _in_range(m: float, e: Int) -> tuple[float, Int]:
    if P_LOW <= m < P_HIGH:
        return m, e
    m, small = normal(m, np.int32(e))
    return m, np.int64(small)


@njit(cache=True)
def _gamma(F: Floats, I: Ids, f: Int, i: Int) -> tuple[float, Int, float, Int]:
    g0 = F[f + P] * F[f + D] if I[i + ZEROS] == 0 else 0.0
    g1 = F[f + P + 1] * F[f + D + 1] if I[i + ZEROS + 1] == 0 else 0.0
    return g0, np.int64(I[i + EP]) + I[i + ED], g1, np.int64(I[i + EP + 1]) + I[i + ED + 1]


@njit(cache=True)
def _row_times_table(
    F: Floats, I: Ids, f: Int, i: Int, v0: float, e0: Int, v1: float, e1: Int, maximise: bool
) -> tuple[float, Int, float, Int]:
    m0, y0 = add(v0 * F[f], e0 + I[i], v1 * F[f + 2], e1 + I[i + 2], maximise)
    m1, y1 = add(v0 * F[f + 1], e0 + I[i + 1], v1 * F[f + 3], e1 + I[i + 3], maximise)
    return m0, y0, m1, y1


@njit(cache=True)
def _table_times_column(
    F: Floats, I: Ids, f: Int, i: Int, v0: float, e0: Int, v1: float, e1: Int, maximise: bool
) -> tuple[float, Int, float, Int]:
    m0, y0 = add(F[f] * v0, I[i] + e0, F[f + 1] * v1, I[i + 1] + e1, maximise)
    m1, y1 = add(F[f + 2] * v0, I[i + 2] + e0, F[f + 3] * v1, I[i + 3] + e1, maximise)
    return m0, y0, m1, y1


@njit(cache=True)
def _refresh_apart(F: Floats, I: Ids, x: Int, maximise: bool) -> Int:
    """Do what `_refresh` does, with an exponent per entry and zeros."""
    f, i = WORDS * x, INTS * x
    parent, code = np.int64(I[i]), I[i + 1]
    pf, pi = WORDS * parent, INTS * parent
    g0, e0, g1, e1 = _gamma(F, I, f, i)
    if code & 1:
        t, te = (pf + U, pi + EU) if code == 1 else (pf + W, pi + EW)
        for a in (0, 2):
            F[t + a], I[te + a], F[t + a + 1], I[te + a + 1] = _row_times_table(
                F, I, f + W, i + EW,
                F[f + U + a] * g0, I[i + EU + a] + e0,
                F[f + U + a + 1] * g1, I[i + EU + a + 1] + e1, maximise,
            )  # fmt: skip
        settle(F, I, t, te, 4)
    else:
        a0, y0, a1, y1 = _table_times_column(F, I, f + U, i + EU, g0, e0, g1, e1, maximise)
        a0, y0 = _in_range(a0, y0)
        a1, y1 = _in_range(a1, y1)
        _push(F, I, pf + P, pi + EP, f + W, i + EW, a0, y0)
        _push(F, I, pf + P + 1, pi + EP + 1, f + W + 1, i + EW + 1, a1, y1)
    return parent


@njit(cache=True)
def _push(F: Floats, I: Ids, p: Int, ep: Int, w: Int, ew: Int, m: float, e: Int) -> None:
    """Replace the raked entry at word w by m, there and in the product at word p."""
    product, exponent = F[p], np.int64(I[ep])
    zeros = ep + ZEROS - EP
    if F[w] > 0.0:
        product /= F[w]
        exponent -= I[ew]
    else:
        I[zeros] -= 1
    if m > 0.0:
        product *= m
        exponent += e
    else:
        I[zeros] += 1
    F[p], I[ep] = _in_range(product, exponent)
    F[w], I[ew] = m, e


@njit(cache=True)
def _scaled(m0: float, m1: float) -> tuple[float, float]:
    """Bring the larger of two numbers with one exponent, which does not matter, into range."""
    high = max(m0, m1)
    if LOW <= high < HIGH or high == 0.0:
        return m0, m1
    by = 1.0
    while high * by >= HIGH:
        by *= DOWN
    while high * by < LOW:
        by *= UP
    return m0 * by, m1 * by


@njit(cache=True)
def _believe(F: Floats, I: Ids, x: Int, way: Ids, maximise: bool) -> tuple[float, float]:
    """Normalised belief of the vertex at x."""
    depth = 0
    y: Int = x
    while y > 0:
        way[depth] = y
        depth += 1
        y = np.int64(I[INTS * y])
    # t and b weigh what lies outside a cluster, seen from its top and its bottom; g is the
    # vertex's own factor with all raked onto it; a and z come from above and from below.
    # Common factors do not matter: where exponents agree there is none to carry.
    t0, t1, b0, b1, a0, a1, z0, z1 = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
    g0, g1 = F[P] * F[D], F[P + 1] * F[D + 1]
    usual = I[EP] == I[EP + 1] and (I[ZEROS] | I[ZEROS + 1]) == 0
    for j in range(depth - 1, -1, -1):
        f, i = WORDS * np.int64(way[j]), INTS * np.int64(way[j])
        code = I[i + 1]
        if code >= 4:
            w0, w1 = F[f + W], F[f + W + 1]
            usual = usual and I[i + EW] == I[i + EW + 1] and w0 > 0.0 and w1 > 0.0
            if not usual:
                break
            t0, t1 = _scaled(g0 / w0 * (a0 * z0), g1 / w1 * (a1 * z1))
        elif code >= 2:
            t0, t1 = _scaled(g0 * a0, g1 * a1)
        else:
            b0, b1 = _scaled(g0 * z0, g1 * z1)
        e = np.int64(I[i + EP]) + I[i + ED]
        usual = e == np.int64(I[i + EP + 1]) + I[i + ED + 1] and _agree(I, i + EU)
        usual = usual and (I[i + ZEROS] | I[i + ZEROS + 1]) == 0
        g0, g1 = F[f + P] * F[f + D], F[f + P + 1] * F[f + D + 1]
        u00, u01, u10, u11 = F[f + U], F[f + U + 1], F[f + U + 2], F[f + U + 3]
        if maximise:
            a0, a1 = max(t0 * u00, t1 * u10), max(t0 * u01, t1 * u11)
        else:
            a0, a1 = t0 * u00 + t1 * u10, t0 * u01 + t1 * u11
        a0, a1 = _scaled(a0, a1)
        if code & 1:
            w00, w01, w10, w11 = F[f + W], F[f + W + 1], F[f + W + 2], F[f + W + 3]
            usual = usual and _agree(I, i + EW)
            if maximise:
                z0, z1 = max(w00 * b0, w01 * b1), max(w10 * b0, w11 * b1)
            else:
                z0, z1 = w00 * b0 + w01 * b1, w10 * b0 + w11 * b1
            z0, z1 = _scaled(z0, z1)
        else:
            z0, z1 = 1.0, 1.0
        low = min(min(min(t0, t1), min(b0, b1)), min(min(a0, a1), min(z0, z1)))
        if not (usual and low >= SMALL):
            usual = False
            break
    if not usual:
        return _believe_apart(F, I, way, depth, maximise)
    p0, p1 = g0 * a0 * z0, g1 * a1 * z1
    total = p0 + p1
    return p0 / total, p1 / total


@njit(cache=True)
def _believe_apart(F: Floats, I: Ids, way: Ids, depth: Int, maximise: bool) -> tuple[float, float]:
    """Do what `_believe` does, with an exponent per entry and zeros."""
    # Typed, as a plain 0 and 1 would have the kernels below compiled once for each.
    zero, one = np.int64(0), np.int64(1)
    f: Int = zero
    i: Int = zero
    g0, e0, g1, e1 = _gamma(F, I, f, i)
    t0, t1, b0, b1, a0, a1, z0, z1 = 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0
    et0, et1, eb0, eb1, ea0, ea1, ez0, ez1 = 0, 0, 0, 0, 0, 0, 0, 0
    for j in range(depth - 1, -1, -1):
        y = np.int64(way[j])
        code = I[INTS * y + 1]
        if code >= 4:
            t0, et0 = _without(F, I, f, i, y, zero)
            t1, et1 = _without(F, I, f, i, y, one)
            t0, et0 = _in_range(t0 * a0, et0 + ea0)
            t1, et1 = _in_range(t1 * a1, et1 + ea1)
            t0, et0 = _in_range(t0 * z0, et0 + ez0)
            t1, et1 = _in_range(t1 * z1, et1 + ez1)
        elif code >= 2:
            t0, et0 = _in_range(g0 * a0, e0 + ea0)
            t1, et1 = _in_range(g1 * a1, e1 + ea1)
        else:
            b0, eb0 = _in_range(g0 * z0, e0 + ez0)
            b1, eb1 = _in_range(g1 * z1, e1 + ez1)
        f, i = WORDS * y, INTS * y
        g0, e0, g1, e1 = _gamma(F, I, f, i)
        a0, ea0, a1, ea1 = _row_times_table(F, I, f + U, i + EU, t0, et0, t1, et1, maximise)
        a0, ea0 = _in_range(a0, ea0)
        a1, ea1 = _in_range(a1, ea1)
        z0, ez0, z1, ez1 = 1.0, 0, 1.0, 0
        if code & 1:
            z0, ez0, z1, ez1 = _table_times_column(F, I, f + W, i + EW, b0, eb0, b1, eb1, maximise)
            z0, ez0 = _in_range(z0, ez0)
            z1, ez1 = _in_range(z1, ez1)
    p0, e0 = _in_range(g0 * a0 * z0, e0 + ea0 + ez0)
    p1, e1 = _in_range(g1 * a1 * z1, e1 + ea1 + ez1)
    if p0 > 0.0 and p1 > 0.0:
        for _ in range(min(e0 - e1, 24)):
            p1 *= DOWN
        for _ in range(min(e1 - e0, 24)):
            p0 *= DOWN
    total = p0 + p1
    return (p0 / total, p1 / total) if total > 0.0 else (np.nan, np.nan)


@njit(cache=True)
def _without(F: Floats, I: Ids, f: Int, i: Int, y: Int, c: Int) -> tuple[float, Int]:
    """Entry c of a vertex's own factor and all raked onto it but the cluster at y."""
    m, e = F[f + P + c] * F[f + D + c], np.int64(I[i + EP + c]) + I[i + ED + c]
    zeros = I[i + ZEROS + c]
    raked = F[WORDS * y + W + c]
    if raked > 0.0:
        m, e = m / raked, e - I[INTS * y + EW + c]
    else:
        zeros -= 1
    return _in_range(m if zeros == 0 else 0.0, e)
