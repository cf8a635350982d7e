"""One cycle, two roots: the Bethe approximation before and after rerooting.

Weller (2016), section 5.3. A cycle with one repulsive edge is frustrated: its Bethe estimate of
log Z goes wrong without limit as the couplings grow. Here M+ has three cycles, and X1 lies on both
of those that are frustrated. Rerooted at X1 the model is one cycle that is attractive after
flips, with X0 on it as a variable, and there Bethe is within log 2 of log Z.

Run: python examples/single_cycle.py [directory for the picture]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from mapreroot import Model, uproot
from mapreroot.balance import balance, balancing_vertices
from mapreroot.marginals import log_partition


def frustrated_cycle(strength: float) -> Model:
    """Four variables in a cycle with one repulsive edge, and fields beside the first one."""
    edges = [(0, 1), (1, 2), (2, 3), (0, 3)]
    weights = [strength, strength, strength, -strength]
    return Model([0.0, strength / 8, 0.0, strength / 8], edges, weights)


def errors(strengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Errors of Bethe's log Z at the original root and at a balancing one."""
    root = balancing_vertices(uproot(frustrated_cycle(1.0)))[0]
    found = []
    for strength in strengths:
        model = frustrated_cycle(float(strength))
        exact = log_partition(model).value
        found.append([log_partition(model, "bethe", r).value - exact for r in (0, root)])
    original, rerooted = np.array(found).T
    return original, rerooted, root


def draw(strengths: np.ndarray, original: np.ndarray, rerooted: np.ndarray, path: Path) -> None:
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axis = figure.subplots()
    axis.plot(strengths, np.abs(original), "o-", markersize=3, label="M: frustrated")
    axis.plot(strengths, np.abs(rerooted), "d-", markersize=3, label="rerooted: balanced")
    axis.axhline(np.log(2), color="grey", linestyle=":", label="log 2")
    axis.set_xlabel("coupling")
    axis.set_ylabel("error of the Bethe log Z")
    axis.legend()
    figure.savefig(path, dpi=120)


def main(directory: Path) -> None:
    strengths = np.linspace(0.5, 40, 24)
    original, rerooted, root = errors(strengths)
    plus = uproot(frustrated_cycle(1.0))
    print("balanced at root 0:", balance(plus.reroot(0)).is_balanced)
    print(f"balanced at root {root}:", balance(plus.reroot(root)).is_balanced)
    print(f"{'coupling':>9} {'error at 0':>11} {f'error at {root}':>11}   (log 2 is 0.693)")
    for k in range(0, len(strengths), 4):
        print(f"{strengths[k]:9.2f} {original[k]:11.4f} {rerooted[k]:11.4f}")
    assert original[-1] > 5
    assert np.all((-np.log(2) - 1e-6 <= rerooted) & (rerooted <= 1e-6))
    draw(strengths, original, rerooted, directory / "single_cycle.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures")
