"""The paper's experiment in small: its table, its figures, and a run that is killed."""

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mapreroot.errors import FormatError, ModelError
from mapreroot.experiments import PaperSettings, run_paper
from mapreroot.experiments.draws import METHODS, Draw, Task, solve_task
from mapreroot.experiments.paper import COLUMNS, ROOTINGS, rows, summarise
from mapreroot.experiments.shards import Shards
from mapreroot.marginals import log_partition, marginals
from mapreroot.marginals.inference import approximate
from mapreroot.relaxations.roof_duality import roof_dual
from mapreroot.rerooting import uproot

SMALL = PaperSettings(
    families=("K10",), kinds=("mixed",), singletons=("low", "medium"), w_max=(2.0, 16.0), runs=2
)
ONE = Draw("K10", "mixed", "low", 8.0, 3, 7)


def rows_of(draw, every_root=True):
    record = solve_task(Task(draw, METHODS, every_root))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows(draw, record)]


def test_a_small_run_gives_table_summary_and_figures(tmp_path):
    seen = []
    paths = run_paper(SMALL, tmp_path, workers=1, progress=lambda *count: seen.append(count))
    assert seen == [(k, 8) for k in range(9)]
    assert [path.name for path in paths] == [
        "results.parquet",
        "summary.csv",
        "K10_mixed_bethe.png",
        "K10_mixed_trw.png",
        "K10_mixed_mean_field.png",
    ]
    assert all(path.stat().st_size > 0 for path in paths)
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(paths[0])
    assert table.column_names == list(COLUMNS)
    assert table.num_rows == 8 * 3 * len(ROOTINGS)
    with paths[1].open() as file:
        summary = list(csv.DictReader(file))
    assert len(summary) == 4 * 3 * len(ROOTINGS)
    assert {line["runs"] for line in summary} == {"2"}


def test_a_finished_run_is_not_computed_again(tmp_path, monkeypatch):
    tiny = PaperSettings(("K10",), ("mixed",), ("low",), (4.0,), 2, ("trw",), False)
    run_paper(tiny, tmp_path, workers=1)
    shards = sorted((tmp_path / "shards").iterdir())

    def refuse(task):
        raise AssertionError(f"computed {task.draw.key} again")

    monkeypatch.setattr("mapreroot.experiments.draws.solve_task", refuse)
    run_paper(tiny, tmp_path, workers=1)
    assert sorted((tmp_path / "shards").iterdir()) == shards


def test_more_runs_keep_those_that_are_there(tmp_path, monkeypatch):
    few = PaperSettings(("K10",), ("mixed",), ("low",), (4.0,), 2, ("trw",), False)
    more = PaperSettings(("K10",), ("mixed",), ("low",), (4.0,), 3, ("trw",), False)
    run_paper(few, tmp_path, workers=1)
    solved = []

    def counting(task):
        solved.append(task.draw.run)
        return solve_task(task)

    monkeypatch.setattr("mapreroot.experiments.draws.solve_task", counting)
    run_paper(more, tmp_path, workers=1)
    assert solved == [2]


def test_every_root_after_a_few_computes_only_what_is_missing(monkeypatch):
    few = solve_task(Task(ONE, ("trw",), False))
    everything = solve_task(Task(ONE, ("trw",), True))
    tried = []

    def counting(uprooted, root, method):
        tried.append(root)
        return approximate(uprooted, root, method)

    monkeypatch.setattr("mapreroot.experiments.draws.approximate", counting)
    task = Task(ONE, ("trw",), True, known=few)
    assert not task.done
    more = solve_task(task)
    assert set(tried) == set(range(11)) - {row[0] for row in few["trw"]}
    assert sorted(map(str, more["trw"])) == sorted(map(str, everything["trw"]))
    assert rows(ONE, more, ("trw",)) == rows(ONE, everything, ("trw",))
    assert Task(ONE, ("trw",), True, known=more).done
    assert Task(ONE, ("trw",), False, known=more).done
    assert not Task(ONE, METHODS, False, known=more).done
    assert not Task(ONE, ("trw",), False, loc=True, known=more).done


def test_loc_at_every_root():
    record = solve_task(Task(ONE, (), False, loc=True))
    uprooted = uproot(ONE.model())
    bounds = [roof_dual(uprooted, root).bound for root in range(11)]
    assert record["loc"]["bounds"] == bounds
    assert bounds[record["loc"]["found"]] == pytest.approx(min(bounds))
    assert 1 <= record["loc"]["flows"] <= 11


def test_rows_hold_what_the_public_functions_say():
    model = ONE.model()
    rows = {(row["method"], row["rooting"]): row for row in rows_of(ONE)}
    assert set(rows) == {(m, r) for m in METHODS for r in ROOTINGS}
    exact = log_partition(model).value
    p = marginals(model).p
    for (method, rooting), row in rows.items():
        assert row["exact"] == pytest.approx(exact, abs=1e-9)
        assert row["error"] == row["log_z"] - row["exact"]
        if rooting not in ("worst", "best"):
            root = {"original": 0}.get(rooting, rooting)
            assert row["log_z"] == log_partition(model, method, root).value
            l1 = np.abs(marginals(model, method, root).p - p).mean()
            assert row["l1"] == pytest.approx(l1, abs=1e-9)
        low, high = rows[method, "best"], rows[method, "worst"]
        if rooting != "uprooted":
            assert abs(low["error"]) <= abs(row["error"]) <= abs(high["error"])
            assert low["l1"] <= row["l1"] <= high["l1"]


def test_models_are_those_of_the_paper():
    for family, n, m in (("K10", 10, 45), ("K15", 15, 105), ("T5", 25, 50), ("T9", 81, 162)):
        for kind in ("mixed", "attractive"):
            for singletons, reach in (("low", 0.1), ("medium", 2.0), ("scaled", 6.0)):
                model = Draw(family, kind, singletons, 12.0, 0, 0).model()
                assert (model.n, model.m) == (n, m)
                assert 0.7 * reach < np.abs(model.theta).max() <= reach
                assert 10 < np.abs(model.weights).max() <= 12
                assert (model.weights.min() > 0) == (kind == "attractive")


def test_every_task_draws_its_own_model():
    digests = set()
    for family in ("K10", "K15"):
        for kind in ("mixed", "attractive"):
            for w_max in (2.0, 4.0):
                for run in range(3):
                    for seed in range(2):
                        draw = Draw(family, kind, "low", w_max, run, seed)
                        assert draw.model().digest == draw.model().digest
                        digests.add(draw.model().digest)
    assert len(digests) == 48


def test_the_summary_has_means_and_standard_errors():
    cell = {"family": "K10", "kind": "mixed", "singletons": "low", "w_max": 2.0}
    cell |= {"method": "trw", "rooting": "max_w", "root": 0, "converged": True}
    lines = summarise([cell | {"error": -1.0, "l1": 0.1}, cell | {"error": 3.0, "l1": 0.3}])
    assert len(lines) == 1
    assert lines[0]["log_z_error"] == 2.0
    assert lines[0]["log_z_error_se"] == pytest.approx(1.0)
    assert lines[0]["l1"] == pytest.approx(0.2)
    assert lines[0]["at_vertex_0"] == 1.0
    assert math.isnan(summarise([cell | {"error": 1.0, "l1": 0.1}])[0]["l1_se"])


def test_a_line_cut_short_by_a_kill_is_not_read(tmp_path):
    with Shards(tmp_path) as shards:
        shards.append("a", [1])
        shards.append("b", [2])
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    with Shards(tmp_path) as again:
        assert again.results == {"a": [1]}
        again.append("b", [3])
    assert Shards(tmp_path).results == {"a": [1], "b": [3]}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_line_is_named(tmp_path):
    (tmp_path / "000000.jsonl").write_text('["a", [1]]\nnonsense\n')
    with pytest.raises(FormatError, match=r"000000\.jsonl, line 2"):
        Shards(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"families": ("K11",)},
        {"kinds": ("odd",)},
        {"singletons": ("high",)},
        {"methods": ("magic",)},
        {"w_max": (0.0,)},
        {"w_max": (math.nan,)},
        {"runs": 0},
    ],
)
def test_settings_out_of_range_are_refused(options):
    with pytest.raises(ModelError, match=next(iter(options))):
        PaperSettings(**options)


def test_arguments_out_of_range_are_refused(tmp_path):
    with pytest.raises(ModelError, match="seed"):
        run_paper(SMALL, tmp_path, seed=-1)
    with pytest.raises(ModelError, match="workers"):
        run_paper(SMALL, tmp_path, workers=0)


SCRIPT = """
import sys
from mapreroot.experiments import PaperSettings, run_paper
if __name__ == "__main__":
    settings = PaperSettings(("K15",), ("mixed",), ("low",), (8.0,), 400, ("bethe",), True)
    run_paper(settings, sys.argv[1], workers=2)
"""


def results_in(folder: Path) -> list[str]:
    return [
        json.loads(line)[0]
        for path in sorted(folder.glob("shards/*.jsonl"))
        for line in path.read_bytes().split(b"\n")[:-1]
    ]


@pytest.mark.slow
def test_a_killed_run_resumes(tmp_path, monkeypatch):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)], start_new_session=True)
    deadline = time.monotonic() + 120
    while len(results_in(tmp_path)) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = results_in(tmp_path)
    assert 5 <= len(before) < 400
    runs = len(before) + 4
    settings = PaperSettings(("K15",), ("mixed",), ("low",), (8.0,), runs, ("bethe",), True)
    run_paper(settings, tmp_path, workers=1)
    after = results_in(tmp_path)
    assert after[: len(before)] == before
    assert len(after) == len(set(after))


@pytest.mark.slow
def test_processes_and_dask_give_the_same_table(tmp_path):
    settings = PaperSettings(("K10",), ("mixed",), ("low",), (4.0,), 3, ("bethe",), False)
    run_paper(settings, tmp_path / "here", workers=1)
    run_paper(settings, tmp_path / "processes", workers=2)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        run_paper(settings, tmp_path / "dask", scheduler=cluster.scheduler_address)
    summaries = [
        (tmp_path / name / "summary.csv").read_text() for name in ("here", "processes", "dask")
    ]
    assert summaries[0] == summaries[1] == summaries[2]
