"""Sets that are one JSON object: WebQSP, SQuAD (and Quoref) and MultiSpanQA, unpacked into plain records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rtv_core.datasets.fields import Fields
from rtv_core.datasets.files import Place, Steps

__all__ = ["answer_runs", "is_nested", "joined_words", "nested_records"]

Record = dict[str, Any]

_SPACING = (
    (re.compile(r"`` ?"), '"'),
    (re.compile(r" ?''(?!\w)"), '"'),
    (re.compile(r" ([.,;:?!)\]}%]|'s\b|n't\b|'(?:re|ve|ll|d|m)\b)"), r"\1"),
    (re.compile(r"([(\[{$#]) "), r"\1"),
    (re.compile(r"(?<=\w) ([-–/]) (?=\w)"), r"\1"),
)
"""What to put for what, in this order, where words of a treebank stand with a space between each two."""


def is_nested(record: Any) -> bool:
    """Whether a file's one value is a set as SQuAD, MultiSpanQA or WebQSP has it."""
    if not isinstance(record, dict) or "question" in record:
        return False
    return any(isinstance(record.get(name), list) for name in ("data", "Questions"))


def nested_records(path: str, text: str, whole: Record) -> Iterator[tuple[Steps, Record]]:
    """Each question as a plain record (WebQSP's as it is), with the steps that lead to it.

    A record of SQuAD or MultiSpanQA also has "ctxs": its one context. Raises InputError with file, line and
    field where the layout is another.
    """
    if isinstance(whole.get("Questions"), list):
        for i, record in enumerate(whole["Questions"]):
            yield ("Questions", i), record
        return
    for i, item in enumerate(whole["data"]):
        steps: Steps = ("data", i)
        fields = Fields(Place(path, steps, text), item, "article or question")
        if "paragraphs" in item:
            for inner, record in _article(fields, text, path, steps):
                yield inner, record
        elif "label" in item or isinstance(item.get("question"), list):
            yield steps, _multispanqa(fields)
        else:
            yield steps, item


def answer_runs(words: Sequence[str], labels: Sequence[str]) -> list[tuple[int, int]]:
    """The runs of words [start, end) that B and I labels mark. An I after an O begins one, too."""
    runs: list[tuple[int, int]] = []
    for i, label in enumerate(labels):
        if label == "B" or (label == "I" and (i == 0 or labels[i - 1] == "O")):
            runs.append((i, i + 1))
        elif label == "I":
            runs[-1] = (runs[-1][0], i + 1)
    return runs


def joined_words(words: Sequence[str]) -> str:
    """Words of a treebank as running text: no space before a comma or inside brackets."""
    text = " ".join(words)
    for pattern, put in _SPACING:
        text = pattern.sub(put, text)
    return text


def _multispanqa(fields: Fields) -> Record:
    item = fields.record
    question = fields.texts("question", item.get("question"))
    context = fields.texts("context", item.get("context"))
    record = {"question": joined_words(question), "ctxs": [{"title": "", "text": joined_words(context)}]}
    record |= {"id": item["id"]} if "id" in item else {}
    if "label" not in item:
        return record
    labels = fields.list("label", item["label"])
    for i, label in enumerate(labels):
        if label not in ("B", "I", "O"):
            raise fields.wrong(f"label[{i}]", label, "B, I or O")
    if len(labels) != len(context):
        raise fields.wrong("label", len(labels), f"as long as context, {len(context)}")
    runs = dict.fromkeys(joined_words(context[start:end]) for start, end in answer_runs(context, labels))
    return record | {"answers": [[run] for run in runs]}


def _article(fields: Fields, text: str, path: str, steps: Steps) -> Iterator[tuple[Steps, Record]]:
    title = str(fields.record.get("title") or "").replace("_", " ")
    for i, paragraph in enumerate(fields.list("paragraphs", fields.record["paragraphs"])):
        inside: Steps = (*steps, "paragraphs", i)
        own = Fields(Place(path, inside, text), paragraph, "paragraph")
        context = own.text("context", paragraph.get("context"))
        asked = paragraph.get("qas")
        if not isinstance(asked, list):
            raise own.wrong("qas", asked, "a list of questions")
        for j, item in enumerate(asked):
            place: Steps = (*inside, "qas", j)
            qa = Fields(Place(path, place, text), item)
            record = {k: item[k] for k in ("id", "question") if k in item}
            record["ctxs"] = [{"title": title, "text": context}]
            answers = _texts_of(qa)
            if answers is not None:
                apart = "context_id" in paragraph
                record["answers"] = [[a] for a in answers] if apart or not answers else [list(answers)]
            yield place, record


def _texts_of(qa: Fields) -> tuple[str, ...] | None:
    """The distinct answer texts of a SQuAD question; none if it has no answer, None if that isn't said."""
    answers = qa.record.get("answers")
    if qa.record.get("is_impossible"):
        return ()
    if answers is None:
        return None
    if not isinstance(answers, list):
        raise qa.wrong("answers", answers, "a list of objects with a text")
    for i, answer in enumerate(answers):
        if not isinstance(answer, dict):
            raise qa.wrong(f"answers[{i}]", answer, "an object with a text")
    texts = (qa.text(f"answers[{i}].text", a.get("text")).strip() for i, a in enumerate(answers))
    return tuple(dict.fromkeys(texts))
