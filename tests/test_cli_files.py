"""What the program says of files that cannot be read or written, and that nothing is lost."""

import os
from unittest import mock

import pytest
from program import run

TRIANGLE = "3 3\n1 2 1\n2 3 1\n1 3 1\n"


@pytest.fixture
def triangle(tmp_path):
    path = tmp_path / "triangle.mc"
    path.write_text(TRIANGLE)
    return path


@pytest.mark.parametrize("option", ["--output", "--certificate"])
@pytest.mark.parametrize(
    ("place", "message"),
    [("none/out.json", "No such file or directory"), ("folder", "Is a directory")],
)
def test_a_place_that_cannot_be_written_is_known_before_solving(
    triangle, tmp_path, option, place, message
):
    (tmp_path / "folder").mkdir()
    with mock.patch("mapreroot.cli.answers.solve_model", side_effect=AssertionError):
        done = run("solve", triangle, option, tmp_path / place)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"mapreroot: error: {tmp_path / place}: {message}\n"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(triangle, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    done = run("solve", triangle, "-o", folder / "x.txt")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"mapreroot: error: {folder / 'x.txt'}: Permission denied\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
@pytest.mark.parametrize("option", ["--output", "--certificate"])
def test_an_answer_that_could_not_be_written_is_printed(triangle, option):
    done = run("solve", triangle, option, "/dev/full")
    assert done.returncode == 2
    assert done.stderr == "mapreroot: error: /dev/full: No space left on device\n"
    assert "assignment  1=" in done.stdout


def test_a_model_that_does_not_fit_is_named(triangle):
    with mock.patch("mapreroot.formats.resolve", side_effect=MemoryError("7 GiB")):
        done = run("info", triangle)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"mapreroot: error: {triangle}: out of memory: 7 GiB\n"


@pytest.mark.parametrize("command", ["solve", "info", "verify", "convert", "tightness", "logz"])
def test_files_that_are_none(tmp_path, command):
    (tmp_path / "folder.uai").mkdir()
    (tmp_path / "empty.uai").write_bytes(b"")
    (tmp_path / "binary.uai").write_bytes(b"MARKOV\n\x00\x01\x02")
    more = {"verify": ["-"], "convert": [tmp_path / "out.json"]}.get(command, [])
    for name, message in (
        ("folder.uai", ": Is a directory"),
        ("none.uai", ": No such file or directory"),
        ("empty.uai", ": is empty: expected a model"),
        ("binary.uai", ": is not a text file: byte 7 is 0"),
    ):
        done = run(command, tmp_path / name, *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"mapreroot: error: {tmp_path / name}{message}\n"
    assert not (tmp_path / "out.json").exists()
