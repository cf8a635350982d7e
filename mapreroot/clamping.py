"""Clamping composed with rerooting: a series of variables held, the first of them for free.

Conditioning on one vertex of M+ costs nothing, for y and 1 - y score alike: that is the root.
Every further vertex that is clamped doubles the work and leaves two easier models, whose log Z
add up, whose marginals mix, and whose best assignments compete (Weller 2016, section 7).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mapreroot.decomposition import Block, blocks, components, outwards, recombine
from mapreroot.errors import ModelError, SizeError
from mapreroot.marginals import LogPartition, Marginals, log_partition, marginals
from mapreroot.model import TOL, Model, UprootedModel
from mapreroot.rerooting import uproot
from mapreroot.solve import solve

__all__ = ["ClampedBlock", "ClampedMap", "Clamping", "clamp_and_reroot"]

Bits = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]
Inference = Literal["exact", "bethe", "trw", "mean_field"]

MOST = 2**20
"""Models to be solved, at most."""


@dataclass(frozen=True, eq=False)
class ClampedBlock:
    """A biconnected block of M+ with the vertices that are held.

    Attributes
    ----------
    block : Block
    gate : int
        The vertex of the block that is nearest to vertex 0.
    root : int
        The vertex that is held at 0.
    clamped : tuple of int
        The vertices that are held at 0 and at 1, in the order they were chosen. All of these
        are vertices of M+.
    """

    block: Block
    gate: int
    root: int
    clamped: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClampedMap:
    """The best assignment of all clamped models.

    Attributes
    ----------
    x : ndarray of int8, shape (n,)
    score : float
        Its score on the user's model, in nats, constant included.
    bound : float
        No assignment scores more.
    is_tight : bool
        Whether score and bound are the same, up to rounding.
    """

    x: Bits
    score: float
    bound: float
    is_tight: bool


@dataclass(frozen=True, eq=False)
class Clamping:
    """A model with a root and clamped vertices chosen in every block: ask it for answers.

    Attributes
    ----------
    model : Model
    blocks : tuple of ClampedBlock
        From vertex 0 of M+ outwards.
    """

    model: Model
    blocks: tuple[ClampedBlock, ...]

    @property
    def runs(self) -> int:
        """How many models a method is run on."""
        return sum(2 ** len(part.clamped) for part in self.blocks)

    def log_partition(self, method: Inference = "bethe") -> LogPartition:
        """Log Z, the clamped models' Z added up block by block.

        Parameters
        ----------
        method : {"exact", "bethe", "trw", "mean_field"}
            As in `mapreroot.log_partition`, run on each clamped model at the root chosen here.

        Returns
        -------
        LogPartition
            ``lower`` and ``upper`` are there where they are for every clamped model.
        """
        plus = uproot(self.model)
        base = plus.constant + (components(plus)[0] - 1) * math.log(2)
        total, lower, upper = base, base, base
        converged = True
        for part in self.blocks:
            found = [
                log_partition(one, method, 0) for _, one in _clamped_models(part, part.clamped)
            ]
            converged &= all(one.converged for one in found)
            total += _log_sum([one.value for one in found])
            lower += _log_sum([_or(one.lower, -math.inf) for one in found])
            upper += _log_sum([_or(one.upper, math.inf) for one in found])
        return LogPartition(
            total,
            converged,
            lower if lower > -math.inf else None,
            upper if upper < math.inf else None,
            None,
            f"{method}, clamped",
        )

    def marginals(self, method: Inference = "bethe") -> Marginals:
        """Single and pair marginals, mixed from those of the clamped models.

        Parameters
        ----------
        method : {"exact", "bethe", "trw", "mean_field"}

        Returns
        -------
        Marginals

        Notes
        -----
        A clamped model counts by its Z. Inside a block Lemma 2 asks for the probability that a
        vertex differs from the gate: that of the edge between them, else, with both held or
        independent, that of their means ("exact" holds the gate too). Along the way to vertex 0
        means of products of spins multiply.
        """
        plus = uproot(self.model)
        spin = np.zeros(plus.n_vertices)  # mean of s_v s_0
        spin[0] = 1.0
        product = np.empty(plus.m)  # mean of s_i s_j on the edges
        edge = {(i, j): e for e, (i, j) in enumerate(plus.edges.tolist())}
        converged = True
        for part in self.blocks:
            vertices = part.block.vertices
            from_gate, inner, done = _mixed(part, method)
            converged &= done
            for v, mean in zip(vertices.tolist(), from_gate.tolist(), strict=True):
                if v != part.gate:
                    spin[v] = spin[part.gate] * mean
            ends = vertices[part.block.model.edges].tolist()
            product[[edge[i, j] for i, j in ends]] = inner
        p = (1 - spin[1:]) / 2
        i, j = self.model.edges.T
        differ = (1 - product[plus.edges[:, 0] != 0]) / 2
        pair = np.empty((self.model.m, 2, 2))
        pair[:, 0, 0], pair[:, 0, 1] = 1 - (p[i] + p[j] + differ) / 2, (differ + p[j] - p[i]) / 2
        pair[:, 1, 0], pair[:, 1, 1] = (differ + p[i] - p[j]) / 2, (p[i] + p[j] - differ) / 2
        consistent = bool(pair.min(initial=0.0) >= -TOL)
        if consistent:
            pair = np.maximum(pair, 0.0)
        by = f"{method}, clamped"
        return Marginals(p, pair, consistent, converged, None, by, self.model.labels)

    def solve(self, method: Literal["loc", "tri", "exact"] = "loc") -> ClampedMap:
        """Find the best assignment of all clamped models, and a bound.

        Parameters
        ----------
        method : {"loc", "tri", "exact"}
            The relaxation of each clamped model with what it is rounded to, or a search.

        Returns
        -------
        ClampedMap
            The bound of a block is the largest of its clamped models'.

        Raises
        ------
        ModelError
            For an unknown method.
        """
        if method not in ("loc", "tri", "exact"):
            raise ModelError(f"method is {method!r}: expected 'loc', 'tri' or 'exact'")
        plus = uproot(self.model)
        gap, scale = 0.0, 0.0
        ys = []
        for part in self.blocks:
            model = part.block.model
            best, bound = (-math.inf, np.zeros(0, np.int8)), -math.inf
            for held, one in _clamped_models(part, part.clamped):
                found = solve(one, method, root=0 if method == "loc" else None)
                y = np.zeros(model.n_vertices, np.int8)
                for v, value in {**held, **found.assignment}.items():
                    y[v] = value
                bound = max(bound, found.bound)
                best = max(best, (model.score(y), y), key=lambda pair: pair[0])
            ys.append(best[1])
            gap += max(0.0, bound - best[0])
            scale = max(scale, float(np.abs(model.weights).max()))
        y = recombine(plus.n_vertices, [part.block for part in self.blocks], ys)
        x = np.asarray(y[1:] ^ y[0])
        x.setflags(write=False)
        score = float(self.model.score(x))
        reached = plus.score(y) if score == -math.inf else score
        return ClampedMap(x, score, reached + gap, reached == score and gap <= TOL * scale)


def clamp_and_reroot(model: Model, k: int, *, reroot: bool = True) -> Clamping:
    """Choose a root and k - 1 vertices to clamp in every biconnected block of M+.

    Parameters
    ----------
    model : Model
    k : int
        Vertices held in each block, the free one included: at least 1. Blocks where fewer leave
        no edge take fewer.
    reroot : bool
        Whether the free one is chosen like the others. If not, it is vertex 0, which is the
        model as it is (in a block without it, the vertex nearest to it).

    Returns
    -------
    Clamping
        With answers by any method: ``log_partition``, ``marginals``, ``solve``.

    Raises
    ------
    ModelError
        If k is not at least 1.
    SizeError
        If more than 2^20 models would have to be solved.

    Notes
    -----
    One after another, the vertex with the largest sum of tanh(|W_ij| / 4) over the edges to
    vertices that are not held yet (maxtW; Weller 2016, section 4.2.1). Blocks, and so connected
    components, are independent up to flips, so that k vertices in each of b blocks make
    b 2^(k-1) models and not 2^(b (k-1)).

    Examples
    --------
    >>> edges = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    >>> model = Model([0.5, 0.5, 0.5, 0.5], edges, [-4.0] * 6)
    >>> [round(clamp_and_reroot(model, k).solve("loc").bound, 3) for k in (1, 2, 3)]
    [10.75, 9.5, 9.0]
    >>> clamp_and_reroot(model, 3).runs
    4
    """
    if k < 1:
        raise ModelError(f"k is {k}: expected a number of vertices, at least 1")
    plus = uproot(model)
    parts = blocks(plus)
    chosen = []
    for number, gate in outwards(plus.n_vertices, parts):
        vertices = parts[number].vertices
        first = None if reroot else int(np.searchsorted(vertices, gate))
        held = vertices[_series(parts[number].model, k, first)].tolist()
        chosen.append(ClampedBlock(parts[number], gate, held[0], tuple(held[1:])))
    clamping = Clamping(model, tuple(chosen))
    if clamping.runs > MOST:
        raise SizeError(f"k = {k} would make {clamping.runs} models to solve: at most {MOST}")
    return clamping


def _series(part: UprootedModel, k: int, first: int | None) -> list[int]:
    """Choose up to k vertices, until no edge is left."""
    i, j = part.edges.T
    size = np.tanh(np.abs(part.weights) / 4)
    left = np.ones(part.m, dtype=np.bool_)
    held: list[int] = []
    while len(held) < k and left.any():
        if not held and first is not None:
            v = first
        else:
            weight = np.bincount(
                part.edges[left].ravel(), np.repeat(size[left], 2), minlength=part.n_vertices
            )
            v = int(weight.argmax())
        held.append(v)
        left &= (i != v) & (j != v)
    return held


def _clamped_models(
    part: ClampedBlock, clamped: tuple[int, ...]
) -> Iterator[tuple[dict[int, int], Model]]:
    """Give each way to hold the clamped vertices, in local numbers, and the model it leaves."""
    vertices = part.block.vertices
    rooted = part.block.model.reroot(int(np.searchsorted(vertices, part.root)))
    local = np.searchsorted(vertices, clamped).tolist()
    for values in itertools.product((0, 1), repeat=len(local)):
        held = dict(zip(local, values, strict=True))
        yield held, rooted.condition(held)


def _mixed(part: ClampedBlock, method: Inference) -> tuple[Floats, Floats, bool]:
    """Mean spin products with the gate (by local vertex) and on the edges, of a block."""
    model, vertices = part.block.model, part.block.vertices
    gate, root = np.searchsorted(vertices, [part.gate, part.root]).tolist()
    clamped = part.clamped
    if method == "exact" and part.gate not in (part.root, *clamped):
        clamped = (*clamped, part.gate)
    logs, from_gate, inner = [], [], []
    i, j = model.edges.T
    touches = (i == gate) | (j == gate)
    converged = True
    for held, one in _clamped_models(part, clamped):
        found = marginals(one, method, 0)
        z = log_partition(one, method, 0)
        logs.append(z.value)
        converged &= found.converged and z.converged
        mean = np.ones(model.n_vertices)
        mean[list(held)] = 1 - 2 * np.array(list(held.values()), dtype=np.float64)
        free = np.array(one.labels, dtype=np.int64)
        mean[free] = 1 - 2 * found.p
        product = mean[i] * mean[j]
        fixed = np.zeros(model.n_vertices, dtype=np.bool_)
        fixed[[root, *held]] = True
        product[~(fixed[i] | fixed[j])] = 1 - 2 * (found.pair[:, 0, 1] + found.pair[:, 1, 0])
        by_gate = mean * mean[gate]
        by_gate[i[touches] + j[touches] - gate] = product[touches]
        by_gate[gate] = 1.0
        from_gate.append(by_gate)
        inner.append(product)
    weight = np.exp(np.array(logs) - _log_sum(logs))
    return weight @ np.array(from_gate), weight @ np.array(inner), converged


def _log_sum(values: list[float]) -> float:
    top = max(values)
    if not math.isfinite(top):
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
