"""How sure is each label? Margins of a restored image beside its marginals.

A noisy black-and-white picture is restored by its best assignment. The max-marginals say, for
every pixel, how much score is lost at least if that pixel takes the other colour and all others
follow as is best: zero for a coin flip, large where the picture leaves no doubt. One maximum flow
answers for all pixels. Marginals p(x_i = 1) answer another question, how often the pixel is white
among all assignments weighed by exp(score).
Give a folder to save the picture there as a PNG.
"""

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mapreroot import Model, marginals, max_marginals

ROWS, COLUMNS = 16, 64
NOISE = 0.75


def drawing() -> npt.NDArray[np.int64]:
    """Draw a disc, a bar and a thin stroke."""
    row, column = np.mgrid[:ROWS, :COLUMNS]
    disc = (row - 7.5) ** 2 + (column - 10.5) ** 2 < 36
    bar = (np.abs(row - 7.5) < 3) & (np.abs(column - 32) < 6)
    stroke = np.abs((row - 8) + 0.5 * (column - 52)) < 0.9
    return (disc | bar | stroke).astype(np.int64)


def restored(seen: npt.NDArray[np.float64]) -> Model:
    """Fields from the likelihood of Gaussian noise around 0 and 1; neighbours attract."""
    theta = (seen - 0.5) / NOISE**2
    return Model.from_grid(
        theta, np.full((ROWS, COLUMNS - 1), 1.6), np.full((ROWS - 1, COLUMNS), 1.6)
    )


def main() -> None:
    truth = drawing()
    seen = truth + NOISE * np.random.default_rng(4).normal(size=truth.shape)
    model = restored(seen)
    result = max_marginals(model)
    assert result.exact.all()
    wrong = result.x.reshape(truth.shape) != truth
    margin = result.margin.reshape(truth.shape)
    p = marginals(model).p.reshape(truth.shape)
    print(f"{wrong.sum()} of {truth.size} pixels are restored wrongly")
    print(
        f"median margin of those {np.median(margin[wrong]):.2f}, of the others "
        f"{np.median(margin[~wrong]):.2f}"
    )
    for low, high in ((0, 0.5), (0.5, 1), (1, 2), (2, np.inf)):
        part = (margin >= low) & (margin < high)
        print(f"margin {low:3} to {high:3}: {part.sum():4} pixels, {wrong[part].mean():6.1%} wrong")
    differ = (p > 0.5) != result.x.reshape(truth.shape)
    print(f"the likelier value of {differ.sum()} pixels is not their value in the best picture")
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]) / "how_sure.png", seen, result.x.reshape(truth.shape), margin, p)


def draw(
    path: Path,
    seen: npt.NDArray[np.float64],
    best: npt.NDArray[np.int8],
    margin: npt.NDArray[np.float64],
    p: npt.NDArray[np.float64],
) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(4, 1, figsize=(7, 8), layout="constrained")
    panels = (
        ("seen", seen, "gray"),
        ("best assignment", best, "gray"),
        ("margin of each label (nats)", margin, "viridis"),
        ("marginal p(x = 1)", p, "gray"),
    )
    for axis, (title, values, colours) in zip(axes, panels, strict=True):
        image = axis.imshow(values, cmap=colours)
        axis.set_title(title, fontsize=10)
        axis.set_axis_off()
        if title.startswith("m"):
            figure.colorbar(image, ax=axis, fraction=0.02)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
