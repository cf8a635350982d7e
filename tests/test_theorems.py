"""One test for each lemma and theorem the package stands on."""

import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models

from mapreroot import Model, ModelError, restore_map, restore_marginals, uproot


@given(models(max_n=6, potentials=finite_floats))
def test_uprooting_keeps_scores_and_is_symmetric(model):
    uprooted = uproot(model)
    assert uprooted.n_vertices == model.n + 1
    for x in oracle.assignments(model.n):
        y = np.concatenate([[0], x])
        assert uprooted.score(y) == pytest.approx(model.score(x), abs=1e-10)
        assert uprooted.score(1 - y) == pytest.approx(model.score(x), abs=1e-10)


@given(models(max_n=6))
def test_rerooting_at_0_undoes_uprooting(model):
    assert uproot(model).reroot(0) == model


@given(models(max_n=5, potentials=finite_floats))
def test_all_rootings_share_optimum_and_partition_function(model):
    uprooted = uproot(model)
    for r in range(uprooted.n_vertices):
        rooted = uprooted.reroot(r)
        assert oracle.best_score(rooted) == pytest.approx(oracle.best_score(model), abs=1e-9)
        assert oracle.log_partition(rooted) == pytest.approx(oracle.log_partition(model), abs=1e-9)


@given(models(min_n=1, max_n=6, potentials=finite_floats), st.data())
def test_lemma_1_maps_every_assignment_to_one_of_the_same_score(model, data):
    r = data.draw(st.integers(0, model.n))
    rooted = uproot(model).reroot(r)
    images = set()
    for y in oracle.assignments(rooted.n):
        x = restore_map(y, r)
        images.add(tuple(x))
        assert model.score(x) == pytest.approx(rooted.score(y), abs=1e-10)
    assert len(images) == 2**model.n  # a bijection: Z is the same too


@given(models(min_n=1, max_n=6, potentials=finite_floats), st.data())
def test_lemma_2_maps_marginals(model, data):
    r = data.draw(st.integers(0, model.n))
    rooted = uproot(model).reroot(r)
    ys = oracle.assignments(rooted.n)
    weight = np.exp([oracle.score(rooted, y) for y in ys])
    weight /= weight.sum()
    first = ys[:, [0]] if r else np.zeros((len(ys), 1), dtype=np.int8)
    p = restore_marginals(weight @ ys, weight @ (ys != first), r)
    assert p == pytest.approx(oracle.marginals(model), abs=1e-9)


def test_labels_follow_their_vertices():
    model = Model([1.0, 0.0], [(0, 1)], [2.0], labels=["X0", "b"])
    uprooted = uproot(model)
    assert uprooted.labels == ("X0'", "X0", "b")
    assert uprooted.reroot(1).labels == ("X0'", "b")


@pytest.mark.parametrize("root", [-1, 3])
def test_restoring_needs_a_vertex(root):
    with pytest.raises(ModelError, match=f"no vertex {root}"):
        restore_map([0, 1], root)
    with pytest.raises(ModelError, match=f"no vertex {root}"):
        restore_marginals([0.5, 0.5], [0.5, 0.5], root)


def test_restoring_marginals_needs_equal_shapes():
    with pytest.raises(ModelError, match="expected"):
        restore_marginals([0.5], [0.5, 0.5], 1)


def test_log_2_of_uprooting():
    model = Model([0.3, -1.0], [(0, 1)], [2.0])
    uprooted = uproot(model)
    plain = Model(np.zeros(3), uprooted.edges, uprooted.weights)
    expected = oracle.log_partition(model) + math.log(2)
    assert oracle.log_partition(plain) == pytest.approx(expected)
