"""Updates and queries on the records for any label counts."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from mapreroot.trees.cover import Codes, Ids
from mapreroot.trees.extended import (
    DOWN,
    Floats,
    Int,
    add,
    normal,
    one_exponent,
    sandwich,
    settle,
    split,
    table_times_vector,
    vector_times_table,
)
from mapreroot.trees.prefetch import AHEAD, RING, look_ahead
from mapreroot.trees.records import MANY, Records, Words, around, head, place
from mapreroot.trees.rooting import Ints

__all__ = [
    "all_beliefs",
    "beliefs",
    "climb",
    "labels",
    "pair_belief",
    "probabilities",
    "push",
    "refresh",
    "sweep",
    "total",
    "trials",
    "update_all",
    "write_row",
    "write_rows",
    "write_tables",
]

# Scratch: six vectors per depth of the cover. T and B weigh what lies outside a cluster, seen
# from its top (with the top's own data) and from its bottom; G is the vertex's own factor with
# all that is raked onto it; A and Z are the messages from above and from below.
T, B, G, A, Z, OUT = range(6)

# Positions and places are np.int64 in every call, also where an int32 or a plain 0 would do: each
# combination of types has a kernel, and all it calls, compiled once more.


@njit(cache=True)
def write_row(R: Records, x: Int, rows: Floats, start: Int, times: bool) -> None:
    """Replace, or multiply, the data at position x."""
    r = place(R, x)
    for c in range(r.k):
        m, e = rows[start + c], np.int32(0)
        if times:
            m, e = normal(m, e)
            m, e = m * R.F[r.d + c], np.int32(e + R.I[r.d + c + r.E])
        R.F[r.d + c], R.I[r.d + c + r.E] = normal(m, e)


@njit(cache=True)
def write_rows(R: Records, at: Ids, rows: Floats, starts: Ints) -> None:
    """Replace the data at many positions, without recomputing anything."""
    for i in range(len(at)):
        write_row(R, np.int64(at[i]), rows, starts[i], False)


@njit(cache=True)
def write_tables(
    R: Records, owners: Ids, slots: Codes, tops: Codes,
    factors: Floats, starts: Ints,
) -> None:  # fmt: skip
    """Put each edge's factor into its cluster, a row per label of the upper vertex."""
    for e in range(len(owners)):
        r = place(R, np.int64(owners[e]))
        at, rows, columns = (r.U, r.k_top, r.k) if slots[e] == 0 else (r.W, r.k, r.k_bottom)
        if tops[e]:
            for b in range(columns):
                for a in range(rows):
                    w = at + a * columns + b
                    R.F[w], R.I[w + r.E] = normal(factors[starts[e] + b * rows + a], np.int32(0))
            settle(R.F, R.I, at, at + r.E, rows * columns)
        else:
            split(factors, starts[e], R.F, R.I, at, at + r.E, rows * columns)


@njit(cache=True)
def push(R: Records, P: Int, E: Int, zeros: Int, old: float, eold: Int, m: float, e: Int) -> None:
    """Replace one entry of a raked vector in the product at word P."""
    product, exponent = R.F[P], R.I[P + E]
    if old > 0.0:
        product /= old
        exponent -= eold
    else:
        R.I[zeros] -= 1
    if m > 0.0:
        product *= m
        exponent += e
    else:
        R.I[zeros] += 1
    R.F[P], R.I[P + E] = normal(product, exponent)


@njit(cache=True)
def gamma(R: Records, r: Words, S: Floats, SE: Ids, at: Int) -> None:
    """Set the vertex's data times all that is raked onto it."""
    for c in range(r.k):
        m = 0.0 if R.I[r.zeros + c] > 0 else R.F[r.P + c] * R.F[r.d + c]
        S[at + c], SE[at + c] = m, R.I[r.P + c + r.E] + R.I[r.d + c + r.E]
    settle(S, SE, at, at, r.k)


@njit(cache=True)
def refresh(R: Records, x: Int, maximise: bool, S: Floats, SE: Ids) -> Int:
    """Recompute the table of the cluster at x in its parent's record; return the parent."""
    F, I = R.F, R.I
    r = place(R, x)
    parent, code = np.int64(I[head(R, x)]), I[head(R, x) + 1]
    q = place(R, parent)
    row, g = np.int64(0), len(S) - r.k
    gamma(R, r, S, SE, g)
    if code & 1:
        sandwich(
            F, I, r.U, r.U + r.E, r.k_top, r.k, S, SE, g, r.W, r.W + r.E, r.k_bottom, row, maximise
        )
        at = q.U if code >> 1 == 0 else q.W
        for i in range(r.k_top * r.k_bottom):
            F[at + i], I[at + i + q.E] = S[row + i], SE[row + i]
    else:
        table_times_vector(F, I, r.U, r.U + r.E, r.k_top, r.k, S, SE, g, S, SE, row, row, maximise)
        for a in range(r.k_top):
            w = r.W + a
            push(R, q.P + a, q.E, q.zeros + a, F[w], I[w + r.E], S[row + a], SE[row + a])
            F[w], I[w + r.E] = S[row + a], SE[row + a]
    return parent


@njit(cache=True)
def climb(R: Records, x: Int, maximise: bool, S: Floats, SE: Ids) -> None:
    """Recompute the cluster at x and all around it."""
    while x > 0:
        x = refresh(R, x, maximise, S, SE)


@njit(cache=True)
def sweep(R: Records, marked: NDArray[np.bool_], maximise: bool, S: Floats, SE: Ids) -> None:
    """Recompute the marked clusters, parts before wholes."""
    for x in range(len(marked) - 1, 0, -1):
        if marked[x]:
            refresh(R, x, maximise, S, SE)


@njit(cache=True)
def update_all(
    R: Records, at: Ids, rows: Floats, starts: Ints, maximise: bool, S: Floats, SE: Ids
) -> None:
    """Replace the data at many positions, later rows over earlier ones."""
    if MANY * len(at) > len(R.K):
        for i in range(len(at)):
            write_row(R, np.int64(at[i]), rows, starts[i], False)
        sweep(R, around(R, at), maximise, S, SE)
        return
    ring = np.zeros(RING, np.int32)
    for i in range(-AHEAD, len(at)):
        look_ahead(R, at, i, ring)
        if i >= 0:
            write_row(R, np.int64(at[i]), rows, starts[i], False)
            climb(R, np.int64(at[i]), maximise, S, SE)


@njit(cache=True)
def _product(S: Floats, SE: Ids, left: Int, right: Int, out: Int, k: Int) -> None:
    for c in range(k):
        S[out + c], SE[out + c] = normal(
            S[left + c] * S[right + c], np.int32(SE[left + c] + SE[right + c])
        )
    settle(S, SE, out, out, k)


@njit(cache=True)
def _ones(S: Floats, SE: Ids, at: Int, k: Int) -> None:
    for c in range(k):
        S[at + c], SE[at + c] = 1.0, 0


@njit(cache=True)
def _listen(R: Records, x: Int, maximise: bool, S: Floats, SE: Ids, at: Int, k: Int) -> None:
    """From T and B of the cluster at x: its own factor and the messages into its vertex."""
    r = place(R, x)
    gamma(R, r, S, SE, at + G * k)
    if x == 0:
        _ones(S, SE, at + A * k, r.k)
        _ones(S, SE, at + Z * k, r.k)
        return
    F, I = R.F, R.I
    above, below = at + A * k, at + Z * k
    even = one_exponent(I, r.U + r.E, r.k_top * r.k)
    vector_times_table(
        S, SE, at + T * k, F, I, r.U, r.U + r.E, r.k_top, r.k, even, S, SE, above, above, maximise
    )
    settle(S, SE, above, above, r.k)
    if I[head(R, x) + 1] & 1:
        table_times_vector(
            F, I, r.W, r.W + r.E, r.k, r.k_bottom, S, SE, at + B * k, S, SE, below, below, maximise
        )
    else:
        _ones(S, SE, below, r.k)


@njit(cache=True)
def _copy(S: Floats, SE: Ids, source: Int, out: Int, k: Int) -> None:
    for c in range(k):
        S[out + c], SE[out + c] = S[source + c], SE[source + c]


@njit(cache=True)
def _enter(R: Records, y: Int, S: Floats, SE: Ids, outer: Int, at: Int, k: Int) -> None:
    """Set T and B of the cluster at y from what its parent's vertex has heard."""
    F, I = R.F, R.I
    slot = I[head(R, y) + 1] >> 1
    r = place(R, y)
    if slot == 0:
        _copy(S, SE, outer + T * k, at + T * k, r.k_top)
        _product(S, SE, outer + G * k, outer + Z * k, at + B * k, r.k_bottom)
    elif slot == 1:
        _product(S, SE, outer + G * k, outer + A * k, at + T * k, r.k_top)
        _copy(S, SE, outer + B * k, at + B * k, r.k_bottom)
    else:
        q = place(R, np.int64(I[head(R, y)]))
        for a in range(r.k_top):
            # All that is raked onto the parent's vertex but this cluster.
            m, e = F[q.P + a], I[q.P + a + q.E]
            zeros = I[q.zeros + a]
            w = r.W + a
            if F[w] > 0.0:
                m, e = normal(m / F[w], np.int32(e - I[w + r.E]))
            else:
                zeros -= 1
            m, e = normal(m * F[q.d + a], np.int32(e + I[q.d + a + q.E]))
            S[at + T * k + a], SE[at + T * k + a] = 0.0 if zeros > 0 else m, e
        settle(S, SE, at + T * k, at + T * k, r.k_top)
        _product(S, SE, at + T * k, outer + A * k, at + T * k, r.k_top)
        _product(S, SE, at + T * k, outer + Z * k, at + T * k, r.k_top)


@njit(cache=True)
def _reach(R: Records, x: Int, maximise: bool, S: Floats, SE: Ids, k: Int) -> Int:
    """Walk down to the cluster at x; return where its vectors begin in the scratch."""
    depth = 0
    y: Int = x
    while y > 0:
        depth += 1
        y = R.I[head(R, y)]
    way = np.empty(depth + 1, np.int64)
    way[depth] = x
    for i in range(depth, 0, -1):
        way[i - 1] = R.I[head(R, way[i])]
    at = np.int64(0)
    _listen(R, at, maximise, S, SE, at, k)
    for i in range(1, depth + 1):
        _enter(R, way[i], S, SE, at, at + 6 * k, k)
        at += 6 * k
        _listen(R, way[i], maximise, S, SE, at, k)
    return at


@njit(cache=True)
def _believe(R: Records, x: Int, S: Floats, SE: Ids, at: Int, k: Int) -> Int:
    """Set the belief of the vertex at x; return its place."""
    count = np.int64(R.K[x])
    _product(S, SE, at + G * k, at + A * k, at + OUT * k, count)
    _product(S, SE, at + OUT * k, at + Z * k, at + OUT * k, count)
    return at + OUT * k


@njit(cache=True)
def _normalised(M: Floats, E: Ids, at: Int, count: Int, out: Floats, start: Int) -> None:
    """Write numbers of unlimited range as probabilities; NaN when all are 0."""
    top = np.int32(-(2**31))
    for c in range(count):
        if M[at + c] > 0.0:
            top = max(top, E[at + c])
    total = 0.0
    for c in range(count):
        m = M[at + c]
        if m > 0.0:
            for _ in range(min(top - E[at + c], 24)):
                m *= DOWN
        out[start + c] = m
        total += m
    for c in range(count):
        out[start + c] = out[start + c] / total if total > 0.0 else np.nan


@njit(cache=True)
def beliefs(
    R: Records, at: Ids, maximise: bool, S: Floats, SE: Ids, k: Int, out: Floats, oute: Ids,
    starts: Ints,
) -> None:  # fmt: skip
    """Set the unnormalised beliefs at some positions."""
    for i in range(len(at)):
        x = np.int64(at[i])
        belief = _believe(R, x, S, SE, _reach(R, x, maximise, S, SE, k), k)
        for c in range(R.K[x]):
            out[starts[i] + c], oute[starts[i] + c] = S[belief + c], SE[belief + c]


@njit(cache=True)
def probabilities(
    R: Records, at: Ids, maximise: bool, S: Floats, SE: Ids, k: Int, out: Floats, starts: Ints
) -> None:
    """Set the normalised beliefs at some positions."""
    ring = np.zeros(RING, np.int32)
    for i in range(-AHEAD, len(at)):
        look_ahead(R, at, i, ring)
        if i >= 0:
            x = np.int64(at[i])
            belief = _believe(R, x, S, SE, _reach(R, x, maximise, S, SE, k), k)
            _normalised(S, SE, belief, np.int64(R.K[x]), out, starts[i])


@njit(cache=True)
def trials(
    R: Records, at: Ids, rows: Floats, starts: Ints, maximise: bool, S: Floats, SE: Ids, k: Int,
    out: Floats,
) -> None:  # fmt: skip
    """Predict, then update, one position after another."""
    ring = np.zeros(RING, np.int32)
    for i in range(-AHEAD, len(at)):
        look_ahead(R, at, i, ring)
        if i >= 0:
            x = np.int64(at[i])
            belief = _believe(R, x, S, SE, _reach(R, x, maximise, S, SE, k), k)
            _normalised(S, SE, belief, np.int64(R.K[x]), out, starts[i])
            write_row(R, x, rows, starts[i], False)
            climb(R, x, maximise, S, SE)


@njit(cache=True)
def all_beliefs(
    R: Records, maximise: bool, S: Floats, SE: Ids, k: Int, out: Floats, starts: Ints
) -> None:
    """Set the normalised beliefs at all positions in one pass down."""
    way = np.zeros(len(S) // (6 * k), np.int32)
    depth = 0
    _listen(R, np.int64(0), maximise, S, SE, np.int64(0), k)
    for x in range(1, len(R.K)):
        parent = R.I[head(R, x)]
        while way[depth] != parent:
            depth -= 1
        depth += 1
        way[depth] = x
        at = depth * 6 * k
        _enter(R, x, S, SE, at - 6 * k, at, k)
        _listen(R, x, maximise, S, SE, at, k)
        _normalised(S, SE, _believe(R, x, S, SE, at, k), np.int64(R.K[x]), out, starts[x - 1])


@njit(cache=True)
def pair_belief(
    R: Records, owner: Int, slot: Int, maximise: bool, S: Floats, SE: Ids, k: Int
) -> Floats:
    """Give the normalised belief of an edge, a row per label of its upper vertex."""
    at = _reach(R, owner, maximise, S, SE, k)
    r = place(R, owner)
    if slot == 0:
        table, rows, columns, upper = r.U, r.k_top, r.k, at + T * k
        lower = at + OUT * k
        _product(S, SE, at + G * k, at + Z * k, lower, columns)
    else:
        table, rows, columns, lower = r.W, r.k, r.k_bottom, at + B * k
        upper = at + OUT * k
        _product(S, SE, at + G * k, at + A * k, upper, rows)
    M, E = np.empty(rows * columns), np.empty(rows * columns, np.int32)
    for a in range(rows):
        for b in range(columns):
            i = a * columns + b
            w = table + i
            m, e = normal(S[upper + a] * R.F[w], np.int32(SE[upper + a] + R.I[w + r.E]))
            M[i], E[i] = normal(m * S[lower + b], np.int32(e + SE[lower + b]))
    out = np.empty((rows, columns))
    _normalised(M, E, np.int64(0), rows * columns, out.ravel(), np.int64(0))
    return out


@njit(cache=True)
def total(R: Records, maximise: bool) -> tuple[float, Int]:
    """Value of the whole forest: what the imaginary vertex has collected."""
    r = place(R, np.int64(0))
    m, e = 0.0, np.int32(0)
    for c in range(r.k):
        if R.I[r.zeros + c] == 0:
            m, e = add(m, e, R.F[r.P + c] * R.F[r.d + c], R.I[r.P + c + r.E], maximise)
    return m, e


@njit(cache=True)
def labels(R: Records, draw: Floats, maximise: bool, S: Floats, SE: Ids) -> Ids:
    """Choose labels from the top of the cover down: the best ones, or drawn ones.

    `draw` holds a number from [0, 1) per position. A cluster's vertex, given its
    boundary, is independent of all outside.
    """
    F, I = R.F, R.I
    x_at = np.zeros(len(R.K), np.int32)
    p = np.empty(len(S))
    for x in range(1, len(R.K)):
        r = place(R, x)
        gamma(R, r, S, SE, np.int64(0))
        a, b = x_at[R.top[x]], x_at[R.bottom[x]]
        for c in range(r.k):
            w = r.U + a * r.k + c
            S[c], SE[c] = normal(S[c] * F[w], np.int32(SE[c] + I[w + r.E]))
            if I[head(R, x) + 1] & 1:
                w = r.W + c * r.k_bottom + b
                S[c], SE[c] = normal(S[c] * F[w], np.int32(SE[c] + I[w + r.E]))
        _normalised(S, SE, np.int64(0), r.k, p, np.int64(0))
        if maximise:
            x_at[x] = np.argmax(p[: r.k])
        else:
            rest = draw[x - 1]
            for c in range(r.k):
                if p[c] > 0.0:
                    x_at[x] = c  # the last possible label takes what rounding leaves
                    rest -= p[c]
                    if rest < 0.0:
                        break
    return x_at
