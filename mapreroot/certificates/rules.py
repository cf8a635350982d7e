"""What an argument proves of a graph: one rule for each kind of argument.

The rules work on an `ExactGraph`, which stands for P(y), twice the score of M+; those that look at
every edge of a large model know its twin in arrays, `WideGraph`, too. Nothing here rounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from mapreroot.certificates.arrays import MOST_SCALE, WideGraph, integers
from mapreroot.certificates.cycles import by_cycles
from mapreroot.certificates.graph import ExactGraph, Number, RefusedError, over
from mapreroot.certificates.semidefinite import by_semidefinite

__all__ = ["bits_of", "bound_of"]

_MOST_ENUMERATED = 16
_MOST_BITS = 4096  # more than any double has


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
    found: Number
    if name in _RULES_OF_BOTH:
        found = _RULES_OF_BOTH[name](graph, proof, where)
    elif name in _RULES:
        found = _RULES[name](_narrow(graph), proof, where)
    else:
        raise RefusedError(f"{where}: no rule is called {name!r}")
    if step:
        found = constant + step * ((found - constant) // step)
    return found


def _narrow(graph: ExactGraph | WideGraph) -> ExactGraph:
    return graph.narrow() if isinstance(graph, WideGraph) else graph


def _by_signs(graph: ExactGraph | WideGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Cut every repulsive edge and no attractive one."""
    return graph.signs()


def _by_round(graph: ExactGraph | WideGraph, proof: Mapping[str, Any], where: str) -> Number:
    """Round weights down to multiples of 2**bits first: W only ever lowers P."""
    bits = bits_of(proof)
    if not (isinstance(graph, WideGraph) and graph.unit == 1 << bits):  # it was built like that
        graph = _narrow(graph).rounded(bits)
    return _bound(graph, proof["then"], f"{where}.then")


def bits_of(proof: Mapping[str, Any]) -> int:
    """Read how many bits the rule "round" rounds away."""
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
    return graph.signs() - over(Fraction(value, 2), scale)


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
    scale = math.lcm(*(w.denominator for _, _, w in graph.edges()))  # integers are quicker
    edges = {u: [(v, int(w * scale)) for v, w in graph.weight[u].items()] for u in vertices}
    y = dict.fromkeys(vertices, 0)
    best = value = 0
    for count in range(1, 2 ** max(len(vertices) - 1, 0)):
        u = vertices[(count & -count).bit_length() - 1]
        for v, w in edges[u]:
            value += w if y[u] != y[v] else -w
        y[u] ^= 1
        best = max(best, value)
    return graph.constant + over(best, scale)


_RULES_OF_BOTH: dict[str, Callable[[ExactGraph | WideGraph, Mapping[str, Any], str], Number]] = {
    "signs": _by_signs,
    "round": _by_round,
    "steps": _by_steps,
    "flow": _by_flow,
}

_RULES: dict[str, Callable[[ExactGraph, Mapping[str, Any], str], Number]] = {
    "parts": _by_parts,
    "cycles": partial(by_cycles, rule=_bound),
    "semidefinite": by_semidefinite,
    "cases": _by_cases,
    "all": _by_all,
}
