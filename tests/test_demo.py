"""The demo corpus keeps what it promises: its sizes, and every answer literally in a passage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rtv_core.text import covers_any, normalise_answer, same_answer

DEMO = Path(__file__).parents[1] / "assets" / "demo"
Answer = list[str]


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


PASSAGES = read("passages.jsonl")
QUESTIONS = read("questions.jsonl")
COMPLETE = {row["id"]: row for row in read("complete.jsonl")}
TEXTS = [passage["text"] for passage in PASSAGES]


def complete(question: dict[str, Any]) -> list[Answer]:
    return COMPLETE[question["id"]]["answers"]


def partners(gold: Answer, answers: list[Answer]) -> list[Answer]:
    """The complete answers that share a spelling with a gold answer."""
    return [answer for answer in answers if any(same_answer(one, other) for one in gold for other in answer)]


def is_incomplete(question: dict[str, Any]) -> bool:
    return len(question["answers"]) < len(complete(question))


def is_worded_otherwise(question: dict[str, Any]) -> bool:
    """Whether some gold answer lacks the spelling that the passages use, the first of the complete ones."""
    return any(
        normalise_answer(answer[0]) not in map(normalise_answer, gold)
        for gold in question["answers"]
        for answer in partners(gold, complete(question))
    )


def answers_of(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Answer]]:
    return ((row["id"], answer) for row in rows for answer in row["answers"])


def test_there_are_at_least_250_passages_of_80_to_120_words() -> None:
    assert len(PASSAGES) >= 250
    assert [passage["id"] for passage in PASSAGES if not 80 <= len(passage["text"].split()) <= 120] == []


def test_there_are_at_least_50_questions_and_8_of_them_have_no_answer() -> None:
    assert len(QUESTIONS) >= 50
    assert sum(not question["answers"] for question in QUESTIONS) >= 8


def test_the_gold_of_at_least_15_questions_is_incomplete_or_worded_otherwise() -> None:
    assert sum(is_incomplete(question) or is_worded_otherwise(question) for question in QUESTIONS) >= 15
    assert any(map(is_incomplete, QUESTIONS))
    assert any(map(is_worded_otherwise, QUESTIONS))


@pytest.mark.parametrize(("rows", "field"), [(PASSAGES, "id"), (PASSAGES, "text"), (QUESTIONS, "id")])
def test_ids_and_texts_are_unique(rows: list[dict[str, Any]], field: str) -> None:
    assert len({row[field] for row in rows}) == len(rows)


def test_every_passage_has_a_title_and_plain_spacing() -> None:
    assert all(passage["title"].strip() for passage in PASSAGES)
    assert all(text == " ".join(text.split()) for text in TEXTS)


def test_both_files_hold_the_same_questions_in_the_same_words() -> None:
    assert [(row["id"], row["question"]) for row in QUESTIONS] == [
        (row["id"], row["question"]) for row in COMPLETE.values()
    ]


def test_every_complete_answer_stands_in_a_passage() -> None:
    """In one of its spellings, as a run of tokens."""
    missing = [
        (row, answer)
        for row, answer in answers_of(list(COMPLETE.values()))
        if not any(covers_any(text, answer) for text in TEXTS)
    ]
    assert missing == []


def test_the_first_spelling_of_a_complete_answer_is_the_passages_own() -> None:
    missing = [
        (row, answer[0])
        for row, answer in answers_of(list(COMPLETE.values()))
        if not any(covers_any(text, answer[:1]) for text in TEXTS)
    ]
    assert missing == []


def test_every_gold_answer_is_exactly_one_of_the_complete_answers() -> None:
    """Also where it is worded otherwise: the complete answer lists that wording among its spellings."""
    for question in QUESTIONS:
        found = [partners(gold, complete(question)) for gold in question["answers"]]
        assert [len(answers) for answers in found] == [1] * len(found), question["id"]
        firsts = [answers[0][0] for answers in found]
        assert len(set(firsts)) == len(firsts), question["id"]


def test_the_complete_answers_of_a_question_differ_from_one_another() -> None:
    for row in COMPLETE.values():
        for i, answer in enumerate(row["answers"]):
            assert partners(answer, row["answers"]) == [row["answers"][i]], row["id"]


def test_questions_without_an_answer_have_none_in_either_file() -> None:
    for question in QUESTIONS:
        unanswerable = question["kind"] == "unanswerable"
        assert unanswerable == (not question["answers"]) == (not complete(question)), question["id"]


def test_most_questions_with_several_answers_need_several_passages() -> None:
    several = [answers for question in QUESTIONS if len(answers := complete(question)) > 1]
    spread = [
        answers
        for answers in several
        if not any(all(covers_any(text, answer) for answer in answers) for text in TEXTS)
    ]
    assert len(several) >= 25
    assert len(spread) > len(several) / 2


def test_the_sources_are_stated() -> None:
    sources = (DEMO / "SOURCES.md").read_text(encoding="utf-8")
    assert sources.startswith("# ")
    assert f"({len(PASSAGES)} passages)" in sources
    assert f"({len(QUESTIONS)} questions" in sources
