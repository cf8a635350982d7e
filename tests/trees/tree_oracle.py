"""Slow and plain answers about trees, which never call the code under test."""

from __future__ import annotations

from functools import cache

import numpy as np
from hypothesis import strategies as st


def random_tree(n, rng, parent_of=lambda v, rng: rng.integers(v)):
    """Edges of a tree whose vertex v hangs from a lower one, names and directions shuffled."""
    names = rng.permutation(n)
    pairs = [(v, int(parent_of(v, rng))) for v in range(1, n)]
    edges = np.array([p if rng.random() < 0.5 else p[::-1] for p in pairs]).reshape(-1, 2)
    return names[rng.permutation(edges)] if n > 1 else np.empty((0, 2), np.int64)


@st.composite
def forests(draw, largest):
    n = draw(st.integers(1, largest))
    names = draw(st.permutations(range(n)))
    edges = []
    for v in range(1, n):
        u = draw(st.integers(-1 if draw(st.integers(0, 4)) == 0 else 0, v - 1))
        if u >= 0:
            edges.append((names[u], names[v]) if draw(st.booleans()) else (names[v], names[u]))
    return n, np.array(draw(st.permutations(edges)), np.int64).reshape(-1, 2)


def entries(rng, shape, extreme=True):
    """Weights with zeros, and, where `extreme`, with magnitudes from 1e-270 to 1e270."""
    x = rng.random(shape) + 1e-3
    if extreme:
        x = np.where(rng.random(shape) < 0.3, 10.0 ** rng.uniform(-270, 270, shape), x)
    return np.where(rng.random(shape) < 0.15, 0.0, x)


def logsumexp(t, axis):
    top = np.max(t, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(t - safe).sum(axis=axis)) + np.squeeze(safe, axis)


def log_joint(n, edges, factors, data):
    """Log-weights of all labellings, an axis per vertex."""
    t = np.zeros([len(row) for row in data])
    with np.errstate(divide="ignore"):
        for v in range(n):
            t = t + np.log(data[v]).reshape([-1 if i == v else 1 for i in range(n)])
        for e, (u, v) in enumerate(edges):
            matrix = np.log(factors[e] if u < v else np.transpose(factors[e]))
            shape = [1] * n
            shape[min(u, v)], shape[max(u, v)] = matrix.shape
            t = t + matrix.reshape(shape)
    return t


def reduce_to(t, keep, reduction):
    """Reduce all axes but `keep`, in that order."""
    others = tuple(i for i in range(t.ndim) if i not in keep)
    out = reduction(t, others) if others else t
    return (
        np.moveaxis(out, np.argsort(np.argsort(keep)), range(len(keep))) if len(keep) > 1 else out
    )


def normalised(t):
    """Probabilities from logs; NaN when all are -inf."""
    return np.exp(t - logsumexp(t, tuple(range(t.ndim)))) if np.isfinite(t).any() else t * np.nan


def two_pass(n, edges, factors, data):
    """Log Z and marginals of a tree by belief propagation on logs, from vertex 0."""
    with np.errstate(divide="ignore"):
        log_data = [np.log(row) for row in data]
        log_factors = [np.log(matrix) for matrix in factors]
    near = [[] for _ in range(n)]
    for e, (u, v) in enumerate(edges):
        near[u].append((int(v), log_factors[e]))
        near[v].append((int(u), log_factors[e].T))
    order, parent = [0], {0: (None, None)}
    for u in order:
        for v, matrix in near[u]:
            if v not in parent:
                parent[v] = (u, matrix)  # a row per label of u
                order.append(v)
    up, inside = {}, [row.copy() for row in log_data]
    for v in reversed(order[1:]):
        u, matrix = parent[v]
        up[v] = logsumexp(matrix + inside[v], 1)
        inside[u] = inside[u] + up[v]
    outside = {0: np.zeros(len(data[0]))}
    children = [[] for _ in range(n)]
    for v in order[1:]:
        children[parent[v][0]].append(v)
    for u in order:
        base = log_data[u] + outside[u]
        ups = [up[v] for v in children[u]]
        before = np.cumsum([np.zeros_like(base), *ups], axis=0)
        after = np.cumsum([np.zeros_like(base), *ups[::-1]], axis=0)
        for i, v in enumerate(children[u]):
            others = base + before[i] + after[len(ups) - 1 - i]
            outside[v] = logsumexp(parent[v][1].T + others, 1)
    beliefs = [inside[v] + outside[v] for v in range(n)]
    return float(logsumexp(inside[0], 0)), [normalised(t) for t in beliefs]


def optimal_height(n, edges, root, largest_boundary=2):
    """Least height of a hierarchical cover by search over all splits (Definition 1).

    A cluster is the set of vertices inside its boundary; the imaginary vertex above the
    root is in the boundary of every cluster that holds the root, and counts. With no limit
    the number is chi*.
    """
    near = [set() for _ in range(n)]
    for u, v in edges:
        near[u].add(int(v))
        near[v].add(int(u))
    everything = frozenset(range(n))

    def parts(inside):
        left = set(inside)
        while left:
            part, stack = set(), [left.pop()]
            while stack:
                u = stack.pop()
                part.add(u)
                stack += near[u] & left
                left -= near[u]
            yield frozenset(part)

    def allowed(inside):
        boundary = set().union(*(near[u] for u in inside)) - inside
        return inside == everything or len(boundary) + (root in inside) <= largest_boundary

    @cache
    def height(inside):
        best = n + 1
        for v in inside:
            pieces = list(parts(inside - {v}))
            if all(allowed(piece) for piece in pieces):
                best = min(best, 1 + max((height(piece) for piece in pieces), default=0))
        return best

    return height(everything)
