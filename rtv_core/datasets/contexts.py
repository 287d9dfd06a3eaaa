"""Questions with the passages that come with them: DPR training and FiD files, SQuAD, MultiSpanQA.

    DPR training {"question", "answers", "positive_ctxs": [{"title", "text", "passage_id"}, ...],
                 "negative_ctxs": [...], "hard_negative_ctxs": [...]}
    FiD          {"question", "answers", "ctxs": [{"id", "title", "text"}, ...]}, best passage first

A passage without an id gets one from its words.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtv_core.datasets.fields import Fields
from rtv_core.datasets.questions import read_questions
from rtv_core.records import Passage, Question

__all__ = ["QuestionContexts", "load_contexts"]

ID_FIELDS = ("id", "passage_id", "psg_id")


@dataclass(frozen=True, slots=True)
class QuestionContexts:
    """A question and its passages.

    `retrieved` are those of "ctxs", in their order; the others are DPR's, which says of each whether it
    answers the question.
    """

    question: Question
    retrieved: tuple[Passage, ...] = ()
    positives: tuple[Passage, ...] = ()
    negatives: tuple[Passage, ...] = ()
    hard_negatives: tuple[Passage, ...] = ()


def load_contexts(path: Path | str) -> list[QuestionContexts]:
    """The questions of a file with their passages, in its order.

    Raises InputError with the file, the line and the field; also for a file that comes without passages.
    """
    found = []
    for question, fields in read_questions(path):
        if "ctxs" not in fields.record and "positive_ctxs" not in fields.record:
            raise fields.wrong("ctxs", None, "there, or positive_ctxs: a list of passages")
        names = ("ctxs", "positive_ctxs", "negative_ctxs", "hard_negative_ctxs")
        found.append(QuestionContexts(question, *(_passages(fields, name) for name in names)))
    return found


def _passages(fields: Fields, name: str) -> tuple[Passage, ...]:
    given = fields.record.get(name, [])
    if not isinstance(given, list):
        raise fields.wrong(name, given, "a list of passages")
    return tuple(_passage(fields, f"{name}[{i}]", passage) for i, passage in enumerate(given))


def _passage(fields: Fields, field: str, passage: Any) -> Passage:
    if not isinstance(passage, dict):
        raise fields.wrong(field, passage, "an object with title and text")
    title = passage.get("title") or ""
    if not isinstance(title, str):
        raise fields.wrong(f"{field}.title", title, "a text")
    text = fields.text(f"{field}.text", passage.get("text"))
    id_ = next((passage[name] for name in ID_FIELDS if passage.get(name) not in (None, "")), "")
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise fields.wrong(f"{field}.id", id_, "a text or a whole number")
    return Passage(str(id_) or _id(title, text), title, text)


def _id(title: str, text: str) -> str:
    content = f"{title}\n{text}".encode(errors="surrogatepass")
    return hashlib.sha256(content).hexdigest()[:16]
