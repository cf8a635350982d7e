"""SCIP with our separation and heuristics as plug-ins, beside our own search.

python -m pytest tests/bench/bench_scip_plugin.py -m bench -s

Binary variables are the edges of M+, reduced like ours; a constraint handler separates cycle
inequalities, a heuristic rounds along spanning trees and climbs. LIMIT=60 CPU seconds for SCIP.
"""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

import mapreroot as mr
from mapreroot.exact.local_search import find, improve, round_by_spanning_tree
from mapreroot.relaxations.kernel import reduce_fully
from mapreroot.relaxations.separation import Separator
from tests.bench.bench_peers import instance
from tests.bench.peer_tools import warm_up_mapreroot

pytestmark = pytest.mark.bench
scip = pytest.importorskip("pyscipopt")

LIMIT = float(os.environ.get("LIMIT", "60"))
NAMES = (
    "ising/t2g20_5555.mc",
    "ising/t3g5_5555.mc",
    "torus Gaussian 50^2",
    "rudy/pm1s_80.0.mc",
    "rudy/w01_100.0.mc",
    "torus +-1 50^2",
    "ising/t3g7_7777.mc",
    "rudy/pw01_100.0.mc",
)


class Cycles(scip.Conshdlr):
    """The edges that are 1 must be a cut: cycle inequalities, as `cutting_planes` takes them."""

    def __init__(self, kernel, edges):
        self.kernel, self.edges = kernel, edges
        self.separator = Separator(kernel)

    def consinitsol(self, constraints):
        self.columns = [self.model.getTransformedVar(edge) for edge in self.edges]

    def values(self, solution=None):
        values = [self.model.getSolVal(solution, edge) for edge in self.edges]
        return np.clip(np.array(values), 0.0, 1.0)

    def separate(self, otherwise):
        d, n, m = self.values(), self.kernel.n_vertices, self.kernel.m
        cuts = self.separator.triangle_cuts(d, m, 3)
        for penalty in (0.05, 0.0):
            if len(cuts) < (n / 6 if penalty else 1):
                more = self.separator.cycle_cuts(d, n, penalty)
                cuts += self.separator.best(more, d, n, 3)
        impossible = False
        for k, most in enumerate(cuts.rhs.tolist()):
            row = self.model.createEmptyRowUnspec(lhs=None, rhs=most, local=False, removable=True)
            self.model.cacheRowExtensions(row)
            entries = slice(cuts.start[k], cuts.start[k + 1])
            for edge, sign in zip(cuts.edge[entries], cuts.sign[entries], strict=True):
                self.model.addVarToRow(row, self.columns[edge], sign)
            self.model.flushRowExtensions(row)
            impossible |= bool(self.model.addCut(row, forcecut=True))
            self.model.releaseRow(row)
        if impossible:
            return {"result": scip.SCIP_RESULT.CUTOFF}
        return {"result": scip.SCIP_RESULT.SEPARATED if len(cuts) else otherwise}

    def check(self, solution=None):
        d = np.rint(self.values(solution))
        y = round_by_spanning_tree(self.kernel, d)
        is_cut = (y[self.kernel.edges[:, 0]] ^ y[self.kernel.edges[:, 1]] == d).all()
        return {"result": scip.SCIP_RESULT.FEASIBLE if is_cut else scip.SCIP_RESULT.INFEASIBLE}

    def conssepalp(self, constraints, n_useful):
        return self.separate(scip.SCIP_RESULT.DIDNOTFIND)

    def consenfolp(self, constraints, n_useful, infeasible):
        return self.separate(scip.SCIP_RESULT.FEASIBLE)

    def consenfops(self, constraints, n_useful, infeasible, infeasible_objective):
        return self.check()

    def conscheck(self, constraints, solution, integrality, rows, reason, completely):
        return self.check(solution)

    def conslock(self, constraint, kind, up, down):
        for edge in self.edges:
            self.model.addVarLocksType(edge, scip.SCIP_LOCKTYPE.MODEL, up + down, up + down)


class Rounding(scip.Heur):
    """Annealing at the start, then rounded optima of the linear programs, every tenth."""

    def __init__(self, cycles):
        self.cycles, self.best, self.calls = cycles, -np.inf, 0

    def heurexec(self, timing, infeasible):
        kernel = self.cycles.kernel
        self.calls += 1
        if self.calls == 1:
            y = find(kernel, 0, rounds=1)
        elif self.calls % 10 == 0 and self.model.getLPSolstat() == 1:
            y = improve(kernel, round_by_spanning_tree(kernel, self.cycles.values()))
        else:
            return {"result": scip.SCIP_RESULT.DIDNOTRUN}
        if kernel.score(y) <= self.best:
            return {"result": scip.SCIP_RESULT.DIDNOTFIND}
        self.best = kernel.score(y)
        solution = self.model.createSol(self)
        d = y[kernel.edges[:, 0]] ^ y[kernel.edges[:, 1]]
        for edge, value in zip(self.cycles.edges, d.tolist(), strict=True):
            self.model.setSolVal(solution, edge, value)
        found = self.model.trySol(solution)
        return {"result": scip.SCIP_RESULT.FOUNDSOL if found else scip.SCIP_RESULT.DIDNOTFIND}


def by_scip(model):
    """Score, bound and nodes."""
    start = time.process_time()
    kernel = reduce_fully(mr.uproot(model)).kernel
    if not kernel.m:
        return kernel.constant, kernel.constant, 0
    engine = scip.Model()
    engine.hideOutput()
    edges = [engine.addVar(vtype="B") for _ in range(kernel.m)]
    gain = zip((-kernel.weights / 2).tolist(), edges, strict=True)
    engine.setObjective(scip.quicksum(c * edge for c, edge in gain), "maximize")
    cycles, name = Cycles(kernel, edges), "cycles"
    often = {"sepapriority": 10**6, "enfopriority": -1, "chckpriority": -1, "sepafreq": 1}
    engine.includeConshdlr(cycles, name, "cycle inequalities", maxprerounds=0, **often)
    engine.addPyCons(engine.createCons(cycles, "all"))
    when = scip.SCIP_HEURTIMING
    engine.includeHeur(
        Rounding(cycles),
        "trees",
        "rounding along spanning trees",
        "T",
        priority=10**6,
        timingmask=when.BEFORENODE | when.DURINGLPLOOP | when.AFTERLPNODE,
    )
    # What SCIP brings of its own only slows this down, and its presolving knows no cycles.
    for switch_off in (engine.setPresolve, engine.setSeparating, engine.setHeuristics):
        switch_off(scip.SCIP_PARAMSETTING.OFF)
    engine.setParam(f"constraints/{name}/sepafreq", 1)
    engine.setParam("heuristics/trees/freq", 1)
    for limit in ("maxrounds", "maxroundsroot", "maxstallrounds", "maxstallroundsroot"):
        engine.setParam(f"separating/{limit}", -1)
    engine.setParam("separating/maxcuts", 10**5)
    engine.setParam("separating/maxcutsroot", 10**5)
    engine.setParam("misc/usesymmetry", 0)
    engine.setParam("timing/clocktype", 1)
    engine.setParam("limits/time", LIMIT - (time.process_time() - start))
    engine.optimize()
    c = kernel.constant
    return c + engine.getPrimalbound(), c + engine.getDualbound(), engine.getNTotalNodes()


@pytest.mark.parametrize("name", NAMES)
def test_beside_our_own_search(name):
    model = instance(name)
    warm_up_mapreroot()
    start = time.process_time()
    score, bound, nodes = by_scip(model)
    seconds = time.process_time() - start
    start = time.process_time()
    own = mr.solve(model, method="exact", time_limit=LIMIT)
    own_seconds = time.process_time() - start
    print(
        f"\n{name:28s} SCIP {score:.9g} <= {bound:.9g} {seconds:7.2f} s, {nodes} nodes;"
        f" own {own.score:.9g} <= {own.bound:.9g} {own_seconds:7.2f} s, {own.nodes} nodes"
    )
    slack = 1e-6 * max(1.0, abs(score))
    assert own.score <= bound + slack
    assert score <= own.bound + slack
