"""Random points d, all triangles as an LP, and plain searches: oracles for the cycle relaxation."""

from __future__ import annotations

import heapq
import itertools
from functools import cache

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog

from mapreroot import UprootedModel
from mapreroot.relaxations.cuts import Cuts
from mapreroot.relaxations.highs import new_highs

Floats = npt.NDArray[np.float64]


def random_model(
    rng: np.random.Generator, n: int, kind: str = "gaussian", density: float | None = None
) -> UprootedModel:
    """Every pair with some probability; weights normal, +-1, small integers or all -1."""
    density = rng.uniform(0.3, 1) if density is None else density
    edges = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    m = len(edges)
    weights = {
        "gaussian": lambda: rng.normal(size=m),
        "signs": lambda: rng.choice([-1.0, 1.0], m),
        "integers": lambda: rng.integers(-4, 5, m).astype(float),
        "repulsive": lambda: -np.ones(m),
    }[kind]()
    return UprootedModel(n, edges, weights, float(rng.normal()))


KINDS = ("gaussian", "signs", "integers", "repulsive")


def random_point(rng: np.random.Generator, model: UprootedModel) -> Floats:
    """Anything in the box, thirds, integral, or a mixture of few cuts with one edge moved."""
    i, j = model.edges.T
    kind = rng.integers(5)
    if kind == 0:
        return rng.random(model.m)
    if kind == 1:
        return rng.integers(0, 2, model.m).astype(np.float64)
    if kind == 2:
        return rng.integers(0, 4, model.m) / 3
    y = rng.integers(0, 2, (3, model.n_vertices))
    d = rng.dirichlet(np.ones(3)) @ (y[:, i] != y[:, j])
    if kind == 3 and model.m:
        e = rng.integers(model.m)
        d[e] = np.clip(d[e] + rng.choice([-0.2, 0.2]), 0, 1)
    return np.clip(d, 0, 1)


def shortest_odd_walk(model: UprootedModel, d: Floats) -> float:
    """Smallest length of a path v' to v'' over all v: violated iff below 1."""
    near: dict[tuple[int, int], list[tuple[tuple[int, int], float]]] = {
        (v, q): [] for v in range(model.n_vertices) for q in (0, 1)
    }
    for (i, j), x in zip(model.edges.tolist(), d.tolist(), strict=True):
        for q, crossing in itertools.product((0, 1), (0, 1)):
            step = 1 - x if crossing else x
            near[i, q].append(((j, q ^ crossing), step))
            near[j, q ^ crossing].append(((i, q), step))
    best = np.inf
    for s in range(model.n_vertices):
        final: dict[tuple[int, int], float] = {}
        heap = [(0.0, (s, 0))]
        while heap:
            at, node = heapq.heappop(heap)
            if node in final:
                continue
            final[node] = at
            for other, step in near[node]:
                if other not in final:
                    heapq.heappush(heap, (at + step, other))
        best = min(best, final.get((s, 1), np.inf))
    return best


@cache
def all_triangles(n: int) -> tuple[sp.csr_array, Floats, dict[tuple[int, int], int]]:
    """A d <= b for the four inequalities of each triangle of K_n, and the pairs' columns."""
    pair = {ends: k for k, ends in enumerate(itertools.combinations(range(n), 2))}
    columns, signs, b = [], [], []
    for i, j, k in itertools.combinations(range(n), 3):
        for sign, rhs in (((1, -1, -1), 0), ((-1, 1, -1), 0), ((-1, -1, 1), 0), ((1, 1, 1), 2)):
            columns += [pair[i, j], pair[i, k], pair[j, k]]
            signs += sign
            b.append(rhs)
    rows = np.repeat(np.arange(len(b)), 3)
    A = sp.csr_array((np.array(signs, float), (rows, columns)), shape=(len(b), len(pair)))
    return A, np.array(b, float), pair


def tri_by_linprog(model: UprootedModel) -> float:
    """TRI by its definition."""
    new_highs()  # uses up the banner that the solver prints once per process
    A, b, pair = all_triangles(model.n_vertices)
    cost = np.zeros(len(pair))
    for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True):
        cost[pair[i, j]] = w / 2
    answer = linprog(cost, A_ub=A, b_ub=b, bounds=(0, 1), method="highs")
    assert answer.status == 0
    return float(model.constant - answer.fun)


def best_phi(model: UprootedModel) -> float:
    """The best score by trying all assignments."""
    n = model.n_vertices
    return max(model.score((0, *rest)) for rest in itertools.product((0, 1), repeat=n - 1))


def check_cuts(model: UprootedModel, cuts: Cuts) -> None:
    """Each is a chordless cycle of the model with an odd set F, and no two are the same."""
    names = set()
    for begin, end in itertools.pairwise(cuts.start.tolist()):
        edges, odd = cuts.edge[begin:end].tolist(), cuts.odd[begin:end].tolist()
        assert len(set(edges)) == len(edges) >= 3
        assert sum(odd) % 2 == 1
        ends = model.edges[edges]
        vertices = set(ends.ravel().tolist())
        assert len(vertices) == len(edges)
        assert (np.bincount(ends.ravel())[sorted(vertices)] == 2).all()
        # One cycle, not several: it can be walked around.
        near = {v: set() for v in vertices}
        for u, v in ends.tolist():
            near[u].add(v)
            near[v].add(u)
        seen, todo = set(), [edges and ends[0, 0].item()]
        while todo:
            v = todo.pop()
            if v not in seen:
                seen.add(v)
                todo += near[v]
        assert seen == vertices
        inside = sum(u in vertices and v in vertices for u, v in model.edges.tolist())
        assert inside == len(edges)
        names.add(frozenset(zip(edges, odd, strict=True)))
    assert len(names) == len(cuts)
