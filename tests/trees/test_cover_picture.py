"""The picture of a cover shows all clusters and marks what one update touches."""

from __future__ import annotations

import numpy as np
import pytest
from tree_oracle import random_tree

from mapreroot.errors import ModelError
from mapreroot.report.cover import TOUCHED, cover_tree
from mapreroot.trees import Kind, TreeCover

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def cover():
    rng = np.random.default_rng(4)
    return TreeCover(25, random_tree(24, rng)[:-1])  # a forest of three trees


def markers(ax, colour):
    """Places of all markers of one colour, legend entries left out."""
    lines = [line for line in ax.get_lines() if line.get_color() == colour]
    return sorted((float(x), float(y)) for line in lines for x, y in line.get_xydata())


def test_every_cluster_and_every_edge_has_its_place(cover, tmp_path):
    ax = cover_tree(cover)
    places = {text.get_text(): text.xy for text in ax.texts}
    assert len(set(places.values())) == cover.n
    assert [places[str(v)][1] for v in range(cover.n)] == cover.level.tolist()
    for v in np.flatnonzero(cover.parent >= 0):
        assert places[str(v)][1] < places[str(cover.parent[v])][1]
    drawn = sum(len(lines.get_segments()) for lines in ax.collections)
    assert drawn == (cover.parent >= 0).sum() + len(cover.edges)
    ax.figure.savefig(tmp_path / "cover.png")
    assert (tmp_path / "cover.png").stat().st_size > 5000


def test_exactly_the_clusters_that_an_update_touches_are_marked(cover):
    v = int(np.argmax([len(cover.ancestors(v)) for v in range(cover.n)]))
    names = [f"v{i}" for i in range(cover.n)]
    ax = cover_tree(cover, touched_by=v, names=names)
    places = {text.get_text(): text.xy for text in ax.texts}
    chain = cover.ancestors(v)
    assert markers(ax, TOUCHED) == sorted(tuple(map(float, places[f"v{u}"])) for u in chain)
    assert {t.get_text() for t in ax.texts if t.get_color() == TOUCHED} == {f"v{u}" for u in chain}
    assert len(ax.collections[1].get_segments()) == len(chain) - 1
    assert [t.get_text() for t in ax.get_legend().get_texts()][-1] == f"touched by v{v}"


def test_it_draws_on_given_axes():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    cover = TreeCover(1, [])
    assert cover_tree(cover, ax=ax) is ax
    assert cover.kind[0] == Kind.RAKE


def test_bad_input_is_named(cover):
    with pytest.raises(ModelError, match="touched_by is 25"):
        cover_tree(cover, touched_by=25)
    with pytest.raises(ModelError, match="2 names for 25"):
        cover_tree(cover, names=["a", "b"])
