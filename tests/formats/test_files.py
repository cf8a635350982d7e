"""What all formats share: names, gzip, standard streams, whole or not at all, round trips."""

import csv
import gzip
import io
import os
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import models

import mapreroot as mr
from mapreroot.formats import FORMATS, read_file, read_model, write_model

DATA = Path(__file__).parents[1] / "data"
TRIANGLE = "3 3\n1 2 1\n2 3 1\n1 3 1\n"
# Halving a subnormal number loses a bit, in a file as anywhere else.
ANY = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-300 else 0.0)
EMPTY = mr.Model([], [], [], 2.5)
NAMES = [kind.name for kind in FORMATS]


# Round trips


@given(models(potentials=ANY))
def test_json_is_lossless(tmp_path_factory: pytest.TempPathFactory, model: mr.Model) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    write_model(model, path)
    assert read_model(path) == model


@given(models())
def test_quarters_survive_every_qubo_format(
    tmp_path_factory: pytest.TempPathFactory, model: mr.Model
) -> None:
    # Multiples of 1/4 are exact in floats, and so is every conversion.
    folder = tmp_path_factory.mktemp("qubo")
    for name in ("coo", "qbsolv"):
        write_model(model, folder / name, name)
        if model.n:
            assert read_model(folder / name, name) == model
    numbered = mr.Model(model.theta, model.edges, model.weights, labels=range(1, model.n + 1))
    for name in ("bq", "mqlib-qubo"):
        write_model(numbered, folder / name, name)
        assert read_model(folder / name, name) == numbered


@given(models(potentials=ANY, min_n=1))
def test_qubo_formats_keep_scores(
    tmp_path_factory: pytest.TempPathFactory, model: mr.Model
) -> None:
    folder = tmp_path_factory.mktemp("qubo")
    x = np.indices((2,) * model.n).reshape(model.n, -1).T
    scale = 1 + abs(model.constant) + np.abs(model.theta).sum() + np.abs(model.weights).sum()
    without = mr.Model(model.theta, model.edges, model.weights)
    for name, written in (
        ("coo", model),
        ("qbsolv", model),
        ("bq", without),
        ("mqlib-qubo", without),
    ):
        write_model(written, folder / name, name)
        again = read_model(folder / name, name)
        assert np.abs(again.score(x) - written.score(x)).max() <= 1e-14 * scale
        assert np.array_equal(again.weights, model.weights)


@given(models(potentials=ANY, fields=False))
def test_rudy_is_lossless_without_fields(
    tmp_path_factory: pytest.TempPathFactory, model: mr.Model
) -> None:
    path = tmp_path_factory.mktemp("rudy") / "a.mc"
    numbered = mr.Model(model.theta, model.edges, model.weights, labels=range(1, model.n + 1))
    write_model(numbered, path)
    assert read_model(path) == numbered


@given(models(potentials=st.floats(-600, 600), min_n=1))
def test_tables_keep_potentials_to_1e_12(
    tmp_path_factory: pytest.TempPathFactory, model: mr.Model
) -> None:
    folder = tmp_path_factory.mktemp("tables")
    for name in ("uai", "fg"):
        write_model(model, folder / name, name)
        again = read_model(folder / name, name)
        assert again.labels == model.labels
        # A weight too small to move exp(-W/2) away from 1 is the one thing that can get lost.
        kept = np.abs(model.weights) > 1e-15
        assert again.m >= kept.sum()
        x = np.indices((2,) * model.n).reshape(model.n, -1).T
        assert np.abs(again.score(x) - model.score(x)).max() <= 1e-12 * (1 + model.m + model.n)


@pytest.mark.parametrize("name", ["json", "uai", "fg", "qbsolv"])
def test_an_empty_model_keeps_its_constant(tmp_path: Path, name: str) -> None:
    write_model(EMPTY, tmp_path / "a", name)
    again = read_model(tmp_path / "a", name)
    assert again.n == 0
    assert abs(again.constant - 2.5) <= 1e-15


# Names and streams


def test_extensions_and_names(tmp_path: Path) -> None:
    for name in ("a.mc", "a.txt", "a.dat", "a.MC"):
        (tmp_path / name).write_text(TRIANGLE)
        assert read_file(tmp_path / name).format == "rudy"
    path = tmp_path / "a.mc"
    for name in ("rudy", "mc", ".mc", "txt"):
        assert read_file(path, name).format == "rudy"
    assert read_file(str(path), "sparse").format == "bq"
    assert read_file(path, "mqlib-qubo").format == "mqlib-qubo"
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("a.xyz", None, r"a\.xyz: .*extension.*uai.*rudy.*mqlib-qubo.*json"),
        ("a", None, "extension"),
        ("a.gz", None, "extension"),
        ("a.mc", "xyz", "no format is called 'xyz'.*uai.*json"),
        ("-", None, "-: no known extension"),
    ],
)
def test_unknown_formats_are_listed(
    tmp_path: Path,
    name: str,
    format: str | None,  # noqa: A002
    message: str,
) -> None:
    path = name if name == "-" else tmp_path / name
    with pytest.raises(mr.FormatError, match=message):
        write_model(mr.Model([], [], []), path, format)
    if path != "-":
        with pytest.raises(FileNotFoundError):
            read_model(path, format)
        path.write_text("1\n")
    with pytest.raises(mr.FormatError, match=message):
        read_model(path, format)


def test_gzip_is_recognised_by_its_content(tmp_path: Path) -> None:
    expected = mr.Model([0] * 3, [(0, 1), (1, 2), (0, 2)], [-2] * 3, labels=(1, 2, 3))
    for name in ("a.mc.gz", "a.mc"):
        (tmp_path / name).write_bytes(gzip.compress(TRIANGLE.encode(), mtime=0))
        assert read_model(tmp_path / name) == expected
    (tmp_path / "plain.mc.gz").write_text(TRIANGLE)  # not compressed, whatever the name says
    assert read_model(tmp_path / "plain.mc.gz") == expected
    out = tmp_path / "b.mc.gz"
    write_model(expected, out)
    first = out.read_bytes()
    assert gzip.decompress(first).decode() == "3 3\n1 2 1\n1 3 1\n2 3 1\n"
    write_model(expected, out)
    assert out.read_bytes() == first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(TRIANGLE.encode(), mtime=0)[:-9], "damaged gzip"),
        (b"\x1f\x8bjunk", "damaged gzip"),
        (b"3 3\n1 2\0 1\n", "byte 7 is 0"),
        (b"3 3\n1 2 \xff\n", "byte 8 is 0xff"),
        (bytes(range(256)), "not a text file"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_files_that_are_no_text(tmp_path: Path, content: bytes, message: str, name: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(mr.FormatError, match=message) as caught:
        read_model(path, name)
    assert caught.value.path == str(path)


@given(st.data(), st.sampled_from(NAMES))
def test_garbage_is_refused_and_nothing_else_happens(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    path = tmp_path_factory.mktemp("junk") / "a"
    words = [
        "1",
        "2",
        "0",
        "-1",
        "3 2",
        "1 2 1",
        "MARKOV",
        "x",
        "\n",
        "p qubo",
        "#",
        "1e9",
        "[{",
        "c",
    ]
    path.write_text(" ".join(data.draw(st.lists(st.sampled_from(words), max_size=30))))
    try:
        read_model(path, name)
    except mr.MapRerootError as error:
        message = str(error)
    else:
        return
    assert message.startswith(str(path))


@pytest.mark.parametrize("name", NAMES)
def test_truncated_files_are_refused_or_smaller(tmp_path: Path, name: str) -> None:
    model = mr.Model([0] * 4, [(0, 1), (1, 2), (2, 3)], [2, -4, 8], labels=range(1, 5))
    path = tmp_path / "a"
    write_model(model, path, name)
    words = path.read_text().split(" ")
    for k in range(1, len(words)):
        path.write_text(" ".join(words[:k]))
        try:
            again = read_model(path, name)
        except mr.FormatError:
            continue
        # Coordinate text has no header that would give it away, and a last weight may be missing.
        assert name == "coo" or (name == "rudy" and k == len(words) - 1)
        assert again.m <= model.m


def test_standard_streams(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = mr.Model([0.5, 0], [(0, 1)], [2], labels="ab")
    write_model(model, "-", "json")
    written = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written.encode())))
    assert read_model("-", "json") == model
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"3 1\n1 1 1\n")))
    with pytest.raises(mr.FormatError, match="<stdin>, line 2"):
        read_model("-", "rudy")


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.mc"):
        read_model(tmp_path / "nowhere.mc")
    with pytest.raises(FileNotFoundError):
        write_model(mr.Model([], [], []), tmp_path / "no" / "folder.json")


# Whole, or not at all


def test_a_failing_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_model(mr.Model([1], [], []), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "a.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_model(mr.Model([1], [], []), link)
    assert link.is_symlink()
    assert read_model(path) == mr.Model([1], [], [])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    found: list[mr.Model] = []
    reader = threading.Thread(target=lambda: found.append(read_model(pipe)), daemon=True)
    reader.start()
    write_model(mr.Model([1], [], []), pipe)
    reader.join(timeout=10)
    assert found == [mr.Model([1], [], [])]


# Real files


def test_files_in_the_repository() -> None:
    qubo = read_file(DATA / "gka1b.sparse")
    assert (qubo.model.n, qubo.model.m, qubo.sense) == (20, 187, "min")
    # 20 variables can be enumerated, and the optimum of this file is published.
    x = ((np.arange(2**20)[:, None] >> np.arange(20)) & 1).astype(np.int8)
    assert qubo.objective(float(qubo.model.score(x).max())) == -133
    cut = read_file(DATA / "pm1s_80.0.mc").model
    assert (cut.n, cut.m, round(100 * (cut.weights > 0).mean())) == (80, 316, 51)


def test_every_public_instance_is_what_the_index_says(shared: Path) -> None:
    folder = shared / "instances"
    with (folder / "INDEX.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 36
    for row in rows:
        path = folder / row["file"]
        if row["binary_pairwise"] == "no":
            with pytest.raises(mr.FormatError, match=r"variable 20 has 4 states|order 3"):
                read_model(path)
            continue
        model = read_model(path)
        assert (model.n, model.m) == (int(row["n"]), int(row["m"])), row["file"]
        assert round(100 * (model.weights > 0).mean()) == int(row["attractive_pct"]), row["file"]
        assert bool(model.theta.any()) == (row["fields"] == "yes"), row["file"]
