from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import polytopes as pt
from polytopes.semimetric import Inequalities


def rows(inequalities: Inequalities) -> set[tuple[float, ...]]:
    A, b = inequalities
    found = [(*a, r) for a, r in zip(A.toarray().tolist(), b.tolist(), strict=True)]
    assert len(set(found)) == len(found)
    return set(found)


def triangles_written_out(N: int, root: int | None = None) -> set[tuple[float, ...]]:
    pair = {edge: k for k, edge in enumerate(combinations(range(N), 2))}
    found = set()
    for i, j, k in combinations(range(N), 3):
        if root in (None, i, j, k):
            for signs, right in [
                ((1, -1, -1), 0),
                ((-1, 1, -1), 0),
                ((-1, -1, 1), 0),
                ((1, 1, 1), 2),
            ]:
                row = [0.0] * len(pair)
                for edge, sign in zip([(i, j), (i, k), (j, k)], signs, strict=True):
                    row[pair[edge]] = float(sign)
                found.add((*row, float(right)))
    return found


@pytest.mark.parametrize("N", range(2, 8))
def test_met_is_all_triangles(N: int) -> None:
    assert rows(pt.met(N)) == triangles_written_out(N)


@pytest.mark.parametrize("root", range(5))
def test_rmet_is_the_triangles_at_the_root(root: int) -> None:
    assert rows(pt.rmet(5, root)) == triangles_written_out(5, root)


def test_rmet_on_some_edges() -> None:
    some = rows(pt.rmet(5, 2, [(0, 1), (2, 3), (4, 1)]))
    assert len(some) == 8
    assert some == rows(pt.triangle_inequalities([(2, 1, 0), (1, 2, 4)], 5))


def test_size_and_form_at_100_points() -> None:
    A, b = pt.met(100)
    assert A.shape == (646_800, 4950)
    assert b.sum() == 2 * 161_700
    assert A.has_canonical_format
    # On each perimeter row the sum is 3, on the others -1, whatever the pair.
    assert set((A @ np.ones(4950)).tolist()) == {3.0, -1.0}


@pytest.mark.parametrize("N", range(2, 8))
def test_triples_are_the_combinations(N: int) -> None:
    assert pt.triples(N).tolist() == [list(t) for t in combinations(range(N), 3)]


@given(st.integers(3, 8))
def test_cuts_meet_met_and_met_is_in_rmet(N: int) -> None:
    A, b = pt.met(N)
    assert (b[:, None] - A @ pt.cut_vertices(N).T).min() >= 0
    for root in range(N):
        assert rows(pt.rmet(N, root)) <= rows((A, b))


@pytest.mark.parametrize("inequalities", [pt.met(4), pt.rmet(4, 1)])
def test_the_box_follows_from_triangles(inequalities: Inequalities) -> None:
    A, b = inequalities
    for k in range(6):
        for sign, extreme in ((1, 0.0), (-1, 1.0)):
            cost = np.zeros(6)
            cost[k] = sign
            result = linprog(cost, A, b, bounds=(None, None))
            assert result.status == 0
            assert result.x[k] == pytest.approx(extreme, abs=1e-9)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="no point 4"):
        pt.rmet(4, 4)
    with pytest.raises(ValueError, match="not a pair"):
        pt.triangle_inequalities([(0, 1, 1)], 4)
    with pytest.raises(ValueError, match="not a pair"):
        pt.rmet(4, 0, [(1, 4)])
