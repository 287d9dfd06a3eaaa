"""The Documents and Experiments pages in a real Chromium.

Hand files in, see what they give, build, find the index listed; choose an experiment and see its result.
"""

from __future__ import annotations

import pytest
from chromium import served, watch
from encoders import WordEncoder
from runs import on_disk
from starlette.middleware import Middleware
from test_browser import CONTRAST

from rtv_core.experiments.table import Bar, Bars, Cell, Row, Table
from rtv_core.metrics import Interval
from rtv_core.retrieval.index import open_index
from rtv_core.ui.admin import Access
from rtv_core.ui.app import build_app, launch_options
from rtv_core.ui.documents import Receiver, Room
from rtv_core.wire import to_json

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} {{7*7}}"


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Room:
    return Room(on_disk(tmp_path_factory.mktemp("store") / "rtv.db"), WordEncoder)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder for the results of experiments."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def address(room, results):
    receiver = Middleware(Receiver, room, Access(False))
    app = build_app(room._workbench, room=room, experiments=results)
    with served(app, **launch_options(receiver=receiver)) as own:
        yield f"{own}/"


def test_two_files_are_handed_in_read_built_and_listed(browser, address, room, tmp_path):
    (tmp_path / "note.md").write_text(f"# Bridge\n\nIt was built in 1894. `{HOSTILE}`", encoding="utf-8")
    (tmp_path / "rows.csv").write_text("Nr,Inhalt\n7,The castle burnt in 1701.\n", encoding="utf-8")
    (tmp_path / "tool.exe").write_bytes(b"MZ")
    page = browser.new_page()
    wrong = watch(page)
    page.goto(f"{address}?page=documents")
    page.fill("[data-name]", "Town history")
    files = [tmp_path / name for name in ("note.md", "rows.csv", "tool.exe")]
    page.set_input_files("input[data-files]", files)
    page.wait_for_selector("text=1 passage from 1 of 2 documents")
    assert "tool.exe is of no form that can be read." in page.inner_text(".sending")
    page.click("summary:has-text('First passage')")
    assert HOSTILE in page.inner_text(".told ol")
    page.select_option("select[data-column=text]", "Inhalt")
    page.click("text=Use these columns")
    page.wait_for_selector("text=2 passages from 2 of 2 documents")
    page.click("button:has-text('Build the index')")
    page.wait_for_selector("#rtv-documents-work:has-text('The index is made: 2 passages.')")
    assert "serve --index" in page.inner_text(".rtv-documents dl")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.reload()
    page.wait_for_selector("h2:has-text('Town history')")
    page.click("text=All collections")
    page.wait_for_selector(".rtv-documents [data-section=collections] td:has-text('✓ 2 passages')")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.close()
    assert wrong == []
    assert len(open_index(room.collections.index("town-history"))) == 2


def test_an_experiment_is_chosen_by_key_linked_and_found_when_it_was_made(browser, address, results):
    cell = Cell(Interval(0.351, 0.319, 0.385))
    rows = (Row(f"ours {HOSTILE}", (cell,) * 9, "52.1/41.6"), Row("JPR", published="48.5/37.6"))
    charts = (Bars("F1", "F1, %", ("F1",), (Bar(HOSTILE, (35.1,), (31.9, 38.5)),)),)
    table = Table("table4", f"Answers {HOSTILE}", "system", ("F1",) * 9, rows, "a paper", charts=charts)
    page = browser.new_page()
    wrong = watch(page)
    page.goto(f"{address}?page=experiments&experiment=table4")
    page.wait_for_selector("article:has-text('There is no result of it yet.')")
    (results / "table4.json").write_text(to_json(table), encoding="utf-8")
    page.focus("nav a[data-experiment=table2]")
    page.keyboard.press("Enter")
    page.wait_for_selector("article h2:has-text('Table 2')")
    page.wait_for_function("document.activeElement.dataset.experiment === 'table2'")
    assert page.url.endswith("?page=experiments&experiment=table2")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("article h2:has-text('Answers')")
    assert HOSTILE in page.inner_text("article h2")
    assert page.locator("article img").count() == 0
    assert page.locator("article svg[role=img]").is_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.reload()
    page.wait_for_selector("article h2:has-text('Answers')")
    assert page.url.endswith("?page=experiments&experiment=table4")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("(box => box.scrollWidth > box.clientWidth)(document.querySelector('.rtv-scroll'))")
    page.close()
    assert wrong == []
