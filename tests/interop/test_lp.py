"""LP and MPS files: read back by HiGHS, their optima are the bounds and MAP."""

import itertools
from pathlib import Path

import highspy
import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import finite_floats, models

import mapreroot as mr
from mapreroot.interop.lp import write_lp
from mapreroot.relaxations import declarative
from mapreroot.relaxations.highs import new_highs

ODD = ["a b", "a_b", ("a", 1), "", "e", "x1", None]


def optimum(path: Path) -> tuple[float, dict[str, float]]:
    highs = new_highs()
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    if highs.getNumCol() == 0:  # nothing to optimise
        return float(highs.getObjectiveOffset()[1]), {}
    assert highs.run() == highspy.HighsStatus.kOk
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    values = dict(zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True))
    return float(highs.getInfo().objective_function_value), values


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("lp")


@settings(max_examples=25)
@given(models(max_n=5, min_n=1), st.sampled_from(["a.lp", "a.mps"]), st.data())
def test_optima_are_the_bounds_and_map(folder, model, name, data) -> None:
    model = mr.Model(model.theta, model.edges, model.weights, model.constant, ODD[: model.n])
    root = data.draw(st.integers(0, model.n))
    uprooted = mr.uproot(model)
    path = folder / name
    write_lp(model, path, "loc", root)
    assert optimum(path)[0] == pytest.approx(declarative.loc(uprooted, root).bound, abs=1e-6)
    write_lp(model, path, "tri")
    assert optimum(path)[0] == pytest.approx(declarative.tri(uprooted).bound, abs=1e-6)
    write_lp(model, path, "mip", root)
    best = oracle.best_score(model)
    assert optimum(path)[0] == pytest.approx(best, abs=1e-6)
    names = write_lp(model, path, "mip")
    value, columns = optimum(path)
    assert value == pytest.approx(best, abs=1e-6)
    assert set(columns) == set(names)
    x = {names[column]: round(v) for column, v in columns.items() if column.startswith("x")}
    assert model.score(x) == pytest.approx(best, abs=1e-6)
    for column in (column for column in columns if column.startswith("d")):
        i, j = names[column]
        assert columns[column] == pytest.approx(abs(x[i] - x[j]), abs=1e-6)


@given(models(max_n=4, potentials=finite_floats), st.sampled_from(["a.lp", "a.mps"]))
def test_the_objective_reads_back_exactly(folder, model, name) -> None:
    names = write_lp(model, folder / name)
    highs = new_highs()
    assert highs.readModel(str(folder / name)) == highspy.HighsStatus.kOk
    lp = highs.getLp()
    assert lp.offset_ == model.constant
    assert lp.sense_ == highspy.ObjSense.kMaximize or not lp.num_col_
    place = {names[column]: cost for column, cost in zip(lp.col_names_, lp.col_cost_, strict=True)}
    expected = dict(zip(range(model.n), model.theta.tolist(), strict=True))
    expected |= {
        (i, j): -w / 2
        for (i, j), w in zip(model.edges.tolist(), model.weights.tolist(), strict=True)
    }
    assert place == expected


def test_compressed_files_and_hard_constraints(tmp_path) -> None:
    model = mr.Model([1.0, 2.0], [(0, 1)], [-1.0], forbidden=[(1, 1)])
    write_lp(model, tmp_path / "a.lp")
    write_lp(model, tmp_path / "a.lp.gz")
    assert (tmp_path / "a.lp.gz").read_bytes()[:2] == b"\x1f\x8b"
    value, columns = optimum(tmp_path / "a.lp")
    assert (value, columns["x0"], columns["x1"]) == pytest.approx((1.5, 1, 0))


def test_bad_requests(tmp_path) -> None:
    model = mr.Model([1.0], [], [])
    with pytest.raises(mr.ModelError, match=r"expected an extension \.lp or \.mps"):
        write_lp(model, tmp_path / "a.txt")
    with pytest.raises(mr.ModelError, match="kind is 'sdp'"):
        write_lp(model, tmp_path / "a.lp", "sdp")
    with pytest.raises(mr.ModelError, match="no vertex 2"):
        write_lp(model, tmp_path / "a.lp", "loc", 2)
    n = 80
    pairs = list(itertools.combinations(range(n), 2))
    clique = mr.Model(np.zeros(n), pairs, np.ones(len(pairs)))
    with pytest.raises(mr.SizeError, match="TRI has 328640 triangle inequalities"):
        write_lp(clique, tmp_path / "a.lp", "tri")
    assert not list(tmp_path.iterdir())
