"""A file's questions with their gold answers, whichever of the formats it has."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rtv_core.datasets.fields import Fields, Spellings
from rtv_core.datasets.files import Place, read_text, records_in
from rtv_core.datasets.nested import is_nested, nested_records
from rtv_core.errors import InputError
from rtv_core.records import Question

__all__ = ["find_clusters", "load_questions", "read_clusters", "read_questions"]

TEXT_FIELDS = ("question", "qText", "question_text", "RawQuestion", "ProcessedQuestion")
ID_FIELDS = ("id", "qId", "qid", "QuestionId")

log = logging.getLogger(__name__)

Annotation = tuple[Spellings, ...]


def load_questions(path: Path | str) -> list[Question]:
    """The questions of a file, in its order.

    Raises InputError with the file, the line (and the place in an array or object) and the field.
    """
    return [question for question, _ in read_questions(path)]


def read_clusters(path: Path | str) -> dict[str, str]:
    """RoMQA: the cluster of each question id, for the robust measures.

    Raises InputError as `load_questions` does, and for a record without "cluster_id".
    """
    clusters = {}
    for question, fields in read_questions(path):
        cluster = fields.record.get("cluster_id")
        if isinstance(cluster, bool) or not isinstance(cluster, str | int) or cluster == "":
            raise fields.wrong("cluster_id", cluster, "a text or a whole number, as RoMQA has it")
        clusters[question.id] = str(cluster)
    return clusters


def find_clusters(path: Path | str) -> dict[str, str]:
    """The same of a file that may be RoMQA's: nothing, where no record has a "cluster_id"."""
    known = any("cluster_id" in fields.record for _, fields in read_questions(path))
    return read_clusters(path) if known else {}


def read_questions(path: Path | str) -> Iterator[tuple[Question, Fields]]:
    """Each question of a file and the record it stands in. Raises InputError as `load_questions` does."""
    seen = set()
    for number, (place, record) in enumerate(_records(path), start=1):
        fields = Fields(place, record)
        question = _question(fields, str(number))
        if question.id in seen:
            raise InputError(f"{place}: the id {question.id!r} occurs before. Give each its own.")
        seen.add(question.id)
        yield question, fields


def _records(path: Path | str) -> Iterator[tuple[str | Place, Any]]:
    """The records of a question file, each with its place; those of SQuAD, MultiSpanQA and WebQSP unpacked.

    Raises InputError for a file that holds none.
    """
    text, name = read_text(Path(path)), str(path)
    records = records_in(text, name)
    head = list(islice(records, 2))
    found: Iterator[tuple[str | Place, Any]]
    if head and is_nested(head[0][1]):
        if len(head) > 1:
            raise InputError(
                f"{name}, {head[1][0]}: another value, though the first is a whole set. Keep one a file."
            )
        found = ((Place(name, steps, text), own) for steps, own in nested_records(name, text, head[0][1]))
    else:
        found = ((f"{name}, {place}", own) for place, own in chain(head, records))
    first = next(found, None)
    if first is None:
        raise InputError(f"{name} holds no question. Give a JSON array or one JSON object a line.")
    yield first
    yield from found


def _question(fields: Fields, number: str) -> Question:
    """The question of one record; `number` is the id of one that has none."""
    name = fields.first(TEXT_FIELDS)
    text = fields.text(name, fields.record.get(name)).strip()
    name = fields.first(ID_FIELDS)
    id_ = fields.record.get(name, number)
    if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
        raise fields.wrong(name, id_, "a text or a whole number")
    return Question(str(id_), text, _answers(fields))


def _answers(fields: Fields) -> tuple[Annotation, ...]:
    record = fields.record
    if "answers" in record:
        read = _texts if "qText" in record else _plain
        return (read(fields, "answers", record["answers"]),)
    if "annotations" in record:
        annotations = fields.list("annotations", record["annotations"])
        return tuple(_annotation(fields, f"annotations[{i}]", a) for i, a in enumerate(annotations))
    if "answer_list" in record:
        return (_named(fields, "answer_list", record["answer_list"], ("answer_text",)),)
    if "complete_answer" in record:
        return (_named(fields, "complete_answer", record["complete_answer"], ("text",)),)
    if "Parses" in record:
        return _parses(fields, "Parses", record["Parses"])
    if "answer" in record:
        return ((fields.texts("answer", record["answer"]),),)
    return ()


def _plain(fields: Fields, field: str, answers: Any) -> Annotation:
    """Lists of spellings; texts alone are the spellings of one answer."""
    if answers == []:
        return ()
    if all(isinstance(answer, str) for answer in fields.list(field, answers)):
        return (fields.texts(field, answers),)
    given = [(f"{field}[{i}]", answer) for i, answer in enumerate(answers)]
    if blank := [name for name, answer in given if answer == [""]]:  # QAMPARI's dev set has five of them
        log.warning("%s: field %r is an answer without words; left out.", fields.place, blank[0])
    return tuple(fields.texts(name, answer) for name, answer in given if answer != [""])


def _texts(fields: Fields, field: str, answers: Any) -> Annotation:
    """Each text an answer of its own."""
    return () if answers == [] else tuple((answer,) for answer in fields.texts(field, answers))


def _named(fields: Fields, field: str, answers: Any, names: tuple[str, ...]) -> Annotation:
    """Objects that hold an answer under the first of these names that says anything, and its aliases."""
    if answers == []:
        return ()
    listed = enumerate(fields.list(field, answers))
    return tuple(_name_and_aliases(fields, f"{field}[{i}]", answer, names) for i, answer in listed)


def _name_and_aliases(fields: Fields, field: str, answer: Any, names: tuple[str, ...]) -> Spellings:
    if not isinstance(answer, dict):
        raise fields.wrong(field, answer, f"an object with {' or '.join(names)}")
    name = next((n for n in names if answer.get(n) not in (None, "")), names[0])
    text = fields.text(f"{field}.{name}", answer.get(name))
    aliases = answer.get("aliases") or []
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise fields.wrong(f"{field}.aliases", aliases, "a list of texts")
    return tuple(dict.fromkeys((text, *(alias for alias in aliases if alias.strip()))))


def _parses(fields: Fields, field: str, parses: Any) -> tuple[Annotation, ...]:
    """WebQSP: a parse without answers says nothing."""
    annotations = []
    for i, parse in enumerate(fields.list(field, parses)):
        if not isinstance(parse, dict):
            raise fields.wrong(f"{field}[{i}]", parse, "an object with Answers")
        answers = f"{field}[{i}].Answers"
        annotations.append(_named(fields, answers, parse.get("Answers"), ("EntityName", "AnswerArgument")))
    return tuple(dict.fromkeys(annotation for annotation in annotations if annotation))


def _annotation(fields: Fields, field: str, annotation: Any) -> Annotation:
    if not isinstance(annotation, dict):
        raise fields.wrong(field, annotation, "an object with a type")
    kind = annotation.get("type")
    if kind == "singleAnswer":
        return (fields.texts(f"{field}.answer", annotation.get("answer")),)
    if kind != "multipleQAs":
        raise fields.wrong(f"{field}.type", kind, "singleAnswer or multipleQAs")
    answers = []
    for i, pair in enumerate(fields.list(f"{field}.qaPairs", annotation.get("qaPairs"))):
        if not isinstance(pair, dict):
            raise fields.wrong(f"{field}.qaPairs[{i}]", pair, "an object with an answer")
        answers.append(fields.texts(f"{field}.qaPairs[{i}].answer", pair.get("answer")))
    return tuple(answers)
