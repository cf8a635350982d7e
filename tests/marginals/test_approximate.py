"""Bethe, tree-reweighted and mean-field inference: what theory says of them, at any root."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marginals_oracle import enumerated
from strategies import models, trees

from mapreroot import Model, uproot
from mapreroot.balance import balance, balancing_vertices
from mapreroot.marginals import log_partition, marginals
from mapreroot.marginals.bethe import bethe
from mapreroot.marginals.inference import approximate
from mapreroot.marginals.mean_field import mean_field
from mapreroot.marginals.messages import Graph, beliefs_at, iterate, message, tree_signs
from mapreroot.marginals.newton import _step as newton_step
from mapreroot.marginals.newton import polish
from mapreroot.marginals.trw import spanning_tree_appearances, trw
from mapreroot.roots import inference_roots

ROOTS = ["max_w", "max_tw", "uprooted", "auto", 0]
APPROXIMATE = ["bethe", "trw", "mean_field"]


def entropy(table):
    table = np.asarray(table)
    return -sum(q * math.log(q) for q in table.ravel() if q > 0)


def free_energy(model, rho, p, pair):
    """Score less counted entropies, term by term."""
    value = sum(t * q for t, q in zip(model.theta, p, strict=True))
    value += sum(entropy([q, 1 - q]) for q in p)
    for e, (i, j) in enumerate(model.edges):
        value -= model.weights[e] / 2 * (pair[e, 0, 1] + pair[e, 1, 0])
        excess = entropy(pair[e]) - entropy([p[i], 1 - p[i]]) - entropy([p[j], 1 - p[j]])
        value += rho[e] * excess
    return value


def cycle(n, theta, W):
    return Model(np.full(n, theta), [(i, (i + 1) % n) for i in range(n)], W)


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_a_message_sums_one_variable_out(w, h):
    one = np.logaddexp(-w, h)
    zero = np.logaddexp(0.0, h - w)
    assert message(w, h) == pytest.approx(one - zero, abs=1e-12)


def test_messages_do_not_overflow():
    assert message(1e18, 0.25) == 0.25
    assert message(-1e18, 0.25) == -0.25
    assert message(0.25, 1e18) == 0.25
    assert message(1e300, -1e300) == -1e300


@given(models(min_n=1, max_n=6), st.sampled_from([1.0, 500.0]), st.sampled_from([0.5, 1.0]))
def test_sweeps_do_what_the_equations_say(model, scale, least):
    """One sweep of `iterate`, on odds and on logs, beside the same in plain Python."""
    model = Model(scale * model.theta, model.edges, scale * model.weights)
    graph = Graph.of(model.n, model.edges)
    w, rho = model.weights / 2, np.linspace(least, 1, model.m)
    kappa = np.linspace(0, 2, model.n)
    L, a = model.theta.copy(), model.theta[model.edges.ravel()]
    tangent, cavity = L.copy(), a.copy()
    iterate(model.theta, graph.start, graph.half, w, rho, kappa, L, a, 1, 0.0, 1)
    for i in range(model.n):
        half = [h for h in range(2 * model.m) if model.edges.ravel()[h] == i]
        sent = {h: message(w[h // 2], cavity[h ^ 1]) for h in half}
        total = model.theta[i] + sum(rho[h // 2] * sent[h] for h in half)
        odds = (kappa[i] * tangent[i] + total) / (1 + kappa[i])
        assert L[i] == pytest.approx(odds, abs=1e-9 * scale)
        for h in half:
            cavity[h] = odds - sent[h]
    np.testing.assert_allclose(a, cavity, atol=1e-9 * scale)


def fixed_point(seed, least):
    """A model of five variables, and what belongs to it: exact up to rounding."""
    rng = np.random.default_rng(seed)
    edges = np.array(list(itertools.combinations(range(5), 2)))
    theta, w, rho = rng.normal(size=5), rng.normal(size=10), np.linspace(least, 1, 10)
    graph = Graph.of(5, edges)
    L, a = theta.copy(), theta[edges.ravel()]
    given = theta, graph.start, graph.half, w, rho
    _, change = iterate(*given, np.full(5, 2.0), L, a, 10, 1e-15, 20_000)
    assert change < 1e-13
    return theta, graph.start, graph.half, edges.ravel(), w, rho, L, a


@pytest.mark.parametrize("least", [0.4, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_newton_squares_the_distance_to_a_fixed_point(seed, least):
    *given, L, a = fixed_point(seed, least)
    rng = np.random.default_rng(seed)
    there = np.concatenate([L, a])
    distance = []
    for size in (1e-2, 1e-3, 1e-4):
        off = there + size * rng.uniform(-1, 1, len(there))
        newton_step(*given, off[:5], off[5:])
        distance.append(np.abs(off - there).max() / size**2)
    assert max(distance) < 20
    assert distance[2] * 1e-8 < 1e-6  # a step in a wrong direction leaves about 1e-4


def test_newton_says_where_it_does_not_help():
    theta, start, half, tail, w, rho, L, a = fixed_point(0, 1.0)
    off = L + 1e-3, a - 1e-3
    assert polish(theta, start, half, tail, w, rho, *off, 1e-9)[1] < 1e-9
    np.testing.assert_allclose(np.concatenate(off), np.concatenate([L, a]), atol=1e-7)
    assert polish(theta, start, half, tail, w, rho, L + 1e3, a, 1e-9)[1] == math.inf


@given(models(min_n=1, max_n=6), st.sampled_from(["bethe", "trw"]))
def test_converged_beliefs_agree_and_have_the_free_energy_reported(model, method):
    given = model.theta, model.edges, model.weights
    found = bethe(*given) if method == "bethe" else trw(*given)
    assert found.converged
    rho = np.ones(model.m)
    if method == "trw":
        rho = found.appearances
    i, j = model.edges.T
    np.testing.assert_allclose(found.pair[:, 1].sum(axis=1), found.p[i], atol=1e-5)
    np.testing.assert_allclose(found.pair[:, :, 1].sum(axis=1), found.p[j], atol=1e-5)
    assert found.log_z == pytest.approx(free_energy(model, rho, found.p, found.pair), abs=1e-3)


@given(models(min_n=1, max_n=6))
def test_mean_field_has_the_free_energy_reported(model):
    found = mean_field(model.theta, model.edges, model.weights)
    value = free_energy(model, np.zeros(model.m), found.p, found.pair)
    assert found.log_z == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_no_start_in_plain_python_beats_mean_field(seed):
    rng = np.random.default_rng(seed)
    W = np.triu(5 * rng.normal(size=(8, 8)), 1)
    theta = rng.normal(size=8)
    i, j = np.nonzero(W)
    best = -math.inf
    for _ in range(30):
        p = rng.random(8)
        for v in list(range(8)) * 200:
            p[v] = 1 / (1 + math.exp(-theta[v] - (W + W.T)[v] @ (p - 0.5)))
        energy = theta @ p - sum(W[i, j] / 2 * (p[i] + p[j] - 2 * p[i] * p[j]))
        best = max(best, energy + sum(entropy([q, 1 - q]) for q in p))
    found = mean_field(theta, np.stack([i, j], axis=1), W[i, j])
    assert found.converged
    assert found.log_z >= best - 1e-9


@given(models(max_n=6), st.sampled_from(ROOTS))
def test_mean_field_and_trw_enclose_log_z_at_every_root(model, root):
    log_z = enumerated(model)[0]
    low = log_partition(model, "mean_field", root)
    high = log_partition(model, "trw", root)
    assert low.value == low.lower <= log_z + 1e-9
    assert low.upper is None
    assert high.converged
    assert high.lower is None
    assert high.value == high.upper >= log_z - 1e-6


@given(models(max_n=6), st.sampled_from(ROOTS))
def test_the_bounds_of_bethe_hold(model, root):
    log_z = enumerated(model)[0]
    found = log_partition(model, "bethe", root)
    assert found.converged
    if found.lower is not None:
        assert found.lower <= log_z + 1e-6
    if found.upper is not None:
        assert found.upper >= log_z - 1e-6


@given(models(min_n=1, max_n=6))
def test_bethe_is_a_lower_bound_at_every_balancing_root(model):
    log_z = enumerated(model)[0]
    for root in balancing_vertices(uproot(model)):
        found = log_partition(model, "bethe", root)
        assert found.lower == found.value <= log_z + 1e-6


@pytest.mark.parametrize("n", [3, 4, 7])
def test_one_attractive_cycle_costs_bethe_at_most_log_2(n):
    for strength in (0.5, 4.0, 40.0):
        model = cycle(n, 0.0, np.full(n, strength))
        found = log_partition(model, "bethe", root=0)
        log_z = log_partition(model).value
        assert found.lower - 1e-6 <= log_z <= found.upper + 1e-6
        assert found.upper - found.lower == pytest.approx(math.log(2))


def test_a_connected_attractive_model_can_have_less_than_half_its_z():
    """Two clusters that each choose a side: Bethe sees one of the four choices."""
    clique = list(itertools.combinations(range(5), 2))
    edges = clique + [(i + 5, j + 5) for i, j in clique] + [(0, 5)]
    model = Model(np.zeros(10), edges, np.full(len(edges), 6.0) * ([1] * 20 + [1e-3]))
    log_z, found = log_partition(model).value, log_partition(model, "bethe", root=0)
    assert log_z - found.value > 1.3 > math.log(2)
    assert found.lower is not None
    assert found.upper is None


@given(models(min_n=1, max_n=7), st.sampled_from(["bethe", "trw"]))
def test_forests_are_exact(model, method):
    keep = [e for e, (i, j) in enumerate(model.edges) if i == j - 1]
    tree = Model(model.theta, model.edges[keep], model.weights[keep], model.constant)
    log_z, p, pair = enumerated(tree)
    found, beliefs = log_partition(tree, method, 0), marginals(tree, method, 0)
    assert found.value == pytest.approx(log_z, abs=1e-6)
    np.testing.assert_allclose(beliefs.p, p, atol=1e-5)
    np.testing.assert_allclose(beliefs.pair, pair, atol=1e-5)
    if method == "bethe":
        assert found.lower == found.upper == found.value


@pytest.mark.parametrize("method", ["bethe", "trw"])
def test_lemma_2_maps_a_rooted_tree_back(method):
    """A frustrated triangle is a tree of three variables at each of its vertices."""
    triangle = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0])
    log_z, p, pair = enumerated(triangle)
    for root in (1, 2, 3):
        assert log_partition(triangle, method, root).value == pytest.approx(log_z, abs=1e-6)
        found = marginals(triangle, method, root)
        np.testing.assert_allclose(found.p, p, atol=1e-5)
        np.testing.assert_allclose(found.pair, pair, atol=1e-5)
        assert found.pair_consistent
        assert found.root == root


@given(models(min_n=1, max_n=5), st.sampled_from(APPROXIMATE), st.sampled_from(ROOTS))
@settings(max_examples=40)
def test_marginals_are_probabilities_that_sum_to_one(model, method, root):
    found = marginals(model, method, root)
    assert found.p.shape == (model.n,)
    assert ((found.p >= -1e-9) & (found.p <= 1 + 1e-9)).all()
    np.testing.assert_allclose(found.pair.sum(axis=(1, 2)), 1, atol=1e-5)
    i, j = model.edges.T
    np.testing.assert_allclose(found.pair[:, 1].sum(axis=1), found.p[i], atol=1e-5)
    np.testing.assert_allclose(found.pair[:, :, 1].sum(axis=1), found.p[j], atol=1e-5)
    assert found.pair_consistent == (found.pair.min(initial=0.0) >= 0)


def test_pair_beliefs_that_do_not_fit_together_are_flagged():
    """K5, all repulsive and strong: d = 2/3 on all pairs is outside every triangle's cone."""
    edges = list(itertools.combinations(range(5), 2))
    model = Model(np.full(5, 3.0), edges, np.full(10, -12.0))
    flags = [marginals(model, "trw", root).pair_consistent for root in range(6)]
    assert flags[0]
    assert not all(flags)


def test_the_symmetric_point_of_m_plus_is_left_where_it_is_bad():
    """Strong, attractive, hardly a field: half of Z is found, not e^-20 of it."""
    edges = list(itertools.combinations(range(10), 2))
    model = Model(np.linspace(-0.1, 0.1, 10), edges, np.full(45, 8.0))
    log_z = log_partition(model).value
    for method in ("bethe", "mean_field"):
        error = log_partition(model, method, "uprooted").value - log_z
        assert error == pytest.approx(-math.log(2), abs=0.02)


def test_mean_field_restarts_help_on_m_plus():
    model = cycle(8, 0.0, np.full(8, 6.0))
    given = model.theta, model.edges, model.weights
    assert mean_field(*given).log_z > mean_field(*given, restarts=0).log_z - 1e-9
    assert mean_field(*given).log_z > -0.5


def test_appearances_are_those_of_all_spanning_trees():
    edges = np.array([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4), (5, 6)])
    count, trees = np.zeros(7), 0
    for chosen in itertools.combinations(range(7), 5):
        link = np.zeros((7, 7))
        for i, j in edges[list(chosen)]:
            link[i, j] = link[j, i] = 1
        reach = np.linalg.matrix_power(np.eye(7) + link, 7) > 0
        if reach[0, :5].all() and reach[5, 6]:
            trees += 1
            count[list(chosen)] += 1
    np.testing.assert_allclose(spanning_tree_appearances(7, edges), count / trees, atol=1e-12)


@given(models(min_n=2, max_n=8))
def test_appearances_sum_to_the_size_of_a_spanning_forest(model):
    dense = spanning_tree_appearances(model.n, model.edges)
    sparse = spanning_tree_appearances(model.n, model.edges, dense=0)
    np.testing.assert_allclose(dense, sparse, atol=1e-9)
    components = model.n
    seen = list(range(model.n))
    for i, j in model.edges.tolist():
        if seen[i] != seen[j]:
            components -= 1
            seen = [seen[i] if s == seen[j] else s for s in seen]
    assert dense.sum() == pytest.approx(model.n - components, abs=1e-9)


def test_better_appearances_lower_the_bound():
    rng = np.random.default_rng(5)
    edges = list(itertools.combinations(range(7), 2))
    model = Model(rng.normal(size=7), edges, 3 * rng.normal(size=21))
    log_z = log_partition(model).value
    uniform = log_partition(model, "trw", 0).upper
    better = log_partition(model, "trw", 0, steps=15).upper
    assert log_z <= better < uniform - 0.1


def test_auto_takes_a_forest_s_root_and_else_the_heaviest():
    triangle = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0])
    assert log_partition(triangle, "bethe").root == 1
    chain = Model([0.1, -0.1], [(0, 1)], [9.0])
    assert log_partition(chain, "trw").root == log_partition(chain, "bethe").root == 0
    assert log_partition(chain, "mean_field").root == 1
    edges = list(itertools.combinations(range(6), 2))
    dense = Model(np.full(6, 0.1), edges, np.full(15, -4.0))
    found = log_partition(dense, "mean_field")
    assert found.root == log_partition(dense, "mean_field", "max_w").root == 1
    assert log_partition(dense, "mean_field", "uprooted").root == "uprooted"
    # Vertex 0 is the heaviest here, with 30 to 25, but not by enough.
    fields = Model(np.full(6, 2.5), edges, np.full(15, -4.0))
    assert log_partition(fields, "bethe").root == marginals(fields, "bethe").root == 1


@given(models(min_n=1, max_n=7))
def test_auto_keeps_the_better_of_two_bounds(model):
    for method, better in (("trw", min), ("mean_field", max)):
        found = log_partition(model, method)
        roots = inference_roots(uproot(model), method)
        tried = {r: log_partition(model, method, r).value for r in roots}
        assert found.value == better(tried.values()) == tried[found.root]
        assert found.value in (found.lower, found.upper)
        assert marginals(model, method).root == found.root


@given(trees())
def test_auto_is_exact_on_forests(model):
    exact = log_partition(model).value
    for method in ("bethe", "trw"):
        assert log_partition(model, method).value == pytest.approx(exact, abs=1e-5)


@given(models(min_n=1, max_n=7))
def test_tree_signs_are_the_ground_state_of_a_balanced_model(model):
    if not balance(uproot(model)).is_balanced:
        return
    x = ((tree_signs(model.theta, model.edges, model.weights) + 1) / 2).astype(int)
    best = max(model.score(row) for row in itertools.product((0, 1), repeat=model.n))
    assert model.score(x) == pytest.approx(best)


def test_the_sweep_limit_shows_as_not_converged():
    rng = np.random.default_rng(1)
    edges = np.array(list(itertools.combinations(range(8), 2)))
    given = rng.normal(size=8), edges, 6 * rng.normal(size=28)
    for method in (bethe, trw):
        assert not method(*given, limit=2).converged
        assert method(*given).converged


def test_answers_say_how_many_sweeps_they_took():
    model = Model([0.3, -0.2, 0.1], [(0, 1), (1, 2), (0, 2)], [2.0, -1.0, 1.5])
    assert log_partition(model).iterations == marginals(model).iterations == 0
    for method in APPROXIMATE:
        given = model.theta, model.edges, model.weights
        run = {"bethe": bethe, "trw": trw, "mean_field": mean_field}[method]
        taken = log_partition(model, method, 0).iterations
        assert taken == marginals(model, method, 0).iterations == run(*given).iterations > 1


def test_the_answers_are_the_same_in_every_call():
    edges = list(itertools.combinations(range(7), 2))
    model = Model(np.linspace(-1, 1, 7), edges, np.linspace(-6, 5, 21))
    for method in APPROXIMATE:
        first, second = (approximate(uproot(model), 2, method) for _ in range(2))
        assert first.log_z == second.log_z
        assert first.p.tolist() == second.p.tolist()


@pytest.mark.parametrize("method", APPROXIMATE)
def test_empty_and_huge_models(method):
    assert log_partition(Model([], [], [], 2.5), method).value == 2.5
    isolated = Model([1.0, 0.0], [], [])
    assert log_partition(isolated, method, 0).value == pytest.approx(
        math.log(2) + math.log1p(math.e), abs=1e-6
    )
    huge = Model([1e12, -2e12, 5e11], [(0, 1), (1, 2)], [1e12, -4e12])
    best = max(huge.score(x) for x in itertools.product((0, 1), repeat=3))
    assert log_partition(huge, method, 0).value == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("method", APPROXIMATE)
@pytest.mark.parametrize("size", [60.0, 250.0, 1e4, 1e12])
def test_weak_fields_beside_couplings_that_tie_everything(method, size):
    edges = list(itertools.combinations(range(6), 2))
    tied = Model(np.linspace(-0.3, 0.5, 6), edges, np.full(15, size))
    found = log_partition(tied, method, 0)
    assert found.value == pytest.approx(math.log1p(math.exp(0.6)), abs=0.5)
    if method == "trw":
        assert found.value >= math.log1p(math.exp(0.6)) - 1e-6


def test_the_beliefs_of_a_state_are_normalised():
    edges = np.array([(0, 1)])
    graph = Graph.of(2, edges)
    _, p, pair = beliefs_at(
        np.zeros(2), graph.start, graph.half, edges, np.array([800.0]), np.ones(1),
        np.array([-900.0, 900.0]), np.array([900.0, -900.0]),
    )  # fmt: skip
    assert p.tolist() == [0.0, 1.0]
    assert pair.sum() == pytest.approx(1)
