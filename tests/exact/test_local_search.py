"""Local search: kernels against plain twins, never worse than the start, the same for a seed."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import uprooted_models

from mapreroot.errors import ModelError
from mapreroot.exact import local_search
from mapreroot.exact.local_search import (
    anneal,
    combine,
    find,
    improve,
    round_by_spanning_tree,
    tabu,
)
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel


def random_model(seed, n, density=1.0, integer=False):
    rng = np.random.default_rng(seed)
    pairs = [e for e in itertools.combinations(range(n), 2) if rng.random() < density]
    weights = rng.integers(-3, 4, len(pairs)) if integer else rng.normal(size=len(pairs))
    return UprootedModel(n, np.array(pairs).reshape(-1, 2), weights)


def torus(side, seed):
    rng = np.random.default_rng(seed)
    at = np.arange(side * side).reshape(side, side)
    edges = [(at[i, j], at[(i + 1) % side, j]) for i in range(side) for j in range(side)]
    edges += [(at[i, j], at[i, (j + 1) % side]) for i in range(side) for j in range(side)]
    return UprootedModel(side * side, edges, rng.choice([-2.0, 2.0], len(edges)))


def brute_force(uprooted):
    ys = itertools.product((0, 1), repeat=uprooted.n_vertices - 1)
    return max(uprooted.score([0, *y]) for y in ys)


models = st.builds(
    random_model,
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.sampled_from([0.2, 0.5, 1.0]),
    st.booleans(),
)


def plain_gain(uprooted, y, v):
    z = np.array(y)
    z[v] ^= 1
    return uprooted.score(z) - uprooted.score(y)


@given(models, st.integers(0, 2**30))
def test_gains_are_differences_of_scores(uprooted, seed):
    y = np.random.default_rng(seed).integers(0, 2, uprooted.n_vertices).astype(np.int8)
    graph = local_search._graph(uprooted)
    gain = local_search._gains(*graph, y)
    plain = [plain_gain(uprooted, y, v) for v in range(uprooted.n_vertices)]
    assert np.allclose(gain, plain)


@given(models, st.integers(0, 2**30))
def test_ascent_ends_where_no_flip_gains_and_keeps_its_gains_up_to_date(uprooted, seed):
    y = np.random.default_rng(seed).integers(0, 2, uprooted.n_vertices).astype(np.int8)
    before = uprooted.score(y)
    graph = local_search._graph(uprooted)
    gain = local_search._gains(*graph, y)
    local_search._ascend(*graph, local_search._slack(graph.start, graph.weight), y, gain)
    assert uprooted.score(y) >= before
    assert np.allclose(gain, local_search._gains(*graph, y))
    assert gain.max() <= 1e-9


def plain_chain(uprooted, y, seed):
    """The best moment of one chain from ``seed``: the twin of the kernel, on scores only."""
    near = {v: set() for v in range(uprooted.n_vertices)}
    for i, j in uprooted.edges.tolist():
        near[i].add(j)
        near[j].add(i)
    z, flipped, best = np.array(y), [], uprooted.score(y)
    v = seed
    while v is not None:
        z[v] ^= 1
        flipped.append(v)
        best = max(best, uprooted.score(z))
        frontier = set().union(*(near[u] for u in flipped)) - set(flipped)
        v = max(frontier, key=lambda u: plain_gain(uprooted, z, u), default=None)
    return best


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_one_chain_reaches_what_its_plain_twin_reaches(seed, n):
    uprooted = random_model(seed, n, 0.5)
    y = np.random.default_rng(seed).integers(0, 2, n).astype(np.int8)
    graph = local_search._graph(uprooted)
    slack = local_search._slack(graph.start, graph.weight)
    first = seed % n
    dirty = np.zeros(n, np.bool_)
    dirty[first] = True
    expected = plain_chain(uprooted, y, first)
    # Work for this one chain only: its changes make others dirty.
    work = 1
    local_search._chains(*graph, slack, y, local_search._gains(*graph, y), first, work, dirty)
    assert uprooted.score(y) == pytest.approx(expected)


@given(models, st.integers(0, 2**30))
def test_improve_is_never_worse_than_its_start(uprooted, seed):
    y = np.random.default_rng(seed).integers(0, 2, uprooted.n_vertices)
    given_y = y.copy()
    better = improve(uprooted, y)
    assert uprooted.score(better) >= uprooted.score(y)
    assert (y == given_y).all()
    assert all(plain_gain(uprooted, better, v) <= 1e-9 for v in range(uprooted.n_vertices))


@given(models)
def test_all_searches_find_the_optimum_of_small_models(uprooted):
    best = brute_force(uprooted)
    assert uprooted.score(tabu(uprooted)) == pytest.approx(best)
    assert uprooted.score(find(uprooted)) == pytest.approx(best)


@pytest.mark.parametrize("search", [anneal, tabu, find])
def test_a_seed_fixes_the_answer(search):
    uprooted = torus(12, 3)
    once, again = search(uprooted, seed=7), search(uprooted, seed=7)
    assert (once == again).all()


@pytest.mark.parametrize("search", [anneal, tabu, find])
def test_no_search_returns_less_than_it_was_given(search):
    uprooted = torus(8, 1)
    best = find(uprooted, rounds=4)
    assert uprooted.score(search(uprooted, seed=3, initial=best)) >= uprooted.score(best)


@pytest.mark.parametrize("search", [anneal, tabu, find])
def test_no_time_still_gives_an_assignment(search):
    uprooted = torus(8, 2)
    y = search(uprooted, limits=Limits(seconds=0.0))
    assert y.shape == (64,)
    assert set(np.unique(y)) <= {0, 1}


def test_annealing_frees_itself_where_ascent_is_caught():
    uprooted = torus(20, 5)
    start = improve(uprooted, np.zeros(400, np.int8))
    assert uprooted.score(anneal(uprooted, sweeps=400)) > uprooted.score(start)


@given(models, st.integers(0, 2**30))
def test_rounding_gives_an_assignment_back(uprooted, seed):
    y = np.random.default_rng(seed).integers(0, 2, uprooted.n_vertices)
    i, j = uprooted.edges.T
    rounded = round_by_spanning_tree(uprooted, y[i] != y[j])
    assert uprooted.score(rounded) == uprooted.score(y)


def test_rounding_follows_the_most_decided_edges():
    # The cycle 0-1-2-3 with one undecided edge: the other three decide, against its d.
    uprooted = UprootedModel(4, [(0, 1), (0, 3), (1, 2), (2, 3)], np.ones(4))
    y = round_by_spanning_tree(uprooted, [0.9, 0.51, 0.2, 0.1])
    assert y.tolist() == [0, 1, 1, 1]
    y = round_by_spanning_tree(uprooted, [0.9, 0.0, 0.2, 0.4])
    assert y.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("initial", [[0, 1], [0, 2, 1], [[0, 1, 0]], [0.5, 0, 1]])
def test_a_start_that_is_no_assignment_is_refused(initial):
    uprooted = random_model(0, 3)
    for search in (anneal, tabu, find):
        with pytest.raises(ModelError, match="expected 3 values"):
            search(uprooted, initial=initial)
    with pytest.raises(ModelError, match="expected 3 values"):
        improve(uprooted, initial)


def test_a_d_of_the_wrong_length_is_refused():
    with pytest.raises(ModelError, match="one value for 3 edges"):
        round_by_spanning_tree(random_model(0, 3), [0.5])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scale_does_not_matter(scale):
    uprooted = random_model(11, 9)
    scaled = UprootedModel(9, uprooted.edges, uprooted.weights * scale)
    assert math.isclose(scaled.score(find(scaled)), brute_force(uprooted) * scale, rel_tol=1e-9)


@given(uprooted_models(max_vertices=9), st.data())
def test_a_combination_is_as_good_as_either(uprooted, data):
    n = uprooted.n_vertices
    bits = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    y, z = data.draw(bits), data.draw(bits)
    combined = combine(uprooted, y, z)
    assert uprooted.score(combined) >= max(uprooted.score(y), uprooted.score(z))
    # Every edge is as in y or as in z.
    for i, j in uprooted.edges.tolist():
        assert combined[i] ^ combined[j] in (y[i] ^ y[j], z[i] ^ z[j])


def test_a_combination_takes_the_better_of_each_part():
    # Twenty triangles, without an edge between them.
    corners = np.arange(60).reshape(20, 3)
    edges = np.concatenate([corners[:, pair] for pair in ([0, 1], [0, 2], [1, 2])])
    weights = np.random.default_rng(0).normal(size=60)
    y, z = np.zeros((2, 160), np.int8)
    best = 0.0
    for k, (a, b, _) in enumerate(corners):
        y[a] = z[b] = 1
        ab, ac, bc = weights[[k, 20 + k, 40 + k]]
        best += max(-(ab + ac) / 2, -(ab + bc) / 2)
    uprooted = UprootedModel(160, edges, weights)
    assert uprooted.score(combine(uprooted, y, z)) == pytest.approx(best)
