"""``doctor``: what is installed, and whether it solves what it should."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from importlib.metadata import requires
from typing import get_args

import numpy as np

from mapreroot import generate
from mapreroot.certificates import verify
from mapreroot.cli.options import JsonOption
from mapreroot.cli.output import print_json, print_table
from mapreroot.errors import NotATreeError, NotBalancedError, SizeError, SolverError
from mapreroot.experiments.versions import versions
from mapreroot.flow import Engine, min_cut
from mapreroot.model import TOL, Model
from mapreroot.relaxations import declarative
from mapreroot.rerooting import uproot
from mapreroot.solve import Method, solve

__all__ = ["doctor", "self_check"]

_ENGINES = get_args(Engine)  # as their packages are called, too


def doctor(json: JsonOption = False) -> int:
    """Show versions and what is missing, and solve a few small models by every method.

    Exit code 0: all is well; 1: something needed is missing, or an answer is wrong.

    Example: mapreroot doctor
    """
    extra_of = _extra_of()
    found = versions(("mapreroot", *extra_of))
    missing = {
        name: f"pip install 'mapreroot{extra and f'[{extra}]'}'"
        for name, extra in extra_of.items()
        if not found[name]
    }
    engines = [engine for engine in _ENGINES if found.get(engine)]
    needed = [name for name in missing if not extra_of[name] and name not in _ENGINES]
    if not engines:  # any one is enough
        needed += _ENGINES
    start = time.perf_counter()
    done: list[str] = []
    failure = None
    try:
        done.extend(self_check(engines))
    except Exception as error:  # whatever a broken installation comes up with
        failure = f"{type(error).__name__}: {' '.join(str(error).split())}"
    seconds = time.perf_counter() - start
    ok = failure is None and not needed
    if json:
        print_json(
            {
                "ok": ok,
                "versions": found,
                "missing": missing,
                "checks": done,
                "failure": failure,
                "seconds": seconds,
            }
        )
    else:
        print_table({name: v or f"missing: {missing[name]}" for name, v in found.items()})
        for line in done:
            print(f"ok      {line}")
        if failure is not None:
            print(f"FAILED  {failure}")
        for name in needed:
            print(f"FAILED  {name} is needed")
        print(f"{'all is well' if ok else 'something is wrong'} ({seconds:.1f} s)")
    return 0 if ok else 1


def self_check(engines: list[Engine]) -> Iterator[str]:
    """Solve small models by every method that applies, and check their certificates.

    Yields
    ------
    str
        What has been checked.

    Raises
    ------
    SolverError
        If a method fails, two answers differ, a bound is wrong, or a certificate does not hold.
    """
    models = {
        "tree": generate.tree(12),
        "balanced grid": generate.planted_grid(3, 4),
        "hidden root": generate.hidden_root(3, 4),
        "complete graph": generate.complete(10),
        "torus": generate.torus(6, 6, fields="medium"),
        "cube": generate.cube(3, fields="low"),
    }
    for name, model in models.items():
        answer = solve(model, certify=True)
        assert answer.certificate is not None
        checked = verify(model, answer.certificate)
        _expect(checked.failure is None, f"{name}: {checked.failure}")
        best, near = answer.score, TOL * float(np.abs(model.weights).sum())
        _expect(checked.bound <= best + near, f"{name}: proved {checked.bound}, found {best}")
        by = [method for method in get_args(Method) if _agrees(model, method, best, near)]
        yield f"{name}: certificate, {', '.join(by)}"
    values = {engine: _cut(engine) for engine in engines}
    _expect(len(set(values.values())) <= 1, f"max-flow engines differ: {values}")
    yield f"max-flow: {', '.join(values)}"
    triangle = uproot(Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2, -2, -2]))
    for kind, relax, expected in (("LOC", declarative.loc, 3), ("TRI", declarative.tri, 2)):
        bound = relax(triangle).bound
        _expect(abs(bound - expected) <= 1e-6, f"{kind} by cvxpy is {bound}, not {expected}")
    yield "cvxpy: LOC and TRI"


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SolverError(otherwise)


def _agrees(model: Model, method: Method, best: float, near: float) -> bool:
    """Say whether a method applies; its answer must then fit what is proved."""
    try:
        result = solve(model, method)
    except (NotATreeError, NotBalancedError, SizeError):
        return False
    fits = result.score <= best + near and best <= result.bound + near
    exact = method in ("loc", "tri") or result.status == "optimal"
    right = result.status != "optimal" or abs(result.score - best) <= near
    _expect(fits and exact and right, f"{method} says {result!r}, but {best} is proved")
    return True


def _cut(engine: Engine) -> float:
    """Cut a small network whose capacities every engine holds exactly."""
    tail, head = np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3])
    ends = np.array([4.0, 0, 0, 0]), np.array([0, 0, 0, 4.0])
    return min_cut(tail, head, np.array([3.0, 1.0, 1.0, 2.0]), *ends, engine=engine)[0]


def _extra_of() -> dict[str, str]:
    """Map what mapreroot can use to the extra that brings it; what it needs has none."""
    found: dict[str, str] = {}
    for line in requires("mapreroot") or ():
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == ['\"]([\w-]+)", line)
        if name and (extra is None or extra[1] != "test"):
            found.setdefault(name[0].lower(), extra[1] if extra else "")
    return found
