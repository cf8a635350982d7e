"""Online sum- and max-product against enumeration and against beliefs in the log domain."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_oracle import (
    entries,
    forests,
    log_joint,
    logsumexp,
    normalised,
    random_tree,
    reduce_to,
    two_pass,
)

from mapreroot.errors import InfeasibleError, ModelError, NotATreeError, SizeError
from mapreroot.trees import OnlineMaxProduct, OnlineSumProduct, TreeCover
from mapreroot.trees.records import positions, records

CLOSE = {"rtol": 1e-9, "atol": 1e-300}


def label_counts(style, n, rng):
    return np.full(n, style) if style else rng.integers(1, 4, n)


def assert_matches(sums, maxima, n, edges, factors, data):
    """Everything that can be asked, against the table of all labellings."""
    t = log_joint(n, edges, factors, data)
    axes = tuple(range(n))
    np.testing.assert_allclose(sums.log_partition, logsumexp(t, axes), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(maxima.max_log_value, t.max(), rtol=1e-11, atol=1e-11)
    together = sums.marginals()
    many = sums.marginal_many(np.arange(n))
    for v in range(n):
        expected = normalised(reduce_to(t, (v,), logsumexp))
        np.testing.assert_allclose(sums.marginal(v), expected, **CLOSE)
        np.testing.assert_allclose(together[v], expected, **CLOSE)
        np.testing.assert_allclose(many[v], expected, **CLOSE)
        best = reduce_to(t, (v,), np.max)
        np.testing.assert_allclose(maxima.log_max_marginal(v), best, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(maxima.max_marginal(v), normalised(best), **CLOSE)
    for e, (u, v) in enumerate(edges):
        expected = normalised(reduce_to(t, (u, v), logsumexp))
        np.testing.assert_allclose(sums.pair_marginal(e), expected, **CLOSE)
    if np.isfinite(t).any():
        assert t[tuple(maxima.map_assignment())] == pytest.approx(t.max(), rel=1e-11, abs=1e-11)
        assert all(np.isfinite(t[tuple(x)]) for x in sums.sample(3, seed=0))
    else:
        with pytest.raises(InfeasibleError):
            maxima.map_assignment()
        with pytest.raises(InfeasibleError):
            sums.sample()


@settings(max_examples=80)
@given(
    forests(6),
    st.sampled_from([0, 2, 2, 3]),
    st.booleans(),
    st.sampled_from([False, True, None]),
    st.integers(0, 2**32 - 1),
)
def test_all_answers_after_random_updates(forest, style, extreme, rake_only, seed):
    n, edges = forest
    rng = np.random.default_rng(seed)
    k = label_counts(style, n, rng)
    data = [entries(rng, c, extreme) for c in k]
    factors = [entries(rng, (k[u], k[v]), extreme) for u, v in edges]
    cover = TreeCover(n, edges, rake_only=rake_only, k=int(k.max()))
    sums = OnlineSumProduct(n, edges, factors, data, cover)
    maxima = OnlineMaxProduct(n, edges, factors, data, cover)
    assert_matches(sums, maxima, n, edges, factors, data)
    for step in range(4):
        if step < 3:
            v = int(rng.integers(n))
            data[v] = np.eye(k[v])[0] if step == 2 else entries(rng, k[v], extreme)
            sums.update(v, data[v])
            maxima.update(v, data[v])
        else:
            vertices = rng.integers(0, n, 3)
            rows = [entries(rng, k[u], extreme) for u in vertices]
            for u, row in zip(vertices, rows, strict=True):
                data[u] = row
            sums.update_many(vertices, rows)
            maxima.update_many(vertices, rows)
        if len(edges) and step == 1:
            e = int(rng.integers(len(edges)))
            factors[e] = entries(rng, factors[e].shape, extreme)
            sums.update_edge(e, factors[e])
            maxima.update_edge(e, factors[e])
        assert_matches(sums, maxima, n, edges, factors, data)


@pytest.mark.parametrize("style", [0, 2, 4])
@pytest.mark.parametrize("shape", ["recursive", "path", "star", "caterpillar"])
def test_larger_trees_against_beliefs_in_the_log_domain(style, shape):
    n = 120
    rng = np.random.default_rng(5)
    parent_of = {
        "recursive": lambda v, rng: rng.integers(v),
        "path": lambda v, rng: v - 1,
        "star": lambda v, rng: 0,
        "caterpillar": lambda v, rng: max(0, v - 1 - v % 2),
    }[shape]
    edges = random_tree(n, rng, parent_of)
    k = label_counts(style, n, rng)
    data = [10.0 ** rng.uniform(-270, 270, c) for c in k]
    factors = [10.0 ** rng.uniform(-270, 270, (k[u], k[v])) for u, v in edges]
    tree = OnlineSumProduct(n, edges, factors, data)
    for v in rng.integers(0, n, 40):
        data[v] = entries(rng, k[v]) + 1e-270
        tree.update(v, data[v])
    log_z, marginals = two_pass(n, edges, factors, data)
    assert tree.log_partition == pytest.approx(log_z, rel=1e-12)
    for v in range(n):
        np.testing.assert_allclose(tree.marginal(v), marginals[v], rtol=1e-8, atol=1e-300)
        np.testing.assert_allclose(tree.marginals()[v], marginals[v], rtol=1e-8, atol=1e-300)


@pytest.mark.parametrize("k", [2, 3])
def test_hard_constraints_along_a_path_lose_nothing(k):
    # Only constant labellings are possible: their weights differ by thousands of nats on the
    # way, and almost not at all in the end.
    n = 3000
    rng = np.random.default_rng(6)
    data = 10.0 ** rng.uniform(-100, 100, (n, k))
    edges = [(v, v + 1) for v in range(n - 1)]
    tree = OnlineSumProduct(n, edges, np.eye(k), data)
    logs = np.log(data).sum(axis=0)
    for c in range(k):
        row = np.zeros(k)
        row[c] = 1.0
        tree.multiply(int(rng.integers(n)), np.ones(k))
        tree.update(0, row)
        assert tree.log_partition == pytest.approx(logs[c] - np.log(data[0, c]), rel=1e-12)
        np.testing.assert_array_equal(tree.marginal(n - 1), row)
    tree.update(0, np.ones(k))
    without = logs - np.log(data[0])
    for _ in range(3):  # now bring the labels level, in steps that no double could hold at once
        gap = without - without.min()
        tree.multiply(1, np.exp(-np.minimum(gap, 600)))
        without = without - np.minimum(gap, 600)
    while (gap := without - without.min()).max() > 0:
        tree.multiply(1, np.exp(-np.minimum(gap, 600)))
        without = without - np.minimum(gap, 600)
    np.testing.assert_allclose(tree.marginal(n // 2), np.full(k, 1 / k), rtol=1e-7)


@pytest.mark.parametrize("k", [2, 3])
def test_hub_keeps_labels_that_are_far_apart_for_a_while(k):
    n = 2001
    edges = [(0, v) for v in range(1, n)]
    factor = np.full((k, k), 1e-3) + np.eye(k)
    tree = OnlineSumProduct(n, edges, factor, np.ones((n, k)))
    rows = np.ones((n - 1, k))
    for c in range(k):  # leaf after leaf votes for one label, then as many for the next
        rows[c::k] = np.eye(k)[c]
    order = np.argsort(np.arange(n - 1) % k, kind="stable")
    for v in order:
        tree.update(int(v) + 1, rows[v])
    log_z, marginals = two_pass(n, edges, [factor] * (n - 1), [np.ones(k), *rows])
    assert tree.log_partition == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(tree.marginal(0), marginals[0], rtol=1e-9)
    np.testing.assert_allclose(tree.marginals()[1:].sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("maximise", [False, True])
def test_batches_equal_one_by_one(k, maximise):
    engine = OnlineMaxProduct if maximise else OnlineSumProduct
    n = 1500
    rng = np.random.default_rng(8)
    edges = random_tree(n, rng)
    factors, data = entries(rng, (n - 1, k, k)) + 1e-9, entries(rng, (n, k)) + 1e-9
    single, batch = (engine(n, edges, factors, data) for _ in range(2))
    for m in (5, 23, 24, 400, 3000):  # a few climb, many are swept; vertices come twice
        vertices, rows = rng.integers(0, n, m), entries(rng, (m, k))
        vertices[-1] = vertices[0]
        for v, row in zip(vertices, rows, strict=True):
            single.update(v, row)
        batch.update_many(vertices, rows)
        assert batch._log_total() == pytest.approx(single._log_total(), rel=1e-12)
        np.testing.assert_allclose(batch._all_beliefs(), single._all_beliefs(), **CLOSE)


@pytest.mark.parametrize("style", [0, 2, 3])
def test_trials_predict_then_update(style):
    n = 300
    rng = np.random.default_rng(9)
    edges = random_tree(n, rng)
    k = label_counts(style, n, rng)
    factors = [entries(rng, (k[u], k[v]), extreme=False) + 0.1 for u, v in edges]
    data = [np.ones(c) for c in k]
    single, batch = (OnlineSumProduct(n, edges, factors, data) for _ in range(2))
    vertices = rng.integers(0, n, 200)
    rows = [entries(rng, k[v], extreme=False) + 0.1 for v in vertices]
    predictions = batch.trial_many(vertices, rows)
    for v, row, predicted in zip(vertices, rows, predictions, strict=True):
        np.testing.assert_allclose(predicted, single.marginal(v), **CLOSE)
        single.update(v, row)
    assert batch.log_partition == pytest.approx(single.log_partition, rel=1e-12)


def test_two_labels_unrolled_equal_two_labels_in_general():
    n = 400
    rng = np.random.default_rng(10)
    edges = random_tree(n, rng)
    factors, data = entries(rng, (n - 1, 2, 2)), entries(rng, (n, 2)) + 1e-5
    binary = OnlineSumProduct(n, edges, factors, data)
    # One isolated vertex with three labels, and the unrolled loops are out of use.
    general = OnlineSumProduct(n + 1, edges, list(factors), [*data, np.ones(3)])
    for v in rng.integers(0, n, 200):
        row = entries(rng, 2)
        binary.update(v, row)
        general.update(v, row)
        np.testing.assert_allclose(binary.marginal(v), general.marginal(v), **CLOSE)
        row = entries(rng, 2, extreme=False) + 0.01
        binary.update(v, row)
        general.update(v, row)
        np.testing.assert_allclose(
            binary.log_partition, general.log_partition - np.log(3), rtol=1e-12
        )


@pytest.mark.parametrize("k", [2, 3])
def test_many_updates_do_not_drift(k):
    n, m = 1000, 200_000
    rng = np.random.default_rng(11)
    edges = [(0, v) for v in range(1, n)]
    factor = rng.random((k, k)) + 0.05
    tree = OnlineSumProduct(n, edges, factor, np.ones((n, k)))
    rows = entries(rng, (m, k)) + 1e-200
    vertices = rng.integers(1, n, m)
    tree.trial_many(vertices, rows)
    data = np.ones((n, k))
    data[vertices] = rows
    fresh = OnlineSumProduct(n, edges, factor, data)
    np.testing.assert_allclose(tree.marginals(), fresh.marginals(), rtol=1e-11, atol=1e-300)
    assert tree.log_partition == pytest.approx(fresh.log_partition, rel=1e-12)


@pytest.mark.slow
def test_ten_million_updates_at_a_hub_do_not_drift():
    n, m = 1000, 1_000_000
    rng = np.random.default_rng(12)
    edges = [(0, v) for v in range(1, n)]
    factor = np.array([[0.9, 0.1], [0.3, 0.7]])
    tree = OnlineSumProduct(n, edges, factor, np.ones((n, 2)))
    data = np.ones((n, 2))
    for _ in range(10):
        rows, vertices = rng.random((m, 2)), rng.integers(1, n, m)
        tree.trial_many(vertices, rows)
        data[vertices] = rows
    fresh = OnlineSumProduct(n, edges, factor, data)
    np.testing.assert_allclose(tree.marginals(), fresh.marginals(), rtol=1e-9)


@pytest.mark.parametrize("k", [2, 3])
def test_z_of_zero_is_a_state_to_come_back_from(k):
    edges = [(0, 1), (1, 2), (3, 4)]  # two components: one at 0 makes the whole 0
    ones = np.ones((5, k))
    tree = OnlineSumProduct(5, edges, np.full((k, k), 0.5), ones)
    best = OnlineMaxProduct(5, edges, np.full((k, k), 0.5), ones)
    before, log_z = tree.marginals(), tree.log_partition
    for engine in (tree, best):
        engine.update(4, np.zeros(k))
        engine.update(0, np.zeros(k))
    assert tree.log_partition == best.max_log_value == -np.inf
    assert np.isnan(tree.marginals()).all()
    assert np.isnan(tree.marginal(2)).all()
    assert np.isnan(tree.pair_marginal(1)).all()
    assert np.isnan(best.max_marginal(3)).all()
    assert (best.log_max_marginal(3) == -np.inf).all()
    with pytest.raises(InfeasibleError, match="weight 0"):
        tree.sample()
    with pytest.raises(InfeasibleError, match="weight 0"):
        best.map_assignment()
    tree.update(4, np.ones(k))
    assert tree.log_partition == -np.inf
    tree.update(0, np.ones(k))
    assert tree.log_partition == pytest.approx(log_z, rel=1e-14)
    np.testing.assert_allclose(tree.marginals(), before, rtol=1e-14)
    tree.update_edge(2, np.zeros((k, k)))
    assert tree.log_partition == -np.inf


def test_samples_have_the_right_distribution():
    rng = np.random.default_rng(13)
    edges = np.array([(1, 0), (1, 2)])
    data = [rng.random(2), rng.random(3), rng.random(2)]
    factors = [rng.random((3, 2)), rng.random((3, 2))]
    tree = OnlineSumProduct(3, edges, factors, data)
    m = 6000
    x = tree.sample(m, seed=3)
    p = normalised(log_joint(3, edges, factors, data))
    for label in itertools.product(*(range(len(row)) for row in data)):
        share = (x == label).all(axis=1).mean()
        assert abs(share - p[label]) < 4.5 * np.sqrt(p[label] / m)
    np.testing.assert_array_equal(x[:10], tree.sample(10, seed=3))
    assert tree.sample(0).shape == (0, 3)


def test_multiply_is_an_independent_observation():
    for k in (2, 3):
        tree = OnlineSumProduct(2, [(0, 1)], np.eye(k) + 0.1, np.ones((2, k)))
        row = np.arange(1.0, k + 1)
        for _ in range(2):
            tree.multiply(0, row)
        other = OnlineSumProduct(2, [(1, 0)], np.eye(k) + 0.1, [row**2, np.ones(k)])
        np.testing.assert_allclose(tree.marginals(), other.marginals(), rtol=1e-14)
        for _ in range(5000):
            tree.multiply(1, np.linspace(1e-200, 1e-199, k))
        assert tree.log_partition < -2e6
        np.testing.assert_allclose(tree.marginal(1), np.eye(k)[-1], atol=1e-100)


def test_single_vertices_and_single_edges():
    one = OnlineSumProduct(1, [], [], [[1.0, 3.0]])
    assert one.marginal(0).tolist() == [0.25, 0.75]
    assert one.log_partition == pytest.approx(np.log(4))
    alone = OnlineMaxProduct(3, [], [], [[1.0], [2.0, 5.0], [1.0, 1.0, 7.0]])
    assert alone.map_assignment().tolist() == [0, 1, 2]
    assert alone.max_log_value == pytest.approx(np.log(35))
    edge = OnlineSumProduct(2, [(1, 0)], [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]], [[1, 1, 1], [1, 0]])
    np.testing.assert_allclose(edge.pair_marginal(0), np.array([[1, 2, 3], [0, 0, 0]]) / 6)
    assert edge.labels(0) == 3
    assert edge.n == 2


def test_ragged_answers_are_lists():
    tree = OnlineSumProduct(2, [(0, 1)], np.ones((2, 3)), [[1, 1], [1, 1, 2]])
    assert [len(p) for p in tree.marginals()] == [2, 3]
    assert [p.tolist() for p in tree.marginal_many([1, 0])] == [[0.25, 0.25, 0.5], [0.5, 0.5]]
    assert tree.marginal_many(np.empty(0, np.int64)) == []
    assert tree.trial_many([1], [[1, 0, 0]])[0].tolist() == [0.25, 0.25, 0.5]


def test_denormal_and_largest_doubles():
    tiny, huge = 5e-324, 1.7e308
    tree = OnlineSumProduct(2, [(0, 1)], [[tiny, huge], [huge, tiny]], [[tiny, huge], [1, 1]])
    assert tree.log_partition == pytest.approx(2 * np.log(huge), rel=1e-12)
    tree.update(0, [tiny, 0])
    assert tree.log_partition == pytest.approx(np.log(tiny) + np.log(huge), rel=1e-12)
    np.testing.assert_allclose(tree.marginal(1), [0, 1], atol=1e-300)


EDGES, ONES = [(0, 1), (1, 2)], np.ones((3, 2))


@pytest.mark.parametrize(
    ("n", "edges", "factors", "data", "message"),
    [
        (0, [], [], [], "n is 0"),
        (3, [(0, 1), (1, 3)], np.ones((2, 2)), ONES, r"edge 1 is \(1, 3\): vertices are 0\.\.2"),
        (3, EDGES, np.ones((2, 2)), ONES[:2], "expected 3 rows"),
        (3, EDGES, np.ones((2, 2)), [[1, 1], [1, 1]], "expected 3 rows"),
        (3, EDGES, np.ones((2, 2)), [[1, 1], [1, 1], []], r"data\[2\] has shape \(0,\)"),
        (3, EDGES, np.ones((2, 2)), [[1, 1], [1, -1], [1, 1]], r"data\[1, 1\] is -1"),
        (3, EDGES, np.ones((2, 2)), [[1, 1], [1, 1], [np.nan, 1]], r"data\[2, 0\] is nan"),
        (3, EDGES, np.ones((2, 2)), [[1], [1, 1], [1, np.inf]], r"data\[2\]\[1\] is inf"),
        (3, EDGES, np.ones((2, 2)), [["a", 1], [1, 1], [1, 1]], "not a number"),
        (3, EDGES, np.ones((2, 3)), ONES, r"edge 0 = \(0, 1\): the shared factor has"),
        (3, EDGES, np.ones((3, 2, 2)), ONES, "expected one matrix, or 2, one per edge"),
        (3, EDGES, [np.ones((2, 2)), np.ones((2, 3))], ONES, r"edge 1 = \(1, 2\): its factor"),
        (3, EDGES, [np.ones((2, 2)), np.ones(3)], ONES, r"factors\[1\] has shape \(3,\)"),
        (3, EDGES, [np.ones((2, 2)), np.ones((2, 1)), np.ones((2, 2))], ONES, "3 factors for 2"),
        (3, EDGES, [[1, np.inf], [1, 1]], ONES, r"factors\[0, 1\] is inf"),
        (3, EDGES, [np.ones((2, 2)), -np.ones((2, 2))], ONES, r"factors\[1, 0, 0\] is -1"),
    ],
)  # fmt: skip
def test_bad_input_is_named(n, edges, factors, data, message):
    with pytest.raises(ModelError, match=message):
        OnlineSumProduct(n, edges, factors, data)


def test_a_cycle_is_shown():
    with pytest.raises(NotATreeError) as caught:
        OnlineMaxProduct(3, [(0, 1), (1, 2), (2, 0)], np.ones((2, 2)), ONES)
    assert sorted(caught.value.cycle) == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.update(3, [1, 1]), "vertex 3 does not exist"),
        (lambda t: t.update(0.5, [1, 1]), "vertex 0.5 does not exist"),
        (lambda t: t.update(-1, [1, 1]), "vertex -1 does not exist"),
        (lambda t: t.update(0, [1, 1, 1]), r"row has shape \(3,\): vertex 0 has 2 labels"),
        (lambda t: t.update(0, [1, np.nan]), r"row\[1\] is nan"),
        (lambda t: t.multiply(0, [1, -2]), r"row\[1\] is -2"),
        (lambda t: t.update_many([0, 5], np.ones((2, 2))), r"vertices\[1\] is 5"),
        (lambda t: t.update_many([0, 1], np.ones((3, 2))), "expected 2 rows"),
        (lambda t: t.update_many([0, 1], np.ones((2, 3))), r"rows\[0\] has 3 numbers"),
        (lambda t: t.update_many([0, 1], [[1, 1], [1, np.inf]]), r"rows\[1, 1\] is inf"),
        (lambda t: t.update_many([0.5], np.ones((1, 2))), "vertices are integers"),
        (lambda t: t.trial_many([4], np.ones((1, 2))), r"vertices\[0\] is 4"),
        (lambda t: t.update_edge(2, np.ones((2, 2))), "edge 2 does not exist"),
        (lambda t: t.update_edge(0, np.ones((2, 3))), r"edge 0 = \(0, 1\)"),
        (lambda t: t.update_edge(0, [[1, 1], [1, -1]]), r"matrix\[1, 1\] is -1"),
        (lambda t: t.marginal(3), "vertex 3 does not exist"),
        (lambda t: t.marginal_many([3]), r"vertices\[0\] is 3"),
        (lambda t: t.pair_marginal(-1), "edge -1 does not exist"),
    ],
)
def test_bad_calls_are_named_and_change_nothing(call, message):
    tree = OnlineSumProduct(3, EDGES, np.array([[2.0, 1.0], [1.0, 3.0]]), ONES)
    before = tree.marginals()
    with pytest.raises(ModelError, match=message):
        call(tree)
    np.testing.assert_array_equal(tree.marginals(), before)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_live_on_their_own(k, copied):
    rng = np.random.default_rng(15)
    tree = OnlineSumProduct(9, random_tree(9, rng), rng.random((k, k)), rng.random((9, k)))
    before = tree.marginals()
    other = copied(tree)
    np.testing.assert_array_equal(other.marginals(), before)
    row = np.eye(k)[0]
    other.update(3, row)
    np.testing.assert_allclose(other.marginal(3), row)
    np.testing.assert_array_equal(tree.marginals(), before)
    tree.update(3, row)
    np.testing.assert_allclose(tree.marginals(), other.marginals(), rtol=1e-14)


def test_a_cover_of_other_edges_is_refused():
    cover = TreeCover(3, [(0, 1), (0, 2)])
    with pytest.raises(ModelError, match="other edges"):
        OnlineSumProduct(3, EDGES, np.ones((2, 2)), ONES, cover)


def test_tables_without_room_are_forecast():
    cover = TreeCover(5000, [(v, v + 1) for v in range(4999)])
    k = np.full(5000, 1_000_000, np.int32)  # about 10^17 bytes
    with pytest.raises(SizeError, match=r"\d{8} GiB"):
        records(cover, positions(cover), k)


def test_memory_per_vertex():
    n = 20_000
    edges = random_tree(n, np.random.default_rng(14))
    tree = OnlineSumProduct(n, edges, np.ones((n - 1, 2, 2)), np.ones((n, 2)))
    held = [*vars(tree).values(), *vars(tree.cover).values(), *tree._records]
    arrays = [a for a in held if isinstance(a, np.ndarray) and a.base is None]
    assert sum(a.nbytes for a in arrays) <= 240 * n
