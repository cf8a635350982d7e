import numpy as np
import pytest
from hypothesis import given

from mapreroot import UprootedModel, memory, uproot
from mapreroot.errors import SizeError
from mapreroot.generate import complete, cube, grid, image, three_regular, torus
from mapreroot.limits import Limits
from mapreroot.relaxations import declarative
from mapreroot.relaxations import tri as module
from mapreroot.relaxations.separation import Separator
from mapreroot.relaxations.tri import tri
from tests.relaxation_points import KINDS, best_phi, random_model, tri_by_linprog
from tests.strategies import models


def check(model, relaxation):
    """D is feasible on the model's own edges and has the value."""
    assert relaxation.converged
    assert ((relaxation.d >= 0) & (relaxation.d <= 1)).all()
    violated = Separator(model).cycle_cuts(relaxation.d, 100).violation(relaxation.d)
    assert violated.max(initial=0.0) <= 1e-6
    value = model.constant - model.weights @ relaxation.d / 2
    scale = max(1.0, float(np.abs(model.weights).sum()))
    assert value == pytest.approx(relaxation.bound, abs=1e-8 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_reduced_and_mapped_back_it_is_the_value_of_all_triangles(kind):
    rng = np.random.default_rng(10 + KINDS.index(kind))
    kernels = 0
    for _ in range(60):
        model = random_model(rng, int(rng.integers(3, 10)), kind)
        relaxation = tri(model)
        assert relaxation.bound == pytest.approx(tri_by_linprog(model), rel=1e-9, abs=1e-9)
        assert relaxation.bound >= best_phi(model) - 1e-12
        check(model, relaxation)
        kernels += len(relaxation.blocks) > 0
    assert kernels > 0


def decorated_clique(rng, sizes):
    """K_5 or larger, where TRI is not tight, with vertices hung on two or three of its own."""
    n = int(rng.integers(5, 8))
    edges = [(i, j) for j in range(n) for i in range(j)]
    weights = [-1.0] * len(edges)
    for v in range(n, n + int(rng.integers(1, 7))):
        for u in rng.choice(min(v, n + 1), int(rng.integers(2, 4)), replace=False).tolist():
            edges.append((u, v))
            weights.append(float(rng.choice([-1.0, 1.0]) * rng.choice(sizes)))
    return UprootedModel(max(max(pair) for pair in edges) + 1, edges, weights, 0.25)


@pytest.mark.parametrize("sizes", [[0.5, 0.7, 0.9], [1.0], [1.0, 2.0]])
def test_fractional_optima_map_back(sizes):
    # Equal sizes cancel in the reductions, so that edges of the model are none of the kernel.
    rng = np.random.default_rng(11)
    majority = lost = 0
    for _ in range(40):
        model = decorated_clique(rng, sizes)
        relaxation = tri(model)
        check(model, relaxation)
        assert relaxation.bound == pytest.approx(tri_by_linprog(model), rel=1e-9)
        fractional = bool((np.minimum(relaxation.d, 1 - relaxation.d) > 1e-6).any())
        reduction = relaxation.reduction
        majority += fractional and bool((reduction.steps[:, 0] == module.MAJORITY).any())
        kernel = reduction.kernel
        lost += fractional and kernel.m < kernel.n_vertices * (kernel.n_vertices - 1) // 2
    assert majority >= 3
    assert lost >= 3 or sizes != [1.0]


def test_large_models_map_back():
    for model in (cube(4, couplings="pm1", seed=1), three_regular(200, fields="none", seed=2)):
        check(uproot(model), tri(uproot(model)))


@given(model=models(min_n=1, max_n=6))
def test_every_rooting_has_the_same_value(model):
    uprooted = uproot(model)
    value = tri(uprooted).bound
    for r in range(uprooted.n_vertices):
        assert tri(uproot(uprooted.reroot(r))).bound == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        grid(4, 5, seed=1),
        grid(3, 3, couplings="gaussian", fields="low", seed=2),
        torus(4, 4, couplings="pm1", seed=3),
        three_regular(14, seed=4),
    ],
)
def test_it_is_the_readable_reference(model):
    uprooted = uproot(model)
    reference = declarative.tri(uprooted)
    assert tri(uprooted).bound == pytest.approx(reference.bound, rel=1e-6, abs=1e-6)


def test_an_image_needs_no_linear_program_to_speak_of():
    model = uproot(image(60, 60, seed=1))
    relaxation = tri(model)
    check(model, relaxation)
    assert relaxation.reduction.kernel.n_vertices < 0.1 * model.n_vertices


def test_progress_and_limits():
    model = uproot(torus(12, 12, seed=1))
    seen = []
    full = tri(model, on_progress=lambda *step: seen.append(step))
    assert [rounds for _, rounds, _ in seen] == list(range(1, full.rounds + 1))
    assert seen[-1][0] == pytest.approx(full.bound, rel=1e-12)
    assert [bound for bound, _, _ in seen] == sorted((b for b, _, _ in seen), reverse=True)
    late = tri(model, limits=Limits(seconds=0.0))
    assert (late.stopped, late.converged) == ("time", False)
    assert late.bound >= full.bound
    assert late.d.shape == (model.m,)


def test_the_parts_sum_to_the_bound():
    halves = [uproot(torus(5, 5, seed=seed)) for seed in (1, 2)]
    shift = halves[0].n_vertices
    both = UprootedModel(
        2 * shift,
        np.vstack([halves[0].edges, halves[1].edges + shift]),
        np.concatenate([half.weights for half in halves]),
        0.5,
    )
    relaxation = tri(both)
    check(both, relaxation)
    assert relaxation.bound == pytest.approx(0.5 + sum(tri(half).bound for half in halves))
    parts = sum(part.value for part in relaxation.parts)
    assert relaxation.bound == pytest.approx(relaxation.reduction.kernel.constant + parts)


def test_a_model_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(module, "BYTES_PER_EDGE", 10**15)
    with pytest.raises(SizeError, match="GB are free; use LOC"):
        tri(uproot(torus(6, 6, seed=1)))


def test_small_and_empty_models():
    assert tri(UprootedModel(1, [], [], 3.0)).bound == 3.0
    single = tri(UprootedModel(2, [(0, 1)], [-2.0]))
    assert (single.bound, single.d.tolist()) == (1.0, [1.0])


def test_a_forecast_of_memory_counts_edges_and_triangles(monkeypatch):
    model = uproot(complete(40, couplings="gaussian", fields="none", seed=0))
    monkeypatch.setattr(memory, "SMALL", 0)
    n_edges, n_triangles = 40 * 39 // 2, 40 * 39 * 38 // 6
    needed = module.BYTES_PER_EDGE * n_edges + module.BYTES_PER_TRIANGLE * n_triangles
    monkeypatch.setattr(memory, "available", lambda: needed - 1)
    with pytest.raises(SizeError, match=r"40 vertices and 780 edges .* use LOC"):
        tri(model)
    monkeypatch.setattr(memory, "available", lambda: needed)
    assert tri(model).converged
