"""Questions with gold answers, read from the field's formats; the content says which one it is.

    AmbigQA      {"id", "question", "annotations": [{"type": "singleAnswer", "answer": [spelling, ...]} or
                 {"type": "multipleQAs", "qaPairs": [{"answer": [spelling, ...]}, ...]}]}; MultiSpanQA too
    NQ-open      {"question", "answer": [spelling, ...]}; one answer
    NQ oracle    {"question", "answers": [spelling, ...]}; one answer
    plain        {"id", "question", "answers": [[spelling, ...], ...]}; no "answers": gold unknown, []: none

A file is a JSON array of such records or has one a line (JSONL), UTF-8, gzipped or not. A record without an
id gets its number in the file. Other fields are ignored.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtv_core.errors import InputError
from rtv_core.records import Question

__all__ = ["load_questions"]

GZIP = b"\x1f\x8b"

Spellings = tuple[str, ...]
Annotation = tuple[Spellings, ...]


def load_questions(path: Path | str) -> list[Question]:
    """The questions of a file, in its order.

    Raises InputError with the file, the line (or the entry of an array) and the field.
    """
    path = Path(path)
    questions: dict[str, Question] = {}
    for number, (place, record) in enumerate(_records(path), start=1):
        question = _Record(f"{path}, {place}", record).question(str(number))
        if question.id in questions:
            raise InputError(f"{path}, {place}: the id {question.id!r} occurs before. Give each its own.")
        questions[question.id] = question
    if not questions:
        raise InputError(f"{path} holds no question. Give a JSON array or one JSON object a line.")
    return list(questions.values())


def _records(path: Path) -> Iterator[tuple[str, Any]]:
    text = _text(path)
    if text.lstrip().startswith("["):
        for number, record in enumerate(_parse(text, str(path), 1), start=1):
            yield f"entry {number}", record
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _parse(line, str(path), number)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}. Check the name.") from error
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{path} is not a whole gzip file: {error}. Fetch it again.") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8. Save the file as UTF-8.") from error


def _parse(text: str, name: str, first_line: int) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        line = first_line + getattr(error, "lineno", 1) - 1
        raise InputError(f"{name}, line {line}: not valid JSON: {error}. Mend or drop it.") from error


class _Record:
    """One record and the place it stands at, for messages."""

    def __init__(self, place: str, record: Any) -> None:
        self._place = place
        if not isinstance(record, dict):
            raise InputError(f"{place}: {_shown(record)} is no question; write a JSON object.")
        self._record = record

    def question(self, number: str) -> Question:
        text = self._record.get("question")
        if not isinstance(text, str) or not text.strip():
            raise self._wrong("question", text, "a text that is not empty")
        id_ = self._record.get("id", number)
        if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
            raise self._wrong("id", id_, "a text or a whole number")
        return Question(str(id_), text.strip(), self._answers())

    def _answers(self) -> tuple[Annotation, ...]:
        if "answers" in self._record:
            return (self._plain("answers", self._record["answers"]),)
        if "annotations" in self._record:
            annotations = self._list("annotations", self._record["annotations"])
            return tuple(self._annotation(f"annotations[{i}]", a) for i, a in enumerate(annotations))
        if "answer" in self._record:
            return ((self._spellings("answer", self._record["answer"]),),)
        return ()

    def _plain(self, field: str, answers: Any) -> Annotation:
        if answers == []:
            return ()
        if all(isinstance(answer, str) for answer in self._list(field, answers)):
            return (self._spellings(field, answers),)
        return tuple(self._spellings(f"{field}[{i}]", answer) for i, answer in enumerate(answers))

    def _annotation(self, field: str, annotation: Any) -> Annotation:
        if not isinstance(annotation, dict):
            raise self._wrong(field, annotation, "an object with a type")
        kind = annotation.get("type")
        if kind == "singleAnswer":
            return (self._spellings(f"{field}.answer", annotation.get("answer")),)
        if kind != "multipleQAs":
            raise self._wrong(f"{field}.type", kind, "singleAnswer or multipleQAs")
        answers = []
        for i, pair in enumerate(self._list(f"{field}.qaPairs", annotation.get("qaPairs"))):
            if not isinstance(pair, dict):
                raise self._wrong(f"{field}.qaPairs[{i}]", pair, "an object with an answer")
            answers.append(self._spellings(f"{field}.qaPairs[{i}].answer", pair.get("answer")))
        return tuple(answers)

    def _spellings(self, field: str, spellings: Any) -> Spellings:
        for i, spelling in enumerate(self._list(field, spellings)):
            if not isinstance(spelling, str) or not spelling.strip():
                raise self._wrong(f"{field}[{i}]", spelling, "a text that is not empty")
        return tuple(spellings)

    def _list(self, field: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise self._wrong(field, value, "a list that is not empty")
        return value

    def _wrong(self, field: str, value: Any, wanted: str) -> InputError:
        found = "is missing" if value is None else f"is {_shown(value)}"
        return InputError(f"{self._place}: field {field!r} {found}; it must be {wanted}.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
