import itertools
from collections import defaultdict
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapreroot.decomposition import (
    Reduction,
    Step,
    block_counts,
    blocks,
    components,
    contract,
    recombine,
    reduce,
)
from mapreroot.errors import ModelError
from mapreroot.model import UprootedModel


def assignments(n):
    """All of them, up to flipping everything."""
    return [np.array((0, *bits), dtype=np.int8) for bits in itertools.product((0, 1), repeat=n - 1)]


def brute(uprooted):
    if uprooted.n_vertices == 0:
        return uprooted.constant
    return max(uprooted.score(y) for y in assignments(uprooted.n_vertices))


def exact_score(uprooted, y):
    terms = zip(uprooted.edges, uprooted.weights, strict=True)
    differ = sum((Fraction(w) for (i, j), w in terms if y[i] != y[j]), Fraction(0))
    return Fraction(uprooted.constant) - differ / 2


def random_model(rng, n, density, draw):
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    weights = [float(draw(rng)) for _ in pairs]
    return UprootedModel(n, np.array(pairs, dtype=int).reshape(-1, 2), weights, rng.normal())


DRAWS = {
    "gaussian": lambda rng: rng.normal(),
    "attractive": lambda rng: rng.random(),
    "repulsive": lambda rng: -rng.random(),
    "plus minus one": lambda rng: rng.choice([-1.0, 1.0]),
    "small integers": lambda rng: rng.integers(-3, 4),
    "tenths": lambda rng: rng.integers(-3, 4) / 10,
    "magnitudes": lambda rng: rng.choice([-1, 1]) * rng.choice([1e9, 1.0, 0.3, 1e-6]),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_optimum_is_kept_and_restored(draw):
    rng = np.random.default_rng(3)
    for trial in range(150):
        uprooted = random_model(rng, int(rng.integers(1, 9)), rng.random(), draw)
        reduction = reduce(uprooted)
        kernel = reduction.kernel
        close = pytest.approx(brute(uprooted), rel=1e-12, abs=1e-12)
        assert brute(kernel) == close, trial
        best = max(assignments(kernel.n_vertices), key=kernel.score) if kernel.n_vertices else []
        assert uprooted.score(reduction.restore(best)) == close, trial


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(DRAWS)))
def test_every_kernel_assignment_is_extended_optimally(seed, name):
    rng = np.random.default_rng(seed)
    uprooted = random_model(rng, int(rng.integers(1, 8)), rng.random(), DRAWS[name])
    reduction = reduce(uprooted)
    best = defaultdict(lambda: -np.inf)
    for y in itertools.product((0, 1), repeat=uprooted.n_vertices):
        part = tuple(y[v] for v in reduction.vertices)
        best[part] = max(best[part], uprooted.score(y))
    for part, score in best.items():
        y = reduction.restore(np.array(part, dtype=np.int8))
        assert tuple(y[reduction.vertices]) == part
        assert uprooted.score(y) == pytest.approx(score, rel=1e-12, abs=1e-12)
        assert reduction.kernel.score(part) == pytest.approx(score, rel=1e-12, abs=1e-12)


def replay(uprooted, steps):
    """Apply the recorded steps to exact numbers, checking that each rule applies."""
    W = {v: {} for v in range(uprooted.n_vertices)}
    for (i, j), w in zip(uprooted.edges.tolist(), uprooted.weights, strict=True):
        W[i][j] = W[j][i] = Fraction(w)
    constant, dropped = Fraction(uprooted.constant), Fraction(0)

    def add(i, j, w):
        W[i][j] = W[j][i] = W[i].get(j, Fraction(0)) + w
        if W[i][j] == 0:
            del W[i][j], W[j][i]

    def remove(v):
        for j in W[v]:
            del W[j][v]
        del W[v]

    for kind, u, *literals in steps.tolist():
        ends = [(a >> 1, a & 1) for a in literals if a >= 0]
        if kind == Step.FREE:
            assert W[u] == {}
            del W[u]
        elif kind in (Step.TIED, Step.GIVEN):
            ((v, flip),) = ends
            if kind == Step.TIED:
                assert any(2 * abs(W[u][v]) >= sum(map(abs, W[x].values())) for x in (u, v))
                assert (W[u][v] < 0) == flip
            edges = W[u].copy()
            remove(u)
            for x, w in edges.items():
                constant -= flip * w / 2
                if x != v:
                    add(v, x, -w if flip else w)
        elif kind == Step.MAJORITY:
            assert {v: w < 0 for v, w in W[u].items()} == dict(ends)
            size = {v: abs(w) for v, w in W[u].items()}
            assert all(2 * s < sum(size.values()) for s in size.values())
            remove(u)
            constant += sum(size[v] for v, flip in ends if flip) / 2
            for (v, f), (x, g) in itertools.combinations(ends, 2):
                w = size[v] + size[x] - sum(size.values()) / 2
                constant -= w / 2 if f != g else 0
                add(v, x, -w if f != g else w)
        else:
            assert kind == Step.DROPPED
            ((v, _),) = ends
            dropped += abs(W[u][v])
            del W[u][v], W[v][u]
    return W, constant, dropped


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_steps_replay_on_exact_numbers(draw):
    rng = np.random.default_rng(5)
    kinds = set()
    for _ in range(40):
        uprooted = random_model(rng, 14, rng.choice([0.2, 0.35, 0.5]), draw)
        reduction = reduce(uprooted)
        W, constant, dropped = replay(uprooted, reduction.steps)
        kinds |= set(reduction.steps[:, 0].tolist())
        assert sorted(W) == reduction.vertices.tolist()
        assert float(constant) == pytest.approx(reduction.kernel.constant, rel=2**-52)
        assert dropped <= 1e-12 * np.abs(uprooted.weights).min(initial=np.inf)
        found = {
            (int(reduction.vertices[i]), int(reduction.vertices[j])): w
            for (i, j), w in zip(reduction.kernel.edges, reduction.kernel.weights, strict=True)
        }
        expected = {(i, j): float(w) for i in W for j, w in W[i].items() if i < j}
        # To the last place, each at its own scale.
        assert found == pytest.approx(expected, rel=1e-15, abs=0)
        assert list(found) == sorted(found)
    assert {Step.FREE, Step.TIED, Step.MAJORITY} <= kinds


def test_nothing_reducible_is_left():
    rng = np.random.default_rng(6)
    left = 0
    for _ in range(30):
        kernel = reduce(
            random_model(rng, 40, rng.choice([0.1, 0.2, 0.5]), DRAWS["gaussian"])
        ).kernel
        size = np.zeros((kernel.n_vertices, kernel.n_vertices))
        i, j = kernel.edges.T
        size[i, j] = size[j, i] = np.abs(kernel.weights)
        assert ((size > 0).sum(axis=1) >= 4).all()
        assert (2 * size.max(axis=1, initial=0) < size.sum(axis=1)).all()
        left += kernel.n_vertices
    assert left > 100


def test_hubs_are_reduced_to_the_end():
    # Around vertices of high degree, visits are postponed: they must still come.
    rng = np.random.default_rng(7)
    n = 500
    rim = np.stack([np.arange(1, n - 1), np.arange(2, n)], axis=1)
    spokes = np.stack([np.zeros(n - 1, int), np.arange(1, n)], axis=1)
    twins = np.stack([np.ones(n - 2, int), np.arange(2, n)], axis=1)
    for edges in (np.vstack([rim, spokes]), np.vstack([spokes[1:], twins])):
        uprooted = UprootedModel(n, edges, rng.normal(size=len(edges)))
        reduction = reduce(uprooted)
        assert reduction.kernel.n_vertices == 0
        assert uprooted.score(reduction.restore([])) == pytest.approx(reduction.kernel.constant)


@pytest.mark.parametrize("name", ["gaussian", "plus minus one", "attractive"])
def test_a_ladder_and_every_k4_are_solved_in_closed_form(name):
    rng = np.random.default_rng(8)
    k4 = random_model(rng, 4, 2.0, DRAWS[name])
    assert reduce(k4).kernel.n_vertices == 0
    assert reduce(k4).kernel.constant == pytest.approx(brute(k4))
    ladder = nx.convert_node_labels_to_integers(nx.ladder_graph(300))
    weights = [DRAWS[name](rng) for _ in ladder.edges]
    assert reduce(UprootedModel(600, list(ladder.edges), weights)).kernel.n_vertices == 0


def grid(rows, columns):
    site = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([site[:, :-1].ravel(), site[:, 1:].ravel()], axis=1)
    down = np.stack([site[:-1].ravel(), site[1:].ravel()], axis=1)
    return np.vstack([across, down])


def test_a_grid_keeps_its_scores():
    rng = np.random.default_rng(9)
    edges = grid(64, 64)
    uprooted = UprootedModel(64 * 64, edges, rng.normal(size=len(edges)), 2.5)
    reduction = reduce(uprooted)
    assert 0 < reduction.kernel.n_vertices < 64 * 64
    for _ in range(5):
        y = rng.integers(0, 2, reduction.kernel.n_vertices)
        restored = reduction.restore(y)
        assert np.array_equal(restored[reduction.vertices], y)
        assert uprooted.score(restored) == pytest.approx(reduction.kernel.score(y), rel=1e-12)


def test_small_weights_survive_the_cancellation_of_large_ones():
    rng = np.random.default_rng(10)
    solved = 0
    for _ in range(300):
        uprooted = random_model(
            rng, 8, 0.4, lambda rng: rng.choice([-1, 1]) * rng.choice([1e18, 3e17, 0.2, 0.7])
        )
        reduction = reduce(uprooted)
        if reduction.kernel.n_vertices == 0:
            solved += 1
            best = max(exact_score(uprooted, y) for y in assignments(8))
            assert exact_score(uprooted, reduction.restore([])) == best
    assert solved > 200


def test_a_weight_hidden_below_the_last_place_decides():
    # y_1 and y_2 are tied by 1e30; seen from there, the pulls of 1e18 on y_3 cancel.
    edges = [(1, 2), (0, 3), (1, 3), (2, 3)]
    uprooted = UprootedModel(4, edges, [1e30, -0.2, 1e18, -1e18])
    y = reduce(uprooted).restore([])
    assert y[1] == y[2]
    assert y[0] != y[3]


def test_noise_of_cancellation_is_dropped_and_recorded():
    assert 0.1 + 0.2 - 0.3 != 0
    k6 = list(itertools.combinations(range(6), 2))
    # Three vertices given as equal have a cancelling sum of edges to vertex 3 only.
    weights = dict.fromkeys(k6, 1.0) | {(0, 3): 0.1, (1, 3): 0.2, (2, 3): -0.3}
    uprooted = UprootedModel(6, k6, list(weights.values()))
    reduction = contract(uprooted, [-1, 0, 0, -1, -1, -1])
    assert [0, 1] not in reduction.kernel.edges.tolist()
    dropped = reduction.steps[reduction.steps[:, 0] == Step.DROPPED]
    assert {tuple(sorted((u, a >> 1))) for _, u, a, _, _ in dropped.tolist()} == {(0, 3)}
    beside_a_tiny_one = UprootedModel(6, k6, [*list(weights.values())[:-1], 1e-9])
    assert [0, 1] in contract(beside_a_tiny_one, [-1, 0, 0, -1, -1, -1]).kernel.edges.tolist()


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_contraction_keeps_the_scores_of_what_respects_the_ties(draw):
    rng = np.random.default_rng(11)
    for rules in (contract, reduce):
        for _ in range(30):
            uprooted = random_model(rng, 8, rng.random(), draw)
            tied = np.full(8, -1)
            tied[[2, 5, 6]] = 2 * np.array([0, 0, 7]) + rng.integers(0, 2, 3)
            respects = [
                y
                for y in assignments(8)
                if all(y[u] == y[a >> 1] ^ (a & 1) for u, a in enumerate(tied) if a >= 0)
            ]
            reduction = rules(uprooted, tied)
            rounding = 1e-15 * np.abs(uprooted.weights).sum()
            best = max(map(uprooted.score, respects))
            assert brute(reduction.kernel) == pytest.approx(best, rel=1e-12, abs=rounding)
            if rules is contract:
                assert reduction.vertices.tolist() == [0, 1, 3, 4, 7]
            for y in itertools.product((0, 1), repeat=reduction.kernel.n_vertices):
                full = reduction.restore(np.array(y, dtype=np.int8))
                assert any(np.array_equal(full ^ full[0], z) for z in respects)
                assert uprooted.score(full) == pytest.approx(
                    reduction.kernel.score(y), rel=1e-12, abs=rounding
                )


def test_reductions_compose():
    rng = np.random.default_rng(12)
    uprooted = random_model(rng, 12, 0.9, DRAWS["gaussian"])
    first = contract(uprooted, [-1, 0, -1, 5, *[-1] * 8])
    both = first.then(reduce(first.kernel))
    y = rng.integers(0, 2, both.kernel.n_vertices)
    full = both.restore(y)
    assert uprooted.score(full) == pytest.approx(both.kernel.score(y))
    assert (full[1], full[3]) == (full[0], 1 - full[2])
    W, constant, _ = replay(uprooted, both.steps)
    assert sorted(W) == both.vertices.tolist()
    assert float(constant) == pytest.approx(both.kernel.constant)
    with pytest.raises(ModelError, match="a reduction of 12 vertices cannot follow"):
        first.then(first)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_models_without_edges(n):
    uprooted = UprootedModel(n, [], [], 0.75)
    reduction = reduce(uprooted)
    assert reduction.kernel.n_vertices == 0
    assert reduction.kernel.constant == 0.75
    assert reduction.restore([]).tolist() == [0] * n
    assert blocks(uprooted) == []
    assert recombine(n, [], []).tolist() == [0] * n
    assert components(uprooted)[0] == n
    assert block_counts(uprooted).tolist() == [0] * n


def test_results_are_read_only():
    uprooted = UprootedModel(6, list(itertools.combinations(range(6), 2)), [-1.0] * 15)
    reduction = reduce(uprooted)
    assert isinstance(reduction, Reduction)
    for array in (reduction.vertices, reduction.steps, blocks(uprooted)[0].vertices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("tied", "message"),
    [
        ([-1, -1], r"shape \(2,\)"),
        ([-1.0, 0.0, -1.0], "type float64"),
        ([-2, -1, -1], r"tied\[0\] is -2: expected -1 or a literal below 6"),
        ([-1, -1, 6], r"tied\[2\] is 6"),
        ([-1, 3, -1], "vertex 1 is tied to vertex 1, which is tied itself"),
        ([-1, 0, 2], "vertex 2 is tied to vertex 1, which is tied itself"),
    ],
)
def test_wrong_ties_are_named(tied, message):
    with pytest.raises(ModelError, match=message):
        contract(UprootedModel(3, [(0, 1), (1, 2)], [1.0, 1.0]), tied)


def test_wrong_kernel_assignments_are_named():
    reduction = contract(UprootedModel(3, [(0, 1), (1, 2)], [1.0, 1.0]), [-1, -1, -1])
    with pytest.raises(ModelError, match=r"y has shape \(2,\): expected \(3,\)"):
        reduction.restore([0, 1])
    with pytest.raises(ModelError, match="other than 0 and 1"):
        reduction.restore([0, 1, 2])


def sparse_model(rng, n):
    graph = nx.gnm_random_graph(n, int(rng.integers(0, 2 * n)), seed=int(rng.integers(2**31)))
    return graph, UprootedModel(
        n,
        np.array(graph.edges).reshape(-1, 2).astype(int),
        rng.normal(size=graph.number_of_edges()),
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_blocks_and_components_are_those_of_networkx(seed, n):
    graph, uprooted = sparse_model(np.random.default_rng(seed), n)
    parts = blocks(uprooted)
    expected = sorted(sorted(part) for part in nx.biconnected_components(graph))
    assert sorted(block.vertices.tolist() for block in parts) == expected
    edges = {}
    for block in parts:
        model = block.model
        assert model.n_vertices == len(block.vertices)
        assert model.constant == 0
        assert model.edges.tolist() == sorted(model.edges.tolist())
        for (i, j), w in zip(block.vertices[model.edges].tolist(), model.weights, strict=True):
            edges[i, j] = w
    assert edges == dict(zip(map(tuple, uprooted.edges.tolist()), uprooted.weights, strict=True))
    counts = np.bincount([v for part in expected for v in part], minlength=n)
    assert block_counts(uprooted).tolist() == counts.tolist()
    count, label = components(uprooted)
    assert count == nx.number_connected_components(graph)
    first = np.unique(label, return_index=True)[1]
    assert first.tolist() == sorted(first.tolist())
    for part in nx.connected_components(graph):
        assert len(set(label[list(part)])) == 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 10))
def test_best_blocks_recombine_to_the_best_whole(seed, n):
    rng = np.random.default_rng(seed)
    _, uprooted = sparse_model(rng, n)
    parts = blocks(uprooted)
    ys = []
    for block in parts:
        best = max(assignments(block.model.n_vertices), key=block.model.score)
        ys.append(best ^ rng.integers(0, 2, dtype=np.int8))  # the gauge is free
    y = recombine(n, parts, ys)
    total = sum(block.model.score(z) for block, z in zip(parts, ys, strict=True))
    assert uprooted.score(y) == pytest.approx(uprooted.constant + total)
    assert uprooted.score(y) == pytest.approx(brute(uprooted))


def test_wrong_block_assignments_are_named():
    parts = blocks(UprootedModel(3, [(0, 1), (1, 2)], [1.0, 1.0]))
    with pytest.raises(ModelError, match="1 assignments for 2 blocks"):
        recombine(3, parts, [[0, 0]])
    with pytest.raises(ModelError, match=r"ys\[1\] has shape \(3,\): block 1 has 2 vertices"):
        recombine(3, parts, [[0, 0], [0, 0, 0]])
