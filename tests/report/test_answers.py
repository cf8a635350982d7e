"""Pictures of answers show the numbers of the result that is asked to plot itself."""

import io
import subprocess
import sys

import numpy as np
import pytest

import mapreroot as mr
from mapreroot.report import answers
from mapreroot.report.drawing import GLOW
from mapreroot.roots import RootChoice
from mapreroot.trees import TreeCover

pytest.importorskip("matplotlib")
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure

# Balanced at d only; $ must not be read as mathematics.
EDGES = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)]
MODEL = mr.Model([0.5, 0, -0.5, 1.5], EDGES, [3, -3, 3, -4, 4], labels=["a", "$b$", "c", "d"])
GRID = mr.Model.from_grid([[3, -1], [1, -3]], right=[[2], [2]], down=[[1, 1]])
LARGE = mr.generate.grid(7, 7, fields="low", seed=3)
HUGE = mr.generate.tree(400, seed=1)


def drawn(ax) -> bytes:
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def filled(ax) -> dict[str, tuple]:
    """Give the colour of each vertex, by name."""
    return {
        text.get_text().split("\n")[0].replace("\\", ""): text.get_bbox_patch().get_facecolor()[:3]
        for text in ax.texts
        if text.get_zorder() == 3
    }


def test_an_assignment_on_its_model() -> None:
    result = mr.solve(MODEL)
    ax = result.plot(MODEL)
    dark = to_rgb(answers.ONE)
    assert {name for name, colour in filled(ax).items() if colour == dark} == {
        label for label, value in result.assignment.items() if value
    }
    x = result.x
    unsatisfied = sum(
        (x[i] != x[j]) == (w > 0)
        for (i, j), w in zip(MODEL.edges.tolist(), MODEL.weights, strict=True)
    )
    assert unsatisfied
    assert len(ax.collections[2].get_segments()) == unsatisfied
    assert np.allclose(ax.collections[2].get_color()[0, :3], to_rgb(GLOW))
    assert ax.get_title() == f"score {result.score:.6g}, optimal"
    assert drawn(ax)
    with pytest.raises(mr.ModelError, match="other labels"):
        result.plot(GRID)


def test_an_assignment_as_an_image() -> None:
    result = mr.solve(GRID)
    mine = Figure().add_subplot()
    ax = result.plot(ax=mine)
    assert ax is mine
    assert np.array_equal(ax.images[0].get_array(), result.x.reshape(2, 2))
    assert not ax.texts
    five = mr.solve(mr.Model([1, -1, 1, -1, 1], [], [])).plot()
    assert np.ma.filled(five.images[0].get_array(), -1).tolist() == [[1, 0, 1], [0, 1, -1]]
    assert [text.get_text() for text in five.texts] == ["0", "1", "2", "3", "4"]
    assert drawn(five)
    assert drawn(mr.solve(mr.Model([], [], [])).plot())
    assert "at most" in mr.solve(mr.generate.complete(40), nodes=0).plot().get_title()


def test_a_root_and_why() -> None:
    uprooted = mr.uproot(MODEL)
    ax = mr.choose_root(uprooted).plot(uprooted)
    assert ax.get_title() == "root d: balanced once 2 vertices are flipped"
    colours = filled(ax)
    assert colours["d"] == to_rgb("black")
    assert sum(colour == to_rgb("0.8") for colour in colours.values()) == 2

    complete = mr.uproot(mr.generate.complete(8, couplings="gaussian", seed=1))
    choice = mr.choose_root(complete)
    ax = choice.plot(complete)
    assert choice.frustrated_cycle is not None
    assert len(ax.collections[2].get_segments()) == len(choice.frustrated_cycle)
    assert ax.get_title() == "root X0: max tw, with a frustrated cycle"

    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 3)]
    almost = mr.UprootedModel(4, pairs, [-1] * 6)
    choice = mr.choose_root(almost)
    assert choice.plot(almost).get_title() == "root 0: balanced without 1 too"
    assert filled(choice.plot(almost))["1"] == to_rgb("0.35")
    given = RootChoice.given(mr.uproot(LARGE), 5)
    assert drawn(given.plot(mr.uproot(LARGE)))


@pytest.mark.parametrize(("kind", "root"), [("loc", 0), ("loc", 3), ("tri", 0)])
@pytest.mark.parametrize("model", [MODEL, LARGE, HUGE], ids=["small", "large", "huge"])
def test_a_relaxation(model, kind, root) -> None:
    relaxation = mr.relax(model, kind, root)
    ax = relaxation.plot()
    half = int(((relaxation.d > 1e-6) & (relaxation.d < 1 - 1e-6)).sum())
    assert f": {relaxation.bound:.6g}, " in ax.get_title()
    if model is HUGE:
        assert sum(bar.get_height() for bar in ax.patches) == len(relaxation.d)
    else:
        fields = (relaxation.pairs == 0).any(axis=1) & (model is LARGE)
        shown = [len(lines.get_segments()) for lines in ax.collections[:3]]
        assert sum(shown) == (~fields).sum()
        assert shown[2] == (~fields & (relaxation.d > 1e-6) & (relaxation.d < 1 - 1e-6)).sum()
    if model is LARGE:
        dots = ax.collections[3].get_facecolors()
        amber = np.isclose(dots, to_rgba(GLOW)).all(axis=1).sum()
        assert amber == half - shown[2]
    assert drawn(ax)


def test_a_relaxation_on_an_image() -> None:
    relaxation = mr.relax(GRID, "loc")
    assert np.array_equal(relaxation.plot().images[0].get_array(), relaxation.q.reshape(2, 2))


def test_pairs_that_were_asked_for_in_any_order() -> None:
    relaxation = mr.relax(MODEL, "tri", pairs=[(3, 1), (1, 3), (2, 4)])
    assert sum(len(lines.get_segments()) for lines in relaxation.plot().collections) == 3


def test_marginals() -> None:
    marginals = mr.marginals(MODEL)
    ax = marginals.plot()
    assert [bar.get_y() + bar.get_height() for bar in ax.patches] == pytest.approx(marginals.p)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "\\$b\\$", "c", "d"]
    assert drawn(ax)
    image = mr.marginals(GRID)
    assert np.array_equal(image.plot().images[0].get_array(), image.p.reshape(2, 2))
    assert mr.marginals(LARGE).plot().get_xlabel() == "variable"


def test_margins() -> None:
    sure = mr.max_marginals(MODEL)
    assert sure.exact.all()
    ax = sure.plot()
    assert [bar.get_height() for bar in ax.patches] == sure.margin.tolist()
    assert not any(bar.get_hatch() for bar in ax.patches)
    hard = mr.max_marginals(mr.Model([1.0, 2.0], [(0, 1)], [-1.0], forbidden=[(1, 1)]))
    assert np.isinf(hard.margin).any()
    assert drawn(hard.plot())
    image = mr.max_marginals(GRID)
    assert np.array_equal(image.plot().images[0].get_array(), image.margin.reshape(2, 2))
    dense = mr.generate.complete(24, seed=1)
    loose = mr.max_marginals(dense, nodes=0, entries=2)
    bars = loose.plot().patches
    assert [bar.get_hatch() is None for bar in bars] == loose.exact.tolist()
    assert not loose.exact.all()


def test_reports_and_covers_plot_themselves() -> None:
    report = mr.tightness(MODEL)
    assert report.plot().get_ylabel() == "bound (nats)"
    cover = TreeCover(4, [(0, 1), (1, 2), (2, 3)])
    legend = cover.plot(0, names=list("abcd")).get_legend()
    assert legend.get_texts()[-1].get_text() == "touched by a"


def test_results_load_no_pictures_before_they_are_asked_to_plot() -> None:
    code = (
        "import sys, mapreroot as mr; r = mr.solve(mr.Model([1.0], [], [])); r._repr_html_(); "
        "assert not {'matplotlib', 'mapreroot.report'} & set(sys.modules); "
        "sys.modules['matplotlib.figure'] = None; r.plot()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: pictures need matplotlib: pip install 'mapreroot[plot]'" in done.stderr
    assert "AssertionError" not in done.stderr
