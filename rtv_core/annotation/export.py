"""Corrected gold as a file of AmbigQA's format, which scoring scripts take like the original."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rtv_core.records import Question

__all__ = ["ambigqa_file", "corrected_ambigqa", "fits_ambigqa"]

Added = Mapping[str, Sequence[tuple[str, str]]]
"""By question id: each answer that verdicts added, and the gold answer that it spells ("": a new answer)."""


def corrected_ambigqa(questions: Iterable[Question], added: Added | None = None) -> Iterator[dict[str, Any]]:
    """One record a question that `fits_ambigqa`; `datasets.load_questions` gives the same answers back.

    An annotation of one answer is a "singleAnswer", of several "multipleQAs". The questions of its pairs are
    the question itself: the rewritten ones are no part of a run. `added` is written as a further field,
    `[{"answer", "gold"}, ...]`, which scoring scripts leave unread.
    """
    for question in questions:
        if fits_ambigqa(question):
            record = {
                "id": question.id,
                "question": question.text,
                "annotations": [_annotation(question.text, answers) for answers in question.answers],
            }
            pairs = (added or {}).get(question.id, ())
            yield record | ({"added": [{"answer": a, "gold": g} for a, g in pairs]} if pairs else {})


def fits_ambigqa(question: Question) -> bool:
    """Whether the format can say the gold: it can't say that there is none, nor that it isn't known."""
    return bool(question.answers) and all(
        annotation and all(answer and all(s.strip() for s in answer) for answer in annotation)
        for annotation in question.answers
    )


def ambigqa_file(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The text of a JSON array, a record a line, with the line ends."""
    before = "[\n"
    for record in records:
        yield before + json.dumps(record, ensure_ascii=False)
        before = ",\n"
    yield "\n]\n" if before == ",\n" else "[]\n"


def _annotation(asked: str, answers: Sequence[Sequence[str]]) -> dict[str, Any]:
    if len(answers) == 1:
        return {"type": "singleAnswer", "answer": list(answers[0])}
    pairs = [{"question": asked, "answer": list(answer)} for answer in answers]
    return {"type": "multipleQAs", "qaPairs": pairs}
