"""mapreroot beside what else one would install: proofs, bounds, CPU seconds and memory.

python -m pytest tests/bench/bench_peers.py -m bench -s

LIMIT=60 in the environment is the limit in seconds of wall time for the exact tools, SAMPLING=5
that of the heuristics. PEERS=folder keeps the results, a file of JSON lines per tool: what is
there is not run again, so that a broken run resumes; delete a tool's file, or give -k TOOL, to
run that one alone. Let nothing else run meanwhile: the limit is one of wall time.

Every pair of instance and tool gets a fresh process on one core and one thread, with 8 GB; an
exact peer that did not finish a smaller model of a generated family is spared the larger ones.
Building the tool's model counts, reading the file and importing do not; the compiled code of
mapreroot is loaded beforehand. Scores are recounted here from the assignments.
"""

from __future__ import annotations

import csv
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mapreroot import Model, read_model
from mapreroot.generate import (
    complete,
    grid,
    hidden_root,
    image,
    planted_grid,
    planted_random,
    torus,
    tree,
)
from tests.bench.peer_tools import NOT_ATTRACTIVE, TOOLS, peak_megabytes
from tests.conftest import SHARED

pytestmark = pytest.mark.bench

LIMIT = float(os.environ.get("LIMIT", "60"))
SAMPLING = float(os.environ.get("SAMPLING", "5"))
GRACE = 10  # wall seconds for a tool to notice that its limit is reached; then it is killed
MEMORY = 8 * 10**9
HEURISTICS = "tabu", "annealing"
EXACT_PEERS = "toulbar2", "scip", "highs", "cp_sat"
PACKAGES = {
    "mapreroot": "mapreroot",
    "toulbar2": "pytoulbar2",
    "scip": "PySCIPOpt",
    "highs": "highspy",
    "cp_sat": "ortools",
    "pymaxflow": "PyMaxflow",
    "thinqpbo": "thinqpbo",
    "tabu": "dwave-samplers",
    "annealing": "dwave-samplers",
}

square = {  # families whose instances differ in side, seed 0
    "attractive grid": (partial(grid, attractive=True), (256, 1000)),
    "balanced by flipping": (planted_grid, (100, 500)),
    "balanced only at another root": (hidden_root, (20, 100, 300)),
    "5 % repulsive grid": (partial(image, fields=1.0), (50, 100)),
    "torus Gaussian": (torus, (20, 50, 100)),
    "torus +-1": (partial(torus, couplings="pm1"), (20, 50, 100)),
    "torus Gaussian, fields": (partial(torus, fields=0.5), (20, 50, 100)),
    "torus +-1, fields": (partial(torus, couplings="pm1", fields=0.5), (20, 50, 100)),
}
GENERATED = {
    **{
        f"{family} {side}^2": (family, partial(make, side, side))
        for family, (make, sides) in square.items()
        for side in sides
    },
    "random balanced 10^4": ("balanced by flipping, random", partial(planted_random, 10**4)),
    "random tree 10^5": ("random tree", partial(tree, 10**5)),
    **{f"K{n}, fields": ("K40, K60", partial(complete, n, couplings="gaussian")) for n in (40, 60)},
}
FILES = {
    "3D torus": ("ising/t3g5_5555.mc", "ising/t3g7_7777.mc", "ising/toruspm3-8-50.dat"),
    "2D spin glass files": ("ising/t2g10_5555.mc", "ising/t2g15_6666.mc", "ising/t2g20_5555.mc"),
    "dense max-cut": (
        "rudy/pm1s_80.0.mc",
        "rudy/g05_60.0.mc",
        "rudy/pm1d_80.0.mc",
        "rudy/w01_100.0.mc",
        "rudy/pw01_100.0.mc",
        "ising/ising2.5-100_5555.mc",
        "rudy/g05_100.4.mc",
    ),
    "QUBO, small": (
        "qubo/bqp50-1.sparse",
        "qubo/bqp100-1.sparse",
        "qubo/gka1b.sparse",
        "qubo/gka2c.sparse",
    ),
    "QUBO, large": ("qubo/be120.3.5.sparse", "qubo/gka1e.sparse", "qubo/bqp250-3.sparse"),
    "UAI grids": (
        "uai/grid10x10.f10.wrap.uai",
        "uai/grid20x20.f5.uai",
        "uai/grid20x20.f10.wrap.uai",
        "uai/grid40x40.f2.uai",
    ),
    "UAI, attractive": (
        "uai/2_17_s.binary.uai",
        "uai/9_24_s.binary.uai",
        "uai/rbm_ferro_20.uai",
    ),
    "UAI rbm": ("uai/rbm_20.uai",),
    "graphs, kernelised": (
        "graphs/imgseg_106025.txt.out1-kernelized.mc",
        "graphs/rt-twitter-copen-kernelized.mc",
        "graphs/road-euroroad-kernelized.mc",
    ),
    "G-set": ("gset/G11.txt", "gset/G48.txt", "gset/G14.txt"),
}
FAMILY = {name: family for name, (family, _) in GENERATED.items()} | {
    path: family for family, paths in FILES.items() for path in paths
}


@cache
def instance(name: str) -> Model:
    if name in GENERATED:
        return GENERATED[name][1](seed=0)
    return read_model(SHARED / "instances" / name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = Path(os.environ.get("PEERS") or tmp_path_factory.mktemp("peers"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def kept(folder: Path) -> dict[tuple[str, str], dict]:
    lines = [line for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
    rows = map(json.loads, lines)
    return {(row["instance"], row["tool"]): row for row in rows}


def one_core() -> None:
    """In the child, before the tool starts."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def measure(name: str, tool: str) -> dict:
    """Run the tool in a process of its own; a tool that ignores its limit is killed."""
    model = instance(name)
    limit = SAMPLING if tool in HEURISTICS else LIMIT
    arrays = {"theta": model.theta, "edges": model.edges, "weights": model.weights}
    row = {"bound": math.inf, "proved": False, "x": None}
    with tempfile.TemporaryDirectory() as scratch:
        file, answer = Path(scratch, "model.npz"), Path(scratch, "answer.json")
        np.savez(file, **arrays)
        script = str(Path(__file__).with_name("peer_tools.py"))
        command = [sys.executable, script, tool, str(file), str(answer), str(limit)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = subprocess.Popen(
            command,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=one_core,
        )
        child.stdout.readline()  # all is imported, the clock runs
        try:
            errors = child.communicate(timeout=limit + GRACE)[1]
            lines = errors.strip().splitlines()
            row["note"] = f"failed: {lines[-1] if lines else child.returncode}"
        except subprocess.TimeoutExpired:
            row |= {"note": "killed", "megabytes": peak_megabytes(str(child.pid))}
            child.kill()
            child.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        row["seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if answer.exists():
            row |= json.loads(answer.read_text())
    x = row.pop("x")
    score = -math.inf if x is None else float(model.score(np.array(list(x), dtype=np.int8)))
    bound = row["bound"] + model.constant
    return {"instance": name, "tool": tool, **row, "score": score, "bound": bound, "limit": limit}


def smaller(name: str) -> list[str]:
    """The smaller models of a generated family."""
    family = [other for other in GENERATED if GENERATED[other][0] == FAMILY[name]]
    return family[: family.index(name)] if name in family else []


def installed(tool: str) -> str:
    try:
        return version(PACKAGES[tool])
    except PackageNotFoundError:
        pytest.skip(f"{PACKAGES[tool]} is not installed")


def line(row: dict) -> str:
    seconds, memory = row["seconds"], row.get("megabytes", math.nan)
    return (
        f"{row['instance']:45s} {row['tool']:10s} {row['score']:17.10g} <= {row['bound']:17.10g} "
        f"{'proved' if row['proved'] else '      '} {seconds:9.3f} s {memory:6.0f} MB {row['note']}"
    )


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", FAMILY)
def test_run(folder, name, tool):
    rows = kept(folder)
    row = rows.get((name, tool))
    if row is None:
        used = installed(tool)
        if name not in GENERATED and SHARED is None:
            pytest.skip("no shared instances beside this checkout")
        if tool in EXACT_PEERS and any(not rows[s, tool]["proved"] for s in smaller(name)):
            pytest.skip("did not finish a smaller model of the family")
        row = measure(name, tool) | {"version": used}
        with (folder / f"{tool}.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
    print(f"\n{line(row)}", end="")


def test_summary(folder):
    """Who proved how many (samplers: found the best known), in how many seconds.

    Nobody may contradict anybody.
    """
    rows = {key: row for key, row in kept(folder).items() if row["note"] != NOT_ATTRACTIVE}
    write_csv(folder / "peers.csv", rows)
    best = {name: max_score(rows, name) for name in FAMILY}
    print(f"\n\ndone / instances, CPU seconds in all\n{'':32s}", *(f"{t:>15s}" for t in TOOLS))
    for family in dict.fromkeys(FAMILY.values()):
        cells = []
        for tool in TOOLS:
            ran = [row for (name, t), row in rows.items() if (FAMILY[name], t) == (family, tool)]
            done = sum(
                row["score"] >= below(best[row["instance"]])
                if tool in HEURISTICS
                else row["proved"]
                for row in ran
            )
            cells.append(
                f"{done:3d}/{len(ran)} {sum(r['seconds'] for r in ran):9.2f}" if ran else ""
            )
        print(f"{family:32s}", *(f"{cell:>15s}" for cell in cells))
    found = wrong(rows)
    print("\n".join(found))
    assert not found


def max_score(rows: dict[tuple[str, str], dict], name: str) -> float:
    return max((row["score"] for (n, _), row in rows.items() if n == name), default=-math.inf)


def below(score: float) -> float:
    """A little less: what rounding and integral solvers may lose."""
    return score - 1e-6 * max(1.0, abs(score))


def wrong(rows: dict[tuple[str, str], dict]) -> list[str]:
    """Proofs with a worse score than somebody's, and bounds below somebody's score."""
    return [
        f"{name}: {tool} has {row['score']!r} <= {row['bound']!r}, proved: {row['proved']}, "
        f"but {max_score(rows, name)!r} was found"
        for (name, tool), row in rows.items()
        if below(max_score(rows, name)) > (row["score"] if row["proved"] else row["bound"])
    ]


def write_csv(path: Path, rows: dict[tuple[str, str], dict]) -> None:
    """One line a run, below a line that names the versions and the limits."""
    used = {row["tool"]: row["version"] for row in rows.values()}
    versions = ", ".join(f"{tool} {used[tool]}" for tool in TOOLS if tool in used)
    limits = f"limit {LIMIT:g} s, heuristics {SAMPLING:g} s"
    figures = ["score", "bound", "proved", "seconds", "megabytes", "note"]
    columns = ["family", "instance", "tool", *figures]
    with path.open("w", newline="") as file:
        file.write(f"# {versions}; seed 0; {limits}; CPU seconds of one core\n")
        table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for name, tool in product(FAMILY, TOOLS):
            if (name, tool) not in rows:
                continue
            row = rows[name, tool]
            shown = {
                "family": FAMILY[name],
                "seconds": round(row["seconds"], 4),
                "megabytes": f"{row.get('megabytes', math.nan):.0f}",
            }
            table.writerow(row | shown)
