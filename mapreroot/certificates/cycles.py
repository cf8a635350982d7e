"""The rule "cycles": weak duality with cycle inequalities, and a search tree that shares them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from mapreroot.certificates.graph import ExactGraph, Number, RefusedError, over

__all__ = ["Ties", "by_cycles"]

Rule = Callable[[ExactGraph, Mapping[str, Any], str], Number]
_Cut = tuple[list[int], list[int]]  # edge numbers: of the odd set, and the other ones
_Priced = Iterable[tuple[int, _Cut]]  # with a multiplier


def by_cycles(graph: ExactGraph, proof: Mapping[str, Any], where: str, rule: Rule) -> Number:
    """Weak duality with cycle inequalities: d(F) - d(C minus F) <= |F| - 1 for odd F.

    For multipliers L >= 0, P <= C + sum L (|F| - 1) + sum_e max r_e d_e, where the reduced cost
    r_e is -W_e - sum L (+-1). In a box, where d_e is known of some edges, the maximum is over what
    is left of [0, 1].

    The proof may go on from there. ``fixed`` has edges and the values they are given: with the
    other value the sum changes by r_e, and that bounds what is left out. Then either ``pair``
    splits the box, its vertices equal in ``same`` and unlike in ``differ``, each with multipliers
    of its own for the same inequalities; or ``then`` is an argument about the graph in which all
    that is tied has been united.
    """
    scale = int(proof["scale"])  # multipliers are integers over this
    if scale <= 0:
        raise RefusedError(f"{where}.scale: expected a positive integer")
    program = _Program(graph, scale, rule)
    priced = []
    for number, (multiplier, cycle, odd) in enumerate(proof["rows"]):
        place = f"{where}.rows[{number}]"
        priced.append((_multiplier(multiplier, place), program.cut(cycle, odd, place)))
    program.cuts = [cut for _, cut in priced]
    return over(program.bound(proof, priced, Ties({}, {}), where), scale)


@dataclass(frozen=True, eq=False)
class Ties:
    """Who is tied to whom: an edge between two that are has a known d.

    Attributes
    ----------
    home : dict
        For a vertex its class, named after one of its vertices, and whether it is opposite to it.
    members : dict
        The vertices of each class of several.
    """

    home: dict[int, tuple[int, int]]
    members: dict[int, list[int]]

    def copy(self) -> Self:
        """Give a twin that shares nothing."""
        members = {u: list(those) for u, those in self.members.items()}
        return type(self)(dict(self.home), members)

    def known(self, u: int, v: int) -> int | None:
        """Say whether the two differ, if that is known."""
        (a, p), (b, q) = self.home.get(u, (u, 0)), self.home.get(v, (v, 0))
        return p ^ q if a == b else None

    def tie(self, u: int, v: int, differ: int) -> bool:
        """Tie two vertices; say whether that agrees with what is known."""
        (a, p), (b, q) = self.home.get(u, (u, 0)), self.home.get(v, (v, 0))
        if a == b:
            return p ^ q == differ
        if len(self.members.get(a, ())) < len(self.members.get(b, ())):
            a, b = b, a
        moved = self.members.pop(b, [b])
        for x in moved:
            self.home[x] = a, self.home.get(x, (x, 0))[1] ^ p ^ q ^ differ
        self.members.setdefault(a, [a]).extend(moved)
        return True

    def unions(self) -> Iterator[tuple[int, int, int]]:
        """Go through (u, v, flip) for every u that is tied to a smaller v, the smallest there."""
        for members in self.members.values():
            v = min(members)
            for u in members:
                if u != v:
                    yield u, v, self.home.get(u, (u, 0))[1] ^ self.home.get(v, (v, 0))[1]


class _Program:
    """P over vectors d of edges, all numbers multiplied by the scale."""

    def __init__(self, graph: ExactGraph, scale: int, rule: Rule) -> None:
        self.graph, self.scale, self.rule = graph, scale, rule
        self.ends: list[tuple[int, int]] = []
        self.costs: list[Number] = []
        self.numbers: dict[tuple[int, int], int] = {}
        self.cuts: list[_Cut] = []
        for e, (u, v, w) in enumerate(graph.edges()):
            self.ends.append((u, v))
            self.costs.append(-w * scale)
            self.numbers[u, v] = self.numbers[v, u] = e

    def edge(self, u: int, v: int, where: str) -> int:
        if (u, v) not in self.numbers:
            raise RefusedError(f"{where}: ({u}, {v}) is no edge")
        return self.numbers[u, v]

    def cut(self, cycle: Sequence[int], odd: Sequence[int], where: str) -> _Cut:
        self.graph.check(*cycle)
        chosen = set(odd)
        if len(cycle) < 3 or len(set(cycle)) != len(cycle) or len(chosen) % 2 != 1:
            raise RefusedError(f"{where}: not a cycle with an odd set of its edges")
        if not all(0 <= k < len(cycle) for k in chosen):
            raise RefusedError(f"{where}: the odd set names edges that are not there")
        edges = [self.edge(u, v, where) for u, v in itertools.pairwise([*cycle, cycle[0]])]
        inside = [e for k, e in enumerate(edges) if k in chosen]
        return inside, [e for k, e in enumerate(edges) if k not in chosen]

    def bound(self, node: Mapping[str, Any], priced: _Priced, box: Ties, where: str) -> Number:
        """Bound P in a box, which is used up, by multipliers alone or by what follows."""
        reduced = list(self.costs)
        own: Number = self.graph.constant * self.scale
        for multiplier, (inside, outside) in priced:
            if multiplier:
                own += multiplier * (len(inside) - 1)
                for e in inside:
                    reduced[e] -= multiplier
                for e in outside:
                    reduced[e] += multiplier
        most = [_most(r, box.known(u, v)) for r, (u, v) in zip(reduced, self.ends, strict=True)]
        own += sum(most)
        if not {"fixed", "pair", "then"} & set(node):
            return own
        bounds: list[Number] = []
        consistent = True
        for number, (u, v, differ) in enumerate(node.get("fixed", ())):
            e = self.edge(u, v, f"{where}.fixed[{number}]")
            if differ not in (0, 1):
                raise RefusedError(f"{where}.fixed[{number}]: {differ!r} is neither 0 nor 1")
            bounds.append(own - most[e] + reduced[e] * (1 - differ))
            consistent = box.tie(u, v, differ) and consistent
        if consistent:
            bounds += self.cases(node, box, where) if "pair" in node else []
            bounds += [self.united(node["then"], box, where)] if "then" in node else []
            bounds += [] if {"pair", "then"} & set(node) else [own]
        return min(own, max(bounds, default=own))

    def cases(self, node: Mapping[str, Any], box: Ties, where: str) -> list[Number]:
        """Split a box at two vertices."""
        u, v = node["pair"]
        self.graph.check(u, v)
        if u == v:
            raise RefusedError(f"{where}.pair: expected two vertices")
        bounds = []
        for flip, name in ((0, "same"), (1, "differ")):
            case, there = box.copy(), f"{where}.{name}"
            if case.tie(u, v, flip):
                priced = [
                    (_multiplier(multiplier, there), self.numbered(k, there))
                    for k, multiplier in node[name]["rows"]
                ]
                bounds.append(self.bound(node[name], priced, case, there))
        return bounds

    def numbered(self, k: int, where: str) -> _Cut:
        if not 0 <= k < len(self.cuts):
            raise RefusedError(f"{where}: there is no inequality {k}")
        return self.cuts[k]

    def united(self, proof: Mapping[str, Any], box: Ties, where: str) -> Number:
        """Bound the graph in which all that is tied is one vertex."""
        graph = self.graph.copy()
        for u, v, flip in box.unions():
            graph.unite(u, v, flip)
        return self.rule(graph, proof, f"{where}.then") * self.scale


def _most(reduced: Number, known: int | None) -> Number:
    return max(reduced, 0) if known is None else reduced * known


def _multiplier(multiplier: Any, where: str) -> int:
    if type(multiplier) is not int or multiplier < 0:
        raise RefusedError(f"{where}: the multiplier {multiplier} is negative")
    return multiplier
