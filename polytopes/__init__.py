"""Cut polytopes and their relaxations, as inequalities and as points, to compute and learn with.

A point d has one number for each pair of N points, "how far the two ends differ"; CUT is the
convex hull of the cuts, MET and RMET the relaxations by triangle inequalities. Rows come as
``(A, b)``, a sparse matrix and a vector with A d <= b. Nothing here solves anything, and nothing
but numpy and scipy.sparse is needed.
"""

from polytopes.correlation import (
    covariance_map,
    inverse_covariance_map,
    loc,
    to_correlation,
    to_cut,
    tri,
)
from polytopes.cuts import cut_vector, cut_vertices, switch, switch_inequalities
from polytopes.cycles import (
    CycleInequality,
    chordless_cycles,
    cycle_inequalities,
    violated_cycles,
)
from polytopes.hypermetric import (
    HypermetricInequality,
    hypermetric_inequalities,
    pentagonal_inequalities,
    violated_hypermetric,
)
from polytopes.pairs import (
    index_of_pair,
    n_pairs,
    n_points,
    pair_of_index,
    pairs,
    to_matrix,
    to_vector,
)
from polytopes.semimetric import met, rmet, triangle_inequalities, triples

__all__ = [
    "CycleInequality",
    "HypermetricInequality",
    "chordless_cycles",
    "covariance_map",
    "cut_vector",
    "cut_vertices",
    "cycle_inequalities",
    "hypermetric_inequalities",
    "index_of_pair",
    "inverse_covariance_map",
    "loc",
    "met",
    "n_pairs",
    "n_points",
    "pair_of_index",
    "pairs",
    "pentagonal_inequalities",
    "rmet",
    "switch",
    "switch_inequalities",
    "to_correlation",
    "to_cut",
    "to_matrix",
    "to_vector",
    "tri",
    "triangle_inequalities",
    "triples",
    "violated_cycles",
    "violated_hypermetric",
]
