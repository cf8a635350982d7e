"""Why LOC is half-integral, and why it depends on the root.

All vertices of LOC on three variables are computed, by solving every choice of as many tight
inequalities as there are coordinates: they are 0, 1/2 or 1. The reason is that LOC is a minimum
cut in a doubled graph, where every variable has a second copy with the opposite label: when the
copies do not disagree, the variable is at 1/2. And the fractional vertices are not even
points of LOC at another root, whose triangles they break.

Run: python examples/polytopes_loc_is_rooted.py [directory for the picture]
"""

import sys
from itertools import combinations, product
from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.figure import Figure

import mapreroot as mr
import polytopes as pt
from mapreroot.relaxations.declarative import loc

N = 4  # X0, X1, X2, X3


def main(directory: Path) -> None:
    A, b = pt.rmet(N, root=0)
    vertices = all_vertices(A.toarray(), b)
    integral = [d for d in vertices if set(d.tolist()) <= {0.0, 1.0}]
    fractional = [d for d in vertices if not set(d.tolist()) <= {0.0, 1.0}]
    print(f"RMET of {N} points at root 0: {len(b)} inequalities, {len(vertices)} vertices,")
    print(f"  {len(integral)} cuts and {len(fractional)} others")
    assert len(integral) == len(pt.cut_vertices(N))
    assert set(np.unique(vertices).tolist()) == {0.0, 0.5, 1.0}
    print("  every coordinate is 0, 1/2 or 1 (half-integral)")

    rng = np.random.default_rng(0)
    for _ in range(20):
        uprooted = mr.UprootedModel(N, pt.pairs(N), rng.normal(size=pt.n_pairs(N)))
        value, q = best_in_the_doubled_graph(uprooted)
        relaxed = loc(uprooted)
        assert np.isclose(relaxed.bound, value, atol=1e-6)
        assert np.allclose(relaxed.q, q, atol=1e-6)
    print("20 random models: LOC is the best labelling of the doubled graph (all 64 were tried),")
    print("  and q is 1/2 exactly where the two copies of a variable agree\n")

    for root in range(1, N):
        A_r, b_r = pt.rmet(N, root)
        inside = sum((A_r @ d <= b_r + 1e-9).all() for d in fractional)
        print(f"Of the {len(fractional)} fractional vertices, {inside} lie in RMET at root {root}.")
    A_met, b_met = pt.met(N)
    inside = sum((A_met @ d <= b_met + 1e-9).all() for d in fractional)
    print(f"In all of them, that is in MET (TRI): {inside}.")

    worst = max(fractional, key=lambda d: ((A_met @ d - b_met).max(), d.sum()))
    row = int(np.argmax(A_met @ worst - b_met))
    i, j, k = pt.triples(N)[row // 4]
    assert i != 0
    print(f"The vertex with d = {worst.tolist()} breaks a triangle {i}{j}{k} that no")
    print("inequality at root 0 sees.")
    draw(worst, directory / "polytopes_loc_is_rooted.png")


def all_vertices(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve every square subsystem, and keep the solutions that meet all inequalities."""
    choices = np.array(list(combinations(range(len(b)), A.shape[1])))
    systems = A[choices]
    regular = np.abs(np.linalg.det(systems)) > 1e-9
    points = np.linalg.solve(systems[regular], b[choices[regular]][..., None])[..., 0]
    feasible = points[(points @ A.T <= b + 1e-9).all(axis=1)]
    return np.unique(feasible.round(9) + 0.0, axis=0)


def best_in_the_doubled_graph(uprooted: mr.UprootedModel) -> tuple[float, np.ndarray]:
    """Label v and its copy v' for every v, with y_0 = 0 and y_0' = 1.

    An attractive edge uv joins u to v and u' to v', a repulsive one u to v' and u' to v, each
    costing |W| / 4 when its ends differ. All labels opposite, this is the score of y.
    """
    i, j = uprooted.edges.T
    W = uprooted.weights
    offset = uprooted.constant - W[W < 0].sum() / 2
    best = (-np.inf, np.zeros(N - 1))
    for labels in product((0, 1), repeat=2 * (N - 1)):
        y = np.array([0, *labels[: N - 1]])
        copy = np.array([1, *labels[N - 1 :]])
        straight = (y[i] != y[j]).astype(int) + (copy[i] != copy[j])
        crossed = (y[i] != copy[j]).astype(int) + (copy[i] != y[j])
        value = offset - np.abs(W) @ np.where(W > 0, straight, crossed) / 4
        if value > best[0]:
            best = (value, (y + 1 - copy)[1:] / 2)
    return best


def draw(d: np.ndarray, path: Path) -> None:
    figure = Figure(figsize=(9, 4), layout="constrained")
    places = {0: (0, 0), 1: (-1, -0.7), 2: (1, -0.7), 3: (0, 1.1)}
    for axes, root in zip(figure.subplots(1, 2), (0, 1), strict=True):
        graph = nx.complete_graph(N)
        values = {(i, j): d[pt.index_of_pair(i, j, N)] for i, j in graph.edges}
        colours = ["tab:orange" if v == 0.5 else "black" if v else "0.8" for v in values.values()]
        nx.draw(
            graph,
            places,
            ax=axes,
            edge_color=colours,
            width=3,
            node_color=["gold" if v == root else "white" for v in graph],
            edgecolors="black",
            node_size=700,
            labels={v: f"X{v}" for v in graph},
        )
        nx.draw_networkx_edge_labels(
            graph, places, {e: f"{v:g}" for e, v in values.items()}, ax=axes
        )
        A, b = pt.rmet(N, root)
        excess = (A @ d - b).max()
        says = "a vertex" if excess < 1e-9 else f"cut off: a triangle is {excess:g} too long"
        axes.set_title(f"LOC at root X{root}: {says}")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
