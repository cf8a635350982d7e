"""Clamping with a free root: exact methods stay exact, bounds hold and improve."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assignments
from oracle import best_score as brute_best
from oracle import log_partition as brute_log_partition
from oracle import marginals as brute_marginals

from mapreroot import Model, ModelError, SizeError, relax, uproot
from mapreroot.clamping import clamp_and_reroot
from mapreroot.decomposition import blocks, outwards
from mapreroot.marginals import log_partition, marginals
from mapreroot.roots import max_tw

METHODS = ("bethe", "trw", "mean_field")
choices = {"k": st.integers(1, 5), "reroot": st.booleans()}


def brute_pairs(model: Model) -> np.ndarray:
    xs = assignments(model.n)
    weight = np.exp(model.score(xs) - brute_log_partition(model))
    table = np.zeros((model.m, 2, 2))
    for e, (i, j) in enumerate(model.edges.tolist()):
        for a, b in itertools.product((0, 1), repeat=2):
            table[e, a, b] = weight[(xs[:, i] == a) & (xs[:, j] == b)].sum()
    return table


@given(model=strategies.models(max_n=6), **choices)
def test_exact_methods_stay_exact(model: Model, k: int, reroot: bool) -> None:
    clamping = clamp_and_reroot(model, k, reroot=reroot)
    log_z = clamping.log_partition("exact")
    exact = brute_log_partition(model)
    for value in (log_z.value, log_z.lower, log_z.upper):
        assert value == pytest.approx(exact, abs=1e-9)
    found = clamping.marginals("exact")
    np.testing.assert_allclose(found.p, brute_marginals(model), atol=1e-9)
    np.testing.assert_allclose(found.pair, brute_pairs(model), atol=1e-9)
    best = clamping.solve("exact")
    assert best.score == model.score(best.x) == pytest.approx(brute_best(model))
    assert best.is_tight


@settings(max_examples=30)
@given(model=strategies.models(max_n=5), **choices)
def test_bounds_hold(model: Model, k: int, reroot: bool) -> None:
    clamping = clamp_and_reroot(model, k, reroot=reroot)
    exact, best = brute_log_partition(model), brute_best(model)
    for method in METHODS:
        found = clamping.log_partition(method)  # type: ignore[arg-type]
        assert found.lower is None or found.lower <= exact + 1e-6
        assert found.upper is None or found.upper >= exact - 1e-6
    for relaxation in ("loc", "tri"):
        bounded = clamping.solve(relaxation)  # type: ignore[arg-type]
        assert bounded.score == model.score(bounded.x)
        assert bounded.score <= best + 1e-9 <= bounded.bound + 2e-9


@pytest.mark.slow
def test_thousands_of_models() -> None:
    rng = np.random.default_rng(3)
    for _ in range(2000):
        n = int(rng.integers(1, 8))
        pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < rng.random()]
        theta = rng.normal(size=n) * (rng.random(n) < 0.6)
        model = Model(theta, pairs, rng.normal(size=len(pairs)) * 3)
        clamping = clamp_and_reroot(model, int(rng.integers(1, 5)))
        exact, best = brute_log_partition(model), brute_best(model)
        assert clamping.log_partition("exact").value == pytest.approx(exact)
        np.testing.assert_allclose(clamping.marginals("exact").p, brute_marginals(model))
        assert clamping.solve("exact").score == pytest.approx(best)
        assert clamping.solve("loc").bound >= best - 1e-9
        trw = clamping.log_partition("trw")
        assert trw.upper is None or trw.upper >= exact - 1e-6


@settings(max_examples=30)
@given(model=strategies.models(max_n=5))
def test_with_all_vertices_held_every_method_is_exact(model: Model) -> None:
    clamping = clamp_and_reroot(model, model.n + 1)
    for method in METHODS:
        found = clamping.log_partition(method)  # type: ignore[arg-type]
        assert found.value == pytest.approx(brute_log_partition(model), abs=1e-6)
        p = clamping.marginals(method).p  # type: ignore[arg-type]
        np.testing.assert_allclose(p, brute_marginals(model), atol=1e-6)
    assert clamping.solve("loc").is_tight


@given(model=strategies.models(max_n=6), reroot=st.booleans())
def test_loc_never_rises_when_one_more_is_clamped(model: Model, reroot: bool) -> None:
    bounds = [clamp_and_reroot(model, k, reroot=reroot).solve("loc").bound for k in (1, 2, 3, 4)]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(bounds))


def dense(seed: int, n: int = 8) -> Model:
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(n), 2))
    return Model(rng.uniform(-0.5, 0.5, n), pairs, rng.uniform(-4, 4, len(pairs)))


@pytest.mark.parametrize("method", METHODS)
def test_one_vertex_is_rerooting(method: str) -> None:
    model = dense(0)
    root = max_tw(uproot(model))
    for reroot, vertex in ((True, root), (False, 0)):
        clamping = clamp_and_reroot(model, 1, reroot=reroot)
        assert clamping.runs == 1
        assert [part.root for part in clamping.blocks] == [vertex]
        one = log_partition(model, method, vertex)  # type: ignore[arg-type]
        assert clamping.log_partition(method).value == pytest.approx(one.value)  # type: ignore[arg-type]
        mapped = marginals(model, method, vertex)  # type: ignore[arg-type]
        found = clamping.marginals(method)  # type: ignore[arg-type]
        np.testing.assert_allclose(found.p, mapped.p, atol=1e-9)
        np.testing.assert_allclose(found.pair, mapped.pair, atol=1e-5)  # as they converged
        assert found.pair_consistent == mapped.pair_consistent
        loc = relax(model, "loc", root=vertex)
        assert clamping.solve("loc").bound == pytest.approx(loc.bound)


def test_clamping_pays_and_the_free_one_too() -> None:
    def errors(k: int, reroot: bool) -> float:
        return float(
            np.mean(
                [
                    abs(
                        clamp_and_reroot(dense(seed), k, reroot=reroot).log_partition("trw").value
                        - log_partition(dense(seed)).value
                    )
                    for seed in range(8)
                ]
            )
        )

    assert errors(3, True) < errors(2, True) < errors(1, True) < errors(1, False)
    assert errors(3, True) < errors(3, False)


def test_blocks_are_clamped_apart() -> None:
    # Two K4 that share variable 3, without fields, and an edge by itself.
    first = list(itertools.combinations(range(4), 2))
    second = [(i + 3, j + 3) for i, j in first]
    model = Model(np.zeros(9), [*first, *second, (7, 8)], [-2.0] * 13)
    clamping = clamp_and_reroot(model, 3)
    assert sorted(len(part.clamped) for part in clamping.blocks) == [0, 2, 2]
    assert clamping.runs == 4 + 4 + 1
    assert clamping.log_partition("bethe").value == pytest.approx(brute_log_partition(model))
    np.testing.assert_allclose(clamping.marginals("bethe").p, 0.5)
    assert clamping.solve("loc").score == brute_best(model)


def test_blocks_come_outwards() -> None:
    model = Model([0, 0, 1.0, 0], [(0, 1), (1, 2)], [1.0, 1.0])
    plus = uproot(model)
    parts = blocks(plus)
    order = outwards(plus.n_vertices, parts)
    assert [gate for _, gate in order] == [0, 3, 2]
    assert sorted(k for k, _ in order) == [0, 1, 2]


def test_hard_constraints() -> None:
    model = Model([1.0, 1.0, -0.5], [(0, 1)], [2.0], forbidden=[(0, 1, 1, 1), (1, 0, 2, 0)])
    clamping = clamp_and_reroot(model, 2)
    assert clamping.log_partition("exact").value == pytest.approx(log_partition(model).value)
    best = clamping.solve("exact")
    assert best.score == max(model.score(x) for x in assignments(3))
    assert math.isfinite(best.score)


def test_bad_requests() -> None:
    with pytest.raises(ModelError, match="k is 0"):
        clamp_and_reroot(dense(0), 0)
    with pytest.raises(SizeError, match="k = 23 would make 4194304 models"):
        clamp_and_reroot(dense(0, 25), 23)
    with pytest.raises(ModelError, match="method is 'auto'"):
        clamp_and_reroot(dense(0), 1).solve("auto")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="method is 'mcmc'"):
        clamp_and_reroot(dense(0), 1).log_partition("mcmc")  # type: ignore[arg-type]


def test_a_model_without_variables() -> None:
    clamping = clamp_and_reroot(Model([], [], [], constant=2.0), 3)
    assert (clamping.runs, clamping.log_partition("bethe").value) == (0, 2.0)
    assert clamping.solve("loc").score == 2.0
    assert clamping.marginals("bethe").p.shape == (0,)
