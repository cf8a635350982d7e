"""Certificates of public instances: what they cost to make and to check, and what they prove.

python -m pytest tests/bench/bench_certificates.py -m bench -s

Every binary pairwise file of the index is solved without a certificate and with one; that is
written to JSON, read and checked. CPU seconds: of the solve alone, of what the certificate adds,
of reading and checking it. LIMIT=300 in the environment gives every solve 300 seconds, and
ONLY="g05|G1" keeps the files with a match in their name.
"""

import csv
import json
import os
import re
import time
from pathlib import Path

import pytest

from mapreroot import read_model, solve, verify

pytestmark = pytest.mark.bench
LIMIT = float(os.environ.get("LIMIT", "60"))
ONLY = os.environ.get("ONLY", "")
TITLES = "file", "solve", "certify", "verify", "kB", "score", "bound", "proved", "proof"


def seconds(call):
    start = time.process_time()
    return call(), time.process_time() - start


def binary_pairwise(index: Path) -> list[str]:
    with index.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        row["file"]
        for row in rows
        if row["binary_pairwise"] == "yes" and re.search(ONLY, row["file"])
    ]


def test_every_file_is_certified(shared, tmp_path):
    print("\n" + "{:42s}{:>9s}{:>9s}{:>9s}{:>8s} {:>18s} {:>18s} {:>18s}  {}".format(*TITLES))
    solve(read_model(shared / "instances" / "ising" / "t2g10_5555.mc"), certify=True)  # compiles
    refused = []
    for name in binary_pairwise(shared / "instances" / "INDEX.tsv"):
        model = read_model(shared / "instances" / name)
        _, alone = seconds(lambda model=model: solve(model, time_limit=LIMIT))
        result, both = seconds(lambda model=model: solve(model, time_limit=LIMIT, certify=True))
        path = tmp_path / "proof.json"
        path.write_text(json.dumps(result.certificate))
        checked, checking = seconds(lambda model=model, path=path: verify(model, path))
        print(
            f"{name[-41:]:42s}{alone:9.2f}{both - alone:9.2f}{checking:9.2f}"
            f"{path.stat().st_size / 1000:8.0f} {result.score:18.9g} {result.bound:18.9g}"
            f" {checked.bound:18.9g}  {result.status}, {result.proof}",
            flush=True,
        )
        if (
            not checked
            or checked.score != result.score
            or checked.bound > result.bound * (1 + 1e-9)
        ):
            refused.append((name, checked.failure))
    assert not refused
