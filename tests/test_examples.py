"""Every example runs, says something, complains of nothing and leaves its picture."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))


def test_the_gallery_shows_what_is_there() -> None:
    gallery = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r'src="([^"]+)".*\]\((\w+\.py)\)', gallery)
    assert len(rows) >= 19
    assert {name for _, name in rows} <= {path.name for path in EXAMPLES}
    for picture, _ in rows:
        assert 5000 < (FOLDER / picture).stat().st_size < 150_000, picture


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, str(example), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.strip()
    if "savefig" in example.read_text():
        pictures = list(tmp_path.glob("*.png"))
        assert pictures
        assert all(picture.stat().st_size > 5000 for picture in pictures)
