"""Hypothesis strategies: random models, signed graphs, planted-balanced models and trees."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import strategies as st

from mapreroot import Model, UprootedModel

small_integers = st.integers(-4, 4).map(float)
"""Ties abound: the hard case for tight, equal, smallest."""

finite_floats = st.floats(-8, 8, allow_nan=False, width=32)


def _signs(balanced_by: list[int], pairs: list[tuple[int, int]], sizes: list[float]) -> list[float]:
    """Attractive sizes, switched at the vertices whose bit is 1."""
    return [
        size if balanced_by[i] == balanced_by[j] else -size
        for (i, j), size in zip(pairs, sizes, strict=True)
    ]


@st.composite
def edge_lists(
    draw: st.DrawFn, n: int, max_edges: int | None = None, connected: bool = False
) -> list[tuple[int, int]]:
    """Distinct pairs i < j on n vertices; isolated vertices happen unless ``connected``."""
    pairs = list(itertools.combinations(range(n), 2))
    chosen = set(draw(st.lists(st.sampled_from(pairs), max_size=max_edges)) if pairs else [])
    if connected:
        chosen |= {(draw(st.integers(0, j - 1)), j) for j in range(1, n)}
    return sorted(chosen)


@st.composite
def models(
    draw: st.DrawFn,
    min_n: int = 0,
    max_n: int = 7,
    potentials: st.SearchStrategy[float] = small_integers,
    fields: bool = True,
    connected: bool = False,
) -> Model:
    """Models with any signs, sparse or dense, with constant; ``fields=False``: theta = 0."""
    n = draw(st.integers(min_n, max_n))
    pairs = draw(edge_lists(n, connected=connected))
    weights = draw(st.lists(potentials, min_size=len(pairs), max_size=len(pairs)))
    theta = draw(st.lists(potentials, min_size=n, max_size=n)) if fields else [0.0] * n
    return Model(theta, pairs, weights, draw(potentials))


@st.composite
def uprooted_models(
    draw: st.DrawFn,
    min_vertices: int = 1,
    max_vertices: int = 8,
    potentials: st.SearchStrategy[float] = small_integers,
    connected: bool = False,
) -> UprootedModel:
    """Symmetric models M+ with any signs; connected ones may lose it to zero weights."""
    n = draw(st.integers(min_vertices, max_vertices))
    pairs = draw(edge_lists(n, connected=connected))
    weights = draw(st.lists(potentials, min_size=len(pairs), max_size=len(pairs)))
    return UprootedModel(n, pairs, weights, draw(potentials))


@st.composite
def signed_graphs(
    draw: st.DrawFn, max_vertices: int = 9, max_parts: int = 3
) -> tuple[UprootedModel, int]:
    """Weights +-1: disjoint or glued parts, some planted balanced, vertices in any order.

    Gives also a number of vertices that surely hit every frustrated cycle.
    """
    sizes = draw(st.lists(st.integers(1, max_vertices), min_size=1, max_size=max_parts))
    edges: list[tuple[int, int]] = []
    weights: list[float] = []
    n, hits = 0, 0
    for size in sizes:
        shared = int(n > 0 and draw(st.booleans()))  # glue at one vertex: a cut vertex
        base = n - shared
        pairs = draw(edge_lists(size, connected=draw(st.booleans())))
        sides = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
        signs = _signs(sides, pairs, [1.0] * len(pairs))
        free = draw(st.sets(st.integers(0, size - 1), max_size=min(size, 2)))
        hits += len(free)
        for (i, j), sign in zip(pairs, signs, strict=True):
            edges.append((base + i, base + j))
            weights.append(draw(st.sampled_from([-1.0, 1.0])) if {i, j} & free else sign)
        n = base + size
    place = draw(st.permutations(range(n)))
    return UprootedModel(n, [(place[i], place[j]) for i, j in edges], weights), hits


@st.composite
def planted_balanced(draw: st.DrawFn, min_n: int = 1, max_n: int = 7, fields: bool = True) -> Model:
    """Models M whose own edges are balanced: attractive ones, switched at random vertices."""
    n = draw(st.integers(min_n, max_n))
    pairs = draw(edge_lists(n))
    sides = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    sizes = draw(st.lists(st.integers(1, 4).map(float), min_size=len(pairs), max_size=len(pairs)))
    theta = draw(st.lists(small_integers, min_size=n, max_size=n)) if fields else [0.0] * n
    return Model(theta, pairs, _signs(sides, pairs, sizes), draw(small_integers))


@st.composite
def trees(
    draw: st.DrawFn,
    min_n: int = 1,
    max_n: int = 8,
    potentials: st.SearchStrategy[float] = small_integers,
    forest: bool = True,
) -> Model:
    """Models whose own edges are a tree, or a forest; vertices in any order."""
    n = draw(st.integers(min_n, max_n))
    place = draw(st.permutations(range(n)))
    pairs = [
        (place[draw(st.integers(0, j - 1))], place[j])
        for j in range(1, n)
        if not forest or draw(st.integers(0, 4))
    ]
    weights = draw(st.lists(potentials.filter(bool), min_size=len(pairs), max_size=len(pairs)))
    theta = draw(st.lists(potentials, min_size=n, max_size=n))
    return Model(theta, pairs, weights, draw(potentials))


def best_score(model: Model | UprootedModel) -> float:
    """Maximum score by enumeration in plain numpy: the oracle for small models."""
    n = model.n if isinstance(model, Model) else model.n_vertices
    x = np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.int8).reshape(2**n, n)
    i, j = model.edges.T
    scores = model.constant - (x[:, i] != x[:, j]) @ model.weights / 2
    if isinstance(model, Model):
        scores = scores + x @ model.theta
    return float(scores.max())
