from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polytopes as pt


@pytest.mark.parametrize("N", range(2, 9))
def test_pairs_are_the_combinations_in_order(N: int) -> None:
    expected = list(combinations(range(N), 2))
    assert pt.pairs(N).tolist() == [list(pair) for pair in expected]
    assert pt.n_pairs(N) == len(expected)
    assert pt.n_points(len(expected)) == N
    for k, (i, j) in enumerate(expected):
        assert pt.index_of_pair(i, j, N) == pt.index_of_pair(j, i, N) == k


@given(st.integers(2, 10**6), st.data())
def test_index_and_pair_are_inverse_at_any_size(N: int, data: st.DataObject) -> None:
    last = pt.n_pairs(N) - 1
    k = [*data.draw(st.lists(st.integers(0, last), max_size=4)), 0, last]
    i, j = pt.pair_of_index(k, N)
    assert (i >= 0).all()
    assert (i < j).all()
    assert (j < N).all()
    assert pt.index_of_pair(i, j, N).tolist() == k


def test_indices_broadcast() -> None:
    grid = pt.index_of_pair(np.array([[0], [1]]), np.array([2, 3]), 4)
    assert grid.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(("i", "j"), [(1, 1), (-1, 2), (0, 4)])
def test_no_pair(i: int, j: int) -> None:
    with pytest.raises(ValueError, match=r"not a pair of two of the points 0\.\.3"):
        pt.index_of_pair([0, i], [1, j], 4)


def test_no_index() -> None:
    with pytest.raises(ValueError, match=r"0\.\.5"):
        pt.pair_of_index([0, 6], 4)
    with pytest.raises(ValueError, match=r"0\.\.5"):
        pt.pair_of_index(-1, 4)


@pytest.mark.parametrize("length", [-1, 0, 2, 7])
def test_no_number_of_points(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} numbers"):
        pt.n_points(length)


def test_matrix_and_vector_are_inverse() -> None:
    d = np.arange(10.0)
    D = pt.to_matrix(d)
    assert (D == D.T).all()
    assert (pt.to_vector(D) == d).all()
    with pytest.raises(ValueError, match="one dimension"):
        pt.to_matrix(D)
    with pytest.raises(ValueError, match="square"):
        pt.to_vector(d)
