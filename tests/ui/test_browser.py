"""The page in a real Chromium: ask, move tau, judge by key, reload, find the judgement; text stays text."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from chromium import watch
from fakes import FakeWorkbench, MemoryStore

from rtv_core.records import Passage, Question
from rtv_core.settings import VerifierSettings
from rtv_core.store.judgements import JudgementStore
from rtv_core.thresholds import judge
from rtv_core.ui import judging

pytestmark = pytest.mark.browser

ATTACKS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "${alert(1)}",
    "{{constructor.constructor('alert(1)')()}}",
    "`${7*7}` {{7*7}} {{{ \\u0041 \\x41",
    "‮desrever",
)
ASKED = "When did You Don't Know Jack come out?"
GOLD = Question("q1", ASKED, ((("1995",), ("April 24, 2010", "24 April 2010"), ("Berkeley Systems",)),))
HOSTILE = Question("q2", f"What is {' '.join(ATTACKS[:6])} in 1995?", (((ATTACKS[0],), ("1995",)),))
SCORES = {"1995": 0.93, "April 24, 2010": 0.81, "February 8, 2011": 0.77, "2012": 0.66, "2015": 0.51}
PATTERN = (
    r"(?:January|February|April|June|November) \d{1,2}, \d{4}|\b(?:19|20)\d\d\b"
    r"|<img src=x onerror=alert\(1\)>|\$\{alert\(1\)\}"
)
WRITTEN = (
    ("series", "The first title came out in 1995 for Windows; its publisher was Berkeley Systems."),
    ("film", "The film was shown on HBO on April 24, 2010 and won an award in 2011."),
    ("2011 game", "The brand returned on February 8, 2011, after years of silence since 2003."),
    ("Facebook game", "A version for a social network was launched in 2012 and closed in 2014."),
    ("party pack", "An edition named for 2015 was sold from November 19, 2014."),
    ("TV series", "The show first aired on June 20, 2001 and ended the same summer."),
)


def passages() -> list[Passage]:
    jack = [Passage(f"j{i}", f"You Don't Know Jack ({t})", text) for i, (t, text) in enumerate(WRITTEN)]
    other = [
        Passage(
            f"o{i:03}", f"Annals, part {i}", f"In {1900 + i} little happened; in {1950 + i} even less did."
        )
        for i in range(15)
    ]
    hostile = [
        Passage(f"h{i}", f"Title {attack} in", f"What is it in 1995? It is {attack} of course. " * 2)
        for i, attack in enumerate(ATTACKS)
    ]
    return jack + other + hostile


@pytest.fixture(scope="module")
def workbench(tmp_path_factory):
    store = JudgementStore(tmp_path_factory.mktemp("store") / "rtv.db")
    return FakeWorkbench(
        passages(), PATTERN, SCORES, (GOLD, HOSTILE), corpus="test <b>corpus</b>", store=store
    )


class Visit:
    """A page, and everything it should not have done."""

    def __init__(self, browser, address: str) -> None:
        self.page, self.address = browser.new_page(), address
        self.wrong = watch(self.page)
        self.page.on("request", self._check)

    def _check(self, request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.wrong.append(f"request to {request.url}")

    def open(self, **parameters: object) -> None:
        self.page.goto(f"{self.address}?{urlencode(parameters)}")
        self.page.wait_for_selector("#rtv-columns")

    def open_answered(self, **parameters: object) -> None:
        self.open(**parameters)
        self.page.wait_for_selector(".rtv-evidence > li")

    def states(self) -> list[tuple[str, str]]:
        """The candidates from top to bottom, with the state that is shown."""
        return self.page.eval_on_selector_all(
            ".rtv-candidates > .row[data-p]:not([data-p=''])",
            "rows => rows.map(row => [row.dataset.answer, row.querySelector('.state').classList[1]])",
        )

    def set_tau(self, value: float) -> None:
        self.page.eval_on_selector(
            "#rtv-tau input[type=range]",
            """(slider, value) => { slider.value = value;
                 slider.dispatchEvent(new Event('input', {bubbles: true})) }""",
            value,
        )

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)


@pytest.fixture
def visit(browser, address):
    visit = Visit(browser, address)
    yield visit
    visit.page.close()
    assert visit.wrong == []


def choose(visit, answer: str) -> None:
    visit.page.click(f'.row[data-answer="{answer}"]')
    shown(visit, answer)


def shown(visit, answer: str) -> None:
    visit.page.wait_for_function(
        "answer => document.querySelector('.rtv-head.evidence q')?.textContent === answer", arg=answer
    )


def saved(visit) -> str:
    visit.page.wait_for_selector("#rtv-saved .rtv-saved.ok:has-text('Saved')")
    return visit.text("#rtv-saved")


def test_a_newcomer_asks_sees_every_stage_judges_reloads_and_finds_the_judgement(visit, workbench):
    page = visit.page
    visit.open()
    page.fill("#rtv-question textarea, #rtv-question input", ASKED)
    page.click("#rtv-ask-button")
    page.wait_for_selector(".rtv-evidence > li")
    assert "verified" in visit.text("#rtv-progress")
    assert page.locator(".rtv-passages > .hit").count() == len(workbench.passages)
    assert "3 gold found" in visit.text("#rtv-summary")

    choose(visit, "April 24, 2010")
    assert page.locator(".rtv-evidence mark").first.inner_text() == "April 24, 2010"
    assert page.locator(".hit[data-gives]").count() == 1
    page.keyboard.press("q")
    page.keyboard.press("1")
    assert "listed" in saved(visit)
    assert page.locator(".row[aria-selected=true] .said").inner_text() == "you: listed"

    link = page.url
    assert "candidate=April" in link
    page.reload()
    page.wait_for_selector(".row[aria-selected=true] .said")
    assert page.url == link
    assert page.locator(".row[aria-selected=true]").get_attribute("data-answer") == "April 24, 2010"
    page.wait_for_selector("[data-verdict=listed][aria-pressed=true]")
    (judgement,) = workbench.store.for_question(ASKED)
    assert (judgement.label, judgement.evidence, judgement.gold) == ("listed", "supports", "April 24, 2010")
    assert (judgement.annotator, judgement.tau, judgement.k, judgement.blind) == ("me", 0.5, 10, False)

    page.keyboard.press("z")
    page.wait_for_selector("#rtv-saved :text('Taken back')")
    assert workbench.store.for_question(ASKED) == []
    page.keyboard.press("Shift+Z")
    page.wait_for_selector("#rtv-saved :text('Restored')")
    assert len(workbench.store.for_question(ASKED)) == 1


def test_moving_tau_and_k_marks_at_once_as_the_core_does_and_calls_nobody(visit, workbench):
    visit.open_answered(q=ASKED)
    trace = workbench.store.load_trace(workbench.store.traces(ASKED)[0])
    asked, calls = workbench.asked, []
    visit.page.wait_for_timeout(500)
    visit.page.on("request", lambda request: calls.append(request.url))
    for k in (10, 1, 5):
        visit.page.click(f"#rtv-k label:has-text('{k}') >> nth={0 if k == 1 else -1}")
        for tau in (0.5, 0.0, 0.78, 0.99, 0.3):
            visit.set_tau(tau)
            visit.page.wait_for_function("tau => location.search.includes(`tau=${tau}&`)", arg=tau)
            states = {"accepted": [], "fallback": [], "rejected": []}
            for p in judge(trace, VerifierSettings(tau, k)):
                state = "fallback" if p.fallback else "accepted" if p.accepted else "rejected"
                states[state].append(p.answer)
            shown = visit.states()
            for state, answers in states.items():
                assert [answer for answer, s in shown if s == state] == answers, (tau, k, state)
            above = [float(p.p_right) > tau for p in judge(trace, VerifierSettings(tau, k))].count(True)
            line = visit.page.eval_on_selector(
                ".tau-line", "line => [...line.parentElement.children].indexOf(line)"
            )
            assert line == above
            assert visit.text("[data-tau-text]") == f"{tau:.2f}"
            kept = len(states["accepted"]) + len(states["fallback"])
            assert visit.text("[data-count=answers]") == str(kept)
    visit.page.click("#rtv-single input")
    visit.page.wait_for_function("location.search.includes('single=1')")
    assert [s for _, s in visit.states()].count("accepted") == 1
    assert calls == []
    assert workbench.asked == asked


def test_marks_and_verdicts_take_less_than_a_tenth_of_a_second(visit):
    visit.open_answered(q=ASKED)
    marked = visit.page.evaluate(
        "() => { const t = performance.now(); rtv.mark(.7, 5, false); rtv.mark(.5, 10, false);"
        " return (performance.now() - t) / 2 }"
    )
    idle = os.getloadavg()[0] <= (os.cpu_count() or 1)  # what other work takes is no fault of the page
    most = 100 if idle else 10_000
    assert marked < most
    choose(visit, "2012")
    times = []
    for label in ("unlisted", "invalid", "unsure", "unlisted", "invalid"):
        times.append(
            visit.page.evaluate(
                """label => new Promise(done => {
                     const start = performance.now();
                     const said = selector => document.querySelector(selector)?.textContent;
                     const look = () => said('.rtv-saved b') === label && !said('.rtv-local')
                       ? done(performance.now() - start) : requestAnimationFrame(look);
                     document.querySelector(`[data-verdict=${label}]`).click();
                     look();
                   })""",
                label,
            )
        )
    assert min(times) < most, times
    visit.page.keyboard.press("z")
    visit.page.wait_for_selector("#rtv-saved :text('Taken back')")


def test_stop_keeps_what_is_there_and_says_so_for_good(visit, workbench):
    page = visit.page
    workbench.gate = threading.Event()
    try:
        visit.open(q="Which years does Jack name?")
        page.wait_for_selector(".rtv-progress[data-running='1'] .bar")
        page.click("#rtv-stop-button")
        page.wait_for_selector("#rtv-ask-button:enabled")
    finally:
        workbench.gate.set()  # the batch in hand comes to its end only now
    page.wait_for_selector(".rtv-progress .incomplete")
    page.wait_for_timeout(500)
    assert page.locator(".rtv-progress .incomplete").is_visible()
    assert page.locator(".hit").count() == 29
    assert page.locator("#rtv-ask-button").is_enabled()
    assert workbench.store.traces("Which years does Jack name?") == []
    page.click("#rtv-ask-button")
    page.wait_for_selector(".rtv-progress .total")


def test_keys_walk_and_judge_but_never_while_typing(visit, workbench):
    page = visit.page
    visit.open_answered(q=ASKED)
    first = page.locator(".row[aria-selected=true]").get_attribute("data-answer")
    page.keyboard.press("j")
    second = page.locator(".row[aria-selected=true]").get_attribute("data-answer")
    page.keyboard.press("k")
    assert page.locator(".row[aria-selected=true]").get_attribute("data-answer") == first != second
    before = len(workbench.store.for_question(ASKED))
    for field in ("#rtv-question", "#rtv-note", "#rtv-annotator", "#rtv-missing-text"):
        page.focus(f"{field} textarea, {field} input")
        page.keyboard.type("j1 2 3 4 5 q w e r z ? /")
        page.keyboard.press("Escape")
    page.wait_for_timeout(300)
    assert len(workbench.store.for_question(ASKED)) == before
    assert page.locator(".row[aria-selected=true]").get_attribute("data-answer") == first
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.closest('#rtv-question') !== null")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("dialog.rtv-keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog.rtv-keys").is_visible()
    page.evaluate("localStorage.clear()")


def test_keys_faster_than_the_server_show_and_judge_the_candidate_they_end_on(visit, workbench, monkeypatch):
    page, show = visit.page, judging.show_candidate
    visit.open_answered(q=ASKED)
    page.wait_for_timeout(500)
    note = "#rtv-note textarea, #rtv-note input"

    def slowly(*values):
        time.sleep(0.4)
        return show(*values)

    monkeypatch.setattr(judging, "show_candidate", slowly)
    page.fill(note, "of the first")
    page.keyboard.press("Escape")
    for key in ("j", "j", "j", "4"):
        page.keyboard.press(key)
    chosen = page.get_attribute(".row[aria-selected=true]", "data-answer")
    assert "invalid" in saved(visit)
    shown(visit, chosen)
    page.wait_for_timeout(1200)
    assert visit.text(".rtv-head.evidence q") == chosen
    (judgement,) = (j for j in workbench.store.for_question(ASKED) if j.answer == chosen)
    assert (judgement.label, judgement.note) == ("invalid", "")
    page.keyboard.press("z")
    page.wait_for_selector("#rtv-saved :text('Taken back')")
    for _ in range(3):
        page.keyboard.press("k")
    page.wait_for_function("selector => document.querySelector(selector).value === 'of the first'", arg=note)


def test_a_passage_marks_its_candidates_and_a_missing_answer_can_be_judged(visit, workbench):
    page = visit.page
    visit.open_answered(q=ASKED)
    choose(visit, "2012")
    page.click(".hit[data-gives]")
    given = page.eval_on_selector_all(".row[data-given]", "rows => rows.map(r => r.dataset.answer).sort()")
    assert given == ["2012", "2014"]
    page.fill("#rtv-missing-text textarea, #rtv-missing-text input", "Berkeley Systems Inc")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.rtv-head.evidence q').textContent.includes('Inc')")
    page.click("[data-verdict=variant]")
    assert "Which gold answer" in visit.text("#rtv-saved")
    page.select_option("select[data-gold]", label="Berkeley Systems")
    assert "variant of Berkeley Systems" in saved(visit)
    row = page.locator(".row[data-answer='Berkeley Systems Inc']")
    assert row.get_attribute("aria-selected") == "true"
    judgement = next(j for j in workbench.store.for_question(ASKED) if j.label == "variant")
    assert (judgement.recalled, judgement.gold) == (False, "Berkeley Systems")


def test_hostile_text_is_shown_as_it_is(visit, workbench):
    page = visit.page
    visit.open_answered(q=HOSTILE.text)
    shown = page.inner_text("#rtv-passages")
    for attack in ATTACKS:
        assert attack in shown or attack in page.text_content("#rtv-passages")
    assert "<b>corpus</b>" in visit.text("#rtv-header")
    assert page.input_value("#rtv-question textarea, #rtv-question input") == HOSTILE.text
    choose(visit, ATTACKS[0])
    assert page.locator(".rtv-evidence mark").first.inner_text() == ATTACKS[0]
    for field, attack in (("note", ATTACKS[1]), ("annotator", ATTACKS[2])):
        page.fill(f"#rtv-{field} textarea, #rtv-{field} input", attack)
    page.keyboard.press("Tab")
    page.wait_for_timeout(300)
    page.click("[data-verdict=listed]")
    saved(visit)
    page.fill("#rtv-missing-text textarea, #rtv-missing-text input", ATTACKS[4])
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.rtv-head.evidence q').textContent.includes('alert(1)}')")
    assert page.locator(".row[aria-selected=true]").get_attribute("data-answer") == ATTACKS[4]
    page.reload()
    page.wait_for_selector(".row .said")
    assert page.locator(".row[aria-selected=true]").get_attribute("data-answer") == ATTACKS[4]
    choose(visit, ATTACKS[0])
    assert page.input_value("#rtv-annotator textarea, #rtv-annotator input") == ATTACKS[2]
    page.wait_for_function(
        "note => document.querySelector('#rtv-note textarea, #rtv-note input').value === note", arg=ATTACKS[1]
    )
    (judgement,) = workbench.store.for_question(HOSTILE.text)
    assert (judgement.answer, judgement.annotator, judgement.note) == (ATTACKS[0], ATTACKS[2], ATTACKS[1])
    assert (
        page.evaluate("document.querySelectorAll('#rtv-columns img, #rtv-columns svg[onload]').length") == 0
    )
    page.evaluate("localStorage.clear()")


def test_a_failed_save_stays_on_the_screen_and_the_note_stays_in_its_field(visit, workbench):
    page, store = visit.page, workbench.store
    visit.open_answered(q=ASKED)
    page.fill("#rtv-note textarea, #rtv-note input", "worth keeping")
    page.keyboard.press("Escape")
    workbench.store = MemoryStore(broken=True)
    try:
        page.keyboard.press("5")
        page.wait_for_selector("#rtv-saved .bad:has-text('The disk is full')")
        page.wait_for_timeout(500)
        assert page.input_value("#rtv-note textarea, #rtv-note input") == "worth keeping"
    finally:
        workbench.store = store
    page.keyboard.press("5")
    assert "unsure" in saved(visit)
    assert page.locator("#rtv-saved .bad").count() == 0
    page.keyboard.press("z")
    page.wait_for_selector("#rtv-saved :text('Taken back')")


def test_no_file_is_served_and_nothing_is_recorded(visit, workbench):
    own, store = Path(__file__).resolve(), workbench.store._path
    names = [
        store,
        f"{store}-wal",
        own,
        own.parents[2] / "pyproject.toml",
        "pyproject.toml",
        ".env",
        "/etc/passwd",
    ]
    names += ["../" * 9 + "etc/passwd", "%2e%2e%2f" * 9 + "etc%2fpasswd", "assets/keys.js"]
    for route in ("gradio_api/file=", "file=", "static/", "assets/"):
        for name in names:
            answer = visit.page.request.get(f"{visit.address}{route}{name}")
            assert answer.status in (400, 403, 404, 405), (route, name)
    for route in ("monitoring", "gradio_api/runs", "docs", "openapi.json"):
        assert visit.page.request.get(f"{visit.address}{route}").status in (403, 404), route


def test_every_text_is_readable_in_light_and_dark(visit):
    """WCAG AA: 4.5 to 1 against what lies behind, for every text on the answered page."""
    for scheme in ("light", "dark"):
        visit.page.emulate_media(color_scheme=scheme)
        visit.open_answered(q=ASKED)
        choose(visit, "2012")
        faint = visit.page.evaluate(CONTRAST)
        assert faint == [], scheme


def test_on_a_phone_nothing_is_wider_than_the_screen_and_the_columns_stack(visit):
    visit.page.set_viewport_size({"width": 390, "height": 844})
    visit.open_answered(q=ASKED)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    tops = [visit.page.locator(f"#rtv-{c}").bounding_box()["y"] for c in ("left", "middle", "right")]
    assert tops == sorted(tops)
    assert visit.page.locator("[data-verdict=invalid]").is_visible()


CONTRAST = """() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > .99) return colour;
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  const root = document.querySelector('.gradio-container');
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.offsetParent || element.closest('.sr, :disabled, .sr-only')) continue;
    if (style.visibility === 'hidden') continue;
    const [a, b] = [light(rgb(style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) faint.add(`${text.slice(0, 30)}: ${style.color}, ${ratio.toFixed(1)}`);
  }
  return [...faint];
}"""
