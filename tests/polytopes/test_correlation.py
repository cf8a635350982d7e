from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polytopes as pt
from polytopes.semimetric import Inequalities


def rows(inequalities: Inequalities) -> set[tuple[float, ...]]:
    """The inequalities, each divided by its largest coefficient."""
    A, b = inequalities
    table = np.column_stack([A.toarray(), b])
    table /= np.abs(table[:, :-1]).max(axis=1, keepdims=True)
    return {tuple(row) for row in (table + 0.0).tolist()}


@pytest.mark.parametrize("root", range(4))
def test_cuts_become_the_vertices_of_the_marginal_polytope(root: int) -> None:
    moments = set()
    for x in product((0.0, 1.0), repeat=3):
        moments.add((*x, *(x[i] * x[j] for i, j in combinations(range(3), 2))))
    mapped = pt.cut_vertices(4) @ pt.covariance_map(4, root).T
    assert {tuple(row) for row in mapped.tolist()} == moments


@given(st.integers(2, 7), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_the_maps_are_inverse(N: int, root: int, seed: int) -> None:
    root %= N
    d = np.random.default_rng(seed).random(pt.n_pairs(N))
    mu = pt.to_correlation(d, root)
    assert np.allclose(pt.to_cut(mu, root), d)
    D = pt.to_matrix(d)
    others = [i for i in range(N) if i != root]
    assert np.allclose(mu[: N - 1], D[root, others])
    pairs = [(D[root, i] + D[root, j] - D[i, j]) / 2 for i, j in combinations(others, 2)]
    assert np.allclose(mu[N - 1 :], pairs)


@pytest.mark.parametrize("root", range(5))
def test_loc_is_rmet_and_tri_is_met(root: int) -> None:
    back = pt.inverse_covariance_map(5, root)

    def in_correlations(inequalities: Inequalities) -> Inequalities:
        A, b = inequalities
        return A @ back, b

    assert rows(in_correlations(pt.rmet(5, root))) == rows(pt.loc(4))
    assert rows(in_correlations(pt.met(5))) == rows(pt.tri(4))


def test_loc_of_some_edges_is_rmet_of_their_triangles() -> None:
    edges = np.array([(0, 2), (1, 3)])
    A, b = pt.rmet(5, 0, edges + 1)
    assert rows((A @ pt.inverse_covariance_map(5), b)) == rows(pt.loc(4, edges))


@given(st.integers(0, 2**32 - 1))
def test_loc_says_that_pair_tables_are_distributions(seed: int) -> None:
    q1, q2, q12 = np.random.default_rng(seed).random(3)
    table = [q12, q1 - q12, q2 - q12, 1 - q1 - q2 + q12]
    A, b = pt.loc(2)
    assert (A @ [q1, q2, q12] <= b).all() == (min(table) >= 0)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="no point 3"):
        pt.covariance_map(3, 3)
    with pytest.raises(ValueError, match="no point -1"):
        pt.to_cut([0.0, 0.0, 0.0], -1)
    with pytest.raises(ValueError, match="4 numbers"):
        pt.to_correlation([0.0] * 4)
