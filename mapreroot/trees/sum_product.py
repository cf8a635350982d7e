"""Sums over a tree, kept up to date: marginals, log Z and samples online."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import InfeasibleError
from mapreroot.trees import binary, general
from mapreroot.trees.engine import OnlineTree
from mapreroot.trees.extended import Floats
from mapreroot.trees.inputs import Rows

__all__ = ["OnlineSumProduct"]


class OnlineSumProduct(OnlineTree):
    """Exact marginals of a tree while its data and factors change.

    The model is ``p(x) = prod_e factors[e][x_u, x_v] prod_v data[v][x_v] / Z``.

    Parameters
    ----------
    n : int
        Number of vertices, at least one.
    edges : array_like
        (m, 2) vertices of a forest.
    factors : array_like
        Non-negative edge factors: one (k_u, k_v) matrix shared by all edges, or one per
        edge, as an (m, k_u, k_v) array or a list of m matrices. In ``factors[e][a, b]``
        a is the label of ``edges[e][0]``; nothing need be symmetric or normalised.
    data : array_like
        Non-negative rows, one per vertex: an (n, k) array, or a list of rows where label
        counts differ.
    cover : TreeCover, optional
        A cover of the same edges. Without it the better of two is taken: rake and
        compress, or the tree itself where it is shallow enough for that to be less work.

    Attributes
    ----------
    cover : TreeCover
        The cover in use.
    n : int
        Number of vertices.

    Raises
    ------
    NotATreeError
        If the edges hold a cycle.
    ModelError
        If shapes do not fit, or a number is negative or not finite.
    SizeError
        If the tables would not fit into memory.

    Notes
    -----
    Construction O(n k^3); an update O(h k^3) and a marginal O(h k^2) with h the height of
    the cover, O(log n). Numbers have unlimited range and products raked onto a vertex are
    kept by division with a count of zeros, so that nothing underflows, and Z = 0 is a
    state like any other, which a later update can leave.
    Herbster, Pasteris, Vitale (2012), Figures 2 and 3 and Theorem 6.

    Examples
    --------
    A chain of three whose neighbours tend to agree, seen at one end, then at both:

    >>> stay = [[0.9, 0.1], [0.1, 0.9]]
    >>> tree = OnlineSumProduct(3, [(0, 1), (1, 2)], stay, np.ones((3, 2)))
    >>> tree.update(0, [1, 0])
    >>> tree.marginals().round(3).tolist()
    [[1.0, 0.0], [0.9, 0.1], [0.82, 0.18]]
    >>> tree.update(2, [0, 1])
    >>> tree.marginal(1).tolist()
    [0.5, 0.5]
    >>> tree.pair_marginal(1).tolist()
    [[0.0, 0.5], [0.0, 0.5]]
    >>> round(float(np.exp(tree.log_partition)), 12)
    0.18
    """

    _maximise: ClassVar[bool] = False

    @property
    def log_partition(self) -> float:
        """Logarithm of Z in nats, -inf when every configuration has weight 0. O(1)."""
        return self._log_total()

    def marginal(self, v: int) -> Floats:
        """Probabilities of the labels of one vertex.

        Parameters
        ----------
        v : int
            Vertex.

        Returns
        -------
        numpy.ndarray
            (k_v,) probabilities; NaN when Z is 0.

        Raises
        ------
        ModelError
            If the vertex does not exist.

        Notes
        -----
        O(height k^2).
        """
        return self._belief_of(v)

    def marginal_many(self, vertices: ArrayLike) -> Floats | list[Floats]:
        """Marginals of many vertices, in compiled code.

        Parameters
        ----------
        vertices : array_like
            (m,) vertices.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            (m, k) probabilities; a list of rows where label counts differ.

        Raises
        ------
        ModelError
            If a vertex does not exist.
        """
        return self._beliefs_at(self._positions_of(vertices))

    def marginals(self) -> Floats | list[Floats]:
        """Marginals of all vertices in one pass, O(n k^2).

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            (n, k) probabilities; a list of rows where label counts differ.
        """
        return self._all_beliefs()

    def pair_marginal(self, e: int) -> Floats:
        """Joint probabilities of the labels at the two ends of an edge.

        Parameters
        ----------
        e : int
            Edge, a row of ``edges``.

        Returns
        -------
        numpy.ndarray
            (k_u, k_v), a row per label of ``edges[e][0]``; NaN when Z is 0.

        Raises
        ------
        ModelError
            If the edge does not exist.
        """
        return self._pair_belief(e)

    def trial_many(self, vertices: ArrayLike, rows: Rows) -> Floats | list[Floats]:
        """Predict a vertex, then replace its data, one trial after another.

        Parameters
        ----------
        vertices : array_like
            (m,) vertices in the order of the stream.
        rows : array_like
            (m, k) new data, or a list of m rows where label counts differ.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            (m, k): the marginal of each vertex before its own row was set, all earlier
            rows being in force.

        Raises
        ------
        ModelError
            If a vertex does not exist, or a row is of the wrong length, negative or not
            finite; then nothing has changed.
        """
        at, flat, starts = self._batch(vertices, rows)
        R = self._records
        out = np.empty(len(flat))
        if R.k == 2:
            binary.trials(R, at, flat, self.cover.height, self._maximise, out)
        else:
            general.trials(
                R, at, flat, starts, self._maximise,
                self._scratch, self._scratch_exponents, self._k_max, out,
            )  # fmt: skip
        return self._shaped(at, out, starts)

    def sample(
        self, size: int = 1, seed: int | np.random.Generator | None = None
    ) -> NDArray[np.int32]:
        """Draw independent exact samples.

        Parameters
        ----------
        size : int
            Number of samples.
        seed : int or numpy.random.Generator, optional
            Makes the draw repeatable.

        Returns
        -------
        numpy.ndarray
            (size, n) labels.

        Raises
        ------
        InfeasibleError
            If Z is 0.

        Notes
        -----
        O(n k) each.
        """
        if self.log_partition == -np.inf:
            raise InfeasibleError("Z is 0: every configuration has weight 0, none can be drawn")
        rng = np.random.default_rng(seed)
        x = np.empty((size, self.n), np.int32)
        for i in range(size):
            x[i] = self._labels(rng.random(self.n))
        return x
