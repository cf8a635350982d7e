"""Pictures of answers, one function each: what the ``plot()`` of a result draws."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.marginals import Marginals
from mapreroot.max_marginals import MaxMarginals
from mapreroot.model import Model, UprootedModel
from mapreroot.notebook import grid_shape
from mapreroot.relax import Relaxation
from mapreroot.report.drawing import ATTRACTIVE, GLOW, axes_for, plain
from mapreroot.report.layout import place
from mapreroot.report.pictures import signed_graph
from mapreroot.roots import RootChoice
from mapreroot.solve import MapResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["assignment", "margins", "probabilities", "relaxed", "root_choice"]

Floats = npt.NDArray[np.float64]

ONE, ZERO = "#1b2330", "white"
_DRAWN = 300  # vertices of a graph; among more, nobody could pick out one
_NAMED = 40  # variables whose names have room on an axis
_INTEGRAL = 1e-6  # a d this near to 0 or 1 is taken for it


def assignment(result: MapResult, model: Model | None = None, ax: Axes | None = None) -> Axes:
    """Draw an assignment: as an image, or on the signed graph of its model.

    Parameters
    ----------
    result : MapResult
    model : Model, optional
        Its graph is drawn, the variables at 1 filled, with an amber ground under the edges that
        the assignment leaves unsatisfied: attractive between different values, repulsive between
        equal ones. Without a model the values are pixels, those of the image that the labels
        speak of, else in reading order.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    ModelError
        If the model has other labels.

    Examples
    --------
    >>> from mapreroot.solve import solve
    >>> frustrated = Model([1, 0, 0], [(0, 1), (1, 2), (0, 2)], [-3, -2, -1])
    >>> ax = assignment(solve(frustrated), frustrated)
    >>> len(ax.collections[2].get_segments())
    1
    """
    if model is None:
        shape = grid_shape(result.labels) or _nearly_square(len(result.x))
        values = np.full(shape[0] * shape[1], np.nan)
        values[: len(result.x)] = result.x
        ax = _image(values.reshape(shape), ax, "gray", (0, 1))
        if len(values) <= _NAMED and grid_shape(result.labels) is None:
            for i, label in enumerate(result.labels):
                row, column = divmod(i, shape[1])
                colour = "black" if result.x[i] else "white"
                ax.text(column, row, plain(str(label)), ha="center", va="center", color=colour)
    else:
        if model.labels != result.labels:
            raise ModelError("the model has other labels than the result")
        differ = result.x[model.edges[:, 0]] != result.x[model.edges[:, 1]]
        fill = dict(enumerate(np.where(result.x, ONE, ZERO).tolist()))
        ax = signed_graph(model, ax, None, fill, differ == (model.weights > 0))
    proved = "optimal" if result.status == "optimal" else f"at most {result.bound:.6g}"
    ax.set_title(f"score {result.score:.6g}, {proved}")
    return ax


def root_choice(choice: RootChoice, uprooted: UprootedModel, ax: Axes | None = None) -> Axes:
    """Draw M+ with the root that was chosen, and why.

    Parameters
    ----------
    choice : RootChoice
    uprooted : UprootedModel
        What the root was chosen for.
    ax : Axes, optional

    Returns
    -------
    Axes
        The root is black, its partner dark grey; variables to be flipped are light grey, and a
        frustrated cycle that avoids the root has an amber ground.

    Examples
    --------
    >>> from mapreroot.roots import choose_root
    >>> uprooted = UprootedModel(4, [(0, 1), (1, 2), (2, 3), (1, 3)], [1, -1, -1, -1])
    >>> root_choice(choose_root(uprooted), uprooted).get_title()
    'root 1: balanced once 1 vertex is flipped'
    """
    fill = {choice.root: "black"}
    glow = None
    witness = choice.reason.replace("_", " ")
    if choice.switching is not None:
        flipped = np.flatnonzero(choice.switching).tolist()
        fill |= dict.fromkeys(flipped, "0.8")
        several = "1 vertex is" if len(flipped) == 1 else f"{len(flipped)} vertices are"
        witness = f"balanced once {several} flipped" if flipped else "balanced"
    elif choice.partner is not None:
        fill[choice.partner] = "0.35"
        witness = f"balanced without {uprooted.labels[choice.partner]} too"
    elif choice.frustrated_cycle is not None:
        cycle = choice.frustrated_cycle
        around = {frozenset(pair) for pair in zip(cycle, cycle[1:] + cycle[:1], strict=True)}
        glow = [frozenset(edge) in around for edge in uprooted.edges.tolist()]
        witness += ", with a frustrated cycle"
    ax = signed_graph(uprooted, ax, None, fill, glow)
    ax.set_title(plain(f"root {uprooted.labels[choice.root]}: {witness}"))
    return ax


def relaxed(relaxation: Relaxation, ax: Axes | None = None) -> Axes:
    """Draw an optimum of LOC or TRI, and where it is fractional.

    Parameters
    ----------
    relaxation : Relaxation
    ax : Axes, optional

    Returns
    -------
    Axes
        For LOC on an image, the pseudomarginals q as its pixels. Else the pairs of M+: grey where
        their ends are equal (d = 0), black where they differ (d = 1), amber between; of more than
        40 vertices, those with X0 are the colours of the others, and of more than 300 it is shown
        how many pairs have which d.

    Examples
    --------
    >>> from mapreroot.relax import relax
    >>> frustrated = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2, -2, -2])
    >>> relaxed(relax(frustrated, "loc")).get_title()
    'LOC at root X0: 3, not tight'
    """
    shape = grid_shape(relaxation.labels)
    half = (relaxation.d > _INTEGRAL) & (relaxation.d < 1 - _INTEGRAL)
    n_vertices = len(relaxation.labels) + 1
    if shape is not None and relaxation.q is not None:
        ax = _image(relaxation.q.reshape(shape), ax, "gray", (0, 1))
    elif n_vertices <= _DRAWN:
        ax = _pairs(relaxation, half, axes_for(ax))
    else:
        ax = axes_for(ax)
        ax.hist(relaxation.d, bins=21, range=(0, 1), color=ATTRACTIVE)
        ax.set(xlabel="d: its ends differ", ylabel="pairs")
    names = ("X0", *relaxation.labels)
    at = "" if relaxation.root is None else f" at root {names[relaxation.root]}"
    tight = {True: "tight", False: "not tight", None: "tightness not known"}[relaxation.is_tight]
    ax.set_title(plain(f"{relaxation.kind.upper()}{at}: {relaxation.bound:.6g}, {tight}"))
    return ax


def _pairs(relaxation: Relaxation, half: npt.NDArray[np.bool_], ax: Axes) -> Axes:
    from matplotlib.collections import LineCollection

    names = ("X0", *relaxation.labels)
    pairs = np.unique(np.sort(relaxation.pairs, axis=1), axis=0)
    points = place(UprootedModel(len(names), pairs, np.ones(len(pairs)), labels=names))
    one = ~half & (relaxation.d > 0.5)
    spokes = (relaxation.pairs == 0).any(axis=1) & (len(names) > _NAMED)
    for chosen, colour, width in ((~half & ~one, "0.75", 1.0), (one, ONE, 1.6), (half, GLOW, 3.0)):
        lines = list(points[relaxation.pairs[chosen & ~spokes]])
        ax.add_collection(LineCollection(lines, colors=colour, linewidths=width, zorder=1))
    if len(names) <= _NAMED:
        for v, ((x, y), name) in enumerate(zip(points.tolist(), names, strict=True)):
            box = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "0.2"}
            rooted = v == relaxation.root
            box |= {"facecolor": "black"} if rooted else {}
            colour = "white" if rooted else "black"
            ax.text(x, y, plain(str(name)), ha="center", va="center", fontsize=8, bbox=box,
                    color=colour, zorder=2)  # fmt: skip
    else:
        colours = np.full(len(names), ZERO, dtype="<U9")
        ends = relaxation.pairs[spokes].sum(axis=1)
        colours[ends] = np.select([half[spokes], one[spokes]], [GLOW, ONE], ZERO)
        ax.scatter(
            points[:, 0],
            points[:, 1],
            s=24,
            c=colours.tolist(),
            edgecolors="0.3",
            linewidths=0.6,
            zorder=2,
        )
        if relaxation.root is not None:
            ax.plot(*points[relaxation.root], "k*", markersize=13, zorder=3)
    ax.update_datalim(points)
    ax.set_aspect("equal")
    ax.margins(0.1)
    ax.autoscale_view()
    ax.set_axis_off()
    return ax


def probabilities(marginals: Marginals, ax: Axes | None = None) -> Axes:
    """Draw p(x_i = 1) of each variable: as the pixels of an image, or as bars from a half.

    Parameters
    ----------
    marginals : Marginals
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from mapreroot.marginals.inference import marginals
    >>> ax = probabilities(marginals(Model([0.0, 1.0], [(0, 1)], [2.0], labels=["a", "b"])))
    >>> [round(float(bar.get_y() + bar.get_height()), 2) for bar in ax.patches]
    [0.61, 0.73]
    """
    shape = grid_shape(marginals.labels)
    if shape is not None:
        ax = _image(marginals.p.reshape(shape), ax, "gray", (0, 1), "p(x = 1)")
    else:
        ax = axes_for(ax)
        up = marginals.p >= 0.5
        colours = np.where(up, ONE, "#9aa7b5").tolist()
        ax.bar(np.arange(len(up)), marginals.p - 0.5, bottom=0.5, color=colours)
        ax.axhline(0.5, color="0.5", linewidth=0.8)
        ax.set(ylim=(0, 1), ylabel="p(x = 1)")
        _label_variables(ax, marginals.labels)
    ax.set_title(marginals.method.replace("_", " ") + ("" if marginals.converged else ", stopped"))
    return ax


def margins(sure: MaxMarginals, ax: Axes | None = None) -> Axes:
    """Draw how sure each label is: as the pixels of an image, or as bars.

    Parameters
    ----------
    sure : MaxMarginals
    ax : Axes, optional

    Returns
    -------
    Axes
        Bars of variables at 1 are dark, at 0 light; hatched where the margin is only a bound. An
        infinite margin reaches to the top.

    Examples
    --------
    >>> from mapreroot.max_marginals import max_marginals
    >>> ax = margins(max_marginals(Model([0.5, -2], [(0, 1)], [1])))
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.0, 1.5]
    """
    shape = grid_shape(sure.labels)
    finite = sure.margin[np.isfinite(sure.margin)]
    top = float(finite.max(initial=0.0)) or 1.0
    if shape is not None:
        low = min(0.0, float(finite.min(initial=0.0)))
        shown = np.minimum(sure.margin, top).reshape(shape)
        ax = _image(shown, ax, "viridis", (low, top), "margin (nats)")
    else:
        ax = axes_for(ax)
        bars = ax.bar(
            np.arange(len(sure.x)),
            np.minimum(sure.margin, 1.1 * top),
            color=np.where(sure.x, ONE, "#9aa7b5").tolist(),
        )
        for bar, exact in zip(bars, sure.exact, strict=True):
            if not exact:
                bar.set(hatch="////", edgecolor="white")
        ax.set(ylabel="margin (nats)")
        _label_variables(ax, sure.labels)
    ax.set_title(f"score {sure.score:.6g}; {int(sure.exact.sum())} of {len(sure.x)} margins exact")
    return ax


def _image(
    values: Floats,
    ax: Axes | None,
    colours: str,
    limits: tuple[float, float],
    scale: str | None = None,
) -> Axes:
    ax = axes_for(ax)
    ax.set_facecolor("#e8c27a")  # what is not known is neither black nor white
    low, high = limits
    drawn = ax.imshow(values, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    if scale is not None:
        ax.figure.colorbar(drawn, ax=ax, label=scale)
    ax.set(xticks=[], yticks=[])
    return ax


def _nearly_square(n: int) -> tuple[int, int]:
    columns = max(1, int(np.ceil(np.sqrt(n))))
    return max(1, -(-n // columns)), columns


def _label_variables(ax: Axes, labels: Sequence[Hashable]) -> None:
    if len(labels) > _NAMED:
        ax.set_xlabel("variable")
        return
    names: list[Any] = [plain(str(label)) for label in labels]
    turned = 90 if sum(map(len, names)) > _NAMED else 0
    ax.set_xticks(range(len(names)), names, rotation=turned, fontsize=8)
