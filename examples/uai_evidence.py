"""A UAI file with evidence: what ten observations change in the most probable explanation.

The model is grid10x10.f10.wrap of the UAI 2012 inference competition, the observations are in
examples/data/grid10x10.evid: the ten variables of the diagonal, at the value that they do not have
in the best assignment. Reading with evidence conditions the model; scores stay those of the file.

Run: python examples/uai_evidence.py [directory for the picture]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import mapreroot as mr

DATA = Path(__file__).parent / "data"
SIDE = 10


def main(directory: Path) -> None:
    model = mr.read_model(DATA / "grid10x10.uai")
    before = mr.solve(model)
    print(f"no evidence: score {before.score:.3f}, {before.status}")

    conditioned = mr.read_model(DATA / "grid10x10.uai", evidence=DATA / "grid10x10.evid")
    observed = [label for label in model.labels if label not in conditioned.labels]
    seen = {label: 1 - before.assignment[label] for label in observed}  # as the file says
    sure = mr.max_marginals(conditioned)
    after = mr.solve(conditioned).extend(model, seen)
    assert after.score <= before.score
    print(f"{len(observed)} variables observed: score {after.score:.3f}, {after.status}")

    turned = [
        label for label in conditioned.labels if after.assignment[label] != before.assignment[label]
    ]
    print(f"of the other {conditioned.n} variables {len(turned)} change their value")
    least = min(sure.margins.items(), key=lambda item: item[1])
    print(f"the least certain is variable {least[0]}: the other value costs {least[1]:.3f} nats")

    margin = np.full(model.n, np.nan)
    margin[list(conditioned.labels)] = sure.margin
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    for axes, result, title in (
        (left, before, "Best assignment"),
        (middle, after, f"Given the diagonal (blue): {len(turned)} others turn (amber)"),
    ):
        axes.imshow(result.x.reshape(SIDE, SIDE), cmap="Greys", vmin=-0.3, vmax=1.6)
        axes.set_title(title, fontsize=10)
    for labels, colour in ((turned, "#e08a00"), (observed, "#2460b4")):
        for label in labels:
            row, column = divmod(label, SIDE)
            corner = column - 0.42, row - 0.42
            middle.add_patch(Rectangle(corner, 0.84, 0.84, fill=False, lw=2, edgecolor=colour))
    drawn = right.imshow(margin.reshape(SIDE, SIDE), cmap="viridis")
    right.set_title("How much the other value would cost (nats)", fontsize=10)
    figure.colorbar(drawn, ax=right, fraction=0.045)
    for axes in (left, middle, right):
        axes.set(xticks=[], yticks=[])
    figure.savefig(directory / "uai_evidence.png", dpi=80)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
