"""The line formats: rudy, Biq Mac, MQLib, qbsolv and COO."""

import re
from pathlib import Path

import dimod
import numpy as np
import pytest
from dimod.serialization import coo
from hypothesis import given
from hypothesis import strategies as st

import mapreroot as mr
from mapreroot.formats import read_file, read_model, rows, write_model
from mapreroot.formats.text import Text


def read(tmp_path: Path, content: str, name: str = "rudy") -> mr.Model:
    path = tmp_path / "model"
    path.write_text(content)
    return read_model(path, name)


def best(model: mr.Model) -> float:
    x = np.indices((2,) * model.n).reshape(model.n, -1).T
    return float(model.score(x).max())


def test_rudy_scores_are_the_weight_of_the_cut(tmp_path: Path) -> None:
    model = read(tmp_path, "4 3\n1 2 2\n3 2 -1.5\n1 4 1e1\n")
    assert model.labels == (1, 2, 3, 4)
    assert model.score({1: 0, 2: 1, 3: 0, 4: 0}) == 0.5
    assert model.score({1: 0, 2: 0, 3: 0, 4: 1}) == 10


@pytest.mark.parametrize(
    "content",
    [
        "3 2\n1 2 1\n2 3 1\n",
        "3 2\n1 2\n2 3\n",  # no weights
        "3 2\n1 2\n2 3 1\n",  # one weight left out
        "3 2 0\n1 2 1\n2 3 1\n",  # the DIMACS tori
        "# a comment\n\n3 2 \n\n1 2 1\n  2\t3 +1.0 \n\n",
        "3 2\r\n1 2 1\r\n2 3 1\r\n",
        "3 2\r1 2 1\r2 3 1",
        "\ufeff3 2\n1 2 1\n2 3 1",
    ],
)
def test_rudy_spellings(tmp_path: Path, content: str) -> None:
    expected = mr.Model([0, 0, 0], [(0, 1), (1, 2)], [-2, -2], labels=(1, 2, 3))
    assert read(tmp_path, content) == expected


def test_zero_weights_are_accepted_and_variables_stay(tmp_path: Path) -> None:
    model = read(tmp_path, "5 2\n1 2 0\n2 3 4\n")
    assert (model.n, model.m) == (5, 1)
    assert read(tmp_path, "0 0\n").n == 0
    assert read(tmp_path, "2 0\n").n == 2


LINE_ERRORS = [
    ("rudy", "2 2\n1 2 3\n2 1 4\n", 3, r"duplicate of line 2.*\(2, 1\)"),
    ("rudy", "3 3\n1 2 3\n2 3 1\n1 2 3\n", 4, "duplicate of line 2"),
    ("rudy", "3 3\n1 2 3\n2 2 5\n2 3 -2\n", 3, "self-loop at 2"),
    ("rudy", "3 3\n1 2 1\n2 3 1\n", 1, "promises 3 edges, the file has 2"),
    ("rudy", "3 1\n1 2 1\n2 3 1\n", 1, "promises 1 edges, the file has 2"),
    ("rudy", "3 2\n0 1 1\n1 2 1\n", 2, r"index 0 .*1\.\.3 \(1-based\)"),
    ("rudy", "3 2\n1 2 1\n2 4 1\n", 3, r"index 4 .*1\.\.3"),
    ("rudy", "3 2\n1 2 1\n2 -3 1\n", 3, "index -3"),
    ("rudy", "3 2\n1 2 1\n\n2 3 1 9\n", 4, "found 4 words"),
    ("rudy", "3 2\n1 2 1\n2\n", 3, "found 1 words"),
    ("rudy", "3 2\n1 2 1\n2 3 x\n", 3, "'x' is not a number"),
    ("rudy", "3 2\n1 2 1\n2 3.0 1\n", 3, "'3.0' is not an index"),
    ("rudy", "3 2\n1 2 1\n2 1e0 1\n", 3, "'1e0' is not an index"),
    ("rudy", "3 2\n1 2 1_0\n2 3 1\n", 2, "'1_0' is not a number"),
    ("rudy", "3 2\n1 2 1\n2 3 nan\n", 3, "'nan' is not a finite"),
    ("rudy", "3 2\n1 2 -inf\n2 3 1\n", 2, "'-inf' is not a finite"),
    ("rudy", "3 2\n1 2 1\n2 3 1e999\n", 3, "'1e999' is not a finite"),
    ("rudy", "3 2\n1 2 1\n2 99999999999999999999 1\n", 3, "is not an index"),
    ("rudy", "3 2\n1 2 1\n2 3 1 # no\n", 3, "found 5 words"),
    ("rudy", "3 2\n1 2 1\n# no\n2 3 1\n", 3, "'#' is not an index"),
    ("rudy", "# only a comment\n", None, "nothing but comments"),
    ("rudy", "3\n1 2 1\n", 1, "the header is '3'"),
    ("rudy", "3 -1\n1 2 1\n", 1, "two integers"),
    ("rudy", "3 1 5\n1 2 1\n", 1, "two integers"),
    ("rudy", "n m\n1 2 1\n", 1, "the header is 'n m'"),
    ("rudy", "9999999999 1\n1 2 1\n", 1, "fewer than"),
    ("rudy", "3 1\n1 2 é\n", 2, "'é' is not a number"),
    ("bq", "3 2\n1 2 1\n2 1 1\n", 3, "duplicate of line 2"),
    ("bq", "3 2\n1 1 1\n1 1 1\n", 3, "duplicate of line 2"),
    ("bq", "3 2\n1 1 1\n1 2\n", 3, "found 2 words"),
    ("bq", "3 2\n1 1 1\n0 2 1\n", 3, "1-based"),
    ("bq", "3 2\n1 1 1\n", 1, "promises 2 entries, the file has 1"),
    ("mqlib-qubo", "3 1\n1 4 1\n", 2, r"1\.\.3"),
    ("qbsolv", "p qubo 0 2 2 2\n0 0 1\n1 1 1\n0 1 -3\n1 0 -3\n", 5, "duplicate of line 4"),
    ("qbsolv", "p qubo 0 2 2 1\nc x\n0 0 1\n0 0 1\n0 1 -3\n", 4, "duplicate of line 3"),
    ("qbsolv", "p qubo 0 2 2 1\n0 0 1\n1 1 1\n", 1, "3 nodes and couplers, the file has 2"),
    ("qbsolv", "p qubo 0 3 2 1\n0 0 1\n1 2 1\n0 1 1\n", 1, "2 nodes, the file has 1"),
    ("qbsolv", "p qubo 0 2 1 1\n0 0 1\n0 2 1\n", 3, r"index 2 .*0\.\.1 \(0-based\)"),
    ("qbsolv", "q qubo 0 2 1 1\n0 0 1\n0 1 1\n", 1, "p qubo topology"),
    ("qbsolv", "p qubo 0 2 1\n0 0 1\n0 1 1\n", 1, "p qubo topology"),
    ("qbsolv", "c offset = x\np qubo 0 2 1 0\n0 0 1\n", 1, "one offset"),
    ("qbsolv", "c offset = 1\np qubo 0 2 1 0\n0 0 1\nc offset = 2\n", 4, "one offset"),
    ("coo", "0 0 1\n0 1 -2 junk\n1 1 -3\n", 2, "found 4 words"),
    ("coo", "0 0 1\na b 3\n", 2, "'a' is not an index"),
    ("coo", "0 0 1\n0,1,3\n", 2, "found 1 words"),
    ("coo", "0 0 1\n1 0 1\n0 1 1\n", 3, "duplicate of line 2"),
    ("coo", "0 0 1\n0 -1 1\n", 2, "index -1 .* 0 or more"),
    ("coo", "# vartype=OTHER\n0 0 1\n", 1, "SPIN or BINARY"),
    ("coo", "# vartype=SPIN\n0 0 1\n# vartype=BINARY\n", 3, "SPIN or BINARY"),
    ("coo", "# offset = inf\n0 0 1\n", 1, "one offset"),
]


@pytest.mark.parametrize(("name", "content", "line", "message"), LINE_ERRORS)
def test_errors_name_the_file_and_the_line(
    tmp_path: Path, name: str, content: str, line: int | None, message: str
) -> None:
    with pytest.raises(mr.FormatError) as caught:
        read(tmp_path, content, name)
    assert caught.value.line == line
    assert caught.value.path == str(tmp_path / "model")
    assert re.search(message, str(caught.value))


@pytest.mark.parametrize("seed", range(20))
def test_the_line_is_named_in_a_large_file_too(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = [f"{i} {i + 1} {rng.normal()!r}" for i in range(1, 3000)]
    spot = int(rng.integers(len(lines)))
    lines[spot] = rng.choice(["7 7 1", "5 3001 1", "5 6 nan", "5", "2999 1 0x1"])
    with pytest.raises(mr.FormatError) as caught:
        read(tmp_path, "\n".join(["3000 2999", *lines]))
    assert caught.value.line == spot + 2


WORDS = [
    "1",
    "2",
    "3",
    "-1",
    "0",
    "+2",
    "1.5",
    "1e0",
    "-.5",
    "nan",
    "inf",
    "1e999",
    "x",
    "1_0",
    "#",
]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.integers(1, 9), st.integers(1, 9), st.floats(-9, 9)).map(
                lambda row: " ".join(map(str, row))
            ),
            st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
        ),
        max_size=6,
    ),
    st.sampled_from([None, 1.0]),
    st.sampled_from([b"", b"#"]),
)
def test_numpy_reads_what_the_careful_reader_reads(
    lines: list[str], default: float | None, comment: bytes
) -> None:
    text = Text("name", "\n".join(["header", *lines]).encode())
    outcomes: list[object] = []
    for table in (rows._read_table, lambda *_: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rows, "_read_table", table)
            try:
                found = rows.read_rows(text, comment, 1, default)
            except mr.FormatError as error:
                outcomes.append((str(error), error.line))
            else:
                outcomes.append([part.tolist() for part in (found.i, found.j, found.value)])
    assert outcomes[0] == outcomes[1]


def test_a_sum_that_overflows_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match=r"model: .*(inf|overflow)"):
        read(tmp_path, "2 1\n1 2 1.7e308\n")


def test_biq_mac_minimises_and_mqlib_maximises_the_same_lines(tmp_path: Path) -> None:
    content = "3 5\n1 1 2\n2 2 -1\n3 3 -4\n1 2 3\n3 2 -2\n"
    Q = np.array([[2, 3, 0], [3, -1, -2], [0, -2, -4]])
    low, high = read(tmp_path, content, "bq"), read(tmp_path, content, "mqlib-qubo")
    for x in np.ndindex(2, 2, 2):
        value = np.array(x) @ Q @ np.array(x)
        assert low.score(x) == -value
        assert high.score(x) == value


def test_file_record_speaks_the_files_own_terms(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("2 2\n1 1 -1\n1 2 3\n")
    low, high = read_file(path, "bq"), read_file(path, "mqlib-qubo")
    assert (low.format, low.sense, high.sense) == ("bq", "min", "max")
    assert low.objective(low.model.score([1, 1])) == 5 == high.objective(high.model.score([1, 1]))
    assert "twice" in low.doubling
    assert low.constant == 0.0
    assert str(low.constant) == "0.0"  # not minus zero
    path.write_text("c offset = 2.5\np qubo 0 9 1 1\n3 3 -1\n3 7 2\n")
    file = read_file(path, "qbsolv")
    assert (file.sense, file.constant, file.labels) == ("min", 2.5, (3, 7))
    assert file.objective(file.model.score({3: 1, 7: 1})) == 3.5


def test_qbsolv_labels_are_the_indices_that_appear(tmp_path: Path) -> None:
    content = "c a\np qubo unconstrained 9 2 2\n4 4 1.5\n1 1 -2\nc mid\n 4 8 -3\n1 4 1\n"
    model = read(tmp_path, content, "qbsolv")
    assert model.labels == (1, 4, 8)
    assert model.score({1: 1, 4: 1, 8: 1}) == 2.5
    assert model.score({1: 1, 4: 0, 8: 1}) == 2


def test_coo_agrees_with_dimod(tmp_path: Path) -> None:
    for vartype, low in (("BINARY", 0), ("SPIN", -1)):
        bqm = dimod.BinaryQuadraticModel(
            {0: 0.5, 3: -1.25}, {(0, 3): 2.0, (3, 7): -0.75}, 0.0, vartype
        )
        content = coo.dumps(bqm, vartype_header=True)
        model = read(tmp_path, content, "coo")
        assert model.labels == (0, 3, 7)
        for x in np.ndindex(2, 2, 2):
            sample = {a: 1 if v else low for a, v in zip((0, 3, 7), x, strict=True)}
            assert model.score(x) == -bqm.energy(sample)


def test_dimod_reads_what_coo_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.coo"
    model = mr.Model([1e-7, -2e20, 0.1], [(0, 1), (1, 2)], [1e-9, 3e17], labels=(0, 5, 2))
    write_model(model, path)
    bqm = coo.loads(path.read_text())
    h, J, _ = model.to_ising()
    assert dict(bqm.linear) == h
    assert all(bqm.get_quadratic(a, b) == value for (a, b), value in J.items())


@pytest.mark.parametrize(
    ("name", "model", "message"),
    [
        ("rudy", mr.Model([0, 1.0], [(0, 1)], [1]), "fields.*variable 1 is 1.*json"),
        ("rudy", mr.Model([0, 0], [(0, 1)], [1], 2.5), "constant 2.5.*json"),
        ("bq", mr.Model([1, 0], [(0, 1)], [1], 2.5), "constant 2.5.*coo"),
        ("mqlib-qubo", mr.Model([1, 0], [(0, 1)], [1], 2.5), "constant 2.5"),
        ("rudy", mr.Model([0, 0], [(0, 1)], [1], labels="ab"), "labels 'a', 'b'.*json"),
        ("bq", mr.Model([0, 0], [(0, 1)], [1], labels=(1, 3)), "labels 1, 3"),
        ("uai", mr.Model([0] * 4, [], [], labels=(1, 3, 2, 4)), "labels 1, 3, 2, ..."),
        ("qbsolv", mr.Model([0, 0], [(0, 1)], [1], labels=(-1, 2)), "label -1"),
        ("coo", mr.Model([0, 0], [(0, 1)], [1], labels=("a", 2)), "label 'a'"),
        ("coo", mr.Model([0, 0], [(0, 1)], [1], labels=(True, 2)), "label True"),
        ("fg", mr.Model([0, 0], [(0, 1)], [1], labels=(0.5, 2)), "label 0.5"),
        ("rudy", mr.Model([0, 0], [], [], forbidden=[(0, 0, 1, 0)]), "fields"),
        ("bq", mr.Model([0, 0], [], [], forbidden=[(0, 0, 1, 0)]), "hard constraints.*json"),
        ("coo", mr.Model([0, 0], [], [], forbidden=[(0, 0)]), "hard constraints"),
        ("qbsolv", mr.Model([0, 0], [], [], forbidden=[(0, 0)]), "hard constraints"),
    ],
)
def test_writers_refuse_what_would_be_lost(
    tmp_path: Path, name: str, model: mr.Model, message: str
) -> None:
    path = tmp_path / "out"
    path.write_text("what was there")
    with pytest.raises(mr.ModelError, match=message):
        write_model(model, path, name)
    assert path.read_text() == "what was there"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_integers_are_written_without_a_point(tmp_path: Path) -> None:
    path = tmp_path / "a.mc"
    write_model(mr.Model([0] * 3, [(0, 1), (1, 2)], [-2, 1]), path)
    assert path.read_text() == "3 2\n1 2 1\n2 3 -0.5\n"
    assert best(read_model(path)) == 1


def test_the_uprooted_model_is_a_max_cut_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.mc"
    model = mr.Model([1.0, -2.0, 0.5], [(0, 1), (1, 2)], [-3, 1])
    with pytest.raises(mr.ModelError, match=r"fields.*uproot\(model\)"):
        write_model(model, path)
    write_model(mr.uproot(model), path)
    cut = read_model(path)
    assert cut.n == 4
    assert best(cut) == best(model)
