"""The walk on subgraphs: its identity, its stationary law, its estimates and its refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from oracle import log_partition as brute_log_partition

from mapreroot import Model, ModelError, NotBalancedError, log_partition, uproot
from mapreroot.balance import balance
from mapreroot.marginals.subgraphs import (
    _bridge,
    _effective,
    _independent,
    _schedule,
    _walk,
    estimate_log_partition,
)


def subgraphs(n: int, edges: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Odd vertices and weight (without mu) of every subgraph."""
    odd, weight = [], []
    for present in itertools.product((False, True), repeat=len(edges)):
        degree = np.bincount(edges[list(present)].ravel(), minlength=n)
        odd.append(int((degree % 2).sum()))
        weight.append(math.prod(t[list(present)].tolist()))
    return np.array(odd), np.array(weight)


def ferromagnet(rng: np.random.Generator, n: int, scale: float) -> Model:
    """Balanced M+: attractive with fields of one sign, then flipped at random."""
    pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < 0.5]
    side = rng.integers(0, 2, n)
    W = [rng.exponential(scale) * (1 if side[i] == side[j] else -1) for i, j in pairs]
    theta = rng.exponential(scale / 2, n) * np.where(side, 1, -1) * (rng.random(n) < 0.6)
    return Model(theta, pairs, W, constant=float(rng.normal()))


@given(model=strategies.planted_balanced(max_n=5, fields=False))
def test_the_expansion_is_an_identity(model: Model) -> None:
    plus = uproot(model)
    odd, weight = subgraphs(plus.n_vertices, plus.edges, np.tanh(np.abs(plus.weights) / 4))
    log_z = _independent(plus) + math.log(weight[odd == 0].sum())
    assert log_z == pytest.approx(brute_log_partition(model), abs=1e-9)


@given(model=strategies.planted_balanced(min_n=2, max_n=5, fields=False))
def test_even_subgraphs_are_likely_at_the_last_mu(model: Model) -> None:
    odd, weight = subgraphs(model.n, model.edges, np.tanh(np.abs(model.weights) / 4))
    at_last = weight * np.exp(_schedule(model.n)[-1] * odd)
    assert at_last[odd == 0].sum() / at_last.sum() >= 1 / math.cosh(1) - 1e-12


@pytest.mark.parametrize("scale", [0.5, 4.0, 100.0])
def test_the_walk_is_stationary_where_it_should_be(scale: float) -> None:
    edges = np.array([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)])
    t = np.tanh(scale * np.array([1.0, 0.5, 2.0, 1.0, 0.7]) / 4)
    log_mu = np.linspace(0, -math.log(4), 4)
    found = _walk(edges, t, 4, log_mu, 20_000, np.random.default_rng(1))
    odd, weight = subgraphs(4, edges, t)
    for level, log in enumerate(log_mu):
        law = weight * np.exp(log * odd)
        for count in (0, 2, 4):
            expected = law[odd == count].sum() / law.sum()
            # Some hundreds of independent samples at worst would give 0.02.
            assert (found[level] == count).mean() == pytest.approx(expected, abs=0.02)


def test_the_bridge_recovers_known_ratios() -> None:
    rng = np.random.default_rng(3)
    odd = np.array([0, 2, 4])
    weight = np.array([1.0, 5.0, 2.0])
    log_mu = np.array([0.0, -0.5, -1.0])
    laws = [weight * np.exp(log * odd) for log in log_mu]
    draws = np.stack([rng.choice(odd, (40, 2000), p=law / law.sum()) for law in laws], axis=1)
    value, error = _bridge(draws.astype(np.int32), log_mu)
    assert 0 < error < 0.01
    assert abs(value - math.log(1 / 8)) < 4 * error
    assert _effective(draws.astype(np.int32)) > 0.7 * 80_000
    repeated = np.repeat(draws[:, :, ::20], 20, axis=2).astype(np.int32)  # each counted 20 times
    assert 2_000 < _effective(repeated) < 10_000


def test_standard_errors_are_honest() -> None:
    rng = np.random.default_rng(11)
    z = []
    for k in range(120):
        model = ferromagnet(rng, int(rng.integers(3, 8)), [0.5, 2.0, 8.0][k % 3])
        estimate = estimate_log_partition(model, samples=60, chains=16, seed=k)
        exact = log_partition(model).value
        if estimate.standard_error == 0:
            assert estimate.value == pytest.approx(exact, abs=1e-9)
        else:
            z.append((estimate.value - exact) / estimate.standard_error)
    assert len(z) > 80
    assert abs(np.mean(z)) < 3 / math.sqrt(len(z))
    assert 0.6 < np.mean(np.square(z)) < 1.7
    assert np.abs(z).max() < 5


@settings(max_examples=25)
@given(model=strategies.planted_balanced(max_n=5, fields=False))
def test_small_models(model: Model) -> None:
    estimate = estimate_log_partition(model, samples=50)
    exact = brute_log_partition(model)
    assert abs(estimate.value - exact) <= 5 * estimate.standard_error + 1e-9


@pytest.mark.parametrize("size", [6, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("coupling", [1.0, 1.76, 5.0])  # critical at 2 log(1 + sqrt 2) = 1.76
def test_grids(size: int, coupling: float) -> None:
    rng = np.random.default_rng(size)
    theta = 0.1 * rng.random((size, size))
    grid = Model.from_grid(
        theta, np.full((size, size - 1), coupling), np.full((size - 1, size), coupling)
    )
    estimate = estimate_log_partition(grid)
    exact = log_partition(grid, memory=8e9).value
    assert estimate.standard_error < 0.3
    assert estimate.effective_samples > 100
    assert abs(estimate.value - exact) < 4 * estimate.standard_error


def test_more_samples_and_other_seeds() -> None:
    model = ferromagnet(np.random.default_rng(2), 8, 2.0)
    some = estimate_log_partition(model, samples=50)
    assert estimate_log_partition(model, samples=50) == some
    assert estimate_log_partition(model, samples=50, seed=1) != some
    more = estimate_log_partition(model, samples=3200)
    assert more.standard_error < some.standard_error / 3  # 8 times less, but for chance
    assert more.effective_samples > 16 * some.effective_samples


def test_what_needs_no_sampling_is_exact() -> None:
    tree = Model(np.zeros(5), [(0, 1), (0, 2), (2, 3)], [3.0, -2.0, 0.5], constant=1.25)
    estimate = estimate_log_partition(tree)
    assert estimate.value == pytest.approx(brute_log_partition(tree), abs=1e-12)
    assert (estimate.standard_error, estimate.effective_samples) == (0.0, math.inf)
    assert estimate.levels == 0
    assert estimate_log_partition(Model([], [], [], constant=2.0)).value == pytest.approx(2.0)


def test_anything_else_is_refused_with_the_cycle() -> None:
    model = Model([1.0, 0.0, 1.0], [(0, 1), (1, 2)], [2.0, -2.0], labels=["a", "b", "c"])
    with pytest.raises(NotBalancedError, match="frustrated cycle") as caught:
        estimate_log_partition(model)
    cycle = caught.value.cycle
    plus = uproot(model)
    signs = {tuple(e): w < 0 for e, w in zip(plus.edges.tolist(), plus.weights, strict=True)}
    around = zip(cycle, cycle[1:] + cycle[:1], strict=True)
    assert sum(signs[min(i, j), max(i, j)] for i, j in around) % 2 == 1
    assert all(str(plus.labels[v]) in str(caught.value) for v in cycle)
    assert not balance(plus).is_balanced


@pytest.mark.parametrize("name", ["samples", "chains"])
def test_too_few(name: str) -> None:
    with pytest.raises(ModelError, match=f"{name} is 1: expected at least 2"):
        estimate_log_partition(Model([], [], []), **{name: 1})
