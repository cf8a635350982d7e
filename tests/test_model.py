import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models

from mapreroot import InfeasibleError, Model, ModelError, UprootedModel


@given(models(potentials=finite_floats))
def test_score_is_equation_1(model):
    xs = oracle.assignments(model.n)
    expected = [oracle.score(model, x) for x in xs]
    assert [model.score(x) for x in xs] == pytest.approx(expected, abs=1e-12)
    assert model.score(xs) == pytest.approx(np.array(expected), abs=1e-12)


def test_score_is_correctly_rounded():
    model = Model([1e16, 1.0, -1e16], [], [], constant=1e-3)
    assert model.score([1, 1, 1]) == float(Fraction(1) + Fraction(1e-3))


def test_score_takes_labels():
    model = Model([1.0, -2.0], [(0, 1)], [4.0], labels=["a", "b"])
    assert model.score({"b": 1, "a": 0}) == -4.0
    with pytest.raises(ModelError, match="'b'"):
        model.score({"a": 1})


@pytest.mark.parametrize("x", [[0, 1], [0, 1, 2], [0.5, 0, 1], [[[0, 1, 0]]], [math.nan, 0, 1]])
def test_score_refuses_what_is_no_assignment(x):
    with pytest.raises(ModelError):
        Model([0, 0, 0], [], []).score(x)


def test_edges_are_summed_sorted_and_zeros_dropped_but_variables_stay():
    model = Model([0, 0, 0, 0], [(2, 1), (0, 1), (1, 2), (0, 3), (3, 0)], [1, 2, 3, 5, -5])
    assert model.edges.tolist() == [[0, 1], [1, 2]]
    assert model.weights.tolist() == [2, 4]
    assert (model.n, model.m) == (4, 2)


@given(st.permutations(range(6)), st.lists(finite_floats, min_size=6, max_size=6))
def test_the_order_of_edges_does_not_matter(order, weights):
    edges = [(0, 1), (1, 0), (0, 1), (1, 2), (2, 0), (0, 2)]
    shuffled = Model([0, 0, 0], [edges[k] for k in order], [weights[k] for k in order])
    assert shuffled == Model([0, 0, 0], edges, weights)


def test_arrays_are_copied_and_read_only():
    theta, edges, weights = np.ones(2), np.array([[0, 1]]), np.ones(1)
    model = Model(theta, edges, weights)
    theta[0], edges[0, 0], weights[0] = 9, 1, 9
    assert model.score([1, 0]) == 0.5
    for array in (model.theta, model.edges, model.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        model.constant = 1.0


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.bool_, np.float16, np.float32])
def test_small_types_do_not_wrap(dtype):
    value = np.array([100 if dtype is not np.bool_ else 1], dtype=dtype)
    model = Model(value, [], [])
    assert model.theta.dtype == np.float64
    many = Model([0, 0], [(0, 1)] * 4, np.repeat(value, 4))
    assert many.weights.tolist() == [4.0 * float(value[0])]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([math.nan, 0], [], []), r"theta\[0\] is nan"),
        (([0, math.inf], [], []), r"theta\[1\] is inf"),
        (([0, 0], [(0, 1)], [math.nan]), r"\(0, 1\) is nan"),
        (([0, 0], [(1, 0)], [-math.inf]), r"\(1, 0\) is -inf"),
        (([0, 0], [(1, 1)], [1]), r"edge 0 is a self-loop \(1, 1\)"),
        (([0, 0], [(0, 2)], [1]), r"edge 0 is \(0, 2\): expected indices in 0\.\.1"),
        (([0, 0], [(-1, 0)], [1]), r"edge 0 is \(-1, 0\)"),
        (([0, 0], [(0, 1)], [1, 2]), "1 edges but 2 weights"),
        (([0, 0], [(0, 1, 2)], [1]), r"edges has shape \(1, 3\)"),
        (([0, 0], [(0.0, 1.0)], [1]), "edges has type float64"),
        (([[0, 0]], [], []), r"theta has shape \(1, 2\)"),
        (([1j, 0], [], []), "theta has type complex"),
        ((["a", 0], [], []), "theta has type"),
        (([0], [], [], math.nan), "constant is nan"),
        (([0], [], [], "x"), "constant is 'x'"),
        (([1e308, 1e308], [], []), "overflows"),
        (([0, 0], [(0, 1), (0, 1)], [1.7e308, 1.7e308]), "overflows"),
    ],
)
def test_bad_numbers_are_named(arguments, message):
    with pytest.raises(ModelError, match=message):
        Model(*arguments)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, "1", True], "label True is equal to label 1"),
        ([1, 1.0, 2], r"label 1\.0 is equal to label 1"),
        (["a", "b"], "2 labels for 3 variables"),
        ([[], "a", "b"], "hashable"),
    ],
)
def test_labels_must_be_distinct(labels, message):
    with pytest.raises(ModelError, match=message):
        Model([0, 0, 0], [], [], labels=labels)


def test_models_are_values():
    model = Model([1.0, 0.5], [(0, 1)], [2.0], 3.0, ["a", ("b", 1)], [(0, 1, 1, 1)])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert twin == model
        assert hash(twin) == hash(model)
    assert model != Model([1.0, 0.5], [(0, 1)], [2.0], 3.5, ["a", ("b", 1)], [(0, 1, 1, 1)])
    assert model != Model([1.0, 0.5], [(0, 1)], [2.0], 3.0, ["a", "b"], [(0, 1, 1, 1)])
    assert model != Model([1.0, 0.5], [(0, 1)], [2.0], 3.0, ["a", ("b", 1)])
    assert (model == "model") is False


@given(models(max_n=6, potentials=finite_floats), st.data())
def test_condition_keeps_scores(model, data):
    clamped = data.draw(st.sets(st.sampled_from(range(model.n)))) if model.n else set()
    fixed = {i: data.draw(st.integers(0, 1)) for i in clamped}
    rest = model.condition(fixed)
    assert rest.labels == tuple(i for i in range(model.n) if i not in fixed)
    for x in oracle.assignments(rest.n):
        whole = {**dict(zip(rest.labels, x.tolist(), strict=True)), **fixed}
        assert rest.score(x) == pytest.approx(model.score(whole), abs=1e-10)


def test_condition_refuses_strangers():
    model = Model([0, 0], [], [], labels="ab")
    with pytest.raises(ModelError, match="'c'"):
        model.condition({"c": 1})
    with pytest.raises(ModelError, match="'a' cannot be fixed at 2"):
        model.condition({"a": 2})


@st.composite
def constrained(draw):
    model = draw(models(min_n=1, max_n=5))
    variable = st.integers(0, model.n - 1)
    rows = draw(
        st.lists(
            st.one_of(
                st.tuples(variable, st.integers(0, 1)),
                st.tuples(variable, st.integers(0, 1), variable, st.integers(0, 1)).filter(
                    lambda row: row[0] != row[2]
                ),
            ),
            max_size=6,
        )
    )
    return model, rows


@given(constrained())
def test_hard_constraints_are_two_sat_with_a_sufficient_penalty(case):
    free, rows = case

    def allowed(x):
        return not any(
            all(x[i] == a for i, a in zip(row[::2], row[1::2], strict=True)) for row in rows
        )

    xs = [x for x in oracle.assignments(free.n) if allowed(x)]
    if not xs:
        with pytest.raises(InfeasibleError, match="contradict"):
            Model(free.theta, free.edges, free.weights, free.constant, forbidden=rows)
        return
    model = Model(free.theta, free.edges, free.weights, free.constant, forbidden=rows)
    for x in oracle.assignments(free.n):
        expected = free.score(x) if allowed(x) else -math.inf
        assert model.score(x) == pytest.approx(expected)
        assert model.score(x[None, :])[0] == pytest.approx(expected)
    # The finite potentials alone have the same maximum and, to e^-50, the same log Z.
    scores = [free.score(x) for x in xs]
    assert oracle.best_score(model) == pytest.approx(max(scores))
    top = max(scores)
    log_z = top + math.log(sum(math.exp(s - top) for s in scores))
    assert oracle.log_partition(model) == pytest.approx(log_z, abs=1e-9)
    again = Model.from_penalised(
        model.theta, model.edges, model.weights, model.constant, model.labels, model.forbidden
    )
    assert again == model


def test_condition_meets_hard_constraints():
    model = Model([0, 0, 0], [], [], forbidden=[(0, 1, 1, 1), (1, 0, 2, 0)])
    rest = model.condition({0: 1})
    assert rest.forbidden == ((0, 0, 1, 0), (0, 1))
    assert rest.score([0, 1]) == 0
    with pytest.raises(InfeasibleError, match=r"evidence.*0 = 1, 1 = 1"):
        model.condition({0: 1, 1: 1})
    with pytest.raises(InfeasibleError, match="evidence"):
        model.condition({0: 1, 2: 0})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((0,), "expected"),
        ((0, 2), "value 2"),
        ((3, 0), "variable 3"),
        ((1, 0, 1, 1), "same variable twice"),
    ],
)
def test_forbidden_rows_are_checked(row, message):
    with pytest.raises(ModelError, match=message):
        Model([0, 0], [], [], forbidden=[row])


def test_uprooted_model_reroots_only_at_its_vertices():
    uprooted = UprootedModel(2, [(0, 1)], [1.0])
    with pytest.raises(ModelError, match="no vertex 2"):
        uprooted.reroot(2)
    with pytest.raises(ModelError, match="no vertex -1"):
        uprooted.reroot(-1)


def test_uprooted_models_are_values():
    uprooted = UprootedModel(3, [(0, 1), (2, 1)], [1.0, 2.0], 0.5)
    assert pickle.loads(pickle.dumps(uprooted)) == uprooted
    assert hash(uprooted) == hash(UprootedModel(3, [(1, 2), (0, 1)], [2.0, 1.0], 0.5))
    assert uprooted != UprootedModel(4, [(0, 1), (2, 1)], [1.0, 2.0], 0.5)
