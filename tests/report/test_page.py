"""The page, as text: its numbers, its escapes, and that it asks nothing of the network."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from conftest import DATA
from hypothesis import given, settings
from strategies import models

import mapreroot as mr
from mapreroot.balance import balance
from mapreroot.formats import read_file
from mapreroot.relaxations.roof_duality import roof_dual
from mapreroot.report.page import page, write_page
from mapreroot.solve import solve

FRUSTRATED = mr.Model([0.5, 0, -1], [(0, 1), (1, 2), (0, 2)], [-2, 2, 4], labels=["a", "b", "c"])
HOSTILE = [
    "</script><script>document.title = 'owned'</script>",
    "<img src=x onerror=alert(1)>",
    "<!--data-->&amp;\u2028'\"",
    "\ud800",
]


class Parsed(HTMLParser):
    """The tags of a page, its text, and what its scripts hold."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"]:
            self.scripts[-1] += data
        else:
            self.text += data

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])


@settings(max_examples=25)
@given(models(max_n=6))
def test_what_is_shown_of_each_root_is_true(model) -> None:
    uprooted = mr.uproot(model)
    data = Parsed(page(model)).data
    shown = data["explorer"]
    assert shown["edges"] == uprooted.edges.tolist()
    assert shown["weights"] == uprooted.weights.tolist()
    assert len(shown["xy"]) == len(shown["loc"]) == uprooted.n_vertices
    for r in range(uprooted.n_vertices):
        assert shown["loc"][r] == roof_dual(uprooted, r).bound
        rest = (uprooted.edges != r).all(axis=1)
        sign = dict(
            zip(map(tuple, uprooted.edges[rest].tolist()), uprooted.weights[rest] < 0, strict=True)
        )
        cycle, flip = shown["cycles"][r], shown["flips"][r]
        assert (cycle is None) == balance(uprooted.reroot(r)).is_balanced == (flip is not None)
        if cycle is None:
            sides = np.isin(np.arange(uprooted.n_vertices), flip)
            assert all(sign[i, j] == (sides[i] != sides[j]) for i, j in sign)
        else:
            around = zip(cycle, cycle[1:] + cycle[:1], strict=True)
            assert sum(sign[min(pair), max(pair)] for pair in around) % 2 == 1
    x = [value for _, value in data["assignment"]]
    assert shown["y"] == [0, *x]
    assert model.score(x) == pytest.approx(shown["score"])
    assert shown["proved"]


def test_names_are_text_wherever_they_appear() -> None:
    edges = [(i, j) for j in range(4) for i in range(j)]
    model = mr.Model([0] * 4, edges, [-2] * 6, labels=HOSTILE)
    plain = Parsed(page(mr.Model([0] * 4, edges, [-2] * 6)))
    parsed = Parsed(page(model))
    assert parsed.tags == plain.tags
    assert parsed.tags.count("script") == 2
    assert parsed.data["explorer"]["names"] == ["X0", *HOSTILE]
    assert [label for label, _ in parsed.data["assignment"]] == HOSTILE
    assert HOSTILE[0] in parsed.text  # among those that hit every frustrated cycle
    assert "<!--" not in page(model).replace("<!--data--&gt;", "")


def test_the_page_is_one_file_that_asks_nothing_of_the_network() -> None:
    html = page(read_file(DATA.parents[1] / "examples" / "data" / "grid10x10.uai"))
    parsed = Parsed(html)
    assert not {"link", "img", "iframe", "object", "base"} & set(parsed.tags)
    assert not {"src", "href"} & {name for name, _ in parsed.attributes}
    policy = dict(parsed.attributes)["content"]
    assert ("http-equiv", "Content-Security-Policy") in parsed.attributes
    assert any("default-src 'none'" in (value or "") for _, value in parsed.attributes), policy
    addresses = set(re.findall(r"https?://[^\"'\s]+", html))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not a place
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", html)


def test_the_same_model_gives_the_same_page() -> None:
    assert page(FRUSTRATED) == page(FRUSTRATED)


def test_large_models_are_summarised() -> None:
    n = 301
    theta = np.zeros(n)
    theta[7] = 5
    cycle = [(k, (k + 1) % n) for k in range(n)]
    parsed = Parsed(page(mr.Model(theta, cycle, [-1.0] * n)))
    assert parsed.data["explorer"] is None
    assert "svg" not in parsed.tags
    assert len(parsed.data["assignment"]) == n
    assert "too large to draw" in parsed.text
    rows = re.findall(r"LOC at (\d+) roots", parsed.text)
    assert rows
    assert int(rows[0]) <= 32
    assert "frustrated cycle" in parsed.text  # at X0
    assert "balanced" in parsed.text  # anywhere on the cycle


def test_a_file_speaks_in_its_own_terms(tmp_path) -> None:
    file = tmp_path / "<b>square & co.sparse"
    file.write_text("2 3\n1 1 -3\n2 2 1\n1 2 1\n")
    model_file = read_file(file)
    parsed = Parsed(page(model_file))
    assert "<b>square & co.sparse" in parsed.text
    assert "b" not in parsed.tags
    objective = model_file.objective(solve(model_file.model).score)
    assert objective == -3
    assert "\N{MINUS SIGN}3 (x'Qx, minimised)" in parsed.text


def test_observed_variables_are_part_of_the_assignment(tmp_path) -> None:
    file = tmp_path / "pair.json"
    mr.write_model(FRUSTRATED, file)
    parsed = Parsed(page(read_file(file, evidence={"b": 1})))
    assert [label for label, _ in parsed.data["assignment"]] == ["a", "b", "c"]
    assert dict(parsed.data["assignment"])["b"] == 1
    assert parsed.data["explorer"]["names"] == ["X0", "a", "c"]
    assert "1 observed variable, not counted" in parsed.text


def test_certificates_are_checked_before_they_are_shown(tmp_path) -> None:
    certificate = solve(FRUSTRATED, certify=True).certificate
    parsed = Parsed(page(FRUSTRATED, certificate))
    assert "every step, checked in exact arithmetic" in parsed.text
    file = tmp_path / "proof.json"
    file.write_text(json.dumps(certificate))
    assert page(FRUSTRATED, file) == page(FRUSTRATED, certificate)

    lie = {**certificate, "score": certificate["score"] + 1}
    refused = Parsed(page(FRUSTRATED, lie)).text
    assert "refused" in refused
    assert "is stated" in refused
    assert "every step" not in refused
    file.write_text("no certificate")
    assert "malformed" in Parsed(page(FRUSTRATED, file)).text
    assert "certificate" not in Parsed(page(FRUSTRATED)).text
    with pytest.raises(OSError, match="absent"):
        page(FRUSTRATED, tmp_path / "absent.json")


def test_an_answer_that_is_not_proved_says_so() -> None:
    rng = np.random.default_rng(7)
    edges = [(i, j) for j in range(60) for i in range(j)]
    model = mr.Model(rng.normal(size=60), edges, rng.normal(size=len(edges)))
    parsed = Parsed(page(model, time_limit=0))
    assert not parsed.data["explorer"]["proved"]
    assert "stopped early: time" in parsed.text
    assert "no assignment scores more" in parsed.text


def test_bad_time_limits_are_refused() -> None:
    with pytest.raises(mr.ModelError, match="time limit is -1"):
        page(FRUSTRATED, time_limit=-1)
    with pytest.raises(mr.ModelError, match="time limit is nan"):
        page(FRUSTRATED, time_limit=float("nan"))


def test_write_page_leaves_the_old_file_alone_until_the_new_one_is_whole(tmp_path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(mr.ModelError):
        write_page(FRUSTRATED, path, time_limit=-1)
    assert path.read_text() == "old"
    write_page(FRUSTRATED, path)
    assert path.read_text(encoding="utf-8") == page(FRUSTRATED)
