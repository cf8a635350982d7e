"""Inference on the paper's models beside libDAI's process times, and exact inference at scale.

python -m pytest tests/bench/bench_marginals.py -m bench -s
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mapreroot import Model, uproot
from mapreroot.generate import complete, grid, torus, tree
from mapreroot.marginals import log_partition, marginals
from mapreroot.marginals.inference import approximate

pytestmark = pytest.mark.bench

# Seconds a model, on one core of the machine that the marks were taken on.
LIBDAI = {
    "exact": {"K10": 0.003, "T5": 0.003, "K15": 0.020, "T9": 0.27},
    "bethe": {"K10": 0.012, "T5": 0.017, "K15": 0.024, "T9": 0.094},
    "trw": {"K10": 0.005, "T5": 0.006, "K15": 0.011, "T9": 0.013},
}


def family(name: str) -> list[Model]:
    size = int(name[1:])
    models = []
    for seed in range(9):
        options: dict[str, Any] = {
            "couplings": "uniform",
            "strength": (2.0, 8.0, 16.0)[seed % 3],
            "fields": ("low", "medium", "scaled")[seed // 3],
            "seed": seed,
        }
        square = (size,) if name[0] == "K" else (size, size)
        models.append((complete if name[0] == "K" else torus)(*square, **options))
    return models


def cpu(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    answer = call()
    return time.process_time() - start, answer


@pytest.mark.parametrize("name", ["K10", "T5", "K15", "T9"])
def test_paper_models(name: str) -> None:
    models = family(name)
    for method, marks in LIBDAI.items():
        seconds = []
        for root in (0, "max_tw"):
            log_partition(models[0], method, root)  # type: ignore[arg-type]
            for model in models:
                if method == "exact":
                    spent, answer = cpu(lambda model=model: marginals(model))
                else:
                    plus = uproot(model)
                    at = log_partition(model, "trw", root).root
                    spent, answer = cpu(
                        lambda plus=plus, at=at, method=method: approximate(plus, at, method)
                    )
                assert answer.converged
                seconds.append(spent)
        mean = float(np.mean(seconds))
        print(
            f"{name:4s} {method:6s} {1e3 * mean:8.2f} ms, slowest {1e3 * max(seconds):8.2f} "
            f"(libDAI {1e3 * marks[name]:.0f} ms)"
        )


def partial_k_tree(n: int, k: int) -> Model:
    rng = np.random.default_rng(0)
    cliques, edges = [list(range(k))], [(i, j) for i in range(k) for j in range(i)]
    for v in range(k, n):
        base = cliques[rng.integers(len(cliques))]
        edges += [(v, u) for u in base]
        cliques += [[v, *(u for u in base if u != w)] for w in base]
    keep = rng.random(len(edges)) < 0.7
    kept = np.array(edges)[keep]
    return Model(rng.normal(size=n), kept, 2 * rng.normal(size=len(kept)))


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("grid 12 x 12", lambda: grid(12, 12)),
        ("torus 10 x 10", lambda: torus(10, 10, fields="medium")),
        ("2000 vertices, treewidth 12", lambda: partial_k_tree(2000, 12)),
        ("forest of 10^6", lambda: tree(1_000_000)),
    ],
)
def test_exact_at_scale(name: str, make: Callable[[], Model]) -> None:
    model = make()
    for title, call in (("log Z", log_partition), ("marginals", marginals)):
        call(grid(3, 3))
        spent, answer = cpu(lambda call=call: call(model))
        assert answer.converged
        print(f"{name:30s} {title:10s} {spent:8.3f} s")
