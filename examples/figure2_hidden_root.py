"""A root that makes a frustrated model easy, in the spirit of Figure 2 of Weller (2016).

An attractive grid with fields is easy: one minimum cut. Rerooted at an inner vertex it still has
the same scores, but looks frustrated: the fields of the grid are now edges of one variable, some
of them repulsive. The vertex that hits all frustrated cycles of M+ gives the easy model back,
up to flips, and LOC is tight there and nowhere else.

Run: python examples/figure2_hidden_root.py [directory for the picture]
"""

import sys
from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mapreroot as mr
from mapreroot.balance import balance, balancing_vertices
from mapreroot.exact.enumeration import enumerate_map
from mapreroot.relaxations.declarative import loc, tri

ROWS, COLUMNS = 3, 4


def main(directory: Path) -> None:
    model, places = hidden_root()
    uprooted = mr.uproot(model)
    score = enumerate_map(uprooted).bound

    witness = balance(model).frustrated_cycle
    assert witness is not None
    cycle = "-".join(str(model.labels[i]) for i in witness)
    print(f"M is frustrated, for instance on the cycle {cycle}")
    (root,) = balancing_vertices(uprooted)
    rooted = uprooted.reroot(root)
    flips = balance(rooted).switching_set
    assert flips is not None
    print(f"Only {uprooted.labels[root]}, vertex {root} of M+, hits all frustrated cycles.")
    print(f"M_{root} is attractive once {len(flips)} of its variables are flipped.")

    bounds = [loc(uprooted, r).bound for r in range(uprooted.n_vertices)]
    triplet = tri(uprooted).bound
    tight = [r for r, bound in enumerate(bounds) if np.isclose(bound, score, atol=1e-6)]
    print(f"MAP {score:.3f}, TRI {triplet:.3f}, LOC of M {bounds[0]:.3f}")
    print(f"LOC is tight at root {root} only; over all roots it reaches {max(bounds):.3f}")
    assert tight == [root]

    figure = Figure(figsize=(13, 4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    draw(left, model, places, "M as given: frustrated")
    easy = mr.Model(
        np.where(np.isin(np.arange(rooted.n), list(flips)), -rooted.theta, rooted.theta),
        rooted.edges,
        rooted.weights * np.where(np.isin(rooted.edges, list(flips)), -1, 1).prod(axis=1),
        labels=rooted.labels,
    )
    assert (easy.weights > 0).all()
    draw(middle, easy, places, f"M_{root}, {len(flips)} variables flipped: attractive")
    right.bar(range(len(bounds)), np.array(bounds) - score, color="0.6")
    right.set(title="LOC minus MAP at every root of M+ (TRI: 0)", xlabel="root")
    right.set_xticks(range(len(bounds)), map(str, uprooted.labels))
    figure.savefig(directory / "figure2_hidden_root.png", dpi=100)


def hidden_root() -> tuple[mr.Model, dict[object, tuple[float, float]]]:
    """Reroot an attractive grid, some signs flipped, at vertex 5; say where to draw what."""
    rng = np.random.default_rng(6)
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(ROWS, COLUMNS))
    ends = np.array(grid.edges)
    sign = rng.choice([-1.0, 1.0], len(grid))
    easy = mr.Model(
        3 * rng.normal(size=len(grid)).round(1) * sign,
        ends,
        rng.uniform(1, 4, len(ends)).round(1) * sign[ends].prod(axis=1),
    )
    inner = mr.uproot(easy).reroot(5 + 1)
    # X0 of the grid is now a variable like any other, and vertex 5 will be the X0 of M+.
    labels = ["R", *inner.labels[1:]]
    places: dict[object, tuple[float, float]] = {
        v: (v % COLUMNS, -(v // COLUMNS)) for v in grid if v != 5
    }
    places |= {"R": (-0.8, 0.6), "X0": (5 % COLUMNS, -(5 // COLUMNS))}
    return mr.Model(inner.theta, inner.edges, inner.weights, labels=labels), places


def draw(
    axes: Axes, model: mr.Model, places: dict[object, tuple[float, float]], title: str
) -> None:
    """Draw attractive edges solid blue and repulsive ones dashed red; shade nodes by field."""
    graph = nx.Graph()
    graph.add_nodes_from(model.labels)
    for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True):
        colour, style = ("tab:blue", "solid") if w > 0 else ("tab:red", "dashed")
        ends = [(model.labels[i], model.labels[j])]
        graph.add_edges_from(ends)
        nx.draw_networkx_edges(
            graph, places, ends, width=0.5 + abs(w) / 2, edge_color=colour, style=style, ax=axes
        )
    nx.draw_networkx_nodes(
        graph,
        places,
        node_size=500,
        node_color=model.theta,
        cmap="PuOr",
        vmin=-6,
        vmax=6,
        edgecolors="black",
        ax=axes,
    )
    nx.draw_networkx_labels(graph, places, font_size=9, ax=axes)
    axes.set_title(title)
    axes.set_axis_off()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
