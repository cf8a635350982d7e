"""Good assignments fast: ascent, annealing, tabu search, renormalisation, rounding.

Everything here maximises phi(y) = c - 1/2 sum W_ij [y_i != y_j] of an `UprootedModel` and proves
nothing.
"""

from mapreroot.exact.local_search.ascent import improve
from mapreroot.exact.local_search.combining import combine
from mapreroot.exact.local_search.finding import find, find_by_the_clock, refine
from mapreroot.exact.local_search.rounding import round_by_spanning_tree
from mapreroot.exact.local_search.tabu import tabu

__all__ = [
    "combine",
    "find",
    "find_by_the_clock",
    "improve",
    "refine",
    "round_by_spanning_tree",
    "tabu",
]
