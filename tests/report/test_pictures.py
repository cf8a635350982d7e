"""Pictures show the numbers they are given."""

import io
import sys

import numpy as np
import pytest

import mapreroot as mr
from mapreroot.relax import relax
from mapreroot.report import pictures
from mapreroot.solve import Progress, solve
from mapreroot.tightness import tightness

pytest.importorskip("matplotlib")
from matplotlib import rc_context
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

FRUSTRATED = mr.Model([0.5, 0, -1], [(0, 1), (1, 2), (0, 2)], [-2, 2, 4], labels=["a", "$b$", "c"])


def rendered(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "the same names for the same parts"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def test_attractive_edges_are_solid_and_blue_repulsive_ones_dashed_and_red() -> None:
    at = [(0, 0), (1, 0), (0, 1)]
    ax = pictures.signed_graph(FRUSTRATED, at=at)
    attractive, repulsive = ax.collections
    assert [segment.tolist() for segment in repulsive.get_segments()] == [[[0, 0], [1, 0]]]
    assert sorted(segment.tolist() for segment in attractive.get_segments()) == [
        [[0, 0], [0, 1]],
        [[1, 0], [0, 1]],
    ]
    for lines, colour, dashed in (
        (attractive, pictures.ATTRACTIVE, False),
        (repulsive, pictures.REPULSIVE, True),
    ):
        assert np.allclose(lines.get_color(), to_rgba(colour))
        assert (lines.get_linestyle()[0][1] is not None) == dashed
    wide, narrow = attractive.get_linewidth()  # of the edges ac and bc
    assert wide > narrow
    assert [text.get_text() for text in ax.texts] == [
        "-2",
        "4",
        "2",
        "a\n+0.5",
        "\\$b\\$\n0",
        "c\n-1",
    ]
    assert rendered(ax.figure) == rendered(pictures.signed_graph(FRUSTRATED, at=at).figure)


def test_large_models_show_the_sign_of_a_field_instead_of_a_name() -> None:
    theta = np.zeros(60)
    theta[:2] = 1, -1
    ax = pictures.signed_graph(mr.Model(theta, [(k, k + 1) for k in range(59)], [1] * 59))
    assert not ax.texts
    colours = ax.collections[-1].get_facecolor()
    assert np.allclose(colours[0], to_rgba(pictures.REPULSIVE))
    assert np.allclose(colours[1], to_rgba(pictures.ATTRACTIVE))
    assert np.allclose(colours[2], to_rgba("0.25"))


def test_models_without_edges_or_variables_have_pictures() -> None:
    for model in (mr.Model([], [], []), mr.Model([1], [], []), mr.uproot(mr.Model([], [], []))):
        assert rendered(pictures.signed_graph(model).figure)


def test_rerootings_leave_every_vertex_in_its_place() -> None:
    figure = pictures.rerootings(FRUSTRATED, root=2)
    places = [
        {t.get_text().split("\n")[0]: t.get_position() for t in ax.texts if t.get_zorder() == 3}
        for ax in figure.axes
    ]
    m, uprooted, rooted = places
    assert set(uprooted) == {"X0", "a", "\\$b\\$", "c"}
    assert m == {name: at for name, at in uprooted.items() if name != "X0"}
    assert rooted == {name: at for name, at in uprooted.items() if name != "\\$b\\$"}
    assert rendered(figure)
    with pytest.raises(mr.ModelError, match="no vertex 4"):
        pictures.rerootings(FRUSTRATED, root=4)


def test_root_profile_shows_loc_by_root_between_lines_for_tri_and_map() -> None:
    report = tightness(FRUSTRATED, roots="all")
    figure = Figure()
    mine = figure.add_subplot()
    ax = pictures.root_profile(report, ax=mine)
    assert ax is mine
    dots, here, top, tri, best = ax.lines
    assert dots.get_xdata().tolist() == [0, 1, 2, 3]
    assert dots.get_ydata().tolist() == list(report.loc_by_root.values())
    assert set(tri.get_ydata()) == {report.tri}
    assert set(best.get_ydata()) == {report.score}
    assert best.get_label() == "MAP"
    assert (here.get_xdata()[0], here.get_ydata()[0]) == (0, report.loc)
    assert (top.get_xdata()[0], top.get_ydata()[0]) == (report.best_root, report.best_loc)
    bare = tightness(FRUSTRATED)
    assert pictures.root_profile(bare).lines[0].get_xdata().tolist() == sorted({0, bare.best_root})


def test_grid_labels_show_q_what_is_persistent_and_the_map() -> None:
    # A frustrated square with no field to decide it, beside a pixel that its field decides.
    model = mr.Model.from_grid([[0, 0, 3], [0, 0, 0.5]], right=[[2, 0], [-2, 0]], down=[[2, 2, 1]])
    relaxation, result = relax(model, "loc"), solve(model)
    figure = pictures.grid_labels(relaxation, result, (2, 3))
    q, known, best = (np.ma.filled(ax.images[0].get_array(), np.nan) for ax in figure.axes)
    assert q.tolist() == relaxation.q.reshape(2, 3).tolist()
    assert best.tolist() == result.x.reshape(2, 3).tolist()
    assert np.isnan(known).tolist() == [[True, True, False], [True, True, False]]
    assert known[:, 2].tolist() == [1, 1]
    assert figure.axes[1].get_title() == "persistent: 2 of 6"
    assert rendered(figure)
    with pytest.raises(mr.ModelError, match=r"shape \(4, 2\).* the MAP 6"):
        pictures.grid_labels(relaxation, result, (4, 2))
    with pytest.raises(mr.ModelError, match="pseudomarginals"):
        pictures.grid_labels(relax(model, "loc", root=1), result, (2, 3))


def test_bound_and_score_meet() -> None:
    records = [Progress(3.0, 9.0, 0, 0.1), Progress(4.0, 8.0, 7, 0.3), Progress(6.0, 6.0, 9, 0.9)]
    ax = pictures.bound_and_score(iter(records))
    bound, score = ax.lines
    assert bound.get_xdata().tolist() == score.get_xdata().tolist() == [0.1, 0.3, 0.9]
    assert bound.get_ydata().tolist() == [9, 8, 6]
    assert score.get_ydata().tolist() == [3, 4, 6]
    with pytest.raises(mr.ModelError, match="no records"):
        pictures.bound_and_score([])


def test_error_bands_are_one_standard_error_wide() -> None:
    table = {
        "rooting": ["M", "M", "M", "M", "max_w", "max_w"],
        "w_max": [2, 2, 8, 8, 2, 8],
        "error": [1.0, -3.0, 5.0, np.nan, 0.5, 0.25],
    }
    pandas = pytest.importorskip("pandas")
    for given in (table, pandas.DataFrame(table)):
        ax = pictures.error_by_wmax(given)
        assert [line.get_label() for line in ax.lines] == ["M", "max_w"]
        assert [line.get_ydata().tolist() for line in ax.lines] == [[2, 5], [0.5, 0.25]]
        corners = ax.collections[0].get_paths()[0].vertices
        # Of 1 and 3: a mean of 2, a standard error of 1. A single value has no spread.
        assert {y for x, y in corners.tolist() if x == 2} == {1, 3}
        assert {y for x, y in corners.tolist() if x == 8} == {5}
        assert rendered(ax.figure)
    with pytest.raises(mr.ModelError, match="no column 'gap'"):
        pictures.error_by_wmax(table, error="gap")


def test_without_matplotlib_the_way_to_get_it_is_said(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'mapreroot\[plot\]'"):
        pictures.signed_graph(FRUSTRATED)
