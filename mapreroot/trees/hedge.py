"""Online prediction of labels on a tree: Hedge over all labellings at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mapreroot.errors import InfeasibleError, ModelError
from mapreroot.trees.cover import TreeCover
from mapreroot.trees.extended import Floats
from mapreroot.trees.inputs import Rows, flat_factors, flat_rows
from mapreroot.trees.sum_product import OnlineSumProduct

__all__ = ["TreeHedge"]


class TreeHedge:
    """Predict one vertex per trial, as well as the best labelling does in hindsight.

    Every labelling of the tree is an expert whose prior weight is its probability under
    the model. A trial names a vertex, the prediction is the marginal there, and the loss of
    each label is then revealed: labellings lose weight exponentially in it.

    Parameters
    ----------
    n, edges, factors, data, cover
        The prior, as in :class:`OnlineSumProduct`.
    eta : float
        Learning rate, positive.

    Attributes
    ----------
    eta : float
        Learning rate.
    tree : OnlineSumProduct
        The weights of all labellings; its log Z is the potential of the analysis.

    Raises
    ------
    NotATreeError
        If the edges hold a cycle.
    ModelError
        If shapes do not fit, or a number is negative, not finite, or eta is not positive.
    InfeasibleError
        If every labelling has prior weight 0.

    Notes
    -----
    A trial costs a marginal and an update. The update multiplies the vertex's data by
    ``exp(-eta loss)``; the published Figure 3 replaces them by the prediction times that,
    which counts the neighbours' evidence twice and breaks the bound.
    Herbster, Pasteris, Vitale (2012), section 5, Figure 3 and Theorem 9.

    Examples
    --------
    >>> stay = [[0.9, 0.1], [0.1, 0.9]]
    >>> hedge = TreeHedge(3, [(0, 1), (1, 2)], stay, np.ones((3, 2)), eta=1.0)
    >>> hedge.predict(1).tolist()
    [0.5, 0.5]
    >>> hedge.update(0, [0, 1])
    0.5
    >>> hedge.predict(1).round(3).tolist()
    [0.685, 0.315]
    >>> hedge.total_loss <= hedge.regret_bound([0, 0, 0])
    True
    """

    def __init__(
        self,
        n: int,
        edges: ArrayLike,
        factors: Rows,
        data: Rows,
        eta: float,
        cover: TreeCover | None = None,
    ) -> None:
        if not 0 < eta < math.inf:
            raise ModelError(f"eta is {eta}: the learning rate is a positive number")
        self.eta = float(eta)
        self.tree = OnlineSumProduct(n, edges, factors, data, cover)
        self._rows, self._row_starts, self._k = flat_rows(data, n, "data")
        u_v = self.tree.cover.edges
        self._factors, self._factor_starts = flat_factors(factors, u_v, self._k[u_v])
        self._log_prior_total = self.tree.log_partition
        if self._log_prior_total == -math.inf:
            raise InfeasibleError("every labelling has prior weight 0: there is none to follow")
        self._losses = np.zeros(len(self._rows))
        self._total_loss = 0.0

    @property
    def total_loss(self) -> float:
        """Loss of all predictions so far, each being the mean under the prediction."""
        return self._total_loss

    def predict(self, v: int) -> Floats:
        """Give the probabilities of the labels of vertex v, (k_v,)."""
        return self.tree.marginal(v)

    def update(self, v: int, loss: ArrayLike) -> float:
        """Reveal the loss of each label of vertex v.

        Parameters
        ----------
        v : int
            Vertex.
        loss : array_like
            (k_v,) losses in [0, 1].

        Returns
        -------
        float
            Loss of the prediction that :meth:`predict` gives for v before this call.

        Raises
        ------
        ModelError
            If the vertex does not exist, or `loss` has a wrong length or leaves [0, 1].
        """
        predicted = self.predict(v)
        y = np.asarray(loss, np.float64)
        if y.shape != predicted.shape:
            raise ModelError(f"loss has shape {y.shape}: vertex {v} has {len(predicted)} labels")
        if not ((y >= 0) & (y <= 1)).all():
            raise ModelError(f"loss is {y.tolist()}: losses lie in [0, 1]")
        self.tree.multiply(v, np.exp(-self.eta * y))
        start = self._row_starts[v]
        self._losses[start : start + len(y)] += y
        suffered = float(predicted @ y)
        self._total_loss += suffered
        return suffered

    def loss_of(self, labelling: ArrayLike) -> float:
        """Loss that a labelling, (n,) labels, has suffered in the trials so far."""
        x = self._checked(labelling)
        return float(self._losses[self._row_starts + x].sum()) if len(x) else 0.0

    def regret_bound(self, labelling: ArrayLike) -> float:
        """Largest total loss that the theorem allows, given one labelling to compare with.

        Parameters
        ----------
        labelling : array_like
            (n,) labels mu.

        Returns
        -------
        float
            ``c (L(mu) + ln(1 / p(mu)) / eta)`` with ``c = eta / (1 - exp(-eta))``, L(mu) the
            labelling's own loss and p its prior probability; inf when that is 0.
            `total_loss` never exceeds it, whatever the labelling.

        Raises
        ------
        ModelError
            If `labelling` is not one label per vertex.

        Notes
        -----
        O(n). Theorem 9.
        """
        x = self._checked(labelling)
        u, v = self.tree.cover.edges.T
        with np.errstate(divide="ignore"):
            log_prior = np.log(self._rows[self._row_starts + x]).sum()
            at = self._factor_starts + x[u] * self._k[v] + x[v]
            log_prior += np.log(self._factors[at]).sum() - self._log_prior_total
        c = self.eta / -math.expm1(-self.eta)
        return float(c * (self.loss_of(x) - log_prior / self.eta))

    def _checked(self, labelling: ArrayLike) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        x = np.asarray(labelling)
        if x.shape != (self.tree.n,) or x.dtype.kind not in "iu":
            raise ModelError(f"a labelling is {self.tree.n} integers, not {x.dtype} {x.shape}")
        if ((x < 0) | (x >= self._k)).any():
            v = int(np.flatnonzero((x < 0) | (x >= self._k))[0])
            raise ModelError(f"labelling[{v}] is {x[v]}: vertex {v} has labels 0..{self._k[v] - 1}")
        return x.astype(np.int64)
