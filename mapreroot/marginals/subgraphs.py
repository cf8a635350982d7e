"""log Z of a balanced M+ by Jerrum and Sinclair's walk on subgraphs, with a standard error.

With spins s = +-1 a score is a constant plus sum W_ij s_i s_j / 4, and where M+ is balanced, so
that flips make every W positive, its high-temperature expansion has no negative term:

    Z(M+) = 2^N prod cosh(W/4) exp(-W/4) sum_X prod_(e in X) tanh(|W_e| / 4),

X running over the sets of edges in which every vertex has even degree. A walk cannot stay within
those. It walks on all subgraphs, each odd vertex counting as a factor mu, and that chain
mixes in time polynomial in the number of edges and 1 / mu (Jerrum and Sinclair 1993, Theorem 4).
At mu = 1 the edges are independent and the sum is known; at mu = 1 / N a subgraph is even with
probability at least 1 / cosh(1) = 0.648, since the subgraphs with 2 k given odd vertices weigh no
more than the even ones. In between mu goes down in steps that keep the ratios of the sums near 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot.balance import balance
from mapreroot.decomposition.blocks import blocks
from mapreroot.errors import ModelError, NotBalancedError
from mapreroot.model import Model, UprootedModel
from mapreroot.rerooting import uproot

__all__ = ["Estimate", "estimate_log_partition"]

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STEP = 2.0
"""Steps of log mu, in units of N^-1/2: the odd vertices fluctuate by N^1/2 / 2 at most."""
BURN_IN = 0.2
"""Sweeps at each mu before the first that counts, as a part of those that count."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of log Z from independent chains.

    Attributes
    ----------
    value : float
        log Z of the user's model in nats, constant included.
    standard_error : float
        Of ``value``, from how much the chains differ: the jackknife over them. 0 where nothing
        had to be sampled.
    effective_samples : float
        How many independent samples those of all chains are worth, at the mu where they are
        worth least (by batch means); inf where nothing had to be sampled.
    chains, samples, levels : int
        Chains; samples of each at each mu; values of mu, in all blocks together.
    """

    value: float
    standard_error: float
    effective_samples: float
    chains: int
    samples: int
    levels: int


def estimate_log_partition(
    model: Model, *, samples: int = 300, chains: int = 16, seed: int = 0
) -> Estimate:
    """Estimate log Z where M+ is balanced, at any size and treewidth.

    Parameters
    ----------
    model : Model
        Balanced when uprooted: attractive, with fields of one sign, after flips.
    samples : int
        Of each chain, at each value of mu, one a sweep over the edges; at least 2.
    chains : int
        Independent chains; at least 2.
    seed : int
        The estimate depends on nothing else but the model.

    Returns
    -------
    Estimate

    Raises
    ------
    NotBalancedError
        If M+ has a frustrated cycle, which it carries: the expansion then has negative terms.
    ModelError
        If there are fewer than 2 samples or chains.

    Notes
    -----
    Biconnected blocks of M+ are estimated one by one; a bridge is in no even subgraph, so a forest
    without fields is exact. O(chains samples m N^1/2 log N). Ratios of neighbouring sums are
    averages from both sides (Bennett's bridge with the geometric mean), pooled over the chains.
    Jerrum and Sinclair (1993), section 4.

    Examples
    --------
    >>> model = Model([0.5, 0.2, 0.1], [(0, 1), (1, 2), (0, 2)], [2.0, 2.0, 2.0])
    >>> estimate = estimate_log_partition(model)
    >>> from mapreroot.marginals import log_partition
    >>> abs(estimate.value - log_partition(model).value) < 4 * estimate.standard_error < 0.1
    True
    """
    for name, count in (("samples", samples), ("chains", chains)):
        if count < 2:
            raise ModelError(f"{name} is {count}: expected at least 2")
    uprooted = uproot(model)
    cycle = balance(uprooted).frustrated_cycle
    if cycle is not None:
        names = " - ".join(str(uprooted.labels[v]) for v in cycle)
        raise NotBalancedError(
            f"M+ has the frustrated cycle {names} ({uprooted.labels[0]} is the added vertex): "
            "the chain of subgraphs needs attractive edges and fields of one sign, after flips; "
            "use log_partition",
            cycle,
        )
    value, variance, effective, levels = _independent(uprooted), 0.0, math.inf, 0
    parts = [block.model for block in blocks(uprooted) if block.model.m > 1]
    for part, stream in zip(parts, np.random.SeedSequence(seed).spawn(len(parts)), strict=True):
        log_mu = _schedule(part.n_vertices)
        t = np.tanh(np.abs(part.weights) / 4)
        odd = np.stack(
            [
                _walk(part.edges, t, part.n_vertices, log_mu, samples, np.random.default_rng(one))
                for one in stream.spawn(chains)
            ]
        )
        log_sum, error = _bridge(odd, log_mu)
        value += float(np.log1p(t).sum()) + log_sum
        variance += error**2
        effective = min(effective, _effective(odd))
        levels += len(log_mu)
    return Estimate(value, math.sqrt(variance), effective, chains, samples, levels)


def _independent(uprooted: UprootedModel) -> float:
    """Log Z of M, but for the sum over even subgraphs."""
    a = uprooted.weights / 4
    log_cosh = np.abs(a) + np.log1p(np.exp(-2 * np.abs(a))) - math.log(2)
    return math.fsum(
        [uprooted.constant, (uprooted.n_vertices - 1) * math.log(2), *(log_cosh - a).tolist()]
    )


def _schedule(n: int) -> Floats:
    """Logarithms of mu, from 0 down to -log n."""
    steps = max(1, math.ceil(math.log(n) * math.sqrt(n) / STEP))
    return np.linspace(0.0, -math.log(n), steps + 1)


@njit(cache=True)
def _walk(
    edges: Ints, t: Floats, n: int, log_mu: Floats, samples: int, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Count the odd vertices of the samples at each mu, shape (levels, samples).

    One step draws an edge and redraws whether it is there, given all others.
    """
    m = len(edges)
    present = np.zeros(m, np.bool_)
    odd = np.zeros(n, np.bool_)
    count = 0
    for e in range(m):  # mu = 1: the edges are independent
        if rng.random() * (1 + t[e]) < t[e]:
            present[e] = True
            for v in edges[e]:
                odd[v] = not odd[v]
                count += 1 if odd[v] else -1
    result = np.empty((len(log_mu), samples), np.int32)
    burn_in = math.ceil(BURN_IN * samples)
    for level in range(len(log_mu)):
        mu2 = math.exp(2 * log_mu[level])
        for sweep in range(-burn_in, samples):
            for _ in range(m):
                place = rng.random() * m
                e = int(place)
                i, j = edges[e]
                # The weight with the edge over the weight without it.
                with_edge = t[e]
                if odd[i] == odd[j]:
                    with_edge *= mu2 if odd[i] == present[e] else 1 / mu2
                if ((place - e) * (1 + with_edge) < with_edge) != present[e]:
                    present[e] = not present[e]
                    for v in (i, j):
                        odd[v] = not odd[v]
                        count += 1 if odd[v] else -1
            if sweep >= 0:
                result[level, sweep] = count
    return result


def _bridge(odd: npt.NDArray[np.int32], log_mu: Floats) -> tuple[float, float]:
    """Log of the sum over even subgraphs by that over all at mu = 1, and its standard error."""
    half = np.diff(log_mu)[:, None] / 2
    down = _log_means(odd[:, :-1] * half)
    up = _log_means(-odd[:, 1:] * half)
    even = np.log(np.maximum((odd[:, -1] == 0).mean(axis=1), 1e-300))
    logs = np.concatenate([down, up, even[:, None]], axis=1)
    signs = np.concatenate([np.ones(len(half)), -np.ones(len(half)), np.ones(1)])
    chains = len(logs)
    whole = float(_pooled(logs) @ signs)
    without = np.array([_pooled(np.delete(logs, c, axis=0)) @ signs for c in range(chains)])
    spread = float(((without - without.mean()) ** 2).sum())
    return whole, math.sqrt((chains - 1) / chains * spread)


def _log_means(values: Floats) -> Floats:
    """Log of the means of exp over the last axis."""
    top = values.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(values - top).mean(axis=-1)))


def _pooled(logs: Floats) -> Floats:
    """Log of the means over the chains of what ``logs`` holds the logs of."""
    return _log_means(logs.T)


def _effective(odd: npt.NDArray[np.int32]) -> float:
    """Effective sample size by batch means, the smallest over the levels."""
    chains, levels, samples = odd.shape
    size = max(1, math.isqrt(samples))
    batches = odd[:, :, : samples // size * size].reshape(chains, levels, -1, size)
    single = odd.var(axis=(0, 2))
    means = batches.mean(axis=3).transpose(1, 0, 2).reshape(levels, -1)
    between = means.var(axis=1, ddof=1)
    moving = single > 0
    if not moving.any():
        return float(chains * samples)
    worth = chains * samples * single[moving] / np.maximum(size * between[moving], 1e-300)
    return float(min(worth.min(), chains * samples))
