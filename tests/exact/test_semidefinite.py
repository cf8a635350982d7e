"""The semidefinite bound: never below the optimum, whatever multipliers it starts from."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapreroot.decomposition import reduce
from mapreroot.exact import semidefinite
from mapreroot.exact.enumeration import enumerate_map
from mapreroot.exact.semidefinite import Multipliers, sdp_bound
from mapreroot.exact.semidefinite_nodes import carried, hyperplane_roundings, splitting_pair
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel


def random_model(seed, n, density=1.0, scale=1.0):
    rng = np.random.default_rng(seed)
    pairs = [e for e in itertools.combinations(range(n), 2) if rng.random() < density]
    weights = scale * rng.normal(size=len(pairs))
    return UprootedModel(n, np.array(pairs).reshape(-1, 2), weights, scale * rng.normal())


def complete(n, weight=-2.0):
    pairs = list(itertools.combinations(range(n), 2))
    return UprootedModel(n, pairs, np.full(len(pairs), weight))


def random_multipliers(seed, n, rows=15):
    rng = np.random.default_rng(seed)
    codes = np.full((rows, 7), -1, np.int64)
    for t in range(rows):
        size = rng.choice([s for s in (3, 5, 7) if s <= n])
        vertices = np.sort(rng.choice(n, size, replace=False))
        signs = rng.integers(0, 2, size)
        signs[0] = 0
        codes[t, :size] = 2 * vertices + signs
    return Multipliers(rng.normal(size=n), codes, rng.exponential(size=rows), 1e-2)


@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.integers(2, 9),
    st.sampled_from([0.4, 1.0]),
    st.sampled_from([1e-9, 1.0, 1e9]),
)
def test_the_bound_holds_and_is_nearly_tight_on_small_models(seed, n, density, scale):
    uprooted = random_model(seed, n, density, scale)
    best = enumerate_map(uprooted).bound
    found = sdp_bound(uprooted)
    assert found.bound >= best
    # Up to seven vertices hypermetric inequalities describe the cuts (Deza and Laurent 1997).
    assert found.bound <= best + 0.05 * scale * n


@given(st.integers(0, 10**6), st.integers(3, 9))
def test_any_multipliers_give_a_true_bound(seed, n):
    uprooted = random_model(seed, n)
    start = random_multipliers(seed, n)
    found = sdp_bound(uprooted, multipliers=start, rounds=1)
    assert found.bound >= enumerate_map(uprooted).bound


def plain_bound(uprooted, multipliers):
    """The formula of the module, in plain numpy."""
    N = uprooted.n_vertices
    M = np.zeros((N, N))
    for (i, j), W in zip(uprooted.edges, uprooted.weights, strict=True):
        M[i, j] += W / 8
        M[j, i] += W / 8
        M[i, i] -= W / 8
        M[j, j] -= W / 8
    M -= np.diag(multipliers.shift)
    total = uprooted.constant + multipliers.shift.sum()
    for row, weight in zip(multipliers.rows, multipliers.weights, strict=True):
        b = np.zeros(N)
        for code in row[row >= 0]:
            b[code >> 1] = 1 - 2 * (code & 1)
        A = np.outer(b, b)
        np.fill_diagonal(A, 0.0)
        M += weight * A / 2
        total += weight * ((row >= 0).sum() - 1) / 2
    return total + N * max(0.0, np.linalg.eigvalsh(M)[-1])


@given(st.integers(0, 10**6), st.integers(3, 9))
def test_the_bound_is_the_formula(seed, n):
    uprooted = random_model(seed, n)
    multipliers = random_multipliers(seed, n)
    dual = semidefinite._Dual(semidefinite._quarter_laplacian(uprooted))
    dual.rows = multipliers.rows
    _, dual.reach = semidefinite._row_values(dual.X, dual.rows)
    dual.value(np.concatenate([multipliers.shift, multipliers.weights]))
    assert uprooted.constant + dual.bound == pytest.approx(plain_bound(uprooted, multipliers))


@given(st.integers(0, 10**6), st.integers(3, 8))
def test_the_gradient_is_the_slope(seed, n):
    uprooted = random_model(seed, n)
    multipliers = random_multipliers(seed, n, 4)
    dual = semidefinite._Dual(semidefinite._quarter_laplacian(uprooted))
    dual.rows = multipliers.rows
    _, dual.reach = semidefinite._row_values(dual.X, dual.rows)
    z = np.concatenate([multipliers.shift, multipliers.weights])
    _, gradient = dual.value(z)
    step = 1e-6
    for k in range(len(z)):
        e = np.zeros(len(z))
        e[k] = step
        slope = (dual.value(z + e)[0] - dual.value(z - e)[0]) / (2 * step)
        assert slope == pytest.approx(gradient[k], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("n", range(3, 9))
def test_complete_graphs(n):
    # The best cut of K_n has floor(n^2 / 4) edges; odd n up to 7 need the row of all vertices.
    bound = sdp_bound(complete(n)).bound
    best = n * n // 4
    assert best <= bound <= best + 0.05


def plain_rows(X, size, least):
    """All violated rows of one size, by enumeration of vertices and signs."""
    found = {}
    for vertices in itertools.combinations(range(len(X)), size):
        for signs in itertools.product((0, 1), repeat=size - 1):
            b = 1 - 2 * np.array((0, *signs))
            x = X[np.ix_(vertices, vertices)]
            value = (b @ x @ b - size) / 2
            if (1 - size) / 2 - value > least:
                row = [2 * v + s for v, s in zip(vertices, (0, *signs), strict=True)]
                found[tuple(row)] = (1 - size) / 2 - value
    return found


def test_triangles_are_all_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (9, 9))
    X = (X + X.T) / 2
    np.fill_diagonal(X, 1.0)
    rows, violations = semidefinite._triangles(X, 0.1, 10_000)
    ours = {tuple(row[:3].tolist()): v for row, v in zip(rows, violations, strict=True)}
    expected = plain_rows(X, 3, 0.1)
    assert ours.keys() == expected.keys()
    assert all(ours[row] == pytest.approx(expected[row]) for row in ours)
    assert len(semidefinite._triangles(X, 0.1, 5)[0]) == 5


def test_extension_finds_the_best_two_vertices():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (8, 8))
    X = (X + X.T) / 2
    np.fill_diagonal(X, 1.0)
    triangle = np.full((1, 7), -1, np.int64)
    triangle[0, :3] = [0, 5, 8]
    rows, violations = semidefinite._extend(X, triangle, 8)
    five = plain_rows(X, 5, -np.inf)
    best = max(
        value
        for row, value in five.items()
        for flip in (0, 1)
        if {0, 5, 8} <= {code ^ flip for code in row}
    )
    assert violations[0] == pytest.approx(best)
    assert five[tuple(rows[0, :5].tolist())] == pytest.approx(best)


@given(st.integers(0, 10**6), st.integers(4, 9))
def test_contracted_rows_keep_their_value(seed, n):
    rng = np.random.default_rng(seed)
    multipliers = random_multipliers(seed, n)
    image = np.arange(n)
    u, v = np.sort(rng.choice(n, 2, replace=False))
    image[v] = u
    image[image > v] -= 1
    flipped = np.zeros(n, np.bool_)
    flipped[v] = rng.random() < 0.5
    rows, keep = semidefinite._contract_rows(multipliers.rows, image, flipped)
    z = rng.choice([-1.0, 1.0], n - 1)
    s = z[image] * np.where(flipped, -1.0, 1.0)
    for t in np.flatnonzero(keep):
        before = semidefinite._row_values(np.outer(s, s), multipliers.rows[t : t + 1])
        after = semidefinite._row_values(np.outer(z, z), rows[t : t + 1])
        # Both sides of the inequality move alike.
        assert before[0][0] + before[1][0] == pytest.approx(after[0][0] + after[1][0])


def test_inherited_multipliers_start_near_the_parents_bound():
    uprooted = random_model(3, 12)
    parent = sdp_bound(uprooted)
    for opposite in (0, 1):
        tied = np.full(12, -1)
        tied[7] = 2 * 4 + opposite
        child = reduce(uprooted, tied)
        start = carried(parent.multipliers, child)
        bound = sdp_bound(child.kernel, multipliers=start, rounds=1).bound
        assert bound <= parent.bound + 0.1
        assert bound >= enumerate_map(child.kernel).bound


def test_it_stops_at_what_is_enough_and_at_the_limits():
    uprooted = random_model(5, 15)
    loose = sdp_bound(uprooted, lower=1e6)
    assert loose.evaluations < sdp_bound(uprooted).evaluations
    assert sdp_bound(uprooted, limits=Limits(seconds=0.0)).stopped == "time"


def test_no_edge_no_bound_to_compute():
    found = sdp_bound(UprootedModel(3, np.zeros((0, 2), int), [], 1.5))
    assert (found.bound, found.evaluations) == (1.5, 0)


def test_roundings_are_distinct_and_good():
    uprooted = random_model(8, 12)
    X = sdp_bound(uprooted).X
    ys = hyperplane_roundings(X, seed=0)
    assert len(np.unique(ys, axis=0)) == len(ys)
    assert not ys[:, 0].any()
    assert max(map(uprooted.score, ys)) == pytest.approx(enumerate_map(uprooted).bound)


def test_the_least_decided_pair_is_split():
    X = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, -0.1], [-0.8, -0.1, 1.0]])
    assert splitting_pair(X) == (1, 2)
