import numpy as np
import oracle
from hypothesis import given
from hypothesis import strategies as st

from mapreroot.residual import network, push_all


@st.composite
def networks(draw, amounts):
    n = draw(st.integers(1, 6))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = draw(
        st.lists(ends.filter(lambda pair: pair[0] != pair[1]), max_size=12 if n > 1 else 0)
    )
    tail, head = np.array(edges, dtype=np.int64).reshape(-1, 2).T.copy()
    capacity = np.array(draw(st.lists(amounts, min_size=len(edges), max_size=len(edges))))
    sign = st.sampled_from([-1, 1])
    excess = np.array([draw(sign) * draw(amounts) for _ in range(n)])
    return tail, head, capacity.astype(excess.dtype), excess


@given(networks(st.integers(0, 5)) | networks(st.integers(0, 2**60)))
def test_the_flow_is_lawful_and_as_large_as_the_smallest_cut(drawn):
    tail, head, capacity, excess = drawn
    n, left, r = len(excess), excess.copy(), np.repeat(capacity, 2)
    push_all(*network(n, tail, head), r, left)
    assert (r >= 0).all()
    assert (r[0::2] + r[1::2] == 2 * capacity).all()
    balance = [int(a) - int(b) for a, b in zip(excess, left, strict=True)]
    for u, v, amount in zip(tail, head, capacity - r[0::2], strict=True):
        balance[u] -= int(amount)
        balance[v] += int(amount)
    assert balance == [0] * n
    assert ((left == 0) | (np.sign(left) == np.sign(excess))).all()
    flow = sum(int(a - b) for a, b in zip(excess, left, strict=True) if a > 0)
    give, take = np.maximum(excess, 0).astype(object), np.maximum(-excess, 0).astype(object)
    cuts = []
    for x in oracle.assignments(n):
        side = x.astype(bool)
        paid = capacity[side[tail] != side[head]].astype(object).sum()
        cuts.append(int(paid) + int(give[side].sum()) + int(take[~side].sum()))
    assert flow == min(cuts)
