"""Facets and vertices of small cut and metric polytopes, against published numbers.

Deza and Laurent, Geometry of Cuts and Metrics (1997), chapters 30 and 31.
"""

import numpy as np
import pytest

import polytopes as pt
from polytopes.hypermetric import BEYOND_TRIANGLES
from polytopes.semimetric import Inequalities

CUT = {3: (4, 4), 4: (8, 16), 5: (16, 56), 6: (32, 368)}  # N: vertices, facets
MET = {3: (4, 4), 4: (8, 16), 5: (32, 40), 6: (544, 80)}


def all_facets(N: int) -> Inequalities:
    """The facets of CUT_N for N <= 6: triangles and hypermetric inequalities."""
    systems = [pt.met(N), *(pt.hypermetric_inequalities(N, sizes) for sizes in BEYOND_TRIANGLES)]
    A = np.vstack([A.toarray() for A, _ in systems])
    import scipy.sparse as sp

    return sp.csr_array(A), np.concatenate([b for _, b in systems])


def affine_dimension(points: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(points[1:] - points[0])) if len(points) else -1


@pytest.mark.parametrize("N", CUT)
def test_every_inequality_listed_is_a_facet_of_cut(N: int) -> None:
    vertices = pt.cut_vertices(N)
    A, b = all_facets(N)
    assert (len(vertices), A.shape[0]) == CUT[N]
    values = A @ vertices.T
    assert (values <= b[:, None]).all()
    for value, right in zip(values, b, strict=True):
        assert affine_dimension(vertices[value == right]) == pt.n_pairs(N) - 1


@pytest.mark.parametrize("N", MET)
def test_every_triangle_is_a_facet_of_met(N: int) -> None:
    A, b = pt.met(N)
    assert A.shape[0] == MET[N][1]
    vertices = pt.cut_vertices(N)
    for value, right in zip(A @ vertices.T, b, strict=True):
        assert affine_dimension(vertices[value == right]) == pt.n_pairs(N) - 1


def test_met5_has_sixteen_fractional_vertices_beside_the_cuts() -> None:
    cuts = pt.cut_vertices(5)
    labellings = np.arange(16)[:, None] >> np.arange(5) & 1
    fractional = np.array([pt.switch(np.full(10, 2 / 3), y) for y in labellings])
    vertices = np.vstack([cuts, fractional]).round(9)
    assert len({tuple(v) for v in vertices.tolist()}) == MET[5][0]
    A, b = pt.met(5)
    for d in np.vstack([cuts, fractional]):
        slack = b - A @ d
        assert slack.min() > -1e-12
        assert np.linalg.matrix_rank(A.toarray()[slack < 1e-9]) == 10
    for d in fractional:
        cut = pt.violated_hypermetric(d)[0]
        assert cut.is_pentagonal
        assert cut.violation == pytest.approx(2 / 3)


@pytest.mark.parametrize("N", CUT)
def test_the_hull_of_the_cuts_in_exact_arithmetic(N: int) -> None:
    ppl = pytest.importorskip("ppl")
    generators = ppl.Generator_System()
    for d in pt.cut_vertices(N).astype(int).tolist():
        generators.insert(ppl.point(ppl.Linear_Expression(d, 0)))
    hull = ppl.C_Polyhedron(generators)
    facets = {
        tuple(int(c) for c in (*row.coefficients(), row.inhomogeneous_term()))
        for row in hull.minimized_constraints()
    }
    assert len(facets) == CUT[N][1]
    A, b = all_facets(N)
    ours = np.column_stack([-A.toarray(), b]).astype(int)
    ours //= np.gcd.reduce(ours, axis=1)[:, None]
    assert {tuple(row) for row in ours.tolist()} == facets


@pytest.mark.parametrize("N", MET)
def test_the_vertices_of_met_in_exact_arithmetic(N: int) -> None:
    ppl = pytest.importorskip("ppl")
    constraints = ppl.Constraint_System()
    A, b = pt.met(N)
    for row, right in zip(A.toarray().astype(int).tolist(), b.astype(int).tolist(), strict=True):
        constraints.insert(ppl.Linear_Expression(row, -right) <= 0)
    polytope = ppl.C_Polyhedron(constraints)
    assert len(polytope.minimized_constraints()) == MET[N][1]
    vertices = {
        tuple(int(c) / int(v.divisor()) for c in v.coefficients())
        for v in polytope.minimized_generators()
    }
    assert len(vertices) == MET[N][0]
    cuts = {tuple(d) for d in pt.cut_vertices(N).tolist()}
    assert cuts <= vertices
    assert {d for d in vertices if set(d) <= {0.0, 1.0}} == cuts
