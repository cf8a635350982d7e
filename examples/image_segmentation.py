"""Cut a shape out of an image by contrast: neighbours that differ repel each other.

The shape in examples/data/chameleon.pgm is darker than its ground on the left and brighter on the
right: no threshold finds it, and between two pixels only their contrast says something. Where it
is small they attract, where it is large they repel; a dot inside and the border of the image say
which side is which. Repulsive edges make the model frustrated, too hard for one minimum cut: LOC
leaves pixels open, TRI settles them and proves the answer.

Run: python examples/image_segmentation.py [directory for the picture]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mapreroot as mr

DATA = Path(__file__).parent / "data" / "chameleon.pgm"
INSIDE, SURE = (20, 40), 20.0  # the dot, and how sure it and the border are
NOISE, CONTRAST = 14.0, 40.0  # grey levels: of one pixel, and at which attraction ends


def main(directory: Path) -> None:
    image = read_pgm(DATA)
    theta = np.zeros(image.shape)
    theta[[0, -1], :] = theta[:, [0, -1]] = -SURE
    theta[INSIDE] = SURE
    right, down = coupling(np.diff(image, axis=1)), coupling(np.diff(image, axis=0))
    model = mr.Model.from_grid(theta, right, down)
    print(f"{model.n} pixels, {int((model.weights < 0).sum())} of {model.m} edges repel")
    assert not mr.balance(model).is_balanced

    loc = mr.relax(model, "loc")
    print(f"LOC leaves {model.n - len(loc.persistent)} pixels open")
    result = mr.solve(model)
    assert result.status == "optimal"
    print(f"best labels: score {result.score:.3f}, proved by {result.method}")
    x = result.x.reshape(image.shape)
    attractive = mr.Model.from_grid(theta, np.maximum(right, 0), np.maximum(down, 0))
    without = mr.solve(attractive).x.reshape(image.shape)
    print(f"inside the shape: {x.sum()} pixels; without repulsion only {without.sum()}")

    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    known = np.full(model.n, np.nan)
    for k, label in enumerate(model.labels):
        known[k] = loc.persistent.get(label, np.nan)
    titles = (
        ("the image", image),
        ("a threshold", image > 130),
        ("repulsion between neighbours", repulsion(right, down)),
        ("without repulsion: one minimum cut", without),
        (f"LOC: {int(np.isfinite(known).sum())} of {model.n} settled", known.reshape(x.shape)),
        ("the best labels, proved", x),
    )
    for ax, (title, values) in zip(axes, titles, strict=True):
        ax.set_facecolor("#e8c27a")  # not settled
        ax.imshow(values, cmap="Reds" if title.startswith("rep") else "gray")
        ax.set_title(title, fontsize=10)
        ax.set(xticks=[], yticks=[])
    axes[0].plot(*INSIDE[::-1], "o", color="#2460b4")
    axes[0].contour(x, [0.5], colors="#c2302e", linewidths=1)
    figure.savefig(directory / "image_segmentation.png", dpi=80)


def coupling(difference: np.ndarray) -> np.ndarray:
    """Log-odds that two pixels are on one side: those of a Gaussian against a wider one, cut."""
    return np.clip((CONTRAST**2 - difference**2) / (4 * NOISE**2), -4, 4)


def repulsion(right: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Sum up how much each pixel is repelled by its neighbours."""
    sums = np.zeros((down.shape[0] + 1, right.shape[1] + 1))
    for weights, ends in ((right, (sums[:, 1:], sums[:, :-1])), (down, (sums[1:], sums[:-1]))):
        for end in ends:
            end += np.maximum(-weights, 0)
    return sums


def read_pgm(path: Path) -> np.ndarray:
    """Read a plain (P2) grey image."""
    lines = [line.partition("#")[0] for line in path.read_text().splitlines()]
    kind, columns, rows, _, *values = " ".join(lines).split()
    assert kind == "P2"
    return np.array(values, dtype=float).reshape(int(rows), int(columns))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
