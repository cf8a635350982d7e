"""Which vertex of M+ to condition on: the root that makes the rooted model easiest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from mapreroot.balance import balancing_set, rooted_balance
from mapreroot.decomposition import block_counts, components
from mapreroot.errors import ModelError
from mapreroot.model import UprootedModel
from mapreroot.notebook import names, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "RootChoice",
    "RootReason",
    "choose_root",
    "forest_root",
    "forest_roots",
    "inference_roots",
    "max_tw",
    "max_w",
]

SHARE_OF_0 = 0.2
"""What the sum at vertex 0 counts for: trained in `mapreroot.experiments.roots`."""


class RootReason(StrEnum):
    """Why a root was chosen."""

    BALANCED = "balanced"
    ALMOST_BALANCED = "almost_balanced"
    MAX_W = "max_w"
    MAX_TW = "max_tw"
    GIVEN = "given"


@dataclass(frozen=True, eq=False, repr=False)
class RootChoice:
    """A root, the reason for it and the witness, all in the vertices of M+.

    Attributes
    ----------
    root : int
    reason : RootReason
    switching : ndarray of int8, shape (n_vertices,), or None
        Where M_root is balanced: 1 for the vertices to flip so that all its edges are
        attractive, 0 at the root.
    partner : int or None
        Where M_root is known to be almost balanced: M+ without root and partner is balanced.
    frustrated_cycle : tuple of int, or None
        Where M_root is not balanced and no partner is known: a cycle that avoids the root.
    """

    root: int
    reason: RootReason
    switching: npt.NDArray[np.int8] | None = None
    partner: int | None = None
    frustrated_cycle: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"RootChoice(root={self.root}, reason={self.reason.name})"

    @property
    def is_balanced(self) -> bool:
        """Whether M_root is balanced: a minimum cut solves it."""
        return self.switching is not None

    def plot(self, uprooted: UprootedModel, ax: Axes | None = None) -> Axes:
        """Draw the root in M+, and why it was chosen: `mapreroot.report.answers.root_choice`."""
        from mapreroot.report.answers import root_choice

        return root_choice(self, uprooted, ax)

    def _repr_html_(self) -> str:
        flips = None if self.switching is None else np.flatnonzero(self.switching).tolist()
        cycle = self.frustrated_cycle
        return table(
            "A root, in the vertices of M+",
            {
                "root": self.root,
                "reason": self.reason.replace("_", " "),
                "flip": None if flips is None else names(flips) or "nothing",
                "partner": self.partner,
                "frustrated cycle": None if cycle is None else names(cycle),
            },
        )

    @classmethod
    def given(cls, uprooted: UprootedModel, root: int) -> RootChoice:
        """Take the user's root, and find its witness.

        Raises
        ------
        ModelError
            If there is no such vertex.

        Notes
        -----
        Near-linear.
        """
        return _with_witness(uprooted, root, RootReason.GIVEN)


def choose_root(
    uprooted: UprootedModel, rule: Literal["max_tw", "max_w"] | None = None
) -> RootChoice:
    """Choose the root that makes the rooted model easiest.

    1. A root at which M_r is balanced: a minimum cut solves it. The lowest one, if several
       do; `mapreroot.balancing_vertices` lists them all.
    2. Else a root at which M_r is almost balanced: TRI is tight (Weller 2016, Theorem 4).
       The lower vertex of a pair that hits every frustrated cycle; the other is the partner.
    3. Else the maxtW root, or the maxW root if ``rule`` asks for it.

    Parameters
    ----------
    uprooted : UprootedModel
    rule : {"max_tw", "max_w"}, optional
        What step 3 maximises, maxtW by default.

    Returns
    -------
    RootChoice
        With its witness. A model without edges is balanced at root 0, also where X_0 is its
        only vertex.

    Raises
    ------
    ModelError
        For an unknown rule, or a model without any vertex.

    Notes
    -----
    Near-linear for step 1, times the length of a short frustrated cycle for step 2, which ends
    as soon as three vertex-disjoint frustrated cycles turn up. Weller (2016), sections 4.2.1
    and 5.

    Examples
    --------
    >>> edges = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)]
    >>> triangle = UprootedModel(4, edges[:3], [-1, -1, -1])
    >>> choose_root(triangle)
    RootChoice(root=0, reason=BALANCED)
    >>> choice = choose_root(UprootedModel(4, edges, [-1] * 6))
    >>> choice, choice.partner
    (RootChoice(root=0, reason=ALMOST_BALANCED), 1)
    """
    reason = RootReason.MAX_TW
    if rule is not None:
        if rule not in ("max_tw", "max_w"):
            raise ModelError(f"the rule is {rule!r}: expected 'max_tw' or 'max_w'")
        reason = RootReason(rule)
    if uprooted.n_vertices == 0:
        raise ModelError("the model has no vertices: nothing can be its root")
    # Most often X_0 is the lowest balancing root, and this test costs the least.
    as_given = rooted_balance(uprooted, 0)
    if as_given.is_balanced:
        return RootChoice(0, RootReason.BALANCED, switching=as_given.switching)
    hitting = sorted(balancing_set(uprooted, 2) or ())
    if len(hitting) == 1:
        return _with_witness(uprooted, hitting[0], RootReason.BALANCED)
    if len(hitting) == 2:
        return RootChoice(hitting[0], RootReason.ALMOST_BALANCED, partner=hitting[1])
    heaviest = max_w if reason is RootReason.MAX_W else max_tw
    return _with_witness(uprooted, heaviest(uprooted), reason)


def max_w(uprooted: UprootedModel) -> int:
    """Give the vertex with the largest sum_j |W_ij|, the lowest one on ties.

    Raises
    ------
    ModelError
        If the model has no vertices.

    Notes
    -----
    O(n + m). Weller (2016), section 4.2.1, maxW.

    Examples
    --------
    >>> max_w(UprootedModel(4, [(0, 1), (2, 3), (1, 3), (1, 2)], [-9, 1, 1, 1]))
    1
    """
    return _heaviest(uprooted, np.abs(uprooted.weights))


def max_tw(uprooted: UprootedModel) -> int:
    """Give the vertex with the largest sum_j tanh(|W_ij| / 4), the lowest one on ties.

    An edge then counts by how much it correlates its ends, so that many edges beat a strong one.

    Raises
    ------
    ModelError
        If the model has no vertices.

    Notes
    -----
    O(n + m). Weller (2016), section 4.2.1, maxtW.

    Examples
    --------
    >>> edges, weights = [(0, 1), (2, 3), (2, 4), (2, 5)], [-90, 4, 4, 4]
    >>> max_w(UprootedModel(6, edges, weights)), max_tw(UprootedModel(6, edges, weights))
    (0, 2)
    """
    return _heaviest(uprooted, np.tanh(np.abs(uprooted.weights) / 4))


def inference_roots(
    uprooted: UprootedModel, method: Literal["bethe", "trw", "mean_field"] = "bethe"
) -> tuple[int, ...]:
    """Choose roots for approximate inference: one, or two of which the better bound stands.

    1. For "bethe" and "trw", the lowest root at which M_r is a forest: they are exact there.
    2. "trw" and "mean_field": vertex 0, and the vertex beside it with the largest sum_j |W_ij|.
    3. "bethe": the vertex with the largest sum_j |W_ij|, where the sum of vertex 0 counts for a
       fifth.

    Parameters
    ----------
    uprooted : UprootedModel
    method : {"bethe", "trw", "mean_field"}

    Returns
    -------
    tuple of int
        The lowest vertex on ties.

    Raises
    ------
    ModelError
        If the model has no vertices.

    Notes
    -----
    O(n + m). The winners of a study on the models of Weller (2016), section 6
    (`mapreroot.experiments.run_roots`). A root that leaves M_r balanced is not preferred: Bethe
    is a lower bound there, but mostly a worse estimate than at the heaviest vertex.

    Examples
    --------
    >>> fan = UprootedModel(4, [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3), (1, 3)], [3, 3, 3, 2, 2, 2])
    >>> inference_roots(fan, "bethe"), inference_roots(fan, "trw")
    ((1,), (0, 1))
    """
    root = None if method == "mean_field" else forest_root(uprooted)
    if root is not None:
        return (root,)
    strength = _at_ends(uprooted, np.abs(uprooted.weights))
    if method == "bethe":
        strength[0] *= SHARE_OF_0
        return (int(strength.argmax()),)
    if uprooted.n_vertices == 1:
        return (0,)
    return 0, 1 + int(strength[1:].argmax())


def forest_roots(uprooted: UprootedModel) -> npt.NDArray[np.int64]:
    """Find all vertices that lie on every cycle of M+: rooted there it is a forest.

    Notes
    -----
    Removing v takes its deg(v) edges and splits its component into as many parts as it lies on
    blocks; a forest is left iff deg(v) - blocks(v) is the number of independent cycles. Linear.

    Examples
    --------
    >>> forest_roots(UprootedModel(4, [(0, 1), (1, 2), (0, 2), (2, 3)], [1.0] * 4)).tolist()
    [0, 1, 2]
    """
    degree = np.bincount(uprooted.edges.ravel(), minlength=uprooted.n_vertices)
    independent = uprooted.m - uprooted.n_vertices + components(uprooted)[0]
    return np.flatnonzero(degree - block_counts(uprooted) == independent)


def forest_root(uprooted: UprootedModel) -> int | None:
    """Find the lowest vertex whose rooting is a forest; None if there is none."""
    # A root has to take all edges away but a forest's, and no vertex has more than N - 1.
    least = uprooted.m - uprooted.n_vertices + 2
    if least > uprooted.n_vertices - 1 > 0:
        return None
    found = forest_roots(uprooted)
    return int(found[0]) if len(found) else None


def _heaviest(uprooted: UprootedModel, size: npt.NDArray[np.float64]) -> int:
    return int(_at_ends(uprooted, size).argmax())


def _at_ends(uprooted: UprootedModel, size: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sum a size of the edges over those of each vertex."""
    if uprooted.n_vertices == 0:
        raise ModelError("the model has no vertices: nothing can be its root")
    ends = uprooted.edges.ravel()
    return np.bincount(ends, np.repeat(size, 2), uprooted.n_vertices).astype(np.float64)


def _with_witness(uprooted: UprootedModel, root: int, reason: RootReason) -> RootChoice:
    found = rooted_balance(uprooted, root)
    return RootChoice(root, reason, found.switching, None, found.frustrated_cycle)
