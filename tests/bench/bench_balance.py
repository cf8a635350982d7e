"""Balance at scale beside scipy's connected components of the double cover.

python -m pytest tests/bench/bench_balance.py -m bench -s
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mapreroot import UprootedModel, uproot
from mapreroot.balance import balance, balancing_set, balancing_vertices
from mapreroot.generate import almost_balanced, hidden_root, planted_random
from mapreroot.roots import choose_root

pytestmark = pytest.mark.bench


def timed(name: str, call: Callable[[], Any]) -> Any:
    """Best of three runs in CPU seconds, after one that compiles."""
    answer, best = call(), np.inf
    for _ in range(3):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    print(f"{name:56s} {best:8.3f} s")
    return answer


def scipy_is_balanced(model: UprootedModel) -> bool:
    """No vertex may be joined to its own copy in the double cover."""
    n, (i, j), repulsive = model.n_vertices, model.edges.T, model.weights < 0
    rows = np.concatenate([i, i + n])
    cols = np.concatenate([j + n * repulsive, j + n * ~repulsive])
    cover = coo_array((np.ones(len(rows), dtype=np.int8), (rows, cols)), shape=(2 * n, 2 * n))
    _, part = connected_components(cover.tocsr(), directed=False)
    return not (part[:n] == part[n:]).any()


@pytest.mark.parametrize("m", [10**5, 10**6, 10**7])
def test_random_graph(m: int) -> None:
    model = uproot(planted_random(m // 2, degree=4, fields="none"))
    print(f"\n{m} random edges, balanced")
    assert timed("balance", lambda: balance(model).is_balanced)
    assert timed("scipy, double cover", lambda: scipy_is_balanced(model))
    assert len(timed("balancing_vertices", lambda: balancing_vertices(model))) == m // 2 + 1
    weights = model.weights.copy()
    weights[m // 2] *= -1
    almost = UprootedModel.from_canonical(model.n_vertices, model.edges, weights)
    print(f"{m} random edges, one sign wrong")
    assert len(timed("balancing_vertices", lambda: balancing_vertices(almost))) >= 2
    signs = np.random.default_rng(0).choice([-1.0, 1.0], m)
    frustrated = UprootedModel.from_canonical(model.n_vertices, model.edges, signs)
    print(f"{m} random edges, random signs")
    assert not timed("balance, with a cycle", lambda: balance(frustrated)).is_balanced
    assert timed("balancing_vertices", lambda: balancing_vertices(frustrated)) == []
    assert timed("balancing_set(2)", lambda: balancing_set(frustrated, 2)) is None


@pytest.mark.parametrize("n", [10**4, 10**5])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_almost_balanced(n: int, k: int) -> None:
    model = uproot(almost_balanced(n, k=k))
    print()
    found = timed(f"balancing_set({k}), {model.m} edges", lambda: balancing_set(model, k))
    assert len(found) == k


@pytest.mark.parametrize("side", [100, 300, 1000])
def test_hidden_root(side: int) -> None:
    model = uproot(hidden_root(side, side))
    print()
    choice = timed(f"choose_root, hidden root {side} x {side}", lambda: choose_root(model))
    assert choice.root == side // 2 * side + side // 2 + 1
