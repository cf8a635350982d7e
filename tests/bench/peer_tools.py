"""One tool on one model, in a process of its own: `peer_tools.py TOOL MODEL.npz ANSWER.json LIMIT`.

A tool is a function of the arrays of a model M (score = theta x - 1/2 sum W_ij [x_i != x_j]) and
of a clock that tells the seconds left: it returns an assignment (None if it has none), an upper
bound, and whether it claims a proof. Scores are recounted by `bench_peers`; here nothing but the
tool and numpy is loaded, so that the memory is the tool's.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

SEED = 1
NOT_ATTRACTIVE = "not attractive"


class Answer(NamedTuple):
    x: object  # 0 or 1 for each variable, or None
    bound: float = math.inf
    proved: bool = False
    note: str = ""


def mapreroot(theta, edges, weights, left: Callable[[], float]) -> Answer:
    import mapreroot as mr

    found = mr.solve(mr.Model(theta, edges, weights), time_limit=left(), seed=SEED)
    return Answer(found.x, found.bound, found.status == "optimal", found.method)


def warm_up_mapreroot() -> None:
    """Load the compiled code of every method: what is measured is not its compilation."""
    from mapreroot.generate import (
        complete,
        cube,
        grid,
        hidden_root,
        image,
        planted_grid,
        torus,
        tree,
    )

    models = [complete(n, couplings=kind) for n in (12, 30) for kind in ("gaussian", "pm1")]
    models += [torus(8, 8, couplings=kind) for kind in ("gaussian", "pm1")]
    models += [hidden_root(8, 8), grid(8, 8, attractive=True), planted_grid(8, 8)]
    models += [image(20, 20, fields=1.0), image(80, 80, fields=1.0), tree(30), cube(4)]
    for model in models:
        mapreroot(model.theta, model.edges, model.weights, lambda: 60.0)


def pymaxflow(theta, edges, weights, left) -> Answer:
    """One minimum cut: attractive models only."""
    import maxflow

    if (weights < 0).any():
        return Answer(None, note=NOT_ATTRACTIVE)
    graph = maxflow.Graph[float](len(theta), len(edges))
    nodes = graph.add_grid_nodes(len(theta))
    graph.add_edges(edges[:, 0], edges[:, 1], weights / 2, weights / 2)
    graph.add_grid_tedges(nodes, np.maximum(-theta, 0), np.maximum(theta, 0))
    flow = graph.maxflow()
    # A segment of 1 is the sink's side; x = 1 pays from_source = max(-theta, 0).
    x = graph.get_grid_segments(nodes)
    return Answer(x, float(np.maximum(theta, 0).sum() - flow), True)


def thinqpbo(theta, edges, weights, left) -> Answer:
    """Roof duality by Kolmogorov's QPBO: a proof where it labels every variable."""
    import thinqpbo

    graph = thinqpbo.QPBODouble(len(theta), len(edges))
    graph.add_node(len(theta))
    for i, field in enumerate(theta.tolist()):
        graph.add_unary_term(i, 0.0, -field)
    for (i, j), half in zip(edges.tolist(), (weights / 2).tolist(), strict=True):
        graph.add_pairwise_term(i, j, 0.0, half, half, 0.0)
    graph.solve()
    graph.compute_weak_persistencies()
    labels = np.array([graph.get_label(i) for i in range(len(theta))])
    x, bound = np.maximum(labels, 0), -graph.compute_twice_lower_bound() / 2
    return Answer(x, bound, bool((labels >= 0).all()), f"{(labels >= 0).mean():.0%} labelled")


def toulbar2(theta, edges, weights, left) -> Answer:
    """Default options (hybrid best-first search, soft arc consistency) on exact tables."""
    import pytoulbar2

    n = len(theta)
    digits = 0 if _integral(theta, weights) else 9 - math.ceil(math.log10(_largest(theta, weights)))
    problem = pytoulbar2.CFN(resolution=max(0, digits), seed=SEED)
    for i in range(n):
        problem.AddVariable(f"x{i}", range(2))
    zero = np.zeros(n)
    problem.AddFunctions(np.arange(n), np.stack([zero, -theta], axis=1))
    half, none = weights / 2, np.zeros(len(weights))
    tables = np.stack([none, half, half, none], axis=1).reshape(-1, 2, 2)
    if len(edges):
        problem.AddFunctions(np.ascontiguousarray(edges), tables)
    found = problem.Solve(timeLimit=max(1, math.ceil(left())))
    bound = -problem.GetDDualBound()
    if found is None:
        return Answer(None, bound)
    rounding = (len(theta) + len(weights)) * 10.0**-digits if digits else 0.0
    closed = -found[1] >= bound - 1e-9 * max(1.0, abs(bound))
    return Answer(found[0][:n], bound + rounding, closed)


def scip(theta, edges, weights, left) -> Answer:
    import pyscipopt

    model = pyscipopt.Model()
    model.hideOutput()
    free = _free_variable(theta, edges, weights)
    x = [model.addVar(vtype="B", ub=float(i != free)) for i in range(len(theta))]
    gain = _linear_gain(theta, edges, weights)
    z = [model.addVar(lb=0, ub=1) for _ in weights]
    for (i, j), W, product in zip(edges.tolist(), weights.tolist(), z, strict=True):
        if left() <= 0:
            return Answer(None, note="no model within the limit")
        if W > 0:
            model.addCons(product <= x[i])
            model.addCons(product <= x[j])
        else:
            model.addCons(product >= x[i] + x[j] - 1)
    costs = zip([*gain.tolist(), *weights.tolist()], x + z, strict=True)
    model.setObjective(pyscipopt.quicksum(c * v for c, v in costs), "maximize")
    model.setParam("limits/time", left())
    model.setParam("randomization/randomseedshift", SEED)
    model.optimize()
    bound = model.getDualbound()
    if not model.getNSols():
        return Answer(None, bound)
    best = model.getBestSol()
    return Answer([round(best[v]) for v in x], bound, model.getStatus() == "optimal")


def highs(theta, edges, weights, left) -> Answer:
    import highspy

    n, m = len(theta), len(weights)
    positive, negative = np.flatnonzero(weights > 0), np.flatnonzero(weights < 0)
    i, j = edges.T
    # z <= x_i and z <= x_j where W > 0, x_i + x_j - z <= 1 where W < 0.
    ends = np.concatenate([i[positive], j[positive]])
    pairs = np.stack([n + np.concatenate([positive, positive]), ends], axis=1)
    triples = np.stack([i[negative], j[negative], n + negative], axis=1)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n + m, len(pairs) + len(triples)
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.concatenate([_linear_gain(theta, edges, weights), weights])
    lp.col_lower_, upper = np.zeros(n + m), np.ones(n + m)
    free = _free_variable(theta, edges, weights)
    if free is not None:
        upper[free] = 0
    lp.col_upper_ = upper
    kinds = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    lp.integrality_ = [kinds[0]] * n + [kinds[1]] * m
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.index_ = np.concatenate([pairs.ravel(), triples.ravel()]).astype(np.int32)
    lp.a_matrix_.value_ = np.concatenate(
        [np.tile([1.0, -1.0], len(pairs)), np.tile([1.0, 1.0, -1.0], len(triples))]
    )
    steps = np.concatenate([[0], np.full(len(pairs), 2), np.full(len(triples), 3)])
    lp.a_matrix_.start_ = np.cumsum(steps).astype(np.int32)
    lp.row_lower_ = np.full(lp.num_row_, -np.inf)
    lp.row_upper_ = np.concatenate([np.zeros(len(pairs)), np.ones(len(triples))])
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("parallel", "off")
    solver.setOptionValue("random_seed", SEED)
    solver.setOptionValue("time_limit", left())
    solver.setOptionValue("mip_rel_gap", 0.0)  # its default, 1e-4, is no proof
    solver.passModel(lp)
    solver.run()
    done = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    info = solver.getInfo()
    bound = info.mip_dual_bound if info.mip_dual_bound < 1e30 else math.inf
    if info.primal_solution_status != 2:  # no feasible point
        return Answer(None, bound)
    return Answer(np.round(solver.getSolution().col_value[:n]).astype(int), bound, done)


def cp_sat(theta, edges, weights, left) -> Answer:
    from ortools.sat.python import cp_model

    gain = _linear_gain(theta, edges, weights)
    # Its objective is integral: exact where the model is, else the largest number gets nine
    # digits; what is rounded away, at most half a unit a term, is added to the bound.
    exact = _integral(gain, weights)
    scale = 1.0 if exact else 1e9 / _largest(gain, weights)
    problem = cp_model.CpModel()
    free = _free_variable(theta, edges, weights)
    x = [problem.new_bool_var("") for _ in range(len(theta))]
    if free is not None:
        problem.add(x[free] == 0)
    z = []
    for (i, j), W in zip(edges.tolist(), weights.tolist(), strict=True):
        product = problem.new_bool_var("")
        if W > 0:
            problem.add_implication(product, x[i])
            problem.add_implication(product, x[j])
        else:
            problem.add_bool_or(~x[i], ~x[j], product)
        z.append(product)
    costs = np.rint(np.concatenate([gain, weights]) * scale).astype(np.int64)
    problem.maximize(cp_model.LinearExpr.weighted_sum(x + z, costs.tolist()))
    if left() <= 0:
        return Answer(None, note="no model within the limit")
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # Its linear relaxation starts without clauses; with them t3g5 takes 6 s, else over a minute.
    solver.parameters.linearization_level = 2
    solver.parameters.random_seed = SEED
    solver.parameters.max_time_in_seconds = left()
    status = solver.solve(problem)
    rounding = 0.0 if exact else len(costs) / 2 / scale
    bound = solver.best_objective_bound / scale + rounding
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(None, math.inf)
    return Answer([solver.value(v) for v in x], bound, status == cp_model.OPTIMAL)


def tabu(theta, edges, weights, left) -> Answer:
    from dwave.samplers import TabuSampler

    problem = _binary_quadratic(theta, edges, weights)
    milliseconds = max(1, int(1000 * left()))
    found = TabuSampler().sample(problem, num_reads=1, timeout=milliseconds, seed=SEED)
    return Answer(_in_order(found, len(theta)))


def annealing(theta, edges, weights, left) -> Answer:
    """Anneal again and again, twice as slowly each time, while that is likely to fit."""
    from dwave.samplers import SimulatedAnnealingSampler

    problem = _binary_quadratic(theta, edges, weights)
    sampler, sweeps, best = SimulatedAnnealingSampler(), 100, None
    while True:
        before = left()
        found = sampler.sample(problem, num_reads=1, num_sweeps=sweeps, seed=SEED)
        if best is None or found.first.energy < best.first.energy:
            best = found
        if left() < 2 * (before - left()):
            return Answer(_in_order(best, len(theta)), note=f"{sweeps} sweeps at the end")
        sweeps *= 2


TOOLS = {  # what to load before the clock starts, and what to call
    "mapreroot": ("mapreroot", mapreroot),
    "toulbar2": ("pytoulbar2", toulbar2),
    "scip": ("pyscipopt", scip),
    "highs": ("highspy", highs),
    "cp_sat": ("ortools.sat.python.cp_model", cp_sat),
    "pymaxflow": ("maxflow", pymaxflow),
    "thinqpbo": ("thinqpbo", thinqpbo),
    "tabu": ("dwave.samplers", tabu),
    "annealing": ("dwave.samplers", annealing),
}


def _largest(*arrays) -> float:
    return max((float(np.abs(a).max()) for a in arrays if len(a)), default=0.0) or 1.0


def _integral(*arrays) -> bool:
    return all(bool((a == np.rint(a)).all()) for a in arrays)


def _linear_gain(theta, edges, weights):
    """-W/2 [x_i != x_j] = -W/2 (x_i + x_j - 2 z): the standard linearisation, z = x_i x_j."""
    gain = theta.copy()
    np.add.at(gain, edges.ravel(), np.repeat(-weights / 2, 2))
    return gain


def _free_variable(theta, edges, weights):
    """Without fields, x and its complement score alike: the heaviest variable may be 0."""
    if theta.any() or not len(edges):
        return None
    total = np.zeros(len(theta))
    np.add.at(total, edges.ravel(), np.repeat(np.abs(weights), 2))
    return int(total.argmax())


def _binary_quadratic(theta, edges, weights):
    """Minus the score, as energy of spins s = 2 x - 1."""
    import dimod

    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        -theta / 2, (edges[:, 0], edges[:, 1], -weights / 4), 0.0, "SPIN"
    )


def _in_order(found, n):
    sample = found.first.sample
    return [(int(sample[i]) + 1) // 2 for i in range(n)]


def peak_megabytes(process: str = "self") -> float:
    """Peak resident memory; what a process inherits from its parent at birth is not counted."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main(tool: str, model: str, answer: str, limit: str) -> None:
    with np.load(model) as file:
        theta, edges, weights = (file[name] for name in ("theta", "edges", "weights"))
    module, call = TOOLS[tool]
    importlib.import_module(module)
    if tool == "mapreroot":
        warm_up_mapreroot()
    print("ready", flush=True)
    start, cpu = time.monotonic(), time.process_time()
    found = call(theta, edges, weights, lambda: float(limit) - (time.monotonic() - start))
    seconds = time.process_time() - cpu
    x = None if found.x is None else "".join(str(int(a)) for a in found.x)
    row = {
        "x": x,
        "bound": float(found.bound),
        "proved": bool(found.proved),
        "seconds": seconds,
        "megabytes": peak_megabytes(),
        "note": found.note,
    }
    Path(answer).write_text(json.dumps(row))


if __name__ == "__main__":
    main(*sys.argv[1:])
