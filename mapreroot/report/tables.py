"""The tables of the page: what is known of a model, as HTML. Every name in them is escaped."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from mapreroot.balance import rooted_balance
from mapreroot.certificates import verify
from mapreroot.formats import ModelFile
from mapreroot.model import Model, UprootedModel
from mapreroot.tightness import TightnessReport

__all__ = ["answer", "certificate", "roots", "summary", "tightness"]

_NAMES = 12  # names in a sentence
_RULES = {
    "all": "enumeration",
    "cases": "cases",
    "cycles": "cycle inequalities",
    "flow": "maximum flow",
    "parts": "parts",
    "signs": "signs",
    "steps": "reductions",
}


def summary(source: Model | ModelFile) -> str:
    """Say in a line what the model consists of; not escaped."""
    model = source if isinstance(source, Model) else source.model
    attractive = int((model.weights > 0).sum())
    parts = [
        f"{_count(model.n, 'variable')}, {np.count_nonzero(model.theta)} with a field",
        f"{_count(model.m, 'edge')}: {attractive} attractive, {model.m - attractive} repulsive",
    ]
    if model.forbidden:
        parts.append(_count(len(model.forbidden), "hard constraint"))
    if isinstance(source, ModelFile) and source.fixed:
        parts.append(f"{_count(len(source.fixed), 'observed variable')}, not counted")
    return "; ".join(parts) + "."


def answer(source: Model | ModelFile, uprooted: UprootedModel, report: TightnessReport) -> str:
    """Tell the best assignment's score, in nats and in the file's own terms."""
    return _facts(_answer(source, uprooted, report))


def _answer(
    source: Model | ModelFile, uprooted: UprootedModel, report: TightnessReport
) -> Iterable[tuple[str, str]]:
    answer = report.answer
    early = f"; stopped early: {answer.stopped}" if answer.stopped else ""
    proved = "proved optimal" if answer.status == "optimal" else f"gap {answer.gap:.3%}{early}"
    yield "score", f"{_number(answer.score)} nats ({proved})"
    if answer.status != "optimal":
        yield "bound", f"{_number(answer.bound)} nats: no assignment scores more"
    if isinstance(source, ModelFile):
        direction = "maximised" if source.sense == "max" else "minimised"
        objective = _number(source.objective(answer.score))
        yield "objective", f"{objective} ({source.measure}, {direction})"
    at = ""
    if answer.root is not None:
        at = f" at the root {uprooted.labels[answer.root]}"
    elif answer.block_roots:
        at = f" on {_count(len(answer.block_roots), 'block')}"
    yield "method", f"{answer.method}{at}"
    yield "value 1", f"{int(answer.x.sum())} of {_count(len(answer.x), 'variable')}"


def tightness(uprooted: UprootedModel, report: TightnessReport) -> str:
    """Tell what LOC and TRI are, whether they are tight, and why."""
    return _facts(_tightness(uprooted, report))


def _tightness(uprooted: UprootedModel, report: TightnessReport) -> Iterable[tuple[str, str]]:
    words = {True: "tight", False: "not tight", None: "tightness not known"}
    here, best = uprooted.labels[0], uprooted.labels[report.best_root]
    yield "LOC", f"{_number(report.loc)} at the root {here}, {words[report.loc_tight]}"
    yield (
        "best LOC",
        f"{_number(report.best_loc)} at the root {best}, {words[report.best_loc_tight]}",
    )
    fractional = f", {_count(report.fractional, 'fractional edge')}" if report.fractional else ""
    yield "TRI", f"{_number(report.tri)} at every root, {words[report.tri_tight]}{fractional}"
    yield "why", report.reason
    if report.witness.get("root"):
        yield "root", str(uprooted.labels[report.witness["root"]])
    for key, what in (("switching_set", "flip"), ("hitting_set", "hit by")):
        if report.witness.get(key):
            yield what, _names(sorted(report.witness[key]), uprooted)
    violated = report.witness.get("violated")
    if violated:
        b = ", ".join(map(str, violated["b"]))
        yield "violated", f"{_names(violated['vertices'], uprooted)} with b = ({b})"


def certificate(model: Model, given: Mapping[str, Any] | str | os.PathLike[str]) -> str:
    """Check a certificate, and tell what it proves and by which arguments."""
    checked = verify(model, given)
    if checked:
        proof = given if isinstance(given, Mapping) else json.loads(Path(given).read_bytes())
        gap = float(checked.exact_gap or 0)
        rows = [
            ("holds", "every step, checked in exact arithmetic"),
            ("score", f"{_number(checked.score)} nats"),
            ("bound", f"{_number(checked.bound)} nats" + (f", a gap of {gap:.3g}" if gap else "")),
            ("proof", _rules(proof)),
        ]
    else:
        rows = [("refused", str(checked.failure))]
    return (
        '<section aria-labelledby="certificate-heading"><h2 id="certificate-heading">'
        f"The certificate</h2>{_facts(rows)}</section>"
    )


def _rules(given: Mapping[str, Any]) -> str:
    """Count the rules that a proof uses, at any depth."""
    counts: Counter[str] = Counter()
    stack: list[Any] = [given["proof"]]
    while stack:
        part = stack.pop()
        if isinstance(part, Mapping):
            counts.update([part["by"]] if isinstance(part.get("by"), str) else [])
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return ", ".join(f"{_RULES.get(rule, rule)} ({n})" for rule, n in sorted(counts.items()))


def roots(uprooted: UprootedModel, report: TightnessReport) -> str:
    """List the roots whose LOC the report holds, the smallest first."""
    values = report.loc_by_root | {report.best_root: report.best_loc}
    rows = "".join(
        f'<tr><td>{escape(_names([r], uprooted))}</td><td class="number">{_number(value)}</td>'
        f"<td>{escape(_balance(uprooted, r))}</td></tr>"
        for r, value in sorted(values.items(), key=lambda item: (item[1], item[0]))
    )
    return (
        '<section aria-labelledby="roots-heading">'
        f'<h2 id="roots-heading">LOC at {len(values)} roots</h2>'
        '<p class="note">The model is too large to draw. These are its own root, the best one and '
        "the heaviest.</p><table><thead><tr>"
        '<th scope="col">root</th><th scope="col">LOC</th><th scope="col">signs</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _balance(uprooted: UprootedModel, root: int) -> str:
    found = rooted_balance(uprooted, root)
    if found.frustrated_cycle is None:
        return f"balanced, {len(found.switching_set or ())} to flip"
    return "frustrated cycle: " + _names(found.frustrated_cycle, uprooted)


def _names(vertices: Sequence[int], uprooted: UprootedModel) -> str:
    names = [str(uprooted.labels[v]) for v in vertices[:_NAMES]]
    more = f" and {len(vertices) - _NAMES} more" if len(vertices) > _NAMES else ""
    return ", ".join(names) + more


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    cells = (
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    return '<table class="facts"><tbody>' + "".join(cells) + "</tbody></table>"


def _count(many: int, what: str) -> str:
    return f"{many} {what}" if many == 1 else f"{many} {what}s"


def _number(value: float) -> str:
    return f"{value:.10g}".replace("-", "\N{MINUS SIGN}") if math.isfinite(value) else str(value)
