"""Certificates of every kind, changed in one place: refused with a reason, or still true."""

import copy
import itertools
import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mapreroot import Model, solve
from mapreroot.certificates import verify
from mapreroot.exact import proof_boxes, prove
from mapreroot.exact import prover as proving
from mapreroot.exact.semidefinite import sdp_bound
from mapreroot.generate import complete, grid, torus

TWO_K10 = [(10 * k + i, 10 * k + j) for k in (0, 1) for j in range(10) for i in range(j)]
K12 = [(i, j) for j in range(12) for i in range(j)]
MODELS = {
    "flow": grid(4, 4, attractive=True, seed=1),
    "round": grid(4, 4, attractive=True, fields=0.7, seed=5),
    "cycles": torus(5, 5, couplings="pm1", fields="none", seed=2),
    "fix": grid(7, 7, fields=1.0, seed=3),
    "semidefinite": complete(13, couplings="pm1", fields="none", seed=4),
    "cases": Model([0.0] * 12, K12, np.random.default_rng(3).integers(-9, -2, len(K12))),
    "differ": Model.from_ising(None, dict.fromkeys(itertools.combinations(range(13), 2), 1.0)),
    "fixed": Model([0.0] * 12, K12, np.random.default_rng(3).normal(-1, 1, len(K12))),
    "all": complete(8, couplings="gaussian", seed=6),
    "parts": Model([0.0] * 20, TWO_K10, [-1.0] * len(TWO_K10)),
}
OTHER = [None, "", 0.5, True, -1, 0, 2**70, [], {}, [[]], "signs", float("nan")]


@pytest.fixture(scope="module")
def certificates():
    made = {}
    for kind, model in MODELS.items():
        with pytest.MonkeyPatch.context() as patch:
            if kind == "round":
                patch.setattr(prove, "_LARGE", 0)
            if kind == "cases":
                patch.setattr(proving, "sdp_bound", partial(sdp_bound, rounds=1))
            if kind in ("differ", "fixed"):
                patch.setattr(proving, "_SMALL", 4)
                patch.setattr(proving, "is_dense", lambda model: False)
                patch.setattr(proving, "is_half_dense", lambda model: False)
                patch.setattr(proof_boxes, "_RESTART", 0.0)
            made[kind] = json.dumps(solve(model, method="exact", certify=True).certificate)
        assert f'"{kind}"' in made[kind]
    return made


def places(node, path=()):
    """The paths to everything inside a JSON value."""
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in inner:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def changed(value, data):
    """Another value than this one, near it or not."""
    near = []
    if isinstance(value, int | float):
        near = [value + 1, value - 1, -value, 2 * value, 1 - value]
    if isinstance(value, list):
        near = [value[1:], value[:-1], value[::-1], value + value[:1]]
    return data.draw(st.sampled_from([new for new in near + OTHER if new != value]))


@pytest.mark.parametrize("kind", MODELS)
@given(st.data())
def test_one_change_makes_no_falsehood_pass(kind, certificates, data):
    certificate = json.loads(certificates[kind])
    best = verify(MODELS[kind], certificate).score
    path = data.draw(st.sampled_from(list(places(certificate))))
    at = certificate
    for key in path[:-1]:
        at = at[key]
    if data.draw(st.booleans()):
        at[path[-1]] = changed(at[path[-1]], data)
    else:
        del at[path[-1]]
    checked = verify(MODELS[kind], copy.deepcopy(certificate))
    if checked:
        assert checked.score == MODELS[kind].score(certificate["x"])
        assert checked.bound >= best
        assert certificate["bound"] >= best
    else:
        assert checked.failure
        assert checked.exact_gap is None
