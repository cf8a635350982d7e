"""Friends and enemies: the coalitions of sixteen tribes, and the fewest ties that spoil them.

A signed network is balanced if its members fall into two camps with friends inside and enemies
across. The frustration index counts the ties that are in the way at best. It is a MAP problem:
alliances attract, enmities repel, and each spoiled tie costs one. The network is that of the
Gahuku-Gama tribes of New Guinea (Read 1954), whose frustration index is 7 (Aref and Wilson,
Balance and frustration in signed networks, 2019). Here it is proved, and counted once more by
brute force.

Run: python examples/social_balance.py [directory for the picture]
"""

import csv
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import mapreroot as mr
from mapreroot.report.pictures import signed_graph

DATA = Path(__file__).parent / "data" / "highland_tribes.csv"
CAMPS = ("#cfe0f7", "#f7e3c0")


def main(directory: Path) -> None:
    model = network(DATA)
    enmities = int((model.weights < 0).sum())
    print(f"{model.n} tribes, {model.m - enmities} alliances, {enmities} enmities")

    result = mr.solve(model, certify=True)
    frustration = round(-result.score)
    assert result.status == "optimal"
    assert mr.verify(model, result.certificate)
    assert frustration == by_brute_force(model) == 7
    print(f"frustration index {frustration}, proved; certificate verified")
    others = mr.all_optima(model)
    print(f"ways to draw the two camps with it: {len(others.solutions) // 2}")

    i, j = model.edges.T
    spoiled = (result.x[i] != result.x[j]) == (model.weights > 0)
    for camp in (0, 1):
        print(f"  camp {camp + 1}: {', '.join(np.array(model.labels)[result.x == camp])}")
    for u, v, weight in zip(i[spoiled], j[spoiled], model.weights[spoiled], strict=True):
        tie = "allied across the camps" if weight > 0 else "enemies in one camp"
        print(f"  {model.labels[u]} and {model.labels[v]}: {tie}")

    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.add_subplot()
    fill = {v: CAMPS[side] for v, side in enumerate(result.x.tolist())}
    signed_graph(model, axes, places(result.x), fill, spoiled)
    axes.set_title(f"Two camps of the Gahuku-Gama; amber: the {frustration} ties that spoil them")
    ties = ["alliance (rova)", "enmity (hina)"]
    axes.legend(axes.collections[:2], ties, loc="lower left", frameon=False)
    figure.savefig(directory / "social_balance.png", dpi=80)


def network(path: Path) -> mr.Model:
    """Score minus one for each tie that is spoiled."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    ties = [(row["tribe"], row["other"], int(row["sign"])) for row in csv.DictReader(lines)]
    names = list(dict.fromkeys(name for *pair, _ in ties for name in pair))
    edges = [(names.index(u), names.index(v)) for u, v, _ in ties]
    signs = np.array([sign for *_, sign in ties])
    return mr.Model(np.zeros(len(names)), edges, 2.0 * signs, -(signs < 0).sum(), names)


def by_brute_force(model: mr.Model) -> int:
    """Count the spoiled ties of all divisions of the tribes, the last one always in camp 0."""
    x = np.arange(2 ** (model.n - 1))[:, None] >> np.arange(model.n) & 1
    differ = x[:, model.edges[:, 0]] != x[:, model.edges[:, 1]]
    return int((differ == (model.weights > 0)).sum(axis=1).min())


def places(x: np.ndarray) -> np.ndarray:
    """Each camp on a circle of its own."""
    at = np.zeros((len(x), 2))
    for camp in (0, 1):
        members = np.flatnonzero(x == camp)
        turn = 2 * np.pi * (np.arange(len(members)) + 0.5) / len(members)
        radius = 0.35 + 0.07 * len(members)
        at[members] = np.stack([radius * np.cos(turn) + 2.4 * camp, radius * np.sin(turn)], axis=1)
    return at


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
