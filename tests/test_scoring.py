from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mapreroot.scoring import exact_score

wild = st.floats(-1e300, 1e300, allow_nan=False)
close = st.sampled_from([1.0, -1.0, 2.0**53, -(2.0**53), 2.0**-60, -(2.0**-60), 0.1, 1e16, -1e16])


@given(st.lists(st.one_of(wild, close), min_size=1, max_size=12), st.data())
def test_the_sum_is_rounded_once(numbers, data):
    half = data.draw(st.integers(0, len(numbers) - 1))
    theta, weights = np.array(numbers[:half]), np.array(numbers[half:])
    edges = np.array([(k % 3, 3) for k in range(len(weights))], dtype=np.int64).reshape(-1, 2)
    bits = np.array(data.draw(st.lists(st.integers(0, 1), min_size=16, max_size=16)), dtype=np.int8)
    exact = Fraction(0.25) + sum(Fraction(t) * int(a) for t, a in zip(theta, bits, strict=False))
    for (i, j), w in zip(edges.tolist(), weights, strict=True):
        exact -= Fraction(w) / 2 if bits[i] != bits[j] else 0
    assert exact_score(0.25, theta, edges, weights, bits) == float(exact)
