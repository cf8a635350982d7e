"""Batches: one row for each file, whatever is wrong with the file or dies on the way."""

import csv
import ctypes
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest

import mapreroot as mr
from mapreroot import generate
from mapreroot.errors import FormatError, ModelError, SolverError
from mapreroot.experiments import model_files, run_batch
from mapreroot.experiments.batch import solve_file
from mapreroot.pool import Failure, spread

TRIANGLE = "3 3\n1 2 1\n2 3 1\n1 3 1\n"


def echo(task):
    return task


def misbehave(task):
    if task == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "raises":
        raise ValueError("two\nlines")
    if task.startswith("once"):
        marker = task.removeprefix("once ")
        if not os.path.exists(marker):
            open(marker, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
    return task.upper()


@pytest.fixture
def folder(tmp_path):
    """Six small models; one of them cannot be read."""
    models = tmp_path / "models"
    models.mkdir()
    for seed in range(4):
        mr.write_model(generate.complete(8, seed=seed), models / f"k8_{seed}.json")
    (models / "triangle.mc").write_text(TRIANGLE)
    (models / "wrong.mc").write_text("3 3\n1 2 1\n2 3 x\n1 3 1\n")
    (models / "notes.md").write_text("not a model\n")
    (models / ".hidden.mc").write_text(TRIANGLE)
    return models


def recorded(output):
    """Give the file of each result that was written down, in order."""
    return [
        json.loads(json.loads(line)[0])[0]
        for shard in sorted(output.with_name(output.name + ".shards").glob("*.jsonl"))
        for line in shard.read_text().splitlines()
    ]


def test_one_row_for_each_file(folder, tmp_path):
    seen = []
    rows = run_batch(
        model_files(folder), tmp_path / "r.csv", workers=1, progress=lambda *n: seen.append(n)
    )
    assert seen == [(k, 6) for k in range(7)]
    assert [os.path.basename(row.file) for row in rows] == [
        *(f"k8_{seed}.json" for seed in range(4)),
        "triangle.mc",
        "wrong.mc",
    ]
    for row in rows[:-1]:
        model = mr.read_model(row.file)
        result = mr.solve(model)
        assert (row.digest, row.n, row.m) == (model.digest, model.n, model.m)
        assert (row.score, row.bound, row.gap) == (result.score, result.bound, result.gap)
        assert (row.status, row.stopped, row.error) == ("optimal", None, None)
        assert (row.method, row.root) == (result.method, result.root)
        assert f"mapreroot {mr.__version__}" in row.versions
    assert (rows[4].objective, rows[4].sense) == (2, "max")
    assert rows[5].score is None
    assert rows[5].digest is None
    assert f"{folder / 'wrong.mc'}, line 3" in rows[5].error


def test_csv_and_parquet_hold_the_rows(folder, tmp_path):
    files = model_files(folder)
    rows = run_batch(files, tmp_path / "r.csv", workers=1)
    with (tmp_path / "r.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["file"] for line in lines] == files
    assert [line["score"] for line in lines[:-1]] == [repr(row.score) for row in rows[:-1]]
    assert lines[-1]["score"] == ""
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = run_batch(files, tmp_path / "r.parquet", workers=1)
    table = parquet.read_table(tmp_path / "r.parquet")
    assert table.to_pylist() == [asdict(row) for row in rows]
    assert str(table.schema.field("n").type) == "int64"
    assert str(table.schema.field("stopped").type) == "string"


def test_called_again_only_what_is_new_or_changed_is_computed(folder, tmp_path):
    output = tmp_path / "r.csv"
    files = model_files(folder)
    first = run_batch(files[:3], output, workers=1)
    assert recorded(output) == files[:3]
    again = run_batch(files, output, workers=1)
    assert recorded(output) == files
    assert again[:3] == first
    (folder / "wrong.mc").write_text(TRIANGLE)
    mended = run_batch(files, output, workers=1)
    assert mended[:5] == again[:5]
    assert mended[5].objective == 2
    assert recorded(output) == [*files, files[5]]
    run_batch(files, output, workers=1, gap=0.5)
    assert recorded(output)[7:] == files


def test_a_file_named_twice_counts_once(folder, tmp_path):
    path = folder / "triangle.mc"
    assert len(run_batch([path, str(path)], tmp_path / "r.csv", workers=1)) == 1


def test_a_limit_is_for_each_model(tmp_path):
    mr.write_model(generate.complete(60, seed=0), tmp_path / "dense.json")
    (row,) = run_batch([tmp_path / "dense.json"], tmp_path / "r.csv", time_limit=0.0, workers=1)
    assert (row.status, row.stopped) == ("feasible", "time")
    assert row.score <= row.bound
    assert row.gap == (row.bound - row.score) / max(1.0, abs(row.score))


def test_what_may_pass_is_tried_again_and_not_written_down(folder, tmp_path, monkeypatch):
    tries = []

    def failing(path, **settings):
        tries.append(path)
        if "k8_1" in path or ("k8_2" in path and tries.count(path) == 1):
            raise SolverError("out of luck")
        return solve_file(path, **settings)

    monkeypatch.setattr("mapreroot.experiments.batch.solve_file", failing)
    files, output = model_files(folder), tmp_path / "r.csv"
    rows = run_batch(files, output, workers=1, retries=2)
    assert [tries.count(file) for file in files] == [1, 3, 2, 1, 1, 1]
    assert [row.error is None for row in rows] == [True, False, True, True, True, False]
    assert rows[1].error == "out of luck"
    monkeypatch.undo()
    rows = run_batch(files, output, workers=1)
    assert rows[1].status == "optimal"
    assert recorded(output) == [files[0], *files[2:], files[1]]


def test_a_missing_file_is_a_row(folder, tmp_path):
    rows = run_batch([folder / "none.mc", folder / "triangle.mc"], tmp_path / "r.csv", workers=1)
    assert "none.mc" in rows[0].error
    assert rows[1].objective == 2


def test_an_interrupted_answer_is_not_kept(folder, tmp_path, monkeypatch):
    def interrupting(path, **settings):
        if path.endswith("k8_2.json"):
            signal.raise_signal(signal.SIGINT)
        return solve_file(path, **settings)

    monkeypatch.setattr("mapreroot.experiments.batch.solve_file", interrupting)
    output = tmp_path / "r.csv"
    with pytest.raises(KeyboardInterrupt):
        run_batch(model_files(folder), output, workers=1)
    assert recorded(output) == model_files(folder)[:2]
    assert not output.exists()


def solve_but_get_stuck(path, **settings):
    if "k8_1" in path:
        ctypes.PyDLL(None).sleep(1000)
    return solve_file(path, **settings)


@pytest.mark.slow
def test_a_model_that_ignores_its_limit_is_a_row(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("mapreroot.experiments.batch.solve_file", solve_but_get_stuck)
    files, output = model_files(folder), tmp_path / "r.csv"
    limits = {"time_limit": 5.0, "grace": 20.0}
    rows = run_batch(files, output, **limits, workers=2)
    assert [row.status for row in rows] == ["optimal", None, *["optimal"] * 3, None]
    assert rows[1].error == "killed: still busy after 25 s"
    monkeypatch.undo()
    rows = run_batch(files, output, **limits, workers=1)
    assert rows[1].status == "optimal"
    assert recorded(output)[-1] == files[1]
    assert sorted(recorded(output)) == files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": -1.0}, "time_limit is -1"),
        ({"grace": -1.0}, "grace is -1"),
        ({"gap": -1.0}, "gap is -1"),
        ({"method": "magic"}, "'magic'"),
        ({"format": "magic"}, "'magic'"),
        ({"workers": 0}, "workers is 0"),
        ({"retries": -1}, "retries is -1"),
        ({"output": "results.xlsx"}, "results.xlsx: expected a name"),
        ({"paths": []}, "no model files"),
    ],
)
def test_bad_arguments_are_refused_at_once(folder, tmp_path, arguments, message):
    given = {"paths": [folder / "triangle.mc"], "output": tmp_path / "r.csv"} | arguments
    with pytest.raises(ModelError, match=message):
        run_batch(**given)
    assert not (tmp_path / "r.csv").exists()


def test_parquet_without_pyarrow_names_the_extra(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"mapreroot\[experiments\]"):
        run_batch([folder / "triangle.mc"], tmp_path / "r.parquet", workers=1)
    assert not (tmp_path / "r.parquet.shards").exists()


def test_a_cluster_without_dask_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"mapreroot\[experiments\]"):
        list(spread(echo, [1], scheduler="tcp://127.0.0.1:1"))


def test_folders_and_lists(folder, tmp_path):
    assert len(model_files(folder)) == 6
    assert len(model_files(folder, "json")) == 7  # all but hidden ones
    listed = tmp_path / "models.list"
    listed.write_text(f"# two\nmodels/triangle.mc\n\n{folder / 'k8_0.json'}\n")
    assert model_files(listed) == [str(folder / "triangle.mc"), str(folder / "k8_0.json")]
    listed.write_text(TRIANGLE)
    with pytest.raises(FormatError, match=r"models\.list: names no file"):
        model_files(listed)


def test_processes_that_die_or_raise(tmp_path):
    once = f"once {tmp_path / 'marker'}"
    tasks = ["a", "dies", "b", "raises", once, "c", "d"]
    found = list(spread(misbehave, tasks, workers=2, retries=1))
    assert sorted(index for index, _ in found) == list(range(7))
    results = dict(found)
    assert [results[k] for k in (0, 2, 4, 5, 6)] == [tasks[k].upper() for k in (0, 2, 4, 5, 6)]
    assert results[1] == Failure("its process died with exit code -9")
    assert results[3] == Failure("ValueError: two lines")
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_leaving_early_ends_the_processes():
    for _ in spread(echo, list(range(50)), workers=2):
        break
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_processes_that_cannot_start(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from mapreroot.pool import spread\nprint(list(spread(abs, [1, 2, 3], workers=2)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "SolverError: processes do not start" in done.stderr.splitlines()[-1]


def busy_models(folder, count):
    """Make models that take a moment each."""
    folder.mkdir()
    for seed in range(count):
        model = generate.complete(22, couplings="uniform", strength=1.0, seed=seed)
        mr.write_model(model, folder / f"{seed:02d}.json")
    return model_files(folder)


@pytest.mark.slow
def test_a_killed_worker_costs_nothing(tmp_path):
    files = busy_models(tmp_path / "models", 8)
    output = tmp_path / "r.csv"
    killed = []

    def kill(done, total):
        if done == 1:
            killed.extend(multiprocessing.active_children())
            killed[0].kill()

    rows = run_batch(files, output, workers=2, progress=kill)
    assert len(killed) == 2
    assert [row.file for row in rows] == files
    assert {row.status for row in rows} == {"optimal"}
    assert sorted(recorded(output)) == files


@pytest.mark.slow
def test_a_killed_batch_resumes(tmp_path):
    files = busy_models(tmp_path / "models", 12)
    output = tmp_path / "r.csv"
    command = [sys.executable, "-m", "mapreroot", "batch", tmp_path / "models", "-o", output]
    command += ["--workers", "2"]
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(recorded(output)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()  # the program only: its processes have to notice by themselves
    process.wait()
    before = recorded(output)
    assert 3 <= len(before) < 12
    assert not output.exists()
    rows = run_batch(files, output, workers=2)
    assert [row.file for row in rows] == files
    assert {row.status for row in rows} == {"optimal"}
    assert recorded(output)[: len(before)] == before
    assert sorted(recorded(output)) == files


@pytest.mark.slow
def test_ctrl_c_ends_a_batch_in_one_line(tmp_path):
    files = busy_models(tmp_path / "models", 12)
    output = tmp_path / "r.csv"
    command = [sys.executable, "-m", "mapreroot", "batch", tmp_path / "models", "-o", output]
    process = subprocess.Popen(
        [*map(str, command), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal sends the signal to all processes of a command
    )
    deadline = time.monotonic() + 120
    while len(recorded(output)) < 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert [line for line in err.splitlines() if line] == [
        "mapreroot: interrupted: what is finished is kept, and the same command goes on from there"
    ]
    assert 1 <= len(recorded(output)) < len(files)
    assert not output.exists()


@pytest.mark.slow
def test_a_cluster_whose_worker_is_killed_loses_nothing(tmp_path):
    distributed = pytest.importorskip("distributed")
    files = busy_models(tmp_path / "models", 12)
    output = tmp_path / "r.csv"
    killed = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:

        def kill(done, total):
            if done == 3:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        rows = run_batch(files, output, scheduler=cluster.scheduler_address, progress=kill)
    assert len(killed) == 1
    assert [row.file for row in rows] == files
    assert {row.status for row in rows} == {"optimal"}
    assert sorted(recorded(output)) == files
