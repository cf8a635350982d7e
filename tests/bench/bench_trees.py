"""The online tree engine beside its peers: microseconds per update, marginal and trial.

python -m pytest tests/bench/bench_trees.py -m bench -s

CPU seconds of one core. Peers, all on the same tree in the same run: two-pass belief
propagation per trial (compiled, parents found beforehand), messages cached on the input
tree (the rake-only cover: the same compiled code, but climbing the tree itself), and
pyAgrum's exact inference where it is installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

from mapreroot.trees import OnlineSumProduct, TreeCover

pytestmark = pytest.mark.bench


@njit(cache=True)
def attached(n: int, draws: np.ndarray) -> np.ndarray:
    """Preferential attachment: a new vertex hangs from an end of a random edge."""
    parent, ends = np.zeros(n, np.int64), np.zeros(2 * n, np.int64)
    for v in range(1, n):
        parent[v] = ends[int(draws[v] * (2 * v - 1))]
        ends[2 * v - 1], ends[2 * v] = parent[v], v
    return parent[1:]


@njit(cache=True)
def decoded(code: np.ndarray) -> np.ndarray:
    """Tree of a Prüfer code, as edges."""
    n = len(code) + 2
    degree = np.ones(n, np.int64)
    for v in code:
        degree[v] += 1
    edges = np.empty((n - 1, 2), np.int64)
    first = 0
    while degree[first] != 1:
        first += 1
    leaf = first
    for i, v in enumerate(code):
        edges[i, 0], edges[i, 1] = leaf, v
        degree[v] -= 1
        if degree[v] == 1 and v < first:
            leaf = v
        else:
            first += 1
            while degree[first] != 1:
                first += 1
            leaf = first
    edges[n - 2, 0], edges[n - 2, 1] = leaf, n - 1
    return edges


def tree_of(family: str, n: int, rng: np.random.Generator) -> np.ndarray:
    v = np.arange(1, n)
    half = n // 2
    if family == "uniform":
        edges = decoded(rng.integers(0, n, n - 2))
    else:
        parent = {
            "path": lambda: v - 1,
            "star": lambda: 0 * v,
            "star-path": lambda: np.where(v < half, v - 1, half - 1),
            "caterpillar": lambda: np.maximum(0, v - 1 - v % 2),
            "binary": lambda: (v - 1) // 2,
            "recursive": lambda: (rng.random(n - 1) * v).astype(np.int64),
            "attachment": lambda: attached(n, rng.random(n)),
        }[family]()
        edges = np.stack([v, parent], axis=1)
    return rng.permutation(n)[edges][rng.permutation(n - 1)]


@njit(cache=True)
def two_pass(order, parent, factor, data, up, down, belief) -> None:
    """All marginals by one pass up and one down; order is parents first."""
    n, k = data.shape
    belief[:] = data
    for i in range(n - 1, 0, -1):
        v = order[i]
        total = 0.0
        for a in range(k):
            s = 0.0
            for b in range(k):
                s += factor[v, a, b] * belief[v, b]
            up[v, a] = s
            total += s
        largest = 0.0
        for a in range(k):
            up[v, a] /= total
            belief[parent[v], a] *= up[v, a]
            largest = max(largest, belief[parent[v], a])
        for a in range(k):
            belief[parent[v], a] /= largest
    for i in range(1, n):
        v = order[i]
        total = 0.0
        for b in range(k):
            s = 0.0
            for a in range(k):
                s += factor[v, a, b] * belief[parent[v], a] / up[v, a]
            down[v, b] = s
            total += s * belief[v, b]
        for b in range(k):
            belief[v, b] *= down[v, b] / total


@njit(cache=True)
def rooted_at_0(edges, start, neighbours, edge_of) -> tuple:
    n = len(start) - 1
    order, parent, above = np.zeros(n, np.int64), np.full(n, -1), np.full(n, -1)
    count = 1
    for i in range(n):
        v = order[i]
        for j in range(start[v], start[v + 1]):
            if neighbours[j] != parent[v]:
                parent[neighbours[j]], above[neighbours[j]] = v, edge_of[j]
                order[count] = neighbours[j]
                count += 1
    return order, parent, above


def belief_propagation(n, edges, factors, data) -> Callable[[], np.ndarray]:
    """Call two_pass on this tree: everything but the passes is done beforehand."""
    m = len(edges)
    ends = np.concatenate([edges[:, 0], edges[:, 1]])
    by_vertex = np.argsort(ends, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(ends, minlength=n)))
    neighbours = np.concatenate([edges[:, 1], edges[:, 0]])[by_vertex]
    order, parent, above = rooted_at_0(edges, start, neighbours, by_vertex % m)
    matrices = np.broadcast_to(factors, (m, *factors.shape[-2:]))[above]
    turned = edges[above, 0] != parent
    factor = np.where(turned[:, None, None], matrices.transpose(0, 2, 1), matrices)
    up, down, belief = (np.empty_like(data) for _ in range(3))

    def run() -> np.ndarray:
        two_pass(order, parent, factor, data, up, down, belief)
        belief[0] /= belief[0].sum()
        return belief

    return run


def seconds(call: Callable[[], object], repeat: int = 3) -> float:
    best = np.inf
    for _ in range(repeat):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def report(family: str, n: int, k: int, trials: int) -> None:
    """One line of the table; the engine and two-pass propagation must agree."""
    rng = np.random.default_rng(0)
    edges = tree_of(family, n, rng)
    shared = k >= 16
    factors = rng.random((k, k) if shared else (n - 1, k, k)) + 0.05
    data = rng.random((n, k)) + 0.01
    construction = seconds(lambda: OnlineSumProduct(n, edges, factors, data), 2)
    tree = OnlineSumProduct(n, edges, factors, data)
    run = belief_propagation(n, edges, factors, data)
    if n <= 10**5:  # at a hub of a million the passes, in plain doubles, underflow
        np.testing.assert_allclose(tree.marginals(), run(), rtol=1e-6, atol=1e-300)
    chunk = max(1, n // 100)
    vertices, rows = rng.integers(0, n, trials), rng.random((trials, k)) + 0.01

    def in_chunks() -> None:
        # Small batches are worked off one after another; see `batch` for a large one.
        for i in range(0, trials, chunk):
            tree.update_many(vertices[i : i + chunk], rows[i : i + chunk])

    held = [*vars(tree).values(), *vars(tree.cover).values(), *tree._records]
    arrays = [a for a in held if isinstance(a, np.ndarray) and a.base is None]
    figures = [
        seconds(in_chunks) / trials * 1e6,
        seconds(lambda: tree.marginal_many(vertices)) / trials * 1e6,
        seconds(lambda: tree.trial_many(vertices, rows)) / trials * 1e6,
        seconds(lambda: tree.update_many(vertices, rows)) / trials * 1e6,
        seconds(run) * 1e6,
    ]
    # The input tree may be as deep as n: then only a few trials can be waited for.
    other = TreeCover(n, edges, rake_only=not tree.cover.rake_only)
    few = int(min(trials, max(3, trials * 20 // max(20, other.height))))
    peer = OnlineSumProduct(n, edges, factors, data, other) if k < 16 else None
    climbing = np.nan
    if peer is not None:
        climbing = seconds(lambda: peer.trial_many(vertices[:few], rows[:few])) / few * 1e6
    print(
        f"{family:12s} {n:8d} {k:3d} {tree.cover.height:4d} "
        f"{'rake' if tree.cover.rake_only else 'both':5s}"
        f"{construction:7.2f} {sum(a.nbytes for a in arrays) / n:7.0f} "
        + " ".join(f"{figure:9.2f}" for figure in figures)
        + f" {climbing:10.2f} {figures[4] / figures[2]:9.0f}"
    )


HEADER = (
    "family              n   k    h cover  build  bytes    update  marginal     trial"
    "     batch  two-pass  other cov  speed-up"
)
FAMILIES = (
    "path", "star", "star-path", "caterpillar", "binary", "recursive", "uniform", "attachment",
)  # fmt: skip


@pytest.mark.parametrize("n", [10**3, 10**4, 10**5, 10**6])
def test_two_labels(n: int) -> None:
    print(f"\nbuild in s, all else in microseconds\n{HEADER}")
    for family in FAMILIES:
        report(family, n, 2, trials=200_000)


@pytest.mark.parametrize("n", [10**3, 10**4, 10**5, 10**6])
@pytest.mark.parametrize("k", [4, 16])
def test_more_labels(k: int, n: int) -> None:
    print(f"\nbuild in s, all else in microseconds\n{HEADER}")
    for family in FAMILIES:
        report(family, n, k, trials=50_000 if k == 4 else 5_000)


@pytest.mark.filterwarnings("ignore")
def test_pyagrum() -> None:
    gum = pytest.importorskip("pyagrum")
    n = 1000
    rng = np.random.default_rng(0)
    edges = tree_of("recursive", n, rng)
    # Means that keep all products near 1: pyAgrum's are plain doubles.
    factors, data = rng.random((n - 1, 2, 2)) + 0.05, rng.random((n, 2)) + 0.01
    factors /= factors.mean(axis=(1, 2), keepdims=True) * 2
    data /= data.mean(axis=1, keepdims=True)
    net = gum.MarkovRandomField()
    for v in range(n):
        net.add(gum.LabelizedVariable(str(v), "", 2))
    for (u, v), factor in zip(edges, factors, strict=True):
        table = net.addFactor([str(u), str(v)])
        for a in range(2):
            for b in range(2):
                table[{str(u): a, str(v): b}] = factor[a, b]
    engine = gum.ShaferShenoyMRFInference(net)
    for v in range(n):
        engine.addEvidence(v, data[v].tolist())
    engine.makeInference()
    trials = 3
    vertices = rng.integers(0, n, trials)
    rows = rng.dirichlet([1, 1], trials) * 2
    tree = OnlineSumProduct(n, edges, factors, data)
    expected = tree.trial_many(vertices, rows)
    start = time.process_time()
    for v, row, p in zip(vertices, rows, expected, strict=True):
        np.testing.assert_allclose(engine.posterior(int(v)).toarray(), p, rtol=1e-6)
        engine.chgEvidence(int(v), row.tolist())
        engine.makeInference()
    each = (time.process_time() - start) / trials * 1e6
    print(f"\npyAgrum, {n} vertices: {each:.0f} microseconds per trial")
