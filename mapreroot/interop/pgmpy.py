"""Markov networks of pgmpy: MAP and marginals under the names their variables and states have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mapreroot.errors import ModelError
from mapreroot.interop.states import States, model_of_tables, name_assignment, name_marginals
from mapreroot.model import Model

__all__ = ["from_pgmpy", "name_assignment", "name_marginals"]


def from_pgmpy(network: Any, evidence: Mapping[Any, Any] | None = None) -> tuple[Model, States]:
    """Read a pgmpy ``DiscreteMarkovNetwork``; the score is the logarithm of its factors' product.

    Parameters
    ----------
    network : pgmpy.models.DiscreteMarkovNetwork
        Variables of two states (or one), factors of at most two variables, once the evidence is
        in. A Bayesian network becomes one by its ``to_markov_model``. pgmpy is not imported.
    evidence : mapping, optional
        Observed variables and their states.

    Returns
    -------
    model : Model
        On the variables that are not observed, labels the nodes.
    states : dict
        Their states, for `name_assignment` and `name_marginals`.

    Raises
    ------
    ModelError
        For a node that no factor covers, factors that disagree on a variable's states, and all
        that `mapreroot.interop.states.model_of_tables` refuses.
    InfeasibleError
        If the zero entries, and the evidence, contradict each other.

    Notes
    -----
    Linear in the size of the factors.

    Examples
    --------
    Run with pgmpy installed::

        from mapreroot.interop.pgmpy import from_pgmpy, name_assignment, name_marginals

        model, states = from_pgmpy(network, evidence={"smoker": "yes"})
        name_assignment(mapreroot.solve(model).x, states)      # {"cancer": "no", ...}
        name_marginals(mapreroot.marginals(model).p, states)   # {"cancer": {"no": 0.9, ...
    """
    found: dict[Any, tuple[Any, ...]] = {}
    tables = []
    for factor in network.get_factors():
        for variable in factor.variables:
            names = tuple(factor.state_names[variable])
            if found.setdefault(variable, names) != names:
                raise ModelError(
                    f"variable {variable!r} has the states {names} in one factor and "
                    f"{found[variable]} in another"
                )
        tables.append((factor.variables, factor.values))
    for variable in network.nodes():
        if variable not in found:
            raise ModelError(f"no factor covers {variable!r}: its states are unknown, add one")
    return model_of_tables({v: found[v] for v in network.nodes()}, tables, evidence)
