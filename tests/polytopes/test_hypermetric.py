from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polytopes as pt
from polytopes.hypermetric import BEYOND_TRIANGLES, arrangements, right_side


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=7).filter(lambda b: sum(b) % 2))
def test_the_right_side_is_the_most_a_cut_reaches_up_to_the_nearest_halves(b: list[int]) -> None:
    i, j = np.triu_indices(len(b), 1)
    reached = (pt.cut_vertices(len(b)) @ (np.array(b)[i] * np.array(b)[j])).max()
    assert reached <= right_side(b)
    if set(map(abs, b)) <= {0, 1}:
        assert reached == right_side(b)


def test_even_sums_are_refused() -> None:
    with pytest.raises(ValueError, match="sums to 4"):
        right_side([1, 1, 1, 1])
    with pytest.raises(ValueError, match="sums to 4"):
        pt.hypermetric_inequalities(6, (1, 1, 1, 1))
    with pytest.raises(ValueError, match="positive"):
        arrangements((0, 1))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 1, 1, 1, 1), (2, 1, 1, 1), (3, 2, 2)])
def test_arrangements_are_all_signed_orders_up_to_sign(sizes: tuple[int, ...]) -> None:
    found = {tuple(b) for b in arrangements(sizes).tolist()}
    assert len(found) == len(arrangements(sizes))
    both = found | {tuple(-v for v in b) for b in found}
    assert len(both) == 2 * len(found)
    assert {tuple(map(abs, b)) for b in both} == set(permutations(sizes))
    assert len(both) == len(set(permutations(sizes))) * 2 ** len(sizes)


def test_three_points_give_the_triangles() -> None:
    A, b = pt.hypermetric_inequalities(5, (1, 1, 1))
    met, right = pt.met(5)
    rows = {(*a, r) for a, r in zip(A.toarray().tolist(), b.tolist(), strict=True)}
    assert A.shape == met.shape
    assert rows == {(*a, r) for a, r in zip(met.toarray().tolist(), right.tolist(), strict=True)}


@given(st.integers(6, 8), st.integers(0, 2**32 - 1), st.integers(1, 50))
def test_separation_is_the_enumeration(N: int, seed: int, limit: int) -> None:
    d = np.random.default_rng(seed).random(pt.n_pairs(N))
    found = pt.violated_hypermetric(d, limit=limit)
    excess = np.concatenate(
        [A @ d - b for A, b in (pt.hypermetric_inequalities(N, s) for s in BEYOND_TRIANGLES)]
    )
    worst = np.sort(excess[excess > 1e-9])[::-1][:limit]
    assert [cut.violation for cut in found] == pytest.approx(worst.tolist())
    for cut in found:
        D = pt.to_matrix(d)[np.ix_(cut.points, cut.points)]
        value = np.array(cut.b) @ D @ np.array(cut.b) / 2 - right_side(cut.b)
        assert cut.violation == pytest.approx(value)
        assert cut.is_pentagonal == (len(cut.points) == 5)


def test_cuts_break_none_and_few_points_have_none() -> None:
    for d in pt.cut_vertices(7):
        assert pt.violated_hypermetric(d) == []
    assert pt.violated_hypermetric([1.0, 1.0, 1.0]) == []


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    d = np.random.default_rng(0).random(pt.n_pairs(8))
    whole = pt.violated_hypermetric(d, limit=1000)
    monkeypatch.setattr("polytopes.hypermetric.CHUNK", 500)
    chunked = pt.violated_hypermetric(d, limit=1000)
    # Sums of rows may round otherwise, so that near ties change places.
    assert [(found.points, found.b) for found in sorted(chunked, key=_name)] == [
        (found.points, found.b) for found in sorted(whole, key=_name)
    ]
    np.testing.assert_allclose(
        [found.violation for found in chunked], [found.violation for found in whole], rtol=1e-12
    )


def _name(found):
    return found.points, found.b
