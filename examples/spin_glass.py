"""The ground state of a spin glass, proved, beside what a thousand quick descents find.

The instance is a 20 x 20 torus with Gaussian couplings (t2g20_5555 of the DIMACS torus set, as a
maximum cut). In the ground state the bonds that stay unsatisfied, amber, join frustrated squares
in pairs: that is why there must be some. The relaxation TRI proves that no state is better; LOC
does not come near from any root.

Run: python examples/spin_glass.py [directory for the picture]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import mapreroot as mr
from mapreroot.exact.local_search import improve

DATA = Path(__file__).parent / "data" / "spin_glass.mc"
SIDE, STARTS = 20, 1000


def main(directory: Path) -> None:
    model = mr.read_model(DATA)
    result = mr.solve(model)
    assert result.status == "optimal"
    assert result.score == 24838942  # the published optimum
    print(f"{model.n} spins: maximum cut {result.score:.0f}, proved by {result.method}")

    report = mr.tightness(model)
    print(f"TRI exceeds it by {report.tri - result.score:.3g}, LOC by at least ", end="")
    print(f"{(report.best_loc - result.score) / result.score:.0%} at every root")

    uprooted = mr.uproot(model)
    rng = np.random.default_rng(0)
    starts = rng.integers(0, 2, (STARTS, uprooted.n_vertices)).astype(np.int8)
    found = np.array([uprooted.score(improve(uprooted, y)) for y in starts])
    print(f"best of {STARTS} descents from random states: {found.max():.0f}")

    i, j = model.edges.T
    unsatisfied = (result.x[i] != result.x[j]) == (model.weights > 0)
    print(f"{unsatisfied.sum()} of {model.m} bonds are unsatisfied in the ground state")

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw(left, model, result.x, unsatisfied)
    right.hist(found / result.score, bins=40, color="0.7", label=f"{STARTS} descents")
    right.axvline(1, color="#2460b4", linewidth=3, label="ground state, proved by TRI")
    right.set(xlabel="cut, as a part of the maximum", ylabel="descents")
    right.legend(loc="upper left", frameon=False)
    figure.savefig(directory / "spin_glass.png", dpi=80)


def draw(axes: Axes, model: mr.Model, x: np.ndarray, unsatisfied: np.ndarray) -> None:
    """Draw spins as squares, and bonds between them; those across the border as stubs."""
    axes.imshow(x.reshape(SIDE, SIDE), cmap="Greys", vmin=-0.5, vmax=3)
    ends = np.stack([model.edges % SIDE, model.edges // SIDE], axis=2).astype(float)
    step = ends[:, 1] - ends[:, 0]
    step -= SIDE * np.round(step / SIDE)
    half = step[:, None] / 2
    for chosen, colour, width in ((~unsatisfied, "0.75", 0.6), (unsatisfied, "#e08a00", 2.4)):
        lines = [
            line
            for start, sign in ((ends[chosen, :1], 1), (ends[chosen, 1:], -1))
            for line in np.concatenate([start, start + sign * half[chosen]], axis=1)
        ]
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=width))
    axes.set(title="Ground state; amber: unsatisfied bonds", xlim=(-0.5, SIDE - 0.5))
    axes.set(ylim=(SIDE - 0.5, -0.5), xticks=[], yticks=[])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
