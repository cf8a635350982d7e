import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, planted_balanced

from mapreroot import Model, NotBalancedError, uproot
from mapreroot.balance import rooted_balance
from mapreroot.exact.mincut import balanced_map

ENGINES = ["pymaxflow", "ortools"]


@pytest.mark.parametrize("engine", ENGINES)
@given(planted_balanced(max_n=8))
def test_a_balanced_rooting_is_solved(engine, model):
    uprooted = uproot(model)
    flips = rooted_balance(uprooted, 0).switching
    solution = balanced_map(uprooted, 0, flips, engine)
    assert solution.y[0] == 0
    assert solution.bound == pytest.approx(uprooted.score(solution.y), abs=1e-12)
    assert solution.bound == pytest.approx(oracle.best_score(model))


@pytest.mark.parametrize("engine", ENGINES)
@given(
    st.lists(finite_floats, min_size=5, max_size=5),
    st.lists(st.floats(0, 9, width=32), min_size=6, max_size=6),
    st.integers(0, 5),
)
def test_a_hidden_root_is_solved(engine, theta, sizes, root):
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3)]
    model = uproot(Model(theta, edges, sizes)).reroot(root)  # repulsive edges hide root 0
    uprooted = uproot(model)
    back = 0 if root == 0 else 1  # the old vertex 0 comes right after the new one
    flips = rooted_balance(uprooted, back).switching
    assert flips is not None
    solution = balanced_map(uprooted, back, flips, engine)
    assert uprooted.score(solution.y) == pytest.approx(oracle.best_score(model), abs=1e-9)


def test_a_wrong_switching_is_refused():
    uprooted = uproot(Model([0, 0], [(0, 1)], [-1.0]))
    with pytest.raises(NotBalancedError, match=r"\(1, 2\)"):
        balanced_map(uprooted, 0, np.zeros(3, dtype=np.int8))
