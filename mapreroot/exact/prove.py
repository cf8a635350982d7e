"""Certificates: prove in exact arithmetic that nothing scores more than a given assignment.

The solvers are asked again, on graphs whose weights are the exact numbers of the certificate, and
whatever they say is written down as an argument that can be checked without them. With the
optimum known, that takes about the time of the solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mapreroot.certificates.arrays import BITS, WideGraph, denominator_bits
from mapreroot.certificates.graph import ExactGraph
from mapreroot.certificates.make import Argument, certificate, flow_argument
from mapreroot.certificates.rules import bound_of
from mapreroot.certificates.verify import model_score
from mapreroot.exact.prover import Prover
from mapreroot.exact.rooted import balanced_rooting
from mapreroot.limits import Limits
from mapreroot.model import Model
from mapreroot.relaxations.roof_duality import SPREAD, roof_dual
from mapreroot.relaxations.tri import BYTES_PER_EDGE
from mapreroot.rerooting import uproot
from mapreroot.roots import max_w

__all__ = ["prove"]

_LARGE = 5000  # variables and edges from which on the first steps work on arrays


def prove(
    model: Model,
    x: Sequence[int],
    limits: Limits | None = None,
    slack: float = 0.0,
    branch: bool = True,
) -> dict[str, Any]:
    """Write a certificate that an assignment is optimal, or of the best bound there is time for.

    Parameters
    ----------
    model : Model
    x : sequence of 0 and 1
        Its best assignment known.
    limits : Limits, optional
        When to be content with the bounds at hand.
    slack : float
        A gap, in nats, that needs no closing.
    branch : bool
        Whether to go on by cases where the relaxations leave a larger gap. With a slack the
        worst case comes first, so that the bound falls for as long as there is time.

    Returns
    -------
    dict
        What `mapreroot.verify` takes.

    Raises
    ------
    SolverError
        If a solver under it fails.
    """
    limits = limits or Limits()
    y = [0, *map(int, x)]
    wide = _rounded(model) if model.n + model.m > _LARGE else None
    if wide is None:
        scale, graph = ExactGraph.uprooted(model)
        argument = Prover(scale, limits, slack, branch).proof(graph.copy(), y)
        bound = bound_of(graph, argument)
    else:
        scale, rounded = wide
        argument = _large(model, rounded, y, Prover(scale, limits, slack, branch))
        bound = bound_of(rounded, argument)
        if rounded.unit > 1:
            argument = {"by": "round", "bits": rounded.unit.bit_length() - 1, "then": argument}
    score = model_score(model, np.array(y[1:], dtype=np.int8))
    return certificate(model, x, score, Fraction(bound) / (2 * scale), argument)


def _rounded(model: Model) -> tuple[int, WideGraph] | None:
    """Give M+ in integers, rounded as little as lets them fit, and the scale.

    None where weights differ so much that rounding could hide the small ones.
    """
    scale_bits = denominator_bits(np.concatenate([model.theta, model.weights, [model.constant]]))
    sizes = np.abs(np.concatenate([2 * model.theta[model.theta != 0], model.weights]))
    largest = float(sizes.max(initial=0.0))
    if largest > SPREAD * float(sizes.min(initial=np.inf)):
        return None
    bits = int(np.frexp(largest)[1]) + scale_bits
    graph = WideGraph.uprooted(model, scale_bits, max(0, bits - BITS))
    return None if graph is None else (1 << scale_bits, graph)


def _large(model: Model, graph: WideGraph, y: Sequence[int], prover: Prover) -> Argument:
    """Prove by one flow what one flow can prove, and leave the rest to the prover."""
    uprooted = uproot(model, names=False)
    balanced = balanced_rooting(uprooted)
    if balanced is not None:
        return flow_argument(graph, *balanced)
    root = max_w(uprooted)
    dual = roof_dual(uprooted, root)
    tied = np.flatnonzero(dual.strong >= 0)
    tied = tied[tied != root]
    if prover.limits.reason() is not None:
        return flow_argument(graph, root)
    steps: list[Any] = []
    if len(tied):
        at = np.where(np.arange(graph.n) == root, -1, dual.strong)
        inner, rest = graph.around(root, at), graph.united(root, at)
        if inner is not None and rest is not None:  # the numbers fit
            pairs = np.stack([tied, dual.strong[tied]], axis=1).tolist()
            steps, graph = [["fix", root, pairs, flow_argument(inner, root)]], rest
    fits = not prover.limits.lacks(BYTES_PER_EDGE * len(graph.weights))
    then = prover.proof(graph.narrow(), y) if fits else flow_argument(graph, root)
    return {"by": "steps", "steps": steps, "then": then} if steps else then
