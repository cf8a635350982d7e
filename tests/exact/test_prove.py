import json
from functools import partial
from types import SimpleNamespace

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models, planted_balanced, small_integers

from mapreroot import Model, solve, uproot
from mapreroot.certificates import verify
from mapreroot.exact import proof_boxes
from mapreroot.exact import prover as proving
from mapreroot.exact.heritage import Heritage
from mapreroot.exact.incumbent import Threshold
from mapreroot.exact.proof_boxes import BoxProof, OpenBox
from mapreroot.exact.prove import prove
from mapreroot.exact.semidefinite import sdp_bound
from mapreroot.generate import complete, image, torus
from mapreroot.limits import Limits
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cuts import Cuts

potentials = st.one_of(small_integers, finite_floats)


def best(model):
    return max(oracle.assignments(model.n), key=model.score).tolist()


def accepted(model, x, certificate):
    certificate = json.loads(json.dumps(certificate))  # what a stranger gets
    checked = verify(model, certificate)
    assert checked, checked.failure
    assert checked.score == model.score(x)
    return checked


@given(models(max_n=8, potentials=potentials))
def test_optima_are_proved(model):
    x = best(model)
    checked = accepted(model, x, prove(model, x))
    scale = float(np.abs(np.concatenate([model.theta, model.weights, [1.0]])).max())
    assert float(checked.exact_gap) <= 1e-9 * scale


@given(models(max_n=8))
def test_integer_weights_leave_no_gap(model):
    x = best(model)
    assert accepted(model, x, prove(model, x)).exact_gap == 0


@given(planted_balanced(max_n=8), st.data())
def test_balanced_rootings_are_proved_by_flows(model, data):
    hidden = uproot(model).reroot(data.draw(st.integers(0, model.n)))
    x = best(hidden)
    assert accepted(hidden, x, prove(hidden, x)).exact_gap == 0


@given(models(max_n=6, potentials=potentials), st.data())
def test_a_bound_is_proved_beside_a_worse_assignment(model, data):
    x = data.draw(st.lists(st.integers(0, 1), min_size=model.n, max_size=model.n))
    checked = accepted(model, x, prove(model, x))
    assert checked.bound >= oracle.best_score(model) - 1e-12


@pytest.mark.parametrize(
    "model",
    [
        torus(8, 8, couplings="gaussian", seed=1),
        torus(8, 8, couplings="pm1", seed=2),
        complete(16, couplings="pm1", fields="none", seed=3),
        image(20, 20, seed=4),
        Model.from_qubo(
            np.diag([1e18, -1e18, 0.3]) + np.array([[0, -5e17, 0], [0, 0, -0.1], [0] * 3])
        ),
    ],
    ids=["torus gaussian", "torus pm1", "K16", "image", "magnitudes"],
)
def test_larger_models(model):
    x = solve(model).x.tolist()
    checked = accepted(model, x, prove(model, x))
    assert checked.gap <= 1e-9


def test_without_time_the_bound_is_loose_and_true():
    model = torus(12, 12, couplings="gaussian", seed=5)
    x = [0] * model.n
    checked = accepted(model, x, prove(model, x, Limits(seconds=0.0)))
    assert checked.bound >= checked.score


def test_dense_models_are_proved_by_semidefinite_arguments():
    model = complete(18, couplings="gaussian", fields="none", seed=6)
    x = solve(model).x.tolist()
    certificate = prove(model, x)
    assert '"semidefinite"' in json.dumps(certificate)
    assert float(accepted(model, x, certificate).exact_gap) <= 1e-6


def test_a_proof_that_closes_the_gap_makes_the_answer_optimal():
    model = complete(14, seed=1)
    assert solve(model, method="loc").status == "feasible"
    proved = solve(model, method="loc", certify=True)
    assert (proved.status, proved.bound, proved.proof) == ("optimal", proved.score, "exact")


@pytest.mark.parametrize(
    "model",
    [
        complete(30, couplings="gaussian", fields="none", seed=7),
        torus(14, 14, couplings="pm1", fields=0.2, seed=8),
    ],
    ids=["K30", "torus"],
)
def test_a_search_that_was_stopped_has_its_bound_proved(model):
    stopped = solve(model, nodes=1, method="exact", certify=True)
    checked = accepted(model, stopped.x, stopped.certificate)
    assert stopped.proof == "exact"
    assert stopped.proved_bound == pytest.approx(stopped.bound, rel=1e-9)
    assert checked.bound == stopped.proved_bound


def test_the_worst_case_is_closed_first():
    model = complete(20, couplings="gaussian", fields="none", seed=9)
    x = solve(model).x.tolist()
    root = accepted(model, x, prove(model, x, branch=False)).bound
    score = model.score(x)
    gaps = []
    for share in (1.0, 0.5, 0.1, 0.0):
        slack = share * (root - score)
        gaps.append(accepted(model, x, prove(model, x, slack=slack)).bound - score)
        assert gaps[-1] <= slack + 1e-8
    assert gaps == sorted(gaps, reverse=True)


@pytest.mark.parametrize("busy", [True, False])
def test_blocks_share_the_time(busy, monkeypatch):
    now, turns = [0.0], []

    def block(prover, graph, y, limits):
        turns.append(limits.left())
        now[0] += limits.left() if busy else 0.0
        return {"by": "signs"}

    monkeypatch.setattr("mapreroot.limits.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(proving.Prover, "block", block)
    k6 = [(i, j) for j in range(6) for i in range(j)]
    edges = [(6 * k + i, 6 * k + j) for k in range(4) for i, j in k6]
    model = Model([0.0] * 24, edges, [-1.0] * len(edges))
    prove(model, [0] * 24, Limits(seconds=12.0))
    assert turns == pytest.approx([3.0] * 4 if busy else [3.0, 4.0, 6.0, 12.0])


@pytest.mark.parametrize("at_root", [True, False])
def test_equal_cuts_add_up(at_root):
    triangle = UprootedModel(3, [(0, 1), (1, 2), (0, 2)], [-1.0, -2.0, -4.0])
    twice = Cuts(np.array([0, 3, 6]), np.array([0, 2, 1] * 2), np.ones(6, dtype=np.bool_))
    proof = BoxProof(
        triangle, np.array([4, 5, 9]), Threshold(triangle, 0.0, 0.0), 1, twice, place := {}
    )
    proof.nodes.lp.y = np.array([0.25, 0.5])
    box = proof.root
    if not at_root:
        box = OpenBox(box.box, box.ties, {})
    proof.write(box)
    written = [row[0] for row in place["rows"]] if at_root else [y for _, y in box.node["rows"]]
    assert sum(written) == 0.75 * 2 * place["scale"]
    assert {tuple(sorted(row[1])) for row in place["rows"]} == {(4, 5, 9)}


def test_a_relaxation_by_itself_is_not_left_for_another(monkeypatch):
    monkeypatch.setattr(proving, "_IMPATIENT", 1e9)
    monkeypatch.setattr(proving, "sdp_bound", partial(sdp_bound, rounds=1))
    whole = complete(50, couplings="gaussian", fields="none", seed=4)
    edges = np.random.default_rng(4).permutation(whole.m)[:280]
    model = Model(whole.theta, whole.edges[edges], whole.weights[edges] - 0.5)
    relaxed = solve(model, method="tri", certify=True)
    assert (relaxed.status, relaxed.proof) == ("feasible", "exact")


def hard_models():
    for n, seed in ((10, 10), (10, 11), (10, 12), (12, 3), (14, 3)):
        rng = np.random.default_rng(seed)
        pairs = [(i, j) for j in range(n) for i in range(j)]
        weights = rng.integers(-9, -2, len(pairs)) if n == 10 else rng.normal(-1, 1, len(pairs))
        yield Model([0.0] * n, pairs, weights.astype(float))


def number_of(key, certificate):
    return json.dumps(certificate).count(f'"{key}"')


def test_cases_take_over_the_multipliers_of_their_relaxation(monkeypatch):
    monkeypatch.setattr(proving, "_SMALL", 3)
    monkeypatch.setattr(proving, "is_dense", lambda model: True)
    monkeypatch.setattr(proving, "sdp_bound", partial(sdp_bound, rounds=1))  # leaves gaps
    cases, taken = 0, 0
    carried = Heritage.multipliers

    def counted(*arguments):
        nonlocal taken
        found = carried(*arguments)
        taken += found is not None
        return found

    monkeypatch.setattr(Heritage, "multipliers", counted)
    for model in hard_models():
        x = best(model)
        certificate = prove(model, x)
        assert accepted(model, x, certificate).exact_gap <= 1e-8
        cases += number_of("pair", certificate)
    assert cases > 3
    assert taken > 3


@pytest.mark.parametrize("restart", [0.0, 1.0])
def test_boxes_share_one_program_until_little_is_left_of_it(restart, monkeypatch):
    monkeypatch.setattr(proving, "_SMALL", 3)
    monkeypatch.setattr(proving, "is_dense", lambda model: False)
    monkeypatch.setattr(proving, "is_half_dense", lambda model: False)
    monkeypatch.setattr(proof_boxes, "_RESTART", restart)
    pairs = fixed = programs = 0
    for model in hard_models():
        x = best(model)
        certificate = prove(model, x)
        assert accepted(model, x, certificate).exact_gap <= 1e-8
        pairs += number_of("pair", certificate)
        fixed += number_of("fixed", certificate)
        programs += number_of("cycles", certificate)
    assert pairs > 3
    assert fixed > 0
    assert (programs > 5) == (restart == 0.0)
