"""Other systems' answers, read from their files, so that they can be judged and analysed like our own.

    AmbigQA      {id: [answer, ...]} or {id: answer}
    records      {"id" or "question", "predictions": [answer, ...]} or {..., "prediction": answer}

Records are a JSON array or stand one a line (JSONL). An answer is a text, or {"answer", "score", "evidence":
[{"title", "text"}, ...]}: the score is the probability, 0 to 1, that it is right. Answers without scores are
taken to be in the system's own order. Other fields are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rtv_core.datasets import read_records, shown
from rtv_core.errors import InputError
from rtv_core.outcomes import given_outcome
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Passage,
    Question,
    RunAnswer,
    RunQuestion,
    Trace,
)
from rtv_core.text import COVERAGE_RULES, answer_key, covers_any

__all__ = [
    "Predicted",
    "PredictedAnswer",
    "aligned",
    "file_facts",
    "predicted_question",
    "read_predictions",
]

LONGEST_ANSWER = 10_000
GIVEN = ("predictions", "prediction")


@dataclass(frozen=True, slots=True)
class PredictedAnswer:
    """One answer of a system. `score` is None where it gave none; `evidence` holds the passages it showed."""

    answer: str
    score: float | None = None
    evidence: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Predicted:
    """A system's answers to one question, best first. `id` or `question` is "" where the file has none.

    `place` says where it stands, for messages.
    """

    place: str
    id: str
    question: str
    answers: tuple[PredictedAnswer, ...]


def read_predictions(path: Path | str) -> list[Predicted]:
    """The predictions of a file, in its order.

    Raises InputError with the file, the line (or the entry) and the field; also where some answers have a
    score and others none.
    """
    path = Path(path)
    records = list(read_records(path))
    if len(records) == 1 and _is_by_id(records[0][1]):
        found = [_Place(f"{path}, entry {id_!r}").of_id(id_, value) for id_, value in records[0][1].items()]
    else:
        found = [_Place(f"{path}, {place}").of_record(record) for place, record in records]
    if not found:
        raise InputError(f"{path} holds no prediction. Give a JSON object, array or one object a line.")
    _check_scores(found)
    return [Predicted(p.place, p.id, p.question, _ordered(p.answers)) for p in found]


def file_facts(path: Path | str) -> dict[str, str]:
    """What tells one prediction file from another, as a run's provenance holds it."""
    path = Path(path)
    return {"imported": path.name, "imported_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def aligned(
    predicted: Sequence[Predicted], questions: Sequence[Question]
) -> list[tuple[Question, Predicted | None]]:
    """Each question with the predictions for it, by id or else by its text; None where there are none.

    Case, spacing and a question mark at the end don't matter. Raises InputError for predictions that belong
    to no question, or to one that has some already.
    """
    by_id = {question.id: [question] for question in questions}
    by_text: dict[str, list[Question]] = {}
    for question in questions:
        by_text.setdefault(_text_key(question.text), []).append(question)
    found: dict[str, Predicted] = {}
    for own in predicted:
        named = by_id.get(own.id) if own.id else by_text.get(_text_key(own.question))
        if named is None and own.question:
            named = by_text.get(_text_key(own.question))
        if named is None:
            raise InputError(
                f"{own.place}: there is no question {shown(own.id or own.question)}; the first is "
                f"{questions[0].id!r}, {shown(questions[0].text)}. Name the question file that these "
                "predictions were made for."
            )
        for question in named:
            if own.question and _text_key(own.question) != _text_key(question.text):
                raise InputError(
                    f"{own.place}: field 'question' is {shown(own.question)}, but the question of id "
                    f"{own.id!r} is {shown(question.text)}. Name the question file that these predictions "
                    "were made for."
                )
            if question.id in found:
                raise InputError(
                    f"{own.place}: the question {question.id!r} has predictions at "
                    f"{found[question.id].place} already. Keep one of the two."
                )
            found[question.id] = own
    return [(question, found.get(question.id)) for question in questions]


def predicted_question(
    question: Question,
    predicted: Predicted | None,
    position: int,
    provenance: Mapping[str, str],
    tau: float | None = None,
) -> tuple[RunQuestion, Trace]:
    """What a run holds of a question that another system answered, and a trace that judgements can name.

    With `tau` the answers scored strictly above are predicted, or else the best one, and the others are
    rejected candidates; without it all are predicted.
    """
    given = predicted.answers if predicted else ()
    above = [tau is None or answer.score > tau for answer in given]
    answers = [
        RunAnswer(
            answer.answer,
            (answer.answer,),
            answer.score,
            above[i] or (i == 0 and not any(above)),
            "",
            any(answer_key(answer.answer) == answer_key(better.answer) for better in given[:i]),
        )
        for i, answer in enumerate(given)
    ]
    result = given_outcome(answers, question)
    trace = _trace(question, given, provenance)
    return RunQuestion("", position, question, "", result.answers, result.gold), trace


def _is_by_id(record: Any) -> bool:
    return isinstance(record, dict) and not {"id", "question", *GIVEN} & set(record)


class _Place:
    """Reads what stands at one place of a file, which its messages name."""

    def __init__(self, place: str) -> None:
        self._place = place

    def of_id(self, id_: str, value: Any) -> Predicted:
        return Predicted(self._place, id_, "", self._answers("predictions", value))

    def of_record(self, record: Any) -> Predicted:
        if not isinstance(record, dict):
            raise InputError(f"{self._place}: {shown(record)} is no prediction; write a JSON object.")
        id_, question = record.get("id", ""), record.get("question", "")
        if isinstance(id_, bool) or not isinstance(id_, str | int):
            raise self._wrong("id", id_, "a text or a whole number")
        if not isinstance(question, str):
            raise self._wrong("question", question, "a text")
        if id_ == "" and not question.strip():
            raise self._wrong("id", None, "there, or the field 'question'")
        field = next((name for name in GIVEN if name in record), GIVEN[0])
        if field not in record:
            raise self._wrong(field, None, "a list of answers")
        return Predicted(self._place, str(id_), question.strip(), self._answers(field, record[field]))

    def _answers(self, field: str, value: Any) -> tuple[PredictedAnswer, ...]:
        """One answer or a list of them; nothing, or a text without words, is no answer."""
        if value is None or (isinstance(value, str) and not value.strip()):
            return ()
        if not isinstance(value, list):
            return (self._answer(field, value),)
        return tuple(self._answer(f"{field}[{i}]", item) for i, item in enumerate(value))

    def _answer(self, field: str, value: Any) -> PredictedAnswer:
        if isinstance(value, dict):
            return PredictedAnswer(
                self._text(f"{field}.answer", value.get("answer")),
                self._score(f"{field}.score", value.get("score")),
                tuple(self._evidence(f"{field}.evidence", value.get("evidence"))),
            )
        return PredictedAnswer(self._text(field, value))

    def _text(self, field: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(field, value, "a text that is not empty")
        if len(value) > LONGEST_ANSWER:
            raise self._wrong(field, value, f"at most {LONGEST_ANSWER:,} characters long")
        return _whole(value.strip())

    def _score(self, field: str, value: Any) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self._wrong(field, value, "a probability from 0 to 1")
        return float(value)

    def _evidence(self, field: str, value: Any) -> Iterator[Passage]:
        if not isinstance(value, list | None):
            raise self._wrong(field, value, "a list of passages")
        for i, passage in enumerate(value or ()):
            if not isinstance(passage, dict):
                raise self._wrong(f"{field}[{i}]", passage, "an object with title and text")
            title, text = passage.get("title") or "", passage.get("text")
            if not isinstance(text, str) or not text.strip():
                raise self._wrong(f"{field}[{i}].text", text, "a text that is not empty")
            if not isinstance(title, str):
                raise self._wrong(f"{field}[{i}].title", title, "a text")
            title, text = _whole(title), _whole(text)
            yield Passage(_passage_id(title, text), title, text)

    def _wrong(self, field: str, value: Any, wanted: str) -> InputError:
        found = "is missing" if value is None else f"is {shown(value)}"
        return InputError(f"{self._place}: field {field!r} {found}; it must be {wanted}.")


def _whole(text: str) -> str:
    """The text without half characters, which JSON can hold and a database can't."""
    return text.encode(errors="replace").decode()


def _passage_id(title: str, text: str) -> str:
    return hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16]


def _check_scores(predicted: Sequence[Predicted]) -> None:
    scored = {answer.score is not None: own.place for own in predicted for answer in own.answers}
    if len(scored) == 2:
        raise InputError(
            f"{scored[False]}: an answer has no score, though others have one. Give each a score, or none."
        )


def _ordered(answers: Sequence[PredictedAnswer]) -> tuple[PredictedAnswer, ...]:
    """Best score first; without scores, as they are."""
    return tuple(sorted(answers, key=lambda answer: -(answer.score or 0.0)))


def _text_key(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("? ")


def _trace(question: Question, answers: Sequence[PredictedAnswer], provenance: Mapping[str, str]) -> Trace:
    passages = {passage.id: passage for answer in answers for passage in answer.evidence}
    hits = {
        id_: Hit(passage, 0.0, 0.0, None, None, rank)
        for rank, (id_, passage) in enumerate(passages.items(), start=1)
    }
    candidates = [Candidate(answer.answer, (answer.answer,), answer.score or 0.0, ()) for answer in answers]
    evidence = [
        Evidence(
            candidate,
            "",
            tuple(
                EvidencePassage(hits[passage.id], _covers(passage, candidate), 0.0, recalled=False)
                for passage in answer.evidence
            ),
        )
        for candidate, answer in zip(candidates, answers, strict=True)
    ]
    return Trace(
        question,
        hits=tuple(hits.values()),
        candidates=tuple(candidates),
        evidence=tuple(evidence) if passages else (),
        provenance=MappingProxyType(dict(provenance)),
        stage="recalled",
    )


def _covers(passage: Passage, candidate: Candidate) -> tuple[str, ...]:
    text = f"{passage.title} {passage.text}"
    return tuple(rule for rule in COVERAGE_RULES if covers_any(text, candidate.spellings, rule))
