"""TRI by cutting planes: families and sizes, beside the full linear program where that finishes.

python -m pytest tests/bench/bench_tri.py -m bench -s
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from mapreroot import Model, uproot
from mapreroot.generate import complete, cube, grid, image, three_regular, torus
from mapreroot.relaxations import declarative
from mapreroot.relaxations.tri import TriRelaxation, tri
from tests.relaxation_points import tri_by_linprog

pytestmark = pytest.mark.bench


def warm_up() -> None:
    """Load the compiled code: what is measured is not its compilation."""
    looks_ahead = torus(40, 40, fields="none", seed=1)
    for model in (looks_ahead, torus(6, 6, seed=1), complete(12, seed=1), image(8, 8, seed=1)):
        tri(uproot(model))


def timed(name: str, model: Model) -> tuple[TriRelaxation, float]:
    warm_up()
    uprooted = uproot(model)
    start = time.process_time()
    relaxation = tri(uprooted)
    seconds = time.process_time() - start
    lp = sum(part.lp_seconds for part in relaxation.parts)
    separation = sum(part.separation_seconds for part in relaxation.parts)
    kernel = relaxation.reduction.kernel
    print(
        f"{name:28s} {seconds:8.3f} s (LP {lp:.3f}, separation {separation:.3f}) "
        f"n {model.n} -> {kernel.n_vertices}, rounds {relaxation.rounds}, "
        f"cuts {relaxation.n_cuts}, TRI {relaxation.bound:.9f}"
    )
    assert relaxation.converged
    value = uprooted.constant - uprooted.weights @ relaxation.d / 2
    assert value == pytest.approx(relaxation.bound, rel=1e-7)
    return relaxation, seconds


CASES: dict[str, Callable[[], Model]] = {
    "grid 10^2": lambda: grid(10, 10, seed=0),
    "grid 200^2, fields": lambda: grid(200, 200, seed=0),
    "torus 30^2 Gaussian": lambda: torus(30, 30, fields="none", seed=0),
    "torus 50^2 Gaussian": lambda: torus(50, 50, fields="none", seed=0),
    "torus 100^2 Gaussian": lambda: torus(100, 100, fields="none", seed=0),
    "torus 30^2 +-1": lambda: torus(30, 30, couplings="pm1", fields="none", seed=0),
    "torus 50^2 +-1": lambda: torus(50, 50, couplings="pm1", fields="none", seed=0),
    "cube 6^3": lambda: cube(6, fields="none", seed=0),
    "3-regular 1000": lambda: three_regular(1000, fields="none", seed=0),
    "K_70": lambda: complete(70, couplings="gaussian", fields="none", seed=0),
    "K_100": lambda: complete(100, couplings="gaussian", fields="none", seed=0),
    "image 1000^2": lambda: image(1000, 1000, seed=0),
}


@pytest.mark.parametrize("name", CASES)
def test_families(name):
    timed(name, CASES[name]())


def test_beside_the_full_model():
    """An 8 x 8 grid: the readable model writes all triangles of 65 vertices."""
    model = grid(8, 8, seed=0)
    relaxation, seconds = timed("grid 8^2", model)
    start = time.process_time()
    reference = declarative.tri(uproot(model))
    peer = time.process_time() - start
    print(f"{'  full model in cvxpy':28s} {peer:8.3f} s, ratio {peer / seconds:.0f}")
    assert relaxation.bound == pytest.approx(reference.bound, rel=1e-6)


def test_beside_linprog():
    """K_20: all triangles in one sparse matrix, HiGHS through scipy."""
    model = complete(20, couplings="gaussian", fields="none", seed=0)
    relaxation, seconds = timed("K_20", model)
    start = time.process_time()
    value = tri_by_linprog(uproot(model))
    peer = time.process_time() - start
    print(f"{'  all triangles in linprog':28s} {peer:8.3f} s, ratio {peer / seconds:.0f}")
    assert relaxation.bound == pytest.approx(value, rel=1e-8)
