"""The dimod sampler: dimod's own conformance checks, its composites, its energies."""

import importlib
import json
import sys
import unittest

import dimod
import numpy as np
import pytest
from dimod.testing import assert_sampler_api, load_sampler_bqm_tests
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models

import mapreroot as mr
from mapreroot.interop.dimod import RerootSampler


@load_sampler_bqm_tests(RerootSampler)
class TestConformance(unittest.TestCase):
    def test_api(self) -> None:
        assert_sampler_api(RerootSampler())


@st.composite
def bqms(draw: st.DrawFn) -> dimod.BinaryQuadraticModel:
    """Labels of many kinds, any vartype, dtype and offset."""
    model = draw(models(max_n=6, potentials=finite_floats))
    labels = ["a", ("b", 1), 7, 2.5, frozenset("c"), ""][: model.n]
    model = mr.Model(model.theta, model.edges, model.weights, model.constant, labels)
    bqm = model.to_bqm(draw(st.sampled_from(["BINARY", "SPIN"])))
    dtype = draw(st.sampled_from([np.float64, np.float32, object]))
    return dimod.BinaryQuadraticModel(bqm, dtype=dtype)


@given(bqms())
def test_energies_are_those_of_the_exact_solver(bqm: dimod.BinaryQuadraticModel) -> None:
    found = RerootSampler().sample(bqm)
    assert found.vartype is bqm.vartype
    assert set(found.variables) == set(bqm.variables)
    assert len(found) == 1
    best = float(bqm.offset)
    if bqm.num_variables:
        best = dimod.ExactSolver().sample(bqm).first.energy
        dimod.testing.assert_sampleset_energies(found, bqm)
    tolerance = 1e-4 if bqm.dtype == np.float32 else 1e-8
    assert found.record.energy[0] == pytest.approx(best, abs=tolerance)
    assert found.info["status"] == "optimal"
    assert found.info["lower_bound"] <= found.record.energy[0]
    assert found.info["lower_bound"] == pytest.approx(best, abs=tolerance)
    json.dumps(found.info)


@pytest.fixture(scope="module")
def frustrated() -> dimod.BinaryQuadraticModel:
    rng = np.random.default_rng(2)
    names = [f"q{i}" for i in range(9)]
    bqm = dimod.BinaryQuadraticModel("SPIN")
    bqm.offset = 3.25
    for i, u in enumerate(names):
        bqm.add_linear(u, rng.integers(-3, 4))
        for v in names[:i]:
            bqm.add_quadratic(u, v, rng.integers(-3, 4))
    return bqm


COMPOSITES = {
    "ClipComposite": {"lower_bound": -50, "upper_bound": 50},
    "ConnectedComponentsComposite": {},
    "FixVariablesComposite": {"fixed_variables": {"q0": 1, "q4": -1}},
    "ScaleComposite": {"scalar": 0.5},
    "SpinReversalTransformComposite": {"num_spin_reversal_transforms": 1},
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_inside_composites(frustrated: dimod.BinaryQuadraticModel, name: str) -> None:
    composites = pytest.importorskip("dwave.preprocessing.composites")
    sampler = getattr(composites, name)(RerootSampler())
    found = sampler.sample(frustrated, seed=1, **COMPOSITES[name])
    bqm = frustrated.copy()
    fixed = COMPOSITES[name].get("fixed_variables", {})
    bqm.fix_variables(fixed)
    assert found.first.energy == pytest.approx(dimod.ExactSolver().sample(bqm).first.energy)
    dimod.testing.assert_sampleset_energies(found, frustrated)
    assert all(found.first.sample[v] == value for v, value in fixed.items())


def test_inside_dimods_own_composites(frustrated: dimod.BinaryQuadraticModel) -> None:
    best = dimod.ExactSolver().sample(frustrated).first.energy
    tracking = dimod.TrackingComposite(dimod.TruncateComposite(RerootSampler(), 1))
    assert tracking.sample(frustrated, time_limit=60).first.energy == best
    assert tracking.input["time_limit"] == 60
    nodes, edges = list(frustrated.variables), list(frustrated.quadratic)
    structured = dimod.StructureComposite(RerootSampler(), nodes, edges)
    assert structured.sample(frustrated).first.energy == best


def test_higher_order_polynomials() -> None:
    poly = dimod.BinaryPolynomial({"abc": 2, "ab": -1, "d": 1, "acd": -3}, "SPIN")
    found = dimod.HigherOrderComposite(RerootSampler()).sample_poly(poly, penalty_strength=10)
    best = dimod.ExactPolySolver().sample_poly(poly).first.energy
    assert found.first.energy == best


def test_ising_and_qubo(frustrated: dimod.BinaryQuadraticModel) -> None:
    sampler = RerootSampler()
    best = dimod.ExactSolver().sample(frustrated).first.energy
    h, J, offset = frustrated.to_ising()
    assert sampler.sample_ising(h, J).first.energy + offset == pytest.approx(best)
    Q, offset = frustrated.to_qubo()
    assert sampler.sample_qubo(Q).first.energy + offset == pytest.approx(best)


def test_reads_are_occurrences_and_seeds_repeat(frustrated: dimod.BinaryQuadraticModel) -> None:
    sampler = RerootSampler()
    first, again = (sampler.sample(frustrated, num_reads=25, seed=4) for _ in range(2))
    assert first.record.num_occurrences.tolist() == [25]
    assert first.first.sample == again.first.sample
    with pytest.raises(mr.ModelError, match="num_reads is 0"):
        sampler.sample(frustrated, num_reads=0)


def test_a_stopped_answer_has_a_bound(frustrated: dimod.BinaryQuadraticModel) -> None:
    found = RerootSampler().sample(frustrated, time_limit=0.0, method="exact")
    best = dimod.ExactSolver().sample(frustrated).first.energy
    assert found.info["lower_bound"] <= best + 1e-9 <= found.first.energy + 2e-9
    assert found.info["status"] == "optimal" or found.info["stopped"] == "time"


def test_unknown_parameters_draw_dimods_warning(frustrated: dimod.BinaryQuadraticModel) -> None:
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning, match="annealing_time"):
        RerootSampler().sample(frustrated, annealing_time=20)


def test_a_biased_infinity_is_an_error() -> None:
    bqm = dimod.BinaryQuadraticModel({"a": float("inf")}, {}, 0.0, "BINARY")
    with pytest.raises(mr.ModelError, match="inf"):
        RerootSampler().sample(bqm)


def test_missing_dimod_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dimod", None)
    monkeypatch.delitem(sys.modules, "mapreroot.interop.dimod")
    with pytest.raises(ImportError, match=r"needs dimod: pip install 'mapreroot\[dimod\]'"):
        importlib.import_module("mapreroot.interop.dimod")
