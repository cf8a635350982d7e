"""Maxima over a tree, kept up to date: the MAP assignment online."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mapreroot.errors import InfeasibleError
from mapreroot.trees.engine import OnlineTree
from mapreroot.trees.extended import Floats

__all__ = ["OnlineMaxProduct"]


class OnlineMaxProduct(OnlineTree):
    """Exact MAP assignment of a tree while its data and factors change.

    Parameters, attributes and errors are those of :class:`OnlineSumProduct`, and so are
    the updates; every sum over labels is a maximum instead.

    Notes
    -----
    Construction O(n k^3), an update O(h k^3), a max-marginal O(h k^2), the whole
    assignment O(n k), with h the height of the cover.
    Herbster, Pasteris, Vitale (2012), with max for sum.

    Examples
    --------
    >>> stay = [[0.9, 0.1], [0.1, 0.9]]
    >>> tree = OnlineMaxProduct(3, [(0, 1), (1, 2)], stay, [[1, 2], [1, 1], [1, 1]])
    >>> tree.map_assignment().tolist()
    [1, 1, 1]
    >>> tree.update(2, [5, 1])
    >>> tree.map_assignment().tolist()
    [0, 0, 0]
    >>> round(float(np.exp(tree.max_log_value)), 12)
    4.05
    >>> tree.max_marginal(1).round(3).tolist()
    [0.714, 0.286]
    """

    _maximise: ClassVar[bool] = True

    @property
    def max_log_value(self) -> float:
        """Logarithm of the largest weight, -inf when all weights are 0. O(1)."""
        return self._log_total()

    def map_assignment(self) -> NDArray[np.int32]:
        """Labels of largest weight, O(n k).

        Returns
        -------
        numpy.ndarray
            (n,) labels.

        Raises
        ------
        InfeasibleError
            If every configuration has weight 0.
        """
        if self.max_log_value == -np.inf:
            raise InfeasibleError("every configuration has weight 0: no assignment is best")
        return self._labels(np.empty(0))

    def log_max_marginal(self, v: int) -> Floats:
        """Logarithm of the largest weight with each label of one vertex.

        Parameters
        ----------
        v : int
            Vertex.

        Returns
        -------
        numpy.ndarray
            (k_v,) in nats, of the whole forest and not normalised: the maximum is
            `max_log_value`. -inf where a label is impossible.

        Raises
        ------
        ModelError
            If the vertex does not exist.

        Notes
        -----
        O(height k^2).
        """
        return self._log_beliefs(v)

    def max_marginal(self, v: int) -> Floats:
        """Largest weight with each label of one vertex, scaled to sum to 1.

        Parameters, errors and cost are those of :meth:`log_max_marginal`.

        Returns
        -------
        numpy.ndarray
            (k_v,) summing to 1; NaN when every configuration has weight 0.
        """
        return self._belief_of(v)
