"""What a question's trace leaves for the tables, without passage texts; kept one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.plain import plain_features
from rtv_core.errors import MismatchError
from rtv_core.metrics import answer_recall, covered_answers, matched_answers, mrecall_at
from rtv_core.pipeline import Pipeline
from rtv_core.records import Candidate, Question, Source, Span, Trace
from rtv_core.wire import from_json, to_json

__all__ = ["DEPTHS", "Row", "RowCandidate", "RowFile", "collect", "row_of"]

DEPTHS = (5, 10, 20, 100)
"""The depths at which MRecall is taken."""


@dataclass(frozen=True, slots=True)
class RowCandidate:
    """A candidate with its best span score, its validity scores by evidence size, and its plain features.

    `places` has (passage id, start, end) for each span that gave it.
    """

    answer: str
    recall: float
    p_right: tuple[float, ...]
    plain: tuple[float, ...]
    places: tuple[tuple[str, int, int], ...]

    def candidate(self) -> Candidate:
        """As the rule for repeats wants it: places without scores."""
        sources = (Source(passage, 0, Span(start, end, 0.0), 0.0) for passage, start, end in self.places)
        return Candidate(self.answer, (self.answer,), self.recall, tuple(sources))


@dataclass(frozen=True, slots=True)
class Row:
    """One answered question with known gold.

    `retrieval` holds measures of the retrieved passages, empty where the gold is "no answer". `covered` says
    of each gold answer of each annotation whether a retrieved passage covers it; `in_one` whether a single
    one covers all answers of an annotation.
    """

    question: Question
    retrieval: Mapping[str, float]
    covered: tuple[tuple[bool, ...], ...]
    in_one: bool
    candidates: tuple[RowCandidate, ...]
    seconds: Mapping[str, float]
    provenance: Mapping[str, str]

    @property
    def answerable(self) -> bool:
        """Whether the gold holds an answer."""
        return any(self.question.answers)

    def right(self) -> list[bool]:
        """Which candidates equal a gold answer."""
        gold = [annotation for annotation in self.question.answers if annotation]
        return [any(any(matched_answers([c.answer], a)) for a in gold) for c in self.candidates]


def row_of(trace: Trace) -> Row:
    """The row of a finished trace whose question has gold."""
    gold = trace.question.answers
    texts = [hit.passage.text for hit in trace.hits]
    return Row(
        question=trace.question,
        retrieval=_retrieval(texts, gold) if any(gold) else {},
        covered=tuple(tuple(covered_answers(texts, annotation)) for annotation in gold),
        in_one=any(all(covered_answers([text], a)) for text in texts for a in gold if a),
        candidates=tuple(_candidate(trace, i) for i in range(len(trace.candidates))),
        seconds=trace.seconds,
        provenance=trace.provenance,
    )


def _retrieval(texts: Sequence[str], gold: Sequence[Sequence[Sequence[str]]]) -> dict[str, float]:
    depths = {f"mrecall@{k}": mrecall_at(k, texts, gold) for k in DEPTHS}
    return depths | {f"answer_recall@{DEPTHS[-1]}": answer_recall(DEPTHS[-1], texts, gold)}


def _candidate(trace: Trace, i: int) -> RowCandidate:
    candidate = trace.candidates[i]
    return RowCandidate(
        answer=candidate.answer,
        recall=candidate.score,
        p_right=trace.verdicts[i].p_right,
        plain=plain_features(candidate, trace.evidence[i]),
        places=tuple((s.passage_id, s.span.start, s.span.end) for s in candidate.sources),
    )


class RowFile:
    """Rows on disk; a line that was cut off by a stop is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        whole = path.read_bytes() if path.exists() else b""
        if whole and not whole.endswith(b"\n"):
            path.write_bytes(whole[: whole.rfind(b"\n") + 1])

    def rows(self) -> list[Row]:
        """All rows in the order they were added. Raises MismatchError for a file of another format."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").split("\n")
        try:
            return [from_json(Row, line) for line in lines if line]
        except (TypeError, ValueError) as error:
            raise MismatchError(
                f"{self.path} holds rows of another format ({error}). Name another --out."
            ) from error

    def add(self, row: Row) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(to_json(row) + "\n")


def collect(pipeline: Pipeline, questions: Iterable[Question], file: RowFile) -> list[Row]:
    """The rows of the questions, in their order; those that the file lacks are asked and added.

    Raises MismatchError if the file's rows come from other models, settings or index.
    """
    from tqdm import tqdm

    known = {row.question: row for row in file.rows()}
    for row in known.values():
        _check_provenance(row.provenance, pipeline.provenance, file.path)
    questions = list(questions)
    for question in tqdm([q for q in questions if q not in known], desc=file.path.stem):
        known[question] = row_of(pipeline.ask(question))
        file.add(known[question])
    return [known[question] for question in questions]


def _check_provenance(there: Mapping[str, str], here: Mapping[str, str], path: Path) -> None:
    if different := sorted(key for key in {*there, *here} if there.get(key) != here.get(key)):
        raise MismatchError(
            f"{path} was made with another {' and another '.join(different)}. Name another --out."
        )
