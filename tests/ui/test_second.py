"""A second system on the Explore page: it answers after the first, on the same rows, and only if chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest
from fakes import FakeWorkbench

from rtv_core.baselines.offers import Offer, Systems, offers
from rtv_core.baselines.systems import RecallerAlone, scored_trace
from rtv_core.errors import MissingError
from rtv_core.records import Candidate, Passage, Question, Trace
from rtv_core.ui.asking import show_answers
from rtv_core.ui.beside import set_beside
from rtv_core.ui.judging import save_judgement
from rtv_core.ui.marks import candidate_key
from rtv_core.ui.second import Seconded, choose_second, column_of, open_second, show_second
from rtv_core.ui.session import Run

ASKED = "When did Jack come out?"
PASSAGES = (
    Passage("a", "Jack (game)", "The game Jack came out in 1995 and again in 2011."),
    Passage("b", "Jack (film)", "The film Jack came out on April 24, 2010 in the United States."),
    Passage(
        "c", "Jill", "Jill was never released, though 2012 was named. Its maker was <b>Berkeley</b> 2013."
    ),
)
SCORES = {"1995": 0.9, "April 24, 2010": 0.8, "2011": 0.3, "2012": 0.1, "2013": 0.1}
GOLD = Question("q1", ASKED, ((("1995",), ("April 24, 2010", "24 April 2010"), ("Berkeley",)),))
HOSTILE = 'sys <img src=x onerror="alert(1)">'


@dataclass
class TableSystem:
    """Gives fixed answers with fixed scores; counts how often it read."""

    answers: dict[str, float]
    name: str = HOSTILE
    tau: float = 0.2
    weights = {}  # noqa: RUF012
    read_times: int = 0

    def read(self, trace: Trace) -> Trace:
        self.read_times += 1
        candidates = [Candidate(answer, (answer,), score, ()) for answer, score in self.answers.items()]
        return scored_trace(self, trace, trace.hits, trace.readings, candidates, 0.25)


@pytest.fixture
def workbench():
    return FakeWorkbench(PASSAGES, r"April 24, 2010|\b(?:19|20)\d\d\b", SCORES, (GOLD,))


@pytest.fixture
def system():
    return TableSystem({"24 April 2010": 0.6, "2011": 0.4, "<i>Berkeley</i>": 0.3, "2012": 0.1})


@pytest.fixture
def systems(system):
    def broken(_):
        raise MissingError("The weights are gone. Train them again.")

    return Systems(
        [
            *offers(),
            Offer(HOSTILE, lambda _: system),
            Offer("oracle", lambda _: system, True),
            Offer("broken", broken),
        ]
    )


def asked(workbench, question=ASKED):
    run = Run()
    run.call(question)
    answers = list(show_answers(workbench, run, 100, 0.0, "strict", [], 0.5, 10, False, "ann"))
    return run, answers[-1].session


def second(workbench, systems, run, session, tau=0.5):
    return list(show_second(workbench, systems, run, session, tau, 10, False, "ann"))


def cells(html: str) -> dict[str, str]:
    """Answer to "state score" of the second system, by the rows of the list."""
    rows = re.findall(r'data-answer="([^"]*)".*?data-other="(\d)"', html)
    shown = re.findall(r'class="other (\w+)"', html)
    return {answer: f"{state} {other}" for (answer, other), state in zip(rows, shown, strict=True)}


def test_without_a_choice_nothing_is_read_and_nothing_changes(workbench, systems, system):
    run, session = asked(workbench)
    (only,) = second(workbench, systems, run, session)
    assert (only.candidates, only.session) == (Seconded().candidates, Seconded().session)
    assert 'value="" selected' in only.second
    assert system.read_times == 0


def test_the_same_answer_stands_on_one_row_and_the_rest_on_rows_of_its_own(workbench, systems):
    run, session = asked(workbench)
    choose_second(systems, run, {"name": HOSTILE})
    busy, done = second(workbench, systems, run, session)
    assert "is reading" in busy.second
    assert cells(done.candidates) == {
        "1995": "missed 0",
        "April 24, 2010": "accepted 1",
        "2011": "accepted 1",
        "2012": "rejected 0",
        "2013": "missed 0",
        "Berkeley": "missed 0",
        "&lt;i&gt;Berkeley&lt;/i&gt;": "accepted 1",
    }
    words = re.sub(r"<[^>]*>", "", done.second)
    assert "3 kept at tau 0.2 · ★ 1 of 3 gold · only there 2 · only here 1 · 0.25 s after retrieval" in words
    assert "<img" not in done.second + done.candidates
    assert done.session.beside.column.name == HOSTILE


def test_what_only_one_gives_is_counted_under_the_tau_on_the_page(workbench, systems):
    run, session = asked(workbench)
    run.second = HOSTILE
    assert (
        'only there <b data-count="only-there">1</b>'
        in second(workbench, systems, run, session, 0.2)[-1].second
    )


def test_a_system_reads_once_for_an_answer_and_again_for_the_next(workbench, systems, system):
    run, session = asked(workbench)
    run.second = HOSTILE
    session = second(workbench, systems, run, session)[-1].session
    (again,) = second(workbench, systems, run, session)
    assert (again.session, system.read_times) == (session, 1)
    _, other = asked(workbench, "When did Jill come out?")
    second(workbench, systems, run, other)
    assert system.read_times == 2


def test_choosing_nothing_takes_the_column_away(workbench, systems):
    run, session = asked(workbench)
    run.second = HOSTILE
    session = second(workbench, systems, run, session)[-1].session
    choose_second(systems, run, {"name": ""})
    (plain,) = second(workbench, systems, run, session)
    assert "data-beside" not in plain.candidates
    assert plain.session.beside is None


def test_a_verdict_keeps_the_column_and_a_judged_answer_of_the_other_system_stands_once(workbench, systems):
    run, session = asked(workbench)
    run.second = HOSTILE
    session = second(workbench, systems, run, session)[-1].session
    event = {"typed": "<i>Berkeley</i>", "label": "unlisted", "token": "t1"}
    judged = save_judgement(workbench, session, 0.5, 10, False, "ann", "", {}, event)
    assert "Saved" in judged.saved
    assert judged.candidates.count(f'data-key="{candidate_key("<i>Berkeley</i>")}"') == 1
    assert judged.session.beside is session.beside


def test_nothing_is_drawn_over_an_answer_that_was_asked_meanwhile(workbench, systems):
    run, session = asked(workbench)
    run.second = HOSTILE
    views = show_second(workbench, systems, run, session, 0.5, 10, False, "ann")
    next(views)
    run.call()
    assert list(views) == [Seconded()]
    assert second(workbench, systems, run, session) == [Seconded()]


def test_the_recaller_alone_runs_no_model_and_is_always_there(workbench, systems):
    run, session = asked(workbench)
    before = workbench.asked
    run.second = "recaller alone"
    done = second(workbench, systems, run, session)[-1]
    column = done.session.beside.column
    assert column.tau == RecallerAlone(column.tau).tau == systems.get("recaller alone", workbench).tau
    assert {a.answer for a in column.answers} == {c.answer for c in session.trace.candidates}
    assert "after retrieval" not in done.second
    assert workbench.asked == before


def test_why_there_is_no_second_answer_is_said_in_its_place(workbench, systems):
    run, session = asked(workbench, "When did Jill come out?")
    for name, words in (("oracle", "needs gold answers"), ("broken", "Train them again")):
        run.second = name
        last = second(workbench, systems, run, session)[-1]
        assert words in last.second
        assert last.candidates == Seconded().candidates
    run.second = HOSTILE
    stopped = replace(session, trace=session.trace.grown(stage="recalled"))
    assert "Only a finished answer" in second(workbench, systems, run, stopped)[-1].second
    assert second(workbench, systems, run, None) == [Seconded()]


def test_a_bug_in_a_system_is_said_and_keeps_its_traceback(workbench, systems, system):
    run, session = asked(workbench)
    run.second, system.answers = HOSTILE, None
    views = show_second(workbench, systems, run, session, 0.5, 10, False, "ann")
    next(views)
    assert "should not have" in next(views).second
    with pytest.raises(AttributeError):
        next(views)


def test_a_link_chooses_a_system_and_an_unknown_one_is_named(systems):
    run = Run()
    assert "selected" in open_second(systems, run, {"second": "oracle"})
    assert run.second == "oracle"
    assert "&lt;b&gt;" in open_second(systems, run, {"second": "<b>"})
    assert run.second == ""
    for wrong in (None, 7, ["oracle"], "x" * 10_000, {"a": 1}):
        choose_second(systems, run, {"name": wrong})
        assert run.second == ""
    choose_second(systems, run, "not a mapping")
    assert run.second == ""


def test_the_gold_that_a_system_gives_is_counted_once_for_all_spellings(workbench, systems, system):
    _, session = asked(workbench)
    system.answers = {"24 April 2010": 0.6, "April 24, 2010": 0.5}
    assert set_beside(session.trace, column_of(workbench, systems, session, HOSTILE)).gold == 1
