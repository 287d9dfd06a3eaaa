"""The whole method with stages that need no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rtv_core.errors import InputError
from rtv_core.pipeline import Pipeline, check_question
from rtv_core.protocols import Gatherer, Recaller, Retriever, Verifier
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Passage,
    Question,
    Reading,
    Span,
    Verdict,
)
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.thresholds import answers, judge
from rtv_core.wire import to_json


class NumberedPassages:
    """Passages "answer 1", "answer 2", ...: as many as there are, or as are asked for."""

    def __init__(self, count: int) -> None:
        self.count = count

    def search(self, questions: Sequence[str], k: int) -> list[list[Hit]]:
        ranks = range(1, min(k, self.count) + 1)
        hits = [Hit(Passage(f"p{r}", "", f"answer {r}"), 1 / r, 0.0, r, None, r) for r in ranks]
        return [hits for _ in questions]


class WholePassageRecaller:
    def __init__(self) -> None:
        self.questions: list[str] = []

    def recall(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        self.questions.append(question)
        return [Reading(h.passage.id, 0.9, (Span(0, len(h.passage.text), 0.5),)) for h in hits]


class OwnPassageGatherer:
    def gather(self, question: str, candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Evidence]:
        by_id = {hit.passage.id: hit for hit in hits}
        return [
            Evidence(
                candidate,
                f"{question} {candidate.answer}",
                (EvidencePassage(by_id[candidate.sources[0].passage_id], ("strict",), 0.5, True),),
            )
            for candidate in candidates
        ]


class EvenNumbersAreRight:
    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        even = [int(e.candidate.answer.split()[1]) % 2 == 0 for e in evidence]
        return [Verdict((0.9 if right else 0.1,) * 3, (1.0,)) for right in even]


def test_the_fakes_have_the_protocols() -> None:
    pipeline = _pipeline()
    assert isinstance(pipeline.retriever, Retriever)
    assert isinstance(pipeline.recaller, Recaller)
    assert isinstance(pipeline.gatherer, Gatherer)
    assert isinstance(pipeline.verifier, Verifier)


def test_a_question_is_answered_through_all_stages() -> None:
    trace = _pipeline(passages=5).ask("Which?")
    assert trace.complete
    assert [c.answer for c in trace.candidates] == [f"answer {i}" for i in range(1, 6)]
    assert [e.candidate for e in trace.evidence] == list(trace.candidates)
    assert len(trace.readings) == len(trace.hits) == len(trace.verdicts) == 5
    assert answers(judge(trace, VerifierSettings(tau=0.1))) == ["answer 2", "answer 4"]
    assert set(trace.seconds) == {"retrieve", "recall", "gather", "verify"}
    assert all(seconds >= 0 for seconds in trace.seconds.values())
    assert dict(trace.provenance) == {"model": "fake"}


def test_the_trace_grows_stage_by_stage_and_only_grows() -> None:
    steps = list(_pipeline(passages=45).steps("Which?"))
    assert [
        (t.stage, len(t.hits), len(t.readings), len(t.candidates), len(t.evidence), len(t.verdicts))
        for t in steps
    ] == [
        ("asked", 0, 0, 0, 0, 0),
        ("retrieved", 45, 0, 0, 0, 0),
        ("retrieved", 45, 20, 20, 0, 0),
        ("retrieved", 45, 40, 40, 0, 0),
        ("retrieved", 45, 45, 45, 0, 0),
        ("gathered", 45, 45, 45, 45, 0),
        ("gathered", 45, 45, 45, 45, 20),
        ("gathered", 45, 45, 45, 45, 40),
        ("verified", 45, 45, 45, 45, 45),
    ]


def test_a_stopped_run_keeps_what_it_has_and_does_no_more_work() -> None:
    pipeline = _pipeline(passages=45)
    steps = pipeline.steps("Which?")
    trace = [next(steps) for _ in range(3)][-1]
    steps.close()
    assert (len(trace.hits), len(trace.readings), trace.complete) == (45, 20, False)
    assert len(pipeline.recaller.questions) == 1


def test_a_stage_is_charged_its_own_seconds_and_not_the_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("rtv_core.pipeline.time.perf_counter", lambda: clock[0])

    class TwoSecondRecaller(WholePassageRecaller):
        def recall(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
            clock[0] += 2
            return super().recall(question, hits)

    seconds = []
    for trace in replace(_pipeline(passages=45), recaller=TwoSecondRecaller()).steps("Which?"):
        seconds.append(dict(trace.seconds))
        clock[0] += 100
    assert seconds[0] == {}
    assert [s.get("recall") for s in seconds[1:5]] == [None, 2, 4, 6]
    assert seconds[-1] == {"retrieve": 0, "recall": 6, "gather": 0, "verify": 0}


def test_an_empty_corpus_gives_a_whole_trace_without_answers() -> None:
    trace = _pipeline(passages=0).ask("Which?")
    assert trace.complete
    assert trace.candidates == trace.verdicts == ()


def test_the_settings_say_how_many_passages_and_candidates() -> None:
    settings = Settings().with_values({"retriever.passages": 30, "recaller.candidates": 7})
    trace = _pipeline(passages=45, settings=settings).ask("Which?")
    assert (len(trace.hits), len(trace.candidates), len(trace.verdicts)) == (30, 7, 7)


def test_the_same_question_gives_the_same_trace_but_for_the_time() -> None:
    one, two = (_pipeline().ask("Which?").grown(seconds={}) for _ in range(2))
    assert to_json(one) == to_json(two)


def test_gold_travels_with_the_question_but_not_into_the_stages() -> None:
    pipeline = _pipeline()
    question = Question("7", " Which\x00 one? ", ((("answer 2",),),))
    assert pipeline.ask(question).question == question
    assert set(pipeline.recaller.questions) == {"Which one?"}


@pytest.mark.parametrize("text", ["", " \n\t", "???", "\x00", "\ud800"])
def test_an_empty_question_is_refused_before_any_work(text: str) -> None:
    pipeline = _pipeline()
    with pytest.raises(InputError, match="The question is empty"):
        pipeline.ask(text)
    assert pipeline.recaller.questions == []


def test_a_question_that_is_too_long_is_refused() -> None:
    assert len(check_question("x" * 1000)) == 1000
    with pytest.raises(InputError, match="has 10,000 characters; the most is 1,000"):
        check_question("x" * 10_000)


def test_a_question_loses_control_characters_and_outer_space_only() -> None:
    assert check_question("\tWho\x07 sang “É”\r\n at 中?\n") == "Who sang “É” at 中?"


def _pipeline(passages: int = 5, settings: Settings | None = None) -> Pipeline:
    return Pipeline(
        NumberedPassages(passages),
        WholePassageRecaller(),
        OwnPassageGatherer(),
        EvenNumbersAreRight(),
        settings or Settings(),
        {"model": "fake"},
    )
