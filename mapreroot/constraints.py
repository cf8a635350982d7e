"""Hard constraints: forbidden values and pairs of values, as 2-SAT and as finite penalties.

A row ``(i, a)`` forbids x_i = a, a row ``(i, a, j, b)`` forbids x_i = a together with x_j = b.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mapreroot.errors import InfeasibleError, ModelError

__all__ = [
    "Row",
    "canonical_rows",
    "check_satisfiable",
    "penalty",
    "penalty_tables",
    "possible_values",
    "satisfying",
    "violated",
]

Row = tuple[int, int] | tuple[int, int, int, int]


def canonical_rows(rows: Iterable[Sequence[int]], n: int) -> tuple[Row, ...]:
    """Sort the rows, variables ascending inside each, duplicates removed.

    Raises
    ------
    ModelError
        If a row has the wrong length, an index out of range, a value that is not 0 or 1, or the
        same variable twice.
    """
    found: set[Row] = set()
    for number, given in enumerate(rows):
        row = tuple(int(part) for part in given)
        if len(row) not in (2, 4):
            raise ModelError(f"forbidden row {number} is {row}: expected (i, a) or (i, a, j, b)")
        for i, a in zip(row[::2], row[1::2], strict=True):
            if not 0 <= i < n:
                raise ModelError(f"forbidden row {number} is {row}: variable {i} not in 0..{n - 1}")
            if a not in (0, 1):
                raise ModelError(f"forbidden row {number} is {row}: value {a} is not 0 or 1")
        if len(row) == 2:
            found.add((row[0], row[1]))
            continue
        i, a, j, b = row
        if i == j:
            raise ModelError(f"forbidden row {number} is {row}: the same variable twice")
        found.add((i, a, j, b) if i < j else (j, b, i, a))
    return tuple(sorted(found))


def check_satisfiable(rows: Sequence[Row], n: int) -> None:
    """Decide the constraints as a 2-SAT instance, in linear time.

    Raises
    ------
    InfeasibleError
        If no assignment satisfies all rows; the message names a variable that can take
        neither value.
    """
    if not rows:
        return
    # Node 2i+a stands for "x_i = a"; forbidding (x_i = a and x_j = b) means that each implies
    # the other's negation. A single row is the pair with itself.
    pairs = np.array([row if len(row) == 4 else row * 2 for row in rows], dtype=np.int64)
    left, right = 2 * pairs[:, 0] + pairs[:, 1], 2 * pairs[:, 2] + pairs[:, 3]
    tail, head = np.concatenate([left, right]), np.concatenate([right ^ 1, left ^ 1])
    graph = csr_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(2 * n, 2 * n))
    _, strong = connected_components(graph, directed=True, connection="strong")
    stuck = np.flatnonzero(strong[0::2] == strong[1::2])
    if len(stuck):
        raise InfeasibleError(
            f"the hard constraints contradict each other: variable {stuck[0]} can be neither 0 "
            f"nor 1 ({len(rows)} forbidden rows)"
        )


def penalty(theta: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    """Give a penalty that no gain in score and no number of assignments can outweigh.

    It exceeds the range of the finite score by n log 2 + 50, so that log Z is off by less than
    e^-50, and is a power of two, so that integer potentials stay integer.
    """
    reach = float(np.abs(theta).sum() + np.abs(weights).sum() / 2)
    return float(2.0 ** math.ceil(math.log2(reach + len(theta) * math.log(2) + 50)))


def penalty_tables(
    rows: Sequence[Row], size: float, n: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.float64], float]:
    """Turn rows into potentials ``theta, edges, weights, constant``, a score of -size each."""
    theta = np.zeros(n)
    edges: list[tuple[int, int]] = []
    weights: list[float] = []
    constant = 0.0
    for row in rows:
        if len(row) == 2:
            i, a = row
            theta[i] += -size if a else size
            constant -= 0.0 if a else size
        else:
            i, a, j, b = row
            # Log table with -size at (a, b), read off by the formulas of theory section 1.
            edges.append((i, j))
            weights.append(-size if a == b else size)
            theta[i] += -size / 2 if a else size / 2
            theta[j] += -size / 2 if b else size / 2
            constant -= size if (a, b) == (0, 0) else 0.0
    return theta, np.array(edges, dtype=np.int64).reshape(-1, 2), np.array(weights), constant


def violated(rows: Sequence[Row], x: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Say which assignments of a batch ``x`` (k, n) break a row."""
    broken = np.zeros(len(x), dtype=np.bool_)
    for row in rows:
        hit = x[:, row[0]] == row[1]
        if len(row) == 4:
            hit &= x[:, row[2]] == row[3]
        broken |= hit
    return broken


def satisfying(rows: Sequence[Row], n: int) -> npt.NDArray[np.int8]:
    """Find an assignment that breaks no row of a satisfiable list; free variables are 0.

    Notes
    -----
    Unit propagation from one value of a variable after another: for 2-SAT a value that
    propagates without conflict never has to be taken back. O(n * rows) at worst.
    """
    follows, units = _implications(rows)
    x = np.full(n, -1, dtype=np.int8)

    def propagate(start: tuple[int, int]) -> bool:
        if x[start[0]] >= 0:
            return bool(x[start[0]] == start[1])
        trail = [start]
        x[start[0]] = start[1]
        for known in trail:  # grows while it is walked
            for i, a in follows.get(known, []):
                if x[i] < 0:
                    x[i] = a
                    trail.append((i, a))
                elif x[i] != a:
                    for undone, _ in trail:
                        x[undone] = -1
                    return False
        return True

    for unit in units:
        if not propagate(unit):
            raise InfeasibleError(f"the hard constraints contradict each other at {unit}")
    for i in sorted({variable for variable, _ in follows}):
        if x[i] < 0 and not propagate((i, 0)) and not propagate((i, 1)):
            raise InfeasibleError(f"the hard constraints contradict each other at variable {i}")
    return np.maximum(x, 0).astype(np.int8)


def possible_values(rows: Sequence[Row], n: int) -> npt.NDArray[np.bool_]:
    """Say which values variables take in the assignments that break no row.

    Parameters
    ----------
    rows : sequence of Row
        Satisfiable.
    n : int

    Returns
    -------
    ndarray of bool, shape (n, 2)

    Notes
    -----
    In a satisfiable 2-SAT instance a value is impossible iff it implies its own negation, or that
    of a value that is forced. O(n * rows) at worst.

    Examples
    --------
    >>> possible_values([(0, 1), (0, 0, 1, 0)], 3).tolist()
    [[True, False], [False, True], [True, True]]
    """
    follows, units = _implications(rows)
    possible = np.ones((n, 2), dtype=np.bool_)

    def implied(start: list[tuple[int, int]]) -> set[tuple[int, int]]:
        known, trail = set(start), list(start)
        for value in trail:  # grows while it is walked
            for more in follows.get(value, []):
                if more not in known:
                    known.add(more)
                    trail.append(more)
        return known

    forced = implied(units)
    for i, a in forced:
        possible[i, 1 - a] = False
    for i, a in follows:
        if (i, a) not in forced and possible[i, a]:
            known = implied([(i, a)])
            possible[i, a] = not any((j, 1 - b) in known or not possible[j, b] for j, b in known)
    return possible


def _implications(
    rows: Sequence[Row],
) -> tuple[dict[tuple[int, int], list[tuple[int, int]]], list[tuple[int, int]]]:
    """Read rows as implications between values, and as values that are forced."""
    follows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    units: list[tuple[int, int]] = []
    for row in rows:
        if len(row) == 2:
            units.append((row[0], 1 - row[1]))
        else:
            i, a, j, b = row
            follows.setdefault((i, a), []).append((j, 1 - b))
            follows.setdefault((j, b), []).append((i, 1 - a))
    return follows, units
