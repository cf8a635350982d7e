"""Four points: MET = CUT. Five points: sixteen fractional vertices, and what cuts them off.

On four points the triangle inequalities describe the cuts exactly. On five they leave
room for d = 2/3 on all pairs and its switchings; the pentagonal inequality sum d <= 6 and its
switchings remove these, and CUT_5 is then complete (Deza and Laurent 1997, chapters 28 and 30).

Run: python examples/polytopes_met4_met5.py [directory for the picture]
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from matplotlib.figure import Figure
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

import polytopes as pt


def main(directory: Path) -> None:
    four = corners(*pt.met(4))
    assert four == as_set(pt.cut_vertices(4))
    print(f"MET_4: all 64 directions of +-1 end in {len(four)} vertices, the cuts")

    cuts = as_set(pt.cut_vertices(5))
    thirds = [pt.switch(np.full(10, 2 / 3), (0, *y)) for y in product((0, 1), repeat=4)]
    switched = as_set(thirds)
    A, b = pt.met(5)
    for d in thirds:
        tight = A.toarray()[np.isclose(A @ d, b)]
        assert np.linalg.matrix_rank(tight) == 10  # so d is a vertex
    five = corners(A, b)
    assert five == cuts | switched
    print(f"MET_5: all 1024 directions of +-1 end in {len(five)} vertices: the {len(cuts)} cuts")
    print(f"  and the {len(switched)} switchings of 2/3 on all pairs")

    for d in thirds:
        (worst, *others) = pt.violated_hypermetric(d)
        assert worst.is_pentagonal
        assert not others
    print("Each of these breaks one pentagonal inequality, by 2/3. With all 16 of them added,")
    more, right = pt.pentagonal_inequalities(5)
    system = sp.csr_array(sp.vstack([A, more])), np.concatenate([b, right])
    assert corners(*system) == cuts
    print("  the same directions end in the cuts only")

    draw(directory / "polytopes_met4_met5.png")


def corners(A: sp.csr_array, b: np.ndarray) -> set[tuple[float, ...]]:
    """Maximise every direction of +-1 by the simplex method, and collect where that ends.

    Switching is a symmetry, and makes all signs at point 0 equal: one direction in 2^(N-1) will
    do, and its end is switched in all ways.
    """
    N = pt.n_points(A.shape[1])
    signs = product((1, -1), repeat=A.shape[1] - N + 1)
    found = [
        linprog([-1] * (N - 1) + list(c), A, b, bounds=(0, 1), method="highs-ds") for c in signs
    ]
    assert all(result.status == 0 for result in found)
    labellings = [(0, *y) for y in product((0, 1), repeat=N - 1)]
    return as_set([pt.switch(result.x, y) for result in found for y in labellings])


def as_set(points: np.ndarray | list[np.ndarray]) -> set[tuple[float, ...]]:
    return {tuple(point) for point in (np.array(points).round(6) + 0.0).tolist()}


def draw(path: Path) -> None:
    """Draw the symmetric part: s on the six pairs of 0..3, t on the four pairs of point 4.

    Averaging over the renamings of 0..3 keeps both polytopes, so this is a section and a
    shadow of them at once.
    """
    inner = (pt.pairs(5) < 4).all(axis=1)
    shadow = np.column_stack([inner / 6, ~inner / 4])
    A, b = pt.met(5)
    system = np.unique(np.column_stack([A @ np.column_stack([inner, ~inner]), -b]), axis=0)
    met = HalfspaceIntersection(system, np.array([0.4, 0.4])).intersections
    cut = pt.cut_vertices(5) @ shadow

    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    for points, colour, label in ((met, "tab:orange", "MET_5"), (cut, "tab:blue", "CUT_5")):
        hull = points[ConvexHull(points).vertices]
        axes.fill(*hull.T, color=colour, alpha=0.5, label=label)
    for y in product((0, 1), repeat=5):
        axes.plot(*(pt.switch(np.full(10, 2 / 3), y) @ shadow), "o", color="tab:orange")
    axes.plot(*cut.T, "o", color="tab:blue")
    axes.annotate("2/3 on all pairs", (2 / 3, 2 / 3), (0.69, 0.67))
    s = np.linspace(0.3, 0.8)
    axes.plot(s, (6 - 6 * s) / 4, "k--", label="pentagonal: 6s + 4t = 6")
    axes.set(xlabel="s: d on the pairs of 0..3", ylabel="t: d on the pairs of 4")
    axes.set(xlim=(-0.05, 0.95), ylim=(-0.05, 1.05))
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
