"""Inputs that broke neighbouring tools, with the right answers: what the checks share.

``files`` holds the cases that come as a file, ``models`` those that are built in Python. A check
is a function of the case's input and of what is expected; ``tests/test_cases.py`` runs them.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mapreroot as mr

Case = dict[str, Any]
Check = Callable[[Any, Any, Path], None]

CASES: dict[str, Case] = {
    case["id"]: case
    for case in json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text())["cases"]
}
CHECKS: dict[str, Check] = {}

WAITING: dict[str, str] = {}
"""Cases whose feature does not exist yet, and which feature that is."""


def case(*ids: str) -> Callable[[Check], Check]:
    """Register a check for one or more cases."""

    def register(check: Check) -> Check:
        for id_ in ids:
            assert id_ in CASES
            assert id_ not in CHECKS, id_
            CHECKS[id_] = check
        return check

    return register


def weller(given: Case) -> mr.Model:
    """Build a model from theta and W."""
    W = given["W"]
    return mr.Model(given["theta"], [(i, j) for i, j, _ in W], [w for _, _, w in W])


def from_energy(given: Case, vartype: str = "BINARY", labels: Iterable[Any] = ()) -> mr.Model:
    """Build a model from linear and quadratic parts of an energy, as dicts or by position."""
    linear = given["linear"]
    names = list(labels) or list(range(len(linear)))
    if not isinstance(linear, dict):
        linear = dict(zip(names, linear, strict=True))
        quadratic = {(names[i], names[j]): q for i, j, q in given["quadratic"]}
    else:
        quadratic = {(i, j): q for i, j, q in given["quadratic"]}
    bqm = SimpleNamespace(
        linear=linear, quadratic=quadratic, offset=given.get("offset", 0.0), vartype=vartype
    )
    return mr.Model.from_bqm(bqm)


def by_enumeration(model: mr.Model) -> tuple[float, list[list[int]]]:
    """Give the best score and all assignments that have it, up to rounding."""
    x = np.array(list(itertools.product((0, 1), repeat=model.n)), dtype=np.int8)
    x = x.reshape(2**model.n, model.n)
    rough = model.score(x)
    x = x[rough >= rough.max() - 1e-9 * (1 + abs(rough)).max()]
    # One assignment's score is rounded once: ties differ in the last place or not at all.
    scores = np.array([model.score(row) for row in x])
    best = scores.max()
    return float(best), x[scores >= best - 1e-12 * abs(best)].tolist()


def check_map(
    model: mr.Model, score: float, optima: list[list[int]] | None = None, count: int | None = None
) -> None:
    """Compare enumeration and `solve` with the expected optimum and optima."""
    best, found = by_enumeration(model)
    tolerance = 1e-9 * max(1.0, abs(score))
    assert abs(best - score) <= tolerance
    if optima is not None:
        assert sorted(found) == sorted(optima)
    if count is not None:
        assert len(found) == count
    result = mr.solve(model)
    assert result.status == "optimal"
    assert abs(result.score - score) <= tolerance
    assert result.score == model.score(result.x)
    assert result.bound >= result.score
    assert result.x.tolist() in found


def check_sums(model: mr.Model, ln_z: float | None, p: list[float] | None) -> None:
    """Compare the exact log Z and marginals with the expected ones."""
    if ln_z is not None:
        found = mr.log_partition(model)
        assert found.converged
        assert abs(found.value - ln_z) <= 1e-9 * max(1.0, abs(ln_z))
    if p is not None:
        assert np.abs(mr.marginals(model).p - p).max(initial=0.0) <= 1e-9


def check_error(expected: Case, action: Callable[[], Any]) -> mr.MapRerootError:
    """Check that an action fails with an error that mentions what it should."""
    kind = getattr(mr, expected.get("error", "MapRerootError"))
    with pytest.raises(kind) as caught:
        action()
    message = str(caught.value).lower()
    for part in expected["must_mention"]:
        assert part.lower() in message
    return caught.value


def close(a: float, b: float, tolerance: float = 1e-9) -> bool:
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
