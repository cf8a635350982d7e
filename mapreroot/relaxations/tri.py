"""TRI of a whole M+: reduce, split into blocks, solve each by cutting planes, and map d back.

Every reduction used keeps the optimum of TRI, not only that of MAP:

* what roof duality ties may be overwritten in any locally consistent pseudomarginal without loss;
* across a heavy edge uv, moving u onto v gains W_uv d_uv / 2 and loses at most as much on the
  other edges, because d_ux and d_vx are within d_uv of each other;
* the semimetrics of K_3 and K_4 are the convex hulls of their cuts, and those of a triangle have
  unique barycentric coordinates, so removing a vertex of degree 3 leaves a function of the
  triangle that is linear: the star-triangle transformation;
* a cycle without chords lies in one block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from mapreroot import memory
from mapreroot.decomposition import Block, Reduction, Step, align, blocks
from mapreroot.limits import Limits, StopReason
from mapreroot.model import UprootedModel
from mapreroot.relaxations.cycles import CycleRelaxation, solve_cycle_lp
from mapreroot.relaxations.extension import PartialSemimetric
from mapreroot.relaxations.kernel import reduce_fully
from mapreroot.relaxations.odd_cycles import MAX_TRIANGLES

__all__ = ["TriRelaxation", "tri"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

INTEGRAL = 1e-9
BYTES_PER_EDGE = 1000
"""What the linear program and the separation take per edge of a block, generously."""
BYTES_PER_TRIANGLE = 28
"""Its three edges and, while it is looked at, its violation and kind."""

FREE, DROPPED, MAJORITY = int(Step.FREE), int(Step.DROPPED), int(Step.MAJORITY)

OnProgress = Callable[[float, int, int], None]


@dataclass(frozen=True, eq=False)
class TriRelaxation:
    """The optimum of TRI, or the best bound on it.

    Attributes
    ----------
    bound : float
        The TRI value if ``converged``; no assignment scores more in any case.
    d : ndarray, shape (m,)
        On the edges of the model that was given: an optimum if ``converged`` (all cycle
        inequalities hold, within the tolerance of the linear programs).
    converged : bool
    stopped : str or None
        Why the limits ended it, if they did.
    rounds, n_cuts : int
        Linear programs solved, and inequalities that the bound rests on.
    reduction : Reduction
        To the kernel.
    blocks : tuple of Block
        Of the kernel.
    parts : tuple of CycleRelaxation
        Each block's own, with its cuts and their multipliers; the bounds of the blocks and the
        kernel's constant sum to ``bound``.
    """

    bound: float
    d: Floats
    converged: bool
    stopped: StopReason | None
    rounds: int
    n_cuts: int
    reduction: Reduction
    blocks: tuple[Block, ...]
    parts: tuple[CycleRelaxation, ...]


def tri(
    uprooted: UprootedModel,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> TriRelaxation:
    """Solve TRI, the relaxation over all triangle inequalities on {0..n}, at scale.

    Parameters
    ----------
    uprooted : UprootedModel
        W in nats. The value is the same for every rooting (Weller 2016, Theorem 3).
    limits : Limits, optional
        When to stop with the bound at hand.
    on_progress : callable, optional
        Called after each linear program with the bound so far, the number of linear programs
        solved and the number of cuts in the last one.

    Returns
    -------
    TriRelaxation

    Raises
    ------
    SizeError
        If a block would need more memory than the machine has free.
    SolverError
        If HiGHS fails.

    Notes
    -----
    The kernel of `reduce_fully` is split into biconnected blocks, and each is solved by
    `solve_cycle_lp`. The map back undoes the reductions on d: a tied vertex takes the d of the
    one it is tied to, and a vertex of degree 3 differs from a neighbour as often as that one
    stands alone among the three.

    Examples
    --------
    >>> frustrated = UprootedModel(3, [(0, 1), (1, 2), (0, 2)], [-2.0, -2.0, -2.0])
    >>> relaxation = tri(frustrated)
    >>> relaxation.bound, relaxation.d.sum().item()
    (2.0, 2.0)
    """
    limits = limits or Limits()
    reduction = reduce_fully(uprooted, limits)
    kernel = reduction.kernel
    parts = tuple(blocks(kernel))
    for part in parts:
        _check_memory(part.model)
    bounds = np.array([float(np.maximum(-part.model.weights / 2, 0.0).sum()) for part in parts])
    solved: list[CycleRelaxation] = []
    rounds = 0
    for k, part in enumerate(parts):

        def report(_: int, bound: float, n_cuts: int, d: Floats, k: int = k) -> None:
            nonlocal rounds
            rounds += 1
            bounds[k] = bound
            if on_progress is not None:
                on_progress(kernel.constant + float(bounds.sum()), rounds, n_cuts)

        solved.append(solve_cycle_lp(part.model, limits=limits, on_round=report))
        bounds[k] = solved[-1].value
    d = np.zeros(kernel.m)
    for part, relaxation in zip(parts, solved, strict=True):
        d[_edges_of(kernel, part)] = relaxation.d
    return TriRelaxation(
        bound=_sum_up(kernel.constant, [relaxation.value for relaxation in solved]),
        d=_map_back(uprooted, reduction, d),
        converged=all(relaxation.converged for relaxation in solved),
        stopped=next((r.stopped for r in solved if r.stopped is not None), None),
        rounds=rounds,
        n_cuts=sum(len(relaxation.cuts) for relaxation in solved),
        reduction=reduction,
        blocks=parts,
        parts=tuple(solved),
    )


def _sum_up(constant: float, values: list[float]) -> float:
    """Add bounds without falling below their exact sum."""
    if not values:
        return constant
    return math.nextafter(math.fsum([constant, *values]), math.inf)


def _check_memory(block: UprootedModel) -> None:
    degree = np.bincount(block.edges.ravel(), minlength=block.n_vertices)
    most = int((degree[block.edges].min(axis=1) - 1).sum()) // 3
    memory.require(
        BYTES_PER_EDGE * block.m + BYTES_PER_TRIANGLE * min(most, MAX_TRIANGLES),
        f"TRI of the {block.n_vertices} vertices and {block.m} edges that reduction leaves",
        "use LOC, which takes one max-flow",
    )


def _edges_of(kernel: UprootedModel, part: Block) -> Ints:
    """Give the kernel's numbers of a block's edges."""
    ends = part.vertices[part.model.edges]
    key = kernel.edges[:, 0] * kernel.n_vertices + kernel.edges[:, 1]
    return np.searchsorted(key, ends[:, 0] * kernel.n_vertices + ends[:, 1])


def _map_back(uprooted: UprootedModel, reduction: Reduction, d: Floats) -> Floats:
    """Extend d from the kernel's edges to those of the original model.

    Vertices are gathered into classes whose members differ by 0 or 1 for certain: what integral
    edges of the kernel join, and what was tied to it. A vertex of degree 3 that follows three
    different classes is a new class. Only pairs of classes are left to look at.
    """
    kernel = reduction.kernel
    whole = np.minimum(d, 1 - d) <= INTEGRAL
    i, j = kernel.edges[whole].T
    first, parity = align(kernel.n_vertices, i, j, (d[whole] > 0.5).astype(np.int8))
    _, label = np.unique(first, return_inverse=True)
    count = int(label.max(initial=0)) + 1
    group = np.zeros(uprooted.n_vertices, np.int64)
    sign = np.zeros(uprooted.n_vertices, np.int64)
    group[reduction.vertices], sign[reduction.vertices] = label, parity
    follows = _classes(reduction.steps, group, sign, count)
    metric = PartialSemimetric(count + len(follows))

    def between(a: int, b: int) -> float:
        value = metric.between(a >> 1, b >> 1)
        return 1 - value if (a ^ b) & 1 else value

    u, v = kernel.edges[~whole].T
    twist = (parity[u] ^ parity[v]) == 1
    for a, b, value in zip(
        label[u].tolist(),
        label[v].tolist(),
        np.where(twist, 1 - d[~whole], d[~whole]).tolist(),
        strict=True,
    ):
        if a != b:
            metric.join(a, b, value)
    for k, (a, b, c) in enumerate(follows.tolist()):
        for one, two, other in ((a, b, c), (b, c, a), (c, a, b)):
            # How often ``one`` stands alone, hence apart from the majority.
            alone = (between(one, two) + between(one, other) - between(two, other)) / 2
            metric.join(count + k, one >> 1, 1 - alone if one & 1 else alone)
    u, v = uprooted.edges.T
    full: Floats = (sign[u] ^ sign[v]).astype(np.float64)
    for e in np.flatnonzero(group[u] != group[v]).tolist():
        a, b = int(u[e]), int(v[e])
        full[e] = between(2 * int(group[a]) + int(sign[a]), 2 * int(group[b]) + int(sign[b]))
    return full


@njit(cache=True)
def _classes(steps: Ints, group: Ints, sign: Ints, count: int) -> Ints:
    """Walk the steps backwards and give each removed vertex a class and its sign in it.

    Returns the three literals 2 class + sign that each new class follows; classes are numbered
    from ``count`` on.
    """
    follows = np.empty((len(steps), 3), np.int64)
    new = 0
    three = np.empty(3, np.int64)
    for k in range(len(steps) - 1, -1, -1):
        kind, u = steps[k, 0], steps[k, 1]
        if kind == DROPPED:
            continue
        if kind == FREE:
            group[u], sign[u] = 0, 0
        elif kind == MAJORITY:
            for c in range(3):
                v, s = steps[k, 2 + c] >> 1, steps[k, 2 + c] & 1
                three[c] = 2 * group[v] + (sign[v] ^ s)
            a, b, c = three[0], three[1], three[2]
            if a in (b, c) or b == c ^ 1:
                group[u], sign[u] = a >> 1, a & 1
            elif b == c or a == c ^ 1:
                group[u], sign[u] = b >> 1, b & 1
            elif a == b ^ 1:
                group[u], sign[u] = c >> 1, c & 1
            else:
                follows[new] = three
                group[u], sign[u] = count + new, 0
                new += 1
        else:
            v, s = steps[k, 2] >> 1, steps[k, 2] & 1
            group[u], sign[u] = group[v], sign[v] ^ s
    return follows[:new].copy()
