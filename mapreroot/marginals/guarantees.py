"""Which of the approximate values bound log Z, and from which side."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mapreroot.balance import balance
from mapreroot.marginals.messages import Beliefs
from mapreroot.model import Model

__all__ = ["guarantees"]


def guarantees(model: Model, method: str, beliefs: Beliefs) -> tuple[float | None, float | None]:
    """Lower and upper bounds on log Z that a method's value amounts to.

    Parameters
    ----------
    model : Model
        The model that the method was run on, after rerooting.
    method : {"bethe", "trw", "mean_field"}
    beliefs : Beliefs

    Returns
    -------
    lower, upper : float or None
        Without the model's constant; None where the method promises nothing.

    Notes
    -----
    - Mean field is a lower bound whether it converged or not.
    - TRW is an upper bound once it converged.
    - Bethe, converged, on a forest is log Z. On a balanced model (attractive after flips) it is
      a lower bound (Ruozzi 2012), and where each component has at most one cycle, half of Z at
      worst for every cycle: Z = l1^n + l2^n with eigenvalues l1 >= l2 >= 0 of the product of
      the cycle's tables, and Z_B = l1^n. With more cycles Z_B can be less than Z / 2, even in an
      attractive, connected model (two clusters, weakly joined), so no upper bound is given.

    Examples
    --------
    >>> from mapreroot.marginals.bethe import bethe
    >>> cycle = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [2.0, 2.0, 2.0])
    >>> found = bethe(cycle.theta, cycle.edges, cycle.weights)
    >>> [round(bound, 4) for bound in guarantees(cycle, "bethe", found)]  # log Z is 1.0338
    [0.9398, 1.6329]
    """
    if method == "mean_field":
        return beliefs.log_z, None
    if not beliefs.converged:
        return None, None
    if method == "trw":
        return None, beliefs.log_z
    i, j = model.edges.T
    graph = coo_array((np.ones(model.m), (i, j)), shape=(model.n, model.n))
    count, component = connected_components(graph, directed=False)
    cycles = np.bincount(component[i], minlength=count) - np.bincount(component) + 1
    if not cycles.any():
        return beliefs.log_z, beliefs.log_z
    if not balance(model).is_balanced:
        return None, None
    if cycles.max() > 1:
        return beliefs.log_z, None
    return beliefs.log_z, beliefs.log_z + int(cycles.sum()) * math.log(2)
