"""Answers by brute force, written without any of the code under test but `Model` itself."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from mapreroot import Model, UprootedModel


def assignments(n: int) -> npt.NDArray[np.int8]:
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.int8).reshape(2**n, n)


def score(model: Model, x: npt.NDArray[np.int8]) -> float:
    """Equation 1, term by term."""
    total = model.constant
    for t, a in zip(model.theta.tolist(), x.tolist(), strict=True):
        total += t * a
    for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True):
        total -= w / 2 if x[i] != x[j] else 0.0
    return total


def best_score(model: Model) -> float:
    return max(score(model, x) for x in assignments(model.n))


def best_phi(uprooted: UprootedModel) -> float:
    return best_score(
        Model(np.zeros(uprooted.n_vertices), uprooted.edges, uprooted.weights, uprooted.constant)
    )


def log_partition(model: Model) -> float:
    scores = [score(model, x) for x in assignments(model.n)]
    top = max(scores)
    return top + math.log(sum(math.exp(s - top) for s in scores))


def marginals(model: Model) -> npt.NDArray[np.float64]:
    xs = assignments(model.n)
    scores = np.array([score(model, x) for x in xs])
    weight = np.exp(scores - scores.max())
    return np.asarray(weight @ xs / weight.sum())
