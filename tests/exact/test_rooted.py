import numpy as np
import pytest
from hypothesis import given
from strategies import signed_graphs, trees, uprooted_models

from mapreroot import NotATreeError, UprootedModel, uproot
from mapreroot.balance import balancing_vertices, rooted_balance
from mapreroot.exact.rooted import (
    balanced_rooting,
    forest_root,
    forest_roots,
    not_balanced,
    tree_at,
)
from mapreroot.trees import find_cycle


def is_forest_without(uprooted, r):
    edges = [pair for pair in uprooted.edges.tolist() if r not in pair]
    return find_cycle(uprooted.n_vertices, np.array(edges, dtype=np.int64).reshape(-1, 2)) is None


@given(uprooted_models(max_vertices=7))
def test_forest_roots_are_all_of_them(uprooted):
    expected = [r for r in range(uprooted.n_vertices) if is_forest_without(uprooted, r)]
    assert forest_roots(uprooted).tolist() == expected
    assert forest_root(uprooted) == (expected[0] if expected else None)


@given(signed_graphs(max_vertices=6))
def test_a_balanced_rooting_is_found_if_there_is_one(case):
    uprooted, _ = case
    found = balanced_rooting(uprooted)
    balancing = balancing_vertices(uprooted)
    assert (found is None) == (not balancing)
    if found is not None:
        root, flips = found
        assert root in balancing
        for (i, j), w in zip(uprooted.edges.tolist(), uprooted.weights.tolist(), strict=True):
            assert root in (i, j) or (w > 0) == (flips[i] == flips[j])
    for r in range(uprooted.n_vertices):
        given_root = balanced_rooting(uprooted, r)
        assert (given_root is not None) == rooted_balance(uprooted, r).is_balanced
        if given_root is None:
            assert f"M_{r} is not balanced" in str(not_balanced(uprooted, r))


@given(trees(max_n=7))
def test_forests_are_solved(model):
    uprooted = uproot(model)
    y = tree_at(uprooted, 0)
    xs = np.array(list(np.ndindex(*[2] * model.n)))
    assert uprooted.score(y) == pytest.approx(max(model.score(x) for x in xs))


def test_a_cycle_is_shown():
    square = UprootedModel(5, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)], [1.0] * 5)
    with pytest.raises(NotATreeError, match="M_0 is not a forest") as caught:
        tree_at(square, 0)
    assert sorted(caught.value.cycle) == [1, 2, 3, 4]
