"""The Analyse page in a real Chromium: open a run, click a figure, see its questions, take numbers along."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from runs import add_queue, add_run, on_disk, said, small_run
from test_browser import ATTACKS, CONTRAST, Visit

from rtv_core.records import QueueItem

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    """Three runs: ours with verdicts of two people, another system's, and one full of attacks."""
    workbench = on_disk(tmp_path_factory.mktemp("store") / "rtv.db", corpus="a test corpus")
    hostile = " ".join(ATTACKS)
    attacked = add_run(workbench, ATTACKS[0], [(hostile, [[a] for a in ATTACKS], [(hostile, 0.9)])])
    for by, label in ((ATTACKS[1], "invalid"), (ATTACKS[2], "unlisted")):
        said(workbench, attacked[0], hostile, label, by, note=hostile)
    add_run(
        workbench,
        "theirs",
        [
            ("When did Jack come out?", [["1995"], ["April 24, 2010"]], [("April 24, 2010", 0.9)]),
            ("Who made Jack?", [["Berkeley Systems"]], [("Berkeley Systems", 0.7)]),
        ],
        system="another",
    )
    run = small_run(workbench)
    for by in ("Ada", "Bo"):
        said(workbench, run[0], "2011", "unlisted", by, evidence="supports")
        said(workbench, run[1], "Sierra", "invalid", by)
        said(workbench, run[0], "April 24, 2010", "listed", by, gold="April 24, 2010", evidence="supports")
    said(workbench, run[2], "Dan", "invalid", "Ada", note="not in the passage")
    said(workbench, run[2], "Dan", "unlisted", "Bo")
    items = [
        QueueItem(0, run[0].trace_id, "prediction", "2011", 0.9, "wrong"),
        QueueItem(1, run[1].trace_id, "prediction", "Sierra", 0.1, "wrong"),
    ]
    add_queue(workbench, "ours", items)
    return workbench


class Analysis(Visit):
    """A visit to the Analyse page."""

    def open(self, **parameters: object) -> None:
        parameters = {"page": "analyse", **parameters}
        self.page.goto(f"{self.address}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}")
        self.settle()

    def settle(self) -> None:
        """Wait until every part is drawn."""
        for part in ("controls", "filter", "figures", "curves", "slices", "people", "questions"):
            self.page.wait_for_selector(f"#rtv-analyse-{part} .rtv-drawn", state="attached")
        self.page.wait_for_function("!document.querySelector('#rtv-analyse [data-busy]')")

    def listed(self) -> list[str]:
        return self.page.locator(".rtv-questions .asked").all_inner_texts()

    def download(self, selector: str) -> tuple[str, bytes]:
        """What a click saves: its name and content."""
        with self.page.expect_download() as waiting:
            self.page.click(selector)
        return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


@pytest.fixture
def visit(browser, address):
    visit = Analysis(browser, address)
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    yield visit
    visit.page.close()
    assert visit.wrong == []


def test_a_figure_opens_its_questions_and_the_address_brings_them_back(visit):
    page = visit.page
    page.goto(visit.address)
    page.click("#rtv-analyse-button")
    visit.settle()
    assert page.input_value("select[data-view=run]") == "ours"
    assert "F1" in page.inner_text(".rtv-headline")
    assert "are right" in page.inner_text(".rtv-headline")
    assert len(visit.listed()) == 4

    page.click("[data-figure=blame] [data-behind='lost:at or below tau']")
    page.wait_for_selector(".rtv-list-head .behind:has-text('gold answers at or below tau')")
    assert visit.listed() == ["When did Jack come out?", "Where is Jill from?"]
    link = page.url
    assert "behind=lost" in link
    page.reload()
    visit.settle()
    assert page.url == link
    assert visit.listed() == ["When did Jack come out?", "Where is Jill from?"]
    assert page.input_value(".rtv-search select[data-view=behind]") == "lost:at or below tau"

    page.click(".rtv-table [data-behind='wrong:true negatives']")
    page.wait_for_selector(".rtv-list-head .behind:has-text('true negatives')")
    assert visit.listed() == ["Who made Jack?"]
    assert "invalid" in page.inner_text(".rtv-questions")
    page.click("[data-clear]")
    page.wait_for_selector(".rtv-list-head .behind:has-text('all questions')")
    page.fill(".rtv-search input", "jill")
    page.wait_for_function("document.querySelectorAll('.rtv-questions > li').length === 2")
    assert "text=jill" in page.url


def test_numbers_and_plots_can_be_taken_along(visit):
    visit.open(run="ours")
    name, content = visit.download("[data-figure=blame] [data-file=blame]")
    assert name == "ours blame.csv"
    rows = list(csv.reader(content.decode().splitlines()))
    assert rows[0][:2] == ["stage", "gold answers"]
    assert ["at or below tau", "2"] in [row[:2] for row in rows]
    name, content = visit.download("[data-figure=tau] [data-svg]")
    assert name == "ours tau.svg"
    assert content.startswith(b"<svg")
    assert b"F1 raw" in content
    name, content = visit.download("[data-figure=tau] [data-png]")
    assert name == "ours tau.png"
    assert content.startswith(b"\x89PNG")
    name, content = visit.download(".rtv-list-head [data-file=questions]")
    assert name == "ours questions.csv"
    assert b"Where is Jill from?" in content
    name, content = visit.download("[data-file=report]")
    assert name == "ours report.html"
    assert content.startswith(b"<!doctype html>")


def test_the_curve_can_be_read_at_any_tau(visit):
    visit.open(run="ours")
    slider = visit.page.locator("[data-read-curve]")
    assert "tau 0.50" in visit.page.inner_text(".rtv-reader output")
    slider.focus()
    visit.page.keyboard.press("ArrowRight")
    text = visit.page.inner_text(".rtv-reader output")
    assert text.startswith("tau 0.51 · F1 raw ")
    assert "recall" in text


def test_a_disagreement_is_settled_once_and_the_figures_follow(visit, workbench):
    page = visit.page
    visit.open(run="ours")
    before = set(workbench.store.current())
    page.fill("[data-adjudicating]", "Cy")
    page.dblclick("li[data-answer=Dan] [data-adjudicate=unlisted]")
    page.wait_for_selector(".rtv-settled:has-text('Saved: unlisted, by Cy')")
    page.wait_for_selector(".rtv-disagreements .done:has-text('settled by Cy')")
    page.wait_for_selector(".rtv-counting:has-text('1 adjudicated')")
    assert "adjudicator=Cy" in page.url
    (new,) = set(workbench.store.current()) - before
    assert (new.annotator, new.label) == ("Cy", "unlisted")
    page.click(".rtv-settled [data-unsettle]")
    page.wait_for_selector(".rtv-settled:has-text('Taken back')")
    assert set(workbench.store.current()) == before
    page.evaluate("localStorage.clear()")


def test_two_runs_stand_side_by_side_by_a_choice_at_the_top(visit):
    page = visit.page
    visit.open(run="ours")
    page.select_option("select[data-view=with]", "theirs")
    page.wait_for_selector("[data-figure=pair]")
    assert "with=theirs" in page.url
    page.click("[data-behind='only:second']")
    page.wait_for_selector(".rtv-list-head .behind:has-text('only the second run')")
    assert visit.listed() == ["When did Jack come out?", "Who made Jack?"]
    page.select_option("select[data-view=count]", "all")
    page.wait_for_url("**count=all**")


def test_a_filter_is_made_saved_found_again_applied_deleted_and_brought_back(visit):
    page = visit.page
    visit.open(run="ours")
    page.click(".rtv-builder summary")
    page.select_option("[data-condition=column]", "gold")
    page.select_option("[data-condition=sign]", ">=")
    page.fill("[data-condition=value]", "2")
    page.keyboard.press("Enter")
    page.wait_for_selector("#rtv-analyse-filter .chip:has-text('number of gold answers is at least 2')")
    page.wait_for_selector(".rtv-about-run:has-text('2 of 4 questions')")
    assert visit.listed() == ["When did Jack come out?", "Who sang Jill?"]
    assert page.locator(".rtv-builder[open]").count() == 1  # ready for one more condition
    page.select_option("[data-condition=column]", "word")
    page.select_option("[data-condition=sign]", "=")
    page.fill("[data-condition=value]", "who")
    page.click("[data-filter=add]")
    page.wait_for_function("document.querySelectorAll('.rtv-questions > li').length === 1")
    page.fill("[data-filter-name]", "hard ones")
    page.dblclick("[data-filter=save]")
    page.wait_for_selector("#rtv-analyse-filter .rtv-note:has-text('Saved: hard ones')")
    page.wait_for_selector("[data-figure=slices-filters]")

    page.reload()
    visit.settle()
    assert page.url.count("where=") == 2
    assert visit.listed() == ["Who sang Jill?"]
    page.click("[data-filter=clear]")
    page.wait_for_function("document.querySelectorAll('.rtv-questions > li').length === 4")
    assert "where=" not in page.url
    page.click("[data-filter=apply]")
    page.wait_for_function("document.querySelectorAll('.rtv-questions > li').length === 1")
    page.wait_for_selector("[data-filter=apply][aria-pressed=true]")
    page.click("[data-filter=delete]")
    page.wait_for_selector("#rtv-analyse-filter .rtv-note:has-text('Deleted: hard ones')")
    assert page.locator("[data-filter=apply]").count() == 0
    page.click("[data-filter=undo]")
    page.wait_for_selector("[data-filter=apply]:has-text('hard ones')")
    page.click(".rtv-builder summary")
    page.fill("[data-condition=value]", "x")
    page.select_option("[data-condition=column]", "gold")
    page.click("[data-filter=add]")
    page.wait_for_selector("#rtv-analyse-filter .bad:has-text('is no number')")
    page.click("[data-filter=delete]")
    page.wait_for_selector("#rtv-analyse-filter .rtv-note:has-text('Deleted')")


def test_f1_is_split_up_by_a_column_that_is_chosen(visit):
    page = visit.page
    visit.open(run="ours")
    page.select_option("select[data-view=slices]", "predictions")
    page.wait_for_selector("[data-figure=slices-predictions] svg")
    page.click("[data-behind='slice:predictions:2']")
    page.wait_for_selector(".rtv-list-head .behind:has-text('number of predictions: 2')")
    assert len(visit.listed()) == 2
    assert "slices=predictions" in page.url
    name, content = visit.download("[data-figure=slices-predictions] [data-file]")
    assert (name, content[:5]) == ("ours slices-predictions.csv", b"kind,")


def test_two_rounds_of_judgement_stand_side_by_side(visit):
    page = visit.page
    visit.open(run="ours")
    page.select_option("select[data-view=first]", "by:Ada")
    page.wait_for_selector("select[data-view=first] option[value='by:Ada'][selected]", state="attached")
    page.select_option("select[data-view=second]", "by:Bo")
    page.wait_for_selector("[data-figure=rounds-table6]")
    assert "Dan" in page.inner_text("[data-figure=rounds-changes]")
    assert "first=by%3AAda" in page.url
    page.select_option("select[data-view=second]", "since")
    page.fill("input[data-view=day]", "2026-01-31")
    page.wait_for_selector("[data-figure=rounds-table6]:has-text('since 2026-01-31')")
    page.reload()
    visit.settle()
    assert page.input_value("input[data-view=day]") == "2026-01-31"
    assert page.locator("[data-figure=rounds-scores]").is_visible()


def test_hostile_text_is_shown_as_it_is(visit):
    visit.open(run="%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    shown = visit.page.inner_text("#rtv-analyse")
    for attack in ATTACKS[:6]:
        assert attack in shown, attack
    assert visit.page.evaluate("document.querySelectorAll('#rtv-analyse img').length") == 0


def test_every_text_is_readable_in_light_and_dark(visit):
    for scheme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=scheme)
        visit.open(
            run="ours", where="gold%20%3E%3D%201", first="by:Ada", second="by:Bo", **{"with": "theirs"}
        )
        visit.page.click(".rtv-builder summary")
        assert visit.page.evaluate(CONTRAST) == [], scheme


def test_on_a_phone_nothing_is_wider_than_the_screen_and_a_figure_leads_to_its_questions(visit):
    page = visit.page
    page.set_viewport_size({"width": 390, "height": 844})
    visit.open(run="ours", where="gold%20%3E%3D%201", first="by:Ada", second="by:Bo", **{"with": "theirs"})
    page.click(".rtv-builder summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.click("[data-figure=blame] [data-behind='lost:at or below tau']")
    page.wait_for_selector(".rtv-list-head .behind:has-text('at or below tau')")
    assert page.locator(".rtv-questions").is_visible()
    assert page.locator("#rtv-analyse-right").bounding_box()["y"] < 844


def test_everything_is_reached_by_keyboard(visit):
    page = visit.page
    visit.open(run="ours")
    page.focus("[data-figure=blame] [data-behind='lost:at or below tau']")
    page.keyboard.press("Enter")
    page.wait_for_selector(".rtv-list-head .behind:has-text('at or below tau')")
    assert page.evaluate("document.activeElement.dataset.behind") == "lost:at or below tau"
    page.focus(".rtv-search input")
    page.keyboard.type("jill j1 z?")
    page.wait_for_selector(".rtv-note:has-text('No question matches')")
