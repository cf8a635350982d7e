"""LOC and TRI by cvxpy: theorems as properties, golden numbers, refusals."""

from __future__ import annotations

import logging
import subprocess
import sys
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapreroot.errors import ModelError, SizeError, SolverError
from mapreroot.model import TOL, Model, UprootedModel
from mapreroot.relaxations import declarative
from mapreroot.relaxations.declarative import loc, tri, tri_rows
from mapreroot.rerooting import uproot
from polytopes import loc as local_polytope
from polytopes import met, pairs, rmet, to_correlation

# An LP solver works to 1e-7 on numbers of the order of one.
LP = 1e-6


@st.composite
def models(draw: st.DrawFn) -> Model:
    n = draw(st.integers(1, 5))
    weight = st.one_of(st.integers(-3, 3).map(float), st.floats(-4, 4, width=32))
    edges = draw(st.sets(st.sampled_from(list(combinations(range(n), 2)) or [()]), max_size=10))
    edges.discard(())
    theta = draw(st.lists(weight, min_size=n, max_size=n))
    W = draw(st.lists(weight, min_size=len(edges), max_size=len(edges)))
    return Model(theta, np.array(sorted(edges), dtype=np.int64).reshape(-1, 2), W, draw(weight))


def brute(model: Model) -> float:
    return max(model.score(x) for x in product((0, 1), repeat=model.n))


def clique(n: int, W: float = -2.0) -> UprootedModel:
    return uproot(Model(np.zeros(n), pairs(n), np.full(n * (n - 1) // 2, W)))


@settings(max_examples=25)
@given(models())
def test_map_is_at_most_tri_is_at_most_loc_at_every_root(model: Model) -> None:
    uprooted = uproot(model)
    scale = max(1.0, np.abs(uprooted.weights).max(initial=0.0))
    best, triplet = brute(model), tri(uprooted).bound
    assert best <= triplet + TOL * scale  # proved by the dual, not just to the LP's tolerance
    for root in range(model.n + 1):
        assert triplet <= loc(uprooted, root).bound + LP * scale


@settings(max_examples=20)
@given(models())
def test_theorem_3_tri_is_the_same_under_every_rerooting(model: Model) -> None:
    uprooted = uproot(model)
    scale = max(1.0, np.abs(uprooted.weights).max(initial=0.0))
    bounds = [tri(uproot(uprooted.reroot(root))).bound for root in range(model.n + 1)]
    assert np.ptp([*bounds, tri(uprooted).bound]) <= LP * scale


@settings(max_examples=20)
@given(models(), st.data())
def test_loc_at_a_root_is_loc_of_the_rerooted_model(model: Model, data: st.DataObject) -> None:
    uprooted = uproot(model)
    root = data.draw(st.integers(0, model.n))
    scale = max(1.0, np.abs(uprooted.weights).max(initial=0.0))
    rerooted = loc(uproot(uprooted.reroot(root)), 0)
    assert loc(uprooted, root).bound == pytest.approx(rerooted.bound, abs=LP * scale)


@settings(max_examples=20)
@given(models(), st.data())
def test_the_points_lie_in_their_polytopes_and_reach_the_bounds(
    model: Model, data: st.DataObject
) -> None:
    uprooted = uproot(model)
    N = uprooted.n_vertices
    scale = max(1.0, np.abs(uprooted.weights).max(initial=0.0))
    root = data.draw(st.integers(0, model.n))
    for result, (A, b) in (
        (tri(uprooted, pairs(N)), met(N)),
        (loc(uprooted, root, pairs(N)), rmet(N, root)),
    ):
        assert (A @ result.d <= b + LP).all()
        assert ((result.d >= 0) & (result.d <= 1)).all()
        on_edges = np.isin(pairs(N) @ [N, 1], uprooted.edges @ [N, 1])
        value = uprooted.constant - uprooted.weights @ result.d[on_edges] / 2
        assert value == pytest.approx(result.bound, abs=LP * scale)
        if result.q is not None:
            mu = to_correlation(result.d, root)
            assert np.allclose(result.q, mu[: N - 1])
            tables, right = local_polytope(model.n)
            assert (tables @ mu <= right + LP).all()


@settings(max_examples=15)
@given(models(), st.data())
def test_asking_for_other_pairs_leaves_the_bound(model: Model, data: st.DataObject) -> None:
    uprooted = uproot(model)
    N = uprooted.n_vertices
    scale = max(1.0, np.abs(uprooted.weights).max(initial=0.0))
    some = data.draw(st.lists(st.sampled_from(pairs(N).tolist()), max_size=3))
    assert tri(uprooted, some).bound == pytest.approx(tri(uprooted).bound, abs=LP * scale)
    assert loc(uprooted, 0, some).bound == pytest.approx(loc(uprooted).bound, abs=LP * scale)
    assert len(tri(uprooted, some).d) == len(loc(uprooted, 0, some).d) == len(some)


@pytest.mark.parametrize(
    ("n", "best", "triplet", "local", "rerooted"),
    [(3, 2, 2, 3, 2), (4, 4, 4, 6, 4.5), (5, 6, 20 / 3, 10, 8)],
)
def test_ladder(n: int, best: float, triplet: float, local: float, rerooted: float) -> None:
    """Max-cut on K3, K4, K5: LOC tight after rerooting; never, but TRI is; not even TRI."""
    uprooted = clique(n)
    assert brute(uprooted.reroot(0)) == best
    assert tri(uprooted).bound == pytest.approx(triplet, rel=LP)
    assert loc(uprooted, 0).bound == pytest.approx(local, rel=LP)
    assert [loc(uprooted, r).bound for r in range(1, n + 1)] == pytest.approx(
        [rerooted] * n, rel=LP
    )


def test_frustrated_triangle_is_half_integral() -> None:
    result = loc(clique(3), 0)
    assert result.q == pytest.approx([0.5, 0.5, 0.5], abs=LP)
    assert result.d == pytest.approx([1, 1, 1], abs=LP)


FRUSTRATED = Model([-1.0, 1.0, 1.0], [(0, 1), (1, 2), (0, 2)], [3.0, -4.0, 4.0])


def test_one_root_makes_loc_tight() -> None:
    uprooted = uproot(FRUSTRATED)
    bounds = [loc(uprooted, root).bound for root in range(4)]
    assert bounds == pytest.approx([2.5, 1.75, 1.75, 1.5], rel=LP)
    assert tri(uprooted).bound == pytest.approx(1.5, rel=LP)
    assert brute(FRUSTRATED) == 1.5


@pytest.mark.parametrize("scale", [1e-12, 1e-300, 1e12, 1e300])
def test_bounds_scale_with_the_weights(scale: float) -> None:
    model = Model(FRUSTRATED.theta * scale, FRUSTRATED.edges, FRUSTRATED.weights * scale)
    uprooted = uproot(model)
    assert loc(uprooted).bound / scale == pytest.approx(2.5, rel=LP)
    assert tri(uprooted).bound / scale == pytest.approx(1.5, rel=LP)


def test_tri_says_its_size_before_it_builds(caplog: pytest.LogCaptureFixture) -> None:
    uprooted = clique(400)
    assert tri_rows(uprooted) == 42_347_200
    with (
        caplog.at_level(logging.INFO, logger="mapreroot.relaxations.declarative"),
        pytest.raises(SizeError, match="42347200"),
    ):
        tri(uprooted)
    assert "42347200" in caplog.text


def test_the_limit_is_a_number_of_rows() -> None:
    assert tri_rows(clique(5)) == 40
    assert tri(clique(5), max_rows=40).bound > 6
    with pytest.raises(SizeError, match="more than 39"):
        tri(clique(5), max_rows=39)
    i = np.arange(4499)
    path = UprootedModel(4500, np.stack([i, i + 1], axis=1), np.ones(4499))
    with pytest.raises(SizeError, match="10122750 pairs of 4500 vertices"):
        loc(path)


def test_isolated_vertices_cost_nothing() -> None:
    few = UprootedModel(4, [(0, 1), (0, 3), (1, 3)], [-2.0, -2.0, -2.0])
    many = UprootedModel(1000, few.edges, few.weights, constant=5.0)
    assert tri_rows(many) == tri_rows(few) == 4
    assert tri(many).bound == pytest.approx(tri(few).bound + 5)
    assert loc(many, 999).bound == pytest.approx(loc(few, 2).bound + 5) == pytest.approx(8)
    assert tri(many, [(2, 4)]).d.tolist() == [0.0]
    assert loc(many, 0, [(2, 4), (0, 4)]).d.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n_vertices", [1, 2, 5])
def test_models_without_edges(n_vertices: int) -> None:
    empty = UprootedModel(n_vertices, [], [], constant=-3.0)
    result = loc(empty)
    assert tri(empty).bound == result.bound == -3.0
    assert result.q is not None
    assert result.q.tolist() == [0.0] * (n_vertices - 1)
    assert result.d.size == 0


@pytest.mark.parametrize(("W", "bound", "d"), [(3.0, 0.0, 0.0), (-3.0, 1.5, 1.0)])
def test_one_edge(W: float, bound: float, d: float) -> None:
    edge = UprootedModel(2, [(0, 1)], [W])
    for result in (tri(edge), loc(edge, 0), loc(edge, 1)):
        assert result.bound == pytest.approx(bound)
        assert result.d == pytest.approx([d])


def test_bad_arguments() -> None:
    uprooted = clique(3)
    with pytest.raises(ModelError, match=r"no vertex 4: the model has 0\.\.3"):
        loc(uprooted, 4)
    with pytest.raises(ModelError, match=r"pair 1 is \(2, 2\)"):
        tri(uprooted, [(0, 1), (2, 2)])
    with pytest.raises(ModelError, match=r"pair 0 is \(0, 4\)"):
        loc(uprooted, 0, [(0, 4)])


def test_a_solver_that_stops_early_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy as cp

    monkeypatch.setattr(cp.Problem, "status", "user_limit")
    with pytest.raises(SolverError, match=r"user_limit \(16 triangle"):
        tri(clique(4))


def test_a_solver_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy as cp

    def fail(*_: object, **__: object) -> None:
        raise cp.SolverError("out of luck")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(SolverError, match="out of luck"):
        tri(clique(4))


def test_the_bound_does_not_rest_on_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers that are off still give a bound, only a weaker one."""
    import cvxpy as cp

    exact = tri(clique(4)).bound
    solve = cp.Problem.solve

    def spoil(problem: cp.Problem, **options: object) -> None:
        solve(problem, **options)
        (rows,) = problem.constraints
        rows.save_dual_value(rows.dual_value * 1.1 - 0.05)

    monkeypatch.setattr(cp.Problem, "solve", spoil)
    assert exact + 0.01 < tri(clique(4)).bound < exact + 1


def test_nothing_but_the_result_on_stdout() -> None:
    program = (
        "from mapreroot.model import UprootedModel\n"
        f"from {declarative.__name__} import loc\n"
        "print(loc(UprootedModel(2, [(0, 1)], [-2.0])).bound)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode() == "1.0\n"
