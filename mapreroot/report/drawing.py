"""What all pictures share: colours, a place to draw, and names taken as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ATTRACTIVE", "GLOW", "REPULSIVE", "axes_for", "new_figure", "plain"]

ATTRACTIVE, REPULSIVE, GLOW = "#2460b4", "#c2302e", "#f0a30a"


def new_figure(width: float, height: float) -> Figure:
    """Make a figure that opens no window, or say how to get matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "pictures need matplotlib: pip install 'mapreroot[plot]'", name="matplotlib"
        ) from error
    return Figure(figsize=(width, height), layout="constrained")


def axes_for(ax: Axes | None, width: float = 5.6, height: float = 4.2) -> Axes:
    """Take the axes that were given, or those of a new figure."""
    return new_figure(width, height).add_subplot() if ax is None else ax


def plain(text: str) -> str:
    """Keep matplotlib from reading dollars in a name as mathematics."""
    return text.replace("$", r"\$")
