"""Exact search and heuristics on public instances and tori, beside what else one would install.

python -m pytest tests/bench/bench_search.py -m bench -s

One line a model: optimum or best score, bound, seconds of CPU and search nodes; then the peers
that are installed, with the same limit. LIMIT=60 in the environment gives everybody 60 seconds.
Heuristics beside dwave-samplers, at equal CPU time, means of three seeds, go to
results/heuristics.csv.
"""

import os
import time
from pathlib import Path

import highspy
import numpy as np
import pytest

from mapreroot import Model, limits, read_model, solve
from mapreroot.exact.local_search.annealing import walk
from mapreroot.exact.local_search.graph import graph_of, greedy, random_state
from mapreroot.generate import cube, grid, image
from mapreroot.generate import torus as periodic
from mapreroot.limits import Limits
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


def signs(model, seed=0):
    """The same graph with +-1 couplings (2 in W)."""
    rng = np.random.default_rng(seed)
    return Model(model.theta, model.edges, rng.choice([-2.0, 2.0], model.m))


# CPU seconds that our solve gets; the samplers then get as many as it took.
HEURISTICS = {
    "ising/toruspm3-8-50.dat": (0.3, 1),
    "cube 15^3 +-1": (0.3, 1, 5),
    "cube 15^3 Gaussian": (0.3, 1, 5),
    "gset/G11.txt": (0.3, 1),
    "gset/G14.txt": (0.3, 1, 5),
    "torus 20 x 100 +-1": (0.3, 1, 5),
    "torus 100^2 Gaussian": (1, 5),
    "torus 100^2 +-1": (1, 5),
    "K1000 +-1": (1, 5),
    "a hundred thousand edges": (1, 5),
    "grid of 1000 x 1000": (3, 10),
    "image of 1000 x 1000": (1, 5),
    "a million edges": (3, 10),
}
SEEDS = 1, 2, 3
MAKERS = {
    "cube 15^3 +-1": lambda: signs(cube(15)),
    "cube 15^3 Gaussian": lambda: cube(15),
    "torus 20 x 100 +-1": lambda: signs(periodic(20, 100)),
    "torus 100^2 Gaussian": lambda: torus(100, "gauss"),
    "torus 100^2 +-1": lambda: torus(100, "sign"),
    "K1000 +-1": lambda: signs(complete(1000)),
    "a hundred thousand edges": lambda: random_sparse(30_000, 100_000),
    "grid of 1000 x 1000": lambda: grid(1000, 1000),
    "image of 1000 x 1000": lambda: image(1000, 1000),
    "a million edges": lambda: random_sparse(300_000, 1_000_000),
}


class Samplers:
    """D-Wave's annealing and tabu search on M, timed without the building of their models."""

    def __init__(self, model):
        self.kernel = pytest.importorskip("dwave.samplers.sa.sampler").simulated_annealing
        self.model = model
        self.fields, self.couplings = -model.theta / 2, -model.weights / 4
        self.ends = model.edges.T.astype(np.intc)
        # The sampler's own range of temperatures, `_default_ising_beta_range`.
        size, least = np.abs(self.fields), np.where(self.fields, np.abs(self.fields), np.inf)
        for end in self.ends:
            np.add.at(size, end, np.abs(self.couplings))
            np.minimum.at(least, end, np.abs(self.couplings))
        gaps = int((least == least.min()).sum())
        self.range = np.log(2) / (2 * size.max()), np.log(gaps / 0.01) / (2 * least.min())

    def anneal(self, sweeps, seed=1):
        rng = np.random.default_rng(seed)
        spins = rng.choice(np.array([-1, 1], np.int8), (1, self.model.n))
        betas = np.geomspace(*self.range, sweeps)
        start = time.process_time()
        found, _ = self.kernel(
            1, self.fields, *self.ends, self.couplings, 1, betas, seed, spins, False,
            "Metropolis", None,
        )  # fmt: skip
        seconds = time.process_time() - start
        return self.model.score((np.asarray(found[0]) + 1) // 2), seconds

    def anneal_for(self, seconds, seed):
        """One read that takes the time: what a sweep takes depends on how many there are."""
        sweeps, used = 20, self.anneal(20)[1]
        runs = []
        for part in (1 / 8, 1, 1, 1, 1):
            sweeps = max(2, int(sweeps * part * seconds / used))
            score, used = self.anneal(sweeps, seed)
            runs.append((score, used))
            if used > 0.9 * seconds:
                break
        return max(runs)

    def tabu_for(self, seconds, seed):
        dimod = pytest.importorskip("dimod")
        module = pytest.importorskip("dwave.samplers.tabu.sampler")
        bqm = dimod.BinaryQuadraticModel.from_numpy_vectors(
            self.fields, (*self.ends, self.couplings), 0.0, "SPIN"
        )

        def sample(wall):
            start = time.process_time()
            found = module.TabuSampler().sample(bqm, timeout=max(1, int(1000 * wall)), seed=seed)
            return found, time.process_time() - start

        found, used = sample(seconds)
        if used < 0.9 * seconds:  # the processor was shared
            found, used = sample(seconds * seconds / used)
        x = np.zeros(self.model.n, np.int8)
        x[np.array(found.variables, np.int64)] = (found.record.sample[0] + 1) // 2
        return self.model.score(x)


class ProcessorTime:
    """A clock for limits that stands while others compute."""

    def __init__(self):
        self.seen = self.told = 0.0

    def monotonic(self):
        # Asking for it takes a while, and no more of it can have passed than of wall time.
        now = time.monotonic()
        if now - self.seen > 0.002:
            self.seen, self.told = now, time.process_time()
        return self.told


@pytest.mark.parametrize("name", HEURISTICS)
def test_heuristics_at_equal_time(shared, name, monkeypatch):
    monkeypatch.setattr(limits, "time", ProcessorTime())
    model = MAKERS[name]() if name in MAKERS else read_model(shared / "instances" / name)
    samplers = Samplers(model)
    solve(model, method="exact", time_limit=0.3)  # whatever it needs is compiled
    for limit in HEURISTICS[name]:
        runs = []
        for seed in SEEDS:
            start = time.process_time()
            score = solve(model, method="exact", time_limit=limit, seed=seed).score
            seconds = time.process_time() - start
            # It makes a dense matrix.
            tabu = samplers.tabu_for(seconds, seed) if model.n <= 4000 else np.nan
            runs.append((seconds, score, *samplers.anneal_for(seconds, seed), tabu))
        means = [f"{value:.8g}" for value in np.mean(runs, axis=0)]
        append_heuristics(name, model.n, model.m, limit, len(runs), *means)
        print(f"\n{name}, {limit} s:", *means)


def append_heuristics(*row):
    path = Path(__file__).parent / "results" / "heuristics.csv"
    head = (
        "model,variables,edges,time_limit,seeds,cpu_seconds,score,"
        "dwave_annealing,dwave_annealing_cpu_seconds,dwave_tabu"
    )
    rows = path.read_text().splitlines()[1:] if path.exists() else []
    mine = ",".join(map(str, row[:4])) + ","
    rows = [old for old in rows if not old.startswith(mine)] + [",".join(map(str, row))]
    path.write_text("\n".join([head, *sorted(rows)]) + "\n")


@pytest.mark.parametrize(
    ("name", "sweeps"),
    [
        ("ising/toruspm3-8-50.dat", 4000),
        ("torus 100^2 +-1", 200),
        ("gset/G14.txt", 2000),
        ("K1000 +-1", 100),
        ("a million edges", 10),
        ("grid of 1000 x 1000", 10),
    ],
)
def test_speed_of_a_sweep(shared, name, sweeps):
    model = MAKERS[name]() if name in MAKERS else read_model(shared / "instances" / name)
    samplers, uprooted = Samplers(model), uproot(model)
    graph = graph_of(uprooted)
    y = greedy(graph)
    walk(graph, y, 2, 1.0, random_state(0), Limits())

    def ours(sweeps):
        start = time.process_time()
        walk(graph, y, sweeps, 1.0, random_state(0), Limits())
        return time.process_time() - start

    # What one read or walk costs beside its sweeps falls out.
    mine = min(ours(3 * sweeps) - ours(sweeps) for _ in range(3))
    theirs = min(samplers.anneal(3 * sweeps)[1] - samplers.anneal(sweeps)[1] for _ in range(3))
    each = 1e9 / (2 * sweeps * model.n)
    print(f"\n{name}: {mine * each:.1f} ns a visit, D-Wave {theirs * each:.1f}")
