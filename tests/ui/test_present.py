"""Kept questions opened by a link, paged through, judged, and presented, where nothing can be written."""

from __future__ import annotations

import re
from urllib.parse import parse_qs

import pytest
from fakes import FakeWorkbench

from rtv_core.evaluation import import_predictions, run_questions
from rtv_core.predictions import Predicted, PredictedAnswer
from rtv_core.records import Passage, Question
from rtv_core.records import Run as KeptRun
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.runs import RunStore
from rtv_core.ui.asking import Answers, call_answers, show_answers
from rtv_core.ui.judging import save_judgement, show_candidate, show_verdicts, take_back
from rtv_core.ui.marks import candidate_key
from rtv_core.ui.presenting import is_stored, open_stored, show_stored, turn
from rtv_core.ui.session import Run

PASSAGES = (
    Passage("a", "Jack (game)", "The game Jack came out in 1995 and again in 2011."),
    Passage("b", "Jack (film)", "The film Jack came out on April 24, 2010 in the United States."),
)
PATTERN = r"April 24, 2010|\b(?:19|20)\d\d\b"
QUESTIONS = (
    Question("q1", "When did Jack come out?", ((("1995",), ("April 24, 2010",)),)),
    Question("q2", "When was the film shown?", ((("April 24, 2010",), ("2012",)),)),
    Question("q3", "When did the game return?", ((("2011",),),)),
)
HOSTILE = """"><img src=x onerror=alert(1)> & q=9&present=0 ${7*7} '; --"""
UNTOUCHED = {"__type__": "update"}
YEAR = {"key": candidate_key("1995"), "label": "listed", "gold": 0, "token": "token-1"}


@pytest.fixture
def workbench(tmp_path):
    made = FakeWorkbench(PASSAGES, PATTERN, {"1995": 0.9, "2011": 0.6, "April 24, 2010": 0.8}, QUESTIONS)
    made.store, made.runs = JudgementStore(tmp_path / "rtv.db"), RunStore(tmp_path / "rtv.db")
    return made


@pytest.fixture
def ours(workbench):
    """A run of our own pipeline; afterwards there is no model any more."""
    settings = workbench.settings.with_values({"verifier.tau": 0.7, "verifier.k": 5})
    run = run_questions(workbench.pipeline(settings), QUESTIONS, workbench.runs, "ours")
    workbench.pipeline = lambda _: pytest.fail("a model was asked for")
    return run


@pytest.fixture
def theirs(workbench):
    """A run of another system, without scores; one answer has a passage."""
    film = PredictedAnswer("April 24, 2010", evidence=(PASSAGES[1],))
    given = [
        Predicted("1", "q1", "", (PredictedAnswer("1995"), PredictedAnswer("2003"))),
        Predicted("2", "q2", "", (film,)),
        Predicted("3", "q3", "", ()),
    ]
    facts = {"imported": "reader.json"}
    return import_predictions(given, QUESTIONS, workbench.runs, "theirs", "a <b>reader</b>", facts)


def visit(workbench, **parameters):
    """A tab that follows a link: its control, what the link filled in, and what is drawn."""
    run = Run()
    opened = open_stored(workbench, run, parameters)
    knobs = [0.5 if opened.tau == UNTOUCHED else opened.tau, 10, False]
    return run, opened, show_stored(workbench, run, *knobs, "ann")


def go(workbench, run, to):
    question, *drawn = turn(workbench, run, 0.5, 10, False, "ann", {"to": to})
    return question, Answers(*drawn)


def ways(drawn):
    """The places that the buttons for previous and next lead to; "" where they are off."""
    return re.findall(r'data-turn="(\d*)"', drawn.progress)


def judge(workbench, session, **event):
    return save_judgement(workbench, session, 0.5, 10, False, "ann", "", {}, YEAR | event)


def verdicts(workbench):
    return [j for question in QUESTIONS for j in workbench.store.for_question(question.text)]


# Which links are meant


@pytest.mark.parametrize(
    ("parameters", "meant"),
    [
        ({}, False),
        ({"q": "When?"}, False),
        ({"q": "When?", "present": "0"}, False),
        ({"present": "1"}, True),
        ({"run": "ours"}, True),
        ({"run": "", "q": "When?"}, False),
    ],
)
def test_only_links_to_a_run_or_a_presentation_show_what_was_kept(parameters, meant):
    assert is_stored(parameters) is meant


# A run


@pytest.mark.usefixtures("ours")
def test_a_run_shows_the_kept_trace_without_a_model(workbench):
    run, opened, drawn = visit(workbench, run="ours", q="1", present="1")
    assert run.frozen
    assert opened.question == QUESTIONS[1].text
    assert (opened.tau, opened.k, opened.single) == (0.7, 5, False)
    assert ">question </span>2 of 3<" in drawn.progress
    assert QUESTIONS[1].text in drawn.progress
    assert 'data-state="accepted"' in drawn.candidates
    assert "gold found" in drawn.summary
    kept = workbench.runs.question("ours", 1)
    assert drawn.session.trace == workbench.store.load_trace(kept.trace_id)
    assert 'class="hit"' in drawn.passages


@pytest.mark.usefixtures("ours")
def test_a_link_says_tau_over_what_the_run_had(workbench):
    _, opened, _ = visit(workbench, run="ours", tau="0.3", k="x", profile="another", present="1")
    assert (opened.tau, opened.k) == (0.3, 5)
    assert opened.notice.count("left out") == 1


@pytest.mark.usefixtures("ours")
def test_the_address_names_run_position_and_presentation(workbench):
    _, _, drawn = visit(workbench, run="ours", q="2", present="1")
    link = re.search(r'data-link="([^"]*)"', drawn.progress)[1].replace("&amp;", "&")
    assert parse_qs(link) == {"run": ["ours"], "q": ["2"], "present": ["1"]}
    _, _, drawn = visit(workbench, run="ours", q="2")
    assert 'data-link="run=ours&amp;q=2"' in drawn.progress


def test_a_run_is_found_by_its_id_too_and_without_a_position_it_begins_at_the_first(workbench, ours):
    _, opened, drawn = visit(workbench, run=ours.id, present="1")
    assert opened.question == QUESTIONS[0].text
    assert "run=ours&amp;q=0" in drawn.progress


@pytest.mark.usefixtures("ours")
def test_the_ways_on_end_at_both_ends(workbench):
    run, _, first = visit(workbench, run="ours", q="0", present="1")
    assert ways(first) == ["", "1"]
    question, middle = go(workbench, run, 1)
    assert (question, ways(middle)) == (QUESTIONS[1].text, ["0", "2"])
    question, last = go(workbench, run, 2)
    assert (question, ways(last)) == (QUESTIONS[2].text, ["1", ""])
    assert QUESTIONS[2].text in last.progress
    assert last.session.frozen


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("to", [3, -1, True, "1", None, [1], 10**20])
def test_beyond_the_ends_there_is_nothing_and_the_ways_on_stay(workbench, to):
    run, _, _ = visit(workbench, run="ours", q="2", present="1")
    question, drawn = go(workbench, run, to)
    assert question == UNTOUCHED
    assert "no such question" in drawn.progress
    assert ways(drawn) == ["1", ""]
    assert drawn.session is None
    assert run.stored.at == 2


def test_a_run_that_lacks_questions_is_paged_through_over_the_gaps(workbench):
    run_questions(workbench.pipeline(workbench.settings), QUESTIONS, workbench.runs, "whole")
    half = workbench.runs.create(KeptRun("", "half", "RTV", "", 0, True, 0.5, 10))
    for position in (0, 2):
        kept = workbench.runs.question("whole", position)
        workbench.runs.add_question(half.id, kept, workbench.store.load_trace(kept.trace_id))
    _, _, drawn = visit(workbench, run="half", present="1")
    assert ways(drawn) == ["", "2"]
    _, _, missing = visit(workbench, run="half", q="1", present="1")
    assert "has no question 1" in missing.progress


@pytest.mark.usefixtures("ours")
@pytest.mark.parametrize("q", ["3", "-1", "1.0", "²", "x" * 5000, "9" * 500, "<b>", " "])
def test_a_wrong_position_is_said_plainly(workbench, q):
    run, opened, drawn = visit(workbench, run="ours", q=q, present="1")
    assert 'role="alert"' in drawn.progress
    assert "0 to 2" in drawn.progress
    assert "<b>" not in drawn.progress.replace("<b><bdi>", "")
    assert opened.question == UNTOUCHED
    assert drawn.session is None
    assert run.frozen


@pytest.mark.usefixtures("ours")
def test_an_unknown_run_is_said_plainly_with_a_way_out(workbench):
    run, _, drawn = visit(workbench, run="our", q="0", present="1")
    assert "There is no run &#x27;our&#x27;. Did you mean &#x27;ours&#x27;?" in drawn.progress
    assert "Leave" in drawn.progress
    assert run.frozen
    assert drawn.session is None


def test_a_run_without_a_question_is_said_plainly(workbench):
    workbench.runs.create(KeptRun("", "empty", "RTV", "", 0, True, 0.5, 10))
    assert "has no question yet" in visit(workbench, run="empty", present="1")[2].progress


def test_a_hostile_run_name_is_shown_as_it_is_and_comes_back_by_its_link(workbench):
    run_questions(workbench.pipeline(workbench.settings), QUESTIONS, workbench.runs, HOSTILE)
    _, _, drawn = visit(workbench, run=HOSTILE, q="1", present="1")
    assert "<img" not in drawn.progress
    assert "&lt;img src=x onerror=alert(1)&gt;" in drawn.progress
    link = re.search(r'data-link="([^"]*)"', drawn.progress)[1].replace("&amp;", "&")
    assert parse_qs(link) == {"run": [HOSTILE], "q": ["1"], "present": ["1"]}
    _, _, unknown = visit(workbench, run=HOSTILE + "?", present="1")
    assert "<img" not in unknown.progress


# Another system's run


@pytest.mark.usefixtures("theirs")
def test_another_systems_answers_are_shown_as_given(workbench):
    _, _, drawn = visit(workbench, run="theirs", q="0", present="1")
    assert drawn.candidates.count('data-state="given"') == 2
    assert "2 answers of a &lt;b&gt;reader&lt;/b&gt;" in drawn.progress
    assert "imported from reader.json" in drawn.progress
    assert "incomplete" not in drawn.progress
    assert "The system showed no passage" in drawn.passages
    assert 'data-answer="April 24, 2010"' in drawn.candidates  # gold that it missed
    assert '<b data-count="gold">1</b> of 2' in drawn.summary
    event = {"key": candidate_key("2003")}
    chosen = show_candidate(workbench, drawn.session, 0.5, 10, False, "ann", "", {}, event)
    assert "The system showed no passage" in chosen.evidence


@pytest.mark.usefixtures("theirs")
def test_passages_that_a_system_showed_have_no_scores(workbench):
    _, _, drawn = visit(workbench, run="theirs", q="1")
    assert "Shown by the system" in drawn.passages
    assert "dense" not in drawn.passages
    event = {"key": candidate_key("April 24, 2010")}
    chosen = show_candidate(workbench, drawn.session, 0.5, 10, False, "ann", "", {}, event)
    assert "<mark>April 24, 2010</mark>" in chosen.evidence
    assert "similarity" not in chosen.evidence
    _, _, none = visit(workbench, run="theirs", q="2")
    assert "The system gave no answer" in none.candidates


def test_another_systems_scores_are_drawn_under_its_own_tau(workbench):
    given = [
        Predicted("1", "q1", "", (PredictedAnswer("1995", 0.9), PredictedAnswer("2003", 0.2))),
    ]
    import_predictions(given, QUESTIONS[:1], workbench.runs, "scored", "reader", {}, tau=0.4)
    _, opened, drawn = visit(workbench, run="scored", present="1")
    assert opened.tau == 0.4
    states = re.findall(r'data-state="(accepted|rejected)"', drawn.candidates)
    assert states == ["accepted", "rejected"]
    judge(workbench, visit(workbench, run="scored")[2].session)
    assert [(j.answer, j.p_right) for j in verdicts(workbench)] == [("1995", 0.9)]


# Judging and not judging


@pytest.mark.usefixtures("ours")
def test_without_presenting_the_runs_own_trace_is_judged(workbench):
    run, _, drawn = visit(workbench, run="ours", q="0")
    assert not run.frozen
    assert "Saved" in judge(workbench, drawn.session).saved
    (saved,) = verdicts(workbench)
    assert saved.trace_id == workbench.runs.question("ours", 0).trace_id
    assert "you: listed" in visit(workbench, run="ours", q="0")[2].candidates


@pytest.mark.usefixtures("ours")
def test_a_presentation_refuses_every_write(workbench):
    judge(workbench, visit(workbench, run="ours", q="0")[2].session)
    before = verdicts(workbench)
    _, _, drawn = visit(workbench, run="ours", q="0", present="1")
    session = drawn.session
    refused = judge(workbench, session, label="invalid", token="token-2")
    assert "Not saved" in refused.saved
    assert "presentation" in refused.saved
    assert refused.candidates == refused.session == UNTOUCHED
    for again in (False, True):
        undone = take_back(workbench, session, 0.5, 10, False, "ann", again, YEAR)
        assert "presentation" in undone.saved
    assert verdicts(workbench) == before


@pytest.mark.usefixtures("ours")
def test_a_presentation_shows_neither_verdicts_nor_the_means_to_give_one(workbench):
    judge(workbench, visit(workbench, run="ours", q="0")[2].session)
    _, _, drawn = visit(workbench, run="ours", q="0", present="1")
    assert "you: " not in drawn.candidates
    assert drawn.judge == drawn.saved == ""
    chosen = show_candidate(workbench, drawn.session, 0.5, 10, False, "ann", "", {}, YEAR)
    assert "<mark>1995</mark>" in chosen.evidence
    assert chosen.judge == chosen.note == chosen.drafts == UNTOUCHED
    shown = show_verdicts(workbench, drawn.session, 0.5, 10, False, "ann", YEAR)
    assert all(part == UNTOUCHED for part in shown)


@pytest.mark.parametrize("run_name", ["ours", "unknown"])
@pytest.mark.usefixtures("ours")
def test_a_presentation_asks_nothing_live(workbench, run_name):
    run, _, _ = visit(workbench, run=run_name, q="0", present="1")
    before = workbench.store.traces("When was Jill released?")
    assert "nothing is asked here" in call_answers(run, "When?").progress
    views = show_answers(workbench, run, 100, 0.02, "strict", [], 0.5, 10, False, "ann")
    assert list(views) == [Answers()]
    assert workbench.store.traces("When was Jill released?") == before == []


def test_asking_leaves_a_run_that_is_not_presented(workbench):
    run_questions(workbench.pipeline(workbench.settings), QUESTIONS, workbench.runs, "ours")
    run, _, _ = visit(workbench, run="ours", q="0")
    call_answers(run, "When?")
    assert run.stored is None
    assert show_stored(workbench, run, 0.5, 10, False, "ann") == Answers()
    views = list(show_answers(workbench, run, 100, 0.02, "strict", [], 0.5, 10, False, "ann"))
    assert views[-1].session.trace.question.text == "When?"


# Without a run


def keep(workbench, *questions):
    for question in questions:
        workbench.store.save_trace(workbench.pipeline(workbench.settings).ask(question))
    workbench.pipeline = lambda _: pytest.fail("a model was asked for")


def test_a_kept_answer_is_presented_without_a_run(workbench):
    keep(workbench, QUESTIONS[0], QUESTIONS[2])
    run, opened, drawn = visit(workbench, q="when did  the GAME return?", present="1")
    assert opened.question == QUESTIONS[2].text
    assert ">question </span>2 of 2<" in drawn.progress
    assert ways(drawn) == ["0", ""]
    assert 'data-link="present=1"' in drawn.progress
    question, back = go(workbench, run, 0)
    assert question == QUESTIONS[0].text
    assert ways(back) == ["", "2"]
    assert "Not saved" in judge(workbench, back.session).saved


def test_a_question_that_is_no_example_stands_alone(workbench):
    keep(workbench, Question("", "Which years does Jack name?"))
    _, opened, drawn = visit(workbench, q="Which years does Jack name?", present="1")
    assert opened.question == "Which years does Jack name?"
    assert ways(drawn) == []
    assert drawn.session.frozen


def test_a_question_whose_answer_is_not_kept_is_not_asked_while_presenting(workbench):
    workbench.pipeline = lambda _: pytest.fail("a model was asked for")
    run, _, drawn = visit(workbench, q="When <b>did</b> Jill come out?", present="1")
    assert "nothing is asked while presenting" in drawn.progress
    assert "<b>did" not in drawn.progress
    assert drawn.session is None
    assert run.frozen


def test_a_stopped_answer_is_not_presented(workbench):
    *_, trace = (t for t in workbench.pipeline(workbench.settings).steps(QUESTIONS[0]) if not t.complete)
    workbench.store.save_trace(trace)
    assert "No finished answer" in visit(workbench, q=QUESTIONS[0].text, present="1")[2].progress


@pytest.mark.usefixtures("ours")
def test_without_a_name_the_newest_run_is_presented(workbench):
    _, _, drawn = visit(workbench, present="1")
    assert "run=ours&amp;q=0" in drawn.progress


def test_where_nothing_is_kept_the_page_says_what_to_do(workbench):
    drawn = visit(workbench, present="1")[2]
    assert "nothing to present yet" in drawn.progress
    assert "python -m rtv_core evaluate" in drawn.progress


def test_a_wrong_knob_is_refused_in_words(workbench):
    keep(workbench, QUESTIONS[0])
    run, _, _ = visit(workbench, q=QUESTIONS[0].text, present="1")
    assert 'role="alert"' in show_stored(workbench, run, "high", 10, False, "ann").progress


def test_a_link_that_asks_leaves_the_kept_alone(workbench):
    assert show_stored(workbench, Run(), 0.5, 10, False, "ann") == Answers()
    question, *drawn = turn(workbench, Run(), 0.5, 10, False, "ann", {"to": 0})
    assert question == UNTOUCHED
    assert Answers(*drawn) == Answers()
