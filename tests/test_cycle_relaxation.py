import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from mapreroot import UprootedModel, uproot
from mapreroot.errors import SolverError
from mapreroot.generate import torus
from mapreroot.limits import Limits
from mapreroot.relaxations.cuts import Cuts, dual_bound
from mapreroot.relaxations.cycles import (
    CycleLP,
    cutting_planes,
    round_down,
    score_step,
    solve_cycle_lp,
)
from tests.relaxation_points import KINDS, best_phi, random_model, tri_by_linprog


def clique(n, weight=-1.0):
    edges = list(itertools.combinations(range(n), 2))
    return UprootedModel(n, edges, np.full(len(edges), weight))


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_that_of_all_triangles(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    fractional = 0
    for _ in range(60):
        model = random_model(rng, int(rng.integers(3, 10)), kind)
        result = solve_cycle_lp(model)
        assert result.converged
        assert result.stopped is None
        assert result.value == pytest.approx(tri_by_linprog(model), rel=1e-9, abs=1e-9)
        fractional += bool((np.minimum(result.d, 1 - result.d) > 1e-6).any())
    assert fractional > 0 or kind != "repulsive"


@pytest.mark.parametrize(("n", "value"), [(3, 1), (4, 2), (5, 10 / 3), (6, 5), (7, 7)])
def test_cliques(n, value):
    # All d = 2/3 is optimal for n >= 5 (and n = 3, 4 as well, where MET = CUT).
    result = solve_cycle_lp(clique(n))
    assert value == pytest.approx(math.comb(n, 2) / 3)
    assert result.value == pytest.approx(value, rel=1e-9)
    assert result.bound >= best_phi(clique(n)) == (n // 2) * ((n + 1) // 2) / 2


def test_interior_point_and_simplex_agree():
    rng = np.random.default_rng(4)
    for density in (1.0, 0.6):
        model = random_model(rng, 22, "gaussian", density)
        values = []
        for interior in (False, True):
            lp = CycleLP(model)
            lp.interior = interior
            result = cutting_planes(lp)
            assert result.converged
            values.append(result.value)
        assert values[0] == pytest.approx(values[1], rel=1e-8)


def test_every_bound_on_the_way_holds():
    rng = np.random.default_rng(5)
    for kind in KINDS * 8:
        model = random_model(rng, 8, kind)
        best = best_phi(model)
        bounds = []
        result = solve_cycle_lp(model, on_round=lambda r, bound, n, d, to=bounds: to.append(bound))
        assert min(bounds, default=result.value) >= best
        assert result.bound >= best
        assert bounds == sorted(bounds, reverse=True)
        assert len(bounds) == result.rounds


def test_the_multipliers_prove_the_value():
    rng = np.random.default_rng(6)
    for kind in KINDS * 3:
        model = random_model(rng, 8, kind)
        result = solve_cycle_lp(model)
        assert (result.y > 0).all()
        m = model.m
        again, _ = dual_bound(
            model.constant, -model.weights / 2, np.zeros(m), np.ones(m), result.cuts, result.y
        )
        assert again == pytest.approx(result.value, rel=1e-13)


def test_the_dual_bound_is_never_below_the_exact_number():
    rng = np.random.default_rng(7)
    for _ in range(200):
        model = random_model(rng, 7)
        cuts = solve_cycle_lp(model).cuts
        scale = 10.0 ** rng.integers(-12, 13)
        y = rng.exponential(size=len(cuts)) * scale
        c, m = -model.weights / 2, model.m
        bound, _ = dual_bound(model.constant, c, np.zeros(m), np.ones(m), cuts, y)
        # Any y proves a bound: the exact maximum over the cuts of K_n must respect it.
        assert bound >= best_phi(model)
        # And the bound of these very multipliers, in fractions, differs only by the grid.
        reduced = [Fraction(float(x)) for x in c]
        total = Fraction(model.constant)
        for r, multiplier in enumerate(y.tolist()):
            entries = slice(cuts.start[r], cuts.start[r + 1])
            total += Fraction(multiplier) * (int(cuts.odd[entries].sum()) - 1)
            for e, f in zip(cuts.edge[entries].tolist(), cuts.odd[entries].tolist(), strict=True):
                reduced[e] -= Fraction(multiplier) * (1 if f else -1)
        exact = float(total + sum(max(r, Fraction(0)) for r in reduced))
        assert bound == pytest.approx(exact, rel=1e-12)


def test_the_dual_bound_takes_any_numbers():
    model = clique(5)
    cuts = solve_cycle_lp(model).cuts
    zero, one = np.zeros(10), np.ones(10)
    for y in (-np.ones(len(cuts)), np.full(len(cuts), np.nan), np.zeros(len(cuts))):
        assert dual_bound(0.0, -model.weights / 2, zero, one, cuts, y)[0] == pytest.approx(5.0)
    none = Cuts.none()
    assert dual_bound(1.5, zero, zero, one, none, np.zeros(0))[0] == pytest.approx(1.5)


def test_cuts_select_and_join():
    cuts = solve_cycle_lp(clique(6)).cuts
    assert len(cuts) >= 4
    part = cuts[[2, 0]]
    assert len(part) == 2
    assert part.edge.tolist() == cuts.edge[6:9].tolist() + cuts.edge[:3].tolist()
    both = part + cuts
    assert len(both) == len(cuts) + 2
    d = np.linspace(0, 1, 15)
    assert both.violation(d)[2:].tolist() == cuts.violation(d).tolist()
    assert len(cuts[np.zeros(len(cuts), bool)]) == len(Cuts.none()) == 0


def test_scores_move_in_steps():
    rng = np.random.default_rng(8)
    for weights in ([-1.0, 1.0], [-3.0, 6.0, 9.0], [0.25, -1.5], [2.0, -2.0, 4.0]):
        model = random_model(rng, 6, density=1.0)
        model = UprootedModel(6, model.edges, rng.choice(weights, model.m), 0.1)
        step = score_step(model)
        scores = {model.score((0, *rest)) for rest in itertools.product((0, 1), repeat=5)}
        times = [(score - 0.1) / step for score in scores]
        assert step > 0
        assert np.allclose(times, np.round(times))
    assert score_step(clique(5)) == 1.0  # even degrees: all cuts are even
    assert score_step(clique(4)) == 0.5
    assert score_step(random_model(rng, 6)) == 0.0
    assert score_step(UprootedModel(2, [], [])) == 0.0
    assert score_step(UprootedModel(3, [(0, 1), (1, 2)], [1e-300, 1.0])) == 0.0


def test_rounding_a_bound_down():
    assert round_down(3.3, 0.0, 0.5) == 3.0
    assert round_down(3.0, 0.0, 0.5) == 3.0
    assert round_down(-3.3, 0.1, 1.0) == pytest.approx(-3.9)
    assert round_down(3.3, 0.0, 0.0) == 3.3
    assert round_down(math.inf, 0.0, 1.0) == math.inf
    assert round_down(math.nextafter(7.0, 0), 0.0, 1.0) == 6.0


def test_it_stops_as_soon_as_the_incumbent_is_proved():
    model = clique(5)
    assert solve_cycle_lp(model, lower=5.0).rounds == 1
    proved = solve_cycle_lp(model, lower=3.0)
    assert proved.bound == 3.0 < proved.value
    seen = []

    def offer(rounds, bound, n_cuts, d):
        seen.append(rounds)
        return 5.0

    assert solve_cycle_lp(model, on_round=offer).rounds == 1 == len(seen)


def test_limits_leave_a_valid_bound():
    model = uproot(torus(12, 12, seed=1))
    full = solve_cycle_lp(model)
    assert full.converged
    none = solve_cycle_lp(model, limits=Limits(seconds=0.0))
    assert (none.stopped, none.converged, none.rounds) == ("time", False, 0)
    assert none.bound >= full.value
    limits = Limits()

    def interrupt(rounds, bound, n_cuts, d):
        limits.interrupted = rounds >= 2

    some = solve_cycle_lp(model, limits=limits, on_round=interrupt)
    assert (some.stopped, some.rounds) == ("interrupted", 2)
    assert full.value <= some.bound <= none.bound


def test_a_long_run_of_the_simplex_method_looks_at_the_limits():
    model = uproot(torus(12, 12, seed=1))
    cuts = solve_cycle_lp(model).cuts

    class Impatient(Limits):
        looks = 0

        def reason(self, nodes=0):
            self.looks += 1
            return "time" if self.looks > 50 else None

    lp = CycleLP(model)
    lp.add(cuts)
    before = lp.d.copy(), lp.bound()
    assert lp.solve(Impatient()) == "time"
    stopped = lp.iterations
    assert (lp.d == before[0]).all()
    assert lp.bound() == before[1]
    assert lp.solve() is None
    assert 0 < stopped < lp.iterations
    assert lp.bound() < before[1]


def test_a_basis_is_where_it_was_left():
    model = uproot(torus(12, 12, seed=1))
    lp = CycleLP(model)
    value, basis = cutting_planes(lp).value, lp.basis()
    e = int(np.abs(lp.d - 0.5).argmin())
    upper = np.ones(model.m)
    upper[e] = 0.0
    lp.box(np.zeros(model.m), upper)
    assert lp.solve() is None
    lp.box(np.zeros(model.m), np.ones(model.m))
    before = lp.iterations
    lp.restart(basis)
    assert lp.solve() is None
    assert lp.iterations == before
    assert lp.bound() == pytest.approx(value, rel=1e-12)


def test_starting_from_cuts_takes_one_round():
    model = uproot(torus(8, 8, seed=2))
    first = solve_cycle_lp(model)
    again = solve_cycle_lp(model, cuts=first.cuts)
    assert first.rounds > 2 >= again.rounds
    assert again.value == pytest.approx(first.value, rel=1e-12)


def test_tilted_costs_end_at_the_true_value():
    model = uproot(torus(10, 10, couplings="pm1", seed=3))
    values = [solve_cycle_lp(model, perturb=perturb).value for perturb in (False, True)]
    assert values[0] == pytest.approx(values[1], rel=1e-10)


def test_from_the_middle_of_the_face_the_bound_sinks_in_fewer_rounds():
    model = uproot(torus(24, 24, couplings="pm1", fields="none", seed=1))
    full = solve_cycle_lp(model)
    lp, middles = CycleLP(model), []

    def look(rounds, bound, n_cuts, d):
        middles.append(np.mean((d > 1e-6) & (d < 1 - 1e-6)))

    central = cutting_planes(lp, lower=full.bound, on_round=look, central=True)
    plain = cutting_planes(CycleLP(model), lower=full.bound, perturb=False)
    assert central.bound == plain.bound == full.bound
    assert central.value >= full.value - 1e-9
    assert not central.converged
    assert central.rounds < plain.rounds
    assert max(middles) > 0.3
    # The program goes on with the simplex method, to the exact value.
    rest = cutting_planes(lp)
    assert rest.converged
    assert rest.value == pytest.approx(full.value, rel=1e-9)


def test_from_the_middle_of_the_face_all_cuts_are_found():
    model = uproot(torus(10, 10, couplings="pm1", seed=3))
    central = cutting_planes(CycleLP(model), central=True)
    assert not central.converged
    assert central.value == pytest.approx(solve_cycle_lp(model).value, rel=1e-6)


def test_a_box_is_a_node_of_a_search():
    rng = np.random.default_rng(9)
    model = random_model(rng, 7, "integers", density=1.0)
    lp = CycleLP(model)
    root = cutting_planes(lp).value
    scores = {y: model.score((0, *y)) for y in itertools.product((0, 1), repeat=6)}
    for e in range(model.m):
        i, j = model.edges[e]
        sides = []
        for differ in (0.0, 1.0):
            lower, upper = np.zeros(model.m), np.ones(model.m)
            lower[e] = upper[e] = differ
            lp.box(lower, upper)
            node = cutting_planes(lp)
            inside = [s for y, s in scores.items() if ((0, *y)[i] != (0, *y)[j]) == differ]
            assert node.converged
            assert node.d[e] == differ
            assert max(inside) <= node.bound
            assert node.value <= root + 1e-9
            sides.append(node.bound)
        assert max(sides) >= max(scores.values())


def test_slack_cuts_leave_and_the_basis_stays():
    model = uproot(torus(10, 10, seed=5))
    lp = CycleLP(model)
    added = 0
    for _ in range(100):
        lp.solve()
        cuts = lp.separate()
        if not len(cuts):
            break
        lp.purge(patience=1)
        lp.add(cuts)
        added += len(cuts)
    assert len(lp.cuts) < added
    assert len(lp.cuts) == len(lp.y)
    assert lp.bound() == pytest.approx(solve_cycle_lp(model).value, rel=1e-10)


def test_a_refusal_of_the_solver_is_an_error():
    lp = CycleLP(clique(4))
    with pytest.raises(SolverError, match="rows"):  # an edge twice in one row
        lp.add(Cuts(np.array([0, 3]), np.array([0, 0, 1]), np.array([True, True, True])))
    lp.box(np.zeros(6), np.ones(6))
    lp.add(solve_cycle_lp(clique(4)).cuts)
    lp.box(np.ones(6), np.ones(6))  # three vertices cannot all differ
    with pytest.raises(SolverError, match="Infeasible"):
        lp.solve()


def test_without_edges():
    result = solve_cycle_lp(UprootedModel(3, np.zeros((0, 2), dtype=int), [], 2.5))
    assert result.value == pytest.approx(2.5)
    assert result.converged
    assert len(result.cuts) == 0
