"""Comparing and what-ifs in a real Chromium: a second column, the Compare page, evidence taken away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from fakes import FakeWorkbench
from test_browser import CONTRAST

from rtv_core.records import Evidence, Passage, Question, Verdict
from rtv_core.store.judgements import JudgementStore

pytestmark = pytest.mark.browser

ASKED = "When did You Don't Know Jack come out?"
ATTACK = "<img src=x onerror=alert(1)>"
PASSAGES = (
    ("You Don't Know Jack (series)", "The first title came out in 1995 for Windows."),
    ("You Don't Know Jack (series)", "In 1995 the series began, on a disc."),
    ("You Don't Know Jack (film)", "The film was shown on HBO on April 24, 2010, long after 1995."),
    (ATTACK, f"The brand returned in 2011 {ATTACK} and in 2012."),
    *((f"Annals, part {i}", f"In {1900 + i} little happened.") for i in range(12)),
)
SECOND = "recaller alone"


@dataclass
class CoverVerifier:
    """A candidate's score is .3 a covering passage, of those that are there."""

    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        counts = [sum(bool(p.covers) for p in body.passages) for body in evidence]
        return [Verdict((min(0.3 * count, 0.95),) * 3) for count in counts]


class Workbench(FakeWorkbench):
    def pipeline(self, settings):
        return replace(super().pipeline(settings), verifier=CoverVerifier())


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    passages = [Passage(f"p{i:02}", *written) for i, written in enumerate(PASSAGES)]
    gold = Question("q1", ASKED, ((("1995",), ("April 24, 2010",), ("1877",)),))
    store = JudgementStore(tmp_path_factory.mktemp("store") / "rtv.db")
    return Workbench(passages, r"April \d{1,2}, \d{4}|\b(?:19|20)\d\d\b", {}, (gold,), store=store)


def explore(page, address, **more: object) -> None:
    page.goto(f"{address}?{urlencode({'q': ASKED, **more})}")
    page.wait_for_selector(".rtv-head.evidence[data-complete='1']")


def choose(page, answer: str) -> None:
    page.click(f'.row[data-answer="{answer}"]')
    page.wait_for_function(
        "answer => document.querySelector('.rtv-head.evidence q')?.textContent === answer", arg=answer
    )


def what_if(page, taken: str) -> str:
    """Wait for the score without the passages at these places; its words."""
    page.wait_for_selector(f"#rtv-whatif .rtv-whatif[data-taken='{taken}']:not([hidden], [data-old])")
    return page.inner_text("#rtv-whatif")


def boxes(page) -> list[bool]:
    return page.eval_on_selector_all("[data-away]", "boxes => boxes.map(box => box.checked)")


def parameters(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_passages_are_taken_away_and_put_back_and_nothing_is_stored(page, address, workbench):
    explore(page, address)
    choose(page, "1995")
    trace = workbench.store.load_trace(workbench.store.traces(ASKED)[0])
    page.check("[data-away='0']")
    assert "0.90 → " in what_if(page, "0")
    assert "(-0.30)" in page.inner_text("#rtv-whatif")
    assert "never stored" in page.inner_text("#rtv-whatif")
    page.check("[data-away='1']")
    assert "flips" in what_if(page, "0 1")
    assert page.locator(".rtv-evidence > li[data-taken-away]").count() == 2

    page.click("[data-whatif=undo]")
    assert "(-0.30)" in what_if(page, "0")
    assert boxes(page)[:3] == [True, False, False]
    page.click("[data-whatif=clear]")
    page.wait_for_selector("#rtv-whatif .rtv-whatif", state="hidden")
    assert not any(boxes(page))

    page.click("[data-flip]")
    assert "the smallest set that flips this verdict" in what_if(page, "0 1")
    assert boxes(page)[:3] == [True, True, False]
    page.click("[data-whatif=undo]")
    page.wait_for_selector("#rtv-whatif .rtv-whatif", state="hidden")
    assert workbench.store.load_trace(workbench.store.traces(ASKED)[0]) == trace
    assert workbench.store.for_question(ASKED) == []


def test_all_of_a_title_go_at_once_and_another_candidate_starts_anew(page, address):
    explore(page, address)
    choose(page, "1995")
    title = page.eval_on_selector_all(
        "[data-take] option", "all => all.find(o => o.textContent.includes('series')).value"
    )
    page.select_option("[data-take]", title)
    words = what_if(page, title)
    assert "flips" in words
    page.eval_on_selector(
        "#rtv-tau input[type=range]",
        "slider => { slider.value = 0.1; slider.dispatchEvent(new Event('input', {bubbles: true})) }",
    )
    page.wait_for_selector("#rtv-whatif:has-text('above tau 0.10')")
    choose(page, "2011")
    page.wait_for_selector("#rtv-whatif .rtv-whatif", state="hidden")
    choose(page, "1995")
    assert not any(boxes(page))
    page.select_option("[data-take]", title)
    what_if(page, title)  # the same words as before are drawn again


def test_a_second_system_is_a_column_that_the_link_restores(page, address):
    explore(page, address)
    assert page.locator("[data-beside]").count() == 0
    page.select_option("[data-second]", SECOND)
    page.wait_for_selector(".rtv-second [data-count=only-there]")
    rows = ".rtv-candidates > .row"
    assert page.locator(f"{rows} .other").count() == page.locator(rows).count()
    page.wait_for_function("name => new URLSearchParams(location.search).get('second') === name", arg=SECOND)
    link = page.url

    def only() -> list[int]:
        return [int(page.inner_text(f"[data-count=only-{side}]")) for side in ("here", "there")]

    def by_rows() -> list[int]:
        return page.evaluate(
            """() => { const rows = [...document.querySelectorAll('.rtv-candidates > .row')];
                 const ours = row => ['accepted', 'fallback'].includes(row.dataset.state);
                 const theirs = row => row.dataset.other === '1';
                 return [rows.filter(r => ours(r) && !theirs(r)).length, rows.filter(r => theirs(r) && !ours(r)).length] }"""  # noqa: E501
        )

    assert only() == by_rows()
    page.evaluate("rtv.mark(0, 10, false)")
    assert only() == by_rows()
    page.goto(link)
    page.wait_for_selector(".rtv-second [data-count=only-there]")
    assert page.input_value("[data-second]") == SECOND
    page.select_option("[data-second]", "")
    page.wait_for_selector("[data-beside]", state="detached")
    page.wait_for_function("!location.search.includes('second=')")


def test_the_compare_page_aligns_the_answers_and_its_link_restores_it(page, address):
    explore(page, address, second=SECOND)
    page.click("a[data-side-by-side]")
    page.wait_for_selector(".rtv-compared table th[scope=col] >> nth=2")
    assert page.inner_text(".rtv-compared h2") == ASKED
    row = page.locator(".rtv-compared tr[data-answer='1877']")
    assert "not retrieved" in row.inner_text()
    page.wait_for_function("location.search.includes('page=compare')")
    assert parameters(page)["ask"] == [ASKED]
    assert parameters(page)["systems"] == [SECOND]
    page.reload()
    page.wait_for_selector(".rtv-compared table th[scope=col] >> nth=2")
    assert page.input_value(".rtv-compare-form [name=question]") == ASKED
    page.fill(".rtv-compare-form [name=question]", "   ")
    page.click(".rtv-compare-form .go")
    page.wait_for_selector("#rtv-compare-said .error:has-text('question is empty')")
    assert page.locator("#rtv-progress .rtv-progress[data-question]").count() == 0


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), pytest.param(1280, "light", marks=pytest.mark.slow)]
)
def test_every_text_is_readable_and_nothing_is_wider_than_the_screen(page, address, width, scheme):
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)
    explore(page, address, second=SECOND)
    page.wait_for_selector(".rtv-second [data-count=only-there]")
    choose(page, "1995")
    page.check("[data-away='0']")
    what_if(page, "0")
    page.wait_for_timeout(200)
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("a[data-side-by-side]")
    page.wait_for_selector(".rtv-compared table th[scope=col] >> nth=2")
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
