"""Results in a notebook: every class has its table, names are text, images hold their numbers."""

import io
import re
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mapreroot as mr
from mapreroot.notebook import grid_shape, image, names, table
from mapreroot.roots import RootChoice
from mapreroot.trees import TreeCover

HOSTILE = ["<script>alert(1)</script>", "a&b", '"><img src=x>', "\ud800"]
MODEL = mr.Model([1, 0, -1, 0.5], [(0, 1), (1, 2), (2, 3), (0, 3)], [2, -2, 3, 1], labels=HOSTILE)
GRID = mr.Model.from_grid([[3, -1], [1, -3]], right=[[2], [2]], down=[[1, 1]])


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def results(model: mr.Model) -> list:
    uprooted = mr.uproot(model)
    return [
        mr.solve(model),
        mr.relax(model, "loc"),
        mr.relax(model, "tri"),
        mr.tightness(model, roots="all"),
        mr.marginals(model),
        mr.marginals(model, "bethe"),
        mr.log_partition(model),
        mr.bounds(model),
        mr.max_marginals(model),
        mr.all_optima(model),
        mr.choose_root(uprooted),
        RootChoice.given(uprooted, 0),
        TreeCover(3, [(0, 1), (1, 2)]),
    ]


@pytest.mark.parametrize("result", results(MODEL), ids=lambda result: type(result).__name__)
def test_every_result_has_a_table_in_which_names_are_text(result) -> None:
    html = result._repr_html_()
    html.encode()
    assert set(Tags(html).found) == {"table", "caption", "tr", "th", "td"}


def test_the_numbers_are_those_of_the_result() -> None:
    result = mr.solve(MODEL)
    text = Tags(result._repr_html_()).text
    assert f"score{result.score:.10g}" in text
    assert "statusoptimal" in text
    assert f"{HOSTILE[0]} = {result.x[0]}, a&b = {result.x[1]}" in text
    assert "stopped: nodes" in mr.solve(mr.generate.complete(40), nodes=0)._repr_html_()
    cycle = RootChoice.given(mr.uproot(MODEL), 0).frustrated_cycle
    assert cycle is not None
    shown = RootChoice.given(mr.uproot(MODEL), 0)._repr_html_()
    assert f"{', '.join(map(str, cycle))}</td>" in shown


@pytest.mark.parametrize("kind", ["solve", "relax", "marginals", "max_marginals"])
def test_results_on_an_image_show_it(kind) -> None:
    images = pytest.importorskip("matplotlib.image")
    result = mr.relax(GRID, "loc") if kind == "relax" else getattr(mr, kind)(GRID)
    html = result._repr_html_()
    assert Tags(html).found[-3:] == ["figure", "img", "figcaption"]
    values = {"relax": "q", "marginals": "p"}.get(kind, "x")
    assert pixels(html, images) == pytest.approx(
        getattr(result, values).reshape(2, 2), abs=0.51 / 255
    )


def pixels(html: str, images) -> np.ndarray:
    data = re.search(r'src="data:image/png;base64,([^"]+)"', html)
    assert data is not None
    return images.imread(io.BytesIO(b64decode(data[1])), format="png")


@given(st.integers(1, 9), st.integers(1, 9), st.randoms())
def test_images_hold_their_numbers(rows, columns, random) -> None:
    images = pytest.importorskip("matplotlib.image")
    values = np.array([[random.random() for _ in range(columns)] for _ in range(rows)])
    assert pixels(image(values, "x"), images) == pytest.approx(values, abs=0.51 / 255)


def test_large_images_are_thinned_out() -> None:
    images = pytest.importorskip("matplotlib.image")
    assert pixels(image(np.ones((3, 1000)), "x"), images).shape == (1, 250)


def test_what_is_no_grid_has_no_shape() -> None:
    cells = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert grid_shape(cells) == (2, 3)
    for labels in ((), [(0, 0)], cells[:-1], cells[::-1], [*cells[:4], cells[0], cells[5]],
                   ["a", "b"], [(0, 0), (0, "1")], range(6)):  # fmt: skip
        assert grid_shape(labels) is None


def test_long_lists_are_cut_and_tables_escape_their_titles() -> None:
    assert names([1, 2], lambda k: f"<{k}>") == "<1>, <2>"
    assert names(range(13)).endswith("10, 11 and 1 more")
    assert Tags(table("<i>", {"<b>": "<u>", "none": None})).found == [
        "table", "caption", "tr", "th", "td"
    ]  # fmt: skip
