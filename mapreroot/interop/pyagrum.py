"""Markov random fields of pyAgrum: MAP and marginals by the names of variables and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mapreroot.interop.states import States, model_of_tables, name_assignment, name_marginals
from mapreroot.model import Model

__all__ = ["from_pyagrum", "name_assignment", "name_marginals"]


def from_pyagrum(field: Any, evidence: Mapping[str, str] | None = None) -> tuple[Model, States]:
    """Read a pyAgrum ``MarkovRandomField``; the score is the logarithm of its factors' product.

    Parameters
    ----------
    field : pyagrum.MarkovRandomField
        Variables of two labels (or one), factors of at most two variables, once the evidence is
        in. A Bayesian network becomes one by ``MarkovRandomField.fromBN``. pyAgrum is not
        imported.
    evidence : mapping, optional
        Observed variables and their labels.

    Returns
    -------
    model : Model
        On the variables that are not observed, by name, in the order of their nodes.
    states : dict
        Their labels, for `name_assignment` and `name_marginals`.

    Raises
    ------
    ModelError
        For all that `mapreroot.interop.states.model_of_tables` refuses.
    InfeasibleError
        If the zero entries, and the evidence, contradict each other.

    Notes
    -----
    Linear in the size of the factors. `mapreroot.interop.pgmpy.from_pgmpy` shows the use.
    """
    variables = [field.variable(node) for node in sorted(field.nodes())]
    states = {variable.name(): tuple(variable.labels()) for variable in variables}
    tables = []
    for scope in field.factors():
        factor = field.factor(scope)
        # pyAgrum lists the variable that varies fastest first, numpy last.
        tables.append((factor.names[::-1], factor.toarray()))
    return model_of_tables(states, tables, evidence)
