"""A picture of a hierarchical cover, and of what one update touches. It needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mapreroot.errors import ModelError
from mapreroot.trees import Kind, TreeCover

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cover_tree"]

POINT, PATH, TOUCHED, QUIET = "#2460b4", "#2a9d8f", "#c2302e", "#b8b8b8"


def cover_tree(
    cover: TreeCover,
    touched_by: int | None = None,
    ax: Axes | None = None,
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw the clusters of a cover, each above its parts, at the height of its level.

    Parameters
    ----------
    cover : TreeCover
        What to draw; names have room up to about 80 vertices.
    touched_by : int, optional
        A vertex: the clusters that an update of its data recomputes are drawn in red.
    ax : Axes, optional
        Where to draw; a new figure by default.
    names : sequence of str, optional
        Names of the vertices; their numbers by default.

    Returns
    -------
    Axes

    Raises
    ------
    ModelError
        If `touched_by` is no vertex, or there is not one name per vertex.

    Examples
    --------
    >>> ax = cover_tree(TreeCover(4, [(0, 1), (1, 2), (2, 3)]), touched_by=0)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['path', 'point', 'touched by 0']
    """
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    names = [str(v) for v in range(cover.n)] if names is None else list(names)
    if len(names) != cover.n:
        raise ModelError(f"{len(names)} names for {cover.n} vertices")
    if touched_by is not None and not 0 <= touched_by < cover.n:
        raise ModelError(f"touched_by is {touched_by}: vertices are 0..{cover.n - 1}")
    ax = Figure(figsize=(10, 5), layout="constrained").add_subplot() if ax is None else ax
    chain = [] if touched_by is None else cover.ancestors(touched_by)
    x = _columns(cover)
    level = np.append(cover.level, np.zeros(len(cover.edges)))
    parent = np.concatenate([cover.parent, cover.edge_parent])
    touched = np.zeros(len(x), bool)
    touched[chain] = True
    points = np.stack([x, level], axis=1)
    for chosen, colour, width in ((~touched, QUIET, 0.8), (touched, TOUCHED, 2.2)):
        part = np.flatnonzero(chosen & (parent >= 0))
        lines = np.stack([points[part], points[parent[part]]], axis=1)
        ax.add_collection(LineCollection(list(lines), colors=colour, linewidths=width, zorder=1))
    ax.plot(x[cover.n :], level[cover.n :], "|", color=QUIET, markersize=5)
    for kind, marker, colour in ((Kind.COMPRESS, "s", PATH), (Kind.RAKE, "o", POINT)):
        at = np.flatnonzero((cover.kind == kind) & ~touched[: cover.n])
        name = "path" if kind == Kind.COMPRESS else "point"
        ax.plot(x[at], level[at], marker, color=colour, markersize=6, label=name)
        at = np.flatnonzero((cover.kind == kind) & touched[: cover.n])
        ax.plot(x[at], level[at], marker, color=TOUCHED, markersize=8)
    if touched_by is not None:
        ax.plot([], [], "o", color=TOUCHED, label=f"touched by {names[touched_by]}")
    for v, name in enumerate(names):
        ax.annotate(
            name, (x[v], level[v]), (4, 4), textcoords="offset points", fontsize=7,
            color=TOUCHED if touched[v] else "black", rotation=0 if cover.n < 20 else 30,
        )  # fmt: skip
    ax.set_ylabel("level")
    ax.set_yticks(range(cover.height + 1))
    ax.set_xticks([])
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return ax


def _columns(cover: TreeCover) -> np.ndarray:
    """Horizontal places of all clusters, then of all edges: each above the middle of its parts."""
    parts: list[list[int]] = [[] for _ in range(cover.n + len(cover.edges))]
    parent = np.concatenate([cover.parent, cover.edge_parent])
    # What lies above a vertex goes left, what lies below it right.
    side = np.array([0, 2, 1])[np.concatenate([cover.slot, cover.edge_slot])]
    for part in np.lexsort((np.arange(len(parent)), side)):
        if parent[part] >= 0:
            parts[parent[part]].append(int(part))
    x = np.zeros(len(parts))
    column = 0
    stack = [int(v) for v in np.flatnonzero(cover.parent < 0)[::-1]]
    seen = np.zeros(len(parts), bool)
    while stack:
        part = stack[-1]
        if not seen[part]:
            seen[part] = True
            stack += parts[part][::-1]
            continue
        stack.pop()
        if parts[part]:
            x[part] = (x[parts[part][0]] + x[parts[part][-1]]) / 2
        else:
            x[part], column = column, column + 1
    return x
