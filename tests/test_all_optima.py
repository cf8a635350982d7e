import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models, small_integers

from mapreroot import Model, ModelError, all_optima
from mapreroot.generate import torus


@given(models(max_n=8))
def test_all_of_them_in_order(model):
    best = oracle.best_score(model)
    expected = [x.tolist() for x in oracle.assignments(model.n) if model.score(x) == best]
    found = all_optima(model)
    assert found.complete
    assert found.score == best
    assert found.solutions.tolist() == expected


@given(models(min_n=1, max_n=7, potentials=st.one_of(small_integers, finite_floats)))
def test_a_limit_is_honest(model):
    every = all_optima(model)
    one = all_optima(model, limit=1)
    assert len(one.solutions) == 1
    assert one.complete == (len(every.solutions) == 1)


def test_decimals_tie_and_whole_numbers_do_not():
    decimals = Model([0.3, -0.1, -0.2], [(0, 1), (0, 2)], [0.0, 0.0])
    pair = Model([0.1 + 0.2 - 0.3, 0], [], [])
    assert len(all_optima(Model([0.3, 0.1 + 0.2 - 0.3], [], [])).solutions) == 2
    assert decimals.m == 0
    assert len(all_optima(pair).solutions) == 2  # nothing but rounding: its own scale
    whole = Model.from_qubo({(0, 0): 1e16, (1, 1): 1.0, (0, 1): -1e16})
    assert all_optima(whole).solutions.tolist() == [[0, 0]]


def test_beyond_enumeration():
    model = torus(6, 6, couplings="pm1", fields="none", seed=1)
    found = all_optima(model, limit=5000)
    assert found.complete
    assert len(found.solutions) % 2 == 0  # without fields the complement is as good
    assert (model.score(found.solutions) == found.score).all()
    assert len(np.unique(found.solutions, axis=0)) == len(found.solutions)


def test_hard_constraints_bind():
    model = Model([0, 0], [], [], forbidden=[(0, 1, 1, 1)])
    assert all_optima(model).solutions.tolist() == [[0, 0], [0, 1], [1, 0]]


def test_limit_must_be_positive():
    with pytest.raises(ModelError, match="limit is 0"):
        all_optima(Model([0], [], []), limit=0)
