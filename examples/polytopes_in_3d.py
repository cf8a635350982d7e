"""Marginal polytopes one can look at.

Two variables: (q1, q2, q12) of all distributions fill a tetrahedron, which is LOC as well, for
one edge has no cycle. Three variables with every q_i = 1/2: LOC lets the three d_ij fill
the whole cube, of which the marginal polytope (here TRI) is an inscribed tetrahedron again; what
is cut away is the four fractional corners, one for each triangle inequality.

Run: python examples/polytopes_in_3d.py [directory for the picture]
"""

import sys
from itertools import combinations, product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

import polytopes as pt


def main(directory: Path) -> None:
    two = np.array([[x1, x2, x1 * x2] for x1, x2 in product((0.0, 1.0), repeat=2)])
    A, b = pt.loc(2)
    slack = b - two @ A.T
    print("Two variables: the 4 vertices (q1, q2, q12), and how far each is from LOC's 4 facets:")
    for point, distance in zip(two, slack, strict=True):
        print(f"  {point}  {distance + 0.0}")
    assert (slack >= 0).all()
    assert ((slack == 0).sum(axis=1) == 3).all()  # a tetrahedron: LOC is the marginal polytope

    A, b = pt.loc(3)
    T, t = pt.tri(3)
    corners = np.array(list(product((0.0, 1.0), repeat=3)))
    print("\nThree variables, all q_i = 1/2: the corners of the cube of (d12, d13, d23)")
    inside = []
    for corner in corners:
        mu = pt.to_correlation([0.5, 0.5, 0.5, *corner])
        assert (A @ mu <= b).all()
        inside.append(bool((T @ mu <= t).all()))
        print(f"  {corner}: in LOC, {'a mixture of x and 1 - x' if inside[-1] else 'not in TRI'}")
    assert sum(inside) == 4

    figure = Figure(figsize=(10, 5), layout="constrained")
    left: Axes3D = figure.add_subplot(1, 2, 1, projection="3d")
    tetrahedron(left, two)
    left.set(xlabel="q1", ylabel="q2", zlabel="q12")
    left.set_title("Two variables: LOC = marginal polytope")
    left.view_init(elev=18, azim=-65)
    right: Axes3D = figure.add_subplot(1, 2, 2, projection="3d")
    sides = [(p, q) for p, q in combinations(corners, 2) if np.abs(p - q).sum() == 1]
    right.add_collection3d(Line3DCollection(sides, colors="tab:orange", linewidths=1.5))
    right.scatter(*corners[~np.array(inside)].T, color="tab:orange", s=40, depthshade=False)
    tetrahedron(right, corners[inside])
    right.set(xlabel="d12", ylabel="d13", zlabel="d23")
    right.set_title("Three, at q = 1/2: LOC = cube")
    right.view_init(elev=20, azim=-55)
    figure.savefig(directory / "polytopes_in_3d.png", dpi=100)


def tetrahedron(axes: Axes3D, corners: np.ndarray) -> None:
    faces = [corners[list(face)] for face in combinations(range(4), 3)]
    axes.add_collection3d(
        Poly3DCollection(faces, alpha=0.35, facecolor="tab:blue", edgecolor="navy")
    )
    axes.scatter(*corners.T, color="navy", s=40, depthshade=False)
    axes.set(xlim=(0, 1), ylim=(0, 1), zlim=(0, 1))
    axes.set_box_aspect(None, zoom=0.85)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "figures"
    target.mkdir(parents=True, exist_ok=True)
    main(target)
