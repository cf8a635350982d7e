"""Which root for approximate inference? A study in small, and the results of the large one.

Any vertex of M+ may be conditioned on, and approximate inference errs differently at each. The
study solves the models of Weller (2016), section 6, at every root, asks how much of the gap
between the model as it is (vertex 0) and the best root in hindsight a rule recovers, trains the
rules' parameters on half the models and judges them on the other half.

The large study is `mapreroot experiment roots DIR`; its summary is data/better_root.csv, which is
drawn here. The small one takes seconds.

Run: python examples/better_root.py [directory for the picture]
"""

import csv
import sys
import tempfile
from pathlib import Path

from mapreroot.experiments import PaperSettings, run_roots
from mapreroot.experiments.figures import draw_roots

SUMMARY = Path(__file__).parent / "data" / "better_root.csv"
RULES = ("max_tw", "max_w", "auto", "better_bound")


def read(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        for name in ("recovered", "recovered_se"):
            line[name] = float(line[name]) if line[name] else None
    return lines


def show(summary: list[dict]) -> None:
    """Print shares over all settings, with their standard errors."""
    overall = {
        (line["method"], line["measure"], line["rule"]): line
        for line in summary
        if line["family"] == "all"
    }
    print(f"{'share of the gap recovered':26}" + "".join(f"{rule:>16}" for rule in RULES))
    for method, measure in dict.fromkeys(key[:2] for key in overall):
        cells = []
        for rule in RULES:
            line = overall.get((method, measure, rule))
            if line is None or line["recovered"] is None:
                cells.append("-")
            else:
                cells.append(f"{line['recovered']:.2f} ({line['recovered_se']:.2f})")
        print(f"{method + ', ' + measure:26}" + "".join(f"{cell:>16}" for cell in cells))


def small_study() -> list[dict]:
    settings = PaperSettings(("K10",), ("mixed",), ("low", "medium"), (16.0,), 4, ("bethe",))
    with tempfile.TemporaryDirectory() as folder:
        run_roots(settings, folder, workers=1)
        return read(Path(folder, "roots_summary.csv"))


def main(directory: Path) -> None:
    print("eight complete graphs, half of them judged:")
    show(small_study())
    print("\nthe large study:")
    summary = read(SUMMARY)
    show(summary)
    draw_roots(summary, directory)  # savefig


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
