"""Pictures for papers and notebooks, one function each. They need matplotlib.

Attractive edges are solid and blue, repulsive ones dashed and red, as in Weller (2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.model import Model, UprootedModel
from mapreroot.relax import Relaxation
from mapreroot.report.drawing import ATTRACTIVE, GLOW, REPULSIVE, axes_for, new_figure, plain
from mapreroot.report.layout import place
from mapreroot.rerooting import uproot
from mapreroot.solve import MapResult, Progress
from mapreroot.tightness import TightnessReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "bound_and_score",
    "error_by_wmax",
    "grid_labels",
    "rerootings",
    "root_profile",
    "signed_graph",
]

_NAMED = 40  # vertices whose names have room
_WEIGHED = 12  # edges whose weights have


def signed_graph(
    model: Model | UprootedModel,
    ax: Axes | None = None,
    at: npt.ArrayLike | None = None,
    fill: Mapping[int, str] | None = None,
    glow: npt.ArrayLike | None = None,
) -> Axes:
    """Draw a model as a signed graph, wide edges for large weights.

    Parameters
    ----------
    model : Model or UprootedModel
        The fields of a `Model` that has any stand under its names; a model of more than 40
        vertices has no room for names, and its vertices take the colour of their fields. The
        weights of a dozen edges or fewer are written on them.
    ax : Axes, optional
        Where to draw; a new figure by default.
    at : array_like, shape (number of vertices, 2), optional
        Places; those of `mapreroot.report.layout.place` by default.
    fill : mapping from vertices to colours, optional
        Vertices to fill with another colour.
    glow : array_like of bool, shape (m,), optional
        Edges to draw on an amber ground.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = signed_graph(Model([1, 0, -1], [(0, 1), (1, 2), (0, 2)], [2, -2, 2]))
    >>> len(ax.collections[0].get_segments()), len(ax.collections[1].get_segments())
    (2, 1)
    """
    ax = axes_for(ax)
    from matplotlib.collections import LineCollection

    points = np.asarray(place(model) if at is None else at, dtype=np.float64)
    ends = points[model.edges]
    size = np.abs(model.weights)
    width = 0.6 + 2.4 * size / size.max(initial=1e-300)
    if len(points) > _NAMED:
        width /= 2
    for chosen, colour, style, name in (
        (model.weights > 0, ATTRACTIVE, "solid", "attractive"),
        (model.weights < 0, REPULSIVE, (0, (3, 1.5)), "repulsive"),
    ):
        ax.add_collection(
            LineCollection(
                list(ends[chosen]),
                colors=colour,
                linestyles=[style],
                linewidths=width[chosen],
                zorder=1,
                label=name,
            )
        )
    if glow is not None:
        chosen = np.asarray(glow, dtype=bool)
        ax.add_collection(
            LineCollection(
                list(ends[chosen]), colors=GLOW, linewidths=width[chosen] + 5, alpha=0.6, zorder=0
            )
        )
    if model.m <= _WEIGHED and len(points) <= _NAMED:
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}
        spots = 0.58 * ends[:, 0] + 0.42 * ends[:, 1]  # off the middle, where diagonals cross
        for (x, y), weight in zip(spots.tolist(), model.weights.tolist(), strict=True):
            ax.text(x, y, f"{weight:.3g}", ha="center", va="center", fontsize=8, bbox=box, zorder=2)
    theta = model.theta if isinstance(model, Model) and model.theta.any() else None
    _vertices(ax, points, model.labels, theta, fill or {})
    ax.update_datalim(points)
    ax.set_aspect("equal")
    ax.margins(0.14 if len(points) <= _NAMED else 0.05)
    ax.autoscale_view()
    ax.set_axis_off()
    return ax


def _vertices(
    ax: Axes,
    points: npt.NDArray[np.float64],
    labels: Sequence[object],
    theta: npt.NDArray[np.float64] | None,
    fill: Mapping[int, str],
) -> None:
    """Write names and fields, or draw dots where there are too many."""
    from matplotlib.colors import to_rgb

    if len(points) > _NAMED:
        # theta_j = -W_rj / 2: a positive field repels from the root.
        sign = np.zeros(len(points), int) if theta is None else np.sign(theta).astype(int)
        colours = np.array(["0.25", REPULSIVE, ATTRACTIVE])[sign].tolist()
        for v, colour in fill.items():
            colours[v] = colour
        ax.scatter(
            points[:, 0], points[:, 1], s=16, c=colours, edgecolors="0.3", linewidths=0.3, zorder=3
        )
        return
    for v, ((x, y), label) in enumerate(zip(points.tolist(), labels, strict=True)):
        text = str(label) if theta is None else f"{label}\n{_signed(theta[v])}"
        ground = to_rgb(fill.get(v, "white"))
        ax.text(
            x,
            y,
            plain(text),
            ha="center",
            va="center",
            fontsize=8,
            color="white" if sum(ground) < 1.5 else "black",
            bbox={"boxstyle": "round,pad=0.5", "facecolor": ground, "edgecolor": "0.2"},
            zorder=3,
        )


def _signed(field: float) -> str:
    return f"{field:+.3g}" if field else "0"


def rerootings(model: Model, root: int) -> Figure:
    """Draw M, M+ and M_root side by side, as in Figure 1 of Weller (2016).

    Parameters
    ----------
    model : Model
    root : int
        A vertex of M+.

    Returns
    -------
    Figure
        With three axes. A vertex stands at the same place in all of them.

    Raises
    ------
    ModelError
        If there is no such vertex.

    Examples
    --------
    >>> figure = rerootings(Model([1, 0], [(0, 1)], [2], labels="ab"), root=2)
    >>> [ax.get_title() for ax in figure.axes]
    ['M', 'M+', 'M+ rooted at b']
    """
    uprooted = uproot(model)
    rooted = uprooted.reroot(root)
    at = place(uprooted)
    figure = new_figure(12, 4.8)
    left, middle, right = figure.subplots(1, 3, sharex=True, sharey=True)
    signed_graph(model, left, at[1:]).set_title("M")
    signed_graph(uprooted, middle, at).set_title("M+")
    signed_graph(rooted, right, np.delete(at, root, axis=0)).set_title(
        plain(f"M+ rooted at {uprooted.labels[root]}")
    )
    handles = middle.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def root_profile(report: TightnessReport, ax: Axes | None = None) -> Axes:
    """Draw LOC for each root, with TRI and MAP as lines.

    Parameters
    ----------
    report : TightnessReport
        ``tightness(model, roots="all")`` shows every root; without it there are only root 0 and
        the best one.
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from mapreroot.tightness import tightness
    >>> frustrated = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2, -2, -2])
    >>> ax = root_profile(tightness(frustrated, roots="all"))
    >>> ax.lines[0].get_ydata().tolist()
    [3.0, 2.0, 2.0, 2.0]
    """
    ax = axes_for(ax)
    from matplotlib.ticker import MaxNLocator

    known = report.loc_by_root | {0: report.loc, report.best_root: report.best_loc}
    roots = sorted(known)
    best = report.best_root
    ax.plot(roots, [known[r] for r in roots], "o", markersize=4, color="0.45", label="LOC")
    ax.plot([0], [report.loc], "s", markersize=7, color="0.2", label="LOC of the model as it is")
    ax.plot([best], [report.best_loc], "*", markersize=12, color=GLOW, markeredgecolor="0.2",
            markeredgewidth=0.6, label=f"best LOC, at root {best}")  # fmt: skip
    ax.axhline(report.tri, color=ATTRACTIVE, label="TRI, at every root")
    name = "MAP" if report.answer.status == "optimal" else "best score found"
    ax.axhline(report.score, color="black", linestyle=(0, (4, 2)), label=name)
    ax.set(xlabel="root, a vertex of M+", ylabel="bound (nats)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False, fontsize=8)
    return ax


def grid_labels(relaxation: Relaxation, result: MapResult, shape: tuple[int, int]) -> Figure:
    """Draw an image's LOC pseudomarginals, what is persistent in them, and the MAP.

    Parameters
    ----------
    relaxation : Relaxation
        Of the model as it is: ``relax(model, "loc")``.
    result : MapResult
        Of the same model.
    shape : (int, int)
        Of the image; the variables are its pixels in reading order.

    Returns
    -------
    Figure
        With three axes.

    Raises
    ------
    ModelError
        For a relaxation without pseudomarginals, or a shape that is not that of the model.

    Examples
    --------
    >>> from mapreroot.relax import relax
    >>> from mapreroot.solve import solve
    >>> model = Model.from_grid([[1, -1], [1, -3]], right=[[4], [0]], down=[[0.5, 2]])
    >>> figure = grid_labels(relax(model, "loc"), solve(model), (2, 2))
    >>> [ax.get_title() for ax in figure.axes]
    ['LOC: q', 'persistent: 4 of 4', 'MAP']
    """
    if relaxation.q is None:
        raise ModelError('no pseudomarginals at this root: give relax(model, "loc")')
    n = len(result.x)
    if len(relaxation.q) != n or shape[0] * shape[1] != n:
        raise ModelError(
            f"an image of shape {shape} needs as many variables: the relaxation has "
            f"{len(relaxation.q)}, the MAP {n}"
        )
    known = np.array([relaxation.persistent.get(label, np.nan) for label in result.labels])
    figure = new_figure(10.5, 3.8)
    count = int(np.isfinite(known).sum())
    labels = (relaxation.q.reshape(shape), known.reshape(shape), result.x.reshape(shape))
    for ax, values, title in zip(
        figure.subplots(1, 3),
        labels,
        ("LOC: q", f"persistent: {count} of {n}", "MAP"),
        strict=True,
    ):
        ax.set_facecolor("#e8c27a")  # what is not known is neither black nor white
        ax.imshow(values, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        ax.set(title=title, xticks=[], yticks=[])
    return figure


def bound_and_score(records: Iterable[Progress], ax: Axes | None = None) -> Axes:
    """Draw how the bound fell and the best score rose while a model was being solved.

    Parameters
    ----------
    records : iterable of Progress
        What ``solve(model, progress=records.append)`` collects.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    ModelError
        If there are no records: a model solved at once reports nothing.

    Examples
    --------
    >>> ax = bound_and_score([Progress(3.0, 5.0, 0, 0.1), Progress(4.0, 4.0, 7, 0.3)])
    >>> [line.get_label() for line in ax.lines]
    ['bound', 'best score']
    """
    known = list(records)
    if not known:
        raise ModelError("no records: the model was solved before there was progress to report")
    ax = axes_for(ax)
    seconds = [record.seconds for record in known]
    bound, score = [r.bound for r in known], [r.score for r in known]
    for values, colour, name in ((bound, ATTRACTIVE, "bound"), (score, "black", "best score")):
        ax.step(seconds, values, ".-", where="post", color=colour, label=name)
    ax.fill_between(seconds, score, bound, step="post", color=ATTRACTIVE, alpha=0.12, linewidth=0)
    ax.set(xlabel="seconds", ylabel="score (nats)")
    ax.legend(frameon=False)
    return ax


def error_by_wmax(
    table: Mapping[str, Sequence[Any]],
    error: str = "error",
    by: str = "rooting",
    wmax: str = "w_max",
    ax: Axes | None = None,
) -> Axes:
    """Draw mean absolute errors against Wmax, with a band of one standard error.

    Parameters
    ----------
    table : DataFrame, or a mapping from columns to sequences
        A row for each model and rooting, as the tables of `mapreroot.experiments` have them,
        with the columns named by the next three arguments.
    error, by, wmax : str
        The column of errors; of what is compared, a line for each of its values; and of the
        largest weight that could be drawn, in nats. Rows whose error is not finite do not count.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    ModelError
        If a column is missing.

    Examples
    --------
    >>> table = {"rooting": "aabb", "w_max": [2, 2, 2, 4], "error": [1.0, -3.0, 0.5, 2.0]}
    >>> ax = error_by_wmax(table)
    >>> [(line.get_label(), line.get_ydata().tolist()) for line in ax.lines]
    [('a', [2.0]), ('b', [0.5, 2.0])]
    """
    for column in (error, by, wmax):
        if column not in table:
            raise ModelError(f"the table has no column {column!r}")
    values = np.abs(np.asarray(table[error], dtype=np.float64))
    strength = np.asarray(table[wmax], dtype=np.float64)
    groups = list(table[by])
    ax = axes_for(ax)
    for name in dict.fromkeys(groups):
        chosen = np.array([group == name for group in groups]) & np.isfinite(values)
        x = np.unique(strength[chosen])
        samples = [values[chosen & (strength == w)] for w in x]
        mean = np.array([sample.mean() for sample in samples])
        spread = np.array([sample.std(ddof=1) if len(sample) > 1 else 0.0 for sample in samples])
        half = spread / np.sqrt([len(sample) for sample in samples])
        (line,) = ax.plot(x, mean, marker="o", markersize=4, label=plain(str(name)))
        ax.fill_between(x, mean - half, mean + half, color=line.get_color(), alpha=0.2, linewidth=0)
    ax.set(xlabel="Wmax (nats)", ylabel=plain(f"mean |{error}|"))
    ax.legend(frameon=False)
    return ax
