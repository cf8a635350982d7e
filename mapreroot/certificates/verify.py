"""Check a certificate in exact arithmetic, without any solver.

A certificate says: this assignment of the user's model has this score, and no assignment scores
more than this bound. The bound is a tree of small arguments, each on an explicit graph whose
weights are exact numbers: floats are multiples of a power of two, so scaled by it they are
integers, and only halving one can make a fraction. Nothing here rounds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mapreroot.certificates.arrays import WideGraph, denominator_bits, exact_sum
from mapreroot.certificates.graph import ExactGraph, RefusedError
from mapreroot.certificates.rules import bits_of, bound_of
from mapreroot.model import Model

__all__ = ["Verification", "verify"]

FORMAT = "mapreroot certificate 1"
_MALFORMED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)  # what any step raises that is handed something else than it expects


@dataclass(frozen=True)
class Verification:
    """What a certificate proves of a model; true when everything in it holds.

    Attributes
    ----------
    score : float
        Of the certificate's assignment, on the user's model.
    bound : float
        No assignment scores more: the proved bound, rounded up.
    exact_gap : Fraction or None
        The difference of the two before they are rounded; 0 means proved optimal.
    failure : str or None
        The first thing that does not hold, and where in the certificate it stands.
    """

    score: float
    bound: float
    exact_gap: Fraction | None
    failure: str | None

    def __bool__(self) -> bool:
        return self.failure is None

    @property
    def gap(self) -> float:
        """(bound - score) / max(1, abs(score))."""
        return (self.bound - self.score) / max(1.0, abs(self.score))


def verify(model: Model, certificate: Mapping[str, Any] | str | os.PathLike[str]) -> Verification:
    """Check that a certificate proves its bound and its score for this model.

    Parameters
    ----------
    model : Model
    certificate : mapping or path
        The ``certificate`` of a `MapResult`, or a JSON file of one.

    Returns
    -------
    Verification
        False, with the reason in ``failure``, if anything in it does not hold: the model's
        digest, the score of x, or any step of the proof of the bound.

    Raises
    ------
    OSError
        If the file cannot be read.

    Notes
    -----
    Linear in the size of the certificate, in exact integers and fractions; no solver is used.
    """
    try:
        if isinstance(certificate, (str, os.PathLike)):
            with open(certificate, encoding="utf-8") as file:
                certificate = json.load(file)
        if not isinstance(certificate, Mapping):
            raise RefusedError("a certificate is a JSON object")
        return _verify(model, certificate)
    except RefusedError as refusal:
        reason = str(refusal)
    except _MALFORMED as error:
        reason = f"malformed: {type(error).__name__}: {error}"
    return Verification(-math.inf, math.inf, None, reason)


def _verify(model: Model, certificate: Mapping[str, Any]) -> Verification:
    if certificate.get("format") != FORMAT:
        raise RefusedError(f"format: expected {FORMAT!r}, found {certificate.get('format')!r}")
    if certificate.get("model") != model.digest:
        raise RefusedError("model: the certificate was made for another model (the digests differ)")
    x = certificate["x"]
    if len(x) != model.n or not set(x) <= {0, 1}:
        raise RefusedError(f"x: expected {model.n} values of 0 or 1")
    for row in model.forbidden:
        if all(x[i] == a for i, a in zip(row[::2], row[1::2], strict=True)):
            raise RefusedError(f"x: it breaks the hard constraint {row}")
    scale, graph = exact_graph(model, certificate["proof"])
    bits = np.array(x, dtype=np.int8)
    score = 2 * scale * model_score(model, bits)
    proved = bound_of(graph, certificate["proof"])
    if score > proved:
        raise RefusedError("proof: the bound it gives is below the score of x")
    exact_score, exact_bound = Fraction(score) / (2 * scale), Fraction(proved) / (2 * scale)
    if float(certificate["score"]) != float(exact_score):
        raise RefusedError(f"score: {certificate['score']} is stated, x has {float(exact_score)}")
    if Fraction(certificate["bound"]) < exact_bound:
        raise RefusedError(
            f"bound: {certificate['bound']} is stated, {float(exact_bound)} is proved"
        )
    up = float(exact_bound)
    if Fraction(up) < exact_bound:
        up = math.nextafter(up, math.inf)
    return Verification(float(exact_score), up, exact_bound - exact_score, None)


def model_score(model: Model, x: npt.NDArray[np.int8]) -> Fraction:
    """Give the score of an assignment exactly, hard constraints aside."""
    cut = x[model.edges[:, 0]] != x[model.edges[:, 1]]
    pulled = exact_sum(np.append(model.theta[x == 1], model.constant))
    return pulled - exact_sum(model.weights[cut]) / 2


def exact_graph(model: Model, proof: Mapping[str, Any]) -> tuple[int, ExactGraph | WideGraph]:
    """Build M+ with integer weights, and say what they were multiplied by.

    As arrays where the proof begins with rules that know them, and the numbers fit.
    """
    rounded = bits_of(proof) if proof.get("by") == "round" else 0
    start = proof["then"] if proof.get("by") == "round" else proof
    wide = start.get("by") in ("flow", "signs")
    if wide or (start.get("by") == "steps" and start["steps"] and start["steps"][0][0] == "fix"):
        numbers = np.concatenate([model.theta, model.weights, [model.constant]])
        scale_bits = denominator_bits(numbers)
        graph = WideGraph.uprooted(model, scale_bits, rounded)
        if graph is not None:
            return 1 << scale_bits, graph
    return ExactGraph.uprooted(model)
