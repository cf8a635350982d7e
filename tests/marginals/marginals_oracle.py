"""The oracle: log Z and marginals by summing over all assignments."""

import itertools

import numpy as np


def enumerated(model):
    """Give log Z, p(x_i = 1) and the pair tables on the model's edges."""
    x = np.array(list(itertools.product((0, 1), repeat=model.n))).reshape(2**model.n, model.n)
    score = np.array([model.score(row) for row in x])
    weight = np.exp(score - score.max())
    probability = weight / weight.sum()
    pair = np.array(
        [
            [[probability[(x[:, i] == a) & (x[:, j] == b)].sum() for b in (0, 1)] for a in (0, 1)]
            for i, j in model.edges
        ]
    ).reshape(-1, 2, 2)
    return float(score.max() + np.log(weight.sum())), probability @ x, pair
