import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from mapreroot import memory
from mapreroot.decomposition import components, contract, reduce
from mapreroot.errors import ModelError, SizeError, SolverError
from mapreroot.generate import image
from mapreroot.limits import Limits
from mapreroot.model import Model, UprootedModel
from mapreroot.relaxations import roof_duality
from mapreroot.relaxations.kernel import persistent_ties, reduce_fully
from mapreroot.relaxations.roof_duality import (
    best_loc_root,
    loc_by_root,
    persistent_labels,
    roof_dual,
)
from mapreroot.rerooting import uproot

DRAWS = {
    "gaussian": lambda rng: rng.normal(),
    "attractive": lambda rng: rng.random(),
    "repulsive": lambda rng: -rng.random(),
    "near attractive": lambda rng: rng.random() - 0.1,
    "plus minus one": lambda rng: rng.choice([-1.0, 1.0]),
    "small integers": lambda rng: rng.integers(-3, 4),
    "magnitudes": lambda rng: rng.choice([-1, 1]) * rng.choice([1e9, 1.0, 0.3, 1e-6]),
    "extremes": lambda rng: rng.choice([-1, 1]) * rng.choice([1e18, 3e17, 1.0, 0.3]),
}


def random_model(rng, n, density, draw):
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
    weights = [float(draw(rng)) for _ in pairs]
    return UprootedModel(n, np.array(pairs, dtype=int).reshape(-1, 2), weights, rng.normal())


def loc_by_lp(uprooted, root):
    """LOC of M_root as a linear program in d_rj and d_ij."""
    n, m = uprooted.n_vertices, uprooted.m
    rows, right = [], []
    for e, (i, j) in enumerate(uprooted.edges):
        for a, b, c in [(1, -1, -1), (-1, 1, -1), (-1, -1, 1), (1, 1, 1)]:
            row = np.zeros(n + m)
            row[[i, j, n + e]] = a, b, c
            rows.append(row)
            right.append(2 if a == b == c else 0)
    limits = [(0, 0) if v == root else (0, 1) for v in range(n + m)]
    cost = np.concatenate([np.zeros(n), uprooted.weights / 2])
    found = linprog(cost, A_ub=rows or None, b_ub=right or None, bounds=limits, method="highs")
    assert found.status == 0
    return uprooted.constant - found.fun


def exact_optima(uprooted):
    """The best of all assignments with y_0 = 0, in rational arithmetic."""
    half = [
        (i, j, Fraction(w) / 2) for (i, j), w in zip(uprooted.edges, uprooted.weights, strict=True)
    ]
    scores = {
        (0, *y): -sum(w for i, j, w in half if (0, *y)[i] != (0, *y)[j])
        for y in itertools.product((0, 1), repeat=uprooted.n_vertices - 1)
    }
    best = max(scores.values())
    return np.array([y for y, score in scores.items() if score == best], dtype=np.int8)


@pytest.mark.parametrize("name", [name for name in DRAWS if name != "extremes"])
@pytest.mark.parametrize("density", [0.2, 0.5, 1.0])
def test_the_bound_is_the_lp_optimum(name, density):
    rng = np.random.default_rng(1)
    for _ in range(8):
        uprooted = random_model(rng, int(rng.integers(1, 12)), density, DRAWS[name])
        root = int(rng.integers(uprooted.n_vertices))
        dual = roof_dual(uprooted, root)
        size = np.abs(uprooted.weights).max(initial=1.0)
        assert dual.bound == pytest.approx(loc_by_lp(uprooted, root), rel=1e-9, abs=1e-9 * size)


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(DRAWS)), st.booleans())
def test_d_is_a_half_integral_optimum(seed, name, weak):
    rng = np.random.default_rng(seed)
    uprooted = random_model(rng, int(rng.integers(1, 15)), rng.random(), DRAWS[name])
    root = int(rng.integers(uprooted.n_vertices))
    dual = roof_dual(uprooted, root, weak=weak)
    assert set(dual.d.tolist()) <= {0.0, 0.5, 1.0}
    assert dual.d[root] == 0
    known = dual.weak >= 0
    assert (dual.d[known] == dual.weak[known]).all()
    assert (dual.d[~known] == 0.5).all()
    on_edges = dual.on_edges(uprooted)
    (i, j), d = uprooted.edges.T, dual.d
    assert (on_edges <= np.minimum(d[i] + d[j], 2 - d[i] - d[j])).all()
    assert (on_edges >= np.abs(d[i] - d[j])).all()
    value = uprooted.constant - uprooted.weights @ on_edges / 2
    assert dual.bound == pytest.approx(value, abs=1e-12 * np.abs(uprooted.weights).sum() + 1e-12)


@pytest.mark.parametrize("name", DRAWS)
def test_labels_are_persistent_in_exact_arithmetic(name):
    rng = np.random.default_rng(2)
    strong_labels = extra = 0
    for _ in range(120):
        uprooted = random_model(rng, int(rng.integers(2, 8)), rng.random(), DRAWS[name])
        optima = exact_optima(uprooted)
        for root in range(0, uprooted.n_vertices, 2):
            dual = roof_dual(uprooted, root, weak=True)
            relative = optima ^ optima[:, [root]]
            strong, weak = dual.strong >= 0, dual.weak >= 0
            assert (relative[:, strong] == dual.strong[strong]).all()
            assert (relative[:, weak] == dual.weak[weak]).all(axis=1).any()
            assert (dual.weak[strong] == dual.strong[strong]).all()
            strong_labels += strong.sum() - 1
            extra += weak.sum() - strong.sum()
    assert strong_labels > 50
    if name in ("plus minus one", "small integers"):
        assert extra > 50


def test_labels_are_an_autarky():
    # Writing the labels over any assignment never lowers its score.
    rng = np.random.default_rng(3)
    for name in ("gaussian", "near attractive", "plus minus one", "small integers"):
        for _ in range(25):
            uprooted = random_model(rng, 7, 0.6, DRAWS[name])
            root = int(rng.integers(7))
            dual = roof_dual(uprooted, root, weak=True)
            for labels in (dual.strong, dual.weak):
                for y in itertools.product((0, 1), repeat=7):
                    better = np.where(labels >= 0, labels ^ y[root], y)
                    assert uprooted.score(better) >= uprooted.score(y) - 1e-12


def test_magnitudes_far_apart_never_fix_a_small_part_wrongly(shared):
    cases = json.loads((shared / "cases" / "cases.json").read_text())
    cases = cases if isinstance(cases, list) else cases["cases"]
    (case,) = [case for case in cases if case["id"] == "MR-046"]
    linear, quadratic = case["input"]["linear"], case["input"]["quadratic"]
    names = list(linear)
    Q = np.zeros((3, 3))
    Q[np.diag_indices(3)] = list(linear.values())
    for a, b, w in quadratic:
        Q[names.index(a), names.index(b)] = w
    uprooted = uproot(Model.from_qubo(Q, constant=case["input"]["offset"]))
    c = names.index("c") + 1
    for root in range(4):
        for weak in (False, True):
            labels = roof_dual(uprooted, root, weak=weak).weak
            if labels[0] >= 0 and labels[c] >= 0:
                assert labels[c] == labels[0]  # x_c = 0
    y = reduce_fully(uprooted).restore([])
    x = dict(zip(names, (y[1:] ^ y[0]).tolist(), strict=True))
    assert x == case["expected"]["optimum"]


def test_rounded_capacities_leave_room_around_labels():
    # Without springs the engine sees 1e18 - 1e18 = 0 here, and 0.2 not at all.
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (0, 3)]
    uprooted = UprootedModel(4, edges, [1e18, 1e18, 1e18, -1e18, -0.2, 0.2])
    optima = exact_optima(uprooted)
    for root in range(4):
        dual = roof_dual(uprooted, root, weak=True)
        known = dual.weak >= 0
        assert ((optima ^ optima[:, [root]])[:, known] == dual.weak[known]).all()


@pytest.mark.parametrize("name", ["gaussian", "near attractive", "plus minus one", "attractive"])
def test_the_best_root_takes_few_flows(name):
    rng = np.random.default_rng(4)
    for n in (1, 5, 30):
        uprooted = random_model(rng, n, 0.3, DRAWS[name])
        every = loc_by_root(uprooted, range(n))
        root, dual, flows = best_loc_root(uprooted)
        assert dual.root == root
        assert dual.bound == pytest.approx(every.min(), rel=1e-8)
        assert dual.bound == every[root]
        assert flows <= 8
        some = [n - 1, n // 2]
        root, dual, _ = best_loc_root(uprooted, some)
        assert root in some
        assert dual.bound == pytest.approx(every[some].min(), rel=1e-8)


def test_loc_is_exact_where_the_rooted_model_is_balanced():
    rng = np.random.default_rng(5)
    edges = [(i, j) for i in range(1, 8) for j in range(i + 1, 8)]
    spokes = [(0, j) for j in range(1, 8)]
    weights = np.concatenate([rng.random(len(edges)), rng.normal(size=7)])
    uprooted = UprootedModel(8, edges + spokes, weights)
    dual = roof_dual(uprooted, 0)
    assert (dual.strong >= 0).all()
    assert dual.bound == pytest.approx(uprooted.score(dual.strong))


def test_several_roots_share_a_cut():
    rng = np.random.default_rng(6)
    parts = [random_model(rng, 6, 0.9, DRAWS["near attractive"]) for _ in range(3)]
    edges = np.vstack([part.edges + 6 * k for k, part in enumerate(parts)])
    whole = UprootedModel(18, edges, np.concatenate([part.weights for part in parts]))
    assert components(whole)[0] == 3
    labels = persistent_labels(whole, [0, 8, 17])
    expected = [roof_dual(part, r).strong for part, r in zip(parts, (0, 2, 5), strict=True)]
    assert labels.tolist() == np.concatenate(expected).tolist()
    assert (labels >= 0).sum() > 3


def test_ties_of_a_dual_can_be_contracted():
    uprooted = random_model(np.random.default_rng(7), 8, 1.0, DRAWS["near attractive"])
    dual = roof_dual(uprooted, 3)
    reduction = contract(uprooted, dual.tied)
    assert reduction.kernel.n_vertices == 8 - (dual.strong >= 0).sum() + 1
    best = max(itertools.product((0, 1), repeat=8), key=uprooted.score)
    small = max(
        itertools.product((0, 1), repeat=reduction.kernel.n_vertices), key=reduction.kernel.score
    )
    assert uprooted.score(reduction.restore(small)) == pytest.approx(uprooted.score(best))


def test_a_root_that_is_no_vertex_is_named():
    path = UprootedModel(3, [(0, 1)], [1.0])
    with pytest.raises(ModelError, match=r"no vertex 3: the model has 0\.\.2"):
        roof_dual(path, 3)
    with pytest.raises(ModelError, match="no vertex -1"):
        loc_by_root(path, [-1])
    with pytest.raises(ModelError, match="no root to choose from"):
        best_loc_root(path, [])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("edge", [0, 1])
def test_weights_that_would_hang_the_engine_are_refused(bad, edge):
    weights = np.array([1.0, -2.0])
    weights[edge] = bad
    broken = UprootedModel.from_canonical(3, np.array([[0, 1], [1, 2]]), weights)
    with pytest.raises(SolverError, match="not finite"):
        roof_dual(broken, 0)


def test_wrong_labels_do_not_pass(monkeypatch):
    uprooted = random_model(np.random.default_rng(8), 8, 1.0, DRAWS["attractive"])

    def answer(side):
        monkeypatch.setattr(roof_duality, "min_cut", lambda *_: (0.0, np.array(side)))
        return roof_dual(uprooted, 0)

    right = [False, True] * 8
    assert (answer(right).strong == 0).all()
    with pytest.raises(SolverError, match="taken together"):
        answer(right[:2] + [True, False] * 7)
    with pytest.raises(SolverError, match="the label of vertex 5 fails its check"):
        answer([*right[:10], True, False, *right[12:]])
    with pytest.raises(SolverError, match="fails its check"):
        answer([False, True, False, True] + [False] * 12)


@pytest.mark.parametrize("name", DRAWS)
def test_the_kernel_keeps_the_optimum(name):
    rng = np.random.default_rng(9)
    for _ in range(60):
        uprooted = random_model(rng, int(rng.integers(1, 9)), rng.random(), DRAWS[name])
        optima = exact_optima(uprooted)
        reduction = reduce_fully(uprooted)
        kernel = reduction.kernel
        y = exact_optima(kernel)[0] if kernel.n_vertices else []
        best = uprooted.score(optima[0])
        rounding = 1e-15 * np.abs(uprooted.weights).sum()
        assert uprooted.score(reduction.restore(y)) == pytest.approx(best, rel=1e-12, abs=rounding)
        assert kernel.score(y) == pytest.approx(best, rel=1e-12, abs=rounding)
        if kernel.n_vertices == 0:
            found = reduction.restore([])
            assert (found ^ found[0]).tolist() in optima.tolist()


def test_blocks_are_rooted_apart():
    # Two cliques that share vertex 4, each held together at its own heavy vertex only.
    rng = np.random.default_rng(10)
    edges, weights = [], []
    for heavy, members in ((0, range(5)), (8, range(4, 9))):
        for i, j in itertools.combinations(members, 2):
            edges.append((i, j))
            weights.append(3.0 if heavy in (i, j) else rng.choice([-1.0, 1.0]) * 0.9)
    uprooted = UprootedModel(9, edges, weights)
    tied = persistent_ties(uprooted)
    first = np.where(tied >= 0, tied >> 1, np.arange(9))
    assert first.tolist() == [0] * 9


def test_little_is_left_of_an_image_with_fields():
    uprooted = uproot(image(100, 100, seed=2))
    assert reduce(uprooted).kernel.n_vertices > 1000
    reduction = reduce_fully(uprooted)
    assert reduction.kernel.n_vertices < 50
    y = np.zeros(reduction.kernel.n_vertices, dtype=np.int8)
    assert uprooted.score(reduction.restore(y)) == pytest.approx(reduction.kernel.score(y))


def test_a_limit_that_has_passed_leaves_the_plain_reduction():
    uprooted = random_model(np.random.default_rng(12), 30, 1.0, DRAWS["attractive"])
    assert reduce_fully(uprooted).kernel.n_vertices == 0
    assert reduce_fully(uprooted, Limits(seconds=0.0)).kernel.n_vertices == 30


@pytest.mark.parametrize("power", [-1000, -60, 60, 900])
def test_answers_are_scale_free(power):
    rng = np.random.default_rng(13)
    for name in ("gaussian", "plus minus one"):
        uprooted = random_model(rng, 9, 0.7, DRAWS[name])
        plain = UprootedModel(9, uprooted.edges, uprooted.weights)
        scaled = UprootedModel(9, uprooted.edges, np.ldexp(uprooted.weights, power))
        one, other = roof_dual(plain, 2, weak=True), roof_dual(scaled, 2, weak=True)
        assert other.bound == np.ldexp(one.bound, power)
        assert other.weak.tolist() == one.weak.tolist()
        small, large = reduce_fully(plain), reduce_fully(scaled)
        assert large.steps.tolist() == small.steps.tolist()
        assert large.kernel.constant == np.ldexp(small.kernel.constant, power)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DRAWS if name != "extremes"])
def test_thousands_of_kernels_keep_the_optimum(name):
    rng = np.random.default_rng(14)
    every = {n: np.array(list(itertools.product((0, 1), repeat=n))) for n in range(11)}

    def best(model):
        y = every[model.n_vertices]
        i, j = model.edges.T
        scores = model.constant - (y[:, i] != y[:, j]) @ model.weights / 2
        return scores.max(), y[scores.argmax()]

    for _ in range(1000):
        uprooted = random_model(rng, int(rng.integers(1, 11)), rng.random(), DRAWS[name])
        expected, _ = best(uprooted)
        rounding = 1e-13 * (1 + np.abs(uprooted.weights).sum())
        for reduction in (reduce(uprooted), reduce_fully(uprooted)):
            score, y = best(reduction.kernel)
            assert score == pytest.approx(expected, abs=rounding)
            assert uprooted.score(reduction.restore(y)) == pytest.approx(expected, abs=rounding)


def test_a_forecast_of_memory(monkeypatch):
    model = UprootedModel(3, [(0, 1), (1, 2), (0, 2)], [-2.0] * 3)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: 1000)
    with pytest.raises(SizeError, match=r"LOC of 3 vertices and 3 edges needs about .* free"):
        roof_dual(model, 0)
