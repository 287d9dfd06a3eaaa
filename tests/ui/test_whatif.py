"""What-ifs on the Explore page: the score without some evidence, the smallest flip, and nothing stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from fakes import FakeWorkbench

from rtv_core.records import Evidence, Passage, Question, Verdict
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.ui.asking import show_answers
from rtv_core.ui.marks import candidate_key
from rtv_core.ui.render import render_evidence
from rtv_core.ui.session import Run
from rtv_core.ui.whatif import show_flip, show_whatif
from rtv_core.wire import to_json

ASKED = "When did Jack come out?"
PASSAGES = (
    Passage("a", "Jack", "The game Jack came out in 1995."),
    Passage("b", "Jack", "The game Jack came out in 1995, on a disc."),
    Passage("c", "Film <b>", "The film Jack came out in 2010."),
    Passage("d", "Jill", "Jill came out in 2010 and 2012."),
)


@dataclass
class CoverVerifier:
    """A candidate's score is .4 a covering passage, less .1 for any other."""

    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        scores = [sum(0.4 if p.covers else -0.1 for p in body.passages) for body in evidence]
        return [Verdict((min(max(score, 0.0), 1.0),) * 3) for score in scores]


class Workbench(FakeWorkbench):
    def pipeline(self, settings):
        return replace(super().pipeline(settings), verifier=CoverVerifier())


@pytest.fixture
def workbench():
    gold = Question("q1", ASKED, ((("1995",), ("2010",)),))
    return Workbench(PASSAGES, r"\b(?:19|20)\d\d\b", {}, (gold,))


@pytest.fixture
def session(workbench):
    run = Run()
    run.call(ASKED)
    return list(show_answers(workbench, run, 100, 0.0, "strict", [], 0.5, 10, False, "ann"))[-1].session


KEY = {"key": candidate_key("1995"), "turn": 3}


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def without(workbench, session, taken, tau=0.5, k=10, **event):
    return show_whatif(workbench, session, tau, k, False, KEY | {"taken": taken} | event)


def test_the_score_is_shown_before_and_after_and_nothing_is_stored(workbench, session):
    store = (dict(workbench.store._kept), list(workbench.store.events))
    shown = without(workbench, session, [1, 0])
    assert "Without passages 1 and 2: 0.60 → becomes 0.00 (-0.60) – at or below tau 0.50" in words(shown)
    assert "the verdict flips" in shown
    assert "never stored" in shown
    assert 'data-taken="0 1"' in shown
    assert 'data-turn="3"' in shown
    assert (dict(workbench.store._kept), list(workbench.store.events)) == store
    assert session.trace.verdicts[0].at(10) == pytest.approx(0.6)


def test_a_passage_that_speaks_against_it_raises_the_score(workbench, session):
    shown = words(without(workbench, session, [3]))
    assert "Without passage 4: 0.60 → becomes 0.70 (+0.10) ✓ above tau 0.50" in shown
    assert "flips" not in shown


def test_nothing_taken_is_no_what_if_and_places_beyond_k_do_not_count(workbench, session):
    assert without(workbench, session, []) == ""
    assert without(workbench, session, [3], k=1) == ""
    assert 'data-taken="0"' in without(workbench, session, [0, 3], k=1)


def test_the_smallest_flip_says_how_sure_it_is(workbench, session):
    shown = show_flip(workbench, session, 0.5, 10, False, KEY)
    assert (
        "Without passage 1, the smallest set that flips this verdict (5 sets scored): 0.60 → becomes 0.20"
        in (words(shown))
    )
    assert 'data-found="1"' in shown
    none = show_flip(workbench, session, 0.95, 10, False, KEY)
    assert "No set of passages short of all flips this verdict (15 sets scored)." in words(none)
    assert 'data-taken=""' in none
    assert "Undo" not in none


def test_a_verdict_of_other_models_is_told_apart(workbench, session):
    trace = session.trace
    old = tuple(Verdict((0.9, 0.9, 0.9)) for _ in trace.verdicts)
    shown = without(workbench, replace(session, trace=trace.grown(verdicts=old)), [0])
    assert "The kept verdict, 0.90, was made with other models" in shown
    assert "other models" not in without(workbench, session, [0])


@pytest.mark.parametrize("taken", [None, 7, "01", [True], [-1], [99], ["0"], [[0]], [0] * 50])
def test_wrong_places_are_refused_in_words(workbench, session, taken):
    refused = without(workbench, session, taken)
    assert 'role="alert"' in refused
    assert 'data-turn="3"' in refused


@pytest.mark.parametrize("event", [{"key": "nobody"}, {"key": None}, {"key": "x" * 5000}, {"typed": "2099"}])
def test_what_is_no_verified_candidate_has_nothing_to_take_away(workbench, session, event):
    refused = without(workbench, session, [0], **event)
    assert 'role="alert"' in refused
    assert len(refused) < 3000


@pytest.mark.parametrize("turn", ["<b>", True, -1, 2**60, None])
def test_an_event_without_a_usable_number_is_answered_all_the_same(workbench, session, turn):
    assert 'data-turn="0"' in without(workbench, session, [0], turn=turn)


def test_without_a_question_or_with_wrong_knobs_it_says_so(workbench, session):
    assert "Ask a question first" in show_whatif(workbench, None, 0.5, 10, False, KEY)
    assert "Ask a question first" in show_flip(workbench, None, 0.5, 10, False, "no mapping")
    assert "tau is" in show_flip(workbench, session, "x", 10, False, KEY)


def evidence_of(session, answer: str, tau: float = 0.5) -> str:
    row = next(row for row in session.rows(()) if row.answer == answer)
    return render_evidence(session.trace, row, VerifierSettings(tau))


def test_the_evidence_offers_each_passage_all_of_a_title_and_the_supporters_of_others(session):
    shown = evidence_of(session, "1995")
    assert re.findall(r'data-away="(\d)"', shown) == ["0", "1", "2", "3"]
    options = dict(re.findall(r'<option value="([\d ]+)">(.*?)</option>', shown))
    assert options == {"2 3": "2010 (2)", "0 1": "Jack (2)"}


def test_a_passage_that_holds_the_candidate_too_is_no_other_answers_supporter(session):
    shown = evidence_of(session, "2012", tau=0.0)
    supporters = dict(re.findall(r'<option value="([\d ]+)">(.*?)</option>', shown))
    places = [p.hit.passage.id for p in session.trace.evidence[-1].passages]
    assert places[0] == "d"
    assert all("0" not in value.split() for value, name in supporters.items() if name.startswith("2010"))


@pytest.mark.parametrize(("coverage", "places"), [("strict", "2 3"), ("official", "3")])
def test_who_supports_another_answer_is_told_by_the_rule_that_the_trace_was_made_with(
    session, coverage, places
):
    evidence = session.trace.evidence[0]
    second = replace(evidence.passages[2], covers=("official",))
    passages = (*evidence.passages[:2], second, *evidence.passages[3:])
    made = {"settings": to_json(Settings().with_values({"evidence.coverage": coverage}))}
    trace = session.trace.grown(evidence=(replace(evidence, passages=passages),), provenance=made)
    row = next(row for row in session.rows(()) if row.answer == "1995")
    shown = render_evidence(trace, row, VerifierSettings(0.5))
    options = dict(re.findall(r'<option value="([\d ]+)">(.*?) \(', shown))
    assert [value for value, name in options.items() if name == "2010"] == [places]


def test_where_nothing_was_verified_nothing_can_be_taken_away(session):
    trace = session.trace.grown(verdicts=(), stage="gathered")
    row = next(row for row in replace(session, trace=trace, places=None).rows(()) if row.answer == "1995")
    shown = render_evidence(trace, row, VerifierSettings(0.5))
    assert "data-away" not in shown
    assert "data-flip" not in shown
