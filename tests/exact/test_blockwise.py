"""Blocks of one model: each gets its part of the time, and together they are the whole."""

import numpy as np
import pytest

from mapreroot.exact.blockwise import solve_blocks
from mapreroot.exact.search import trivial_bound
from mapreroot.generate import complete, grid, torus
from mapreroot.limits import Limits
from mapreroot.model import Model
from mapreroot.rerooting import uproot


def side_by_side(*models):
    starts = np.cumsum([0] + [model.n for model in models])
    edges = [model.edges + start for model, start in zip(models, starts[:-1], strict=True)]
    return Model(
        np.concatenate([model.theta for model in models]),
        np.concatenate(edges),
        np.concatenate([model.weights for model in models]),
    )


def hard(seed):
    return complete(120, couplings="pm1", fields="none", seed=seed)


def test_no_block_takes_the_time_of_another():
    models = hard(0), hard(1)
    small = side_by_side(*(complete(40, couplings="pm1", fields="none", seed=k) for k in (0, 1)))
    solve_blocks(uproot(small))  # loads compiled code, which takes long the first time
    found = solve_blocks(uproot(side_by_side(*models)), Limits(seconds=4.0))
    assert found.stopped == "time"
    halves = np.split(found.y[1:], 2)
    scores = [model.score(half) for model, half in zip(models, halves, strict=True)]
    # Had one of them got nothing, its bound would have been that of all repulsive edges cut.
    unbounded = [trivial_bound(uproot(m)) - s for m, s in zip(models, scores, strict=True)]
    assert 0 < found.slack < min(unbounded) / 2


def test_progress_of_blocks_adds_up_to_the_whole():
    models = [torus(8, 8, seed=k) for k in range(3)] + [grid(3, 3, attractive=True, seed=0)]
    whole = uproot(side_by_side(*models))
    said = []
    found = solve_blocks(whole, on_progress=lambda *state: said.append(state))
    best = sum(optimum(model) for model in models)
    assert found.stopped is None
    assert whole.score(found.y) == pytest.approx(best)
    bounds = [bound for _, bound, _ in said]
    assert bounds == sorted(bounds, reverse=True)
    assert all(score <= best + 1e-9 <= bound + 2e-9 for score, bound, _ in said)
    assert said[-1][:2] == pytest.approx((best, best))
    assert said[-1][2] == found.nodes


def optimum(model):
    uprooted = uproot(model)
    return uprooted.score(solve_blocks(uprooted).y)
