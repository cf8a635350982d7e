"""Local search: kernels against plain twins, never worse than the start, the same for a seed."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import uprooted_models

from mapreroot.errors import ModelError
from mapreroot.exact.local_search import (
    annealing,
    ascent,
    combine,
    find,
    find_by_the_clock,
    finding,
    improve,
    refine,
    renormalising,
    round_by_spanning_tree,
    tabu,
)
from mapreroot.exact.local_search.annealing import walk
from mapreroot.exact.local_search.graph import gains, graph_of, greedy, random_state
from mapreroot.exact.local_search.tabu import _tabu
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


def cooled(uprooted, seed, sweeps):
    """Where one walk from hot ends."""
    graph = graph_of(uprooted)
    return walk(graph, greedy(graph), sweeps, 1.0, random_state(seed), Limits())


class Glass(Limits):
    """An hourglass: time passes when the test says so."""

    def __init__(self, now, end):
        super().__init__()
        self.now, self.end = now, end

    def left(self):
        return max(0.0, self.end - self.now[0])

    def reason(self, nodes=0):
        return None if self.left() > 1e-9 else "time"

    def part(self, share):
        return Glass(self.now, self.now[0] + share * self.left())


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
    graph = graph_of(uprooted)
    gain = gains(graph, y)
    plain = [plain_gain(uprooted, y, v) for v in range(uprooted.n_vertices)]
    assert np.allclose(gain, plain)


@given(models, st.integers(0, 2**30))
def test_ascent_ends_where_no_flip_gains_and_keeps_its_gains_up_to_date(uprooted, seed):
    y = np.random.default_rng(seed).integers(0, 2, uprooted.n_vertices).astype(np.int8)
    before = uprooted.score(y)
    graph = graph_of(uprooted)
    gain = gains(graph, y)
    ascent.ascend(graph, y, gain)
    assert uprooted.score(y) >= before
    assert np.allclose(gain, gains(graph, y))
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
    graph = graph_of(uprooted)
    first = seed % n
    dirty = np.zeros(n, np.bool_)
    dirty[first] = True
    expected = plain_chain(uprooted, y, first)
    # Work for this one chain only: its changes make others dirty.
    work = 1
    ascent._chains(graph, y, gains(graph, y), first, work, dirty)
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


@pytest.mark.parametrize("search", [tabu, find])
def test_a_seed_fixes_the_answer(search):
    uprooted = torus(12, 3)
    once, again = search(uprooted, seed=7), search(uprooted, seed=7)
    assert (once == again).all()


@pytest.mark.parametrize("search", [tabu, find])
def test_no_search_returns_less_than_it_was_given(search):
    uprooted = torus(8, 1)
    best = find(uprooted, rounds=4)
    assert uprooted.score(search(uprooted, seed=3, initial=best)) >= uprooted.score(best)


@pytest.mark.parametrize("search", [tabu, find])
def test_no_time_still_gives_an_assignment(search):
    uprooted = torus(8, 2)
    y = search(uprooted, limits=Limits(seconds=0.0))
    assert y.shape == (64,)
    assert set(np.unique(y)) <= {0, 1}


def test_annealing_frees_itself_where_ascent_is_caught():
    uprooted = torus(20, 5)
    start = improve(uprooted, np.zeros(400, np.int8))
    walks = [cooled(uprooted, seed, 400) for seed in range(5)]
    assert max(map(uprooted.score, walks)) > uprooted.score(start)


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
    for search in (tabu, find, partial(find_by_the_clock, seed=0, limits=Limits(0.1))):
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


@given(models, st.integers(0, 2**30))
def test_a_walk_ends_where_no_flip_gains(uprooted, seed):
    graph = graph_of(uprooted)
    y = np.random.default_rng(seed).integers(0, 2, uprooted.n_vertices).astype(np.int8)
    before = y.copy()
    z = walk(graph, y, 20, 1.0, random_state(seed), Limits())
    assert (y == before).all()
    assert gains(graph, z).max() <= 1e-9


def test_cold_walks_accept_no_loss_and_hot_ones_do():
    # A pair of attractive edges in a row: the middle loses 2 by a flip, the ends 1.
    graph = graph_of(UprootedModel(3, [(0, 1), (1, 2)], [2.0, 2.0]))
    state = random_state(0)
    spin = np.ones(3, np.int8)
    flips = 0
    scale = np.ones(3)
    for _ in range(4000):
        field = np.array([1.0, 2.0, 1.0]) * spin[0]
        before = spin.copy()
        annealing._sweep(graph, spin, field, scale, np.array([0.5]), annealing._EXPONENTIAL, state)
        assert np.allclose(-spin * field, gains(graph, (spin > 0).astype(np.int8)))
        flips += int(spin[0] != before[0])
        spin[:] = 1
    # The first vertex's flip loses 1 at temperature 1/2.
    assert flips / 4000 == pytest.approx(math.exp(-2), abs=0.02)
    annealing._sweep(graph, spin, field, scale, np.full(99, 0.01), annealing._EXPONENTIAL, state)
    assert (spin == 1).all()


def shifted(x, *shifts):
    for shift in shifts:
        x ^= (x << shift if shift > 0 else x >> -shift) % 2**64
    return x


def plain_sweeps(uprooted, y, temperatures, x):
    """Metropolis on scores only: the twin of the kernel."""
    z = np.array(y)
    scale = np.zeros(len(z))
    for (i, j), W in zip(uprooted.edges, uprooted.weights, strict=True):
        scale[[i, j]] += (W / 2) ** 2
    for T in temperatures:
        for v, size in enumerate(np.sqrt(scale)):
            gain = plain_gain(uprooted, z, v)
            if gain > T * size * math.log(0.5 / 4096):
                x = shifted(x, 13, -7, 17)
                uniform = ((x >> 52) + 0.5) / 4096
                z[v] ^= gain - T * size * math.log(uniform) > 0
    return z, x


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_sweeps_do_what_their_plain_twin_does(seed, n):
    uprooted = random_model(seed, n, 0.6, integer=True)
    uprooted = UprootedModel(n, uprooted.edges, np.where(uprooted.weights, uprooted.weights, 1.0))
    y = np.random.default_rng(seed).integers(0, 2, n).astype(np.int8)
    temperatures = np.linspace(0.9, 0.2, 6)
    graph, state, spin = graph_of(uprooted), random_state(seed), 2 * y - 1
    expected, x = plain_sweeps(uprooted, y, temperatures, int(state[0]))
    field = -spin * gains(graph, y)
    scale = annealing._scales(graph)
    annealing._sweep(graph, spin, field, scale, temperatures, annealing._EXPONENTIAL, state)
    assert (spin == 2 * expected - 1).all()
    assert int(state[0]) == x
    assert (field == -spin * gains(graph, expected.astype(np.int8))).all()


def plain_tabu(uprooted, y, x, steps, patience):
    """Tabu search on scores only: the twin of the kernel."""

    def random():
        nonlocal x
        x = shifted(x, -12, 25, -27)
        return (x * 0x2545F4914F6CDD1D % 2**64 >> 11) / 2**53

    n = len(y)
    z, best, climb = np.array(y), np.array(y), uprooted.score(y)
    free, gained = [0] * n, 0
    for step in range(steps):
        chosen, ties = None, 0
        now = [plain_gain(uprooted, z, v) for v in range(n)]
        for v in range(n):
            if free[v] > step and uprooted.score(z) + now[v] <= uprooted.score(best):
                continue
            if chosen is None or now[v] > now[chosen]:
                chosen, ties = v, 1
            elif now[v] == now[chosen]:
                ties += 1
                chosen = v if random() * ties < 1 else chosen
        if chosen is not None:
            z[chosen] ^= 1
            free[chosen] = step + 1 + min(20, n // 4) + int(10 * random())
            if uprooted.score(z) > climb:
                climb, gained = uprooted.score(z), step
                best = np.array(z) if climb > uprooted.score(best) else best
        if step - gained >= patience:
            z, free, gained = np.array(best), [0] * n, step
            share = 0.05 + 0.3 * random()
            for v in range(n):
                z[v] ^= random() < share
            climb = uprooted.score(z)
    return best, x


@given(st.integers(0, 10**6), st.integers(2, 9))
def test_tabu_search_does_what_its_plain_twin_does(seed, n):
    uprooted = random_model(seed, n, 0.6, integer=True)
    y = np.random.default_rng(seed).integers(0, 2, n).astype(np.int8)
    graph, state = graph_of(uprooted), random_state(seed)
    expected, x = plain_tabu(uprooted, y, int(state[0]), 60, 7)
    z, best, gain = y.copy(), y.copy(), gains(graph, y)
    free, counts, scores = np.zeros(n, np.int64), np.zeros(2, np.int64), np.zeros(3)
    for steps in 13, 47:  # a call goes on where the last one stopped
        _tabu(graph, z, gain, best, free, counts, scores, state, steps, 7)
    assert (best == expected).all()
    assert int(state[0]) == x
    assert scores[2] == uprooted.score(best) - uprooted.score(y)
    assert (gain == gains(graph, z)).all()


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_a_walk_by_the_clock_cools_as_the_time_passes(most):
    now = [3.0]
    parts = []
    for part in annealing._by_the_clock(most, Glass(now, 5.0)):
        assert part[0] == pytest.approx((now[0] - 3.0) / 2.0)
        parts.append(part)
        now[0] += len(part) / 1000
    assert max(map(len, parts)) <= min(most, 2000 // 16)
    over = np.concatenate(parts)
    # Sweeps that all take as long are evenly spread, and as many as there is time for.
    assert len(over) == pytest.approx(2000, rel=1 / 16)
    assert np.diff(over[: -len(parts[-1])])[1:] == pytest.approx(1 / 2000)
    assert over[-1] <= 1


def test_a_walk_is_hot_until_its_clock_ticks():
    now = [0.0]
    walked = annealing._by_the_clock(100, Glass(now, 1.0))
    for _ in range(5):
        assert (next(walked) == 0).all()
    now[0] = 1.0
    assert list(walked) == []


@given(uprooted_models(max_vertices=9), st.integers(0, 99), st.data())
def test_by_the_clock_is_never_worse_than_the_start(uprooted, seed, data):
    n = uprooted.n_vertices
    y = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    for seconds in 0.0, 0.003:
        found = find_by_the_clock(uprooted, seed, Limits(seconds), y)
        assert uprooted.score(found) >= uprooted.score(y)
        refined = refine(uprooted, found, seed, Limits(seconds), None)
        assert uprooted.score(refined) >= uprooted.score(found)


@pytest.mark.parametrize(
    ("seconds", "rounds"), [(0.1, [0.1]), (5.0, [1, 4]), (85.0, [1, 4, 16, 64])]
)
def test_rounds_by_the_clock_become_longer_and_none_is_too_short(monkeypatch, seconds, rounds):
    uprooted = torus(10, 0)
    monkeypatch.setattr(finding, "_SHORTEST", 0.9 / (100 + 400))
    monkeypatch.setattr(finding, "_suits_tabu", lambda _: False)
    times = []

    def taking_all(graph, y, sweeps, heat, state, limits):
        if heat == 1.0:
            times.append(limits.left() / finding._FIRST)
        limits.now[0] = limits.end
        return y

    monkeypatch.setattr(finding, "walk", taking_all)
    monkeypatch.setattr(
        finding, "merge", lambda _, graph, ys, *rest: taking_all(graph, ys[0], 0, 0, *rest)
    )
    find_by_the_clock(uprooted, 0, Glass([0.0], seconds))
    assert times == pytest.approx(rounds)


@given(models)
def test_the_greedy_start_follows_what_is_set(uprooted):
    y = greedy(graph_of(uprooted))
    for v in range(uprooted.n_vertices):
        before = [
            (W if y[i] else -W)
            for (i, j), W in zip(uprooted.edges.tolist(), uprooted.weights, strict=True)
            if j == v
        ]
        assert y[v] == (sum(before) > 1e-12) or abs(sum(before)) <= 1e-12


@given(uprooted_models(max_vertices=9), st.integers(1, 5), st.integers(0, 2**30))
def test_a_contracted_model_holds_all_that_it_is_made_from(uprooted, count, seed):
    rng = np.random.default_rng(seed)
    ys = list(rng.integers(0, 2, (count, uprooted.n_vertices)).astype(np.int8))
    small, cluster = renormalising._contracted(uprooted, graph_of(uprooted), ys)
    # Twin: parts connected by edges whose relation is the same in all.
    part = list(range(uprooted.n_vertices))
    for _ in part:
        for i, j in uprooted.edges.tolist():
            if len({int(y[i] ^ y[j]) for y in ys}) == 1:
                part[i] = part[j] = min(part[i], part[j])
    assert len(set(part)) == small.n_vertices == len(set(cluster.tolist()))
    assert all((part[i] == part[j]) == (cluster[i] == cluster[j]) for i, j in uprooted.edges)
    first = [int(np.flatnonzero(cluster == c)[0]) for c in range(small.n_vertices)]
    constant = uprooted.score(ys[0]) - small.score(np.zeros(small.n_vertices))
    for y in ys:
        c = (y ^ ys[0])[first]
        differ = (ys[0] ^ c[cluster] ^ y).astype(bool)
        # The assignment comes back, up to flips of whole components.
        assert all(differ[i] == differ[j] for i, j in uprooted.edges)
        assert small.score(c) + constant == pytest.approx(uprooted.score(y))


@given(uprooted_models(max_vertices=12), st.integers(1, 9), st.integers(0, 2**30))
def test_a_merger_is_as_good_as_each(uprooted, count, seed):
    rng = np.random.default_rng(seed)
    ys = list(rng.integers(0, 2, (count, uprooted.n_vertices)).astype(np.int8))
    copies = [y.copy() for y in ys]
    merged = renormalising.merge(uprooted, graph_of(uprooted), ys, random_state(seed), Limits())
    assert uprooted.score(merged) >= max(uprooted.score(y) for y in ys)
    assert all((y == copy).all() for y, copy in zip(ys, copies, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_merging_beats_one_long_walk_on_a_torus(seed):
    uprooted = torus(40, seed)
    found = uprooted.score(find(uprooted, seed, rounds=1, sweeps=60))
    assert found > uprooted.score(cooled(uprooted, seed, 400))


def test_refining_is_never_worse_and_fixed_by_its_seed():
    uprooted = torus(12, 3)
    y = find(uprooted, rounds=1, sweeps=4)
    better = refine(uprooted, y, 5, Limits(), 80)
    assert uprooted.score(better) >= uprooted.score(y)
    assert (better == refine(uprooted, y, 5, Limits(), 80)).all()


@pytest.mark.parametrize("search", [tabu, find])
def test_the_order_of_the_edges_does_not_matter(search):
    uprooted = torus(10, 4)
    order = np.random.default_rng(0).permutation(uprooted.m)
    other = UprootedModel(100, uprooted.edges[order][:, ::-1], uprooted.weights[order])
    assert (search(uprooted, seed=2) == search(other, seed=2)).all()


def test_weights_of_all_sizes_freeze_together():
    # Half of the weights are a thousand times smaller: their share is found as well.
    rng = np.random.default_rng(1)
    large = torus(16, 1)
    edges = np.concatenate([large.edges, large.edges + 256])
    weights = np.concatenate([large.weights, 1e-3 * rng.choice([-2.0, 2.0], large.m)])
    found = cooled(UprootedModel(512, edges, weights), 0, 400)
    small = UprootedModel(256, large.edges, weights[large.m :])
    assert small.score(found[256:]) >= 0.98 * small.score(find(small))
