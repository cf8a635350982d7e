"""Balance against brute force: all switchings, all vertex sets, on thousands of small graphs."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import models, planted_balanced, signed_graphs, uprooted_models

from mapreroot import Model, ModelError, UprootedModel, uproot
from mapreroot.balance import (
    _adjacency,
    _short_frustrated_cycle,
    balance,
    balancing_set,
    balancing_vertices,
    rooted_balance,
    switching,
)
from mapreroot.generate import grid

Signs = dict[tuple[int, int], bool]


def signs_of(model: Model | UprootedModel) -> Signs:
    """Both directions of every edge: True where repulsive."""
    signs = {}
    for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True):
        signs[i, j] = signs[j, i] = w < 0
    return signs


def is_balanced(n: int, edges: np.ndarray, weights: np.ndarray) -> bool:
    """Two-colour by hand: the plain oracle."""
    around: list[list[tuple[int, bool]]] = [[] for _ in range(n)]
    for (i, j), w in zip(edges.tolist(), weights.tolist(), strict=True):
        around[i].append((j, w < 0))
        around[j].append((i, w < 0))
    side: dict[int, bool] = {}
    for source in range(n):
        if source in side:
            continue
        side[source] = False
        stack = [source]
        while stack:
            v = stack.pop()
            for u, repulsive in around[v]:
                if u not in side:
                    side[u] = side[v] ^ repulsive
                    stack.append(u)
                elif side[u] != side[v] ^ repulsive:
                    return False
    return True


def without(model: UprootedModel, removed: set[int]) -> tuple[int, np.ndarray, np.ndarray]:
    keep = np.array([not removed & set(edge) for edge in model.edges.tolist()], dtype=bool)
    return model.n_vertices, model.edges[keep], model.weights[keep]


def check_switching(model: Model | UprootedModel, flip: frozenset[int]) -> None:
    for (i, j), repulsive in signs_of(model).items():
        assert repulsive == ((i in flip) != (j in flip))


def check_cycle(model: Model | UprootedModel, cycle: tuple[int, ...]) -> None:
    assert len(cycle) >= 3
    assert len(set(cycle)) == len(cycle)
    signs = signs_of(model)
    assert sum(signs[pair] for pair in zip(cycle, cycle[1:] + cycle[:1], strict=True)) % 2 == 1


def random_signed_graph(rng: np.random.Generator) -> UprootedModel:
    """Sparse or dense, few repulsive edges or many, planted hitting sets, isolated vertices."""
    n = int(rng.integers(1, 10))
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)
    pairs = pairs[rng.random(len(pairs)) < rng.choice([0.25, 0.4, 0.7, 1.0])]
    side = rng.integers(0, 2, n)
    repulsive = side[pairs[:, 0]] != side[pairs[:, 1]]
    noisy = np.isin(pairs, rng.integers(0, n, rng.integers(0, 4))).any(axis=1)
    noisy |= rng.random(len(pairs)) < rng.choice([0.0, 0.05, 0.5])
    repulsive = np.where(noisy, rng.integers(0, 2, len(pairs)) == 1, repulsive)
    return UprootedModel(n, pairs, np.where(repulsive, -1.0, 1.0))


def brute_balancing_vertices(model: UprootedModel) -> list[int]:
    return [v for v in range(model.n_vertices) if is_balanced(*without(model, {v}))]


def brute_transversal_size(model: UprootedModel, k: int) -> int | None:
    for size in range(k + 1):
        for removed in itertools.combinations(range(model.n_vertices), size):
            if is_balanced(*without(model, set(removed))):
                return size
    return None


@given(st.one_of(models(), uprooted_models(), planted_balanced()))
def test_one_witness_is_set_and_holds(model: Model | UprootedModel) -> None:
    answer = balance(model)
    assert (answer.switching_set is None) != (answer.frustrated_cycle is None)
    assert answer.is_balanced == (answer.switching_set is not None)
    if answer.switching_set is not None:
        check_switching(model, answer.switching_set)
    if answer.frustrated_cycle is not None:
        check_cycle(model, answer.frustrated_cycle)


@given(planted_balanced())
def test_planted_models_are_balanced(model: Model) -> None:
    assert balance(model).is_balanced
    assert 0 in balancing_vertices(uproot(model))


@given(signed_graphs())
def test_signed_graphs(case: tuple[UprootedModel, int]) -> None:
    model, hits = case
    assert balance(model).is_balanced == is_balanced(model.n_vertices, model.edges, model.weights)
    assert balancing_vertices(model) == brute_balancing_vertices(model)
    found = balancing_set(model, hits)
    assert found is not None
    assert is_balanced(*without(model, set(found)))


def test_thousands_of_small_graphs_against_brute_force() -> None:
    rng = np.random.default_rng(1)
    counts = {"balanced": 0, "some": 0, "none": 0}
    for _ in range(4000):
        model = random_signed_graph(rng)
        truth = is_balanced(model.n_vertices, model.edges, model.weights)
        answer = balance(model)
        assert answer.is_balanced == truth
        if not truth:
            check_cycle(model, answer.frustrated_cycle or ())
        expected = brute_balancing_vertices(model)
        assert balancing_vertices(model) == expected
        counts["balanced" if truth else "some" if expected else "none"] += 1
    assert min(counts.values()) > 400  # all three cases were met


def test_balancing_sets_are_smallest() -> None:
    rng = np.random.default_rng(2)
    sizes = []
    for _ in range(600):
        model = random_signed_graph(rng)
        size = brute_transversal_size(model, 3)
        found = balancing_set(model, 3)
        assert (None if found is None else len(found)) == size
        if found is not None:
            assert is_balanced(*without(model, set(found)))
            if len(found) == 1:
                assert list(found) == brute_balancing_vertices(model)[:1]
            if found:
                assert balancing_set(model, len(found) - 1) is None
        sizes.append(size)
    assert all(sizes.count(size) > 10 for size in (0, 1, 2, 3, None))


@given(uprooted_models())
def test_rooted_balance_is_that_of_the_rooted_model(uprooted: UprootedModel) -> None:
    for root in range(uprooted.n_vertices):
        answer, rooted = rooted_balance(uprooted, root), balance(uprooted.reroot(root))
        assert answer.is_balanced == rooted.is_balanced == (root in balancing_vertices(uprooted))
        if answer.switching is not None and rooted.switching is not None:
            assert answer.switching[root] == 0
            assert np.delete(answer.switching, root).tolist() == rooted.switching.tolist()
        else:
            check_cycle(uprooted, answer.frustrated_cycle or ())
            assert root not in (answer.frustrated_cycle or ())


@given(planted_balanced())
def test_lowest_vertex_of_a_component_is_not_flipped(model: Model) -> None:
    flip = switching(model.n, model.edges, model.weights)
    assert flip is not None
    assert flip.dtype == np.int8
    lowest = list(range(model.n))
    for _ in range(model.n):
        for i, j in model.edges.tolist():
            lowest[i] = lowest[j] = min(lowest[i], lowest[j])
    assert not flip[lowest].any()


def test_model_fields_do_not_count() -> None:
    assert balance(Model([1, 1], [(0, 1)], [-1])).switching_set == {1}
    assert not balance(uproot(Model([1, 1], [(0, 1)], [-1]))).is_balanced


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_edges(n: int) -> None:
    empty = UprootedModel(n, [], [])
    assert balance(empty).switching_set == frozenset()
    assert balancing_vertices(empty) == list(range(n))
    assert balancing_set(empty, 2) == frozenset()


def test_cycle_is_short() -> None:
    """The graph is a long balanced ladder with one frustrated square at its far end."""
    length = 50
    rungs = [(2 * i, 2 * i + 1) for i in range(length)]
    rails = [(v, v + 2) for v in range(2 * length - 2)]
    weights = [1.0] * (length - 1) + [-1.0] + [1.0] * len(rails)
    ladder = UprootedModel(2 * length, rungs + rails, weights)
    cycle = balance(ladder).frustrated_cycle
    assert cycle is not None
    assert set(cycle) == {2 * length - 4, 2 * length - 3, 2 * length - 2, 2 * length - 1}


def test_search_from_afar_closes_a_short_cycle() -> None:
    """Paths back to a far source would make the cycle around one bad edge of a grid long."""
    model = grid(20, 20, attractive=True)
    weights = np.where((model.edges == (378, 398)).all(axis=1), -1.0, 1.0)
    start, ends = _adjacency(model.n, model.edges, weights)
    cycle = _short_frustrated_cycle(start, ends, np.zeros(model.n, dtype=np.bool_), 0)
    assert len(cycle) == 4
    assert {378, 398} < set(cycle.tolist())


def test_deep_graph_needs_no_recursion() -> None:
    n = 200_001  # an odd ring of repulsive edges: every vertex hits its one cycle
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    model = UprootedModel(n, ring, np.full(n, -1.0))
    assert len(balance(model).frustrated_cycle or ()) == n
    assert balancing_vertices(model) == list(range(n))
    assert balancing_set(model, 3) == {0}


def test_switching_takes_arrays_of_any_layout() -> None:
    edges = np.asfortranarray(np.array([(0, 1), (1, 2), (0, 1)]))
    assert switching(3, edges, np.array([-1.0, 1.0, -2.0])).tolist() == [0, 1, 1]  # type: ignore[union-attr]
    assert switching(3, edges, np.array([-1.0, 1.0, 2.0])) is None
    assert edges.flags.writeable


def test_answers_are_frozen_and_pickle() -> None:
    answer = balance(Model([0, 0], [(0, 1)], [-1]))
    with pytest.raises(ValueError, match="read-only"):
        answer.switching[0] = 1  # type: ignore[index]
    assert pickle.loads(pickle.dumps(answer)).switching_set == {1}


def test_bad_arguments() -> None:
    uprooted = UprootedModel(3, [(0, 1)], [1.0])
    with pytest.raises(ModelError, match="k is -1"):
        balancing_set(uprooted, -1)
    for root in (-1, 3):
        with pytest.raises(ModelError, match=rf"no vertex {root}: the model has 0\.\.2"):
            rooted_balance(uprooted, root)


@settings(max_examples=30)
@given(signed_graphs(), st.data())
def test_vertex_order_does_not_matter(case: tuple[UprootedModel, int], data: st.DataObject) -> None:
    model, _ = case
    place = np.array(data.draw(st.permutations(range(model.n_vertices))))
    moved = UprootedModel(model.n_vertices, place[model.edges], model.weights)
    assert balancing_vertices(moved) == sorted(place[balancing_vertices(model)].tolist())
