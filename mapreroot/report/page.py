"""One HTML page about one model: reroot it, see what that changes, take the answer away.

The page is a single file. It asks nothing of any server, and its policy forbids it to.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mapreroot import __version__
from mapreroot.balance import rooted_balance
from mapreroot.errors import ModelError
from mapreroot.formats import ModelFile
from mapreroot.formats.text import write_text
from mapreroot.model import TOL, Model, UprootedModel
from mapreroot.report import tables
from mapreroot.report.layout import place
from mapreroot.rerooting import uproot
from mapreroot.tightness import TightnessReport, tightness

__all__ = ["page", "write_page"]

_DRAWN = 300  # variables; among more, nobody could pick out a vertex
_LISTED = 30  # roots of a model that is too large to draw


def write_page(
    source: Model | ModelFile,
    path: str | os.PathLike[str],
    certificate: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
) -> None:
    """Write the page of a model to a file, or to standard output for ``-``.

    Takes and raises what `page` does, and OSError.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
    >>> write_page(Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2, -2, -2]), path)
    >>> path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    write_text(path, page(source, certificate, time_limit))


def page(
    source: Model | ModelFile,
    certificate: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    time_limit: float | None = None,
) -> str:
    """Make a self-contained HTML page on which a model can be rerooted.

    Parameters
    ----------
    source : Model or ModelFile
        With a file, the page also speaks in the file's own terms.
    certificate : mapping or path, optional
        As for `mapreroot.verify`, which is asked about it.
    time_limit : float, optional
        Seconds for finding the MAP; without one it is proved.

    Returns
    -------
    str
        Up to 300 variables are drawn, and LOC is shown at every root; of a larger model the
        heaviest roots are listed. The same model gives the same page.

    Raises
    ------
    ModelError
        For a time limit that is not a number of seconds.
    OSError
        If the certificate cannot be read.
    SolverError
        If a solver fails.

    Notes
    -----
    `mapreroot.tightness.tightness`, and one minimum cut and one balance test for each root shown.

    Examples
    --------
    >>> frustrated = Model([0, 0, 0], [(0, 1), (1, 2), (0, 2)], [-2, -2, -2])
    >>> "M+ without vertex 1 is balanced: LOC is tight when rooted there" in page(frustrated)
    True
    """
    if time_limit is not None and not time_limit >= 0:
        raise ModelError(f"the time limit is {time_limit}: expected a number of seconds")
    model = source if isinstance(source, Model) else source.model
    uprooted = uproot(model)
    small = model.n <= _DRAWN
    report = tightness(model, "all" if small else _heaviest(uprooted), time_limit)
    title = _title(source)
    parts = {
        "title": escape(title),
        "summary": escape(tables.summary(source)),
        "style": _resource("page.css"),
        "explorer": _resource("explorer.html") if small else "",
        "answer": tables.answer(source, uprooted, report),
        "tightness": tables.tightness(uprooted, report),
        "certificate": "" if certificate is None else tables.certificate(model, certificate),
        "roots": "" if small else tables.roots(uprooted, report),
        "version": __version__,
        "data": _data(source, title, _explorer(uprooted, report) if small else None, report),
        "script": _resource("page.js"),
    }
    # One pass, so that nothing a file says is taken for a marker.
    html = re.sub(r"<!--(\w+)-->", lambda found: parts[found[1]], _resource("page.html"))
    return html.encode(errors="replace").decode()  # the names of files may hold any bytes


def _resource(name: str) -> str:
    return files("mapreroot.report").joinpath(name).read_text(encoding="utf-8").strip()


def _title(source: Model | ModelFile) -> str:
    if isinstance(source, Model):
        return "A binary pairwise model"
    return "standard input" if source.path == "-" else Path(source.path).name


def _explorer(uprooted: UprootedModel, report: TightnessReport) -> dict[str, Any]:
    """Gather what the drawing needs, every root's answer included."""
    balances = [rooted_balance(uprooted, r) for r in range(uprooted.n_vertices)]
    largest = float(np.abs(uprooted.weights).max(initial=0.0))
    return {
        "names": [str(label) for label in uprooted.labels],
        "xy": place(uprooted).round(4).tolist(),
        "edges": uprooted.edges.tolist(),
        "weights": uprooted.weights.tolist(),
        "loc": list(report.loc_by_root.values()),
        "cycles": [balance.frustrated_cycle for balance in balances],
        "flips": [
            None if balance.switching_set is None else sorted(balance.switching_set)
            for balance in balances
        ],
        "tri": report.tri,
        "score": report.score,
        "proved": report.answer.status == "optimal",
        "best": report.best_root,
        "tolerance": 10 * TOL * largest,
        "y": [0, *report.answer.x.tolist()],
    }


def _data(
    source: Model | ModelFile,
    title: str,
    explorer: dict[str, Any] | None,
    report: TightnessReport,
) -> str:
    """Write JSON that can stand inside a script element: no name can end it."""
    x = report.answer.x
    if isinstance(source, Model):
        assignment = dict(zip(source.labels, x.tolist(), strict=True))
    else:
        assignment = source.assignment(x)
    data = {
        "stem": re.sub(r"[^\w.-]+", "-", Path(title).stem) or "model",
        "assignment": [[str(label), value] for label, value in assignment.items()],
        "explorer": explorer,
    }
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _heaviest(uprooted: UprootedModel) -> list[int]:
    size = np.repeat(np.abs(uprooted.weights), 2)
    weight = np.bincount(uprooted.edges.ravel(), size, minlength=uprooted.n_vertices)
    return sorted({0, *np.argsort(-weight, kind="stable")[:_LISTED].tolist()})
