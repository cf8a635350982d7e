"""Places: inside the square, the same for the same model, and as far apart as in the graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from strategies import models, uprooted_models

import mapreroot as mr
from mapreroot.report.layout import place


@given(uprooted_models(min_vertices=0, max_vertices=9) | models(max_n=9))
def test_vertices_stand_apart_inside_the_unit_square(model) -> None:
    at = place(model)
    n = model.n if isinstance(model, mr.Model) else model.n_vertices
    assert at.shape == (n, 2)
    assert (at >= -1e-9).all()
    assert (at <= 1 + 1e-9).all()
    gap = np.linalg.norm(at[:, None] - at[None], axis=2)[np.triu_indices(n, 1)]
    assert (gap > 0.02).all()
    assert np.array_equal(at, place(model))


@given(models(min_n=2))
def test_weights_and_signs_do_not_matter(model) -> None:
    other = mr.Model(model.theta, model.edges, -3 * model.weights)
    assert np.array_equal(place(model), place(other))


def test_images_lie_in_rows_and_columns() -> None:
    image = mr.Model.from_grid(np.zeros((3, 4)), np.ones((3, 3)), np.ones((2, 4)))
    at = place(image).reshape(3, 4, 2)
    assert np.allclose(np.diff(at[:, :, 0], axis=1), 1 / 3)
    assert np.allclose(np.diff(at[:, :, 1], axis=0), -1 / 3)
    assert np.allclose(at[:, :, 1].mean(), 0.5)


@pytest.mark.parametrize(
    "graph",
    [nx.path_graph(12), nx.cycle_graph(15), nx.grid_2d_graph(5, 6), nx.balanced_tree(2, 3)],
    ids=["path", "cycle", "grid", "tree"],
)
def test_distances_on_paper_follow_those_in_the_graph(graph) -> None:
    graph = nx.convert_node_labels_to_integers(graph)
    n = len(graph)
    model = mr.Model(np.zeros(n), list(graph.edges), np.ones(graph.number_of_edges()))
    at = place(model)
    steps = nx.floyd_warshall_numpy(graph, range(n))[np.triu_indices(n, 1)]
    paper = np.linalg.norm(at[:, None] - at[None], axis=2)[np.triu_indices(n, 1)]
    assert np.corrcoef(steps, paper)[0, 1] > 0.9


def test_dense_graphs_lie_on_a_circle() -> None:
    complete = mr.Model(np.zeros(9), list(nx.complete_graph(9).edges), np.ones(36))
    at = place(complete)
    radius = np.linalg.norm(at - at.mean(axis=0), axis=1)
    assert np.allclose(radius, radius[0])


def test_the_added_vertex_stands_above_all_others_and_moves_none() -> None:
    path = [(0, 1), (1, 2), (2, 3), (3, 4)]
    bare = place(mr.uproot(mr.Model([0] * 5, path, [1] * 4)))
    fields = place(mr.uproot(mr.Model([1] * 5, path, [1] * 4)))
    assert np.array_equal(bare, fields)
    assert (bare[0, 1] > bare[1:, 1] + 0.1).all()
