"""Clamping variables one by one, and the one that is free.

Conditioning M+ on one vertex is free: every root gives a model of the same log Z. Each further
variable that is clamped doubles the number of models to run. On complete graphs with random
couplings the mean error of log Z, and of LOC as a bound on the best score, falls with every
variable clamped. Choosing the free one like the others, instead of leaving it at the added vertex
(the model as it is given), is worth about one more clamped variable (Weller 2016, section 7).
Give a folder to save the picture there as a PNG.
"""

import itertools
import sys
from pathlib import Path

import numpy as np

from mapreroot import Model, clamp_and_reroot, log_partition, solve

VARIABLES = 9
DRAWS = 12
CLAMPED = range(5)
METHODS = ("bethe", "trw", "mean_field")


def draw_model(seed: int) -> Model:
    """Draw a complete graph with mixed couplings and weak fields."""
    rng = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(VARIABLES), 2))
    return Model(rng.uniform(-0.5, 0.5, VARIABLES), pairs, rng.uniform(-4, 4, len(pairs)))


def errors(model: Model, clamped: int, reroot: bool) -> list[float]:
    """Errors of log Z by each method, and the gap of LOC."""
    clamping = clamp_and_reroot(model, clamped + 1, reroot=reroot)
    exact = log_partition(model).value
    found = [abs(clamping.log_partition(method).value - exact) for method in METHODS]
    return [*found, clamping.solve("loc").bound - solve(model).score]


def main() -> None:
    mean = {}
    for reroot, clamped in itertools.product((False, True), CLAMPED):
        rows = [errors(draw_model(seed), clamped, reroot) for seed in range(DRAWS)]
        mean[reroot, clamped] = np.mean(rows, axis=0)
    print(f"mean error over {DRAWS} models of {VARIABLES} variables")
    print("clamped  free one      " + "".join(f"{name:>12}" for name in (*METHODS, "LOC gap")))
    for (reroot, clamped), row in mean.items():
        free = "chosen" if reroot else "added vertex"
        print(f"{clamped:7}  {free:14}" + "".join(f"{value:12.4f}" for value in row))
    for reroot in (False, True):  # every series of clamps helps TRW and LOC
        series = np.array([mean[reroot, clamped] for clamped in CLAMPED])
        assert (np.diff(series[:, [1, 3]], axis=0) <= 1e-9).all()
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]) / "clamping.png", mean)


def draw(path: Path, mean: dict[tuple[bool, int], np.ndarray]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    titles = (
        "Bethe: error of log Z",
        "TRW: error of log Z",
        "mean field: error of log Z",
        "LOC - MAP",
    )
    for k, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        for reroot, mark, name in (
            (False, "o--", "free: added vertex"),
            (True, "d-", "free: chosen"),
        ):
            axis.plot(CLAMPED, [mean[reroot, c][k] for c in CLAMPED], mark, label=name)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("clamped variables")
        axis.set_xticks(list(CLAMPED))
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
