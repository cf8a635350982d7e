"""Our own JSON: everything comes back, and what is not it is refused."""

import enum
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapreroot as mr
from mapreroot.formats import read_model, write_model


class Colour(enum.IntEnum):
    RED = 3


LABELS = [
    "a b",
    (0, 1),
    ("x", (2, None)),
    "x[2]",
    None,
    True,
    0,
    -2.5,
    10**40,
    "é\ud800\n\u2028",
    (),
    Colour.RED,
]


def test_labels_of_every_kind_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    model = mr.Model([0.1] * len(LABELS), [(0, 1)], [1 / 3], labels=LABELS)
    write_model(model, path)
    again = read_model(path)
    assert again == model
    kinds = [type(label) for label in LABELS[:-1]]
    assert [type(label) for label in again.labels[:-1]] == kinds


def test_numpy_labels_come_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    labels = [np.int64(3), (np.int64(0), np.int32(1)), np.str_("s"), np.float64(0.5), np.bool_(0)]
    model = mr.Model([0] * 5, [], [], labels=labels)
    write_model(model, path)
    assert read_model(path) == model


@pytest.mark.parametrize("label", [frozenset({1}), b"a", 1j, math.inf, ("a", b"b"), object()])
def test_other_labels_are_refused_before_anything_is_written(tmp_path: Path, label: Any) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(mr.ModelError, match=r"label .* cannot be written as JSON"):
        write_model(mr.Model([0], [], [], labels=[label]), path)
    assert list(tmp_path.iterdir()) == []


def test_hard_constraints_and_penalties_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    model = mr.Model([0.3, 0.1], [(0, 1)], [7.7], 1e-300, forbidden=[(0, 0, 1, 1), (1, 0)])
    write_model(model, path)
    again = read_model(path)
    assert again == model
    assert again.score([0, 1]) == -math.inf


def test_plain_labels_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_model(mr.Model([1, 2], [], []), path)
    assert "labels" not in json.loads(path.read_text())
    for labels in ((0, 1.0), (False, 1), (1, 2)):
        model = mr.Model([1, 2], [], [], labels=labels)
        write_model(model, path)
        assert [type(a) for a in read_model(path).labels] == [type(a) for a in labels]


GOOD: dict[str, Any] = {
    "mapreroot": 1,
    "theta": [0, 1.5],
    "edges": [[0, 1]],
    "weights": [2],
    "constant": 3,
    "labels": ["a", "b"],
    "forbidden": [[0, 1]],
}


def test_handwritten_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(GOOD))
    model = read_model(path)
    expected = mr.Model.from_penalised([0, 1.5], [(0, 1)], [2], 3, "ab", [(0, 1)])
    assert model == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mapreroot": 2}, "version 2"),
        ({"extra": 1}, "unknown key 'extra'"),
        ({"theta": None}, "theta"),
        ({"theta": ["1", 2]}, "theta"),
        ({"theta": [[0, 1]]}, "theta"),
        ({"theta": [0, 10**400]}, "theta"),
        ({"edges": [[0, 1.0]]}, "edges"),
        ({"edges": [[0, 1], [2]]}, "inhomogeneous"),
        ({"edges": [[0, 2]]}, r"edge 0 is \(0, 2\)"),
        ({"edges": [[1, 1]]}, "self-loop"),
        ({"edges": [[0, 1], [1, 0]], "weights": [1, 1]}, "a pair is given twice"),
        ({"weights": [1, 2]}, "1 edges but 2 weights"),
        ({"constant": "3"}, "constant is '3'"),
        ({"constant": True}, "constant is True"),
        ({"labels": ["a"]}, "1 labels for 2"),
        ({"labels": "ab"}, "labels: expected a list"),
        ({"labels": ["a", "a"]}, "label 'a' is equal to label 'a'"),
        ({"labels": ["a", {"b": 1}]}, "is an object"),
        ({"labels": ["a", ["b", {}]]}, "is an object"),
        ({"forbidden": [[0, 2]]}, "value 2"),
        ({"forbidden": [["0", 1]]}, "lists of integers"),
        ({"forbidden": [0, 1]}, "lists of integers"),
    ],
)
def test_errors_name_the_key(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(mr.FormatError, match=message) as caught:
        read_model(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ('{"mapreroot": 1,\n "theta": [0,\n}', 3, "is not JSON"),
        ("[1, 2]", None, "expected a JSON object with edges, mapreroot, theta, weights"),
        ('{"mapreroot": 1, "theta": []}', None, "expected a JSON object with edges"),
        ('{"mapreroot": 1, "theta": [NaN], "edges": [], "weights": []}', None, "holds NaN"),
        ('{"mapreroot": 1, "theta": [-Infinity]}', None, "holds -Infinity"),
        ('{"mapreroot": 1, "mapreroot": 1}', None, "the same key twice"),
        ('{"mapreroot": 1, "theta": [1e999], "edges": [], "weights": []}', None, "theta.0. is inf"),
        ("[" * 100000, None, "is not JSON that can be read"),
        ("[" + "9" * 5000 + "]", None, "is not JSON that can be read"),
    ],
)
def test_errors_of_syntax(tmp_path: Path, content: str, line: int | None, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(mr.FormatError) as caught:
        read_model(path)
    assert re.search(message, str(caught.value))
    assert caught.value.line == line


def test_contradictory_constraints(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(GOOD | {"forbidden": [[0, 1], [0, 0]]}))
    with pytest.raises(mr.InfeasibleError, match=r"a\.json: .*contradict"):
        read_model(path)
