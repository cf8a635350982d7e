"""Intervals for log Z: they hold it, and say truly where each side came from."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import strategies
from hypothesis import given, settings
from oracle import log_partition as brute_log_partition

from mapreroot import Model, ModelError, SolverError, log_partition
from mapreroot.marginals import bounds
from mapreroot.marginals.inference import LogPartition


def check(model: Model, **options: object) -> None:
    found = bounds(model, **options)  # type: ignore[arg-type]
    exact = brute_log_partition(model) if model.n <= 8 else log_partition(model).value
    slack = 1e-6 * max(1.0, abs(exact))
    assert found.lower - slack <= exact <= found.upper + slack
    assert found.lower <= found.upper
    low = log_partition(model, found.lower_method, found.lower_root)  # type: ignore[arg-type]
    assert low.lower == found.lower
    if found.upper < math.inf:
        high = log_partition(model, found.upper_method, found.upper_root)  # type: ignore[arg-type]
        assert max(high.upper or 0, found.lower) == found.upper
    for root in found.tried:
        for method in ("mean_field", "bethe", "trw"):
            one = log_partition(model, method, root)  # type: ignore[arg-type]
            assert one.lower is None or one.lower <= found.lower
            assert one.upper is None or max(one.upper, found.lower) >= found.upper


@settings(max_examples=25)
@given(model=strategies.models(max_n=5))
def test_they_enclose_log_z(model: Model) -> None:
    check(model)


@settings(max_examples=15)
@given(model=strategies.planted_balanced(max_n=6))
def test_balanced_models(model: Model) -> None:
    check(model, roots=[0])


@pytest.mark.slow
def test_thousands_of_models() -> None:
    rng = np.random.default_rng(5)
    for _ in range(1000):
        n = int(rng.integers(1, 7))
        pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < 0.6]
        model = Model(rng.normal(size=n), pairs, rng.normal(size=len(pairs)) * 4)
        found = bounds(model)
        exact = brute_log_partition(model)
        assert found.lower - 1e-6 <= exact <= found.upper + 1e-6


def test_another_root_proves_more() -> None:
    # A frustrated cycle: Bethe is no bound at root 0, and exact where the cycle is cut.
    model = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-5.0, -5.0, -5.0])
    own, best = bounds(model, [0]), bounds(model)
    assert own.lower_method == "mean_field"
    assert (best.lower_method, best.tried) == ("bethe", (0, 1, 2, 3, "uprooted"))
    assert best.lower_root in (1, 2, 3)
    assert best.upper - best.lower < 1e-6 < 0.1 < own.upper - own.lower


def test_large_models_try_a_few_roots() -> None:
    rng = np.random.default_rng(1)
    grid = Model.from_grid(
        rng.normal(size=(5, 5)), rng.normal(size=(5, 4)) * 3, rng.normal(size=(4, 5)) * 3
    )
    found = bounds(grid)
    assert found.tried[0] == 0
    assert "uprooted" in found.tried
    assert len(found.tried) <= 7
    assert found.lower <= log_partition(grid).value <= found.upper
    assert bounds(grid, [0], steps=3).upper <= bounds(grid, [0]).upper


def test_a_bound_that_nothing_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    def only_below(model: Model, method: str, root: int, *, steps: int) -> LogPartition:
        return LogPartition(0.0, False, -1.0, None, root, method)

    monkeypatch.setitem(bounds.__globals__, "log_partition", only_below)
    found = bounds(Model([1.0], [], []), [0])
    assert (found.lower, found.upper, found.upper_method) == (-1.0, math.inf, "none")
    assert found.upper_root is None


def test_bounds_that_cross_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(model: Model, method: str, root: int, *, steps: int) -> LogPartition:
        return LogPartition(0.0, True, 1.0, 0.5, root, method)

    monkeypatch.setitem(bounds.__globals__, "log_partition", wrong)
    with pytest.raises(SolverError, match=r"from below.*from above"):
        bounds(Model([1.0], [], []), [0])


def test_roots_that_are_none() -> None:
    with pytest.raises(ModelError, match="no root to try"):
        bounds(Model([1.0], [], []), [])
    with pytest.raises(ModelError, match="root is 7"):
        bounds(Model([1.0], [], []), [7])
