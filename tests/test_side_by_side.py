"""Several systems' answers to one question: aligned, and where each system lost what another found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fakes import CoverGatherer

from rtv_core.baselines.systems import RecallerAlone, scored_trace
from rtv_core.records import Candidate, Hit, Passage, Question, Reading, Source, Span, Trace, Verdict
from rtv_core.settings import Settings
from rtv_core.side_by_side import NOT_READ, Column, align, cells_of, lines_found

TEXTS = (
    "Oslo and Rome are towns; Bern is one too.",
    "Lima lies by the sea, and so does Rio.",
    "Nothing is told of Quito here, but it is named.",
)
HITS = tuple(Hit(Passage(f"p{i}", "", text), 0.5, 0.0, i + 1, None, i + 1) for i, text in enumerate(TEXTS))
GOLD = ("Oslo",), ("Lima", "Ciudad de los Reyes"), ("Quito",), ("Paris",), ("Rio",)


def candidate(answer: str, score: float) -> Candidate:
    hit = next(hit for hit in HITS if answer in hit.passage.text)
    start = hit.passage.text.index(answer)
    source = Source(hit.passage.id, hit.rank, Span(start, start + len(answer), score), 0.9)
    return Candidate(answer, (answer,), score, (source,))


def ours(scores: dict[str, float], gold: Sequence[Sequence[str]] = GOLD) -> Column:
    """Our pipeline's trace, with every passage read and evidence gathered for every candidate."""
    candidates = tuple(candidate(answer, 0.3) for answer in scores)
    trace = Trace(
        question=Question("q", "Which towns?", (tuple(map(tuple, gold)),) if gold else ()),
        hits=HITS,
        readings=tuple(Reading(hit.passage.id, 0.9, ()) for hit in HITS),
        candidates=candidates,
        evidence=tuple(CoverGatherer("strict").gather("Which towns?", candidates, HITS)),
        verdicts=tuple(Verdict((score,) * 3) for score in scores.values()),
        seconds={"retrieve": 0.25, "recall": 1.0},
        stage="verified",
    )
    return Column("recall, then verify", trace, Settings().with_values({"verifier.tau": 0.5}))


def theirs(scores: dict[str, float], read: Sequence[int], gold: Sequence[Sequence[str]] = GOLD) -> Column:
    """A system that reads only the passages at these places, in that order."""
    asked = ours({}, gold).trace
    order = [*(HITS[i] for i in read), *(hit for i, hit in enumerate(HITS) if i not in read)]
    readings = [Reading(hit.passage.id, 0.9, ()) for hit in order[: len(read)]]
    candidates = [candidate(answer, score) for answer, score in scores.items()]
    trace = scored_trace(RecallerAlone(name="other"), asked, order, readings, candidates, 0.5)
    return Column("other", trace, Settings().with_values({"verifier.tau": 0.1}))


def told(columns: Sequence[Column], gold: Sequence[Sequence[str]] = GOLD) -> list[tuple]:
    return [(line.answer, line.gold, *(cell.lost for cell in line.cells)) for line in align(columns, gold)]


def test_the_same_answer_stands_on_one_line_and_each_cell_says_where_it_was_lost() -> None:
    one = ours({"Oslo": 0.9, "Rome": 0.8, "Lima": 0.2})
    two = theirs({"Oslo": 0.4, "Bern": 0.3, "Rome": 0.05}, read=(0,))
    assert told([one, two]) == [
        ("Oslo", True, "predicted", "predicted"),
        ("Rome", False, "predicted", "at or below tau"),
        ("Bern", False, "not recalled", "predicted"),
        ("Lima", True, "at or below tau", NOT_READ),
        ("Paris", True, "not retrieved", "not retrieved"),
        ("Quito", True, "not recalled", NOT_READ),
        ("Rio", True, "not recalled", NOT_READ),
    ]


def test_a_system_that_read_the_passage_lost_the_answer_there() -> None:
    assert told([theirs({"Oslo": 0.4}, read=(1, 0))])[1:] == [
        ("Lima", True, "not recalled"),
        ("Paris", True, "not retrieved"),
        ("Quito", True, NOT_READ),
        ("Rio", True, "not recalled"),
    ]


def test_a_candidate_whose_evidence_does_not_cover_it_is_lost_there_in_our_pipeline_alone() -> None:
    one = ours({"Oslo": 0.1, "Rome": 0.9})
    bare = [CoverGatherer("strict").gather("Which towns?", [c], HITS[1:])[0] for c in one.trace.candidates]
    one = Column(one.name, one.trace.grown(evidence=tuple(bare)), one.settings)
    two = theirs({"Oslo": 0.05, "Rome": 0.6}, read=(0,))
    lost = [cells_of(column, [("Oslo",)])[0].lost for column in (one, two)]
    assert lost == ["not covered", "at or below tau"]


def test_other_spellings_meet_on_the_line_of_the_gold_answer() -> None:
    one = ours({"Oslo": 0.9}, gold=(("Christiania", "Oslo"),))
    (line,) = align([one, theirs({"Oslo": 0.3}, (0,))], (("Christiania", "Oslo"),))
    assert (line.answer, line.finders) == ("Christiania", (True, True))
    assert [cell.candidate.answer for cell in line.cells] == ["Oslo", "Oslo"]
    assert [cell.candidate.p_right for cell in line.cells] == [0.9, 0.3]


def test_the_answer_that_is_given_goes_before_an_equal_one_that_is_not() -> None:
    two = theirs({"Rome": 0.3}, read=(0,))
    assert two.find(["rome", "Roma"]).predicted
    assert two.find(["Madrid"]) is None


def test_groups_go_from_what_all_found_to_what_nobody_did() -> None:
    one, two = ours({"Oslo": 0.9, "Rome": 0.8}), theirs({"Oslo": 0.4, "Bern": 0.3}, read=(0,))
    groups = lines_found(align([one, two], GOLD[:2]))
    assert [(finders, [line.answer for line in lines]) for finders, lines in groups] == [
        ((True, True), ["Oslo"]),
        ((True, False), ["Rome"]),
        ((False, True), ["Bern"]),
        ((False, False), ["Lima"]),
    ]


def test_without_gold_only_answers_that_somebody_gives_are_lines() -> None:
    one = ours({"Oslo": 0.9, "Rome": 0.1}, gold=())
    assert told([one], ()) == [("Oslo", False, "predicted")]
    assert one.f1 is None


def test_a_column_knows_its_f1_seconds_and_tau() -> None:
    one = ours({"Oslo": 0.9, "Rome": 0.8, "Lima": 0.2}, gold=(("Oslo",), ("Lima",)))
    assert one.f1 == pytest.approx(0.5)
    assert one.seconds == pytest.approx(1.25)
    assert theirs({"Oslo": 0.4}, (0,)).seconds == pytest.approx(0.5)
    assert (one.tau, [answer.answer for answer in one.predicted]) == (0.5, ["Oslo", "Rome"])


def test_no_system_has_no_lines_but_gold() -> None:
    assert told([], (("Oslo",),)) == [("Oslo", True)]
