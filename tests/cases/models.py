"""Cases that are built in Python: numbers, conversions, relaxations, trees."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import mapreroot as mr
from cases import (
    by_enumeration,
    case,
    check_error,
    check_map,
    check_sums,
    close,
    from_energy,
    weller,
)
from mapreroot.interop.lp import write_lp
from mapreroot.relaxations.declarative import tri, tri_rows
from mapreroot.relaxations.highs import new_highs

# Numbers


@case("MR-042")
def small_integers_do_not_wrap(given: Any, expected: Any, folder: Path) -> None:
    Q = np.array(given["Q"], dtype=given["dtype"])
    for matrix in (Q, sp.coo_array(Q), sp.csr_array(Q)):
        check_map(mr.Model.from_qubo(matrix, sense="max"), expected["max"], expected["argmax"])


@case("MR-044")
def large_capacities(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["map_score"], expected["map"], expected["n_optima"])
    result = mr.solve(model, method="maxflow")
    assert result.score == expected["map_score"]
    assert result.x.tolist() in expected["map"]


@case("MR-046")
def mixed_magnitudes(given: Any, expected: Any, folder: Path) -> None:
    model = from_energy(given)
    result = mr.solve(model)
    assert result.status == "optimal"
    assert result.assignment == expected["optimum"]
    assert close(-result.score, expected["min_energy"])
    for label, value in expected["never_fix"].items():
        assert mr.relax(model, "loc").persistent.get(label, 1 - value) != value
    # Beside 1e18 the difference is lost in a score, but not in the model.
    rest = model.condition({"a": 0, "b": 1})
    assert close(-rest.theta[0], expected["small_part_energy_difference_c1_minus_c0"])


@case("MR-047")
def tiny_weights(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    rel = expected["rel_tol"]
    result = mr.solve(model)
    assert result.status == "optimal"
    assert math.isclose(result.score, expected["map_score"], rel_tol=rel)
    assert result.x.tolist() in expected["map"]
    for kind, key in (("loc", "LOC"), ("tri", "TRI")):
        relaxation = mr.relax(model, kind)
        assert math.isclose(relaxation.bound, expected[key], rel_tol=rel)
    report = mr.tightness(model)
    assert report.loc_tight is expected["LOC_tight"]
    assert report.tri_tight is expected["TRI_tight"]


@case("MR-048")
def weight_is_not_a_number(given: Any, expected: Any, folder: Path) -> None:
    W = [[i, j, float(w)] for i, j, w in given["W"]]
    check_error(expected, lambda: weller(given | {"W": W}))


@case("MR-049")
def weight_is_infinite(given: Any, expected: Any, folder: Path) -> None:
    W = [[i, j, float(w)] for i, j, w in given["W"]]
    check_error(expected, lambda: weller(given | {"W": W}))
    hard = mr.Model(given["theta"], [], [], forbidden=[(0, 0, 1, 1), (0, 1, 1, 0)])
    answer = expected["with_hard_equality"]
    check_map(hard, answer["map_score"], [answer["map"]])


@case("MR-050")
def cut_and_score_agree(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["map_score"], expected["map"], expected["n_optima"])
    result = mr.solve(model, method="maxflow")
    assert abs(model.score(result.x) - result.score) <= 1e-12
    assert abs(result.bound - expected["map_score"]) <= 1e-9


@case("MR-052")
def minimum_cut_of_a_frustrated_model(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    error = check_error(expected, lambda: mr.solve(model, method="maxflow", root=given["root"]))
    assert isinstance(error, mr.NotBalancedError)
    # The error names vertices of M+, where variable j is vertex j + 1.
    assert sorted(v - 1 for v in error.cycle) == expected["frustrated_cycle"]
    check_map(model, expected["auto_map_score"], expected["auto_map"])
    result = mr.solve(model, method="maxflow")
    assert result.root in (1, 2, 3)
    assert close(result.score, expected["auto_map_score"])
    for root in (1, 2, 3):
        assert close(mr.solve(model, method="maxflow", root=root).score, 1.2)


@case("MR-053")
def spins_at_1e16(given: Any, expected: Any, folder: Path) -> None:
    linear = {int(label): q for label, q in given["linear"].items()}
    model = from_energy(given | {"linear": linear})
    for form in (model, mr.Model.from_ising(*model.to_ising())):
        check_map(form, expected["min_energy"], expected["argmin"], expected["n_optima"])
        assert form.score([1, 1]) == -1


@case("MR-054")
def empty_and_zero_models(given: Any, expected: Any, folder: Path) -> None:
    first, second = given["models"]
    empty = mr.Model([], [], [], first["offset"])
    result = mr.solve(empty)
    assert (result.status, result.score) == ("optimal", expected["first"]["map_score"])
    assert result.assignment == expected["first"]["map"]
    check_sums(empty, expected["first"]["ln_Z"], [])
    zero = weller(second)
    answer = expected["second"]
    check_map(zero, answer["map_score"], None, answer["n_optima"])
    check_sums(zero, answer["ln_Z"], answer["marginals"])


# Ways to build a model


@case("MR-055")
def labels_that_collide(given: Any, expected: Any, folder: Path) -> None:
    labels, theta = zip(*given, strict=True)
    check_error(expected, lambda: mr.Model(theta, [], [], labels=labels))


@case("MR-056")
def numpy_tuples_as_labels(given: Any, expected: Any, folder: Path) -> None:
    pixels = [tuple(map(np.int64, pixel)) for pixel in ((0, 0), (0, 1), (1, 0))]
    model = from_energy(given, labels=[*pixels, np.int64(3)])
    check_map(model, -expected["min_energy"], expected["argmin"], expected["n_optima"])
    assert mr.solve(model).assignment == {(0, 0): 0, (0, 1): 1, (1, 0): 1, 3: 1}


@case("MR-057")
def graph_with_a_missing_weight(given: Any, expected: Any, folder: Path) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(given["nodes"])
    graph.add_edges_from(given["edges"])
    check_error(expected, lambda: mr.Model.from_maxcut(graph, weight=given["weight"]))
    model = mr.Model.from_maxcut(graph, default=1)
    assert model.n == 4
    check_map(model, expected["with_default_1_max_cut"])


@case("MR-058")
def parallel_edges(given: Any, expected: Any, folder: Path) -> None:
    graph = nx.MultiGraph()
    graph.add_weighted_edges_from(given["edges"])
    check_map(
        mr.Model.from_maxcut(graph), expected["max_cut"], None, expected["n_optimal_assignments"]
    )
    with pytest.raises(mr.ModelError, match="directed"):
        mr.Model.from_maxcut(nx.MultiDiGraph(graph))


@case("MR-059")
def repeated_entries(given: Any, expected: Any, folder: Path) -> None:
    entries = given["data"], (given["row"], given["col"])
    Q = sp.coo_array(entries, shape=tuple(given["shape"]))
    check_map(mr.Model.from_qubo(Q, sense="max"), expected["max"], expected["argmax"])


@case("MR-060")
def matrix_that_is_not_symmetric(given: Any, expected: Any, folder: Path) -> None:
    model = mr.Model.from_qubo(np.array(given["Q"]))
    check_map(model, -expected["min"], expected["argmin"])
    assert model.score([1, 1]) == -expected["energy_11"]


@case("MR-061")
def couplings_with_a_diagonal(given: Any, expected: Any, folder: Path) -> None:
    model = mr.Model.from_ising(None, np.array(given["J"]))
    optima = [[(s + 1) // 2 for s in spins] for spins in expected["argmin"]]
    check_map(model, -expected["min"], optima, expected["n_optima"])
    h, J, offset = model.to_ising()
    assert (h, J, offset) == ({0: 0, 1: 0}, {(0, 1): expected["coupling"]}, expected["offset"])


@case("MR-062")
def maximisation_with_a_constant(given: Any, expected: Any, folder: Path) -> None:
    Q = {(i, i): q for i, q in enumerate(given["linear"])}
    Q |= {(i, j): q for i, j, q in given["quadratic"]}
    model = mr.Model.from_qubo(Q, sense=given["sense"], constant=given["constant"])
    check_map(model, expected["max"], expected["argmax"])


@case("MR-063")
def forms_and_back(given: Any, expected: Any, folder: Path) -> None:
    model = from_energy(given)
    check_map(model, -expected["min_energy"], expected["argmin"])
    h, J, offset = model.to_ising()
    assert list(h.values()) == expected["ising"]["h"]
    assert [[i, j, value] for (i, j), value in J.items()] == expected["ising"]["J"]
    assert offset == expected["ising"]["offset"]
    assert model.theta.tolist() == expected["weller"]["theta"]
    W = [[*pair, w] for pair, w in zip(model.edges.tolist(), model.weights, strict=True)]
    assert expected["weller"]["W"] == W
    assert -model.constant == expected["weller"]["constant_energy"]
    uprooted = mr.uproot(model)
    cut = mr.Model(np.zeros(4), uprooted.edges, uprooted.weights)
    assert by_enumeration(cut)[0] == expected["maxcut_value_with_root_vertex"]
    check_sums(model, expected["ln_Z_of_exp_minus_E"], None)
    assert (
        mr.Model.from_ising(h, J, offset)
        == model
        == mr.Model.from_qubo(model.to_qubo()[0], constant=model.to_qubo()[1])
    )


@case("MR-064")
def fixing_keeps_energies(given: Any, expected: Any, folder: Path) -> None:
    model = from_energy(given)
    reduced = model.condition({int(label): a for label, a in given["fix"].items()})
    Q, offset = reduced.to_qubo()
    linear = {str(i): q for (i, j), q in Q.items() if i == j}
    quadratic = [[str(i), str(j), q] for (i, j), q in Q.items() if i != j]
    assert {"linear": linear, "quadratic": quadratic, "offset": offset} == expected["reduced"]
    check_map(reduced, -expected["reduced_min"])
    everything = model.condition({0: 1, 1: 1, 2: 0})
    assert everything.n == 0
    assert everything.score([]) == -expected["all_fixed_energy_x0_1_x1_1_x2_0"]


@case("MR-066")
def models_are_values(given: Any, expected: Any, folder: Path) -> None:
    offset = np.array(given["offset"])
    model = from_energy(given | {"offset": offset})
    energies = [-model.score([1, 1]), -model.score([1, 1])]
    offset[...] = 99
    energies.append(-model.score([1, 1]))
    assert energies == expected["energies"]
    theta, weights = np.array([1.0, 2.0]), np.array([3.0])
    model = mr.Model(theta, [(0, 1)], weights)
    theta[0] = weights[0] = 99
    assert (model.theta[0], model.weights[0]) == (1, 3)
    with pytest.raises(ValueError, match="read-only"):
        model.theta[0] = 5


@case("MR-067")
def order_of_the_input(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["map_score"], expected["map"], expected["n_optima"])
    W = [[j, i, w] for i, j, w in reversed(given["W"])]
    assert weller(given | {"W": W}) == model
    place = [2, 0, 3, 1]  # variable i is called place[i]
    theta = [given["theta"][place.index(i)] for i in range(4)]
    moved = weller({"theta": theta, "W": [[place[i], place[j], w] for i, j, w in given["W"]]})
    optima = [[x[place.index(i)] for i in range(4)] for x in expected["map"]]
    check_map(moved, expected["map_score"], optima)


@case("MR-068")
def time_limit(given: Any, expected: Any, folder: Path) -> None:
    n = given["n"]
    theta = [((5 * i) % 7) - 3 for i in range(n)]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    model = mr.Model(theta, pairs, [((7 * i + 11 * j) % 13) - 6 for i, j in pairs])
    best, found = by_enumeration(model)
    assert (best, found) == (expected["map_score"], expected["map"])
    for method in ("auto", "exact"):
        result = mr.solve(model, method=method)
        assert (result.status, result.score) == ("optimal", expected["map_score"])
        hasty = mr.solve(model, method=method, time_limit=0)
        assert hasty.score == model.score(hasty.x) <= best <= hasty.bound < math.inf
        if hasty.status == "optimal":
            assert hasty.score == best
        else:
            assert hasty.stopped == "time"


@case("MR-069")
def copies_and_threads(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    twin = pickle.loads(pickle.dumps(model))
    assert twin == model == copy.deepcopy(model) == copy.copy(model)
    assert hash(twin) == hash(model)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(mr.solve, [twin] * 8))
    with ProcessPoolExecutor(2) as processes:
        results += processes.map(mr.solve, [twin] * 2)
    for result in results:
        assert close(result.score, expected["map_score"])
        assert result.x.tolist() in expected["map"]
        assert result.status == "optimal"


@case("MR-070")
def disconnected(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["map_score"], expected["map"], expected["n_optima"])
    check_sums(model, expected["ln_Z"], expected["marginals"])
    assert nx.number_connected_components(model.to_networkx()) == expected["components"]


@case("MR-077")
def image(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["map_score"], expected["map"], expected["n_optima"])
    check_sums(model, expected["ln_Z"], None)


@case("MR-079")
def guard_by_treewidth(given: Any, expected: Any, folder: Path) -> None:
    def grid(side: int) -> mr.Model:
        at = np.arange(side * side).reshape(side, side)
        right = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
        down = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
        edges = np.vstack([right, down])
        return mr.Model(
            np.full(side * side, given["theta"]), edges, np.full(len(edges), given["W"])
        )

    assert given["rows"] == given["cols"]
    check_sums(grid(given["rows"]), expected["ln_Z"], None)
    with pytest.raises(mr.SizeError, match=r"(?i)(?=.*treewidth)(?=.*memory)"):
        mr.log_partition(grid(60))


@case("MR-082")
def all_optima(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["map_score"], expected["all_optima"], expected["n_optima"])
    every = mr.all_optima(model)
    assert sorted(every.solutions.tolist()) == expected["all_optima"]
    assert (every.complete, every.score) == (True, expected["map_score"])
    some = mr.all_optima(model, limit=1)
    assert (len(some.solutions), some.complete) == (1, False)
    assert some.score == expected["map_score"]


@case("MR-085")
def weights_are_used_by_default(given: Any, expected: Any, folder: Path) -> None:
    graph = nx.Graph()
    graph.add_edges_from(given["edges"])
    model = mr.Model.from_maxcut(graph)
    check_map(model, expected["max_cut"], [[0, 0, 1], [1, 1, 0]])
    x = mr.solve(model).assignment
    side = [label for label in graph if x[label] != x[0]]
    assert side in expected["optimal_partitions"]


@case("MR-090")
def no_linear_part(given: Any, expected: Any, folder: Path) -> None:
    J = {(i, j): value for i, j, value in given["quadratic"]}
    model = mr.Model.from_ising(None, J, given["offset"])
    assert list(model.labels) == expected["variables"]
    check_map(model, -expected["min_energy"], None, expected["n_optima"])


# Relaxations and rerooting


@case("MR-072")
def frustrated_triangle(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["MAP"], None, expected["n_optima"])
    loc, tri = mr.relax(model, "loc"), mr.relax(model, "tri")
    assert close(loc.bound, expected["LOC"], 1e-6)
    assert np.allclose(loc.q, expected["LOC_q"], atol=1e-6)
    assert close(tri.bound, expected["TRI"], 1e-6)
    assert mr.balance(model).is_balanced is expected["balanced"]
    assert bool(mr.balancing_vertices(mr.uproot(model))) is expected["almost_balanced"]
    check_sums(model, expected["ln_Z"], None)


@case("MR-074")
def one_root_makes_loc_tight(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    check_map(model, expected["map_score"], expected["map"])
    check_sums(model, expected["ln_Z"], expected["marginals"])
    uprooted = mr.uproot(model)
    for answer in expected["rerooted"]:
        root, names = answer["root"], answer["variables"]
        rooted = uprooted.reroot(root)
        assert rooted.theta.tolist() == answer["theta"]
        edges = [[names[i], names[j]] for i, j in rooted.edges.tolist()]
        W = [[*edge, w] for edge, w in zip(edges, rooted.weights.tolist(), strict=True)]
        assert sorted(W) == sorted(answer["W"])
        loc = mr.relax(model, "loc", root=root).bound
        assert close(loc, expected["LOC_by_root"][root], 1e-6)
        check_sums(rooted, expected["ln_Z"], None)
    assert close(mr.relax(model, "tri").bound, expected["TRI"], 1e-6)


@case("MR-076")
def tree_method_on_a_cycle(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    error = check_error(expected, lambda: mr.solve(model, method="tree", root=given["root"]))
    assert isinstance(error, mr.NotATreeError)
    assert sorted(error.cycle) == [1, 2, 3]
    assert mr.solve(model, method="tree").score == 0


@case("MR-041")
def exported_programs_solve_to_the_same(given: Any, expected: Any, folder: Path) -> None:
    labels = [tuple(name) if isinstance(name, list) else name for name in given["labels"]]
    plain = weller(given)
    model = mr.Model(plain.theta, plain.edges, plain.weights, labels=labels)
    check_map(model, expected["MAP"])
    for extension in (".lp", ".mps"):
        for kind, key in (("loc", "LOC"), ("tri", "TRI"), ("mip", "MAP")):
            path = folder / (kind + extension)
            names = write_lp(model, path, kind)
            highs = new_highs()
            assert highs.readModel(str(path)).name == "kOk"
            highs.run()
            assert highs.getModelStatus().name == "kOptimal"
            assert close(highs.getInfo().objective_function_value, expected[key], 1e-6)
            assert len(names) == highs.getNumCol()


@case("MR-078")
def declarative_tri_says_its_size(given: Any, expected: Any, folder: Path) -> None:
    i, j = np.triu_indices(given["n"], 1)
    model = mr.Model(np.zeros(given["n"]), np.stack([i, j], axis=1), np.full(len(i), -1.0))
    uprooted = mr.uproot(model)
    assert tri_rows(uprooted) == expected["triangle_rows"]
    error = check_error(expected, lambda: tri(uprooted))
    assert isinstance(error, mr.SizeError)


# Trees


@case("MR-083")
def updates_equal_fresh_computations(given: Any, expected: Any, folder: Path) -> None:
    model = weller(given)
    theta = model.theta.copy()
    factors = [[[1, math.exp(-w / 2)], [math.exp(-w / 2), 1]] for w in model.weights]
    data = [[1, math.exp(t)] for t in theta]
    online = mr.trees.OnlineSumProduct(model.n, model.edges, factors, data)
    changes = [(0, 0.0), *given["updates"]]
    for (v, step), answer in zip(changes, expected["sequence"], strict=True):
        theta[v] += step
        online.update(v, [1, math.exp(theta[v])])
        assert close(online.log_partition, answer["ln_Z"])
        assert np.abs(online.marginals()[:, 1] - answer["p1"]).max() <= 1e-9
        check_sums(mr.Model(theta, model.edges, model.weights), answer["ln_Z"], answer["p1"])
