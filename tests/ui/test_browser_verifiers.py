"""Two verifiers in one view in a real Chromium: late opinions, the filter, keys, a verdict, both schemes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlencode

import pytest
from chromium import faultless_page, served
from test_browser import CONTRAST
from verifiers import QUESTION, VERDICTS, systems, two_verifiers

from rtv_core.settings import load_settings
from rtv_core.store.judgements import JudgementStore
from rtv_core.ui.app import build_app, launch_options

pytestmark = pytest.mark.browser

OPINION = ".rtv-said-by-model .rtv-opinion .verdict"


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    workbench = two_verifiers(folder, store=JudgementStore(folder / "rtv.db"))
    yield workbench
    workbench.server.close()


@pytest.fixture(scope="module", name="systems")
def both_systems():
    return systems()


def explore(page, address, **more: object) -> None:
    page.goto(f"{address}?{urlencode({'q': QUESTION, **more})}")
    page.wait_for_selector(".rtv-head.evidence[data-complete='1']")


def visible(page) -> set[str]:
    return set(
        page.eval_on_selector_all(
            ".rtv-candidates > .row",
            "rows => rows.filter(r => r.offsetParent).map(r => r.dataset.answer)",
        )
    )


def choose(page, answer: str) -> None:
    page.click(f'.row[data-answer="{answer}"]')
    page.wait_for_function(
        "answer => document.querySelector('.rtv-head.evidence q')?.textContent === answer", arg=answer
    )


def test_an_opinion_comes_to_the_candidate_on_screen_when_the_model_has_read(page, address):
    explore(page, address, candidate="Mister Lonely")
    assert page.locator(OPINION).count() == 0
    page.select_option("[data-second]", VERDICTS)
    page.wait_for_selector(OPINION)
    assert "Yes 0.70" in page.inner_text(OPINION)
    assert page.locator(".rtv-evidence .tag.fresh").count() > 0
    assert page.locator(".rtv-evidence .tag.both").count() > 0
    page.click(".rtv-exchanges summary >> nth=-1")
    assert "Yes" in page.inner_text(".rtv-exchanges details[open] pre >> nth=-1")
    page.select_option("[data-second]", "")
    page.wait_for_selector(OPINION, state="detached")


def test_the_filter_follows_tau_keys_and_a_verdict_and_is_in_the_link(page, address, workbench):
    explore(page, address, second=VERDICTS)
    page.wait_for_selector("[data-disagree]")
    everything = visible(page)
    page.check("[data-disagree]")
    assert visible(page) == {"Kids", "Spring Breakers"}
    assert page.inner_text("[data-count=disagree]") == "2"
    page.evaluate("rtv.mark(0.2, 10, false)")
    assert visible(page) == {"Kids"}
    assert page.inner_text("[data-count=disagree]") == "1"
    page.evaluate("rtv.mark(0.5, 10, false)")
    page.keyboard.press("j")
    page.wait_for_selector(".rtv-head.evidence q:has-text('Kids')")
    page.keyboard.press("j")
    page.wait_for_selector(".rtv-head.evidence q:has-text('Spring Breakers')")
    page.wait_for_selector(f"{OPINION}.yes")
    page.keyboard.press("3")
    page.wait_for_selector(".rtv-saved")
    page.wait_for_selector(".row[data-answer='Spring Breakers'] .tag.said")
    assert visible(page) == {"Kids", "Spring Breakers"}
    (judged,) = workbench.store.for_question(QUESTION)
    assert (judged.answer, judged.label, judged.p_right) == ("Spring Breakers", "unlisted", 0.3)
    page.wait_for_function("location.search.includes('disagree=1')")
    page.reload()
    page.wait_for_selector("[data-disagree]:checked")
    assert visible(page) == {"Kids", "Spring Breakers"}
    page.uncheck("[data-disagree]")
    assert visible(page) == everything


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), pytest.param(1280, "light", marks=pytest.mark.slow)]
)
def test_every_text_is_readable_and_nothing_is_wider_than_the_screen(page, address, width, scheme):
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    explore(page, address, second=VERDICTS)
    page.wait_for_selector("[data-disagree]")
    choose(page, "Kids")
    page.wait_for_selector(".rtv-suspicious")
    page.click(".rtv-exchanges summary >> nth=-1")
    page.wait_for_timeout(200)
    if folder := os.environ.get("RTV_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"verifiers-{width}-{scheme}.png", full_page=width < 800)
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_part_switched_off_on_the_page_is_off_in_the_next_answer_and_in_its_link(engine, tmp_path):
    settings = load_settings("llm", ["retriever.passages=4"])
    workbench = two_verifiers(tmp_path, settings=settings, store=JudgementStore(tmp_path / "rtv.db"))
    with (
        served(build_app(workbench), **launch_options()) as address,
        faultless_page(engine) as page,
    ):
        explore(page, f"{address}/")
        accepted = ".rtv-candidates > .row[data-state=accepted]"
        assert page.locator(accepted).count() == 3
        page.click("#rtv-advanced > .label-wrap")
        page.uncheck("#rtv-parts label:has-text('verification') >> nth=0 >> input")
        if folder := os.environ.get("RTV_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / "parts.png")
        page.click("#rtv-ask-button")
        page.wait_for_function("n => document.querySelectorAll(n).length === 4", arg=accepted)
        page.wait_for_function("location.search.includes('off=verification')")
        page.reload()
        page.wait_for_selector(".rtv-head.evidence[data-complete='1']")
        page.click("#rtv-advanced > .label-wrap")
        page.wait_for_selector("#rtv-parts input")
        boxes = page.locator("#rtv-parts input")
        assert [box.is_checked() for box in boxes.all()] == [True, False, True, True]
    workbench.server.close()
