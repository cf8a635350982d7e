"""The two correspondences behind rerooting, in the spirit of Table 1 of Weller (2016).

Configurations: each x of M is a pair {y, 1 - y} of M+, and one configuration of every M_i, all
with the same score. Polytopes: what is relaxed in pseudomarginals at a root is, in the
coordinates "the ends differ", a polytope of cuts or metrics on the vertices of M+.

Run: python examples/table1_correspondence.py [directory for the picture]
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mapreroot as mr
import polytopes as pt
from mapreroot.relaxations.declarative import loc, tri

MODEL = mr.Model([-1.0, 1.0, 1.0], [(0, 1), (1, 2), (0, 2)], [3.0, -4.0, 4.0])


def main(directory: Path) -> None:
    rows = configurations()
    names = ["M = M_0", "M+", "M_1", "M_2", "M_3", "score"]
    print("Every row is one configuration, seen from each root:")
    print("  ".join(f"{name:>9}" for name in names))
    for row in rows:
        print("  ".join(f"{cell:>9}" for cell in row))
    print("\nPolytopes for n = 3 variables, and the bound that each gives on the score above:")
    for row in correspondence():
        print("  {:<24}{:<26}{:>16}  {}".format(*row))

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    table = axes.table(rows, colLabels=names, loc="center", cellLoc="center")
    table.scale(1, 1.4)
    best = max(float(row[-1]) for row in rows)
    for k, row in enumerate(rows):
        if float(row[-1]) == best:
            for column in range(len(names)):
                table[k + 1, column].set_facecolor("palegreen")
    figure.savefig(directory / "table1_correspondence.png", dpi=100)


def configurations() -> list[list[str]]:
    """List the configurations of M, and where each is found in M+ and the rerooted models."""
    uprooted = mr.uproot(MODEL)
    rerooted = [uprooted.reroot(root) for root in range(4)]
    rows = []
    for x in product((0, 1), repeat=3):
        y = np.array([0, *x])
        cells, scores = [], [uprooted.score(y), uprooted.score(1 - y)]
        for root, model in enumerate(rerooted):
            x_rooted = np.delete(y ^ y[root], root)
            assert tuple(mr.restore_map(x_rooted, root)) == x  # Lemma 1
            scores.append(model.score(x_rooted))
            cells.append(bits(x_rooted))
        assert np.ptp(scores) < 1e-12
        cells.insert(1, f"{bits(y)} {bits(1 - y)}")
        rows.append([*cells, f"{scores[0]:+g}"])
    return rows


def correspondence() -> list[tuple[str, str, str, str]]:
    """Name each polytope in both worlds, count its inequalities, and optimise over it."""
    uprooted = mr.uproot(MODEL)
    best = max(MODEL.score(x) for x in product((0, 1), repeat=3))
    by_root = ", ".join(f"{loc(uprooted, root).bound:.2f}" for root in range(4))
    # The covariance map at each root turns one description into the other, row by row.
    for root in range(4):
        back = pt.inverse_covariance_map(4, root)
        assert same_rows((pt.rmet(4, root)[0] @ back).toarray(), pt.loc(3)[0].toarray())
        assert same_rows((pt.met(4)[0] @ back).toarray(), pt.tri(3)[0].toarray())
    return [
        ("local LOC", "rooted semimetrics RMET", count(pt.rmet(4, 0)), f"{by_root} (by root)"),
        (
            "triplet-consistent TRI",
            "semimetrics MET",
            count(pt.met(4)),
            f"{tri(uprooted).bound:.2f}",
        ),
        ("marginal", "cuts CUT", f"{len(pt.cut_vertices(4))} vertices", f"{best:.2f}"),
    ]


def same_rows(A: np.ndarray, B: np.ndarray) -> bool:
    def directions(rows: np.ndarray) -> set[tuple[float, ...]]:
        return {tuple(row) for row in (rows / np.abs(rows).max(axis=1, keepdims=True)).tolist()}

    return directions(A) == directions(B)


def count(inequalities: tuple[object, np.ndarray]) -> str:
    return f"{len(inequalities[1])} inequalities"


def bits(x: np.ndarray) -> str:
    return "".join(map(str, x))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
