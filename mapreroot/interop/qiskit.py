"""Quadratic programs of qiskit-optimization, both ways."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal

from mapreroot.errors import ModelError
from mapreroot.model import Model

__all__ = ["from_qiskit", "to_qiskit"]


def from_qiskit(program: Any, labels: Iterable[Hashable] | None = None) -> Model:
    """Read a ``QuadraticProgram`` of binary variables without constraints.

    Parameters
    ----------
    program : qiskit_optimization.QuadraticProgram
        To be minimised (score = -objective) or maximised (score = objective), its constant
        included. qiskit is not imported.
    labels : iterable of hashable, optional
        Names for the variables, in the program's order, instead of its own strings.

    Returns
    -------
    Model

    Raises
    ------
    ModelError
        For a variable that is not binary, or a constraint.

    Notes
    -----
    Constraints turn into penalties by qiskit's own ``QuadraticProgramToQubo``, which also makes
    integer variables binary.
    """
    for variable in program.variables:
        if variable.vartype.name != "BINARY":
            raise ModelError(
                f"variable {variable.name!r} is {variable.vartype.name}: expected BINARY "
                "(convert the program by QuadraticProgramToQubo first)"
            )
    constraints = [*program.linear_constraints, *program.quadratic_constraints]
    if constraints:
        raise ModelError(
            f"the program has the constraint {constraints[0].name!r}: expected none (convert it "
            "by QuadraticProgramToQubo first)"
        )
    objective = program.objective
    names = [variable.name for variable in program.variables]
    Q = dict.fromkeys([(name, name) for name in names], 0.0)
    for name, value in objective.linear.to_dict(use_name=True).items():
        Q[name, name] += value
    for pair, value in objective.quadratic.to_dict(use_name=True).items():
        Q[pair] = Q.get(pair, 0.0) + value  # the square of a binary variable is the variable
    sense: Literal["min", "max"] = "min" if objective.sense.name == "MINIMIZE" else "max"
    model = Model.from_qubo(Q, sense, objective.constant)
    if labels is None:
        return model
    return Model(model.theta, model.edges, model.weights, model.constant, labels)


def to_qiskit(model: Model, sense: Literal["min", "max"] = "max") -> Any:
    """Give a ``QuadraticProgram`` whose objective is the score, or minus it to be minimised.

    Parameters
    ----------
    model : Model
    sense : {"max", "min"}

    Returns
    -------
    qiskit_optimization.QuadraticProgram
        Its variables are named by the labels where all are printable strings, else x0, x1, ...
        in the model's order; ``from_qiskit(program, model.labels)`` gives the model back.

    Raises
    ------
    ModelError
        For an unknown sense, or hard constraints, which a program without constraints has no
        room for.
    ImportError
        If qiskit-optimization is not installed.
    """
    try:
        from qiskit_optimization import QuadraticProgram
    except ImportError as error:
        raise ImportError(
            "to_qiskit needs qiskit-optimization: pip install 'mapreroot[qiskit]'"
        ) from error
    if sense not in ("min", "max"):
        raise ModelError(f"sense is {sense!r}: expected 'min' or 'max'")
    if model.forbidden:
        raise ModelError(
            f"the model has {len(model.forbidden)} hard constraints, which a program without "
            "constraints cannot hold"
        )
    strings = [label for label in model.labels if isinstance(label, str)]
    names = [name for name in strings if name and name.isprintable()]
    if len(names) < model.n:
        names = [f"x{i}" for i in range(model.n)]
    program = QuadraticProgram()
    for name in names:
        program.binary_var(name)
    plain = Model(model.theta, model.edges, model.weights, model.constant)
    Q, constant = plain.to_qubo()
    sign = 1.0 if sense == "min" else -1.0
    linear = {i: sign * q for (i, j), q in Q.items() if i == j}
    quadratic = {(i, j): sign * q for (i, j), q in Q.items() if i != j}
    objective = program.minimize if sense == "min" else program.maximize
    objective(constant=sign * constant, linear=linear, quadratic=quadratic)
    return program
