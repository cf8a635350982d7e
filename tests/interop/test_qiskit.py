"""Quadratic programs of qiskit-optimization."""

import sys
from types import SimpleNamespace

import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models

import mapreroot as mr
from mapreroot.interop.qiskit import from_qiskit, to_qiskit

senses = st.sampled_from(["min", "max"])


def stand_in(vartype="BINARY", sense="MINIMIZE", linear=None, quadratic=None, constraints=()):
    def terms(values):
        return SimpleNamespace(to_dict=lambda use_name: values or {})

    return SimpleNamespace(
        variables=[
            SimpleNamespace(name=name, vartype=SimpleNamespace(name=vartype)) for name in "ab"
        ],
        linear_constraints=list(constraints),
        quadratic_constraints=[],
        objective=SimpleNamespace(
            linear=terms(linear),
            quadratic=terms(quadratic),
            constant=1.5,
            sense=SimpleNamespace(name=sense),
        ),
    )


@pytest.mark.parametrize(("sense", "sign"), [("MINIMIZE", -1), ("MAXIMIZE", 1)])
def test_reads_what_a_program_has(sense, sign) -> None:
    program = stand_in(sense=sense, linear={"a": 2}, quadratic={("a", "b"): -3, ("b", "b"): 5})
    model = from_qiskit(program)
    assert model.labels == ("a", "b")
    values = {(0, 0): 1.5, (1, 0): 3.5, (0, 1): 6.5, (1, 1): 5.5}
    assert all(model.score(x) == sign * value for x, value in values.items())
    assert from_qiskit(program, [3, 4]).labels == (3, 4)


def test_refuses_what_is_no_qubo() -> None:
    with pytest.raises(mr.ModelError, match="'a' is INTEGER: expected BINARY"):
        from_qiskit(stand_in(vartype="INTEGER"))
    with pytest.raises(mr.ModelError, match="the constraint 'budget': expected none"):
        from_qiskit(stand_in(constraints=[SimpleNamespace(name="budget")]))


def test_missing_library_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "qiskit_optimization", None)
    with pytest.raises(ImportError, match=r"mapreroot\[qiskit\]"):
        to_qiskit(mr.Model([1], [], []))


@given(models(), senses)
def test_round_trip_is_exact(model, sense) -> None:
    pytest.importorskip("qiskit_optimization")
    program = to_qiskit(model, sense)
    assert program.objective.sense.name == {"min": "MINIMIZE", "max": "MAXIMIZE"}[sense]
    assert from_qiskit(program, model.labels) == model
    named = mr.Model(model.theta, model.edges, model.weights, model.constant, "gfedcba"[: model.n])
    assert from_qiskit(to_qiskit(named, sense)) == named


@given(models(potentials=finite_floats, max_n=5), senses)
def test_scores_equal_qiskits_objective(model, sense) -> None:
    pytest.importorskip("qiskit_optimization")
    program = to_qiskit(model, sense)
    sign = -1 if sense == "min" else 1
    for x in oracle.assignments(model.n):
        value = program.objective.evaluate(x)
        assert model.score(x) == pytest.approx(sign * value, abs=1e-9)


@pytest.mark.parametrize("labels", [["", "b"], ["a\n", "b"], [1, "b"]])
def test_labels_that_are_no_names(labels) -> None:
    pytest.importorskip("qiskit_optimization")
    model = mr.Model([1, 2], [(0, 1)], [2], labels=labels)
    program = to_qiskit(model)
    assert [variable.name for variable in program.variables] == ["x0", "x1"]
    assert from_qiskit(program, labels) == model


def test_refuses_what_a_program_cannot_hold() -> None:
    pytest.importorskip("qiskit_optimization")
    with pytest.raises(mr.ModelError, match="1 hard constraints"):
        to_qiskit(mr.Model([1], [], [], forbidden=[(0, 1)]))
    with pytest.raises(mr.ModelError, match="sense is 'up'"):
        to_qiskit(mr.Model([1], [], []), "up")


def test_a_constrained_program_by_way_of_qiskits_converter() -> None:
    qiskit = pytest.importorskip("qiskit_optimization")
    converters = pytest.importorskip("qiskit_optimization.converters")
    program = qiskit.QuadraticProgram()
    for name in "abc":
        program.binary_var(name)
    program.maximize(constant=1, linear=[3, 4, 5], quadratic={("a", "b"): 2})
    program.linear_constraint([1, 1, 1], "<=", 2, name="two")
    converter = converters.QuadraticProgramToQubo()
    result = mr.solve(from_qiskit(converter.convert(program)))
    assert result.status == "optimal"
    x = converter.interpret(result.x)
    assert x.tolist() == [1, 1, 0]  # 3 + 4 + 2 beats 4 + 5
    assert program.is_feasible(x)
    assert result.score == program.objective.evaluate(x) == 10
