"""When are cycles enough? K5 minors in a grid (none), K5 and the Petersen graph.

On the edges of a graph, the cycle inequalities describe the cuts iff the graph has no K5 minor
(Barahona and Mahjoub 1986): then the relaxation TRI is tight whatever the weights. Here the
inequalities are found one round at a time by shortest paths, and the bound is compared with
the best cut. With a K5 minor some weights leave a gap, not all: the Petersen graph is tight at
equal weights, but pulling its spokes together makes it K5.

Run: python examples/polytopes_k5_minors.py [directory for the picture]
"""

import sys
from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import linprog

import polytopes as pt


def main(directory: Path) -> None:
    rng = np.random.default_rng(0)
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    complete, petersen = nx.complete_graph(5), nx.petersen_graph()
    places = {v: (v % 4, -(v // 4)) for v in grid}
    shell = nx.shell_layout(petersen, [range(5, 10), range(5)], rotate=0)
    # The spokes of the Petersen graph join i to i + 5; -9 on them forces both ends together.
    spokes = np.array([-9.0 if j == i + 5 else 1.0 for i, j in petersen.edges])
    cases = [
        ("grid, random weights", grid, rng.normal(size=grid.number_of_edges()), places),
        ("K5, weights 1", complete, np.ones(10), nx.circular_layout(complete)),
        ("Petersen, all weights 1", petersen, np.ones(15), shell),
        ("Petersen, spokes -9", petersen, spokes, shell),
    ]
    figure = Figure(figsize=(15, 4), layout="constrained")
    for axes, (name, graph, w, place) in zip(figure.subplots(1, 4), cases, strict=True):
        d, rounds, cycles = cycle_relaxation(graph, w)
        ends = np.array(graph.edges)
        N = len(graph)
        cuts = pt.cut_vertices(N)[:, pt.index_of_pair(ends[:, 0], ends[:, 1], N)]
        bound, best = float(w @ d), float((cuts @ w).max())
        says = "tight" if np.isclose(bound, best) else "not tight"
        print(f"{name}: cycles {bound:.4f}, best cut {best:.4f}: {says}")
        print(f"  {cycles} cycle inequalities in {rounds} rounds; d takes the values", end=" ")
        print(", ".join(f"{v:.3g}" for v in np.unique(d.round(6) + 0.0)))
        draw(axes, graph, d, place, f"{name}\ncycles {bound:.3g}, best cut {best:.3g}")
    figure.savefig(directory / "polytopes_k5_minors.png", dpi=100)


def cycle_relaxation(graph: nx.Graph, w: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Maximise w d, adding violated cycle inequalities until there are none."""
    edges = list(graph.edges)
    rows: list[np.ndarray] = []
    right: list[float] = []
    rounds = 0
    while True:
        rounds += 1
        limits = {"A_ub": np.array(rows), "b_ub": right} if rows else {}
        result = linprog(-w, bounds=(0, 1), method="highs-ds", **limits)
        assert result.status == 0, result.message
        violated = pt.violated_cycles(len(graph), edges, result.x, tolerance=1e-7)
        if not violated:
            return result.x, rounds, len(rows)
        for cut in violated:
            row = np.zeros(len(edges))
            row[list(cut.edges)] = -1.0
            row[list(cut.odd)] = 1.0
            rows.append(row)
            right.append(len(cut.odd) - 1.0)


def draw(axes: Axes, graph: nx.Graph, d: np.ndarray, places: dict, title: str) -> None:
    """Cut edges black, uncut ones grey, fractional ones orange with their d."""
    fractional = (d > 1e-6) & (d < 1 - 1e-6)
    nx.draw(
        graph,
        places,
        ax=axes,
        node_size=150,
        node_color="white",
        edgecolors="black",
        width=2.5,
        edge_color=np.where(fractional, "tab:orange", np.where(d > 0.5, "black", "0.8")).tolist(),
    )
    shown = {e: f"{v:.2g}" for e, v, f in zip(graph.edges, d, fractional, strict=True) if f}
    nx.draw_networkx_edge_labels(graph, places, shown, ax=axes, font_size=8)
    axes.set_title(title)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
