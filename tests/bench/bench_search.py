"""Exact search and heuristics on public instances and tori, beside what else one would install.

python -m pytest tests/bench/bench_search.py -m bench -s

One line a model: optimum or best score, bound, seconds of CPU and search nodes; then the peers
that are installed, with the same limit. LIMIT=60 in the environment gives everybody 60 seconds.
"""

import os
import time

import highspy
import numpy as np
import pytest

from mapreroot import Model, read_model, solve
from mapreroot.exact.local_search import find
from mapreroot.generate import grid
from mapreroot.rerooting import uproot

pytestmark = pytest.mark.bench
LIMIT = float(os.environ.get("LIMIT", "20"))

FILES = [
    "rudy/pm1s_80.0.mc",
    "rudy/g05_60.0.mc",
    "rudy/pm1d_80.0.mc",
    "rudy/w01_100.0.mc",
    "rudy/pw01_100.0.mc",
    "rudy/g05_100.4.mc",
    "qubo/bqp50-1.sparse",
    "qubo/bqp100-1.sparse",
    "qubo/gka1b.sparse",
    "qubo/gka2c.sparse",
    "qubo/be120.3.5.sparse",
    "qubo/gka1e.sparse",
    "qubo/bqp250-3.sparse",
    "ising/t2g20_5555.mc",
    "ising/t3g5_5555.mc",
    "ising/t3g7_7777.mc",
    "ising/toruspm3-8-50.dat",
    "ising/ising2.5-100_5555.mc",
    "gset/G11.txt",
    "uai/grid20x20.f5.uai",
    "uai/grid40x40.f2.uai",
    "uai/rbm_20.uai",
]


def torus(side, kind, seed=0):
    rng = np.random.default_rng(seed)
    at = np.arange(side * side).reshape(side, side)
    edges = [np.stack([at.ravel(), np.roll(at, -1, axis).ravel()], axis=1) for axis in (0, 1)]
    m = 2 * side * side
    W = 2 * (rng.normal(size=m) if kind == "gauss" else rng.choice([-1.0, 1.0], m))
    return Model(np.zeros(side * side), np.concatenate(edges), W)


def complete(n, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(n, 1), axis=1)
    return Model(rng.normal(size=n), edges, rng.normal(size=len(edges)))


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    for model in (complete(24), torus(6, "gauss"), torus(6, "sign")):
        solve(model, method="exact")


def ours(model):
    start = time.process_time()
    result = solve(model, method="exact", time_limit=LIMIT)
    return result.score, result.bound, result.status, time.process_time() - start, result.nodes


def cp_sat(model):
    """Spins as Booleans, products as exclusive ors; weights to nine digits."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    uprooted = uproot(model)
    scale = 10**9 / float(np.abs(uprooted.weights).max())
    problem = cp_model.CpModel()
    y = [problem.new_bool_var("") for _ in range(uprooted.n_vertices)]
    problem.add(y[0] == 0)
    terms = []
    for (i, j), W in zip(uprooted.edges.tolist(), uprooted.weights, strict=True):
        d = problem.new_bool_var("")
        problem.add_bool_xor([y[i], y[j], d.negated()])
        terms.append(round(-W / 2 * scale) * d)
    problem.maximize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = LIMIT
    start = time.process_time()
    status = solver.solve(problem)
    seconds = time.process_time() - start
    value, bound = solver.objective_value, solver.best_objective_bound
    return (
        uprooted.constant + value / scale,
        uprooted.constant + bound / scale,
        "optimal" if status == cp_model.OPTIMAL else "feasible",
        seconds,
    )


def highs_linearised(model):
    """The standard linearisation, x_i x_j = z_ij, by a mixed integer solver."""
    i, j = model.edges.T
    n, m = model.n, model.m
    # -W/2 [x_i != x_j] = -W/2 (x_i + x_j - 2 z)
    cost = np.concatenate([model.theta, model.weights])
    np.add.at(cost, i, -model.weights / 2)
    np.add.at(cost, j, -model.weights / 2)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n + m, 3 * m
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.offset_ = model.constant
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, np.zeros(n + m), np.ones(n + m)
    lp.integrality_ = [highspy.HighsVarType.kInteger] * n + [highspy.HighsVarType.kContinuous] * m
    z = n + np.arange(m)
    index = np.stack([z, i, z, j, i, j, z], axis=1).astype(np.int32).ravel()
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.index_ = index
    lp.a_matrix_.value_ = np.tile([1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0], m)
    steps = np.tile([2, 2, 3], m)
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(steps)]).astype(np.int32)
    lp.row_lower_ = np.full(3 * m, -np.inf)
    lp.row_upper_ = np.tile([0.0, 0.0, 1.0], m)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    # Whoever ran before may have chosen another number of threads for the whole process.
    highspy.Highs.resetGlobalScheduler(True)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("time_limit", LIMIT)
    highs.passModel(lp)
    start = time.process_time()
    highs.run()
    seconds = time.process_time() - start
    info = highs.getInfo()
    done = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    status = "optimal" if done else "feasible"
    return info.objective_function_value, info.mip_dual_bound, status, seconds


def report(name, model):
    score, bound, status, seconds, nodes = ours(model)
    print(f"\n{name}: n {model.n}, m {model.m}")
    print(f"  mapreroot {score:.10g} <= {bound:.10g} {status} {seconds:.2f} s, {nodes} nodes")
    for peer, call in (("CP-SAT", cp_sat), ("HiGHS, linearised", highs_linearised)):
        other, other_bound, other_status, other_seconds = call(model)
        print(f"  {peer} {other:.10g} <= {other_bound:.10g} {other_status} {other_seconds:.2f} s")
        if status == "optimal":
            assert other <= score + 1e-6 * max(1.0, abs(score))
        assert other_bound >= score - 1e-6 * max(1.0, abs(score))


@pytest.mark.parametrize("path", FILES)
def test_public_instances(shared, path):
    report(path, read_model(shared / "instances" / path))


@pytest.mark.parametrize("kind", ["gauss", "sign"])
@pytest.mark.parametrize("side", [20, 30, 50])
def test_torus(side, kind):
    report(f"torus {side}^2 {kind}", torus(side, kind))


@pytest.mark.parametrize("n", [30, 40, 60])
def test_complete_graph(n):
    report(f"K{n} with fields", complete(n))


def random_sparse(n, m, seed=0):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (m, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    return Model(np.zeros(n), edges, rng.choice([-2.0, 2.0], len(edges)))


@pytest.mark.parametrize(
    ("path", "rounds"),
    [
        ("rudy/g05_100.4.mc", 4),
        ("qubo/bqp250-3.sparse", 4),
        ("ising/t3g7_7777.mc", 5),
        ("ising/toruspm3-8-50.dat", 6),
        ("gset/G11.txt", 5),
        ("gset/G14.txt", 7),
        ("torus", 4),
        ("grid of 1000 x 1000", 1),
        ("a million edges", 1),
    ],
)
def test_heuristics_at_equal_time(shared, path, rounds):
    samplers = pytest.importorskip("dwave.samplers")
    dimod = pytest.importorskip("dimod")
    makers = {
        "torus": lambda: torus(100, "gauss"),
        "grid of 1000 x 1000": lambda: grid(1000, 1000),
        "a million edges": lambda: random_sparse(300_000, 1_000_000),
    }
    model = makers[path]() if path in makers else read_model(shared / "instances" / path)
    uprooted = uproot(model)
    n = uprooted.n_vertices
    find(uproot(torus(6, "gauss")), rounds=2)
    start = time.process_time()
    score = uprooted.score(find(uprooted, rounds=rounds))
    ours_seconds = time.process_time() - start
    ends = uprooted.edges.T
    bqm = dimod.BinaryQuadraticModel.from_numpy_vectors(
        np.zeros(n), (*ends, -uprooted.weights / 4), 0.0, "SPIN"
    )

    def theirs(sampler, **options):
        start = time.process_time()
        found = sampler.sample(bqm, num_reads=1, seed=1, **options)
        seconds = time.process_time() - start
        y = np.zeros(n, np.int8)
        y[np.array(found.variables, np.int64)] = (found.record.sample[0] + 1) // 2
        return uprooted.score(y), seconds

    annealed, sweeps = theirs(samplers.SimulatedAnnealingSampler(), num_sweeps=100), 100
    while annealed[1] < ours_seconds:
        sweeps *= 2
        annealed = theirs(samplers.SimulatedAnnealingSampler(), num_sweeps=sweeps)
    print(f"\n{path}: find {score:.8g} in {ours_seconds:.3f} s")
    print(f"  dwave-samplers annealing {annealed[0]:.8g} in {annealed[1]:.3f} s ({sweeps} sweeps)")
    if n < 20_000:  # it makes a dense matrix
        milliseconds = max(1, int(1000 * ours_seconds))
        tabu = theirs(samplers.TabuSampler(), timeout=milliseconds)
        print(f"  dwave-samplers tabu {tabu[0]:.8g} in {tabu[1]:.3f} s")
