"""Certificates of public instances: what they cost to make and to check, and what they prove.

python -m pytest tests/bench/bench_certificates.py -m bench -s

Every binary pairwise file of the index is solved without a certificate and with one; that is
written to JSON, read and checked. CPU seconds: of the solve alone, of what the certificate adds,
of reading and checking it. LIMIT=300 in the environment gives every solve 300 seconds, and
ONLY="g05|G1" keeps the files with a match in their name. The table is in results/certificates.csv,
where rows of files that are not measured stay as they are.
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
RESULTS = Path(__file__).parent / "results" / "certificates.csv"
COLUMNS = (
    *("limit", "file", "solve", "certify", "verify", "ratio", "kilobytes"),
    *("score", "bound", "proved", "status", "proof"),
)


def seconds(call):
    """The answer, and the CPU time; of short calls the best of several."""
    best, spent = float("inf"), 0.0
    while spent < 0.2:
        start = time.process_time()
        answer = call()
        taken = time.process_time() - start
        best, spent = min(best, taken), spent + taken
    return answer, best


def binary_pairwise(index: Path) -> list[str]:
    with index.open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        row["file"]
        for row in rows
        if row["binary_pairwise"] == "yes" and re.search(ONLY, row["file"])
    ]


def keep(row):
    """Put a row into the table, in the place of the one of the same file."""
    rows = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
    place = COLUMNS.index("file")
    rows = [other for other in rows if other[place] != row[place]] + [row]
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerows([COLUMNS, *sorted(rows, key=lambda other: other[place])])


def test_every_file_is_certified(shared, tmp_path):
    folder = shared / "instances"
    for name in ("ising/t2g10_5555.mc", "rudy/pm1s_80.0.mc", "ising/t3g5_5555.mc"):  # compiles
        solve(read_model(folder / name), certify=True)
    print(
        "\n"
        + "{:42s}{:>9s}{:>9s}{:>9s}{:>7s}{:>10s} {:>18s} {:>18s} {:>18s} {} {}".format(*COLUMNS[1:])
    )
    refused = []
    for name in binary_pairwise(folder / "INDEX.tsv"):
        model = read_model(folder / name)
        _, alone = seconds(lambda model=model: solve(model, time_limit=LIMIT))
        result, both = seconds(lambda model=model: solve(model, time_limit=LIMIT, certify=True))
        path = tmp_path / "proof.json"
        path.write_text(json.dumps(result.certificate))
        checked, checking = seconds(lambda model=model, path=path: verify(model, path))
        more, size = both - alone, path.stat().st_size / 1000
        times = [f"{value:.3f}" for value in (alone, more, checking, more / alone)]
        proved = (result.score, result.bound, checked.bound, result.status, result.proof)
        keep([f"{LIMIT:g}", name, *times, f"{size:.0f}", *proved])
        print(
            f"{name[-41:]:42s}{alone:9.2f}{more:9.2f}{checking:9.2f}{more / alone:7.2f}{size:10.0f}"
            f" {result.score:18.9g} {result.bound:18.9g} {checked.bound:18.9g}"
            f" {result.status} {result.proof}",
            flush=True,
        )
        loose = checked.bound > result.bound + 1e-9 * abs(result.bound)
        if not checked or checked.score != result.score or loose:
            refused.append((name, checked.failure))
    assert not refused
