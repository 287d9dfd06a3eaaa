import math

import numpy as np
import pytest
import torch
from tiny import PASSAGES, QUESTIONS, hits_of, tiny_reader

from rtv_core.protocols import Recaller
from rtv_core.reading.form import Pair
from rtv_core.recall.extractive import (
    LOWEST_LOGIT,
    SPANS_A_PASSAGE,
    ExtractiveRecaller,
    propose_spans,
)
from rtv_core.records import Passage, Span

LENGTHS = 5
NOTHING = LOWEST_LOGIT - 5


def word_pair(text: str, before: int = 3) -> Pair:
    """A pair whose text tokens are the words of `text`, after `before` other tokens."""
    offsets, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        offsets.append((start, at))
    return Pair((0,) * (before + len(offsets) + 1), before - 1, before, tuple(offsets))


def proposed(
    text: str, logits: dict[str, float], outside: float = NOTHING, before: int = 3
) -> list[tuple[str, float]]:
    """What is proposed when these parts of the text have these logits, as (text, score)."""
    pair = word_pair(text, before)
    scores = np.full((len(pair.ids), LENGTHS), outside)
    scores[before : before + len(pair.offsets)] = NOTHING
    for part, logit in logits.items():
        first, last = pair.tokens_of(text.index(part), text.index(part) + len(part))
        scores[first, last - first] = logit
    spans = propose_spans(scores, pair, Passage("1", "", text))
    return [(text[span.start : span.end], span.score) for span in spans]


def probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def test_spans_come_best_first_with_the_probability_of_their_logit():
    found = proposed("red green blue white", {"green": 0.5, "blue white": 2.0, "red": -1.0})
    assert [text for text, _ in found] == ["blue white", "green", "red"]
    assert [score for _, score in found] == pytest.approx([probability(x) for x in (2.0, 0.5, -1.0)])


def test_a_span_ends_before_the_marks_behind_it_and_keeps_the_better_score():
    found = proposed("red green blue. white", {"blue.": 0.5, "green blue.": 0.2})
    assert [text for text, _ in found] == ["blue", "green blue"]
    pair, passage = Pair((0,) * 6, 2, 3, ((0, 4), (4, 5))), Passage("1", "", "blue,")
    scores = np.full((6, LENGTHS), NOTHING)
    scores[3, 0], scores[3, 1] = 0.1, 0.9
    (span,) = propose_spans(scores, pair, passage)
    assert (span.start, span.end, span.score) == (0, 4, pytest.approx(probability(0.9)))


def test_no_span_at_or_under_the_floor_is_proposed():
    logits = {"red": LOWEST_LOGIT, "green": LOWEST_LOGIT + 0.01, "blue": LOWEST_LOGIT - 1}
    assert [text for text, _ in proposed("red green blue", logits)] == ["green"]
    assert proposed("red green blue", {}) == []


def test_of_many_spans_only_the_best_are_proposed():
    words = [f"w{i}" for i in range(10, SPANS_A_PASSAGE + 14)]
    found = proposed(" ".join(words), {word: i / 10 for i, word in enumerate(words)})
    assert [text for text, _ in found] == words[:3:-1]


def test_equal_spans_come_in_the_order_of_the_text():
    found = proposed("d c b a", dict.fromkeys("abcd", 1.0))
    assert [text for text, _ in found] == ["d", "c", "b", "a"]


def test_the_parts_of_a_list_are_proposed_with_the_score_of_the_whole():
    found = proposed("It has Ilo, Brae and Sef today", {"Ilo, Brae and Sef": 1.5})
    assert dict(found) == pytest.approx(
        {text: probability(1.5) for text in ("Ilo, Brae and Sef", "Ilo", "Brae", "Sef")}
    )


def test_a_part_keeps_its_own_score_where_that_is_better_and_is_lifted_where_it_is_not():
    found = proposed("It has Ilo and Brae today", {"Ilo and Brae": 1.0, "Ilo": 2.0, "Brae": -2.0})
    assert found == [
        ("Ilo", pytest.approx(probability(2.0))),
        ("Ilo and Brae", pytest.approx(probability(1.0))),
        ("Brae", pytest.approx(probability(1.0))),
    ]


def test_no_span_begins_in_question_or_title_or_ends_after_the_text():
    text = "red green"
    pair = word_pair(text)
    scores = np.full((len(pair.ids), LENGTHS), 5.0)  # whatever is allowed would be proposed
    spans = propose_spans(scores, pair, Passage("1", "", text))
    assert sorted((span.start, span.end) for span in spans) == [(0, 3), (0, 9), (4, 9)]
    assert proposed("red green", {"red": 1.0}, outside=9.0)[0][0] == "red"


def test_a_passage_without_text_gives_no_span():
    pair = Pair((1, 2, 3), 2, 2, ())
    assert propose_spans(np.full((3, LENGTHS), 5.0), pair, Passage("1", "", "")) == ()


def test_proposing_leaves_the_scores_as_they_were():
    text = "red green"
    pair = word_pair(text)
    scores = np.full((len(pair.ids), LENGTHS), 5.0)
    propose_spans(scores, pair, Passage("1", "", text))
    assert (scores == 5.0).all()


# The recaller over a network


@pytest.fixture(scope="module")
def reader():
    reader = tiny_reader(seed=3)
    with torch.no_grad():  # untrained logits lie near 0: spread them
        reader.network.spans.project.weight *= 4
    return reader


def test_there_is_one_reading_a_hit_in_order(reader):
    hits = hits_of(PASSAGES[::-1])
    recaller = ExtractiveRecaller(reader)
    assert isinstance(recaller, Recaller)
    readings = recaller.recall(QUESTIONS[0], hits)
    assert [reading.passage_id for reading in readings] == [hit.passage.id for hit in hits]
    assert recaller.recall(QUESTIONS[0], []) == []


def test_a_reading_is_what_the_heads_say_of_the_states(reader):
    hit = hits_of(PASSAGES[:1])[0]
    (reading,) = ExtractiveRecaller(reader).recall(QUESTIONS[0], [hit])
    (states,) = reader.read(QUESTIONS[0], [hit.passage])
    with torch.inference_mode():
        relevance = reader.network.relevance(states.hidden[0]).sigmoid().item()
        best: tuple[float, Span] | None = None
        for i, (start, _) in enumerate(states.pair.offsets):
            for distance, (_, end) in enumerate(states.pair.offsets[i : i + 6]):
                at = states.pair.text_at + i
                score = reader.network.spans.score(
                    states.hidden[at][None], states.hidden[at + distance][None], torch.tensor([distance])
                ).item()
                if best is None or score > best[0]:
                    best = (score, Span(start, end, probability(score)))
    assert reading.relevance == pytest.approx(relevance, abs=1e-6)
    # The parts of a list share its score.
    top = {(s.start, s.end) for s in reading.spans if s.score == reading.spans[0].score}
    assert (best[1].start, best[1].end) in top
    assert reading.spans[0].score == pytest.approx(best[1].score, abs=1e-5)


def test_spans_are_characters_of_the_text_best_first(reader):
    for hit, reading in zip(
        hits_of(PASSAGES),
        ExtractiveRecaller(reader).recall(QUESTIONS[2], hits_of(PASSAGES)),
        strict=True,
    ):
        assert reading.spans
        assert [s.score for s in reading.spans] == sorted((s.score for s in reading.spans), reverse=True)
        assert len({(s.start, s.end) for s in reading.spans}) == len(reading.spans)
        for span in reading.spans:
            assert 0 <= span.start < span.end <= len(hit.passage.text)
            assert 0 < span.score < 1


def test_a_passage_is_read_alone_whatever_is_read_with_it(reader):
    hits = hits_of(PASSAGES)
    together = ExtractiveRecaller(reader).recall(QUESTIONS[1], hits)
    for hit, reading in zip(hits, together, strict=True):
        fresh = tiny_reader(seed=3)
        fresh.network.load_state_dict(reader.network.state_dict())
        (alone,) = ExtractiveRecaller(fresh).recall(QUESTIONS[1], [hit])
        assert alone.relevance == pytest.approx(reading.relevance, abs=1e-5)
        assert {(s.start, s.end): s.score for s in alone.spans} == pytest.approx(
            {(s.start, s.end): s.score for s in reading.spans}, abs=1e-5
        )


def test_asked_again_a_recaller_says_exactly_the_same(reader):
    hits = hits_of(PASSAGES)
    recaller = ExtractiveRecaller(reader)
    assert recaller.recall(QUESTIONS[3], hits) == recaller.recall(QUESTIONS[3], hits)
