"""Check a certificate in exact arithmetic, without any solver.

A certificate says: this assignment of the user's model has this score, and no assignment scores
more than this bound. The bound is a tree of small arguments, each on an explicit graph whose
weights are exact numbers: floats are multiples of a power of two, so scaled by it they are
integers, and only halving one can make a fraction. Nothing here rounds.

The rules below work on an `ExactGraph`, which stands for P(y), twice the score of M+; those that
look at every edge of a large model know its twin in arrays, `WideGraph`, too.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.arrays import (
    MOST_SCALE,
    WideGraph,
    denominator_bits,
    exact_sum,
    integers,
)
from mapreroot.certificates.graph import ExactGraph, Number, RefusedError, size_of
from mapreroot.model import Model

__all__ = ["Verification", "bound_of", "verify"]

FORMAT = "mapreroot certificate 1"
_MOST_ENUMERATED = 16
_MOST_BITS = 4096  # more than any double has
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)  # what any step raises that is handed something else than it expects


@dataclass(frozen=True)
class Verification:
    """What a certificate proves of a model; true when everything in it holds.

    Attributes
    ----------
    score : float
        Of the certificate's assignment, on the user's model.
    bound : float
        No assignment scores more: the proved bound, rounded up.
    exact_gap : Fraction or None
        The difference of the two before they are rounded; 0 means proved optimal.
    failure : str or None
        The first thing that does not hold, and where in the certificate it stands.
    """

    score: float
    bound: float
    exact_gap: Fraction | None
    failure: str | None

    def __bool__(self) -> bool:
        return self.failure is None

    @property
    def gap(self) -> float:
        """(bound - score) / max(1, abs(score))."""
        return (self.bound - self.score) / max(1.0, abs(self.score))


def verify(model: Model, certificate: Mapping[str, Any] | str | os.PathLike[str]) -> Verification:
    """Check that a certificate proves its bound and its score for this model.

    Parameters
    ----------
    model : Model
    certificate : mapping or path
        The ``certificate`` of a `MapResult`, or a JSON file of one.

    Returns
    -------
    Verification
        False, with the reason in ``failure``, if anything in it does not hold: the model's
        digest, the score of x, or any step of the proof of the bound.

    Raises
    ------
    OSError
        If the file cannot be read.

    Notes
    -----
    Linear in the size of the certificate, in exact integers and fractions; no solver is used.
    """
    try:
        if isinstance(certificate, (str, os.PathLike)):
            with open(certificate, encoding="utf-8") as file:
                certificate = json.load(file)
        if not isinstance(certificate, Mapping):
            raise RefusedError("a certificate is a JSON object")
        return _verify(model, certificate)
    except RefusedError as refusal:
        reason = str(refusal)
    except _MALFORMED as error:
        reason = f"malformed: {type(error).__name__}: {error}"
    return Verification(-math.inf, math.inf, None, reason)


def _verify(model: Model, certificate: Mapping[str, Any]) -> Verification:
    if certificate.get("format") != FORMAT:
        raise RefusedError(f"format: expected {FORMAT!r}, found {certificate.get('format')!r}")
    if certificate.get("model") != model.digest:
        raise RefusedError("model: the certificate was made for another model (the digests differ)")
    x = certificate["x"]
    if len(x) != model.n or not set(x) <= {0, 1}:
        raise RefusedError(f"x: expected {model.n} values of 0 or 1")
    for row in model.forbidden:
        if all(x[i] == a for i, a in zip(row[::2], row[1::2], strict=True)):
            raise RefusedError(f"x: it breaks the hard constraint {row}")
    scale, graph = exact_graph(model, certificate["proof"])
    bits = np.array(x, dtype=np.int8)
    score = 2 * scale * model_score(model, bits)
    proved = _bound(graph, certificate["proof"], "proof")
    if score > proved:
        raise RefusedError("proof: the bound it gives is below the score of x")
    exact_score, exact_bound = Fraction(score) / (2 * scale), Fraction(proved) / (2 * scale)
    if float(certificate["score"]) != float(exact_score):
        raise RefusedError(f"score: {certificate['score']} is stated, x has {float(exact_score)}")
    if Fraction(certificate["bound"]) < exact_bound:
        raise RefusedError(
            f"bound: {certificate['bound']} is stated, {float(exact_bound)} is proved"
        )
    up = float(exact_bound)
    if Fraction(up) < exact_bound:
        up = math.nextafter(up, math.inf)
    return Verification(float(exact_score), up, exact_bound - exact_score, None)


def model_score(model: Model, x: npt.NDArray[np.int8]) -> Fraction:
    """Give the score of an assignment exactly, hard constraints aside."""
    cut = x[model.edges[:, 0]] != x[model.edges[:, 1]]
    pulled = exact_sum(np.append(model.theta[x == 1], model.constant))
    return pulled - exact_sum(model.weights[cut]) / 2


def exact_graph(model: Model, proof: Mapping[str, Any]) -> tuple[int, ExactGraph | WideGraph]:
    """Build M+ with integer weights, and say what they were multiplied by.

    As arrays where the proof begins with rules that know them, and the numbers fit.
    """
    rounded = _bits_of(proof) if proof.get("by") == "round" else 0
    start = proof["then"] if proof.get("by") == "round" else proof
    wide = start.get("by") in ("flow", "signs")
    if wide or (start.get("by") == "steps" and start["steps"] and start["steps"][0][0] == "fix"):
        numbers = np.concatenate([model.theta, model.weights, [model.constant]])
        scale_bits = denominator_bits(numbers)
        graph = WideGraph.uprooted(model, scale_bits, rounded)
        if graph is not None:
            return 1 << scale_bits, graph
    return ExactGraph.uprooted(model)


def bound_of(graph: ExactGraph | WideGraph, proof: Mapping[str, Any]) -> Number:
    """Give the bound that an argument proves for a graph, which is left as it is.

    Raises
    ------
    RefusedError
        If a step of it does not hold.
    """
    return _bound(graph.copy() if isinstance(graph, ExactGraph) else graph, proof, "proof")


def _bound(graph: ExactGraph | WideGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Give an upper bound on P over all assignments, as the proof says; may use up the graph."""
    # What a rule gives is rounded down to a value that P can take.
    constant, step = graph.constant, graph.step()
    name = proof.get("by")
    bound: Number
    if name in _RULES_OF_BOTH:
        bound = _RULES_OF_BOTH[name](graph, proof, where)
    elif name in _RULES:
        bound = _RULES[name](_narrow(graph), proof, where)
    else:
        raise RefusedError(f"{where}: no rule is called {name!r}")
    if step:
        bound = constant + step * ((bound - constant) // step)
    return bound


def _narrow(graph: ExactGraph | WideGraph) -> ExactGraph:
    return graph.narrow() if isinstance(graph, WideGraph) else graph


def _by_signs(graph: ExactGraph | WideGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Cut every repulsive edge and no attractive one."""
    return graph.signs()


def _by_round(graph: ExactGraph | WideGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Round weights down to multiples of 2**bits first: W only ever lowers P."""
    bits = _bits_of(proof)
    if not (isinstance(graph, WideGraph) and graph.unit == 1 << bits):  # it was built like that
        graph = _narrow(graph).rounded(bits)
    return _bound(graph, proof["then"], f"{where}.then")


def _bits_of(proof: Mapping[str, Any]) -> int:
    bits = proof["bits"]
    if type(bits) is not int or not 0 <= bits <= _MOST_BITS:
        raise RefusedError(f"bits: expected an integer in 0..{_MOST_BITS}, found {bits!r}")
    return bits


def _by_steps(graph: ExactGraph | WideGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Make the graph smaller, at the cost of the slack its steps admit to, then go on."""
    slack: Number = 0
    for number, step in enumerate(proof["steps"]):
        place = f"{where}.steps[{number}]"
        try:
            if step[0] == "fix":
                lost, graph = _fix(graph, step[1], step[2], step[3], place)
                slack += lost
                continue
            graph = _narrow(graph)
            if step[0] == "drop":
                graph.drop(step[1])
            elif step[0] == "tie":
                slack += graph.tie(*step[1:])
            elif step[0] == "ignore":
                slack += graph.ignore(*step[1:])
            else:
                raise RefusedError(f"no step is called {step[0]!r}")
        except RefusedError as refusal:
            text = str(refusal)
            raise RefusedError(text if text.startswith(place) else f"{place}: {text}") from None
    return slack + _bound(graph, proof["then"], f"{where}.then")


def _fix(
    graph: ExactGraph | WideGraph,
    root: int,
    values: Sequence[Sequence[int]],
    proof: Mapping[str, Any],
    where: str,
) -> tuple[Number, ExactGraph | WideGraph]:
    """Unite vertices with the root at given values; say what that can lose, and what is left."""
    if set(map(len, values)) - {2}:
        raise RefusedError("expected pairs of a vertex and its value")
    flat = integers(list(itertools.chain.from_iterable(values)), "values", 2 * len(values))
    if flat is None:
        raise RefusedError("there are no vertices as large as that")
    vertices, sides = flat[0::2], flat[1::2]
    graph.check(root, *vertices.tolist())
    if root in vertices or ((sides != 0) & (sides != 1)).any():
        raise RefusedError("fixed values must be 0 or 1, and none for the root itself")
    if len(np.unique(vertices)) != len(vertices):
        raise RefusedError("a vertex is fixed twice")
    inner: ExactGraph | WideGraph | None = None
    rest: ExactGraph | WideGraph | None = None
    if isinstance(graph, WideGraph):
        at = np.full(graph.n, -1, dtype=np.int8)
        at[vertices] = sides
        inner, rest = graph.around(root, at), graph.united(root, at)
    fixed: dict[int, int] = dict(zip(vertices.tolist(), sides.tolist(), strict=True))
    if inner is None or rest is None:
        rest = _narrow(graph)
        inner = rest.around(root, fixed)
        for u, a in fixed.items():
            rest.unite(u, root, a)
    y = np.zeros(inner.n, dtype=np.int8)
    y[vertices] = sides
    slack = _bound(inner, proof, f"{where}[3]") - inner.value(y)
    return max(slack, 0), rest


def _by_parts(graph: ExactGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Bound parts that share no edge, each alone."""
    left = sum(map(len, graph.weight.values())) // 2
    total = graph.constant
    for number, part in enumerate(proof["parts"]):
        inside = set(part["vertices"])
        graph.check(*inside)
        piece = ExactGraph(graph.n, 0)
        for u in inside:
            for v in [v for v in graph.weight[u] if v in inside]:
                piece.add(u, v, graph.weight[u][v])
                del graph.weight[u][v], graph.weight[v][u]
                left -= 1
        total += _bound(piece, part["proof"], f"{where}.parts[{number}].proof")
    if left:
        raise RefusedError(f"{where}: {left} edges are in no part")
    return total


def _by_cycles(graph: ExactGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Weak duality with cycle inequalities: d(F) - d(C minus F) <= |F| - 1 for odd F.

    For multipliers L >= 0, P <= C + sum L (|F| - 1) + sum_e max(0, -W_e - sum L (+-1)).
    """
    total: Number = graph.constant
    scale = int(proof["scale"])  # multipliers are integers over this
    if scale <= 0:
        raise RefusedError(f"{where}.scale: expected a positive integer")
    used: dict[tuple[int, int], int] = {}
    paid = 0
    for number, (multiplier, cycle, odd) in enumerate(proof["rows"]):
        if not isinstance(multiplier, int) or multiplier < 0:
            raise RefusedError(f"{where}.rows[{number}]: the multiplier {multiplier} is negative")
        graph.check(*cycle)
        chosen = set(odd)
        if len(cycle) < 3 or len(set(cycle)) != len(cycle) or len(chosen) % 2 != 1:
            raise RefusedError(f"{where}.rows[{number}]: not a cycle with an odd set of its edges")
        if not all(0 <= k < len(cycle) for k in chosen):
            raise RefusedError(
                f"{where}.rows[{number}]: the odd set names edges that are not there"
            )
        for k, (u, v) in enumerate(itertools.pairwise([*cycle, cycle[0]])):
            if v not in graph.weight[u]:
                raise RefusedError(f"{where}.rows[{number}]: ({u}, {v}) is no edge")
            key = (u, v) if u < v else (v, u)
            used[key] = used.get(key, 0) + (multiplier if k in chosen else -multiplier)
        paid += multiplier * (len(chosen) - 1)
    rest: Number = paid
    for u, v, w in graph.edges():
        rest += max(0, -w * scale - used.get((u, v), 0))
    return total + _over(rest, scale)


def _over(number: Number, scale: int) -> Number:
    ratio = Fraction(number) / scale
    return ratio.numerator if ratio.denominator == 1 else ratio


def _by_flow(graph: ExactGraph | WideGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Bound by a flow from the root to its opposite in the signed double cover.

    Vertex v has two copies, (v, 0) and (v, 1); an attractive edge joins equal copies, a repulsive
    one opposite copies, each with capacity |W|. An assignment y puts (v, a) on the side
    y_v XOR a XOR y_root; it cuts both copies of an edge or none, and an edge that is cut costs
    |W| against the sum of the repulsive weights. So P <= C + sum_{W<0} |W| - flow / 2.

    There is one amount for each edge (u, v), u < v, in ascending order: it flows from (u, 0), and
    as much flows to (u, 1) along the other copy. So what is conserved at (v, 0) is at (v, 1).
    Amounts are worth unit / scale.
    """
    root, unit, scale, amounts = (proof[key] for key in ("root", "unit", "scale", "amounts"))
    for name, number in (("unit", unit), ("scale", scale)):
        if type(number) is not int or number <= 0:
            raise RefusedError(f"{where}.{name}: expected a positive integer")
    graph.check(root)
    try:
        value: int | None = None
        if isinstance(graph, WideGraph) and unit == graph.unit and scale <= MOST_SCALE:
            whole = integers(amounts, "amounts", len(graph.weights))
            value = None if whole is None else graph.flow(root, scale, whole)
        if value is None:
            value = _narrow(graph).flow(root, unit, scale, amounts)
    except RefusedError as refusal:
        raise RefusedError(f"{where}: {refusal}") from None
    return graph.signs() - _over(Fraction(value, 2), scale)


def _by_semidefinite(graph: ExactGraph, proof: Mapping[str, Any], where: str) -> Number:
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
    others = _over(bound + Fraction(N * max(error, default=0), 4 * grid**2), scale)
    return others if spared is None else max(others, spared)


def _by_cases(graph: ExactGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Two vertices are equal or they differ: the larger of both bounds."""
    u, v = proof["pair"]
    bounds = []
    for flip, name in ((0, "same"), (1, "differ")):
        case = graph.copy()
        case.unite(u, v, flip)
        bounds.append(_bound(case, proof[name], f"{where}.{name}"))
    return max(bounds)


def _by_all(graph: ExactGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Try all assignments, one flip at a time."""
    vertices = sorted(u for u, row in graph.weight.items() if row)
    if len(vertices) > _MOST_ENUMERATED:
        raise RefusedError(f"{where}: {len(vertices)} vertices are too many to try all assignments")
    y = dict.fromkeys(vertices, 0)
    best = value = graph.constant
    for count in range(1, 2 ** max(len(vertices) - 1, 0)):
        u = vertices[(count & -count).bit_length() - 1]
        for v, w in graph.weight[u].items():
            value += w if y[u] != y[v] else -w
        y[u] ^= 1
        best = max(best, value)
    return best


_RULES_OF_BOTH: dict[str, Callable[[ExactGraph | WideGraph, Mapping[str, Any], str], Number]] = {
    "signs": _by_signs,
    "round": _by_round,
    "steps": _by_steps,
    "flow": _by_flow,
}

_RULES: dict[str, Callable[[ExactGraph, Mapping[str, Any], str], Number]] = {
    "parts": _by_parts,
    "cycles": _by_cycles,
    "semidefinite": _by_semidefinite,
    "cases": _by_cases,
    "all": _by_all,
}
