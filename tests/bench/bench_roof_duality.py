"""LOC by one minimum cut beside the bare engine and the linear program; reductions at scale.

The bare engine gets the arrays of the double cover for nothing: PyMaxflow's graph, its max-flow and
the segments are timed, in turns with ours.

python -m pytest tests/bench/bench_roof_duality.py -m bench -s
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from mapreroot import UprootedModel, uproot
from mapreroot.decomposition import blocks, recombine, reduce
from mapreroot.generate import grid, image, three_regular, tree
from mapreroot.relaxations.kernel import reduce_fully
from mapreroot.relaxations.roof_duality import best_loc_root, roof_dual

pytestmark = pytest.mark.bench


def timed(name: str, call: Callable[[], Any], runs: int = 3) -> tuple[Any, float]:
    """Best of some runs, in CPU seconds."""
    best = np.inf
    for _ in range(runs):
        start = time.process_time()
        answer = call()
        best = min(best, time.process_time() - start)
    print(f"{name:56s} {best:8.4f} s")
    return answer, best


def bare_engine(model: UprootedModel) -> Callable[[], float]:
    """PyMaxflow alone, on the arrays of the double cover rooted at 0, as floats."""
    maxflow = pytest.importorskip("maxflow")
    n, (i, j), W = model.n_vertices, model.edges.T, model.weights
    crossed, inner = (W < 0).astype(np.int64), i > 0
    tail, head = np.repeat(2 * i[inner], 2), np.repeat((2 * j + crossed)[inner], 2)
    tail[1::2] += 1
    head[1::2] ^= 1
    capacity = np.repeat(np.abs(W[inner]), 2)
    source, sink = np.zeros(2 * n), np.zeros(2 * n)
    source[(2 * j + crossed)[~inner]] = sink[(2 * j + 1 - crossed)[~inner]] = np.abs(W[~inner])

    def run() -> float:
        graph = maxflow.Graph[float](2 * n, len(tail))
        nodes = graph.add_grid_nodes(2 * n)
        graph.add_edges(tail, head, capacity, capacity)
        graph.add_grid_tedges(nodes, source, sink)
        flow = graph.maxflow()
        graph.get_grid_segments(nodes)
        return model.constant + float(-W[W < 0].sum() / 2 - flow / 4)

    return run


def linear_program(model: UprootedModel) -> float:
    """LOC at root 0 by HiGHS: the four triangle inequalities of every edge."""
    n, m = model.n_vertices, model.m
    e = np.arange(m)
    signs = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, 1]])
    columns = np.stack([model.edges[:, 0], model.edges[:, 1], n + e], axis=1)
    rows = np.repeat(np.arange(4 * m), 3)
    values = np.tile(signs.ravel(), m)
    A = coo_array((values, (rows, np.repeat(columns, 4, axis=0).ravel())), shape=(4 * m, n + m))
    right = np.tile([0, 0, 0, 2], m)
    bounds = np.tile([0.0, 1.0], (n + m, 1))
    bounds[0, 1] = 0
    cost = np.concatenate([np.zeros(n), model.weights / 2])
    found = linprog(cost, A_ub=A.tocsr(), b_ub=right, bounds=bounds, method="highs")
    assert found.status == 0
    return float(model.constant - found.fun)


@pytest.mark.parametrize("side", [64, 256, 1000])
@pytest.mark.parametrize("family", [grid, image])
def test_loc(family: Any, side: int) -> None:
    best_loc_root(uproot(grid(2, 2)))  # compiles
    model = uproot(family(side, side))
    print(f"\n{family.__name__} {side} x {side}")
    engine, ours, bare = bare_engine(model), np.inf, np.inf
    for _ in range(4):
        dual, taken = timed("roof_dual", lambda: roof_dual(model, 0), 1)
        ours = min(ours, taken)
        flow, taken = timed("PyMaxflow alone", engine, 1)
        bare = min(bare, taken)
    print(f"{'ratio':56s} {ours / bare:8.2f}")
    assert dual.bound == pytest.approx(flow, rel=1e-9)
    (_, _, flows), _ = timed("best_loc_root", lambda: best_loc_root(model), 1)
    assert flows <= 5
    if side == 64:
        value, peer = timed("HiGHS on the linear program", lambda: linear_program(model), 1)
        print(f"{'ratio':56s} {peer / ours:8.1f}")
        assert dual.bound == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("family", "size", "left"),
    [(image, (200, 200), 100), (image, (1000, 1000), 10_000), (three_regular, (10**6,), 400_000)],
)
def test_reduction(family: Any, size: tuple[int, ...], left: int) -> None:
    model = uproot(family(*size))
    reduce(model)
    print(f"\n{family.__name__} {size}: {model.n_vertices} vertices, {model.m} edges")
    reduction, _ = timed("reduce", lambda: reduce(model))
    print(f"{'  vertices left':56s} {reduction.kernel.n_vertices:8d}")
    if family is image:
        reduction, _ = timed("reduce_fully", lambda: reduce_fully(model))
        print(f"{'  vertices left':56s} {reduction.kernel.n_vertices:8d}")
    assert reduction.kernel.n_vertices <= left
    y = np.zeros(reduction.kernel.n_vertices, dtype=np.int8)
    restored, _ = timed("restore", lambda: reduction.restore(y))
    assert model.score(restored) == pytest.approx(reduction.kernel.score(y), rel=1e-9)


def test_a_forest_reduces_to_nothing() -> None:
    model = uproot(tree(10**6, fields="none"))
    reduce(model)
    print()
    reduction, _ = timed("reduce, random tree of 10^6 vertices", lambda: reduce(model))
    assert reduction.kernel.n_vertices == 0
    assert model.score(reduction.restore([])) == pytest.approx(reduction.kernel.constant)


def test_blocks_of_a_random_graph() -> None:
    rng = np.random.default_rng(0)
    n = 10**6
    ends = rng.integers(0, n, (2 * n, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    model = UprootedModel(n, ends, rng.normal(size=len(ends)))
    blocks(model)
    print()
    parts, _ = timed("blocks, 10^6 vertices, 2 x 10^6 edges", lambda: blocks(model))
    print(f"{'  blocks':56s} {len(parts):8d}")
    assert sum(part.model.m for part in parts) == model.m
    ys = [np.zeros(len(part.vertices), dtype=np.int8) for part in parts]
    y, _ = timed("recombine", lambda: recombine(n, parts, ys))
    assert not y.any()
