"""``convert`` to LP and MPS: read back by HiGHS, with names that say what is what."""

import gzip
import json
from pathlib import Path

import highspy
import pytest
from program import run

import mapreroot as mr
from mapreroot.relaxations.highs import new_highs

# Labels that no LP file could hold as they are.
ODD = mr.Model(
    [0.5, 0, -1], [(0, 1), (1, 2), (0, 2)], [-2, 2, 4], 0.25, labels=["a b", "max", "x<1"]
)


def solved(path: Path) -> tuple[float, dict[str, float]]:
    highs = new_highs()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    assert highs.run() == highspy.HighsStatus.kOk
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    values = dict(zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True))
    return highs.getInfo().objective_function_value, values


@pytest.fixture
def model(tmp_path) -> Path:
    path = tmp_path / "model.json"
    mr.write_model(ODD, path)
    return path


@pytest.mark.parametrize("extension", ["lp", "mps"])
@pytest.mark.parametrize("kind", ["mip", "loc", "tri", None])
def test_the_optimum_is_the_bound_or_the_map(model, tmp_path, kind, extension) -> None:
    target = tmp_path / f"out.{extension}"
    done = run("convert", model, target, *(["--relaxation", kind] if kind else []))
    assert (done.returncode, done.stdout) == (0, "")
    assert f"({extension}: {kind or 'mip'}, the score is maximised over 6 columns)" in done.stderr
    best = mr.solve(ODD).score if kind in ("mip", None) else mr.relax(ODD, kind).bound
    assert solved(target)[0] == pytest.approx(best, abs=1e-6)


def test_names_give_the_assignment_back(model, tmp_path) -> None:
    target, names = tmp_path / "out.lp", tmp_path / "names.json"
    assert run("convert", model, target, "--names", names).returncode == 0
    value, columns = solved(target)
    named = json.loads(names.read_text())
    assert set(named) == set(columns)
    assert named["d0_1"] == ["a b", "max"]
    x = {named[name]: round(value) for name, value in columns.items() if name[0] == "x"}
    assert ODD.score(x) == pytest.approx(value)
    run("convert", model, "-", "--to", "lp", "--names", names.with_suffix(".json.gz"))
    assert json.loads(gzip.decompress(names.with_suffix(".json.gz").read_bytes())) == named


def test_loc_is_rooted_where_it_is_asked_for(model, tmp_path) -> None:
    for root in range(4):
        target = tmp_path / f"{root}.mps"
        assert run("convert", model, target, "--relaxation", "loc", "--root", root).returncode == 0
        expected = mr.relax(ODD, "loc", root).bound
        assert solved(target)[0] == pytest.approx(expected, abs=1e-6)


def test_compressed_and_standard_streams(model, tmp_path) -> None:
    assert run("convert", model, tmp_path / "a.lp").returncode == 0
    text = (tmp_path / "a.lp").read_text()
    assert run("convert", model, tmp_path / "b.LP.gz").returncode == 0
    assert gzip.decompress((tmp_path / "b.LP.gz").read_bytes()).decode() == text
    piped = run(
        "convert",
        "-",
        "-",
        "--format",
        "json",
        "--to",
        "lp",
        stdin=gzip.compress(model.read_bytes()),
    )
    assert (piped.returncode, piped.stdout) == (0, text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.json", "--relaxation", "tri"], "--relaxation tri: only where OUT is in lp or mps"),
        (["out.json", "--names", "n.json"], "--names n.json: only where"),
        (["out.uai", "--root", "0"], "--root 0: only where"),
        (["out.lp", "--relaxation", "sdp"], "kind is 'sdp': expected one of loc, tri, mip"),
        (["out.lp", "--root", "9"], "no vertex 9: the model has 0..3"),
        (["out.lp", "--to", "json", "--names", "n.json"], "only where OUT is in lp or mps"),
        (["none/out.lp"], "No such file or directory"),
    ],
)
def test_bad_requests_are_one_line(model, tmp_path, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("convert", model, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
