"""The README's commands and snippets do what it says they do."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONSOLE = re.findall(r"^```console\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
NUMBERS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A folder like the checkout, in which snippets may leave files."""
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_snippets(beside):
    result = doctest.testfile(
        str(ROOT / "README.md"), module_relative=False, optionflags=NUMBERS, encoding="utf-8"
    )
    assert result.attempted > 20
    assert result.failed == 0


def commands():
    for block in CONSOLE:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def test_console_snippets(beside):
    ran = 0
    for command, expected in commands():
        words = shlex.split(command)
        assert words[0] == "mapreroot", command
        done = subprocess.run(
            [sys.executable, "-m", "mapreroot", *words[1:]], capture_output=True, text=True
        )
        assert doctest.OutputChecker().check_output(expected, done.stdout, NUMBERS), (
            f"$ {command}\nREADME says:\n{expected}\nit prints:\n{done.stdout}{done.stderr}"
        )
        ran += 1
    assert ran >= 5


@pytest.mark.parametrize("name", ["solve", "tests"])
def test_each_of_the_two_commands_stands_alone(name):
    block = README.split(f"<!-- {name} -->\n```sh\n")[1].split("\n```")[0]
    assert "\n" not in block
    assert block.startswith("python3 -m venv .venv && .venv/bin/pip install")


def test_pictures_are_there():
    for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", README):
        assert (ROOT / picture).is_file()
