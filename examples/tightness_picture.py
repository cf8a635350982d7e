"""What LOC and TRI get wrong on a real grid, and where: two roots beside each other.

The model is a 10 x 10 grid whose borders are joined, with mixed signs (grid10x10.f10.wrap of the
UAI 2012 inference competition). Each picture shows an optimum of a relaxation: d_ij, "x_i and x_j
differ", is fractional on the orange edges; at an orange vertex the field's edge to X0 is. Around a
shaded square the values of d belong to no assignment, and to no mixture of assignments: they break
a cycle inequality. LOC keeps the triangles at its root and knows nothing of the squares; TRI keeps
all triangles, and here that is enough to leave nothing fractional.

Run: python examples/tightness_picture.py [directory for the picture]
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mapreroot import Model, read_model, relax, tightness
from mapreroot.relax import Relaxation

GRID = Path(__file__).parent / "data" / "grid10x10.uai"
SIDE = 10
FRACTIONAL, BROKEN = "#f08c00", "#e3e0ea"
SIGNS = {True: ("#2460b4", "solid"), False: ("#c2302e", (0, (3, 1.5)))}  # attractive, repulsive


def main(directory: Path) -> None:
    model = read_model(GRID)
    report = tightness(model, roots="all")
    variables = {r: value for r, value in report.loc_by_root.items() if r != 0}
    second = min(variables, key=variables.__getitem__)
    print(f"MAP score {report.score:.3f}, proved; {report.reason}.")

    figure = Figure(figsize=(12, 5.1), layout="constrained")
    shown = [
        ("LOC at X0", relax(model, "loc"), 0),
        (f"LOC at variable {model.labels[second - 1]}", relax(model, "loc", second), second),
        ("TRI, at every root", relax(model, "tri"), None),
    ]
    for axes, (name, relaxation, root) in zip(figure.subplots(1, 3), shown, strict=True):
        fractional, broken = draw(axes, model, relaxation, root)
        above = relaxation.bound - report.score
        gap = f"{above:.1f} above the MAP" if above > 1e-6 else "tight"
        axes.set_title(f"{name}\n{relaxation.bound:.1f}, {gap}")
        print(
            f"{name:<21} {relaxation.bound:9.3f}  {fractional:3} fractional edges of M+, "
            f"{broken:2} squares broken"
        )
    assert report.tri_tight
    assert not report.best_loc_tight
    figure.legend(handles=legend(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(directory / "tightness.png", dpi=100)


def draw(axes: Axes, model: Model, relaxation: Relaxation, root: int | None) -> tuple[int, int]:
    """Draw one relaxation's optimum; count its fractional edges and its broken squares."""
    d = {
        tuple(pair): value
        for pair, value in zip(relaxation.pairs.tolist(), relaxation.d, strict=True)
    }
    half = {pair for pair, value in d.items() if min(value, 1 - value) > 1e-6}

    broken = [at for at in product(range(SIDE), repeat=2) if not consistent(square(d, *at))]
    for row, column in broken:
        # A square across the border is seen in halves, one on each side.
        for y, x in product(
            {row, row - SIDE * (row == SIDE - 1)}, {column, column - SIDE * (column == SIDE - 1)}
        ):
            axes.fill([x, x + 1, x + 1, x], [y, y, y + 1, y + 1], color=BROKEN, linewidth=0)

    for (i, j), weight in zip((model.edges + 1).tolist(), model.weights, strict=True):
        (y1, x1), (y2, x2) = divmod(i - 1, SIDE), divmod(j - 1, SIDE)
        colour, style = SIGNS[bool(weight > 0)]
        line = {"color": colour, "linestyle": style, "linewidth": 1.0, "zorder": 1}
        if (i, j) in half:
            line |= {"color": FRACTIONAL, "linestyle": "solid", "linewidth": 3.5}
        if abs(x1 - x2) + abs(y1 - y2) == 1:
            axes.plot([x1, x2], [y1, y2], **line)
        else:
            across = np.sign([x2 - x1, y2 - y1]) / 2
            axes.plot([x1, x1 - across[0]], [y1, y1 - across[1]], **line)
            axes.plot([x2, x2 + across[0]], [y2, y2 + across[1]], **line)

    for v in range(1, model.n + 1):
        y, x = divmod(v - 1, SIDE)
        marker, size = ("*", 260) if v == root else ("o", 34)
        colour = FRACTIONAL if (0, v) in half else ("black" if d[0, v] > 0.5 else "white")
        axes.scatter(x, y, size, colour, marker=marker, edgecolors="0.2", linewidths=0.8, zorder=2)
    axes.set(xlim=(-0.5, SIDE - 0.5), ylim=(SIDE - 0.5, -0.5), aspect="equal")
    axes.set_axis_off()
    return len(half), len(broken)


def legend() -> list[Artist]:
    """Say what the colours mean."""
    (blue, solid), (red, dashed) = SIGNS[True], SIGNS[False]
    dot = {"marker": "o", "linestyle": "none", "markeredgecolor": "0.2"}
    return [
        Line2D([], [], color=blue, linestyle=solid, label="attractive"),
        Line2D([], [], color=red, linestyle=dashed, label="repulsive"),
        Line2D([], [], color="white", label="equal to X0", **dot),
        Line2D([], [], color="black", label="opposite", **dot),
        Line2D([], [], color=FRACTIONAL, linewidth=3.5, label="fractional", marker="o"),
        Patch(color=BROKEN, label="a square no mixture of assignments allows"),
    ]


def square(d: dict[tuple[int, ...], float], row: int, column: int) -> list[float]:
    """Give d on the four edges around a square of the grid."""
    right, below = (column + 1) % SIDE, (row + 1) % SIDE
    around = [(row, column), (row, right), (below, right), (below, column)]
    corners = [1 + y * SIDE + x for y, x in around]
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return [d[min(pair), max(pair)] for pair in pairs]


def consistent(values: list[float]) -> bool:
    """Check the cycle inequalities: d(F) - d(rest) <= |F| - 1, for every odd part F."""
    return all(
        sum(value - 1 if chosen else -value for value, chosen in zip(values, part, strict=True))
        <= -1 + 1e-6
        for part in product((False, True), repeat=len(values))
        if sum(part) % 2
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
