"""Spans become candidates."""

from __future__ import annotations

from rtv_core.recall.merge import unite
from rtv_core.records import Hit, Passage, Reading, Span, Wording
from rtv_core.settings import RecallerSettings

SETTINGS = RecallerSettings(relevance=0.5, span=0.2, candidates=10)


def test_spellings_of_one_answer_from_several_passages_are_one_candidate() -> None:
    hits, readings = _read(
        ("on 24 April 2010", 0.9, {"24 April 2010": 0.6}),
        ("on April 24, 2010", 0.7, {"April 24, 2010": 0.8}),
        ("24 April 2010 again", 0.8, {"24 April 2010": 0.3}),
    )
    (candidate,) = unite(hits, readings, SETTINGS)
    assert candidate.answer == "April 24, 2010"
    assert candidate.spellings == ("April 24, 2010", "24 April 2010")
    assert candidate.score == 0.8
    assert [(s.passage_id, s.rank, s.relevance) for s in candidate.sources] == [
        ("p1", 1, 0.9),
        ("p2", 2, 0.7),
        ("p3", 3, 0.8),
    ]


def test_candidates_stand_in_the_order_of_first_appearance() -> None:
    hits, readings = _read(
        ("bee then ant", 0.9, {"bee": 0.3, "ant": 0.9}), ("cat and bee", 0.9, {"cat": 0.5, "bee": 0.8})
    )
    assert [c.answer for c in unite(hits, readings, SETTINGS)] == ["bee", "ant", "cat"]


def test_thresholds_keep_what_reaches_them() -> None:
    hits, readings = _read(
        ("low one", 0.49, {"one": 0.9}), ("two three", 0.5, {"two": 0.2, "three": 0.19}), ("four", 1.0, {})
    )
    assert [c.answer for c in unite(hits, readings, SETTINGS)] == ["two"]


def test_beyond_the_most_the_best_are_kept_in_order_and_ties_go_to_the_first() -> None:
    spans = {"one": 0.3, "two": 0.9, "three": 0.5, "four": 0.5}
    hits, readings = _read((" ".join(spans), 0.9, spans))
    most = RecallerSettings(relevance=0.5, span=0.2, candidates=2)
    assert [c.answer for c in unite(hits, readings, most)] == ["two", "three"]


def test_a_span_of_an_early_relevant_passage_is_kept_before_a_better_one_of_a_late_or_doubtful_one() -> None:
    hits, readings = _read(
        ("one here", 0.9, {"one": 0.5}), ("two here", 0.51, {"two": 0.6}), ("three here", 0.9, {"three": 0.6})
    )
    for most, kept in ((1, ["one"]), (2, ["one", "three"])):
        settings = RecallerSettings(relevance=0.5, span=0.2, candidates=most)
        assert [c.answer for c in unite(hits, readings, settings)] == kept


def test_an_answer_has_single_spaces_and_something_visible() -> None:
    text = "New\n  York ..."
    hits, _ = _read((text, 1.0, {}))
    readings = [Reading("p1", 1.0, (Span(0, 10, 0.5), Span(3, 6, 0.9), Span(4, 4, 0.9)))]
    assert [c.answer for c in unite(hits, readings, SETTINGS)] == ["New York"]


def test_passages_not_read_yet_give_nothing() -> None:
    hits, readings = _read(("one", 0.9, {"one": 0.9}), ("two", 0.9, {"two": 0.9}))
    assert [c.answer for c in unite(hits, readings[:1], SETTINGS)] == ["one"]
    assert unite(hits, [], SETTINGS) == unite([], [], SETTINGS) == ()


def _read(*passages: tuple[str, float, dict[str, float]]) -> tuple[list[Hit], list[Reading]]:
    hits, readings = [], []
    for rank, (text, relevance, answers) in enumerate(passages, start=1):
        hits.append(Hit(Passage(f"p{rank}", "", text), 0.0, 0.0, rank, None, rank))
        spans = tuple(Span(text.index(a), text.index(a) + len(a), score) for a, score in answers.items())
        readings.append(Reading(f"p{rank}", relevance, spans))
    return hits, readings


def test_an_answer_without_a_place_joins_its_other_spellings_and_has_a_source_of_no_length() -> None:
    passages = (Passage("p1", "Merin", "It is a town."), Passage("p2", "", "They met in Merin."))
    hits = [Hit(passage, 0.5, 0.0, i, None, i) for i, passage in enumerate(passages, 1)]
    readings = [
        Reading("p1", 0.9, (), (Wording("the Merin", 0.4), Wording("low", 0.1))),
        Reading("p2", 0.8, (Span(12, 17, 0.7),)),
    ]
    (candidate,) = unite(hits, readings, SETTINGS)
    assert (candidate.answer, candidate.spellings) == ("Merin", ("Merin", "the Merin"))
    assert [(s.passage_id, s.span.end - s.span.start) for s in candidate.sources] == [("p1", 0), ("p2", 5)]
