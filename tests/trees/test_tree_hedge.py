"""Hedge on a tree: Theorem 9 for every labelling, on random and on adverse sequences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_oracle import entries, forests, log_joint, normalised, random_tree

from mapreroot.errors import InfeasibleError, ModelError, NotATreeError
from mapreroot.trees import OnlineSumProduct, TreeHedge

SLACK = 1 + 1e-9


@given(
    forests(5),
    st.sampled_from([0.05, 0.5, 2.0, 20.0]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_theorem_9_for_every_labelling(forest, eta, adverse, seed):
    n, edges = forest
    rng = np.random.default_rng(seed)
    k = rng.integers(2, 4, n)
    factors = [entries(rng, (k[u], k[v]), extreme=False) + 1e-3 for u, v in edges]
    data = [entries(rng, c, extreme=False) + 1e-3 for c in k]
    hedge = TreeHedge(n, edges, factors, data, eta)
    losses = [np.zeros(c) for c in k]
    suffered = 0.0
    for _ in range(25):
        v = int(rng.integers(n))
        p = hedge.predict(v)
        y = (p == p.max()).astype(float) if adverse else rng.random(k[v])
        suffered += p @ y
        assert hedge.update(v, y) == pytest.approx(p @ y)
        losses[v] += y
    assert hedge.total_loss == pytest.approx(suffered)
    prior = normalised(log_joint(n, edges, factors, data))
    c = eta / (1 - math.exp(-eta))
    for mu in itertools.product(*(range(c) for c in k)):
        own = sum(losses[v][a] for v, a in enumerate(mu))
        assert hedge.loss_of(mu) == pytest.approx(own)
        bound = c * (own + math.log(1 / prior[mu]) / eta)
        assert hedge.regret_bound(mu) == pytest.approx(bound, rel=1e-9)
        assert hedge.total_loss <= hedge.regret_bound(mu) * SLACK


def chain(eta):
    """Six vertices that nearly always agree, so that one's evidence is everyone's."""
    edges = [(v, v + 1) for v in range(5)]
    factor = np.array([[0.99, 0.01], [0.01, 0.99]])
    return edges, factor, np.ones((6, 2)), eta


def misprinted_losses(edges, factor, data, eta, trials):
    """Figure 3 as printed: the new data row is the *prediction* times exp(-eta loss)."""
    tree = OnlineSumProduct(len(data), edges, factor, data)
    total, losses = 0.0, np.zeros_like(data)
    for v, y in trials:
        p = tree.marginal(v)
        total += p @ y
        losses[v] += y
        tree.update(v, p * np.exp(-eta * y))
    return total, losses


def test_the_printed_update_breaks_the_bound_and_ours_does_not():
    edges, factor, data, eta = chain(0.5)
    # One trial against label 0 everywhere; then label 0 is right for ever.
    trials = [(v, np.array([1.0, 0.0])) for v in range(6)] * 2
    trials += [(v, np.array([0.0, 1.0])) for v in range(6)] * 12
    hedge = TreeHedge(6, edges, factor, data, eta)
    for v, y in trials:
        hedge.update(v, y)
    mu = np.zeros(6, int)
    assert hedge.total_loss <= hedge.regret_bound(mu)
    total, losses = misprinted_losses(edges, factor, data, eta, trials)
    assert losses[:, 0].sum() == hedge.loss_of(mu)
    assert total > hedge.regret_bound(mu)


def test_log_partition_is_the_potential():
    edges, factor, data, eta = chain(0.3)
    hedge = TreeHedge(6, edges, factor, data, eta)
    rng = np.random.default_rng(1)
    for v in rng.integers(0, 6, 30):
        y, before = rng.random(2), hedge.tree.log_partition
        p = hedge.predict(v)
        hedge.update(v, y)
        assert hedge.tree.log_partition - before == pytest.approx(
            math.log(p @ np.exp(-eta * y)), abs=1e-12
        )


def test_weights_far_below_the_range_of_doubles_still_turn_round():
    n = 30
    edges = random_tree(n, np.random.default_rng(2))
    hedge = TreeHedge(n, edges, [[0.7, 0.3], [0.3, 0.7]], np.ones((n, 2)), eta=50.0)
    for _ in range(40):  # exp(-2000) against label 1
        hedge.update(0, [0, 1])
    assert hedge.predict(0)[1] == 0
    for _ in range(41):
        hedge.update(0, [1, 0])
    assert hedge.predict(0)[1] == pytest.approx(1)


def test_impossible_labellings_have_an_infinite_bound():
    hedge = TreeHedge(2, [(0, 1)], np.eye(2), np.ones((2, 2)), eta=1.0)
    assert hedge.regret_bound([0, 1]) == math.inf
    assert hedge.regret_bound([1, 1]) == pytest.approx(math.log(2) / (1 - math.exp(-1)))


def test_bad_input_is_named():
    ones = np.ones((2, 2))
    for eta in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ModelError, match="eta"):
            TreeHedge(2, [(0, 1)], ones, ones, eta)
    with pytest.raises(InfeasibleError, match="prior weight 0"):
        TreeHedge(2, [(0, 1)], np.zeros((2, 2)), ones, 1.0)
    with pytest.raises(NotATreeError):
        TreeHedge(2, [(0, 1), (1, 0)], ones, ones, 1.0)
    hedge = TreeHedge(2, [(0, 1)], ones, ones, 1.0)
    for loss in ([0.0, 1.5], [-0.1, 0.0], [0.0, math.nan]):
        with pytest.raises(ModelError, match=r"losses lie in \[0, 1\]"):
            hedge.update(0, loss)
    with pytest.raises(ModelError, match="vertex 0 has 2 labels"):
        hedge.update(0, [0.0, 0.0, 0.0])
    with pytest.raises(ModelError, match="vertex 2 does not exist"):
        hedge.update(2, [0.0, 0.0])
    with pytest.raises(ModelError, match="a labelling is 2 integers"):
        hedge.regret_bound([0])
    with pytest.raises(ModelError, match="a labelling is 2 integers"):
        hedge.regret_bound([0.0, 1.0])
    with pytest.raises(ModelError, match=r"labelling\[1\] is 2"):
        hedge.regret_bound([0, 2])
    assert hedge.total_loss == 0.0
