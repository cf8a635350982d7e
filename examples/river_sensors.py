"""A flood wave on the Rhine, followed report by report by an exact online engine.

The tree is the real one: 71 gauging stations on the Rhine and its tributaries, each joined to
the next one downstream (examples/data/rhine.csv). Each station's water is low, normal or high;
neighbours tend to agree, and sensors err. Every report is one update, after which any station's
probabilities are one query: both touch only the few clusters that hold the station.

Run: python examples/river_sensors.py [directory for the picture]
"""

import csv
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mapreroot.report.cover import cover_tree
from mapreroot.trees import OnlineSumProduct

LEVELS = ["low", "normal", "high"]
# How well the water at a station tells that at the next one: row this, column next.
NEXT = np.array([[0.93, 0.065, 0.005], [0.03, 0.94, 0.03], [0.005, 0.065, 0.93]])
PRIOR = np.array([0.2, 0.7, 0.1])  # where a river begins
# What a sensor says, given the water: row the water, column the report.
SENSOR = np.array([[0.90, 0.08, 0.02], [0.06, 0.88, 0.06], [0.02, 0.08, 0.90]])
REPORTS = [
    ("Basel", "normal"),
    ("Heidelberg", "normal"),
    ("Saarbrücken", "high"),
    ("Perl", "high"),
    ("Bonn", "low"),  # with a flood in the Mosel: a sensor at fault?
    ("Trier", "high"),
    ("Cochem", "high"),
    ("Andernach", "high"),
    ("Köln", "high"),
    ("Düsseldorf", "high"),
    ("Ruhrort", "high"),
    ("Wesel", "high"),
]
WATCHED = "Lobith"  # where the Rhine enters the Netherlands


def main(directory: Path) -> None:
    with open(Path(__file__).parent / "data" / "rhine.csv", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    names = [name for name, _, _ in rows]
    edges = [(names.index(name), names.index(to)) for name, _, to in rows if to]
    springs = set(range(len(names))) - {to for _, to in edges}
    data = np.array([PRIOR if v in springs else np.ones(3) for v in range(len(names))])
    tree = OnlineSumProduct(len(names), edges, NEXT, data)
    watched = names.index(WATCHED)
    high = LEVELS.index("high")

    print(f"{tree.n} stations, cover of height {tree.cover.height}")
    print(f"{'report':22s} P(high) there: before after   {WATCHED}: before after   surprise")
    for station, said in REPORTS:
        v, column = names.index(station), LEVELS.index(said)
        before, watched_before = tree.marginal(v)[high], tree.marginal(watched)[high]
        log_z = tree.log_partition
        tree.multiply(v, SENSOR[:, column])
        surprise = log_z - tree.log_partition  # minus the log-probability of this report
        print(
            f"{station + ' ' + said:22s} {before:22.3f} {tree.marginal(v)[high]:5.3f}"
            f" {watched_before:16.3f} {tree.marginal(watched)[high]:5.3f} {surprise:10.2f}"
        )
    draws = tree.sample(2000, seed=0)
    rhine = [names.index(name) for name, river, _ in rows if river == "Rhine"]
    print(f"high all the way from Andernach: {all_high(draws, names):.3f} of 2000 exact samples")
    print(f"most uncertain on the Rhine: {names[most_uncertain(tree, rhine)]}")

    figure = Figure(figsize=(15, 13), layout="constrained")
    network, cover = figure.subplots(2, 1, height_ratios=[1.4, 1])
    draw_network(network, names, edges, np.asarray(tree.marginals())[:, high])
    cover_tree(tree.cover, names.index("Cochem"), cover, names)
    cover.set_title("The cover: a report from Cochem recomputes the red clusters only")
    figure.savefig(directory / "river_sensors.png", dpi=75)


def all_high(draws: np.ndarray, names: list[str]) -> float:
    below = ["Andernach", "Bonn", "Köln", "Düsseldorf", "Ruhrort", "Wesel", "Rees", "Emmerich"]
    x = draws[:, [names.index(name) for name in below]]
    return float((x == LEVELS.index("high")).all(axis=1).mean())


def most_uncertain(tree: OnlineSumProduct, stations: list[int]) -> int:
    p = np.asarray(tree.marginal_many(stations))
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    return stations[int(entropy.argmax())]


def draw_network(ax: Axes, names: list[str], edges: list[tuple[int, int]], p: np.ndarray) -> None:
    """Place stations by how many follow downstream; the longest arm of each is straight."""
    arms: dict[int, list[int]] = {v: [] for v in range(len(names))}
    for u, v in edges:
        arms[v].append(u)
    x, y = np.zeros(len(names)), np.zeros(len(names))
    rows = 0

    def place(v: int) -> None:
        nonlocal rows
        upstream = sorted(arms[v], key=lambda u: length(u, arms))
        for u in upstream[0::2] + upstream[1::2][::-1]:  # the longest in the middle
            x[u] = x[v] - 1
            place(u)
        if upstream:
            y[v] = y[upstream[-1]]
        else:
            y[v], rows = rows, rows + 1

    place(len(names) - 1)  # the mouth
    for u, v in edges:
        ax.plot([x[u], x[v]], [y[u], y[v]], color="#9aa7b5", linewidth=1.5, zorder=1)
    dots = ax.scatter(x, y, c=p, cmap="YlOrRd", vmin=0, vmax=1, s=70, edgecolors="black", zorder=2)
    for name, place in zip(names, zip(x, y, strict=True), strict=True):
        ax.annotate(name, place, (0, 6), textcoords="offset points", fontsize=7, rotation=25)
    ax.figure.colorbar(dots, ax=ax, label="P(high) after all reports")
    ax.set_axis_off()


def length(v: int, arms: dict[int, list[int]]) -> int:
    return 1 + max((length(u, arms) for u in arms[v]), default=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures")
