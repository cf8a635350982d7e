"""The exact sampler in a D-Wave program: which radio masts to switch on.

Masts that stand close together disturb each other; each has its value. This is a maximum weight
independent set, a binary quadratic model by dimod's own generator. RerootSampler takes the place
of an annealer: the same call, one sample, and in its info the proof that none is better.

Run: python examples/qubo_dwave_user.py [directory for the picture]
"""

import itertools
import sys
from pathlib import Path

import dimod
import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mapreroot.interop.dimod import RerootSampler

MASTS, REACH = 120, 0.13


def main(directory: Path) -> None:
    rng = np.random.default_rng(7)
    places = {f"mast {i}": place for i, place in enumerate(rng.random((MASTS, 2)))}
    values = {name: int(rng.integers(1, 10)) for name in places}
    close = nx.Graph()
    close.add_nodes_from(places)
    close.add_edges_from(
        (u, v)
        for u, v in itertools.combinations(places, 2)
        if np.linalg.norm(places[u] - places[v]) < REACH
    )
    bqm = dimod.generators.maximum_weight_independent_set(close.edges, values.items())
    print(f"{bqm.num_variables} masts, {bqm.num_interactions} pairs too close to each other")

    exact = RerootSampler().sample(bqm, time_limit=60, seed=1)
    greedy = [greedily(close, rng.permutation(list(places)).tolist()) for _ in range(1000)]
    energies = bqm.energies([{name: int(name in on) for name in places} for on in greedy])
    print(f"  best of 1000 random greedy choices: energy {energies.min():.0f}")
    print(f"  RerootSampler: energy {exact.first.energy:.0f}")
    print(f"  no sample has less than {exact.info['lower_bound']:.0f}: {exact.info['status']}")

    chosen = {name for name, on in exact.first.sample.items() if on}
    assert nx.is_empty(close.subgraph(chosen))
    assert exact.info["status"] == "optimal"
    print(f"  {len(chosen)} masts on, worth {sum(values[name] for name in chosen)}")

    # Composites work as over any sampler: here a term of three spins, made quadratic by dimod.
    cubic = dimod.BinaryPolynomial({"abc": -1, "ab": 0.5, "c": 0.25}, "SPIN")
    lowest = dimod.HigherOrderComposite(RerootSampler()).sample_poly(cubic, penalty_strength=5)
    print(f"A cubic term, through dimod's composite: energy {lowest.first.energy}")

    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw(left, close, places, values, chosen)
    right.hist(energies, bins=40, color="0.7", label="1000 random greedy choices")
    right.axvline(exact.first.energy, color="tab:blue", lw=3, label="RerootSampler")
    right.axvline(exact.info["lower_bound"], color="black", ls=":", label="its lower bound")
    right.set(title="Energies", xlabel="energy", ylabel="choices")
    right.legend(loc="upper right")
    figure.savefig(directory / "qubo_dwave_user.png", dpi=100)


def greedily(close: nx.Graph, order: list[str]) -> set[str]:
    """Switch masts on in this order, as long as they disturb none that is on."""
    on: set[str] = set()
    for name in order:
        if on.isdisjoint(close[name]):
            on.add(name)
    return on


def draw(
    axes: Axes,
    close: nx.Graph,
    places: dict[str, np.ndarray],
    values: dict[str, int],
    chosen: set[str],
) -> None:
    nx.draw_networkx_edges(close, places, edge_color="0.8", ax=axes)
    nx.draw_networkx_nodes(
        close,
        places,
        node_size=[12 * values[name] for name in close],
        node_color=["tab:blue" if name in chosen else "white" for name in close],
        edgecolors="0.3",
        ax=axes,
    )
    axes.set(title="Masts by value, those switched on in blue", aspect="equal")
    axes.set_axis_off()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
