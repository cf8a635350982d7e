"""Factors with named states: what pgmpy's and pyAgrum's models have in common."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapreroot as mr
from mapreroot.interop.states import model_of_tables, name_assignment, name_marginals

STATES = {"a": ("no", "yes"), "b": (7, None), "c": ("x", "y")}
entries = st.floats(0.01, 100)


def product(tables, states, assignment) -> float:
    """Multiply the entries that an assignment (by state) picks."""
    return math.prod(
        table[tuple(states[v].index(assignment[v]) for v in scope)] for scope, table in tables
    )


@st.composite
def networks(draw, zeros=False):
    """Every variable has a factor of its own; pairs in any order, some twice, and a constant."""
    value = st.one_of(st.just(0.0), entries) if zeros else entries
    scopes = [(), ("a",), ("b",), ("c",)]
    scopes += draw(st.lists(st.sampled_from(list(itertools.permutations("abc", 2))), max_size=4))
    return [
        (
            scope,
            np.array(
                draw(st.lists(value, min_size=2 ** len(scope), max_size=2 ** len(scope)))
            ).reshape((2,) * len(scope)),
        )
        for scope in scopes
    ]


@given(networks())
def test_the_score_is_the_log_of_the_product(tables) -> None:
    model, states = model_of_tables(STATES, tables)
    assert states == STATES
    assert model.labels == ("a", "b", "c")
    for x in itertools.product((0, 1), repeat=3):
        value = product(tables, STATES, name_assignment(x, states))
        assert model.score(x) == pytest.approx(math.log(value), abs=1e-9)


@given(networks(zeros=True), st.sampled_from("abc"), st.integers(0, 1))
def test_zeros_and_evidence(tables, observed, k) -> None:
    evidence = {observed: STATES[observed][k]}
    rest = [v for v in "abc" if v != observed]
    values = {}
    for x in itertools.product((0, 1), repeat=2):
        named = {v: STATES[v][a] for v, a in zip(rest, x, strict=True)} | evidence
        values[x] = product(tables, STATES, named)
    if not any(values.values()):
        with pytest.raises(mr.InfeasibleError):
            model_of_tables(STATES, tables, evidence)
        return
    model, states = model_of_tables(STATES, tables, evidence)
    assert states == {v: STATES[v] for v in rest}
    for x, value in values.items():
        if value:
            assert model.score(x) == pytest.approx(math.log(value), abs=1e-9)
        else:
            assert model.score(x) == -math.inf


def test_evidence_makes_room_for_many_states_and_high_order() -> None:
    states = {"a": ("0", "1"), "b": ("r", "g", "b"), "c": ("0", "1")}
    table = np.arange(1.0, 13).reshape(2, 3, 2)
    model, left = model_of_tables(states, [(("a", "b", "c"), table)], {"b": "g"})
    assert left == {"a": ("0", "1"), "c": ("0", "1")}
    for a, c in itertools.product((0, 1), repeat=2):
        assert model.score([a, c]) == pytest.approx(math.log(table[a, 1, c]))
    with pytest.raises(mr.ModelError, match="b has 3 states"):
        model_of_tables(states, [(("a", "b", "c"), table)])


def test_a_variable_of_one_state_stays() -> None:
    model, states = model_of_tables(
        {"sure": ("always",), "a": ("no", "yes")}, [(("sure", "a"), [[1.0, math.e]])]
    )
    assert model.n == 2
    assert model.score({"sure": 0, "a": 1}) == pytest.approx(1.0)
    assert model.score({"sure": 1, "a": 1}) == -math.inf
    assert name_assignment([0, 1], states) == {"sure": "always", "a": "yes"}
    assert name_marginals([0.0, 0.75], states) == {
        "sure": {"always": 1.0},
        "a": {"no": 0.25, "yes": 0.75},
    }


@pytest.mark.parametrize(
    ("tables", "evidence", "message"),
    [
        ([(("a", "q"), np.ones((2, 2)))], {}, "covers 'q', which is no variable"),
        ([(("a",), [1, 2, 3])], {}, r"factor of 'a' has shape \(3,\): expected \(2,\)"),
        ([(("a", "b"), [[1, 2], [3, -4]])], {}, r"of 'a', 'b' holds -4.0 at \(1, 1\)"),
        ([(("a",), [1, math.nan])], {}, "holds nan"),
        ([(("a",), [1, math.inf])], {}, "holds inf"),
        ([((), -1)], {}, r"of no variables holds -1.0 at \(\)"),
        ([(("a", "b", "c"), np.ones((2, 2, 2)))], {}, "factor 0 has order 3"),
        ([], {"q": 1}, "evidence for 'q', which is no variable"),
        ([], {"a": "maybe"}, "evidence for 'a' is 'maybe': expected one of 'no', 'yes'"),
    ],
)
def test_errors_name_the_factor(tables, evidence, message) -> None:
    with pytest.raises(mr.ModelError, match=message):
        model_of_tables(STATES, tables, evidence)
