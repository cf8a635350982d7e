"""What the online engines share: the input, the records, the updates."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapreroot.errors import ModelError
from mapreroot.trees import binary, general
from mapreroot.trees.cover import TreeCover
from mapreroot.trees.extended import LOG_UP, Floats, log_of
from mapreroot.trees.inputs import Rows, flat_factors, flat_rows, numbers, vertices_of
from mapreroot.trees.records import positions, records
from mapreroot.trees.rooting import Ints

__all__ = ["OnlineTree"]


class OnlineTree:
    """A forest of factors and data, kept summed up (or maximised) under a cover.

    The parameters are described where they are met: :class:`OnlineSumProduct`,
    :class:`OnlineMaxProduct`.
    """

    _maximise: ClassVar[bool] = False

    def __init__(
        self,
        n: int,
        edges: ArrayLike,
        factors: Rows,
        data: Rows,
        cover: TreeCover | None = None,
    ) -> None:
        if n < 1:
            raise ModelError(f"n is {n}: a tree engine needs at least one vertex")
        rows, starts, k = flat_rows(data, n, "data")
        self._k_max = int(k.max())
        if cover is None:
            cover = TreeCover(n, edges, rake_only=None, k=self._k_max)
        elif cover.n != n or not np.array_equal(cover.edges, np.reshape(edges, (-1, 2))):
            raise ModelError("the cover was made for other edges than these")
        self.cover = cover
        matrices, matrix_starts = flat_factors(factors, cover.edges, k[cover.edges])
        self._position = positions(cover)
        self._records = records(cover, self._position, k)
        # Six vectors for every depth of the cover, s included, or one table and two vectors.
        room = max((cover.height + 1) * 6 * self._k_max, self._k_max**2 + 2 * self._k_max)
        self._scratch = np.empty(room)
        self._scratch_exponents = np.empty(len(self._scratch), np.int32)
        R, S, SE = self._records, self._scratch, self._scratch_exponents
        owners = self._position[cover.edge_parent]
        general.write_tables(R, owners, cover.edge_slot, cover.edge_top, matrices, matrix_starts)
        general.write_rows(R, self._position, rows, starts)
        if R.k > 0 and not self._maximise:
            # s has k labels here, of which a sum must see but one.
            general.write_row(R, 0, np.full(R.k, 1.0 / R.k), 0, False)
        if R.k == 2:
            binary.sweep(R, np.ones(n + 1, np.bool_), self._maximise)
        else:
            general.sweep(R, np.ones(n + 1, np.bool_), self._maximise, S, SE)

    def __getstate__(self) -> dict[str, Any]:
        # The int32 of the records are the doubles' own memory, and a copy must keep it so.
        R = self._records
        return vars(self) | {"_records": R._replace(I=np.empty(0, np.int32))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        R = state["_records"]
        vars(self).update(state, _records=R._replace(I=R.F.view(np.int32)))

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.cover.n

    def labels(self, v: int) -> int:
        """Count the labels of vertex v."""
        return int(self._records.K[self._position[self._vertex(v)]])

    def update(self, v: int, row: ArrayLike) -> None:
        """Replace the data of one vertex.

        Parameters
        ----------
        v : int
            Vertex.
        row : array_like
            (k_v,) non-negative weights. One non-zero entry observes the vertex, a row
            of ones says nothing about it.

        Raises
        ------
        ModelError
            If the vertex does not exist, or the row is of the wrong length, negative or
            not finite.

        Notes
        -----
        O(height k^3), with a rake-only cover O(height k^2).
        """
        self._write(v, row, times=False)

    def multiply(self, v: int, row: ArrayLike) -> None:
        """Multiply the data of one vertex by a row, as one more independent observation.

        The product may leave the range of doubles. Parameters, errors and cost are
        those of :meth:`update`.
        """
        self._write(v, row, times=True)

    def update_many(self, vertices: ArrayLike, rows: Rows) -> None:
        """Replace the data of many vertices; of two rows for one vertex the later holds.

        Parameters
        ----------
        vertices : array_like
            (m,) vertices.
        rows : array_like
            (m, k) weights, or a list of m rows where label counts differ.

        Raises
        ------
        ModelError
            As in :meth:`update`; then nothing has changed.

        Notes
        -----
        Few rows are worked off one by one. With many, every cluster around any of them
        is recomputed once: O(m log(n / m) k^3).
        """
        at, flat, starts = self._batch(vertices, rows)
        R = self._records
        if R.k == 2:
            binary.update_all(R, at, flat, self._maximise)
        else:
            general.update_all(
                R, at, flat, starts, self._maximise, self._scratch, self._scratch_exponents
            )

    def update_edge(self, e: int, matrix: ArrayLike) -> None:
        """Replace the factor of one edge.

        Parameters
        ----------
        e : int
            Edge, a row of ``edges``.
        matrix : array_like
            (k_u, k_v) non-negative weights; a row per label of ``edges[e][0]``.

        Raises
        ------
        ModelError
            If the edge does not exist, or the matrix is of the wrong shape, negative or
            not finite.

        Notes
        -----
        O(height k^3).
        """
        e = self._edge(e)
        cover = self.cover
        one = slice(e, e + 1)
        numbers(matrix, "matrix")
        ends = cover.edges[one]
        shape = self._records.K[self._position[ends]]
        flat, starts = flat_factors(np.asarray(matrix)[None], ends, shape)
        owner = self._position[cover.edge_parent[one]]
        general.write_tables(
            self._records, owner, cover.edge_slot[one], cover.edge_top[one], flat, starts
        )
        self._climb(int(owner[0]))

    def _write(self, v: int, row: ArrayLike, times: bool) -> None:
        v = self._vertex(v)
        x = int(self._position[v])
        flat = np.asarray(row)
        if flat.shape != (self._records.K[x],):
            raise ModelError(
                f"row has shape {flat.shape}: vertex {v} has {self._records.K[x]} labels"
            )
        general.write_row(self._records, x, numbers(flat, "row"), 0, times)
        self._climb(x)

    def _climb(self, x: int) -> None:
        R = self._records
        if R.k == 2:
            binary.climb(R, x, self._maximise)
        else:
            general.climb(R, x, self._maximise, self._scratch, self._scratch_exponents)

    def _vertex(self, v: int) -> int:
        if not (isinstance(v, Integral) and 0 <= v < self.n):
            raise ModelError(f"vertex {v} does not exist: vertices are 0..{self.n - 1}")
        return int(v)

    def _edge(self, e: int) -> int:
        if not (isinstance(e, Integral) and 0 <= e < len(self.cover.edges)):
            raise ModelError(f"edge {e} does not exist: edges are 0..{len(self.cover.edges) - 1}")
        return int(e)

    def _positions_of(self, vertices: ArrayLike) -> NDArray[np.int32]:
        return self._position[vertices_of(vertices, self.n)]

    def _labels(self, draw: Floats) -> NDArray[np.int32]:
        """Labels of all vertices: drawn with a number per position, or the best ones."""
        x: NDArray[np.int32] = general.labels(
            self._records, draw, self._maximise, self._scratch, self._scratch_exponents
        )
        return x[self._position]

    def _batch(self, vertices: ArrayLike, rows: Rows) -> tuple[NDArray[np.int32], Floats, Ints]:
        at = self._positions_of(vertices)
        flat, starts, _ = flat_rows(rows, len(at), "rows", self._records.K[at])
        return at, flat, starts

    def _log_total(self) -> float:
        return float(log_of(*general.total(self._records, self._maximise)))

    def _log_beliefs(self, v: int) -> Floats:
        """Logarithms of the unnormalised belief of one vertex."""
        at = self._position[[self._vertex(v)]]
        k = int(self._records.K[at[0]])
        M, E = np.empty(k), np.empty(k, np.int32)
        general.beliefs(*self._query(at), M, E, np.zeros(1, np.int64))
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(M) + E * LOG_UP
        return logs

    def _query(self, at: NDArray[np.int32]) -> tuple[object, ...]:
        return (
            self._records, at, self._maximise, self._scratch, self._scratch_exponents, self._k_max
        )  # fmt: skip

    def _beliefs_at(self, at: NDArray[np.int32]) -> list[Floats] | Floats:
        """Normalised beliefs at some positions, an array where label counts agree."""
        R = self._records
        starts, out = self._room_for(at)
        if R.k == 2:
            binary.probabilities(R, at, self.cover.height, self._maximise, out)
        else:
            general.probabilities(*self._query(at), out, starts)
        return self._shaped(at, out, starts)

    def _belief_of(self, v: int) -> Floats:
        beliefs = self._beliefs_at(self._position[[self._vertex(v)]])
        return np.asarray(beliefs[0])

    def _all_beliefs(self) -> list[Floats] | Floats:
        """Normalised beliefs of all vertices."""
        R = self._records
        by_position = np.arange(1, self.n + 1, dtype=np.int32)
        starts, out = self._room_for(by_position)
        general.all_beliefs(
            R, self._maximise, self._scratch, self._scratch_exponents, self._k_max, out, starts
        )
        shaped = self._shaped(by_position, out, starts)
        if isinstance(shaped, list):
            return [shaped[x - 1] for x in self._position]
        return shaped[self._position - 1]

    def _pair_belief(self, e: int) -> Floats:
        e = self._edge(e)
        cover = self.cover
        owner = int(self._position[cover.edge_parent[e]])
        pair: Floats = general.pair_belief(
            self._records, owner, int(cover.edge_slot[e]), self._maximise,
            self._scratch, self._scratch_exponents, self._k_max,
        )  # fmt: skip
        return pair.T if cover.edge_top[e] else pair

    def _room_for(self, at: NDArray[np.int32]) -> tuple[Ints, Floats]:
        ends = np.cumsum(self._records.K[at], dtype=np.int64)
        starts = np.append(0, ends[:-1]) if len(ends) else ends
        return starts, np.empty(ends[-1] if len(ends) else 0)

    def _shaped(self, at: NDArray[np.int32], out: Floats, starts: Ints) -> list[Floats] | Floats:
        R = self._records
        if R.k > 0:
            return out.reshape(len(at), R.k)
        return [out[s : s + c] for s, c in zip(starts, R.K[at], strict=True)]
