from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polytopes as pt
from polytopes.cuts import MAX_POINTS

labellings = st.integers(2, 7).flatmap(
    lambda N: st.lists(st.lists(st.integers(0, 1), min_size=N, max_size=N), min_size=2, max_size=2)
)


@pytest.mark.parametrize("N", range(1, 8))
def test_cut_vertices_are_all_cuts_once(N: int) -> None:
    vertices = pt.cut_vertices(N)
    expected = {
        tuple(float(y[i] != y[j]) for i in range(N) for j in range(i + 1, N))
        for y in product((0, 1), repeat=N)
    }
    assert len(vertices) == len(expected) == 2 ** (N - 1)
    assert {tuple(row) for row in vertices.tolist()} == expected


@given(labellings)
def test_switching_composes_cuts(pair: list[list[int]]) -> None:
    x, y = np.array(pair)
    assert (pt.switch(pt.cut_vector(x), y) == pt.cut_vector(x ^ y)).all()


@given(labellings)
def test_switching_twice_changes_nothing(pair: list[list[int]]) -> None:
    y = pair[0]
    d = np.linspace(0, 1, pt.n_pairs(len(y)))
    assert np.allclose(pt.switch(pt.switch(d, y), y), d)


@given(labellings, st.integers(0, 2**32 - 1))
def test_switched_inequalities_hold_where_the_old_ones_did(
    pair: list[list[int]], seed: int
) -> None:
    y = pair[0]
    rng = np.random.default_rng(seed)
    d = rng.random(pt.n_pairs(len(y)))
    A, b = pt.rmet(len(y), 0)
    switched, right = pt.switch_inequalities(A, b, y)
    assert np.allclose(switched @ pt.switch(d, y) - right, A @ d - b)


def test_switching_permutes_the_triangles_of_met() -> None:
    A, b = pt.met(5)
    switched, right = pt.switch_inequalities(A, b, [1, 0, 1, 1, 0])
    rows = {(*a, r) for a, r in zip(A.toarray().tolist(), b.tolist(), strict=True)}
    assert {
        (*a, r) for a, r in zip(switched.toarray().tolist(), right.tolist(), strict=True)
    } == rows


def test_a_batch_of_labellings_keeps_its_shape() -> None:
    assert pt.cut_vector(np.zeros((2, 3, 4), dtype=int)).shape == (2, 3, 6)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="0 and 1"):
        pt.cut_vector([0, 2])
    with pytest.raises(ValueError, match="2\\^18 vertices"):
        pt.cut_vertices(MAX_POINTS + 1)
    with pytest.raises(ValueError, match="y cuts 1"):
        pt.switch([0.0, 0.0, 0.0], [0, 1])
    with pytest.raises(ValueError, match="1 pairs"):
        pt.switch_inequalities(pt.met(3)[0], [0, 0, 0, 2], [0, 1])
