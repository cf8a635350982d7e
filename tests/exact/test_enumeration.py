import numpy as np
import oracle
import pytest
from hypothesis import given
from strategies import finite_floats, uprooted_models

from mapreroot import SizeError, UprootedModel
from mapreroot.exact.enumeration import LIMIT, enumerate_map, enumerate_optima


@given(uprooted_models(potentials=finite_floats))
def test_the_optimum_is_found(uprooted):
    solution = enumerate_map(uprooted)
    assert solution.y[0] == 0
    assert solution.bound == uprooted.score(solution.y)
    assert solution.bound == pytest.approx(oracle.best_phi(uprooted), abs=1e-12)


@given(uprooted_models())
def test_all_optima_are_listed_in_order(uprooted):
    best = oracle.best_phi(uprooted)
    rest = oracle.assignments(uprooted.n_vertices - 1)
    expected = [[0, *y] for y in rest.tolist() if uprooted.score([0, *y]) == best]
    solutions, complete = enumerate_optima(uprooted, 10**4)
    assert complete
    assert solutions.tolist() == expected
    some, complete = enumerate_optima(uprooted, 1)
    assert len(some) == 1
    assert complete == (len(expected) == 1)


def test_rounding_errors_do_not_add_up():
    rng = np.random.default_rng(0)
    N = 17  # more steps than one stretch of the walk
    edges = [(i, j) for j in range(N) for i in range(j)]
    uprooted = UprootedModel(N, edges, rng.normal(size=len(edges)) * 1e8)
    ys = np.hstack([np.zeros((2**16, 1), dtype=np.int8), oracle.assignments(16)])
    differ = ys[:, uprooted.edges[:, 0]] != ys[:, uprooted.edges[:, 1]]
    assert enumerate_map(uprooted).bound == pytest.approx(
        -(differ @ uprooted.weights).min() / 2, rel=1e-12
    )


def test_too_many_variables_are_refused():
    with pytest.raises(SizeError, match=r"2\^30"):
        enumerate_map(UprootedModel(31, [], []))
    assert LIMIT < 31
