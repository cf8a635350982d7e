"""UAI and libDAI files, evidence, hard constraints and result files."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapreroot as mr
from mapreroot.formats import (
    read_evidence,
    read_file,
    read_model,
    write_mar,
    write_model,
    write_mpe,
    write_pr,
)

PREAMBLE = "MARKOV\n3\n2 2 2\n3\n1 0\n2 0 1\n2 1 2\n\n"
CHAIN = PREAMBLE + "2\n 1 2\n4\n 3 1 1 5\n4\n 1 7 2 1\n"
ONE_PAIR = "MARKOV\n2\n2 2\n1\n2 0 1\n\n"


def read(tmp_path: Path, content: str, name: str = "uai", **how: object) -> mr.Model:
    path = tmp_path / "model"
    path.write_text(content)
    return read_model(path, name, **how)  # type: ignore[arg-type]


def assignments(n: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=n))


def close(a: float, b: float) -> bool:
    return a == b or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def test_the_score_is_the_logarithm_of_the_product(tmp_path: Path) -> None:
    model = read(tmp_path, CHAIN)
    f, g, h = [1, 2], [[3, 1], [1, 5]], [[1, 7], [2, 1]]
    for a, b, c in assignments(3):
        assert close(model.score((a, b, c)), math.log(f[a] * g[a][b] * h[b][c]))


@pytest.mark.parametrize(
    "content",
    [
        CHAIN.replace("\n", "\r\n"),
        CHAIN.replace("MARKOV", "BAYES"),
        " ".join(CHAIN.split()),
        "c made by hand\n" + CHAIN.replace("\n\n", "\nc tables\n"),
        CHAIN.replace("3 1 1 5", "3e0 1.0 .1E+1 +5"),
    ],
)
def test_spellings(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == read(tmp_path, CHAIN)


def test_repeated_and_reversed_scopes_multiply(tmp_path: Path) -> None:
    content = (
        "MARKOV\n2\n2 2\n5\n2 0 1\n2 1 0\n1 1\n1 1\n0\n\n4 1 2 3 4\n4 5 6 7 8\n2 1 9\n2 2 1\n1 10\n"
    )
    model = read(tmp_path, content)
    f, g = [[1, 2], [3, 4]], [[5, 6], [7, 8]]
    for a, b in assignments(2):
        product = f[a][b] * g[b][a] * [1, 9][b] * [2, 1][b] * 10
        assert close(model.score((a, b)), math.log(product))


def test_zeros_are_hard_constraints(tmp_path: Path) -> None:
    model = read(tmp_path, ONE_PAIR + "4 0 5 3 4")
    assert model.forbidden == ((0, 0, 1, 0),)
    assert model.score((0, 0)) == -math.inf
    assert close(model.score((0, 1)), math.log(5))
    model = read(tmp_path, "MARKOV\n1\n2\n1\n1 0\n2 0 3")
    assert model.forbidden == ((0, 0),)


def test_a_tiny_entry_is_no_zero(tmp_path: Path) -> None:
    model = read(tmp_path, ONE_PAIR + "4 1e-400 1 1 0.0e-5")
    assert model.forbidden == ((0, 1, 1, 1),)
    assert close(model.score((0, 0)), -400 * math.log(10))


def test_a_variable_with_one_state_stays_at_0(tmp_path: Path) -> None:
    content = "MARKOV\n3\n2 1 2\n2\n2 0 1\n3 1 2 0\n\n2\n 1 4\n4\n 3 1 2 5\n"
    model = read(tmp_path, content)
    assert (model.n, model.forbidden) == (3, ((1, 1),))
    assert close(model.score((1, 0, 0)), math.log(4 * 1))
    assert close(model.score((0, 0, 1)), math.log(1 * 2))


ERRORS = [
    ("my model\nMARKOV\n2\n", 1, "MARKOV or BAYES at the beginning, found 'my'"),
    ("c nothing else\n", None, "MARKOV"),
    ("MARKOV\n", 1, "the file ends where the number of variables"),
    ("MARKOV\n2\n2\n", 3, "the file ends where a number of states"),
    ("MARKOV\n99999999999 2\n", 1, "fewer than"),
    ("MARKOV\n2\n2 0\n1\n1 0\n2 1 1\n", 3, "variable 1 has 0 states"),
    ("MARKOV\n2\n2 -2\n1\n1 0\n2 1 1\n", 3, "'-2' is not a number of states"),
    ("MARKOV\n2\n2 2.0\n1\n1 0\n2 1 1\n", 3, "'2.0' is not a number of states"),
    ("MARKOV\n2\n2 1_0\n1\n1 0\n2 1 1\n", 3, "'1_0' is not a number of states"),
    ("MARKOV\n2\n2 2\n1\n2 0 2\n\n4 1 1 1 1\n", 5, r"factor 0 covers variable 2.*0\.\.1"),
    ("MARKOV\n2\n2 2\n1\n2 0 0\n\n4 1 1 1 1\n", 5, "factor 0 covers a variable twice"),
    ("MARKOV\n2\n2 3\n1\n2 0 1\n\n6\n 1 2 3 4 5 6\n", None, "variable 1 has 3 states"),
    (
        "MARKOV\n3\n2 2 2\n1\n3 0 1 2\n\n8\n 1 2 3 4 5 6 7 9\n",
        None,
        r"factor 0 has order 3 \(variables 0, 1, 2\)",
    ),
    (ONE_PAIR + "4\n 1 -2 3 4\n", 8, "factor 0: the table entry '-2' is negative"),
    (ONE_PAIR + "4\n 1 nan 3 4\n", 8, "factor 0: .*'nan' is not a finite"),
    (ONE_PAIR + "4\n 1 inf 3 4\n", 8, "'inf' is not a finite"),
    (ONE_PAIR + "4\n 1 2 3\n 1e999\n", 9, "'1e999' is not a finite"),
    (ONE_PAIR + "4\n 1 2 x 4\n", 8, "factor 0: .*'x' is not a finite"),
    (ONE_PAIR + "4\n 1 2 1_0 4\n", 8, "'1_0'"),
    (ONE_PAIR + "3\n 1 2 3\n", 7, r"factor 0 .*2 x 2 .*table of 4 entries, found '3'"),
    (ONE_PAIR + "4\n 1 2 3\n", 8, "inside the table of factor 0: expected 4 entries, found 3"),
    (ONE_PAIR, 5, "ends where the table of factor 0"),
    (ONE_PAIR + "4\n 1 2 3 4 9\n", 8, "trailing '9' after the last table"),
    (ONE_PAIR + "4\n 1 2 3 4\nend\n", 9, "trailing 'end'"),
    ("MARKOV\n2\n2 2\n3\n1 0\n", 5, "the file ends where the order of factor 1"),
]


@pytest.mark.parametrize(("content", "line", "message"), ERRORS)
def test_errors_name_the_line(tmp_path: Path, content: str, line: int | None, message: str) -> None:
    with pytest.raises(mr.FormatError) as caught:
        read(tmp_path, content)
    assert re.search(message, str(caught.value))
    assert caught.value.line == line
    assert caught.value.path == str(tmp_path / "model")


@pytest.mark.parametrize(
    "tables",
    ["0\n\n1 0", "1 0\n\n2 0 0", "2 0 1\n\n4 0 0 0 0"],
)
def test_a_table_of_zeros_contradicts_everything(tmp_path: Path, tables: str) -> None:
    with pytest.raises(mr.InfeasibleError, match=r"model: .*contradict"):
        read(tmp_path, "MARKOV\n2\n2 2\n1\n" + tables)


# Evidence


@pytest.mark.parametrize(
    ("content", "observed"),
    [
        ("1 1 0\n", {"1": 0}),
        ("2 1 0 2 1\n", {"1": 0, "2": 1}),
        ("1\n2 1 0 2 1\n", {"1": 0, "2": 1}),
        ("1\n1 6 1\n", {"6": 1}),
        ("0\n", {}),
        ("1\n0\n", {}),
    ],
)
def test_both_dialects_of_evidence(tmp_path: Path, content: str, observed: dict[str, int]) -> None:
    path = tmp_path / "model.evid"
    path.write_text(content)
    assert read_evidence(path) == observed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("2 1 0\n", "2 observed variables need 4 words, the file has 2"),
        ("2\n1 1 0\n1 2 0\n", "2 observed variables need 4 words, the file has 6"),
        ("3\n1 0 1\n", "3 samples of evidence: expected 1"),
        ("2 1 0 1 0\n", "variable 1 is observed twice"),
        ("1 1 x\n", "'x' is not an observed variable"),
        ("1 1 -1\n", "'-1' is not"),
    ],
)
def test_evidence_errors(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "model.evid"
    path.write_text(content)
    with pytest.raises(mr.FormatError, match=message):
        read_evidence(path)


def test_evidence_is_removed_and_put_back(tmp_path: Path) -> None:
    path, evidence = tmp_path / "a.uai", tmp_path / "a.uai.evid"
    path.write_text(CHAIN)
    evidence.write_text("1\n1 1 0\n")
    file = read_file(path, evidence=evidence)
    whole = read_model(path)
    assert file.model.labels == (0, 2)
    assert file.labels == (0, 1, 2)
    assert file.fixed == {1: 0}
    assert file.assignment([1, 0]) == {0: 1, 1: 0, 2: 0}
    assert list(file.assignment([1, 0])) == [0, 1, 2]
    for a, c in assignments(2):
        assert close(file.model.score((a, c)), whole.score((a, 0, c)))
    assert read_model(path, evidence={1: 0}) == file.model == read_model(path, evidence={"1": 0})


def test_evidence_comes_before_the_order_and_the_states_are_judged(tmp_path: Path) -> None:
    third = "MARKOV\n3\n2 2 2\n1\n3 0 1 2\n\n8\n 1 2 3 4 5 6 7 9\n"
    model = read(tmp_path, third, evidence={1: 1})
    for a, c in assignments(2):
        assert close(model.score((a, c)), math.log([1, 2, 3, 4, 5, 6, 7, 9][4 * a + 2 + c]))
    states = "MARKOV\n2\n2 3\n1\n2 0 1\n\n6\n 1 2 3 4 5 6\n"
    model = read(tmp_path, states, evidence={1: 2})
    assert close(model.score([1]), math.log(6))
    fourth = "MARKOV\n4\n2 2 2 2\n1\n4 0 1 2 3\n\n16\n" + "1 " * 16
    with pytest.raises(mr.FormatError, match=r"factor 0 has order 4 .*1 of them observed"):
        read(tmp_path, fourth, evidence={3: 0})


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({7: 0}, "evidence for 7: no variable"),
        ({"x": 0}, "evidence for 'x': no variable"),
        ({1: 2}, "evidence for variable 1 is 2: it has 2 states"),
        ({1: "0"}, "evidence for 1 is '0': expected an integer"),
        ({1: 0, "1": 0}, "observed twice"),
    ],
)
def test_evidence_that_makes_no_sense(
    tmp_path: Path, evidence: dict[object, int], message: str
) -> None:
    with pytest.raises(mr.FormatError, match=message):
        read(tmp_path, CHAIN, evidence=evidence)


def test_evidence_for_labels_that_print_alike(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_model(mr.Model([1, 2, 3], [], [], labels=(1, "1", "a")), path)
    assert read_model(path, evidence={"1": 1}).labels == (1, "a")
    assert read_model(path, evidence={1: 1}).labels == ("1", "a")
    evidence = tmp_path / "evid"
    evidence.write_text("1 1 1")
    assert read_model(path, evidence=evidence).labels == (1, "a")
    with pytest.raises(mr.FormatError, match="expected 0 or 1"):
        read_model(path, evidence={"a": 2})


@pytest.mark.parametrize(
    ("content", "evidence"),
    [
        (ONE_PAIR + "4 0 1 1 0", {0: 1, 1: 1}),
        ("MARKOV\n3\n2 2 2\n2\n2 0 1\n2 1 2\n4 0 1 1 0 4 1 0 0 1", {0: 1, 2: 1}),
        ("MARKOV\n1\n2\n1\n1 0\n2 0 1", {0: 0}),
    ],
)
def test_impossible_evidence(tmp_path: Path, content: str, evidence: dict[int, int]) -> None:
    with pytest.raises(mr.InfeasibleError, match="evidence"):
        read(tmp_path, content, evidence=evidence)


# Writing


@st.composite
def hard_models(draw: st.DrawFn) -> mr.Model:
    """Models that an assignment drawn with them satisfies."""
    n = draw(st.integers(1, 5))
    x = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    number = st.floats(-20, 20)
    theta = draw(st.lists(number, min_size=n, max_size=n))
    pairs = list(itertools.combinations(range(n), 2))
    weights = draw(st.lists(number, min_size=len(pairs), max_size=len(pairs)))
    rows: list[tuple[int, ...]] = []
    for i, j in pairs:
        for a, b in itertools.product((0, 1), repeat=2):
            if (a, b) != (x[i], x[j]) and draw(st.integers(0, 3)) == 0:
                rows.append((i, a, j, b))
    rows += [(i, 1 - x[i]) for i in range(n) if draw(st.integers(0, 3)) == 0]
    return mr.Model(theta, pairs, weights, draw(number), forbidden=rows)


@given(hard_models(), st.sampled_from(["uai", "fg"]))
def test_hard_constraints_are_written_as_zeros(
    tmp_path_factory: pytest.TempPathFactory, model: mr.Model, name: str
) -> None:
    path = tmp_path_factory.mktemp("hard") / "a"
    write_model(model, path, name)
    again = read_model(path, name)
    assert again.forbidden == model.forbidden
    for x in assignments(model.n):
        a, b = model.score(x), again.score(x)
        assert a == b or abs(a - b) < 1e-9
    # No penalty piles up: a second round trip changes no more than rounding.
    write_model(again, path, name)
    once_more = read_model(path, name)
    scale = float(np.abs(again.theta).sum() + np.abs(again.weights).sum())
    assert np.abs(once_more.theta - again.theta).max() <= 1e-12 * scale
    assert once_more.m == again.m


@given(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5), st.floats(-1e5, 1e5))
def test_large_potentials_are_spread_over_factors(
    tmp_path_factory: pytest.TempPathFactory, theta: float, weight: float, constant: float
) -> None:
    path = tmp_path_factory.mktemp("large") / "a.uai"
    model = mr.Model([theta, 0.0], [(0, 1)], [weight], constant)
    write_model(model, path)
    again = read_model(path)
    for x in assignments(2):
        assert math.isclose(again.score(x), model.score(x), rel_tol=1e-12, abs_tol=1e-9)
    assert not again.forbidden


def test_potentials_beyond_any_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.uai"
    for model, what in (
        (mr.Model([1e18], [], []), "theta of variable 0 is of size 1e"),
        (mr.Model([0, 0], [(0, 1)], [1e18]), r"the weight of \(0, 1\) is of size 5e"),
        (mr.Model([0], [], [], 1e18), "the constant is of size 1e"),
    ):
        with pytest.raises(mr.ModelError, match=what + ".*json"):
            write_model(model, path)
        assert not path.exists()


def test_what_a_uai_file_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "a.uai"
    write_model(mr.Model([0, math.log(2)], [(0, 1)], [math.log(16)], forbidden=[(0, 0)]), path)
    lines = path.read_text().splitlines()
    assert lines[:6] == ["MARKOV", "2", "2 2", "3", "1 0", "1 1"]
    assert lines[8:10] == ["2", " 0 1"]
    assert close(float(lines[11].split()[1]), 2)
    assert close(float(lines[13].split()[1]), 0.25)


# libDAI


FG = "2\n\n2\n4 7\n2 2\n4\n0 1\n1 2\n2 3\n3 4\n\n1\n7\n2\n2\n0 5\n1 1\n"


def test_libdai_first_variable_varies_fastest(tmp_path: Path) -> None:
    model = read(tmp_path, "# a comment\n" + FG, "fg")
    assert model.labels == (4, 7)
    for a, b in assignments(2):
        assert close(model.score({4: a, 7: b}), math.log([[1, 3], [2, 4]][a][b] * [5, 1][b]))


def test_libdai_entries_left_out_are_zero(tmp_path: Path) -> None:
    model = read(tmp_path, "1\n\n2\n7 4\n2 2\n3\n0 1\n3 2\n1 5\n", "fg")
    assert model.forbidden == ((0, 1, 1, 0),)  # 4 at 1, 7 at 0
    assert close(model.score({4: 0, 7: 1}), math.log(5))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("1\n7\n2\n", "1\n7\n3\n", 14, "variable 7 has 3 states in factor 1, 2 before"),
        ("4 7\n2 2", "4 4\n2 2", 4, "covers a variable twice"),
        ("4 7\n2 2", "4 7\n2 0", 5, "variable 7 has 0 states"),
        ("2 2\n4\n", "2 2\n5\n", 6, "factor 0 has 4 entries, 5 are announced"),
        ("3 4\n", "4 4\n", 10, "factor 0: table index 4 is out of range"),
        ("3 4\n", "2 4\n", 10, "factor 0: table index 2 is given twice"),
        ("3 4\n", "3 -4\n", 10, "factor 0: the table entry '-4' is negative"),
        ("1 1\n", "1", 17, "the file ends inside the table of factor 1"),
        ("1 1\n", "1 1\n9\n", 18, "trailing '9' after the last factor"),
        ("1\n7\n", "1\nx\n", 13, "'x' is not a variable's label"),
    ],
)
def test_libdai_errors(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    assert FG.count(old) >= 1
    before, _, after = FG.rpartition(old)
    with pytest.raises(mr.FormatError, match=message) as caught:
        read(tmp_path, before + new + after, "fg")
    assert caught.value.line == line


def test_libdai_keeps_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.fg"
    model = mr.Model([0.5, -1, 0], [(0, 2)], [2], 3.0, labels=(2, 5, 9))
    write_model(model, path)
    again = read_model(path)
    assert again.labels == (2, 5, 9)
    assert np.allclose(again.theta, model.theta, rtol=0, atol=1e-15)
    assert close(again.constant, 3.0)


# Results


def test_result_files() -> None:
    assert write_mpe([0, 0, 1]).split("\n") == ["MPE", "3 0 0 1", ""]
    assert write_pr(4.29045944115) == "PR\n1.863323\n"
    assert write_mar([1 / 3]).split() == ["MAR", "1", "2", repr(1 - 1 / 3), repr(1 / 3)]
    with pytest.raises(mr.ModelError, match="0 and 1"):
        write_mpe([0, 2])
    with pytest.raises(mr.ModelError, match="probabilities"):
        write_mar([0.5, math.nan])
