"""Every optimal assignment of a user's model, not only one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.exact import optima
from mapreroot.limits import Limits, interruptible
from mapreroot.model import TOL, Model
from mapreroot.notebook import table
from mapreroot.rerooting import uproot

__all__ = ["Optima", "all_optima"]

_FRACTION_BITS = 10  # numbers with at most so many binary places after the point are exact


@dataclass(frozen=True, eq=False)
class Optima:
    """The optimal assignments of a model.

    Attributes
    ----------
    solutions : ndarray of int8, shape (k, n)
        Distinct, in ascending order.
    score : float
        Of each of them (of the best one, where rounding tells them apart).
    complete : bool
        Whether these are all: False where a limit came first.
    """

    solutions: npt.NDArray[np.int8]
    score: float
    complete: bool

    def _repr_html_(self) -> str:
        number = f"{len(self.solutions)}" + ("" if self.complete else ", and perhaps more")
        return table("Optimal assignments", {"score": self.score, "number": number})


def all_optima(
    model: Model, limit: int = 1000, time_limit: float | None = None, seed: int = 0
) -> Optima:
    """List the assignments of highest score.

    Parameters
    ----------
    model : Model
    limit : int
        How many at most.
    time_limit : float, optional
        Seconds.
    seed : int
        Of the heuristics that find the first one.

    Returns
    -------
    Optima

    Raises
    ------
    ModelError
        For a limit below 1.
    SolverError
        If a solver under it fails.

    Notes
    -----
    Scores are equal when they are equal to the last bit if all potentials are whole numbers (or
    have few binary places), and within TOL of the largest potential otherwise: 0.1 + 0.2 and 0.3
    tie. The time grows with the number of optima, and with a search that may use no reduction
    that breaks ties.

    Examples
    --------
    >>> all_optima(Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-1, -1, -1])).solutions.tolist()
    [[0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]]
    """
    if limit < 1:
        raise ModelError(f"limit is {limit}: expected at least 1")
    limits = Limits(time_limit)
    with interruptible(limits):
        ys, complete = optima.all_optima(uproot(model), limit, limits, seed)
    x = ys[:, 1:] ^ ys[:, :1]
    scores = np.array([model.score(row) for row in x])
    keep = scores >= scores.max() - _tolerance(model)
    x = x[keep & (scores > -math.inf)]
    x = x[np.lexsort(x.T[::-1])] if model.n else x[:1]
    return Optima(x, float(scores.max()), complete)


def _tolerance(model: Model) -> float:
    numbers = np.concatenate([model.theta, model.weights])
    scaled = numbers * 2.0**_FRACTION_BITS
    if (scaled == np.rint(scaled)).all():
        return 0.0
    return TOL * float(np.abs(numbers).max())
