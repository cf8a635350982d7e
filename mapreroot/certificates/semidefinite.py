"""The rule "semidefinite": a quadratic form in signs, under a matrix that is nearly R R'."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from mapreroot.certificates.graph import ExactGraph, Number, RefusedError, over, size_of

__all__ = ["by_semidefinite"]


def by_semidefinite(graph: ExactGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Bound the quadratic form in spins s = +-1 that P is.

    P = C - sum W / 2 + sum_(i<j) W_ij / 2 s_i s_j. For signs b on an odd number k of vertices
    sum_(i<j) b_i b_j s_i s_j >= (1 - k) / 2, so adding multiples of the difference only raises
    the form. What is then subtracted from the shifts' diagonal, A, is nearly R R': no eigenvalue
    of A is below minus the largest absolute row sum of A - R R'. All numbers are integers over
    ``scale``, those of R over ``grid``, and A is four times what was said.

    One assignment may be spared, with its complement: all others have a sign unlike that of a
    vector v, so abs(v's) <= t = sum abs(v) - 2 min abs(v), and adding a multiple of t^2 - (v's)^2
    only raises the form for them. The bound is then the larger of theirs and the spared one's P.
    """
    scale, grid, vertices = int(proof["scale"]), int(proof["grid"]), proof["vertices"]
    if scale <= 0 or grid <= 0:
        raise RefusedError(f"{where}: expected a positive scale and a positive grid")
    graph.check(*vertices)
    place = {v: k for k, v in enumerate(vertices)}
    N, shift, R = len(place), proof["shift"], proof["factor"]
    numbers = itertools.chain(shift, *R)
    if len(vertices) != N or len(shift) != N or [len(row) for row in R] != list(range(1, N + 1)):
        raise RefusedError(f"{where}: expected {N} shifts and a triangular factor of that size")
    if not all(type(number) is int for number in numbers):
        raise RefusedError(f"{where}: expected integers")
    A: list[list[Number]] = [[0] * N for _ in range(N)]
    total: Number = 2 * graph.constant
    for u, v, w in graph.edges():
        if u not in place or v not in place:
            raise RefusedError(f"{where}: edge ({u}, {v}) is left out")
        i, j = sorted((place[u], place[v]))
        A[j][i] = -scale * w
        total -= w
    bound: Number = Fraction(total * scale, 2) + sum(shift)
    for number, (multiplier, members, signs) in enumerate(proof["rows"]):
        here = f"{where}.rows[{number}]"
        if type(multiplier) is not int or multiplier < 0:
            raise RefusedError(f"{here}: the multiplier {multiplier} is negative")
        if len(members) % 2 != 1 or len(set(members)) != len(members):
            raise RefusedError(f"{here}: expected an odd number of vertices, all different")
        if len(signs) != len(members) or any(sign not in (-1, 1) for sign in signs):
            raise RefusedError(f"{here}: expected a sign of each vertex")
        at = sorted((place[v], sign) for v, sign in zip(members, signs, strict=True))
        for (i, a), (j, b) in itertools.combinations(at, 2):
            A[j][i] -= 2 * multiplier * a * b
        bound += multiplier * Fraction(len(members) - 1, 2)
    for j in range(N):
        A[j][j] = 4 * shift[j]
    spared: Number | None = None
    if "spare" in proof:
        multiplier, vector = proof["spare"]["multiplier"], proof["spare"]["vector"]
        if len(vector) != N or not all(type(x) is int for x in [multiplier, *vector]):
            raise RefusedError(f"{where}.spare: expected {N} integers and an integer multiplier")
        if multiplier < 0:
            raise RefusedError(f"{where}.spare: the multiplier {multiplier} is negative")
        most = sum(map(abs, vector)) - 2 * min(map(abs, vector), default=0)
        bound += multiplier * most**2
        for j in range(N):
            for i in range(j + 1):
                A[j][i] += 4 * multiplier * vector[i] * vector[j]
        sides = {v: int(x > 0) for v, x in zip(vertices, vector, strict=True)}
        spared = graph.value([sides.get(v, 0) for v in range(graph.n)])
    error: list[Number] = [0] * N
    for j in range(N):
        for i in range(j + 1):
            off = size_of(A[j][i] * grid**2 - sum(map(operator.mul, R[j], R[i])))
            error[j] += off
            error[i] += off if i != j else 0
    others = over(bound + Fraction(N * max(error, default=0), 4 * grid**2), scale)
    return others if spared is None else max(others, spared)
