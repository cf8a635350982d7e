"""log Z of a ferromagnet too wide for exact inference, with an error bar and certified bounds.

On an attractive grid with fields of one sign M+ is balanced, and Jerrum and Sinclair's walk on
subgraphs estimates log Z in polynomial time, at any size. Up to some 20 x 20 elimination gives
the exact value to compare with. TRW and mean field enclose it (`bounds`), and Bethe comes close
from below, but none of them says how close.
Give a folder to save the picture there as a PNG.
"""

import sys
from pathlib import Path

import numpy as np

from mapreroot import Model, bounds, estimate_log_partition, log_partition

COUPLINGS = (0.5, 1.0, 1.5, 2.0, 2.5)  # the infinite grid is critical at 2 log(1 + sqrt 2) = 1.76
EXACT, WIDE = 12, 26


def ferromagnet(size: int, coupling: float) -> Model:
    """Build a grid of equal couplings, with a weak field."""
    theta = np.full((size, size), 0.02)
    right, down = np.full((size, size - 1), coupling), np.full((size - 1, size), coupling)
    return Model.from_grid(theta, right, down)


def main() -> None:
    rows = []
    print("log Z per variable; the estimate with its standard error")
    for coupling in COUPLINGS:
        model = ferromagnet(EXACT, coupling)
        exact = log_partition(model).value
        estimate = estimate_log_partition(model, samples=100)
        sides = bounds(model, [0])
        rows.append([estimate.value, estimate.standard_error, sides.lower, sides.upper, exact])
        print(
            f"{EXACT} x {EXACT}, coupling {coupling}: exact {exact / model.n:.5f}, "
            f"estimate {estimate.value / model.n:.5f} +- {estimate.standard_error / model.n:.5f}, "
            f"in [{sides.lower / model.n:.4f}, {sides.upper / model.n:.4f}] "
            f"({sides.lower_method}, {sides.upper_method})"
        )
        assert abs(estimate.value - exact) < 5 * estimate.standard_error
        assert sides.lower - 1e-6 <= exact <= sides.upper + 1e-6
    model = ferromagnet(WIDE, 1.76)
    wide = estimate_log_partition(model, samples=60)
    print(
        f"{WIDE} x {WIDE}, coupling 1.76: estimate {wide.value / model.n:.5f} +- "
        f"{wide.standard_error / model.n:.5f} from {wide.effective_samples:.0f} effective samples"
    )
    if len(sys.argv) > 1:
        draw(Path(sys.argv[1]) / "ferromagnet.png", np.array(rows))


def draw(path: Path, rows: np.ndarray) -> None:
    import matplotlib.pyplot as plt

    estimate, error, lower, upper, exact = rows.T
    figure, axis = plt.subplots(figsize=(5, 3.4), layout="constrained")
    axis.fill_between(COUPLINGS, lower - exact, upper - exact, alpha=0.2, label="certified bounds")
    axis.errorbar(
        COUPLINGS, estimate - exact, 2 * error, fmt="d", capsize=3, label="estimate, 2 s.e."
    )
    axis.axhline(0, color="grey", linestyle=":")
    axis.set_xlabel("coupling")
    axis.set_ylabel(f"log Z of a {EXACT} x {EXACT} grid, less exact")
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
