"""Commands over many models, and what they say when something is missing."""

import csv
import json
import re
import sys
from importlib import metadata
from unittest import mock

import pytest
import typer
from program import run

import mapreroot as mr
from mapreroot import generate
from mapreroot.cli.app import app
from mapreroot.cli.doctor import self_check
from mapreroot.errors import SolverError

TRIANGLE = "3 3\n1 2 1\n2 3 1\n1 3 1\n"
WRONG = "3 3\n1 2 1\n2 3 x\n1 3 1\n"


@pytest.fixture
def folder(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    (models / "triangle.mc").write_text(TRIANGLE)
    mr.write_model(generate.complete(8), models / "k8.json")
    return models


def test_several_files_are_solved_one_by_one(folder):
    files = [folder / "triangle.mc", folder / "k8.json"]
    done = run("solve", *files)
    assert done.returncode == 0
    blocks = done.stdout.split("\n\n")
    assert [block.split()[:2] for block in blocks] == [["file", str(file)] for file in files]
    done = run("solve", *files, "--json")
    assert [json.loads(line)["file"] for line in done.stdout.splitlines()] == list(map(str, files))


def test_of_several_files_the_worst_is_the_exit_code(folder):
    wrong = folder / "wrong.mc"
    wrong.write_text(WRONG)
    done = run("solve", wrong, folder / "none.mc", folder / "triangle.mc", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["objective"] == 2
    assert f"{wrong}, line 3" in done.stderr.splitlines()[0]
    assert "none.mc" in done.stderr.splitlines()[1]
    gap = run("solve", folder / "triangle.mc", folder / "k8.json", "--method", "loc", "--root", "0")
    assert gap.returncode == 1
    with mock.patch("mapreroot.cli.answers.solve_model", side_effect=SolverError("no luck")):
        done = run("solve", folder / "triangle.mc", wrong)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines()[0] == "mapreroot: error: no luck"


def test_what_is_for_one_file_is_refused_for_two(folder, tmp_path):
    for option in ("--output", "--certificate"):
        done = run("solve", folder / "k8.json", folder / "triangle.mc", option, tmp_path / "x")
        assert (done.returncode, done.stdout) == (2, "")
        assert "are for one file" in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_batch_gives_a_table(folder, tmp_path):
    output = tmp_path / "r.csv"
    done = run("batch", folder, "-o", output, "--workers", 1)
    assert done.returncode == 0
    assert done.stderr == ""
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["output", str(output)],
        ["files", "2"],
        ["optimal", "2"],
        ["feasible", "0"],
        ["errors", "0"],
    ]
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["file"] for row in rows] == [str(folder / "k8.json"), str(folder / "triangle.mc")]
    assert rows[1]["objective"] == "2.0"


def test_a_batch_says_what_it_could_not_read(folder, tmp_path):
    for k in range(12):
        (folder / f"wrong_{k:02d}.mc").write_text(WRONG)
    done = run("batch", folder, "-o", tmp_path / "r.csv", "--workers", 1, "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout) == {
        "output": str(tmp_path / "r.csv"),
        "files": 14,
        "optimal": 2,
        "feasible": 0,
        "errors": 12,
    }
    lines = done.stderr.splitlines()
    assert [f"wrong_{k:02d}.mc, line 3" in line for k, line in enumerate(lines[:10])] == [True] * 10
    assert lines[10:] == ["mapreroot: and 2 more, see the table"]
    assert run("batch", folder, "-o", tmp_path / "r.csv", "--workers", 1, "-q").stderr == ""


def test_a_batch_with_a_gap(tmp_path):
    mr.write_model(generate.complete(40), tmp_path / "k40.json")
    done = run("batch", tmp_path, "-o", tmp_path / "r.csv", "--workers", 1, "--method", "loc")
    assert done.returncode == 1
    assert ["feasible", "1"] in [line.split() for line in done.stdout.splitlines()]


def test_ctrl_c_says_that_nothing_is_lost(folder, tmp_path):
    for target, arguments in (
        ("run_batch", ("batch", folder, "-o", tmp_path / "r.csv")),
        ("run_paper", ("experiment", "paper", tmp_path)),
    ):
        with mock.patch(f"mapreroot.cli.studies.{target}", side_effect=KeyboardInterrupt):
            done = run(*arguments)
        assert (done.returncode, done.stdout) == (130, "")
        assert "the same command goes on from there" in done.stderr


def test_a_batch_of_a_list_on_stdin(folder, tmp_path):
    arguments = ("batch", "-", "-o", tmp_path / "r.csv", "--workers", 1, "--json")
    done = run(*arguments, stdin=f"{folder / 'triangle.mc'}\n# no more\n".encode())
    assert json.loads(done.stdout)["files"] == 1
    done = run(*arguments, stdin=TRIANGLE.encode())
    assert done.returncode == 2
    assert "<stdin>: names no file" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["batch", "{folder}"], "--output"),
        (["batch", "{folder}", "-o", "r.xlsx"], ".parquet, .csv or .csv.gz"),
        (["batch", "{folder}", "-o", "r.csv", "--method", "magic"], "'magic'"),
        (["batch", "{folder}", "-o", "r.csv", "--workers", "0"], "workers is 0"),
        (["batch", "{empty}", "-o", "r.csv"], "no model files"),
        (["report", "{folder}/triangle.mc"], "--output"),
        (["report", "{folder}/none.mc", "-o", "r.html"], "none.mc"),
        (["report", "{folder}/k8.json", "-o", "r.html", "--time-limit", "-1"], "time limit is -1"),
        (["experiment", "dance"], "No such command"),
        (["experiment", "paper", "{empty}", "--family", "K99"], "'K99'"),
        (["experiment", "paper", "{empty}", "--runs", "0"], "runs is 0"),
    ],
)
def test_bad_usage_is_one_line(folder, tmp_path, monkeypatch, arguments, message):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    done = run(*(part.format(folder=folder, empty=tmp_path / "empty") for part in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_extra_is_named(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("batch", folder, "-o", tmp_path / "r.parquet")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'mapreroot[experiments]'" in done.stderr
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run("batch", folder, "-o", tmp_path / "r.csv", "--scheduler", "tcp://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'mapreroot[experiments]'" in done.stderr


def test_a_report_is_a_page(folder, tmp_path):
    proof, page = tmp_path / "proof.json", tmp_path / "report.html"
    assert run("solve", folder / "triangle.mc", "--certificate", proof).returncode == 0
    done = run("report", folder / "triangle.mc", "-o", page, "--certificate", proof)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"mapreroot: {page}: 3 variables, 3 edges\n"
    assert "triangle.mc" in page.read_text()
    fixed = run("report", folder / "triangle.mc", "-o", "-", "--fix", "1=1")
    assert fixed.stdout.startswith("<!DOCTYPE html>")


def test_the_paper_experiment(tmp_path):
    settings = "--family K10 --kind mixed --singletons low --w-max 2 --runs 2 --method trw"
    done = run(
        "experiment", "paper", tmp_path, *settings.split(), "--no-every-root", "--workers", 1
    )
    assert done.returncode == 0
    assert [line.rpartition("/")[2] for line in done.stdout.splitlines()] == [
        "results.parquet",
        "summary.csv",
        "K10_mixed_trw.png",
    ]
    with (tmp_path / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["rooting"] for row in rows} == {"original", "uprooted", "max_w", "max_tw"}
    assert {row["runs"] for row in rows} == {"2"}


def test_the_doctor_finds_nothing_wrong():
    done = run("doctor", "--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["ok"], record["failure"]) == (0, True, None)
    assert record["versions"]["numpy"] == metadata.version("numpy")
    assert record["versions"]["mapreroot"] == mr.__version__
    assert len(record["checks"]) == 8
    assert "certificate, auto, maxflow, tree, loc, tri, exact, enumerate" in record["checks"][0]


@pytest.fixture
def unchecked(monkeypatch):
    """Leave the self-check out: what is installed is what these tests are about."""
    monkeypatch.setattr("mapreroot.cli.doctor.self_check", lambda engines: iter(["small"]))


def without(monkeypatch, *names):
    def version(name):
        if name.lower() in names:
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("mapreroot.experiments.versions.version", version)


def test_the_doctor_shows_the_way_to_an_extra(unchecked, monkeypatch):
    without(monkeypatch, "dimod", "ortools")
    done = run("doctor")
    assert done.returncode == 0
    assert re.search(r"^dimod +missing: pip install 'mapreroot\[dimod\]'$", done.stdout, re.M)
    assert re.search(r"^ortools +missing: pip install 'mapreroot\[\w+\]'$", done.stdout, re.M)
    assert "all is well" in done.stdout


def test_one_of_two_engines_is_enough(unchecked, monkeypatch):
    without(monkeypatch, "pymaxflow")
    assert run("doctor").returncode == 0
    without(monkeypatch, "pymaxflow", "ortools")
    done = run("doctor")
    assert done.returncode == 1
    assert "FAILED  pymaxflow is needed" in done.stdout


def test_the_doctor_reports_what_is_needed(unchecked, monkeypatch):
    without(monkeypatch, "highspy")
    done = run("doctor")
    assert done.returncode == 1
    assert "FAILED  highspy is needed" in done.stdout
    assert json.loads(run("doctor", "--json").stdout)["ok"] is False


def test_the_doctor_notices_a_wrong_answer(monkeypatch):
    from dataclasses import replace

    from mapreroot.solve import solve

    def wrong(model, method="auto", **options):
        result = solve(model, method, **options)
        return replace(result, score=result.score - 1) if method == "tri" else result

    monkeypatch.setattr("mapreroot.cli.doctor.solve", wrong)
    with pytest.raises(SolverError, match="tri says"):
        list(self_check([]))
    done = run("doctor")
    assert done.returncode == 1
    assert "FAILED  SolverError: tri says" in done.stdout
    assert "something is wrong" in done.stdout


def commands(group, *names):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield (*names, name), command
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)


@pytest.mark.parametrize("names", [names for names, _ in commands(typer.main.get_command(app))])
def test_help_fits_a_screen(names, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*names, "--help")
    assert done.returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    if names not in (("generate",), ("experiment",)):
        assert "Example: mapreroot " + " ".join(names) in done.stdout
