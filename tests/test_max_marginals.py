"""Max-marginals: every route against enumeration, and intervals that hold."""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
import strategies
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assignments

from mapreroot import (
    MaxMarginals,
    Model,
    ModelError,
    SolverError,
    UprootedModel,
    marginals,
    max_marginals,
    solve,
    uproot,
)
from mapreroot.constraints import possible_values
from mapreroot.exact.cut_margins import cut_margins
from mapreroot.exact.detours import detours
from mapreroot.limits import Limits, StopReason
from mapreroot.marginals.max_product import elimination_order, max_product
from mapreroot.relaxations.clamped_roof_duals import clamped_cycle_bounds, clamped_roof_duals
from mapreroot.relaxations.roof_duality import roof_dual
from mapreroot.relaxations.tri import tri

Floats = npt.NDArray[np.float64]
module = importlib.import_module("mapreroot.max_marginals")
ROUTES = ("whole", "blocks", "flow", "loc", "tri", "first tri", "search")


def brute(model: Model) -> Floats:
    xs = assignments(model.n)
    scores = np.asarray(model.score(xs))
    best = [[scores[xs[:, i] == a].max() for a in (0, 1)] for i in range(model.n)]
    return np.array(best).reshape(-1, 2)


def by_route(model: Model, route: str) -> MaxMarginals:
    """Take one way on purpose that large models take of need."""
    with pytest.MonkeyPatch.context() as patch:
        if route != "whole":
            patch.setattr(module, "SMALL", 0)
            patch.setattr(module, "NUMBERS_PER_VERTEX", 0)
        if route in ("whole", "blocks"):
            return max_marginals(model)
        if route != "flow":
            patch.setattr(module, "balanced_rooting", lambda *_: None)
        return max_marginals(
            model,
            bound="tri" if route in ("flow", "first tri") else route,  # type: ignore[arg-type]
            entries=0,
            nodes=0 if route == "first tri" else None,
        )


def check(model: Model, result: MaxMarginals, all_exact: bool) -> None:
    true = brute(model)
    slack = 1e-8 * max(1.0, float(np.abs(model.weights).max(initial=0.0)))
    assert result.score == model.score(result.x)
    assert (result.scores_low <= true + slack).all()
    assert (result.scores_high >= true - slack).all()
    at = np.arange(model.n)
    margin = true[at, result.x] - true[at, 1 - result.x]
    assert (result.margin <= margin + slack).all()
    e = result.exact
    assert e.all() or not all_exact
    assert (result.scores_low[e] == result.scores_high[e]).all()
    np.testing.assert_allclose(result.scores_low[e], true[e], atol=slack)
    np.testing.assert_allclose(result.margin[e], margin[e], atol=slack)


@pytest.mark.parametrize("route", ROUTES)
@given(model=strategies.models() | strategies.models(potentials=strategies.finite_floats))
def test_any_model_by_any_route(model: Model, route: str) -> None:
    check(model, by_route(model, route), all_exact=route in ("whole", "blocks", "search"))


@given(model=strategies.planted_balanced())
def test_balanced_models_by_flow(model: Model) -> None:
    check(model, by_route(model, "flow"), all_exact=True)


@given(model=strategies.planted_balanced(max_n=6), fields=st.lists(st.integers(-3, 3), min_size=6))
def test_blocks_that_another_root_balances(model: Model, fields: list[int]) -> None:
    # A new variable joined to all by any signs: no longer balanced as it is, but rooted there.
    n = model.n
    edges = [*model.edges.tolist(), *((i, n) for i in range(n))]
    weights = [*model.weights.tolist(), *(fields[i % 6] for i in range(n))]
    joined = Model([0.0] * n + [1.0], edges, weights)
    check(joined, by_route(joined, "flow"), all_exact=True)


@given(
    data=st.data(),
    model=strategies.models(min_n=2, max_n=6),
    route=st.sampled_from(ROUTES),
)
def test_hard_constraints(data: st.DataObject, model: Model, route: str) -> None:
    allowed = data.draw(st.lists(st.integers(0, 1), min_size=model.n, max_size=model.n))
    rows = []
    for i, j in itertools.combinations(range(model.n), 2):
        a, b = data.draw(st.integers(0, 1)), data.draw(st.integers(0, 1))
        if (a, b) != (allowed[i], allowed[j]) and data.draw(st.booleans()):
            rows.append((i, a, j, b))
    if data.draw(st.booleans()):
        rows.append((0, 1 - allowed[0]))
    hard = Model(model.theta, model.edges, model.weights, forbidden=rows)
    true = brute(hard)
    assert (possible_values(hard.forbidden, hard.n) == np.isfinite(true)).all()
    result = by_route(hard, route)
    assert (np.isneginf(result.scores_low) == np.isneginf(true)).all()
    assert (np.isneginf(result.scores_high) == np.isneginf(true)).all()
    assert math.isfinite(result.score)
    check(hard, result, all_exact=False)


@pytest.mark.slow
def test_thousands_of_models() -> None:
    rng = np.random.default_rng(7)
    for k in range(2000):
        n = int(rng.integers(1, 10))
        pairs = [p for p in itertools.combinations(range(n), 2) if rng.random() < rng.random()]
        draw = rng.normal if k % 2 else lambda size: rng.integers(-3, 4, size).astype(float)
        W, theta = draw(size=len(pairs)), draw(size=n) * (rng.random(n) < 0.7)
        if k % 3 == 0:
            side = rng.integers(0, 2, n)
            apart = np.array([side[i] ^ side[j] for i, j in pairs], dtype=np.int64)
            W = np.abs(W) * (1 - 2 * apart)
        model = Model(theta, pairs, W)
        for route in ROUTES:
            check(model, by_route(model, route), route in ("whole", "blocks", "search"))


def test_an_image_agrees_with_one_solve_for_each_label() -> None:
    rng = np.random.default_rng(3)
    shape = (9, 9)
    image = Model.from_grid(rng.normal(size=shape), np.ones((9, 8)), np.ones((8, 9)))
    result = by_route(image, "flow")
    assert result.exact.all()
    for i in range(image.n):
        for a in (0, 1):
            clamped = solve(image.condition({image.labels[i]: a}))
            assert clamped.status == "optimal"
            assert result.scores_low[i, a] == pytest.approx(clamped.score, abs=1e-9)
    assert (result.margin >= 0).all()


def test_a_hard_grid_has_intervals_that_enclose_the_truth() -> None:
    rng = np.random.default_rng(5)
    signs = Model.from_grid(
        rng.normal(size=(7, 7)), rng.choice([-2.0, 2.0], (7, 6)), rng.choice([-2.0, 2.0], (6, 7))
    )
    true = max_marginals(signs)
    assert true.exact.all()
    loose = by_route(signs, "loc")
    tight = by_route(signs, "tri")
    for found in (loose, tight):
        assert (found.scores_low <= true.scores_low + 1e-9).all()
        assert (found.scores_high >= true.scores_high - 1e-9).all()
        assert (found.margin <= true.margin + 1e-9).all()
    assert tight.score == pytest.approx(true.score)
    # LOC proves no label here, TRI most of them.
    assert (tight.scores_high <= loose.scores_high + 1e-9).all()
    assert (loose.margin > 0).mean() < 0.1
    assert (tight.margin > 0).mean() > 0.6
    # Local search from each flip finds most of the second-best assignments, TRI proves them.
    assert (tight.scores_low >= true.scores_low - 1e-9).mean() > 0.7
    proved = by_route(signs, "search")
    assert proved.exact.all()
    np.testing.assert_allclose(proved.scores_low, true.scores_low, atol=1e-8)


class Late(Limits):
    """Limits that run out after a number of questions."""

    def __init__(self, questions: int) -> None:
        super().__init__()
        self.questions = questions

    def left(self) -> float:
        self.questions -= 1
        return math.inf if self.questions >= 0 else 0.0

    def reason(self, nodes: int = 0) -> StopReason | None:
        return "time" if self.left() == 0.0 else super().reason(nodes)


@pytest.mark.parametrize("route", ["flow", "loc", "tri", "search"])
@given(
    model=strategies.models(max_n=7) | strategies.planted_balanced(max_n=7),
    questions=st.integers(0, 12),
)
@settings(max_examples=60)
def test_what_was_not_reached_in_time_is_enclosed(model: Model, route: str, questions: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Limits", lambda *_: Late(questions))
        check(model, by_route(model, route), all_exact=False)


def test_margins_that_the_time_allows_are_exact() -> None:
    """300 variables of a balanced grid: a flow for each, in batches of 16, 32, 64 ..."""
    rng = np.random.default_rng(7)
    grid = Model.from_grid(rng.normal(size=(15, 20)), rng.random((15, 19)), rng.random((14, 20)))
    true = by_route(grid, "flow")
    assert true.exact.all()
    reached = []
    for questions in (0, 1, 3, 4, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "Limits", lambda *_, q=questions: Late(q))
            found = by_route(grid, "flow")
        e = found.exact
        reached.append(int(e.sum()))
        np.testing.assert_allclose(found.scores_low[e], true.scores_low[e], atol=1e-9)
        assert (found.scores_low <= true.scores_low + 1e-9).all()
        assert (found.scores_high >= true.scores_high - 1e-9).all()
        assert (found.margin <= true.margin + 1e-9).all()
        assert found.score == pytest.approx(true.score) or questions == 0
    assert reached == sorted(reached)
    assert reached[0] < 150 < reached[-1] == grid.n
    assert reached[1] < reached[3] < grid.n


def test_no_time_at_all() -> None:
    rng = np.random.default_rng(5)
    signs = Model.from_grid(
        rng.normal(size=(9, 9)), rng.choice([-2.0, 2.0], (9, 8)), rng.choice([-2.0, 2.0], (8, 9))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL", 0)
        patch.setattr(module, "NUMBERS_PER_VERTEX", 0)
        found = max_marginals(signs, time_limit=0.0)
    true = max_marginals(signs)
    assert not found.exact.any()
    assert (found.scores_low <= true.scores_low + 1e-9).all()
    assert (found.scores_high >= true.scores_high - 1e-9).all()


def test_unknown_bound() -> None:
    with pytest.raises(ModelError, match="bound is 'qp'"):
        max_marginals(Model([1.0], [], []), bound="qp")  # type: ignore[arg-type]


def test_margins_and_marginals_answer_different_questions() -> None:
    # 00, 01, 10, 11 weigh 0, 5, 3, 4.
    tables = [[[-math.inf, math.log(5)], [math.log(3), math.log(4)]]]
    model = Model.from_tables(np.zeros((2, 2)), [(0, 1)], tables)
    result = max_marginals(model)
    assert result.x.tolist() == [0, 1]
    np.testing.assert_allclose(np.exp(result.scores_low), [[5, 4], [3, 5]])
    np.testing.assert_allclose(np.exp(result.margin), [5 / 4, 5 / 3])
    assert marginals(model).p[0] == pytest.approx(7 / 12)  # more often 1 than 0


def test_long_path_and_labels() -> None:
    n = 20_000
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    theta = np.zeros(n)
    theta[0], theta[-1] = 3.0, -1.0
    model = Model(theta, edges, np.full(n - 1, 4.0), labels=[f"v{i}" for i in range(n)])
    result = max_marginals(model)
    # All 1 scores 2, all 0 scores 0, and 1..10..0, with a wall that costs 2, scores 1.
    assert result.x.all()
    assert result.exact.all()
    np.testing.assert_allclose(result.margin[1:], 1.0)
    assert result.margins["v0"] == pytest.approx(2.0)


def test_an_empty_model_and_lone_variables() -> None:
    assert max_marginals(Model([], [], [])).margin.shape == (0,)
    result = max_marginals(Model([2.0, 0.0, -1.5], [], [], constant=1.0))
    assert result.scores_low.tolist() == [[1.0, 3.0], [3.0, 3.0], [3.0, 1.5]]
    assert result.margin.tolist() == [2.0, 0.0, 1.5]


@pytest.mark.parametrize("name", ["nodes", "time_limit", "entries"])
def test_negative_limits(name: str) -> None:
    with pytest.raises(ModelError, match=f"{name} is -1"):
        max_marginals(Model([1.0], [], []), **{name: -1})


def test_results_are_read_only() -> None:
    result = max_marginals(Model([1.0], [], []))
    with pytest.raises(ValueError, match="read-only"):
        result.margin[0] = 3


@st.composite
def networks(draw: st.DrawFn) -> tuple[npt.NDArray[np.int64], Floats, Floats, Floats]:
    n = draw(st.integers(1, 7))
    pairs = draw(strategies.edge_lists(n))
    sizes = st.integers(0, 4).map(float) | st.floats(0, 4, width=32)

    def some(count: int) -> Floats:
        return np.array(draw(st.lists(sizes, min_size=count, max_size=count)), dtype=np.float64)

    return np.array(pairs, dtype=np.int64).reshape(-1, 2), some(len(pairs)), some(n), some(n)


@settings(max_examples=200)
@given(network=networks())
def test_margins_of_cuts(network: tuple[npt.NDArray[np.int64], Floats, Floats, Floats]) -> None:
    edges, capacity, from_source, to_sink = network
    i, j = edges[:, 0].copy(), edges[:, 1].copy()
    value, sunk, margin = cut_margins(i, j, capacity, from_source, to_sink)
    sides = assignments(len(from_source))
    cuts = (sides[:, i] != sides[:, j]) @ capacity
    cuts = cuts + sides @ from_source + (1 - sides) @ to_sink
    assert value == pytest.approx(cuts.min(), abs=1e-9)
    for v in range(len(sunk)):
        moved = cuts[sides[:, v] != sunk[v]].min()
        assert margin[v] == pytest.approx(moved - cuts.min(), abs=1e-9)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_bad_capacities(bad: float) -> None:
    one = np.array([0]), np.array([1])
    with pytest.raises(SolverError, match="negative or not finite"):
        cut_margins(*one, np.array([bad]), np.zeros(2), np.zeros(2))


def contracted(uprooted: UprootedModel, root: int, v: int, a: int) -> UprootedModel:
    """M+ with y_v = y_root XOR a, as a model in which nothing is joined to v."""
    edges, weights, constant = [], [], uprooted.constant
    for (i, j), W in zip(uprooted.edges.tolist(), uprooted.weights.tolist(), strict=True):
        p, q = (root if i == v else i), (root if j == v else j)
        flip = a == 1 and v in (i, j)
        if flip:  # [1 - y != z] is 1 - [y != z]
            constant -= W / 2
        if p != q:
            edges.append((p, q))
            weights.append(-W if flip else W)
    return UprootedModel(uprooted.n_vertices, edges, weights, constant)


@given(
    uprooted=strategies.uprooted_models(min_vertices=2)
    | strategies.uprooted_models(min_vertices=2, potentials=strategies.finite_floats),
    root=st.integers(0, 1),
)
def test_clamped_roof_duals_are_roof_duals_of_contracted_models(
    uprooted: UprootedModel, root: int
) -> None:
    bounds = clamped_roof_duals(uprooted, root)
    assert bounds[root, 0] == pytest.approx(roof_dual(uprooted, root).bound, abs=1e-7)
    assert bounds[root, 1] == -math.inf
    for v in range(uprooted.n_vertices):
        for a in (0, 1):
            if v != root:
                one = roof_dual(contracted(uprooted, root, v, a), root).bound
                assert bounds[v, a] == pytest.approx(one, abs=1e-7)


@given(uprooted=strategies.uprooted_models(min_vertices=2), root=st.integers(0, 1))
def test_clamped_cycle_bounds_hold_and_are_as_tight_as_tri(
    uprooted: UprootedModel, root: int
) -> None:
    bounds = clamped_cycle_bounds(uprooted, root)
    assert (bounds <= clamped_roof_duals(uprooted, root) + 1e-9).all()
    assert bounds.max() <= tri(uprooted).bound + 1e-6
    ys = assignments(uprooted.n_vertices)
    scores = np.array([uprooted.score(z) for z in ys])
    for v in range(uprooted.n_vertices):
        for a in (0, 1):
            held = scores[(ys[:, v] ^ ys[:, root]) == a]
            assert bounds[v, a] >= held.max(initial=-math.inf) - 1e-9


def test_clamping_at_no_vertex() -> None:
    with pytest.raises(ModelError, match="no vertex 3"):
        clamped_roof_duals(UprootedModel(3, [], []), 3)


@given(uprooted=strategies.uprooted_models(min_vertices=2), data=st.data())
def test_detours_are_scores_of_assignments(uprooted: UprootedModel, data: st.DataObject) -> None:
    n = uprooted.n_vertices
    start = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.int8)
    y, below = detours(uprooted, 0, start)
    assert uprooted.score(y) >= uprooted.score(start)
    ys = assignments(n)
    scores = np.array([uprooted.score(z) for z in ys])
    for v in range(1, n):
        for a in (0, 1):
            seen = uprooted.score(y) + below[v, a]
            possible = scores[(ys[:, v] ^ ys[:, 0]) == a]
            assert np.abs(possible - seen).min() < 1e-9
    assert below[0].tolist() == [0.0, -math.inf]


@given(uprooted=strategies.uprooted_models(min_vertices=2), root=st.integers(0, 1))
def test_max_product_at_any_root(uprooted: UprootedModel, root: int) -> None:
    plan = elimination_order(uprooted, root, 1000)
    assert plan is not None
    y, below = max_product(uprooted, root, plan)
    ys = assignments(uprooted.n_vertices)
    scores = np.array([uprooted.score(z) for z in ys])
    assert uprooted.score(y) == pytest.approx(scores.max())
    for v in range(uprooted.n_vertices):
        for a in (0, 1):
            if v != root:
                one = scores[(ys[:, v] ^ ys[:, root]) == a].max()
                assert below[v, a] == pytest.approx(one - scores.max(), abs=1e-9)


def test_no_order_is_narrow_enough() -> None:
    k6 = UprootedModel(6, list(itertools.combinations(range(6), 2)), [1.0] * 15)
    assert elimination_order(k6, 0, 10) is None
    assert elimination_order(k6, 0, 100) is not None


def test_hard_constraints_choose_a_start_that_satisfies_them() -> None:
    rng = np.random.default_rng(0)
    n = 8
    pairs = list(itertools.combinations(range(n), 2))
    rows = [(i, 1, j, 1) for i, j in pairs if (i + j) % 3]
    model = Model(rng.normal(size=n) + 2, pairs, rng.normal(size=len(pairs)), forbidden=rows)
    result = by_route(model, "first tri")
    assert math.isfinite(result.score)
    assert uproot(model).score(np.insert(result.x, 0, 0)) == result.score
