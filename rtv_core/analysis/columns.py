"""The columns of a run's questions: what filters and slices go by.

A question may have several values in a column (its gold answers, say), or none. Sources are the distinct
retrieved passages of which the title or the text covers a gold answer, of any annotation, strictly; where a
run's passages aren't known, there is no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rtv_core.analysis.scores import question_scores
from rtv_core.metrics import covered_answers
from rtv_core.records import Question, RunQuestion

__all__ = ["COLUMNS", "UNKNOWN", "Column", "Sources", "gold_sources", "no_sources"]

UNKNOWN = "not known"
WORDS = ("who", "whose", "what", "which", "when", "where", "why", "how many", "how much", "how")

Sources = Callable[[RunQuestion], int | None]
"""How many sources a question has; None where that is not known."""

Values = tuple[str, ...] | tuple[float, ...]
Bounds = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """`name` is what filters and links call it, `title` what people read.

    A column of numbers is cut into buckets that start at `bounds`; a bucket ends before the next one starts.
    `kinds`: it may split the questions up; a column of words of which each question has its own can't.
    """

    name: str
    title: str
    values: Callable[[RunQuestion, Sources], Values]
    number: bool = False
    kinds: bool = True
    bounds: Bounds = ()
    whole: bool = True

    def kinds_of(self, question: RunQuestion, sources: Sources) -> tuple[str, ...]:
        """The names of the kinds that a question belongs to: its values, or the buckets they fall into."""
        values = self.values(question, sources)
        named = map(self._bucket, values) if self.number else values
        return tuple(dict.fromkeys(named)) or (UNKNOWN,)

    def _bucket(self, value: float) -> str:
        place = max(i for i, bound in enumerate(self.bounds) if i == 0 or value >= bound)
        low, last = self.bounds[place], place == len(self.bounds) - 1
        if last:
            return f"{low:g} or more"
        high = self.bounds[place + 1]
        if not self.whole:
            return f"{low:g} to {high:g}"
        return f"{low:g}" if high - low == 1 else f"{low:g} to {high - 1:g}"


def gold_sources(question: Question, passages: Sequence[tuple[str, str]]) -> int | None:
    """In how many passages (title, text) a gold answer is covered; None where there are no passages."""
    if not passages:
        return None
    answers = [answer for annotation in question.answers for answer in annotation]
    return sum(any(covered_answers([f"{title} {text}"], answers)) for title, text in passages)


def no_sources(question: RunQuestion) -> int | None:
    """The sources of a run whose passages nobody counted."""
    return None


def _gold_answers(question: RunQuestion, _: Sources) -> Values:
    """Of the shortest annotation; nothing where gold is not known."""
    known = question.question.answers
    return (min(map(len, known)),) if known else ()


def _question_word(question: RunQuestion, _: Sources) -> Values:
    text = question.question.text.lower()
    found = [
        (match.start(), -len(word), word) for word in WORDS if (match := re.search(rf"\b{word}\b", text))
    ]
    return (min(found)[2] if found else "other",)


def _sources(question: RunQuestion, sources: Sources) -> Values:
    count = sources(question)
    return () if count is None else (count,)


def _f1(question: RunQuestion, _: Sources) -> Values:
    return (100 * question_scores([question])[0].f1,) if question.question.answers else ()


def _score(question: RunQuestion, _: Sources) -> Values:
    scores = [answer.p_right for answer in question.answers if answer.p_right is not None]
    return (max(scores),) if scores else ()


def _spellings(question: RunQuestion) -> tuple[str, ...]:
    known = question.question.answers
    return tuple(spelling for annotation in known for answer in annotation for spelling in answer)


def _given(question: RunQuestion, predicted: bool) -> tuple[str, ...]:
    return tuple(answer.answer for answer in question.answers if answer.predicted == predicted)


def _anywhere(question: RunQuestion, _: Sources) -> Values:
    answers = (answer.answer for answer in question.answers)
    return (question.question.text, *_spellings(question), *answers)


_LISTED = (
    Column("gold", "number of gold answers", _gold_answers, True, bounds=(0, 1, 2, 3, 4, 5)),
    Column("word", "question word", _question_word),
    Column("sources", "number of sources", _sources, True, bounds=(0, 1, 2, 5, 10)),
    Column(
        "predictions",
        "number of predictions",
        lambda q, _: (len(_given(q, True)),),
        True,
        bounds=(0, 1, 2, 3, 4, 5),
    ),
    Column(
        "candidates", "number of candidates", lambda q, _: (len(q.answers),), True, bounds=(0, 1, 5, 10, 20)
    ),
    Column("lost", "what became of gold answers", lambda q, _: tuple(dict.fromkeys(g.lost for g in q.gold))),
    Column(
        "score",
        "best validity score",
        _score,
        True,
        bounds=(0, 0.2, 0.4, 0.6, 0.8),
        whole=False,
    ),
    Column(
        "length",
        "words of the question",
        lambda q, _: (len(q.question.text.split()),),
        True,
        bounds=(0, 6, 9, 12, 16),
    ),
    Column("f1", "F1, raw, in points of 100", _f1, True, kinds=False),
    Column("text", "question, gold answer or candidate", _anywhere, kinds=False),
    Column("question", "question", lambda q, _: (q.question.text,), kinds=False),
    Column("id", "the question's id", lambda q, _: (q.question.id,), kinds=False),
    Column("answer", "gold answer", lambda q, _: _spellings(q), kinds=False),
    Column("predicted", "predicted answer", lambda q, _: _given(q, True), kinds=False),
    Column("rejected", "rejected candidate", lambda q, _: _given(q, False), kinds=False),
)

COLUMNS = {column.name: column for column in _LISTED}
"""By name, in the order in which they are offered."""
