"""Presenting in a real Chromium: through a run by key and button, in large type, with nothing to write."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from chromium import faultless_page
from fakes import FakeWorkbench

from rtv_core.evaluation import run_questions
from rtv_core.records import Passage, Question
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore

pytestmark = pytest.mark.browser

RUN = 'run <img src=x onerror="alert(1)"> & q=9'
WRITTEN = (
    ("You Don't Know Jack (series)", "The first title came out in 1995 for Windows, by Berkeley Systems."),
    ("You Don't Know Jack (film)", "The film was shown on HBO on April 24, 2010 and won an award in 2011."),
    ("You Don't Know Jack (2011 game)", "The brand returned on February 8, 2011, silent since 2003."),
    ("You Don't Know Jack (TV series)", "The show first aired on June 20, 2001 and ended that summer."),
    *(
        (f"Annals, part {i}", f"In {1900 + i} little happened; in {1950 + i} even less did.")
        for i in range(9)
    ),
)
PATTERN = r"(?:February|April|June) \d{1,2}, \d{4}|\b(?:19|20)\d\d\b"
SCORES = {"1995": 0.93, "April 24, 2010": 0.81, "February 8, 2011": 0.66, "June 20, 2001": 0.58}
QUESTIONS = (
    Question("q1", "When did You Don't Know Jack come out?", ((("1995",), ("April 24, 2010",)),)),
    Question("q2", "When was the film You Don't Know Jack shown on television for the first time?"),
    Question("q3", "When did the TV series first air?", ((("June 20, 2001",),),)),
)


@pytest.fixture(scope="module")
def page(engine):
    """A page that did nothing wrong: no alert, no error, no request elsewhere."""
    with faultless_page(engine) as page:
        yield page


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = tmp_path_factory.mktemp("store") / "rtv.db"
    passages = [Passage(f"p{i}", *written) for i, written in enumerate(WRITTEN)]
    made = FakeWorkbench(passages, PATTERN, SCORES, QUESTIONS, store=JudgementStore(store))
    made.runs, made.queues = RunStore(store), QueueStore(store)
    run_questions(made.pipeline(made.settings), QUESTIONS, made.runs, RUN)
    made.asked = 0
    return made


def parameters(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def shows(page, number: int) -> None:
    """Wait until the question of that number, its candidates and the best one's evidence are there."""
    page.wait_for_selector(f".rtv-place .number:has-text('question {number} of 3')")
    page.wait_for_selector(".rtv-head.evidence[data-complete='1']")
    page.wait_for_function("at => new URLSearchParams(location.search).get('q') === at", arg=str(number - 1))


def test_a_run_is_presented_by_key_and_button_and_judged_only_outside_the_presentation(
    page, workbench, address
):
    page.goto(f"{address}?{urlencode({'run': RUN, 'q': 0, 'present': 1})}")
    shows(page, 1)
    assert page.inner_text(".rtv-place .question") == QUESTIONS[0].text
    assert page.inner_text(".rtv-place .run b") == RUN
    assert page.locator(".rtv-place [data-by='-1']").is_disabled()
    for hidden in ("#rtv-judging", "#rtv-question", "#rtv-ask-button", "#rtv-missing", "#rtv-header"):
        assert not page.locator(hidden).first.is_visible(), hidden
    size = page.eval_on_selector(
        ".rtv-candidates .answer", "e => e.getBoundingClientRect().height / e.getClientRects().length"
    )
    assert size > 22  # px of a line: 20 without presenting

    page.keyboard.press("j")
    page.wait_for_function("location.search.includes('candidate=April')")
    before = page.url
    for key in ("1", "3", "q", "z", "Shift+Z", "/"):
        page.keyboard.press(key)
    page.evaluate("rtv.send('judge', {key: document.querySelector('.row').dataset.key, label: 'unsure',"
                  " token: 'forged'})")  # fmt: skip
    page.evaluate("rtv.send('example', {question: 'When did it air?'})")
    page.wait_for_timeout(1000)
    assert page.url == before
    assert workbench.store.for_question(QUESTIONS[0].text) == []
    assert workbench.asked == 0

    for key, number in (("ArrowRight", 2), ("n", 3), ("ArrowLeft", 2), ("p", 1), ("PageDown", 2)):
        page.keyboard.press(key)
        shows(page, number)
    page.click(".rtv-place [data-by='1']")
    shows(page, 3)
    assert page.locator(".rtv-place [data-by='1']").is_disabled()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    shows(page, 3)
    assert page.inner_text(".rtv-place .question") == QUESTIONS[2].text

    page.eval_on_selector(
        "#rtv-tau input[type=range]",
        "slider => { slider.value = 0.3; slider.dispatchEvent(new Event('input', {bubbles: true})) }",
    )
    page.wait_for_function("location.search.includes('tau=0.3')")
    page.click(".row[data-answer='1995']")
    page.wait_for_function("location.search.includes('candidate=1995')")
    link = parameters(page)
    assert link["run"] == RUN
    assert (link["q"], link["present"], link["tau"]) == ("2", "1", "0.3")
    page.reload()
    shows(page, 3)
    assert page.locator(".row[aria-selected=true]").get_attribute("data-answer") == "1995"
    assert parameters(page) == link

    page.keyboard.press("?")
    keys = page.locator("dialog.rtv-keys")
    assert keys.locator("text=next and previous question").is_visible()
    assert not keys.locator("text=undo, redo").is_visible()
    page.keyboard.press("Escape")

    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1280, "height": 800})

    page.click(".rtv-place a:has-text('Leave')")
    page.wait_for_selector("#rtv-judging [data-verdict=unlisted]:enabled")
    assert "present" not in parameters(page)
    assert parameters(page)["candidate"] == "1995"
    assert page.input_value("#rtv-question textarea, #rtv-question input") == QUESTIONS[2].text
    page.keyboard.press("4")
    page.wait_for_selector("#rtv-saved .rtv-saved.ok:has-text('Saved')")
    (judgement,) = workbench.store.for_question(QUESTIONS[2].text)
    assert judgement.trace_id == workbench.runs.question(RUN, 2).trace_id
    page.keyboard.press("ArrowLeft")
    shows(page, 2)
    assert page.input_value("#rtv-question textarea, #rtv-question input") == QUESTIONS[1].text
    assert page.locator(".rtv-place .question").count() == 0
    assert workbench.asked == 0
