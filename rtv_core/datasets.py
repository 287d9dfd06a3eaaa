"""Questions with gold answers, read from the field's formats; the content says which one it is.

    AmbigQA      {"id", "question", "annotations": [{"type": "singleAnswer", "answer": [spelling, ...]} or
                 {"type": "multipleQAs", "qaPairs": [{"answer": [spelling, ...]}, ...]}]}; MultiSpanQA too
    NQ-open      {"question", "answer": [spelling, ...]}; one answer
    NQ oracle    {"question", "answers": [spelling, ...]}; one answer
    WebQuestions {"qId", "qText", "answers": [answer, ...]}; each text is an answer of its own
    WebQSP       {"Questions": [{"QuestionId", "RawQuestion", "Parses": [{"Answers": [{"EntityName" or else
                 "AnswerArgument"}, ...]}, ...]}, ...]}; each parse is an annotation
    QAMPARI      {"qid", "question_text", "answer_list": [{"answer_text", "aliases": [spelling, ...]}, ...]}
    RoMQA        {"id", "question", "complete_answer": [{"text", "aliases": [spelling, ...]}, ...]}
    plain        {"id", "question", "answers": [[spelling, ...], ...]}; no "answers": gold unknown, []: none

A file is a JSON array of such records or has one a line (JSONL), UTF-8, packed by gzip or bzip2 or not at
all. A record without an id gets its number in the file. Other fields are ignored.
"""

from __future__ import annotations

import bz2
import gzip
import json
import logging
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtv_core.errors import InputError
from rtv_core.records import Question

__all__ = ["load_questions", "read_records", "shown"]

GZIP = b"\x1f\x8b"
BZIP2 = b"BZh"

TEXT_FIELDS = ("question", "qText", "question_text", "RawQuestion", "ProcessedQuestion")
ID_FIELDS = ("id", "qId", "qid", "QuestionId")

log = logging.getLogger(__name__)

Spellings = tuple[str, ...]
Annotation = tuple[Spellings, ...]


def load_questions(path: Path | str) -> list[Question]:
    """The questions of a file, in its order.

    Raises InputError with the file, the line (or the entry of an array) and the field.
    """
    path = Path(path)
    questions: dict[str, Question] = {}
    for number, (place, record) in enumerate(read_records(path), start=1):
        question = _Record(f"{path}, {place}", record).question(str(number))
        if question.id in questions:
            raise InputError(f"{path}, {place}: the id {question.id!r} occurs before. Give each its own.")
        questions[question.id] = question
    if not questions:
        raise InputError(f"{path} holds no question. Give a JSON array or one JSON object a line.")
    return list(questions.values())


def read_records(path: Path) -> Iterator[tuple[str, Any]]:
    """What a JSON or JSONL file holds, one by one, each with its place ("line 3", "entry 2") for messages.

    Raises InputError for a file that can't be read, with the line of what isn't JSON.
    """
    text = _text(path)
    if not _one_a_line(text):
        whole = _parse(text, str(path), 1) if text.strip() else []
        if isinstance(whole, dict) and isinstance(whole.get("Questions"), list):
            whole = whole["Questions"]
        if isinstance(whole, list):
            for number, record in enumerate(whole, start=1):
                yield f"entry {number}", record
        else:
            yield f"line {_first_line(text)}", whole
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _parse(line, str(path), number)


def _one_a_line(text: str) -> bool:
    """Whether each line is a value of its own, broken or not, rather than all of them one value."""
    first, _, others = text.lstrip().partition("\n")
    if first.startswith("[") or first.strip() == "{" or not others.strip():
        return False
    return _is_json(first) or not _is_json(text)


def _first_line(text: str) -> int:
    """The number of the first line with anything on it."""
    return text[: len(text) - len(text.lstrip())].count("\n") + 1


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return False
    return True


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}. Check the name.") from error
    for start, name, unpack in ((GZIP, "gzip", gzip.decompress), (BZIP2, "bzip2", bz2.decompress)):
        if data.startswith(start):
            try:
                data = unpack(data)
            except (EOFError, OSError, ValueError, zlib.error) as error:
                raise InputError(f"{path} is not a whole {name} file: {error}. Fetch it again.") from error
            break
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
            raise InputError(f"{place}: {shown(record)} is no question; write a JSON object.")
        self._record = record

    def question(self, number: str) -> Question:
        field = self._first(TEXT_FIELDS)
        text = self._record.get(field)
        if not isinstance(text, str) or not text.strip():
            raise self._wrong(field, text, "a text that is not empty")
        field = self._first(ID_FIELDS)
        id_ = self._record.get(field, number)
        if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
            raise self._wrong(field, id_, "a text or a whole number")
        return Question(str(id_), text.strip(), self._answers())

    def _first(self, fields: tuple[str, ...]) -> str:
        return next((field for field in fields if field in self._record), fields[0])

    def _answers(self) -> tuple[Annotation, ...]:
        record = self._record
        if "answers" in record:
            read = self._texts if "qText" in record else self._plain
            return (read("answers", record["answers"]),)
        if "annotations" in record:
            annotations = self._list("annotations", record["annotations"])
            return tuple(self._annotation(f"annotations[{i}]", a) for i, a in enumerate(annotations))
        if "answer_list" in record:
            return (self._named("answer_list", record["answer_list"], ("answer_text",)),)
        if "complete_answer" in record:
            return (self._named("complete_answer", record["complete_answer"], ("text",)),)
        if "Parses" in record:
            return self._parses("Parses", record["Parses"])
        if "answer" in record:
            return ((self._spellings("answer", record["answer"]),),)
        return ()

    def _plain(self, field: str, answers: Any) -> Annotation:
        if answers == []:
            return ()
        if all(isinstance(answer, str) for answer in self._list(field, answers)):
            return (self._spellings(field, answers),)
        given = [(f"{field}[{i}]", answer) for i, answer in enumerate(answers)]
        if blank := [name for name, answer in given if answer == [""]]:  # QAMPARI's dev set has five of them
            log.warning("%s: field %r is an answer without words; left out.", self._place, blank[0])
        return tuple(self._spellings(name, answer) for name, answer in given if answer != [""])

    def _texts(self, field: str, answers: Any) -> Annotation:
        """Each text an answer of its own."""
        return () if answers == [] else tuple((answer,) for answer in self._spellings(field, answers))

    def _named(self, field: str, answers: Any, names: tuple[str, ...]) -> Annotation:
        """Objects that hold an answer under the first of these names that says anything, and its aliases."""
        if answers == []:
            return ()
        listed = enumerate(self._list(field, answers))
        return tuple(self._name_and_aliases(f"{field}[{i}]", answer, names) for i, answer in listed)

    def _name_and_aliases(self, field: str, answer: Any, names: tuple[str, ...]) -> Spellings:
        if not isinstance(answer, dict):
            raise self._wrong(field, answer, f"an object with {' or '.join(names)}")
        name = next((n for n in names if answer.get(n) not in (None, "")), names[0])
        text = answer.get(name)
        if not isinstance(text, str) or not text.strip():
            raise self._wrong(f"{field}.{name}", text, "a text that is not empty")
        aliases = answer.get("aliases") or []
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            raise self._wrong(f"{field}.aliases", aliases, "a list of texts")
        return tuple(dict.fromkeys((text, *(alias for alias in aliases if alias.strip()))))

    def _parses(self, field: str, parses: Any) -> tuple[Annotation, ...]:
        """WebQSP: a parse without answers says nothing."""
        annotations = []
        for i, parse in enumerate(self._list(field, parses)):
            if not isinstance(parse, dict):
                raise self._wrong(f"{field}[{i}]", parse, "an object with Answers")
            answers = f"{field}[{i}].Answers"
            annotations.append(self._named(answers, parse.get("Answers"), ("EntityName", "AnswerArgument")))
        return tuple(dict.fromkeys(annotation for annotation in annotations if annotation))

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
        found = "is missing" if value is None else f"is {shown(value)}"
        return InputError(f"{self._place}: field {field!r} {found}; it must be {wanted}.")


def shown(value: Any) -> str:
    """A value as messages show it: at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
