"""Every case of ``data/cases.json``: inputs that broke neighbouring tools, with the answers."""

from pathlib import Path

import cases.files
import cases.models  # noqa: F401  (importing them registers their checks)
import pytest
from cases import CASES, CHECKS, WAITING

SLOW = {"MR-086"}


@pytest.mark.parametrize(
    "id_",
    [
        pytest.param(
            id_,
            id=f"{case['area']}-{id_}",
            marks=[
                *([pytest.mark.slow] if id_ in SLOW else []),
                *([pytest.mark.skip(reason=WAITING[id_])] if id_ in WAITING else []),
            ],
        )
        for id_, case in sorted(CASES.items(), key=lambda item: (item[1]["area"], item[0]))
    ],
)
def test_case(id_: str, tmp_path: Path) -> None:
    CHECKS[id_](CASES[id_]["input"], CASES[id_]["expected"], tmp_path)


def test_every_case_has_a_check() -> None:
    assert set(CHECKS) | set(WAITING) == set(CASES)
    assert len(CASES) == 72
