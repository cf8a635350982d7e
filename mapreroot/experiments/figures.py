"""Figures of the paper's section 6, laid out like its Figure 3."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["draw_figures", "draw_roots"]

STYLES = {
    "original": ("M (original)", "black", "o", "-"),
    "uprooted": ("M+", "tab:purple", "s", ":"),
    "worst": ("worst root", "tab:red", "v", "--"),
    "best": ("best root", "tab:green", "^", "--"),
    "max_w": ("maxW", "tab:orange", "x", "-"),
    "max_tw": ("maxtW", "tab:blue", "d", "-"),
}
RULE_COLOURS = {"max_tw": "tab:blue", "max_w": "tab:orange", "auto": "tab:green"}
MEASURES = (("log_z_error", "error of log Z"), ("l1", "l1 error of marginals"))


def draw_figures(summary: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Draw one figure for each family, kind and method: errors against Wmax.

    Parameters
    ----------
    summary : list of dict
        As `mapreroot.experiments.paper.summarise` gives it.
    folder : Path
        Where ``family_kind_method.png`` go.

    Returns
    -------
    list of Path
        Empty without matplotlib.

    Notes
    -----
    Columns are the ranges of singletons, the upper row is log Z, the lower one the marginals;
    bars are standard errors.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    paths = []
    for family, kind, method in _distinct(summary, "family", "kind", "method"):
        part = [
            line
            for line in summary
            if (line["family"], line["kind"], line["method"]) == (family, kind, method)
        ]
        most = max(line["runs"] for line in part)
        ranges = [name for (name,) in _distinct(part, "singletons")]
        figure = Figure(figsize=(3.6 * len(ranges), 5.6), layout="constrained")
        axes = figure.subplots(2, len(ranges), squeeze=False, sharex=True)
        for column, singletons in enumerate(ranges):
            for row, (measure, title) in enumerate(MEASURES):
                axis = axes[row, column]
                for rooting, (label, colour, marker, dash) in STYLES.items():
                    curve = sorted(
                        (line["w_max"], line[measure], line[measure + "_se"], line["runs"])
                        for line in part
                        if line["singletons"] == singletons and line["rooting"] == rooting
                    )
                    if curve:
                        w, mean, error, runs = zip(*curve, strict=True)
                        if min(runs) < most:
                            label += f" ({min(runs)} draws)"
                        axis.errorbar(
                            w, mean, error, label=label, color=colour, marker=marker,
                            linestyle=dash, markersize=4, linewidth=1, capsize=2,
                        )  # fmt: skip
                axis.set_ylim(bottom=0)
                if row == 0:
                    axis.set_title(f"{singletons} singletons")
                else:
                    axis.set_xlabel("Wmax")
                if column == 0:
                    axis.set_ylabel(title)
        axes[0, 0].legend(fontsize="small")
        figure.suptitle(f"{family}, {kind}, {method.replace('_', ' ')}")
        path = folder / f"{family}_{kind}_{method}.png"
        figure.savefig(path, dpi=120)
        paths.append(path)
    return paths


def draw_roots(
    summary: Sequence[dict[str, Any]], folder: Path, extra: Sequence[str] = ("auto",)
) -> list[Path]:
    """Draw how much of the gap between vertex 0 and the best root some rules recover.

    Parameters
    ----------
    summary : list of dict
        As `mapreroot.experiments.roots.root_table` gives it.
    folder : Path
        Where ``roots.png`` goes.
    extra : sequence of str
        Rules to draw beside maxtW and maxW.

    Returns
    -------
    list of Path
        Empty without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    drawn = [line for line in summary if line["measure"] == "log_z" and line["family"] != "all"]
    methods = [name for (name,) in _distinct(drawn, "method")]
    settings = _distinct(
        [line for line in drawn if line["recovered"] is not None], "family", "kind", "singletons"
    )
    figure = Figure(figsize=(9, 1 + 2 * len(methods)), layout="constrained")
    axes = figure.subplots(len(methods), 1, squeeze=False, sharex=True)[:, 0]
    rules = ("max_tw", "max_w", *extra)
    for axis, method in zip(axes, methods, strict=True):
        for place, rule in enumerate(rules):
            found = {
                (line["family"], line["kind"], line["singletons"]): line
                for line in drawn
                if line["method"] == method and line["rule"] == rule
            }
            bars = [
                (x, found[setting])
                for x, setting in enumerate(settings)
                if setting in found and found[setting]["recovered"] is not None
            ]
            axis.bar(
                [x + 0.8 * (place + 0.5) / len(rules) - 0.4 for x, _ in bars],
                [max(line["recovered"], -1.0) for _, line in bars],
                0.8 / len(rules),
                yerr=[line["recovered_se"] for _, line in bars],
                color=RULE_COLOURS.get(rule),
                label=rule,
                error_kw={"linewidth": 0.8},
            )
        axis.axhline(0, color="black", linewidth=0.8)
        axis.axhline(1, color="grey", linewidth=0.8, linestyle=":")
        axis.set_ylim(-1.05, 1.1)
        axis.set_ylabel(method.replace("_", " "))
    axes[0].set_title("share of the gap in |log Z error| between vertex 0 and the best root")
    axes[-1].set_xticks(
        range(len(settings)), [f"{f} {k}\n{s}" for f, k, s in settings], rotation=90, fontsize=7
    )
    axes[0].legend(fontsize="small", ncols=len(rules))
    path = folder / "roots.png"
    figure.savefig(path, dpi=120)
    return [path]


def _distinct(rows: Sequence[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))
