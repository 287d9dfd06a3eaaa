"""Two verifiers in one view: verdicts on the rows, question, fresh evidence, and judgements made there."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

import pytest
from test_analyse import Page
from verifiers import QUESTION, VERDICTS, systems, two_verifiers

from rtv_core.outcomes import outcome
from rtv_core.records import Run as KeptRun
from rtv_core.records import RunQuestion
from rtv_core.ri2ver import SecondVerifier
from rtv_core.settings import load_settings
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore
from rtv_core.ui.asking import show_answers
from rtv_core.ui.disagreement import disagreements
from rtv_core.ui.judging import save_judgement, show_candidate
from rtv_core.ui.marks import candidate_key
from rtv_core.ui.parts import parts_on
from rtv_core.ui.presenting import open_stored, show_stored
from rtv_core.ui.second import show_second
from rtv_core.ui.session import Run, read_knobs
from rtv_core.ui.whatif import show_whatif

KNOBS = (0.5, 10, False)


@pytest.fixture
def open_workbench(tmp_path):
    opened = []

    def open_(**more):
        opened.append(two_verifiers(tmp_path, **more))
        return opened[-1]

    yield open_
    for workbench in opened:
        workbench.server.close()


def asked(workbench):
    run = Run()
    run.call(QUESTION)
    answers = list(
        show_answers(workbench, run, 4, 0.0, "strict", parts_on(workbench.settings), *KNOBS, "ann")
    )[-1]
    assert answers.session.trace.complete, answers.progress
    return run, answers


def beside(workbench, run, session, name=VERDICTS):
    run.second = name
    return list(show_second(workbench, systems(), run, session, *KNOBS, "ann"))[-1]


def chosen(workbench, session, answer) -> str:
    event = {"key": candidate_key(answer)}
    return show_candidate(workbench, session, *KNOBS, "ann", "", {}, event).evidence


def words_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def rows_of(html: str) -> dict[str, str]:
    """Each answer's words on its row."""
    rows = re.findall(r'<li role="option".*?data-answer="([^"]*)"[^>]*>(.*?)</li>', html)
    return {answer: words_of(row) for answer, row in rows}


def cards_of(html: str) -> list[str]:
    return [words_of(card) for card in re.findall(r"<li[ >].*?</li>", html) if 'class="top"' in card]


def test_score_and_verdict_stand_on_one_row(open_workbench) -> None:
    workbench = open_workbench()
    run, answers = asked(workbench)
    rows = rows_of(beside(workbench, run, answers.session).candidates)
    assert "0.80" in rows["Kids"]
    assert "– 0.20" in rows["Kids"]
    assert "0.30" in rows["Spring Breakers"]
    assert "✓ 0.80" in rows["Spring Breakers"]


def test_the_verdict_its_question_and_fresh_evidence_stand_by_the_candidate(open_workbench) -> None:
    workbench = open_workbench()
    run, answers = asked(workbench)
    session = beside(workbench, run, answers.session).session
    html = chosen(workbench, session, "Mister Lonely")
    text = words_of(html)
    assert "language model: Yes 0.70 (P(Yes) / (P(Yes) + P(No))" in text
    assert "It was asked Is it true of Mister Lonely?" in text
    fresh = [card for card in cards_of(html) if "✚ fresh" in card]
    assert any("shown in Cannes in 2007" in card for card in fresh)
    assert not any("rank" in card for card in fresh), "the list of passages doesn't have it"
    assert any("✦ both read it" in card for card in cards_of(html))
    retrieved = {hit.passage.id for hit in session.trace.hits}
    assert {f'data-rank="{hit.rank}"' for hit in session.trace.hits} >= set(
        re.findall(r'data-rank="\d+"', html)
    )
    assert "p5" not in retrieved
    assert "Raw reply" in text
    assert "Filled prompt" in text


def test_a_passage_that_gives_orders_is_warned_of_where_the_candidate_is_judged(open_workbench) -> None:
    workbench = open_workbench()
    run, answers = asked(workbench)
    session = beside(workbench, run, answers.session).session
    html = chosen(workbench, session, "Kids")
    assert "rtv-suspicious" in html
    assert "language model: No 0.20" in words_of(html)
    assert "Judgement, attempt 2" in words_of(html)


def test_an_answer_that_was_not_put_to_the_second_verifier_says_why(open_workbench, monkeypatch) -> None:
    monkeypatch.setattr(SecondVerifier, "__init__", functools.partialmethod(SecondVerifier.__init__, most=1))
    workbench = open_workbench()
    run, answers = asked(workbench)
    session = beside(workbench, run, answers.session).session
    why = "it is asked only about the 30 candidates with the best scores"
    texts = {c.answer: words_of(chosen(workbench, session, c.answer)) for c in session.trace.candidates}
    assert [answer for answer, text in texts.items() if why not in text] == ["Mister Lonely"]
    typed = show_candidate(workbench, session, *KNOBS, "ann", "", {}, {"typed": "Gummo"}).evidence
    assert why in words_of(typed)


def test_without_a_second_verifier_nothing_is_said_or_asked(open_workbench) -> None:
    workbench = open_workbench()
    run, answers = asked(workbench)
    assert "rtv-opinion" not in chosen(workbench, answers.session, "Kids")
    session = beside(workbench, run, answers.session, "recaller alone").session
    assert "rtv-opinion" not in chosen(workbench, session, "Kids")
    assert workbench.server.requests == []


def test_the_filter_counts_what_the_rows_say(open_workbench) -> None:
    workbench = open_workbench()
    run, answers = asked(workbench)
    done = beside(workbench, run, answers.session)
    found = disagreements(done.session.trace, done.session.beside, read_knobs(*KNOBS))
    assert found == {candidate_key("Kids"), candidate_key("Spring Breakers")}
    assert '<b data-count="disagree">2</b>' in done.second
    rows = re.findall(r"<li role=\"option\".*?>", done.candidates)
    both = [row for row in rows if " data-both" in row]
    apart = [r for r in both if ('data-state="accepted"' in r) != ('data-other="1"' in r)]
    assert {re.search(r'data-key="(\w+)"', row)[1] for row in apart} == found


@pytest.mark.parametrize("foreseen", [True, False])
def test_a_plain_word_is_a_word_on_the_rows_and_by_the_candidate(open_workbench, foreseen) -> None:
    workbench = open_workbench(words=foreseen)
    workbench.server.logprobs = False
    run, answers = asked(workbench)
    done = beside(workbench, run, answers.session)
    rows = rows_of(done.candidates)
    assert "– No" in rows["Kids"]
    assert "0.80" in rows["Kids"]
    assert "✓ Yes" in rows["Spring Breakers"]
    said = words_of(chosen(workbench, done.session, "Kids"))
    assert "language model: No (a word, not a confidence" in said


def test_where_words_are_all_there_is_no_score_is_shown_anywhere(open_workbench) -> None:
    settings = load_settings("llm", ["retriever.passages=4", "llm.score=word"])
    workbench = open_workbench(words=True, settings=settings)
    _, answers = asked(workbench)
    assert answers.session.trace.provenance["scores"] == "words"
    rows = rows_of(answers.candidates)
    assert "Yes" in rows["Gummo"]
    assert "No" in rows["Kids"]
    assert not re.search(r"[01]\.00", words_of(answers.candidates))
    head = words_of(chosen(workbench, answers.session, "Gummo")).partition("language model:")[0]
    assert "Yes" in head
    assert not re.search(r"\d\.\d", head)
    event = {"key": candidate_key("Gummo"), "taken": [0], "turn": 1}
    after = words_of(show_whatif(workbench, answers.session, *KNOBS, event))
    assert "Yes" in after
    assert not re.search(r"[01]\.00", after)


def test_the_model_s_own_trace_shows_its_exchanges_too(open_workbench) -> None:
    workbench = open_workbench(settings=load_settings("llm", ["retriever.passages=3"]))
    _, answers = asked(workbench)
    html = chosen(workbench, answers.session, "Mister Lonely")
    assert "language model: Yes 0.70" in words_of(html)
    assert "those below" in words_of(html)
    workbench.loaded = False
    assert "rtv-opinion" not in chosen(workbench, answers.session, "Mister Lonely")


def test_a_judgement_made_in_this_view_is_stored_as_any_other_and_feeds_analyse(
    open_workbench, tmp_path
) -> None:
    path = tmp_path / "rtv.db"
    workbench = open_workbench(store=JudgementStore(path), runs=RunStore(path), queues=QueueStore(path))
    trace = workbench.pipeline(workbench.settings).ask(workbench.questions[0])
    found = outcome(trace, workbench.settings)
    kept = workbench.runs.create(KeptRun("", "ours", "ours", "", 0, True, 0.5, 10))
    item = RunQuestion("", 0, trace.question, "", found.answers, found.gold)
    workbench.runs.add_questions(kept.id, [(item, trace)])
    workbench.runs.finish(kept.id)
    run = Run()
    open_stored(workbench, run, {"run": "ours", "q": "0"}, "ann")
    plain = show_stored(workbench, run, *KNOBS, "ann").session
    viewed = beside(workbench, run, plain).session
    assert viewed.beside is not None

    def judge(session, name, token):
        event = {"key": candidate_key("Kids"), "label": "invalid", "token": token}
        judged = save_judgement(workbench, session, *KNOBS, name, "", {}, event)
        assert "Saved" in judged.saved
        return judged

    before = Page(workbench).people
    assert "Ada" not in before
    judged = judge(viewed, "Ada", "t1")
    assert "– 0.20" in rows_of(judged.candidates)["Kids"], "the second column stays"
    judge(plain, "Bo", "t2")
    here, there = (workbench.store.current(None, name)[0] for name in ("Ada", "Bo"))
    assert replace(here, annotator="Bo", at="") == replace(there, at="")
    assert (here.p_right, here.tau, here.trace_id) == (0.8, 0.5, plain.trace_id)
    after = Page(workbench)
    assert "Ada" in after.people
    assert "Bo" in after.people
