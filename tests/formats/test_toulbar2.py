"""toulbar2's formats, CFN and QPBO; by toulbar2 itself where it is installed."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import finite_floats, models

import mapreroot as mr
from mapreroot.formats import read_file, read_model, write_model

ANY = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-300 else 0.0)
NAMES = ["a", "x_1", "é", "v<2>", "_", "Ω'", "problem"]

LOOSE = """
# costs of a walk
{ {walk <9.50}
  { rain: [no, yes] coat: 2 }
  { {[rain] [0.5, -1]}
    {["coat", 0], 1, [0 no 2.5  1 "yes" -2]}
    { [] [.25] } } }
"""
STRICT = """
{"problem": {"name": "walk", "mustbe": "<9.50"},
 "variables": {"rain": ["no", "yes"], "coat": 2},
 "functions": {
   "a": {"scope": ["rain"], "costs": [0.5, -1]},
   "both": {"scope": ["coat", "rain"], "costs": [2.5, 1, 1, -2]},
   "c": {"scope": [], "costs": ["+0.25"]}}}
"""


def read(tmp_path: Path, content: str, name: str = "cfn") -> mr.Model:
    path = tmp_path / "model"
    path.write_text(content)
    return read_model(path, name)


@pytest.mark.parametrize("content", [LOOSE, STRICT], ids=["loose", "strict"])
def test_cfn_costs_are_minus_the_score(tmp_path: Path, content: str) -> None:
    model = read(tmp_path, content)
    assert model.labels == ("rain", "coat")
    costs = {(0, 0): 3.25, (1, 0): 0.25, (0, 1): 1.75, (1, 1): -2.75}
    assert {x: -model.score(x) for x in costs} == costs


def test_cfn_maximises_where_the_bound_is_below(tmp_path: Path) -> None:
    path = tmp_path / "a.cfn"
    path.write_text('{{n >-100} [2 2] {{[0] [1 5]} {[0 1] "g"} g {[1 0] [1 2 3 4]}}}')
    file = read_file(path)
    assert (file.sense, file.measure, file.labels) == ("max", "cost", (0, 1))
    assert file.model.score([1, 0]) == 5 + 3 + 2
    assert file.objective(file.model.score([0, 1])) == 1 + 2 + 3
    path.write_text(STRICT)
    assert read_file(path).sense == "min"
    assert read_file(path).objective(-2.5) == 2.5


def test_cfn_costs_beyond_the_bound_are_hard(tmp_path: Path) -> None:
    # The least total beside 9 is 9 - 3, beside 5 it is 5 + 0.
    content = "{{n %s} [2 2] {{[0] [%s]} {[1] [%s]}}}"
    low = read(tmp_path, content % ("<6", "0 9", "-3 5"))
    assert low.forbidden == ((0, 1),)
    assert read(tmp_path, content % ("<6.5", "0 9", "-3 5")).forbidden == ()
    high = read(tmp_path, content % (">-6", "0 -9", "3 -5"))
    assert high == low
    with pytest.raises(mr.InfeasibleError):
        read(tmp_path, content % ("<6", "9 9", "0 0"))


def test_cfn_evidence_makes_room_for_larger_domains(tmp_path: Path) -> None:
    path = tmp_path / "a.cfn"
    path.write_text("{{n <99} {a 3 b 2} {{[a b] [1 2 3 4 5 6]}}}")
    with pytest.raises(mr.FormatError, match="a has 3 states"):
        read_model(path)
    assert read_model(path, evidence={"a": 2}).score([0]) == -5


@given(models(potentials=ANY), st.booleans())
def test_cfn_is_lossless(
    tmp_path_factory: pytest.TempPathFactory, model: mr.Model, named: bool
) -> None:
    if named:
        labels = NAMES[: model.n]
        model = mr.Model(model.theta, model.edges, model.weights, model.constant, labels)
    path = tmp_path_factory.mktemp("cfn") / "a.cfn"
    write_model(model, path)
    back = read_model(path)
    assert back == model or model.n == 0
    assert not re.search(r"[0-9]e[-+0-9]", path.read_text())


@st.composite
def constrained(draw: st.DrawFn) -> mr.Model:
    model = draw(models(min_n=2, max_n=4, potentials=finite_floats))
    allowed = draw(st.lists(st.integers(0, 1), min_size=model.n, max_size=model.n))
    i = draw(st.integers(0, model.n - 1))
    j = (i + draw(st.integers(1, model.n - 1))) % model.n
    rows = [(i, 1 - allowed[i]), (i, allowed[i], j, 1 - allowed[j])]
    rows = rows[: draw(st.integers(1, 2))] if draw(st.booleans()) else rows[1:]
    return mr.Model(model.theta, model.edges, model.weights, model.constant, forbidden=rows)


@given(constrained())
def test_cfn_keeps_hard_constraints(
    tmp_path_factory: pytest.TempPathFactory, model: mr.Model
) -> None:
    path = tmp_path_factory.mktemp("cfn") / "a.cfn"
    write_model(model, path)
    back = read_model(path)
    assert back.forbidden == model.forbidden
    for x in oracle.assignments(model.n):
        assert back.score(x) == pytest.approx(model.score(x), abs=1e-7)


@pytest.mark.parametrize("label", ["", "1x", "a b", "a/b", 'a"', "a:b", "-x", 7, "a\x7f"])
def test_cfn_refuses_labels_it_cannot_hold(tmp_path: Path, label: object) -> None:
    with pytest.raises(mr.ModelError, match="would be lost"):
        write_model(mr.Model([1, 2], [], [], labels=["a", label]), tmp_path / "a.cfn")
    assert not list(tmp_path.iterdir())


HEAD = "{{n <9}\n{a 2 b 2}\n"
CFN_ERRORS = [
    ("{{n <9}\n[2]\n{{[0] [1 2]}\n", 3, "bracket is not closed"),
    ("{{n <9}\n[2]\n{}}}", 3, "closed that was not opened"),
    ('{{n <9}\n["a\n]}', 2, "quote is not closed"),
    ("{{n <9} [2] {}}\n{}", 2, "one pair of brackets"),
    ("# nothing\nword", 2, "one pair of brackets"),
    ("# nothing\n", 1, "one pair of brackets"),
    ("{} []", 1, "one pair of brackets"),
    ("{{n <9}\n[2]}", 1, "'functions' is missing"),
    ("{{n <9}\n[2]\n{}\n7}", 4, "'7' is too much"),
    ("{{n}\n[2] {}}", 1, "'mustbe' is missing"),
    ("{{n 9}\n[2] {}}", 1, "expected a bound .* found '9'"),
    ("{{n\n<9e1} [2] {}}", 2, "'9e1' is not a decimal"),
    ("{{n <9}\n{a 2 a 2} {}}", 2, "second variable is called 'a'"),
    ("{{n <9}\n{a} {}}", 2, "variable 'a' has no domain"),
    ("{{n <9}\n{a -7} {}}", 2, "domain of size -7"),
    ("{{n <9}\n{a []} {}}", 2, "variable 'a' has no values"),
    ("{{n <9}\n{a [u u]} {}}", 2, "variable 'a' has a value twice"),
    (HEAD + "{f}}", 3, "function 'f' has no content"),
    (HEAD + "{f {[a] [1 2]}\nf {[b] [1 2]}}}", 4, "second function is called 'f'"),
    (HEAD + "{{[a]}}}", 3, "expected a function"),
    (HEAD + "{{[a b] type: salldiff params: {}}}}", 3, "not a table"),
    (HEAD + "{{[q] [1 2]}}}", 3, "'q', which is no variable"),
    (HEAD + "{{[2] [1 2]}}}", 3, "'2', which is no variable"),
    (HEAD + "{{[0.5] [1 2]}}}", 3, "'0.5', which is no variable"),
    (HEAD + "{{[a 0] [1 2 3 4]}}}", 3, "holds a variable twice"),
    (HEAD + "{{[a]\n[1 2 3]}}}", 4, "found 3 costs: expected 2"),
    (HEAD + "{{[a] [1\nx]}}}", 4, "'x' is not a decimal"),
    (HEAD + "{{[a] [1\n1e5]}}}", 4, "'1e5' is not a decimal"),
    (HEAD + "{{[a] [1\nnan]}}}", 4, "'nan' is not a decimal"),
    (HEAD + "{{[a] [1\n[2]]}}}", 4, "a bracket is not a decimal"),
    (HEAD + "{{[a] [1\n%s]}}}" % ("9" * 400), 4, "is too large"),
    (HEAD + "{{[a] 0 [1]}}}", 3, "found 1 words: expected 2 for each cost"),
    (HEAD + "{{[a] 0 [no 1]}}}", 3, "'no' is no value"),
    (HEAD + "{{[a] 0 [2 1]}}}", 3, "'2' is no value"),
    (HEAD + "{{[a] 0 [1 1\n1 5]}}}", 4, "have a cost already"),
    (HEAD + "{{[a] g}}}", 3, "no function of this size is called 'g'"),
    (HEAD + "{g {[a b] [1 2 3 4]}\n{[a] g}}}", 4, "no function of this size"),
    (HEAD + "{{[a b] [1 2 3 4]} {[a b] [1 2 3]}}}", 3, "found 3 costs"),
    ("{{n <9} [2 2 2] {{[0 1 2] [1 2 3 4 5 6 7 8]}}}", None, "factor 0 has order 3"),
]


@pytest.mark.parametrize(("content", "line", "message"), CFN_ERRORS)
def test_cfn_errors_name_the_line(
    tmp_path: Path, content: str, line: int | None, message: str
) -> None:
    with pytest.raises(mr.FormatError) as caught:
        read(tmp_path, content)
    assert caught.value.line == line
    assert re.search(message, str(caught.value))


# QPBO


@pytest.mark.parametrize(("header", "sign"), [("3 4", -1), ("3 -4", 1)])
def test_qpbo_scores(tmp_path: Path, header: str, sign: int) -> None:
    path = tmp_path / "a.qpbo"
    path.write_text(f"{header}\n1 1 2\n1 2 -1.5\n2 3 4\n3 3 1\n")
    file = read_file(path)
    assert (file.sense, file.labels) == ("min" if sign < 0 else "max", (1, 2, 3))
    for x in oracle.assignments(3):
        value = 2 * x[0] - 3.0 * x[0] * x[1] + 8 * x[1] * x[2] + x[2]
        assert file.model.score(x) == sign * value
        assert file.objective(file.model.score(x)) == value


@pytest.mark.parametrize(("header", "sign"), [("-3 3", -1), ("-3 -3", 1)])
def test_qpbo_of_spins(tmp_path: Path, header: str, sign: int) -> None:
    model = read(tmp_path, f"{header}\n1 1 2\n1 2 -1.5\n2 3 4\n", "qpbo")
    assert model.labels == (1, 2, 3)
    for x in oracle.assignments(3):
        s = 2 * x - 1
        assert model.score(x) == sign * (2 - 3.0 * s[0] * s[1] + 8 * s[1] * s[2])


@given(models())
def test_qpbo_round_trip(tmp_path_factory: pytest.TempPathFactory, model: mr.Model) -> None:
    labels = range(1, model.n + 1)
    model = mr.Model(model.theta, model.edges, model.weights, labels=labels)
    path = tmp_path_factory.mktemp("qpbo") / "a.qpbo"
    write_model(model, path)
    assert read_model(path) == model


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("3\n", 1, "header is '3': expected two integers"),
        ("3 x\n", 1, "two integers"),
        ("2 1 0\n1 2 3\n", 1, "two integers"),
        ("-2 -2\n1 2 3\n", 1, "promises 2 coefficients, the file has 1"),
        ("-2 1\n1 3 3\n", 2, r"index 3 .*1\.\.2"),
        ("2 2\n1 2 3\n2 1 3\n", 3, "duplicate of line 2"),
        ("2 1\n1 2 inf\n", 2, "not a finite"),
        ("-9999999999 1\n1 2 1\n", 1, "fewer than"),
    ],
)
def test_qpbo_errors(tmp_path: Path, content: str, line: int, message: str) -> None:
    with pytest.raises(mr.FormatError) as caught:
        read(tmp_path, content, "qpbo")
    assert caught.value.line == line
    assert re.search(message, str(caught.value))


def test_qpbo_refuses_a_constant(tmp_path: Path) -> None:
    with pytest.raises(mr.ModelError, match="cannot hold the constant"):
        write_model(mr.Model([1], [], [], 2.0, [1]), tmp_path / "a.qpbo")


# toulbar2 itself


SOLVE = """
import sys, pytoulbar2
network = pytoulbar2.CFN(resolution=7, verbose=-1)
network.Option.cfn, network.Option.qpbo = sys.argv[1] == "cfn", sys.argv[1] == "qpbo"
network.Read(sys.argv[2])
network.Option.qpbo = False  # with it, the solver refuses what the reader made
print(*network.Solve()[0])
"""


def toulbar2(path: Path) -> list[int]:
    pytest.importorskip("pytoulbar2")
    # A process of its own: the options of one network stay for the next.
    command = [sys.executable, "-c", SOLVE, path.suffix[1:], str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [int(value) for value in run.stdout.split()]


@pytest.mark.parametrize("seed", range(4))
def test_toulbar2_finds_the_same_optimum(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 8
    pairs = [(i, j) for j in range(n) for i in range(j) if rng.random() < 0.6]
    theta, W = rng.normal(size=n), rng.normal(size=len(pairs)) * 3
    rows = [(1, 0), (0, 1, 3, 1), (2, 0, 5, 1)] if seed % 2 else []
    model = mr.Model(theta, pairs, W, rng.normal(), forbidden=rows)
    write_model(model, tmp_path / "a.cfn")
    x = toulbar2(tmp_path / "a.cfn")
    assert model.score(x) == pytest.approx(max(model.score(x) for x in oracle.assignments(n)))
    numbered = mr.Model(theta, pairs, W, labels=range(1, n + 1))
    write_model(numbered, tmp_path / "a.qpbo")
    x = toulbar2(tmp_path / "a.qpbo")
    assert numbered.score(x) == pytest.approx(oracle.best_score(numbered), abs=1e-6)


@pytest.mark.parametrize("header", ["3 4", "3 -4", "-3 4", "-3 -4"])
def test_toulbar2_reads_qpbo_headers_alike(tmp_path: Path, header: str) -> None:
    path = tmp_path / "a.qpbo"
    path.write_text(f"{header}\n1 1 2\n1 2 -1.5\n2 3 4\n1 3 1\n")
    model = read_model(path)
    x = np.array(toulbar2(path))
    # Of the values 1 and -1, toulbar2 calls 1 the first.
    assert model.score(1 - x if header[0] == "-" else x) == oracle.best_score(model)


@pytest.mark.parametrize("content", [LOOSE, STRICT], ids=["loose", "strict"])
def test_toulbar2_reads_cfn_alike(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.cfn"
    path.write_text(content)
    assert toulbar2(path) == [1, 1]
