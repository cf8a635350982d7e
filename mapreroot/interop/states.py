"""Variables whose values have names: tables of factors in, answers by name out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.formats.factors import Factors
from mapreroot.model import Model

__all__ = ["States", "model_of_tables", "name_assignment", "name_marginals"]

States = dict[Any, tuple[Any, ...]]
"""The names of each variable's values, that of 0 first; variables in the model's order."""


def model_of_tables(
    states: Mapping[Hashable, Sequence[Hashable]],
    tables: Iterable[tuple[Sequence[Hashable], npt.ArrayLike]],
    evidence: Mapping[Any, Any] | None = None,
) -> tuple[Model, States]:
    """Build a model whose score is the logarithm of a product of tables.

    Parameters
    ----------
    states : mapping
        The variables, in order, and the names of their values.
    tables : iterable of (scope, values)
        One axis for each variable of the scope, in its order; a zero is a hard constraint.
    evidence : mapping, optional
        Observed variables and the names of their values.

    Returns
    -------
    Model
        On the variables that are not observed; value k is state k.
    States
        Of the same variables.

    Raises
    ------
    ModelError
        For an entry that is negative or not finite, a table of the wrong shape, an unknown
        variable or state, and for what is not binary pairwise once the evidence is in.
    InfeasibleError
        If the zeros, and the evidence, contradict each other.

    Examples
    --------
    >>> states = {"rain": ("no", "yes"), "lawn": ("dry", "wet")}
    >>> tables = [(("rain",), [3, 1]), (("lawn", "rain"), [[9, 1], [1, 4]])]
    >>> model, names = model_of_tables(states, tables)
    >>> round(float(np.exp(model.score([1, 1]))), 6)
    4.0
    >>> name_assignment([0, 1], names)
    {'rain': 'no', 'lawn': 'wet'}
    """
    index = {variable: v for v, variable in enumerate(states)}
    sizes = np.array([len(names) for names in states.values()], dtype=np.int64)
    scopes: list[list[int]] = []
    logs: list[npt.NDArray[np.float64]] = []
    for scope, values in tables:
        for variable in scope:
            if variable not in index:
                raise ModelError(f"a factor covers {variable!r}, which is no variable")
        scopes.append([index[variable] for variable in scope])
        logs.append(_logarithms(scope, values, tuple(sizes[scopes[-1]].tolist())))
    fixed = {}
    for variable, state in (evidence or {}).items():
        if variable not in index:
            raise ModelError(f"evidence for {variable!r}, which is no variable")
        if state not in states[variable]:
            raise ModelError(
                f"evidence for {variable!r} is {state!r}: expected one of "
                f"{_listed(states[variable])}"
            )
        fixed[variable] = list(states[variable]).index(state)
    factors = Factors(
        tuple(states),
        sizes,
        np.array([len(scope) for scope in scopes], dtype=np.int64),
        np.array([v for scope in scopes for v in scope], dtype=np.int64),
        np.concatenate([np.zeros(0), *logs]),
    )
    model = factors.condition(fixed)
    return model, {label: tuple(states[label]) for label in model.labels}


def name_assignment(x: npt.ArrayLike, states: States) -> dict[Any, Any]:
    """Give each variable the name of its value.

    Parameters
    ----------
    x : array_like, shape (n,)
        In the model's order, as ``solve(model).x``.
    states : States
        As it came with the model.
    """
    values = np.asarray(x).tolist()
    return {
        variable: names[value]
        for (variable, names), value in zip(states.items(), values, strict=True)
    }


def name_marginals(p: npt.ArrayLike, states: States) -> dict[Any, dict[Any, float]]:
    """Give each variable the probabilities of its values, by name.

    Parameters
    ----------
    p : array_like, shape (n,)
        p(x_i = 1) in the model's order, as ``marginals(model).p``.
    states : States
        As it came with the model.
    """
    ones = np.asarray(p, dtype=np.float64).tolist()
    return {
        variable: dict(zip(names, (1 - one, one), strict=False))  # there may be one state only
        for (variable, names), one in zip(states.items(), ones, strict=True)
    }


def _logarithms(
    scope: Sequence[Hashable], values: npt.ArrayLike, shape: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    table = np.asarray(values, dtype=np.float64)
    if table.shape != shape:
        raise ModelError(
            f"the factor of {_listed(scope)} has shape {table.shape}: expected {shape}"
        )
    bad = np.argwhere(~((table >= 0) & (table < np.inf)))
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ModelError(
            f"the factor of {_listed(scope)} holds {table[place]} at {place}: expected finite "
            "values, 0 or more"
        )
    with np.errstate(divide="ignore"):
        return np.log(table).ravel()


def _listed(names: Iterable[Hashable]) -> str:
    return ", ".join(map(repr, names)) or "no variables"
