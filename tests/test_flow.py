import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapreroot.errors import SolverError
from mapreroot.flow import _pymaxflow, _settled, min_cut

ENGINES = ["pymaxflow", "ortools"]
capacities = st.one_of(
    st.floats(0, 1e3), st.integers(0, 5).map(float), st.sampled_from([0.0, 1e-9, 2.0**40])
)


@st.composite
def networks(draw):
    n = draw(st.integers(1, 5))
    ends = st.integers(0, n - 1)
    pairs = (
        draw(st.lists(st.tuples(ends, ends).filter(lambda p: p[0] != p[1]), max_size=8))
        if n > 1
        else []
    )
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def numbers(size):
        return np.array(draw(st.lists(capacities, min_size=size, max_size=size)))

    return edges[:, 0], edges[:, 1], numbers(len(edges)), numbers(n), numbers(n)


@pytest.mark.parametrize("engine", ENGINES)
@given(networks())
def test_the_cut_is_minimum(engine, network):
    tail, head, capacity, from_source, to_sink = network

    def worth(sink_side):
        cut = sink_side[tail] != sink_side[head]
        return capacity[cut].sum() + from_source[sink_side].sum() + to_sink[~sink_side].sum()

    value, side = min_cut(*network, engine=engine)
    best = min(worth(x.astype(bool)) for x in oracle.assignments(len(from_source)))
    assert value == pytest.approx(worth(side))
    scale = capacity.sum() + from_source.sum() + to_sink.sum()
    assert value == pytest.approx(best, abs=1e-12 * scale)


@pytest.mark.parametrize("bad", [math.nan, -1.0, math.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_bad_capacities_never_reach_an_engine(bad, place):
    numbers = [np.ones(1), np.ones(2), np.ones(2)]
    numbers[place][0] = bad
    with pytest.raises(SolverError, match="negative or not finite"):
        min_cut(np.array([0]), np.array([1]), *numbers)


@pytest.mark.parametrize("heaviest", [0, 3, 10, 40])
def test_what_terminals_settle_changes_neither_value_nor_side(heaviest):
    rng = np.random.default_rng(heaviest)
    n, m = 400, 900
    tail = rng.integers(0, n, m).astype(np.int32)
    head = ((tail + rng.integers(1, n, m)) % n).astype(np.int32)
    capacity = rng.integers(0, 6, m).astype(float)
    ends = rng.integers(0, heaviest + 1, (2, n)).astype(float)
    flow, side, _ = _pymaxflow(tail, head, capacity, *ends)  # both take the smallest sink's side
    value, ours = min_cut(tail, head, capacity, *ends, engine="pymaxflow")
    assert value == flow
    assert (ours == side).all()
    settled, _, (*_, left) = _settled(tail, head, capacity, *ends)
    assert len(left) == (settled == 0).sum()
    assert (len(left) < n / 4) == (heaviest == 40)


def test_nothing_is_settled_where_integers_would_be_rounded():
    n = 40
    hub, others = np.zeros(n, np.int32), np.arange(1, n + 1, dtype=np.int32)
    ends = np.full((2, n + 1), 2.0**52)
    ends[1, 1:] = 0
    settled, paid, (tail, *_) = _settled(hub, others, np.full(n, 2.0**50), *ends)
    assert not settled.any()
    assert (paid, len(tail)) == (0.0, n)
