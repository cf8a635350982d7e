"""A semidefinite bound with hypermetric inequalities, from eigenvalues alone.

With spins s = +-1 and X = ss', phi = c + <C, X> where C = L/4 is a quarter of the Laplacian of the
cut weights -W/2. X is positive semidefinite with unit diagonal, and for signs b = +-1 on k = 3, 5
or 7 vertices ``sum_(i<j) b_i b_j X_ij >= (1 - k) / 2``, because an odd number of signs never sums
to zero. So for every shift y and every lambda >= 0, with

    M = C - Diag(y) + sum_t lambda_t A_t,

    phi <= c + sum y + sum_t lambda_t (k_t - 1) / 2 + N max(0, largest eigenvalue of M).

The multipliers come from minimising the smooth majorant with ``||M_+||^2 / (2 alpha)`` in place of
the last term (its gradient needs ``X = M_+ / alpha`` only), for falling alpha (Malick and Roupin
2013, "On the bridge between combinatorial optimization and nonlinear optimization").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize

from mapreroot.limits import Limits, StopReason
from mapreroot.model import UprootedModel

__all__ = ["Multipliers", "SdpBound", "sdp_bound"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_WIDTH = 7
_EPSILON = float(np.finfo(np.float64).eps)
# Smoothing, for weights of mean size 1: where to begin, where to end, and how much larger to
# begin again on the multipliers of a similar model.
_FIRST_ALPHA, _LAST_ALPHA, _RESTART = 0.1, 1e-5, 100.0
# Down to this alpha, one short round each is enough.
_PATIENT_ALPHA = 1e-3
# Below this alpha X is accurate enough to look for rows of five and seven vertices.
_LARGER_ROWS = 0.02
_LEAST_VIOLATION = 0.02
# Steps of L-BFGS-B in a short round and later, new rows a round for each vertex, and candidates
# when a row is extended.
_SHORT, _LONG, _CUTS, _FRIENDS = 40, 100, 10, 12
# From this size on, only the positive eigenvalues are computed.
_PARTIAL = 90


@dataclass(frozen=True)
class Multipliers:
    """Dual variables of the bound, in the model's own scale: any values give a true bound.

    Attributes
    ----------
    shift : ndarray, shape (N,)
        y, of the unit diagonal.
    rows : ndarray of int64, shape (T, 7)
        One inequality a row: ``2 v + 1`` for a vertex v of negative sign, ``2 v`` for a positive
        one, ascending, -1 where there are fewer than seven; the first sign is positive.
    weights : ndarray, shape (T,)
        lambda >= 0.
    alpha : float
        The last smoothing.
    """

    shift: Floats
    rows: Ints
    weights: Floats
    alpha: float

    def contract(self, image: Ints, flipped: NDArray[np.bool_], n: int) -> Multipliers:
        """Carry over to the model in which vertex v has become ``image[v]``, perhaps flipped.

        Two vertices of a row that meet with opposite signs cancel, which leaves a smaller row;
        rows in which they meet with equal signs are dropped, and so is what rests on a vertex
        that is no more (``image[v] = -1``).
        """
        shift = np.zeros(n)
        np.add.at(shift, image[image >= 0], self.shift[image >= 0])
        rows, keep = _contract_rows(self.rows, image, flipped)
        return Multipliers(shift, rows[keep], self.weights[keep], self.alpha)


@dataclass(frozen=True)
class SdpBound:
    """A bound and the dual point that proves it.

    Attributes
    ----------
    bound : float
        No assignment scores more; rounding is allowed for.
    X : ndarray, shape (N, N)
        Approximate Gram matrix of the spins, with unit diagonal: 1 for vertices that agree, -1
        for vertices that differ.
    multipliers : Multipliers
        Where to start on a similar model.
    evaluations : int
        Eigenvalue decompositions made.
    y : ndarray of int8, shape (N,), or None
        An assignment that the bound takes into account: all others may be bounded by less than
        its score.
    stopped : str or None
        Why it stopped early, if a limit did it.
    """

    bound: float
    X: Floats
    multipliers: Multipliers
    evaluations: int
    y: NDArray[np.int8] | None = None
    stopped: StopReason | None = None


@njit(cache=True)
def _contract_rows(
    rows: Ints, image: Ints, flipped: NDArray[np.bool_]
) -> tuple[Ints, NDArray[np.bool_]]:
    mapped = np.full_like(rows, -1)
    keep = np.ones(len(rows), np.bool_)
    for t in range(len(rows)):
        size = 0
        for code in rows[t]:
            if code < 0:
                break
            v = code >> 1
            if image[v] < 0:
                keep[t] = False
                break
            new = 2 * image[v] + ((code & 1) ^ (1 if flipped[v] else 0))
            at = 0
            while at < size and mapped[t, at] < new - (new & 1):
                at += 1
            if at < size and mapped[t, at] >> 1 == new >> 1:
                if mapped[t, at] == new:
                    keep[t] = False
                    break
                for k in range(at, size - 1):
                    mapped[t, k] = mapped[t, k + 1]
                size -= 1
                mapped[t, size] = -1
            else:
                for k in range(size, at, -1):
                    mapped[t, k] = mapped[t, k - 1]
                mapped[t, at] = new
                size += 1
        if size < 3:
            keep[t] = False
        elif mapped[t, 0] & 1:
            for k in range(size):
                mapped[t, k] ^= 1
    return mapped, keep


@njit(cache=True)
def _add_rows(M: Floats, rows: Ints, weights: Floats) -> None:
    """M += sum_t weights_t A_t, on and above the diagonal doubled to both sides."""
    for t in range(len(rows)):
        half = weights[t] / 2
        if half == 0:
            continue
        for a in range(rows.shape[1]):
            if rows[t, a] < 0:
                break
            for b in range(a):
                u, v = rows[t, a] >> 1, rows[t, b] >> 1
                value = -half if (rows[t, a] ^ rows[t, b]) & 1 else half
                M[u, v] += value
                M[v, u] += value


@njit(cache=True)
def _row_values(X: Floats, rows: Ints) -> tuple[Floats, Floats]:
    """<A_t, X> and (k_t - 1) / 2 of every row."""
    values, reach = np.zeros(len(rows)), np.zeros(len(rows))
    for t in range(len(rows)):
        size = 0
        for a in range(rows.shape[1]):
            if rows[t, a] < 0:
                break
            size += 1
            for b in range(a):
                x = X[rows[t, a] >> 1, rows[t, b] >> 1]
                values[t] += -x if (rows[t, a] ^ rows[t, b]) & 1 else x
        reach[t] = (size - 1) / 2
    return values, reach


@njit(cache=True)
def _triangles(X: Floats, least: float, most: int) -> tuple[Ints, Floats]:
    """Triangle inequalities violated by more than ``least``; gives up after ``most``."""
    n = len(X)
    rows, violations = np.full((most, _WIDTH), -1, np.int64), np.empty(most)
    size = 0
    for i in range(n):
        for j in range(i + 1, n):
            xij = X[i, j]
            for k in range(j + 1, n):
                xik, xjk = X[i, k], X[j, k]
                # The four products of signs: i with j and k, k alone, j alone, i alone.
                for sign in range(4):
                    if sign == 0:
                        value = xij + xik + xjk
                    elif sign == 1:
                        value = xij - xik - xjk
                    elif sign == 2:
                        value = xik - xij - xjk
                    else:
                        value = xjk - xij - xik
                    if -1.0 - value > least:
                        if size == most:
                            return rows, violations
                        rows[size, 0] = 2 * i
                        rows[size, 1] = 2 * j + (1 if sign >= 2 else 0)
                        rows[size, 2] = 2 * k + (1 if sign == 1 or sign == 3 else 0)
                        violations[size] = -1.0 - value
                        size += 1
    return rows[:size], violations[:size]


@njit(cache=True)
def _extend(X: Floats, rows: Ints, width: int) -> tuple[Ints, Floats]:
    """Find the best row of two more vertices over each row, among those that fit it best."""
    n = len(X)
    longer = np.full((len(rows), _WIDTH), -1, np.int64)
    violations = np.full(len(rows), -np.inf)
    pull, order = np.empty(n), np.empty(width, np.int64)
    for t in range(len(rows)):
        size, value = 0, 0.0
        pull[:] = 0.0
        while size < _WIDTH and rows[t, size] >= 0:
            v, sign = rows[t, size] >> 1, 1.0 - 2.0 * (rows[t, size] & 1)
            value += sign * pull[v]
            for u in range(n):
                pull[u] += sign * X[u, v]
            size += 1
        for a in range(size):
            pull[rows[t, a] >> 1] = 0.0
        # The vertices of largest abs(pull), by insertion.
        found = 0
        for u in range(n):
            if pull[u] == 0.0:
                continue
            at = found
            while at > 0 and abs(pull[order[at - 1]]) < abs(pull[u]):
                at -= 1
            if at < width:
                for k in range(min(found, width - 1), at, -1):
                    order[k] = order[k - 1]
                order[at] = u
                found = min(found + 1, width)
        best, first, second = np.inf, -1, -1
        for a in range(found):
            u = order[a]
            su = -1.0 if pull[u] > 0 else 1.0
            for b in range(a):
                v = order[b]
                sv = -1.0 if pull[v] > 0 else 1.0
                total = value + su * pull[u] + sv * pull[v] + su * sv * X[u, v]
                if total < best:
                    best = total
                    first = 2 * u + (1 if su < 0 else 0)
                    second = 2 * v + (1 if sv < 0 else 0)
        if first < 0:
            continue
        longer[t, :size] = rows[t, :size]
        longer[t, size] = first
        longer[t, size + 1] = second
        longer[t, : size + 2].sort()
        if longer[t, 0] & 1:
            for k in range(size + 2):
                longer[t, k] ^= 1
        violations[t] = -(size + 1) / 2 - best
    return longer, violations


class _Dual:
    """The smooth majorant at one alpha and set of rows, and the best true bound met on the way."""

    def __init__(self, C: Floats) -> None:
        self.C = C
        self.size = float(np.linalg.norm(C))
        self.rows = np.zeros((0, _WIDTH), np.int64)
        self.reach = np.zeros(0)
        self.alpha = _FIRST_ALPHA
        self.bound = np.inf
        self.evaluations = 0
        self.X = np.eye(len(C))

    def value(self, z: Floats) -> tuple[float, Floats]:
        """Majorant without its constant alpha N^2 / 2, and its gradient, at (shift, lambda)."""
        N = len(self.C)
        shift, weights = z[:N], z[N:]
        M = self._slack_matrix(shift, weights)
        positive, vectors = _positive_part(M)
        self.X = (vectors * (positive / self.alpha)) @ vectors.T
        values, _ = _row_values(self.X, self.rows)
        linear = float(shift.sum() + weights @ self.reach)
        largest = float(positive.max(initial=0.0))
        self.bound = min(self.bound, linear + N * largest + self._margin(M, shift, weights))
        self.evaluations += 1
        return (
            float(positive @ positive) / (2 * self.alpha) + linear,
            np.concatenate([1 - np.diag(self.X), self.reach + values]),
        )

    def runner_up(self, z: Floats) -> tuple[NDArray[np.int8], float]:
        """Give one assignment, and a bound on all others but its complement.

        With the eigenvalues mu_1 > mu_2 > .. of M and the first eigenvector v, an s whose signs
        are not those of v (or all opposite) has abs(s'v) <= t = |v|_1 - 2 min abs(v), and so
        s'Ms <= mu_1 t^2 + mu_2 (N - t^2). Near an optimum of rank one mu_2 is far below 0: then
        one vertex of the relaxation is proved optimal though bounds only tend to its score.
        """
        N = len(self.C)
        shift, weights = z[:N], z[N:]
        M = self._slack_matrix(shift, weights)
        values, vectors = np.linalg.eigh(M)
        v = vectors[:, -1]
        size = np.sort(np.abs(v))
        # The eigenvectors are right up to rounding: t is allowed a little more.
        t = min(N, (float(size.sum() - 2 * size[0]) + 1e-9) ** 2)
        second = float(values[-2]) if N > 1 else float(values[-1])
        linear = float(shift.sum() + weights @ self.reach)
        others = linear + float(values[-1]) * t + second * (N - t)
        return (v > 0).astype(np.int8), others + self._margin(M, shift, weights)

    def _slack_matrix(self, shift: Floats, weights: Floats) -> Floats:
        M = self.C.copy()
        M.ravel()[:: len(M) + 1] -= shift
        _add_rows(M, self.rows, weights)
        return M

    def _margin(self, M: Floats, shift: Floats, weights: Floats) -> float:
        """More than all rounding errors of the bound, in the worst case.

        An entry of M gathers at most T + 2 terms, so M is off by less than (T + 2) epsilon times
        the norms of what was added, in the Frobenius norm; <M, X> moves by at most N times that,
        as X has norm N. The eigenvalues are exact for a matrix within 10 N epsilon |M| (LAPACK
        promises a small multiple of N epsilon), which moves N times the largest as much. The sums
        lose at most (N + T) epsilon times their absolute terms.
        """
        N, T = len(M), len(weights)
        terms = self.size + float(np.abs(shift).sum()) + 4 * float(weights.sum())
        return _EPSILON * (N * (T + 2) * terms + 10 * N * N * float(np.linalg.norm(M)))

    def minimise(self, z: Floats, steps: int, limits: Limits) -> tuple[float, Floats]:
        """Run L-BFGS-B for a while; leave X at the point it ends at."""

        def ask(_: Floats) -> None:
            if limits.reason() is not None:
                raise StopIteration

        N = len(self.C)
        lower = np.concatenate([np.full(N, -np.inf), np.zeros(len(self.rows))])
        found = minimize(
            self.value,
            z,
            jac=True,
            method="L-BFGS-B",
            bounds=np.stack([lower, np.full(len(lower), np.inf)], axis=1),
            callback=ask,
            options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-12, "gtol": 1e-4},
        )
        z = found.x
        z[N:] = np.maximum(z[N:], 0.0)
        value, _ = self.value(z)
        return value, z


def _positive_part(M: Floats) -> tuple[Floats, Floats]:
    """Positive eigenvalues and their vectors."""
    if len(M) < _PARTIAL:
        values, vectors = np.linalg.eigh(M)
        first = int(np.searchsorted(values, 0.0))
        return values[first:], vectors[:, first:]
    # Few are positive near the optimum: finding only those costs a third.
    values, vectors = eigh(M, subset_by_value=(0.0, np.inf), driver="evr", check_finite=False)
    return values, vectors


def sdp_bound(
    uprooted: UprootedModel,
    lower: float = -np.inf,
    limits: Limits | None = None,
    multipliers: Multipliers | None = None,
    rounds: int = 60,
    hope: float = 2.0,
) -> SdpBound:
    """Bound all scores by a semidefinite relaxation with triangle and larger inequalities.

    Parameters
    ----------
    uprooted : UprootedModel
        M+; meant for dense models of up to a few hundred vertices.
    lower : float
        Stop as soon as the bound is at most this: in a search, the score that an assignment worth
        finding must exceed.
    limits : Limits, optional
        Asked after every step of L-BFGS-B.
    multipliers : Multipliers, optional
        Where to start: those of a similar model (see `Multipliers.contract`).
    rounds : int
        Rounds of minimising and separating at most.
    hope : float
        Give up when ``lower`` is farther away than this many times what the last round gained, and
        than this many times what less smoothing can still gain.

    Returns
    -------
    SdpBound

    Notes
    -----
    Any multipliers give a true bound; the eigenvalues' and the sums' rounding errors are bounded
    and added (see the module's formula). O(N^3) an evaluation. Triangles are separated by
    enumeration, rows of five and seven vertices by extending active rows.

    Examples
    --------
    >>> from itertools import combinations
    >>> pentagon = UprootedModel(5, list(combinations(range(5), 2)), [-2.0] * 10)
    >>> 6.0 <= sdp_bound(pentagon).bound < 6.01
    True
    """
    limits = limits or Limits()
    N = uprooted.n_vertices
    if not uprooted.m:
        none = Multipliers(np.zeros(N), np.zeros((0, _WIDTH), np.int64), np.zeros(0), _LAST_ALPHA)
        return SdpBound(uprooted.constant, np.eye(N), none, 0)
    scale = float(np.abs(uprooted.weights).mean()) / 2
    dual = _Dual(_quarter_laplacian(uprooted) / scale)
    shift, weights = np.zeros(N), np.zeros(0)
    if multipliers is not None:
        shift, weights = multipliers.shift / scale, multipliers.weights / scale
        dual.rows = multipliers.rows
        dual.alpha = min(_FIRST_ALPHA, max(_RESTART * multipliers.alpha, _LAST_ALPHA))
    enough = (lower - uprooted.constant) / scale
    previous, y = np.inf, None
    stopped: StopReason | None = None
    for k in range(rounds):
        _, dual.reach = _row_values(dual.X, dual.rows)
        steps = _SHORT if dual.alpha > _PATIENT_ALPHA else _LONG
        value, z = dual.minimise(np.concatenate([shift, weights]), steps, limits)
        shift, weights = z[:N], z[N:]
        candidate, others = dual.runner_up(z)
        score = (uprooted.score(candidate) - uprooted.constant) / scale
        if max(score, others) < dual.bound:
            dual.bound, y = max(score, others), candidate
        active = weights > 0
        dual.rows, weights = dual.rows[active], weights[active]
        stopped = limits.reason()
        if dual.bound <= max(enough, score) or stopped is not None or k == rounds - 1:
            break
        progress, previous = previous - value, value
        smoothing = dual.bound - value
        if dual.alpha <= _PATIENT_ALPHA and value - enough > hope * max(progress, smoothing):
            break
        if dual.alpha > _PATIENT_ALPHA or progress < smoothing:
            # The smoothing, not the want of inequalities, is now what keeps the bound up. The
            # value rises when alpha falls, so the next round's progress cannot be told.
            if dual.alpha <= _LAST_ALPHA:
                break
            dual.alpha = max(dual.alpha / 2, _LAST_ALPHA)
            previous = np.inf
        new = _separate(_correlation(dual.X), dual.rows, _CUTS * N, dual.alpha < _LARGER_ROWS)
        if not len(new) and dual.alpha <= _LAST_ALPHA:
            break
        dual.rows = np.concatenate([dual.rows, new])
        weights = np.concatenate([weights, np.zeros(len(new))])
    bound = scale * dual.bound
    # Three more roundings.
    bound = uprooted.constant + bound + 4 * _EPSILON * (abs(uprooted.constant) + abs(bound))
    return SdpBound(
        float(bound),
        _correlation(dual.X),
        Multipliers(scale * shift, dual.rows, scale * weights, dual.alpha),
        dual.evaluations,
        y,
        stopped,
    )


def _quarter_laplacian(uprooted: UprootedModel) -> Floats:
    C = np.zeros((uprooted.n_vertices, uprooted.n_vertices))
    i, j = uprooted.edges.T
    # The cut weight is -W/2; L has it negated off the diagonal.
    C[i, j] = C[j, i] = uprooted.weights / 8
    np.fill_diagonal(C, -C.sum(axis=1))
    return C


def _correlation(X: Floats) -> Floats:
    """X with its diagonal scaled to 1."""
    size = np.sqrt(np.maximum(np.diag(X), 1e-12))
    scaled: Floats = X / np.outer(size, size)
    np.fill_diagonal(scaled, 1.0)
    return scaled


def _separate(X: Floats, rows: Ints, most: int, larger: bool) -> Ints:
    """Find the most violated rows that are not there yet, triangles and larger ones."""
    found, violation = _triangles(X, _LEAST_VIOLATION, 100 * most)
    if larger:
        # Rows that bind are good to build on, and so is the best triangle at every vertex.
        ends = np.full((len(X), _WIDTH), -1, np.int64)
        ends[:, 0] = 2 * np.arange(len(X))
        grown, _ = _extend(X, ends, _FRIENDS)
        for size in (3, 5):
            binding = rows[(rows[:, size - 1] >= 0) & (rows[:, size] < 0)]
            longer, excess = _extend(X, np.concatenate([grown, binding]), _FRIENDS)
            grown = longer[: len(X)]
            enough = excess > _LEAST_VIOLATION
            found = np.concatenate([found, longer[enough]])
            violation = np.concatenate([violation, excess[enough]])
    there = {row.tobytes() for row in rows}
    chosen = []
    for k in np.argsort(-violation, kind="stable"):
        key = found[k].tobytes()
        if key not in there:
            there.add(key)
            chosen.append(k)
            if len(chosen) == most:
                break
    new: Ints = found[np.array(chosen, np.int64)]
    return new
