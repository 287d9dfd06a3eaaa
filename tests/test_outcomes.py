"""Where each gold answer was lost, stage by stage, and what counts as an answer that was given."""

from __future__ import annotations

import pytest

from rtv_core.analysis.curves import at_tau
from rtv_core.outcomes import given_outcome, outcome
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Passage,
    Question,
    RunAnswer,
    RunGold,
    RunQuestion,
    Source,
    Span,
    Trace,
    Verdict,
)
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.thresholds import answers, judge

TEXTS = ("Rome and Oslo.", "Lima, once called Lima Town.", "Beyonce sang in Bern.")
HITS = tuple(Hit(Passage(f"p{i}", "", text), 0.5, 0.0, i, None, i) for i, text in enumerate(TEXTS, 1))
SETTINGS = Settings().with_values({"verifier.tau": 0.5})


def test_each_gold_answer_is_lost_at_the_first_stage_that_let_it_go() -> None:
    trace = _trace(
        ["Rome", "Lima", "Bern"], scores=[0.9, 0.5, 0.2], gold=["Rome", "Lima", "Bern", "Oslo", "Paris"]
    )
    uncovered = Evidence(trace.candidates[2], "", (EvidencePassage(HITS[0], (), 0.1, False),))
    trace = trace.grown(evidence=(*trace.evidence[:2], uncovered))
    assert [(gold.answer, gold.lost) for gold in outcome(trace, SETTINGS).gold] == [
        ("Rome", "predicted"),
        ("Lima", "at or below tau"),
        ("Bern", "not covered"),
        ("Oslo", "not recalled"),
        ("Paris", "not retrieved"),
    ]


def test_coverage_counts_only_the_passages_behind_the_score_and_the_rule_in_use() -> None:
    trace = _trace(["Lima"], scores=[0.1], gold=["Lima"])
    first = EvidencePassage(HITS[0], (), 0.9, False)
    second = EvidencePassage(HITS[1], ("official",), 0.8, True)
    trace = trace.grown(evidence=(Evidence(trace.candidates[0], "", (first, second)),))
    for values, lost in (
        ({"evidence.coverage": "official", "verifier.k": 5}, "at or below tau"),
        ({"evidence.coverage": "official", "verifier.k": 1}, "not covered"),
        ({"evidence.coverage": "strict", "verifier.k": 5}, "not covered"),
    ):
        settings = Settings().with_values({"verifier.single_answer": True, "verifier.tau": 0.5} | values)
        rejected = trace.grown(
            candidates=(*trace.candidates, Candidate("Rome", ("Rome",), 0.5, ())),
            evidence=(*trace.evidence, Evidence(Candidate("Rome", ("Rome",), 0.5, ()), "", ())),
            verdicts=(*trace.verdicts, Verdict((0.9, 0.9, 0.9))),
        )
        assert outcome(rejected, settings).gold[0].lost == lost, values


def test_answers_come_best_first_with_score_gold_and_what_repeats() -> None:
    trace = _trace(["Oslo", "Rome and Oslo", "Rome"], scores=[0.3, 0.9, 0.7], gold=["Rome", "Oslo"])
    assert outcome(trace, SETTINGS).answers == (
        RunAnswer("Rome and Oslo", ("Rome and Oslo",), 0.9, True, ""),
        RunAnswer("Rome", ("Rome",), 0.7, False, "Rome", repeats=True),
        RunAnswer("Oslo", ("Oslo",), 0.3, False, "Oslo", repeats=True),
    )


def test_a_repeat_is_one_under_any_tau() -> None:
    trace = _trace(["Oslo", "Rome and Oslo", "Rome"], scores=[0.3, 0.9, 0.7], gold=["Rome", "Oslo"])
    for tau in (0.1, 0.5, 0.8, 0.95):
        settings = SETTINGS.with_values({"verifier.tau": tau})
        assert [answer.repeats for answer in outcome(trace, settings).answers] == [False, True, True]
    lower = _trace(["Bern", "Rome and Oslo", "Rome"], scores=[0.9, 0.4, 0.3], gold=["Rome"])
    question = RunQuestion("run", 0, lower.question, "trace", outcome(lower, SETTINGS).answers, ())
    assert at_tau(question, 0.1) == answers(judge(lower, VerifierSettings(tau=0.1)))
    assert at_tau(question, 0.1) == ["Bern", "Rome and Oslo"]


def test_an_answer_in_other_letters_is_given_though_the_measures_count_it_as_wrong() -> None:
    trace = _trace(["Beyonce", "Bern"], scores=[0.9, 0.1], gold=["Beyoncé"])
    found = outcome(trace, SETTINGS)
    assert [(a.predicted, a.gold) for a in found.answers] == [(True, ""), (False, "")]
    assert found.gold == (RunGold("Beyoncé", ("Beyoncé",), "predicted"),)
    rejected = outcome(_trace(["Beyonce", "Bern"], scores=[0.1, 0.9], gold=["Beyoncé"]), SETTINGS)
    assert [(a.answer, a.gold) for a in rejected.answers] == [("Bern", ""), ("Beyonce", "Beyoncé")]
    assert rejected.gold[0].lost == "at or below tau"


def test_the_annotation_of_best_f1_is_used_then_the_one_best_recalled() -> None:
    rome_and_paris, oslo, lima = (("Rome",), ("Paris",)), (("Oslo",),), (("Lima",), ("Bern",))
    trace = _trace(["Oslo", "Lima"], scores=[0.9, 0.1], annotations=(rome_and_paris, oslo, lima))
    assert [gold.answer for gold in outcome(trace, SETTINGS).gold] == ["Oslo"]
    trace = _trace(["Beyonce", "Lima"], scores=[0.9, 0.1], annotations=(rome_and_paris, oslo, lima))
    assert [gold.answer for gold in outcome(trace, SETTINGS).gold] == ["Lima", "Bern"]


@pytest.mark.parametrize("annotations", [(), ((),)])
def test_a_question_without_gold_loses_nothing(annotations: tuple) -> None:
    found = outcome(_trace(["Rome"], scores=[0.9], annotations=annotations), SETTINGS)
    assert (found.gold, found.answers[0].gold) == ((), "")


def test_a_question_on_which_nothing_was_recalled_has_no_answers() -> None:
    found = outcome(_trace([], scores=[], gold=["Rome", "Paris"]), SETTINGS)
    assert found.answers == ()
    assert [gold.lost for gold in found.gold] == ["not recalled", "not retrieved"]


def test_of_another_systems_answers_only_the_rejected_ones_say_more_than_not_predicted() -> None:
    question = Question("q", "Which?", ((("Rome",), ("Oslo", "Christiania"), ("Lima",)),))
    given = [
        RunAnswer("rome", ("rome",), 0.9, True, ""),
        RunAnswer("christiania", ("christiania",), 0.2, False, ""),
    ]
    found = given_outcome(given, question)
    assert [answer.gold for answer in found.answers] == ["Rome", "Oslo"]
    assert [gold.lost for gold in found.gold] == ["predicted", "at or below tau", "not predicted"]


def _trace(
    answers: list[str], scores: list[float], gold: list[str] | None = None, annotations: tuple | None = None
) -> Trace:
    """A finished trace over `HITS`, each candidate with every passage that holds it as its evidence."""
    if annotations is None:
        annotations = (tuple((answer,) for answer in gold or ()),)
    candidates, evidence = [], []
    for answer in answers:
        holding = [hit for hit in HITS if answer in hit.passage.text]
        starts = [hit.passage.text.index(answer) for hit in holding]
        sources = [
            Source(hit.passage.id, hit.rank, Span(start, start + len(answer), 0.5), 0.9)
            for hit, start in zip(holding, starts, strict=True)
        ]
        candidate = Candidate(answer, (answer,), 0.5, tuple(sources))
        candidates.append(candidate)
        covering = [EvidencePassage(hit, ("strict", "official"), 0.5, True) for hit in holding]
        evidence.append(Evidence(candidate, "", tuple(covering)))
    return Trace(
        Question("q", "Which?", annotations),
        hits=HITS,
        candidates=tuple(candidates),
        evidence=tuple(evidence),
        verdicts=tuple(Verdict((score,) * 3) for score in scores),
        stage="verified",
    )
