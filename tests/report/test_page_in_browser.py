"""The page in a real browser: headless Chromium, driven by Selenium.

Needs Debian's packages chromium and chromium-driver, or others that put these programs on the
path. Where they are missing the tests are skipped, but not in continuous integration (CI=true).
"""

import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA

import mapreroot as mr
from mapreroot.formats import read_file
from mapreroot.relaxations.roof_duality import roof_dual
from mapreroot.report.page import write_page
from mapreroot.solve import solve

PHONE, DESK = (390, 844), (1280, 900)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# The model of examples/figure1_rerooting.py: balanced at X4 only.
EDGES = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3)]
FIGURE1 = mr.Model([0.5, 0, -0.5, 1.5], EDGES, [3, -3, 3, -4, 4], labels=["X1", "X2", "X3", "X4"])


def missing(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    try:
        from selenium import webdriver
    except ImportError:
        missing("selenium is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        missing("no chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


class Page:
    """A page that is open, as its reader sees it."""

    def __init__(self, browser, path: Path, size: tuple[int, int] = DESK) -> None:
        self.browser = browser
        self.resize(*size)
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get(path.as_uri())

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def run(self, script: str, *arguments):
        return self.browser.execute_script(f"return {script}", *arguments)

    def find(self, selector: str):
        return self.browser.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return self.find(selector).text

    def vertex(self, v: int):
        return self.find(f'[data-vertex="{v}"]')

    def number(self, selector: str) -> float:
        return float(self.text(selector).replace("\N{MINUS SIGN}", "-"))

    def fields(self) -> dict[str, float]:
        rows = self.run("[...document.querySelectorAll('#fields tr')].map(r => r.innerText)")
        cells = [row.replace("\N{MINUS SIGN}", "-").split("\t") for row in rows]
        return {cell[0]: float(cell[1]) for cell in cells}

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]

    def requests(self) -> set[str]:
        """What the page has asked for since it was opened."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")
        ]
        # Pages of the browser itself (chrome:, chrome-untrusted:) may still load their parts.
        return {
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
            and not message["params"]["documentURL"].startswith("chrome")
        }


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def figure1(folder) -> Path:
    path = folder / "figure1.html"
    write_page(FIGURE1, path, certificate=solve(FIGURE1, certify=True).certificate)
    return path


def assert_rooted_at(page: Page, model: mr.Model, r: int) -> None:
    uprooted = mr.uproot(model)
    rooted = uprooted.reroot(r)
    assert page.number("#loc") == pytest.approx(roof_dual(uprooted, r).bound, rel=1e-6)
    expected = dict(zip(map(str, rooted.labels), rooted.theta.tolist(), strict=True))
    assert page.fields() == pytest.approx(expected, rel=1e-6)
    assert [theta != 0 for theta in page.fields().values()] == sorted(rooted.theta != 0)[::-1]
    assert page.vertex(r).get_attribute("aria-pressed") == "true"
    assert page.find("#root").get_attribute("value") == str(r)


def test_a_click_on_a_vertex_reroots_the_model(browser, figure1) -> None:
    page = Page(browser, figure1)
    assert_rooted_at(page, FIGURE1, 0)
    assert page.text("#balance") == "Not balanced"
    assert page.number("#loc") == 4.25
    page.vertex(4).click()
    assert_rooted_at(page, FIGURE1, 4)
    assert page.number("#loc") == page.number("#tri") == page.number("#map") == 2.5
    assert page.text("#balance").startswith("Balanced")
    assert page.text("#witness") == "Flip 2 variables, and every edge is attractive: X1, X2."
    assert len(page.run("[...document.querySelectorAll('#graph g .flip')]")) == 2
    page.vertex(2).click()
    assert_rooted_at(page, FIGURE1, 2)
    assert "3 of 3" in page.text("#witness")
    assert page.run("document.querySelectorAll('#graph .cycle').length") == 1
    assert page.complaints() == []
    assert page.requests() == {figure1.as_uri()}


def test_keys_and_controls_reroot_too(browser, figure1) -> None:
    from selenium.webdriver.common.keys import Keys

    page = Page(browser, figure1)
    page.run("document.querySelector('[data-vertex=\"0\"]').focus()")
    page.browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    chosen = int(page.browser.switch_to.active_element.get_attribute("data-vertex"))
    assert chosen != 0
    assert_rooted_at(page, FIGURE1, 0)  # the focus has moved, the root has not
    page.browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert_rooted_at(page, FIGURE1, chosen)
    page.find("#best").click()
    assert_rooted_at(page, FIGURE1, 4)
    page.find("#next").click()
    assert_rooted_at(page, FIGURE1, 0)
    page.find("#previous").click()
    assert_rooted_at(page, FIGURE1, 4)
    page.find("#root").send_keys("X3")
    assert_rooted_at(page, FIGURE1, 3)
    page.run("document.querySelectorAll('#profile .dot')[1].dispatchEvent(new Event('click'))")
    assert page.complaints() == []


def test_one_vertex_at_a_time_is_in_the_tab_order(browser, figure1) -> None:
    page = Page(browser, figure1)
    page.vertex(3).click()
    stops = page.run(
        "[...document.querySelectorAll('.vertex[tabindex=\"0\"]')].map(v => v.dataset.vertex)"
    )
    assert stops == ["3"]


@pytest.mark.parametrize("name", ["figure1.html", "grid.html", "large.html"])
def test_pages_fit_a_desk_and_a_phone(browser, folder, figure1, name) -> None:
    examples = DATA.parents[1] / "examples" / "data"
    if name == "grid.html":
        write_page(read_file(examples / "grid10x10.uai"), folder / name)
    elif name == "large.html":
        image = mr.Model.from_grid(np.ones((20, 20)), np.ones((20, 19)), np.ones((19, 20)))
        write_page(image, folder / name)
    for width, height in (DESK, PHONE):
        page = Page(browser, folder / name, (width, height))
        assert page.run("document.documentElement.scrollWidth") == width
        sides = page.run(
            "[...document.querySelectorAll('section, svg, table, button, select')]"
            ".map(e => e.getBoundingClientRect()).map(b => [b.left, b.right])"
        )
        assert all(-0.5 <= left <= right <= width + 0.5 for left, right in sides)
        if name != "large.html":
            circles = page.run(
                "[...document.querySelectorAll('.vertex .disc')]"
                ".map(e => e.getBoundingClientRect()).map(b => [b.left, b.right])"
            )
            graph = page.run("document.getElementById('graph').getBoundingClientRect().toJSON()")
            assert all(graph["left"] <= left < right <= graph["right"] for left, right in circles)
        picture = folder / f"{name}.{width}.png"
        assert page.browser.save_screenshot(str(picture))
        assert picture.stat().st_size > 20_000  # something is drawn
        assert page.complaints() == []


def test_a_resized_window_keeps_the_root(browser, figure1) -> None:
    page = Page(browser, figure1)
    page.vertex(4).click()
    before = page.run("document.getElementById('graph').getAttribute('viewBox')")
    page.resize(*PHONE)
    deadline = time.monotonic() + 10
    while page.run("document.getElementById('graph').getAttribute('viewBox')") == before:
        assert time.monotonic() < deadline, "the drawing does not follow the window"
    assert_rooted_at(page, FIGURE1, 4)


def test_hostile_names_stay_text(browser, folder) -> None:
    edges = [(i, j) for j in range(4) for i in range(j)]
    path = folder / "hostile.html"
    labels = [
        "</script><script>document.title = 'owned'</script>",
        "<img src=x onerror=document.title='owned'>",
        "<!--data-->",
        "'\"&quot;",
    ]
    write_page(mr.Model([0] * 4, edges, [-2] * 6, labels=labels), path)
    page = Page(browser, path)
    title = page.browser.title
    for v in range(5):
        page.vertex(v).click()
    assert page.browser.title == title == "A binary pairwise model · mapreroot"
    assert page.run("document.querySelectorAll('script').length") == 2
    assert page.run("document.querySelectorAll('img').length") == 0
    options = page.run("[...document.querySelectorAll('#root option')].map(o => o.textContent)")
    assert options[1:] == labels
    assert page.complaints() == []
    assert page.requests() == {path.as_uri()}


def test_the_assignment_can_be_taken_away(browser, figure1, tmp_path) -> None:
    page = Page(browser, figure1)
    page.browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    expected = [[label, int(value)] for label, value in solve(FIGURE1).assignment.items()]
    for button, name in (("#save-text", "txt"), ("#save-json", "json")):
        page.find(button).click()
        file = tmp_path / f"A-binary-pairwise-model.assignment.{name}"
        deadline = time.monotonic() + 20
        while not file.exists():
            assert time.monotonic() < deadline, "nothing was downloaded"
            time.sleep(0.05)
    text = (tmp_path / "A-binary-pairwise-model.assignment.txt").read_text()
    assert text == "".join(f"{label} {value}\n" for label, value in expected)
    saved = json.loads((tmp_path / "A-binary-pairwise-model.assignment.json").read_text())
    assert saved == expected
