"""Seeded families of models: those of Weller (2016), section 6, and of the spin glass tests.

Every family is a function whose parameters all have defaults of their own type, so that a
command line can offer them; `FAMILIES` lists them by name. A seed gives the same model on every
platform. Parameters that mean the same everywhere:

couplings : {"uniform", "pm1", "gaussian"}
    W ~ U[-strength, strength], +-strength, or normal with deviation strength.
strength : float
    Scale of W, in nats (Wmax of the paper).
attractive : bool
    Take absolute values of the couplings.
fields : str or float
    theta: "none", "low" U[-.1, .1], "medium" U[-2, 2], "scaled" U[-strength/2, strength/2], or a
    number f (as text, too) for U[-f, f].
seed : int
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from mapreroot.errors import ModelError
from mapreroot.model import Model

__all__ = [
    "FAMILIES",
    "almost_balanced",
    "complete",
    "cube",
    "grid",
    "hidden_root",
    "image",
    "planted_grid",
    "planted_random",
    "three_regular",
    "torus",
    "tree",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def complete(
    n: int = 10,
    *,
    couplings: str = "uniform",
    strength: float = 2.0,
    attractive: bool = False,
    fields: str | float = "medium",
    seed: int = 0,
) -> Model:
    """Join all pairs of n variables.

    Examples
    --------
    >>> complete(4, fields="none").m
    6
    """
    _at_least("n", n, 0)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    return _model(n, edges, couplings, strength, attractive, fields, seed)


def torus(
    rows: int = 10,
    cols: int = 10,
    *,
    couplings: str = "gaussian",
    strength: float = 1.0,
    attractive: bool = False,
    fields: str | float = "none",
    seed: int = 0,
) -> Model:
    """Make a square lattice, rows x cols, that wraps around both ways.

    Examples
    --------
    >>> torus(3, 5).m
    30
    """
    edges = _lattice((rows, cols), wrap=True)
    return _model(rows * cols, edges, couplings, strength, attractive, fields, seed)


def cube(
    side: int = 5,
    *,
    couplings: str = "gaussian",
    strength: float = 1.0,
    attractive: bool = False,
    fields: str | float = "none",
    seed: int = 0,
) -> Model:
    """Make a cubic lattice, side x side x side, that wraps around all three ways.

    Examples
    --------
    >>> cube(3).m
    81
    """
    edges = _lattice((side, side, side), wrap=True)
    return _model(side**3, edges, couplings, strength, attractive, fields, seed)


def grid(
    rows: int = 10,
    cols: int = 10,
    *,
    couplings: str = "uniform",
    strength: float = 2.0,
    attractive: bool = False,
    fields: str | float = "medium",
    seed: int = 0,
) -> Model:
    """Make a square lattice, rows x cols, with a border.

    Examples
    --------
    >>> grid(3, 5).m
    22
    """
    edges = _lattice((rows, cols))
    return _model(rows * cols, edges, couplings, strength, attractive, fields, seed)


def image(
    rows: int = 50,
    cols: int = 50,
    *,
    repulsive: float = 0.05,
    strength: float = 2.0,
    fields: str | float = "medium",
    seed: int = 0,
) -> Model:
    """Make a nearly attractive grid, as from an image: a share of its edges is repulsive.

    Examples
    --------
    >>> int((image(10, 10).weights < 0).sum())
    9
    """
    if not 0 <= repulsive <= 1:
        raise ModelError(f"repulsive is {repulsive}: expected a share, 0 to 1")
    rng, edges = _generator(seed), _lattice((rows, cols))
    weights = _couplings(rng, len(edges), "uniform", strength, attractive=True)
    weights[rng.permutation(len(edges))[: round(repulsive * len(edges))]] *= -1
    return Model(_fields(rng, rows * cols, fields, strength), edges, weights)


def planted_grid(
    rows: int = 50,
    cols: int = 50,
    *,
    strength: float = 2.0,
    fields: str | float = "medium",
    seed: int = 0,
) -> Model:
    """Make a balanced grid with repulsive edges: an attractive one, switched at random.

    Examples
    --------
    >>> from mapreroot.balance import balance
    >>> balance(planted_grid(10, 10)).is_balanced
    True
    """
    rng, edges = _generator(seed), _lattice((rows, cols))
    weights = _planted(rng, rows * cols, edges, strength)
    return Model(_fields(rng, rows * cols, fields, strength), edges, weights)


def planted_random(
    n: int = 1000,
    *,
    degree: float = 4.0,
    strength: float = 2.0,
    fields: str | float = "medium",
    seed: int = 0,
) -> Model:
    """Make a balanced random graph of n * degree / 2 edges: attractive, switched at random.

    Examples
    --------
    >>> planted_random(100, degree=3).m
    150
    """
    rng = _generator(seed)
    edges = _random_pairs(rng, n, degree)
    weights = _planted(rng, n, edges, strength)
    return Model(_fields(rng, n, fields, strength), edges, weights)


def hidden_root(
    rows: int = 20,
    cols: int = 20,
    *,
    strength: float = 2.0,
    fields: str | float = "medium",
    seed: int = 0,
) -> Model:
    """Reroot an attractive grid with fields at its centre: balanced only at that vertex.

    The variable in the centre, rows // 2 * cols + cols // 2, plays X_0 of the grid: all edges
    that were fields meet there, and M+ without that vertex (one higher) is balanced.

    Examples
    --------
    >>> from mapreroot import uproot
    >>> from mapreroot.balance import balance, balancing_vertices
    >>> model = hidden_root(5, 5)
    >>> balance(model).is_balanced, balancing_vertices(uproot(model))
    (False, [13])
    """
    _at_least("rows", rows, 1)
    _at_least("cols", cols, 1)
    rng, edges = _generator(seed), _lattice((rows, cols))
    n, centre = rows * cols, rows // 2 * cols + cols // 2
    weights = _couplings(rng, len(edges), "uniform", strength, attractive=True)
    field = _fields(rng, n, fields, strength)
    # The centre and X_0 change places: edges at the centre become fields, and fields edges.
    at_centre = (edges == centre).any(axis=1)
    theta = np.zeros(n)
    theta[edges[at_centre].sum(axis=1) - centre] = -weights[at_centre] / 2
    theta[centre] = field[centre]
    others = np.delete(np.arange(n), centre)
    spokes = np.stack([np.full(n - 1, centre), others], axis=1)
    return Model(
        theta,
        np.concatenate([edges[~at_centre], spokes]),
        np.concatenate([weights[~at_centre], -2 * field[others]]),
    )


def almost_balanced(
    n: int = 1000,
    *,
    k: int = 2,
    degree: float = 4.0,
    strength: float = 2.0,
    fields: str | float = "none",
    seed: int = 0,
) -> Model:
    """Make a random graph whose M+ has k vertices that hit every frustrated cycle.

    Variables in random places are joined to all others, with any sign; the rest is balanced, of
    the mean degree given. With fields, X_0 is one of the k vertices.

    Examples
    --------
    >>> from mapreroot import uproot
    >>> from mapreroot.balance import balancing_set
    >>> len(balancing_set(uproot(almost_balanced(50, k=2)), 2))
    2
    """
    rng = _generator(seed)
    edges = _random_pairs(rng, n, degree)
    weights = _planted(rng, n, edges, strength)
    theta = _fields(rng, n, fields, strength)
    hubs = k - int(theta.any())
    if not 0 <= hubs <= n:
        raise ModelError(
            f"k is {k}: expected 0 to n = {n} without fields, and one more (for X_0) with fields"
        )
    hub = np.zeros(n, dtype=np.bool_)
    hub[rng.permutation(n)[:hubs]] = True
    rest = ~hub[edges].any(axis=1)
    from_hub, to = np.divmod(np.arange(hubs * n), max(n, 1))
    spokes = np.stack([np.flatnonzero(hub)[from_hub], to], axis=1)
    # Two hubs are joined once, from the lower one.
    spokes = spokes[~hub[to] | (spokes[:, 0] < to)]
    free = _couplings(rng, len(spokes), "uniform", strength, attractive=False)
    return Model(
        theta,
        np.concatenate([edges[rest], spokes]),
        np.concatenate([weights[rest], free]),
    )


def tree(
    n: int = 100,
    *,
    couplings: str = "uniform",
    strength: float = 2.0,
    attractive: bool = False,
    fields: str | float = "medium",
    seed: int = 0,
) -> Model:
    """Make a random recursive tree, its vertices in random order.

    Examples
    --------
    >>> tree(100).m
    99
    """
    _at_least("n", n, 0)
    place = _generator(seed, stream=1).permutation(n)
    child = np.arange(1, max(n, 1))
    parent = _generator(seed, stream=2).integers(0, child)
    edges = np.stack([place[parent], place[child]], axis=1)
    return _model(n, edges, couplings, strength, attractive, fields, seed)


def three_regular(
    n: int = 200,
    *,
    couplings: str = "uniform",
    strength: float = 2.0,
    attractive: bool = False,
    fields: str | float = "none",
    seed: int = 0,
) -> Model:
    """Make a random graph where every variable has three neighbours, drawn uniformly.

    Examples
    --------
    >>> three_regular(10).m
    15
    """
    if n < 4 or n % 2:
        raise ModelError(f"n is {n}: three neighbours each need an even n, 4 or more")
    rng = _generator(seed, stream=1)
    while True:  # one pairing in e^2 = 7.4 is simple, whatever n: keeping only those is uniform
        stubs = rng.permutation(3 * n).reshape(-1, 2) // 3
        low, high = stubs.min(axis=1), stubs.max(axis=1)
        if (low < high).all() and (np.diff(np.sort(low * n + high)) > 0).all():
            break
    edges = np.stack([low, high], axis=1)
    return _model(n, edges, couplings, strength, attractive, fields, seed)


FAMILIES: Mapping[str, Callable[..., Model]] = MappingProxyType(
    {
        "almost-balanced": almost_balanced,
        "complete": complete,
        "cube": cube,
        "grid": grid,
        "hidden-root": hidden_root,
        "image": image,
        "planted-grid": planted_grid,
        "planted-random": planted_random,
        "three-regular": three_regular,
        "torus": torus,
        "tree": tree,
    }
)
"""The families by the names of the command line."""


def _model(
    n: int,
    edges: Ints,
    couplings: str,
    strength: float,
    attractive: bool,
    fields: str | float,
    seed: int,
) -> Model:
    rng = _generator(seed)
    weights = _couplings(rng, len(edges), couplings, strength, attractive)
    return Model(_fields(rng, n, fields, strength), edges, weights)


def _generator(seed: int, stream: int = 0) -> np.random.Generator:
    """Name the bit generator: numpy's default may change. Streams are independent."""
    if seed < 0:
        raise ModelError(f"the seed is {seed}: expected 0 or more")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, stream))))


def _couplings(
    rng: np.random.Generator, m: int, kind: str, strength: float, attractive: bool
) -> Floats:
    if not 0 < strength < math.inf:
        raise ModelError(f"strength is {strength}: expected a positive number")
    if kind == "uniform":
        weights = strength * (1 - 2 * rng.random(m))
    elif kind == "pm1":
        weights = strength * _signs(rng, m)
    elif kind == "gaussian":
        weights = strength * rng.standard_normal(m)
    else:
        raise ModelError(f"couplings is {kind!r}: expected 'uniform', 'pm1' or 'gaussian'")
    return np.abs(weights) if attractive else weights


def _fields(rng: np.random.Generator, n: int, kind: str | float, strength: float) -> Floats:
    named = {"none": 0.0, "low": 0.1, "medium": 2.0, "scaled": strength / 2}
    try:
        reach = named[kind] if isinstance(kind, str) and kind in named else float(kind)
    except (TypeError, ValueError):
        reach = math.nan
    if not 0 <= reach < math.inf:
        raise ModelError(
            f"fields is {kind!r}: expected 'none', 'low', 'medium', 'scaled' or a number, 0 or more"
        )
    return reach * (2 * rng.random(n) - 1) if reach else np.zeros(n)


def _signs(rng: np.random.Generator, m: int) -> Floats:
    return (2 * rng.integers(0, 2, m) - 1).astype(np.float64)


def _planted(rng: np.random.Generator, n: int, edges: Ints, strength: float) -> Floats:
    """Attractive weights, then the sign changes of switching a random half of the vertices."""
    side = _signs(rng, n)
    weights = _couplings(rng, len(edges), "uniform", strength, attractive=True)
    return weights * side[edges[:, 0]] * side[edges[:, 1]]


def _lattice(shape: tuple[int, ...], wrap: bool = False) -> Ints:
    """List the neighbours in a box, vertices numbered row by row; sorted unless it wraps."""
    for size in shape:
        if wrap:
            _at_least("a side that wraps around", size, 3)  # less would double its edges
        else:
            _at_least("a side", size, 0)
    vertex = np.arange(math.prod(shape)).reshape(shape)
    ends, there = [], []
    for axis in reversed(range(len(shape))):  # nearest neighbour first, so that rows are sorted
        ends.append(np.roll(vertex, -1, axis))
        inside = np.ones(shape, dtype=np.bool_)
        if not wrap:
            inside[(slice(None),) * axis + (slice(-1, None),)] = False
        there.append(inside)
    keep = np.stack(there, axis=-1)
    low = np.broadcast_to(vertex[..., None], keep.shape)[keep]
    return np.stack([low, np.stack(ends, axis=-1)[keep]], axis=1)


def _random_pairs(rng: np.random.Generator, n: int, degree: float) -> Ints:
    """Draw n * degree / 2 distinct pairs."""
    _at_least("n", n, 0)
    if not 0 <= degree <= max(n - 1, 0):
        raise ModelError(f"degree is {degree}: expected 0 to n - 1 = {n - 1}")
    m = round(n * degree / 2)
    # Pair number p joins i = p mod n to the vertex p // n + 1 places after it, around a circle:
    # each of the n (n - 1) / 2 pairs has one number, also where n is even.
    number = rng.choice(n * (n - 1) // 2, m, replace=False, shuffle=False)
    gap, i = np.divmod(number, max(n, 1))
    return np.stack([i, (i + gap + 1) % max(n, 1)], axis=1)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ModelError(f"{name} is {value}: expected {least} or more")
