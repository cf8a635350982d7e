"""Hypermetric and pentagonal inequalities: what CUT asks beyond MET.

For integers b_1, ..., b_N with an odd sum s, every cut has

    sum_{i<j} b_i b_j d_ij <= (s^2 - 1) / 4,

for the cut S gives b(S) (s - b(S)), largest where b(S) and s - b(S) differ by one. With b = +-1
on three points these are the triangle inequalities, with +-1 on five the pentagonal ones; both
are facets. For CUT_5 they are all the facets; CUT_6 needs also b = (+-2, +-1^5) and then has
them all (Deza and Laurent 1997, chapter 28 and section 30.6). The usual hypermetric inequalities
are those with s = 1, and the others are their switchings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations, product

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polytopes.pairs import Ints, index_of_pair, n_pairs, n_points
from polytopes.semimetric import Inequalities

__all__ = [
    "BEYOND_TRIANGLES",
    "HypermetricInequality",
    "arrangements",
    "hypermetric_inequalities",
    "pentagonal_inequalities",
    "right_side",
    "violated_hypermetric",
]

BEYOND_TRIANGLES: tuple[tuple[int, ...], ...] = ((1, 1, 1, 1, 1), (2, 1, 1, 1, 1, 1))
"""The sizes |b| of the facets of CUT_6 that are not triangles."""

CHUNK = 1 << 22  # numbers in a table of trial values


@dataclass(frozen=True)
class HypermetricInequality:
    """sum_{i<j} b_i b_j d_ij <= (s^2 - 1) / 4 with s the sum of b.

    Attributes
    ----------
    points : tuple of int
        Where b is not zero, ascending.
    b : tuple of int
        Its values there; b and -b are the same inequality.
    violation : float
        By how much the point at hand breaks it.
    """

    points: tuple[int, ...]
    b: tuple[int, ...]
    violation: float

    @property
    def is_pentagonal(self) -> bool:
        """Whether b is +-1 on five points."""
        return len(self.b) == 5 and set(map(abs, self.b)) == {1}


def right_side(b: npt.ArrayLike) -> int:
    """Give the most that any cut reaches: (s^2 - 1) / 4 for the sum s of b.

    Raises
    ------
    ValueError
        If s is even: the inequality would not be a hypermetric one.

    Examples
    --------
    >>> right_side([1, 1, 1, 1, 1]), right_side([1, 1, 1, -1, -1])
    (6, 0)
    """
    s = int(np.sum(b))
    if s % 2 == 0:
        raise ValueError(f"b sums to {s}: expected an odd number")
    return (s * s - 1) // 4


def arrangements(sizes: Sequence[int]) -> Ints:
    """List the b with these absolute values, in any order and signs, one of each +-b.

    Parameters
    ----------
    sizes : sequence of int
        Positive, with an odd sum.

    Returns
    -------
    ndarray of int64, shape (count, len(sizes))

    Raises
    ------
    ValueError
        If a size is not positive, or the sum is even.

    Examples
    --------
    >>> arrangements([1, 1, 1]).tolist()
    [[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]]
    >>> len(arrangements([2, 1, 1, 1, 1, 1]))
    192
    """
    if min(sizes) < 1:
        raise ValueError(f"sizes {tuple(sizes)} must be positive")
    right_side(sizes)
    orders = np.array(sorted(set(permutations(sizes)), reverse=True), dtype=np.int64)
    signs = np.array(list(product((1, -1), repeat=len(sizes) - 1)), dtype=np.int64)
    signs = np.column_stack([np.ones(len(signs), dtype=np.int64), signs])
    return (orders[:, None, :] * signs).reshape(-1, len(sizes))


def hypermetric_inequalities(N: int, sizes: Sequence[int]) -> Inequalities:
    """Write all inequalities whose b has these absolute values and else zeros.

    Parameters
    ----------
    N : int
    sizes : sequence of int
        Positive, with an odd sum: (1, 1, 1) gives MET, (1, 1, 1, 1, 1) the pentagonal ones.

    Returns
    -------
    A : csr_array, shape (k, N(N-1)/2)
        One row for each set of points and each of its `arrangements`; none if N is too small.
    b : ndarray, shape (k,)

    Raises
    ------
    ValueError
        As `arrangements`.

    Examples
    --------
    >>> hypermetric_inequalities(6, (2, 1, 1, 1, 1, 1))[0].shape
    (192, 15)
    """
    B, points = arrangements(sizes), _subsets(N, len(sizes))
    i, j = np.triu_indices(len(sizes), 1)
    values = np.tile((B[:, i] * B[:, j]).astype(np.float64), (len(points), 1))
    columns = np.repeat(index_of_pair(points[:, i], points[:, j], N), len(B), axis=0)
    start = np.arange(0, values.size + 1, len(i))
    shape = (len(values), n_pairs(N))
    A = sp.csr_array((values.ravel(), columns.ravel(), start), shape=shape)
    right = np.array([right_side(b) for b in B], dtype=np.float64)
    return A, np.tile(right, len(points))


def pentagonal_inequalities(N: int) -> Inequalities:
    """Write the pentagonal inequalities: 16 for each five points.

    Examples
    --------
    >>> A, b = pentagonal_inequalities(5)
    >>> A.shape, float((A @ np.full(10, 2 / 3) - b).max().round(6))
    ((16, 10), 0.666667)
    """
    return hypermetric_inequalities(N, (1, 1, 1, 1, 1))


def violated_hypermetric(
    d: npt.ArrayLike,
    patterns: Iterable[Sequence[int]] = BEYOND_TRIANGLES,
    tolerance: float = 1e-9,
    limit: int = 100,
) -> list[HypermetricInequality]:
    """Find violated inequalities by trying them all.

    Parameters
    ----------
    d : array_like, shape (N(N-1)/2,)
        For a large model, d on the few points of its fractional part.
    patterns : iterable of sequences of int
        The sizes |b| to try, as in `hypermetric_inequalities`.
    tolerance : float
        Violations up to this are let pass.
    limit : int
        How many to return at most.

    Returns
    -------
    list of HypermetricInequality
        The worst first.

    Raises
    ------
    ValueError
        If d has no such length, or a pattern has an even sum.

    Notes
    -----
    C(N, p) times the number of arrangements for p points: 16 C(N,5) for the pentagonal
    inequalities, 192 C(N,6) for the next. Memory stays bounded.

    Examples
    --------
    >>> worst = violated_hypermetric([2 / 3] * 10)[0]
    >>> worst.points, worst.b, round(worst.violation, 6), worst.is_pentagonal
    ((0, 1, 2, 3, 4), (1, 1, 1, 1, 1), 0.666667, True)
    """
    vector = np.asarray(d, dtype=np.float64)
    N = n_points(len(vector))
    found: list[HypermetricInequality] = []
    for sizes in patterns:
        B = arrangements(sizes)
        right = np.array([right_side(b) for b in B], dtype=np.float64)
        i, j = np.triu_indices(len(sizes), 1)
        products = (B[:, i] * B[:, j]).astype(np.float64).T
        for points in _chunks(N, len(sizes), max(1, CHUNK // len(B))):
            excess = vector[index_of_pair(points[:, i], points[:, j], N)] @ products - right
            rows, columns = np.nonzero(excess > tolerance)
            worst = np.argsort(-excess[rows, columns], kind="stable")[:limit]
            found += [
                HypermetricInequality(
                    tuple(points[r].tolist()), tuple(B[c].tolist()), float(excess[r, c])
                )
                for r, c in zip(rows[worst], columns[worst], strict=True)
            ]
            found = sorted(found, key=lambda cut: -cut.violation)[:limit]
    return found


def _chunks(N: int, size: int, length: int) -> Iterator[Ints]:
    subsets = combinations(range(N), size)
    while part := list(islice(subsets, length)):
        yield np.array(part, dtype=np.int64)


def _subsets(N: int, size: int) -> Ints:
    return np.array(list(combinations(range(N), size)), dtype=np.int64).reshape(
        math.comb(N, size), size
    )
