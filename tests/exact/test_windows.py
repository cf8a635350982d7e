"""Windows: optimal inside, nothing moved outside, and what the search makes of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mapreroot import Model, UprootedModel, uproot
from mapreroot.decomposition import blocks
from mapreroot.exact import search as searching
from mapreroot.exact import windows as looking
from mapreroot.exact.search import search
from mapreroot.exact.windows import Windows
from mapreroot.generate import torus
from mapreroot.limits import Limits


def alone(model: Model) -> UprootedModel:
    """M+ of a model without fields, without the vertex 0 that then has no edge."""
    (block,) = blocks(uproot(model))
    return block.model


@pytest.mark.parametrize("couplings", ["gaussian", "pm1"])
def test_a_window_is_optimal_given_the_rest(monkeypatch, couplings):
    monkeypatch.setattr(looking, "_FIRST", 9)
    model = alone(torus(7, 7, couplings=couplings, seed=4))
    rng = np.random.default_rng(5)
    windows = Windows(model, seed=1)
    y = rng.integers(0, 2, model.n_vertices).astype(np.int8)
    for _ in range(12):
        before, windows._size = windows._visits.copy(), 9
        z = windows.improve(y, Limits())
        ball = np.flatnonzero(windows._visits != before)
        assert len(ball) == 9
        best = model.score(y)
        for values in itertools.product((0, 1), repeat=9):
            other = y.copy()
            other[ball] = values
            best = max(best, model.score(other))
        assert model.score(z) == pytest.approx(best, rel=1e-12)
        same = z == y if z[0] == y[0] or 0 in ball else z != y
        outside = np.setdiff1d(np.arange(len(y)), ball)
        assert same[outside].all() or not same[outside].any()
        y = z


def test_a_window_does_not_spread_through_the_field_of_all(monkeypatch):
    monkeypatch.setattr(looking, "_FIRST", 13)
    model = uproot(torus(20, 20, fields=0.5, seed=2))
    windows = Windows(model, seed=3)
    y = windows.improve(np.zeros(401, np.int8), Limits())
    ball = np.flatnonzero(windows._visits)
    if len(ball) == 1:  # vertex 0 itself
        windows.improve(y, Limits())
        ball = np.flatnonzero(windows._visits)[1:]
    rows, cols = np.divmod(ball - 1, 20)
    for place in rows, cols:  # two steps away at most, around the torus
        assert min(len(set((place + shift) % 20)) for shift in range(20)) == 5
        assert min(np.ptp((place + shift) % 20) for shift in range(20)) == 4


def test_windows_grow_when_they_gain_nothing(monkeypatch):
    monkeypatch.setattr(looking, "_FIRST", 10)
    model = alone(torus(8, 10, seed=2))
    windows = Windows(model)
    y = np.zeros(80, np.int8)
    work = []
    for _ in range(60):
        before, size = y, windows._size
        y = windows.improve(y, Limits())
        work.append(windows.work)
        assert (windows._size > size) == (y is before and size < 20)
    assert windows._size == 20  # a quarter of all
    assert work == sorted(set(work))


def test_windows_repeat_with_the_seed():
    model = alone(torus(40, 40, couplings="pm1", seed=3))
    runs = []
    for _ in range(2):
        windows = Windows(model, seed=7)
        y = np.zeros(1600, np.int8)
        for _ in range(4):
            y = windows.improve(y, Limits())
        runs.append((model.score(y), windows.work, y.tobytes()))
    assert runs[0] == runs[1]
    assert runs[0][0] > model.score(np.zeros(1600, np.int8))


def test_windows_that_are_out_of_time_return_at_once():
    model = alone(torus(40, 40, couplings="pm1", seed=3))
    y = np.zeros(1600, np.int8)
    z = Windows(model).improve(y, Limits(seconds=0.0))
    assert model.score(z) >= model.score(y)


@pytest.mark.parametrize("couplings", ["gaussian", "pm1"])
def test_a_search_with_windows_finds_the_same_optimum(monkeypatch, couplings):
    model = alone(torus(16, 16, couplings=couplings, seed=6))
    plain = search(model)
    looks = []
    improve = Windows.improve

    def counted(self, y, limits):
        looks.append(self)
        return improve(self, y, limits)

    monkeypatch.setattr(Windows, "improve", counted)
    monkeypatch.setattr(searching, "_ANNEALED", 100)
    again = search(model)
    assert looks
    scores = model.score(plain.y), model.score(again.y)
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)
    assert again.bound == pytest.approx(plain.bound, rel=1e-9)
