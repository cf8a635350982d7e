"""Why TRI is universally rooted: it is what LOC asks, at all roots at once.

The inequalities of LOC at a root are the triangles at that root. Those of TRI are all triangles:
no vertex is special, rerooting only renames the points, and the bound is the same at every root
(Weller 2016, Theorem 3). A point that is in LOC at every root is in TRI, and conversely; but the
best of the LOC bounds may still be weaker than TRI.

Run: python examples/polytopes_tri_is_universal.py [directory for the picture]
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mapreroot as mr
import polytopes as pt
from mapreroot.relaxations.declarative import loc, tri

N = 6
MODELS = 12


def main(directory: Path) -> None:
    everywhere = set().union(*(rows(*pt.rmet(N, root)) for root in range(N)))
    assert everywhere == rows(*pt.met(N))
    print(f"MET has {len(everywhere)} inequalities: those of RMET at all {N} roots together,")
    print(f"  {len(rows(*pt.rmet(N, 0)))} at each root and every triangle at three of them")

    rng = np.random.default_rng(1)
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    print("\nmodel    MAP    TRI (spread over roots)    LOC: best root ... worst root")
    for k in range(MODELS):
        W = -rng.uniform(1.0, 3.0, pt.n_pairs(N))  # all repulsive: much frustration
        uprooted = mr.UprootedModel(N, pt.pairs(N), W)
        best = max(uprooted.score([0, *x]) for x in product((0, 1), repeat=N - 1))
        triplet = [tri(mr.uproot(uprooted.reroot(root))).bound for root in range(N)]
        local = [loc(uprooted, root).bound for root in range(N)]
        assert np.ptp(triplet) < 1e-6
        assert best - 1e-6 <= triplet[0] <= min(local) + 1e-6
        print(
            f"{k:5}  {best:6.3f}  {triplet[0]:6.3f} ({np.ptp(triplet):.0e})"
            f"             {min(local):6.3f} (X{np.argmin(local)}) ... {max(local):6.3f}"
        )
        axes.scatter([k] * N, np.array(local) - best, color="tab:orange", zorder=2)
        axes.scatter([k], [triplet[0] - best], color="tab:blue", marker="_", s=300, zorder=3)
    axes.scatter([], [], color="tab:orange", label="LOC, one dot a root")
    axes.scatter([], [], color="tab:blue", marker="_", s=300, label="TRI, at every root")
    axes.set(xlabel="random model on 6 vertices", ylabel="bound minus MAP")
    axes.set_xticks(range(MODELS))
    axes.legend()
    figure.savefig(directory / "polytopes_tri_is_universal.png", dpi=100)


def rows(A: object, b: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(row) for row in np.column_stack([A.toarray(), b]).tolist()}


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
