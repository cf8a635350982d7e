"""Large models in arrays: the same answers as the plain exact graph, step by step."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import finite_floats, models, small_integers

from mapreroot import Model, solve, uproot, verify
from mapreroot.certificates import arrays, make
from mapreroot.certificates.arrays import WideGraph, denominator_bits, exact_sum
from mapreroot.certificates.graph import ExactGraph, RefusedError
from mapreroot.certificates.rules import bound_of
from mapreroot.exact import prove
from mapreroot.generate import grid, hidden_root, image
from mapreroot.limits import Limits
from mapreroot.relaxations.roof_duality import roof_dual
from mapreroot.roots import max_w

potentials = st.one_of(small_integers, finite_floats)


def both(model, rounded=0):
    """The graph of a model in both forms; None where its numbers do not fit."""
    scale, plain = ExactGraph.uprooted(model)
    numbers = np.concatenate([model.theta, model.weights, [model.constant]])
    assert 1 << denominator_bits(numbers) == scale
    return plain.rounded(rounded), WideGraph.uprooted(model, denominator_bits(numbers), rounded)


def same(plain, wide):
    narrow = wide.narrow()
    assert sorted(narrow.edges()) == sorted(plain.edges())
    assert (narrow.constant, narrow.gone, narrow.n) == (plain.constant, plain.gone, plain.n)
    assert plain.step() == wide.step()
    assert plain.signs() == wide.signs()


@given(models(potentials=potentials), st.integers(0, 60))
def test_both_forms_hold_the_same_numbers(model, rounded):
    plain, wide = both(model, rounded)
    assume(wide is not None)
    same(plain, wide)
    y = np.random.default_rng(rounded).integers(0, 2, model.n + 1).astype(np.int8)
    assert plain.value(y) == wide.value(y)


@given(models(min_n=2, max_n=6, potentials=small_integers), st.data())
def test_fixing_does_the_same_to_both(model, data):
    plain, wide = both(model)
    root = data.draw(st.integers(0, model.n))
    at = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=wide.n, max_size=wide.n)))
    at[root] = -1
    fixed = {int(v): int(at[v]) for v in np.flatnonzero(at >= 0)}
    same(plain.around(root, fixed), wide.around(root, at))
    for v, a in fixed.items():
        plain.unite(v, root, a)
    same(plain, wide.united(root, at))


@given(models(min_n=1, max_n=6, potentials=small_integers), st.data())
def test_a_flow_is_judged_alike(model, data):
    plain, wide = both(model)
    root = data.draw(st.integers(0, model.n))
    proof = make.flow_argument(plain, root)
    if proof["by"] == "flow" and data.draw(st.booleans()):
        k = data.draw(st.integers(0, len(proof["amounts"]) - 1))
        proof["amounts"][k] += data.draw(st.sampled_from([-(2**63), -1, 1, 2**64]))

    def judged(graph):
        try:
            return bound_of(graph, proof)
        except RefusedError as refusal:
            return str(refusal)

    assert judged(plain) == judged(wide)


@given(models(min_n=1, max_n=6, potentials=potentials), st.data())
def test_flows_of_both_forms_prove_the_same(model, data):
    plain, wide = both(model)
    assume(wide is not None)
    root = data.draw(st.integers(0, model.n))
    bounds = [bound_of(plain, make.flow_argument(graph, root)) for graph in (plain, wide)]
    assert bounds[0] == bounds[1]


@given(models(potentials=potentials), st.integers(0, 80))
def test_rounding_only_raises_the_bound(model, bits):
    plain, _ = both(model)
    signs = {"by": "signs"}
    rounded = bound_of(plain, {"by": "round", "bits": bits, "then": signs})
    assert bound_of(plain, signs) <= rounded <= bound_of(plain, signs) + (model.m + model.n << bits)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6))
def test_sums_are_exact(values):
    assert exact_sum(np.array(values)) == sum(map(Fraction, values))
    bits = denominator_bits(np.array(values))
    assert all((Fraction(value) * 2**bits).denominator == 1 for value in values)
    assert bits == 0 or any((Fraction(value) * 2 ** (bits - 1)).denominator > 1 for value in values)


def test_what_vanishes_is_still_rounded_down():
    model = Model([0, 0], [(0, 1)], [-(2.0**-1074)])
    wide = WideGraph.uprooted(model, 1074, 1070)
    assert wide.weights.tolist() == [-1]
    assert WideGraph.uprooted(Model([0, 0], [(0, 1)], [1.0]), 0, 0).weights.tolist() == [1]
    assert WideGraph.uprooted(Model([0, 0], [(0, 1)], [2.0**58]), 0, 0) is None


def test_sums_that_do_not_fit_go_another_way():
    star = Model([0.0] * 9, [(0, k) for k in range(1, 9)], [2.0**57] * 8)
    wide = WideGraph.uprooted(star, 0, 0)
    at = np.array([-1, -1] + [0] * 8)
    assert wide.united(0, at) is None
    pairs = [[k, 0] for k in range(2, 10)]
    proof = {"by": "steps", "steps": [["fix", 0, pairs, {"by": "signs"}]], "then": {"by": "signs"}}
    assert bound_of(wide, proof) == bound_of(wide.narrow(), proof) == 2**60


large = pytest.mark.parametrize(
    "model",
    [
        grid(12, 12, attractive=True),
        hidden_root(12, 12),
        image(16, 16),
        image(16, 16, seed=1),
        grid(8, 8, couplings="gaussian", fields=2.0, seed=2),
        grid(12, 12, attractive=True, couplings="gaussian", seed=3),
    ],
    ids=["attractive", "hidden root", "image", "other image", "mixed", "gaussian"],
)


@large
def test_large_models_are_proved_in_arrays(model, monkeypatch):
    monkeypatch.setattr(prove, "_LARGE", 0)
    result = solve(model)
    certificate = json.loads(json.dumps(prove.prove(model, result.x.tolist())))
    checked = verify(model, certificate)
    assert checked, checked.failure
    assert checked.bound - result.score <= 1e-9 * np.abs(model.weights).max()
    monkeypatch.setattr(arrays, "BITS", 1)  # nothing fits any more: the plain graph judges it
    assert verify(model, certificate) == checked


@large
def test_without_room_for_exact_graphs_flows_prove_a_bound(model, monkeypatch):
    x = solve(model).x.tolist()
    narrow = WideGraph.narrow  # of what has no edges any more
    with monkeypatch.context() as patch:
        patch.setattr(prove, "_LARGE", 0)
        patch.setattr(WideGraph, "narrow", lambda self: ExactGraph(self.n, narrow(self).constant))
        patch.setattr(Limits, "lacks", lambda self, memory: memory > 0)
        certificate = prove.prove(model, x, Limits(memory=0))
    checked = verify(model, certificate)
    assert checked, checked.failure
    uprooted = uproot(model)
    assert checked.bound <= roof_dual(uprooted, max_w(uprooted)).bound * (1 + 1e-9) + 1e-9


@large
def test_a_tampered_proof_of_a_large_model_is_refused(model, monkeypatch):
    monkeypatch.setattr(prove, "_LARGE", 0)
    certificate = prove.prove(model, solve(model).x.tolist())
    inner = certificate["proof"]
    place = "proof"
    if inner["by"] == "round":
        inner, place = inner["then"], f"{place}.then"
    if inner["by"] == "steps":
        inner, place = inner["steps"][0][3], f"{place}.steps[0][3]"
    amounts = inner["amounts"]
    k = int(np.argmax(np.abs(amounts)))
    for amount, failure in (
        (amounts[k] - int(np.sign(amounts[k])), "the flow is not conserved at"),
        (2**62, f"amounts[{k}]: {2**62} exceeds the capacity"),
        (math.pi, f"amounts[{k}]: {math.pi} is no integer"),
    ):
        amounts[k] = amount
        assert verify(model, certificate).failure.startswith(f"{place}: {failure}")


def test_weights_of_very_different_size_are_not_rounded():
    assert prove._rounded(Model([1e18], [], [])) is not None
    assert prove._rounded(Model([1e18, 0.2], [], [])) is None
