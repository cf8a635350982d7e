import math

import networkx as nx
import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models

from mapreroot import InfeasibleError, Model, ModelError


def matrices(n_max=5, elements=finite_floats):
    return st.integers(1, n_max).flatmap(
        lambda n: st.lists(elements, min_size=n * n, max_size=n * n).map(
            lambda values: np.array(values).reshape(n, n)
        )
    )


@given(matrices(), st.sampled_from(["min", "max"]), finite_floats)
def test_from_qubo(Q, sense, k):
    model = Model.from_qubo(Q, sense, k)
    sign = -1 if sense == "min" else 1
    for x in oracle.assignments(len(Q)):
        assert model.score(x) == pytest.approx(sign * (x @ Q @ x + k), abs=1e-10)
    assert Model.from_qubo(sp.coo_matrix(Q), sense, k) == model
    entries = {(i, j): Q[i, j] for i in range(len(Q)) for j in range(len(Q))}
    assert Model.from_qubo(entries, sense, k) == model


@given(matrices(), finite_floats, st.data())
def test_from_ising(J, k, data):
    n = len(J)
    h = data.draw(st.lists(finite_floats, min_size=n, max_size=n))
    model = Model.from_ising(h, J, k)
    for x in oracle.assignments(n):
        s = 2 * x - 1
        assert model.score(x) == pytest.approx(-(np.dot(h, s) + s @ J @ s + k), abs=1e-10)
    entries = {(i, j): J[i, j] for i in range(n) for j in range(n)}
    twin = Model.from_ising(dict(enumerate(h)), entries, k)
    assert twin.theta == pytest.approx(model.theta)
    assert twin.constant == pytest.approx(model.constant)


@given(models())
def test_round_trips_are_exact_on_integers(model):
    Q, k = model.to_qubo()
    assert Model.from_qubo(Q, "min", k) == model
    h, J, k = model.to_ising()
    assert Model.from_ising(h, J, k) == model
    assert Model.from_networkx(model.to_networkx()) == model


@given(models(potentials=finite_floats))
def test_round_trips_keep_every_score(model):
    Q, k = model.to_qubo()
    h, J, c = model.to_ising()
    for x in oracle.assignments(model.n):
        value = sum(q * x[i] * x[j] for (i, j), q in Q.items()) + k
        assert -value == pytest.approx(model.score(x), abs=1e-10)
        s = 2 * x - 1
        energy = sum(v * s[i] for i, v in h.items()) + c
        energy += sum(v * s[i] * s[j] for (i, j), v in J.items())
        assert -energy == pytest.approx(model.score(x), abs=1e-10)


@given(models(potentials=finite_floats), st.sampled_from(["BINARY", "SPIN"]))
def test_dimod_agrees(model, vartype):
    dimod = pytest.importorskip("dimod")
    bqm = model.to_bqm(vartype)
    assert isinstance(bqm, dimod.BinaryQuadraticModel)
    back = Model.from_bqm(bqm)
    assert back.labels == model.labels
    for x in oracle.assignments(model.n):
        sample = dict(enumerate(x if vartype == "BINARY" else 2 * x - 1))
        assert -bqm.energy(sample) == pytest.approx(model.score(x), abs=1e-10)
        assert back.score(x) == pytest.approx(model.score(x), abs=1e-10)


@given(matrices())
def test_from_maxcut(matrix):
    upper = np.triu(matrix, 1)
    model = Model.from_maxcut(upper)
    assert Model.from_maxcut(upper + upper.T) == model
    assert Model.from_maxcut(sp.csr_array(upper.T)) == model
    graph = nx.Graph()
    graph.add_nodes_from(range(len(upper)))
    graph.add_weighted_edges_from(
        (i, j, upper[i, j]) for i, j in zip(*np.nonzero(upper), strict=True)
    )
    assert Model.from_maxcut(graph) == model
    for x in oracle.assignments(len(upper)):
        cut = sum(upper[i, j] for i in range(len(x)) for j in range(len(x)) if x[i] != x[j])
        assert model.score(x) == pytest.approx(cut, abs=1e-10)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 4))
    entry = st.one_of(finite_floats, st.just(-math.inf))
    unary = np.array(draw(st.lists(entry, min_size=2 * n, max_size=2 * n))).reshape(n, 2)
    ends = st.integers(0, n - 1)
    pairs = st.tuples(ends, ends).filter(lambda pair: pair[0] != pair[1])
    edges = draw(st.lists(pairs, max_size=4 if n > 1 else 0)) if n > 1 else []
    size = 4 * len(edges)
    pairwise = np.array(draw(st.lists(entry, min_size=size, max_size=size)))
    return unary, edges, pairwise.reshape(-1, 2, 2), draw(finite_floats)


@given(tables())
def test_from_tables(case):
    unary, edges, pairwise, c = case
    expected = []
    for x in oracle.assignments(len(unary)):
        total = c + sum(unary[i, a] for i, a in enumerate(x))
        total += sum(T[x[i], x[j]] for (i, j), T in zip(edges, pairwise, strict=True))
        expected.append(total)
    if max(expected) == -math.inf:
        with pytest.raises(InfeasibleError):
            Model.from_tables(unary, edges, pairwise, c)
        return
    model = Model.from_tables(unary, edges, pairwise, c)
    for x, value in zip(oracle.assignments(model.n), expected, strict=True):
        assert model.score(x) == pytest.approx(value, abs=1e-9)


def test_labels_keep_their_order():
    assert Model.from_qubo({("b", "a"): 1, ("c", "c"): 1}).labels == ("b", "a", "c")
    assert Model.from_qubo({(7, 3): 1, (5, 5): 0}).labels == (3, 5, 7)
    assert Model.from_ising({"z": 1.0}, {("a", "z"): 1.0}).labels == ("z", "a")


def test_networkx_keeps_isolated_nodes_and_parallel_edges():
    graph = nx.MultiGraph()
    graph.add_node("alone")
    graph.add_edge(0, 1, weight=1.0)
    graph.add_edge(0, 1, weight=1.5)
    model = Model.from_maxcut(graph)
    assert model.labels == ("alone", 0, 1)
    assert model.weights.tolist() == [-5.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Model.from_qubo([[1, 2, 3]]), "square"),
        (lambda: Model.from_qubo(np.eye(2), sense="up"), "'up'"),
        (lambda: Model.from_qubo({"ab": 1}), "expected a pair"),
        (lambda: Model.from_qubo({(0, 1): "x"}), "expected a real number"),
        (lambda: Model.from_qubo([[math.nan]]), "nan"),
        (lambda: Model.from_qubo([["x"]]), "real numbers"),
        (lambda: Model.from_ising([1.0], np.eye(2)), "h has 1 entries"),
        (lambda: Model.from_ising(None, {(0, 1): math.inf}), "inf"),
        (lambda: Model.from_maxcut(np.eye(2)), "self-loop at 0"),
        (lambda: Model.from_maxcut([[0, 1], [2, 0]]), "neither symmetric nor triangular"),
        (lambda: Model.from_maxcut(nx.DiGraph([(0, 1)])), "directed"),
        (lambda: Model.from_maxcut(nx.Graph([(2, 3)])), r"\(2, 3\) has no weight"),
        (lambda: Model.from_maxcut(nx.Graph([(2, 2)])), "self-loop at 2"),
        (lambda: Model.from_tables([[0, math.nan]], [], []), r"unary\[0, 1\] is nan"),
        (lambda: Model.from_tables([[0, math.inf]], [], []), r"unary\[0, 1\] is inf"),
        (lambda: Model.from_tables([[0]], [], []), r"unary has shape \(1, 1\)"),
        (lambda: Model.from_tables([[0, 0]] * 2, [(0, 1)], [[0, 0]]), "pairwise has shape"),
        (lambda: Model.from_tables([[0, 0]], [(0, 1)], np.zeros((1, 2, 2))), "indices"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ModelError, match=message):
        make()


@st.composite
def images(draw):
    h, w = draw(st.integers(1, 3)), draw(st.integers(1, 3))

    def part(*shape):
        size = math.prod(shape)
        return np.array(draw(st.lists(finite_floats, min_size=size, max_size=size))).reshape(shape)

    diagonals = draw(st.sampled_from([None, (part(h - 1, w - 1), part(h - 1, w - 1))]))
    return part(h, w), part(h, w - 1), part(h - 1, w), diagonals


@given(images(), finite_floats)
def test_from_grid_scores_an_image(image, k):
    theta, right, down, diagonals = image
    model = Model.from_grid(theta, right, down, diagonals, k)
    assert model.labels == tuple(np.ndindex(theta.shape))
    for x in oracle.assignments(theta.size):
        p = x.reshape(theta.shape).astype(bool)
        score = k + theta[p].sum()
        score -= right[p[:, :-1] != p[:, 1:]].sum() / 2 + down[p[:-1] != p[1:]].sum() / 2
        if diagonals is not None:
            score -= diagonals[0][p[:-1, :-1] != p[1:, 1:]].sum() / 2
            score -= diagonals[1][p[:-1, 1:] != p[1:, :-1]].sum() / 2
        assert model.score(x) == pytest.approx(score, abs=1e-9)


def test_from_grid_comes_in_order_at_every_width():
    for h, w in [(1, 1), (1, 4), (4, 1), (3, 2), (2, 3), (3, 3)]:
        ones = (np.ones((h, w - 1)), np.ones((h - 1, w)), (np.ones((h - 1, w - 1)),) * 2)
        model = Model.from_grid(np.zeros((h, w)), *ones)
        assert model.m == h * (w - 1) + (h - 1) * w + 2 * (h - 1) * (w - 1)
        assert (model.weights == 1).all()
    assert Model.from_grid([[1, 2]], [[3]], []).labels == ((0, 0), (0, 1))
    assert Model.from_grid(np.zeros((0, 0)), [], []).n == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [], []), r"theta has shape \(2,\): expected an image"),
        (([[1, 2]], [[1, 2]], []), r"right has shape \(1, 2\): expected \(1, 1\) for .* 1 x 2"),
        (([[1], [2]], [], [[1], [1]]), r"down has shape \(2, 1\): expected \(1, 1\)"),
        (
            ([[1, 2], [3, 4]], [[1], [1]], [[1, 1]], ([[1]], [[1, 2]])),
            r"diagonals\[1\] has shape \(1, 2\)",
        ),
        (([[1, math.nan]], [[1]], []), r"theta\[1\] is nan"),
        (([[1, 2]], [[math.inf]], []), r"the weight of edge \(0, 1\) is inf"),
    ],
)
def test_from_grid_names_bad_input(arguments, message):
    with pytest.raises(ModelError, match=message):
        Model.from_grid(*arguments)
