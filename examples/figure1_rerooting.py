"""Uprooting and rerooting in one picture, in the spirit of Figure 1 of Weller (2016).

A model M with fields becomes M+, where a new variable X0 carries the fields as edges; fixing X4
instead of X0 gives M_4, another model with the same scores. In this one all frustrated cycles of
M+ go through X4: M has them, M_4 does not. Weights are ours.

Run: python examples/figure1_rerooting.py [directory for the picture]
"""

import sys
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mapreroot as mr
from mapreroot.relaxations.declarative import loc, tri

THETA = [0.5, 0.0, -0.5, 1.5]
EDGES = {("X1", "X2"): 3, ("X2", "X3"): -3, ("X3", "X4"): 3, ("X1", "X4"): -4, ("X2", "X4"): 4}
PLACES = {"X0": (0.5, 1.6), "X1": (0, 1), "X2": (1, 1), "X3": (1, 0), "X4": (0, 0)}
ROOT = 4


def main(directory: Path) -> None:
    names = ["X1", "X2", "X3", "X4"]
    pairs = [(names.index(u), names.index(v)) for u, v in EDGES]
    model = mr.Model(THETA, pairs, list(EDGES.values()), labels=names)
    uprooted = mr.uproot(model)
    rerooted = uprooted.reroot(ROOT)

    print("M and M_4 agree on all 16 configurations, and so does M+ on both halves:")
    for x_rooted in product((0, 1), repeat=4):
        x = mr.restore_map(x_rooted, ROOT)  # Lemma 1
        y = np.insert(x, 0, 0)
        assert np.isclose(rerooted.score(x_rooted), model.score(x))
        assert model.score(x) == uprooted.score(y) == uprooted.score(1 - y)
    best = max(product((0, 1), repeat=4), key=model.score)
    print(f"  MAP of M: {dict(zip(names, best, strict=True))}, score {model.score(best)}")

    print(f"TRI {tri(uprooted).bound:.3f}, the same for all rootings; LOC by root:")
    for root in range(5):
        print(f"  M_{root}: {loc(uprooted, root).bound:.3f}")
    assert np.isclose(loc(uprooted, ROOT).bound, model.score(best))

    figure = Figure(figsize=(12, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    draw(left, model, "M")
    draw(middle, uprooted, "M+ (uprooted: fields are edges to X0)")
    draw(right, rerooted, "M_4 (rerooted: edges of X4 are fields)")
    figure.savefig(directory / "figure1_rerooting.png", dpi=100)


def draw(axes: Axes, model: mr.Model | mr.UprootedModel, title: str) -> None:
    """Draw attractive edges solid blue and repulsive ones dashed red, fields under the names."""
    theta = getattr(model, "theta", [None] * len(model.labels))
    names = {
        name: str(name) if field is None else f"{name}\n{field:+g}"
        for name, field in zip(model.labels, theta, strict=True)
    }
    graph = nx.Graph()
    graph.add_nodes_from(model.labels)
    for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True):
        graph.add_edge(model.labels[i], model.labels[j], W=f"{w:g}")
        colour, style = ("tab:blue", "solid") if w > 0 else ("tab:red", "dashed")
        ends = [(model.labels[i], model.labels[j])]
        nx.draw_networkx_edges(
            graph, PLACES, ends, width=1 + abs(w), edge_color=colour, style=style, ax=axes
        )
    nx.draw_networkx_nodes(
        graph, PLACES, node_size=1500, node_color="white", edgecolors="black", ax=axes
    )
    nx.draw_networkx_labels(graph, PLACES, names, font_size=9, ax=axes)
    nx.draw_networkx_edge_labels(graph, PLACES, nx.get_edge_attributes(graph, "W"), ax=axes)
    axes.set(title=title, xlim=(-0.3, 1.3), ylim=(-0.3, 1.9))
    axes.set_axis_off()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
