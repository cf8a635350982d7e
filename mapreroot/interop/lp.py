"""LOC, TRI and the linearised integer program as LP or MPS files, written by HiGHS."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Hashable
from pathlib import Path
from typing import Literal, get_args

import highspy
import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError, SizeError, SolverError
from mapreroot.formats.text import write_text
from mapreroot.model import Model, UprootedModel
from mapreroot.relaxations.declarative import MAX_ROWS, tri_rows
from mapreroot.relaxations.highs import new_highs
from mapreroot.rerooting import uproot

__all__ = ["Kind", "Names", "lp_format", "write_lp"]

Kind = Literal["loc", "tri", "mip"]
Names = dict[str, Hashable | tuple[Hashable, Hashable]]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


def lp_format(path: str | os.PathLike[str], name: str | None = None) -> str | None:
    """Tell "lp" or "mps" by a name, or else by the file's extension; None for another.

    Examples
    --------
    >>> lp_format("model.lp.gz"), lp_format("-", "mps"), lp_format("model.json")
    ('lp', 'mps', None)
    """
    if name is None:
        name = os.path.splitext(os.fspath(path).lower().removesuffix(".gz"))[1]
    name = name.removeprefix(".")
    return name if name in ("lp", "mps") else None


def write_lp(
    model: Model,
    path: str | os.PathLike[str],
    kind: Kind = "mip",
    root: int = 0,
    format: str | None = None,  # noqa: A002
) -> Names:
    """Write an optimisation problem for any LP or MIP solver: its maximum is the bound, or MAP.

    Parameters
    ----------
    model : Model
    path : path-like
        Ends in ``.lp`` or ``.mps``, perhaps followed by ``.gz``. ``-`` is standard output, and
        needs a format.
    kind : {"mip", "loc", "tri"}
        "loc": four triangle inequalities for each edge of M_root. "mip": the same with the
        variables d_rj binary, whose optimum is MAP. "tri": the triangle inequalities of all
        vertices of M+ that have an edge.
    root : int
        A vertex of M+, for "loc" and "mip"; 0 is the model as it stands.
    format : {"lp", "mps"}, optional
        By default what the extension says.

    Returns
    -------
    dict
        What each column stands for. ``x3`` is variable 3, named by its label, at 1.
        ``d2_5``, named by a pair of labels, says how far variables 2 and 5 differ.

    Raises
    ------
    ModelError
        For an unknown format or kind, or a root that is no vertex.
    SizeError
        If TRI has more than `mapreroot.relaxations.declarative.MAX_ROWS` inequalities.
    SolverError
        If HiGHS cannot write the file.

    Notes
    -----
    Names are safe in both formats, whatever the labels are. The columns are d of the pairs of
    vertices of M+ (Weller 2016, section 5); since y_0 is 0, d_0i is x_i. At another root r the
    binary columns are d_rj, and x_j = d_rj XOR d_r0 (Lemma 1). Hard constraints are there as
    the penalties that the potentials carry.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pair.lp")
    >>> write_lp(Model([0.5, -1], [(0, 1)], [2], labels=["a", "b"]), path)
    {'x0': 'a', 'x1': 'b', 'd0_1': ('a', 'b')}
    >>> "max" in path.read_text().lower()
    True
    """
    extension = lp_format(path, format)
    if extension is None:
        name = f"the file is called {os.fspath(path)!r}" if format is None else f"got {format!r}"
        raise ModelError(f"{name}: expected an extension .lp or .mps")
    if kind not in get_args(Kind):
        raise ModelError(f"kind is {kind!r}: expected one of {', '.join(get_args(Kind))}")
    uprooted = uproot(model)
    if not 0 <= root < uprooted.n_vertices:
        raise ModelError(f"no vertex {root}: the model has 0..{uprooted.n_vertices - 1}")
    pairs, triangles = _triangles(uprooted, kind, root)
    columns = ["x" + str(j - 1) if i == 0 else f"d{i - 1}_{j - 1}" for i, j in pairs.tolist()]
    binary = (pairs == root).any(axis=1) & (kind == "mip")
    highs = new_highs()
    highs.passModel(_problem(uprooted, pairs, triangles, columns, binary))
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder, f"model.{extension}")
        if highs.writeModel(str(draft)) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS could not write {len(pairs)} columns as {extension}")
        write_text(path, draft.read_text())
    labels = model.labels
    return {
        column: labels[j - 1] if i == 0 else (labels[i - 1], labels[j - 1])
        for column, (i, j) in zip(columns, pairs.tolist(), strict=True)
    }


def _triangles(uprooted: UprootedModel, kind: Kind, root: int) -> tuple[Ints, Ints]:
    """Give the pairs that become columns, and the triangles as three columns each."""
    N = uprooted.n_vertices
    others = np.delete(np.arange(N), root)
    spokes = np.stack([np.full(N - 1, root), others], axis=1)
    if kind == "tri":
        rows = tri_rows(uprooted)
        if rows > MAX_ROWS:
            raise SizeError(
                f"TRI has {rows} triangle inequalities, more than {MAX_ROWS}: use "
                "mapreroot.relax(model, 'tri'), which writes only the violated ones"
            )
        kept = np.unique(uprooted.edges).tolist()
        corners = np.array(list(itertools.combinations(kept, 3)), dtype=np.int64).reshape(-1, 3)
    else:
        inner = uprooted.edges[(uprooted.edges != root).all(axis=1)]
        corners = np.concatenate([np.full((len(inner), 1), root), inner], axis=1)
    sides = corners[:, [[0, 1], [0, 2], [1, 2]]].reshape(-1, 2)
    ends = np.sort(np.concatenate([spokes, uprooted.edges, sides]), axis=1)
    pairs, column = np.unique(ends, axis=0, return_inverse=True)
    return pairs, column.ravel()[len(ends) - len(sides) :].reshape(-1, 3)


def _problem(
    uprooted: UprootedModel, pairs: Ints, triangles: Ints, names: list[str], integer: Bools
) -> highspy.HighsLp:
    """Maximise c - 1/2 sum W_ij d_ij over 0 <= d <= 1 and the triangle inequalities."""
    N, P, T = uprooted.n_vertices, len(pairs), len(triangles)
    cost = np.zeros(P)
    cost[np.searchsorted(pairs @ [N, 1], uprooted.edges @ [N, 1])] = -uprooted.weights / 2
    # d_ij + d_ik + d_jk <= 2, and no side longer than the other two together.
    signs = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    lp = highspy.HighsLp()
    lp.sense_, lp.offset_ = highspy.ObjSense.kMaximize, uprooted.constant
    lp.num_col_, lp.num_row_ = P, 4 * T
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.zeros(P), np.ones(P)
    lp.row_lower_ = np.full(4 * T, -highspy.kHighsInf)
    lp.row_upper_ = np.tile([2.0, 0.0, 0.0, 0.0], T)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(0, 12 * T + 1, 3)
    lp.a_matrix_.index_ = np.repeat(triangles, 4, axis=0).ravel()
    lp.a_matrix_.value_ = np.tile(signs.ravel(), T)
    lp.col_names_, lp.row_names_ = names, [f"r{row}" for row in range(4 * T)]
    if integer.any():
        kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
        lp.integrality_ = [kinds[each] for each in integer.tolist()]
    return lp
