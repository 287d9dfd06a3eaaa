"""Precision, recall and F1 of a run, raw and on corrected gold, with intervals by question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rtv_core.metrics import (
    Interval,
    Score,
    bootstrap_mean,
    f1_official,
    f1_optimal,
    is_multi,
    paired_bootstrap,
)
from rtv_core.records import Question, RunQuestion

__all__ = ["Rescored", "Scores", "predictions", "question_scores", "rescored", "run_scores"]

Measure = Callable[[Sequence[str], Sequence], Score]


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over questions. Precision and recall are those behind `f1`, the optimal matching's.

    `f1_official` is AmbigQA's, for comparison with published figures.
    """

    f1: Interval
    precision: Interval
    recall: Interval
    f1_official: Interval
    questions: int


@dataclass(frozen=True, slots=True)
class Rescored:
    """Scores raw and on corrected gold, over all questions and over those with several answers (None: none).

    `gain` is corrected minus raw F1, question by question. "Several answers" goes by the gold before it was
    corrected, so that both columns speak of the same questions.
    """

    raw: Scores
    corrected: Scores
    gain: Interval
    raw_multi: Scores | None
    corrected_multi: Scores | None
    gain_multi: Interval | None


def predictions(question: RunQuestion) -> list[str]:
    """What the run answered, best first."""
    return [answer.answer for answer in question.answers if answer.predicted]


def question_scores(
    questions: Sequence[RunQuestion], gold: Sequence[Question] | None = None, measure: Measure = f1_optimal
) -> list[Score]:
    """One score a question, in their order, against their own gold or a parallel one. All must have gold."""
    gold = [question.question for question in questions] if gold is None else gold
    return [measure(predictions(q), known.answers) for q, known in zip(questions, gold, strict=True)]


def run_scores(
    questions: Sequence[RunQuestion], gold: Sequence[Question] | None = None, seed: int = 0
) -> Scores | None:
    """Scores over the questions whose gold is known; None where there is none of them."""
    gold = [question.question for question in questions] if gold is None else gold
    pairs = [(q, known) for q, known in zip(questions, gold, strict=True) if known.answers]
    return _means(_pairs(pairs), seed) if pairs else None


def rescored(
    questions: Sequence[RunQuestion], corrected: Sequence[Question], seed: int = 0
) -> Rescored | None:
    """Raw and corrected scores (`corrected` runs parallel to the questions); None where no gold is known."""
    known = [(q, gold) for q, gold in zip(questions, corrected, strict=True) if q.question.answers]
    if not known:
        return None
    before, after = _pairs([(q, q.question) for q, _ in known]), _pairs(known)
    several = [place for place, (q, _) in enumerate(known) if is_multi(q.question)]
    multi = ([before[i] for i in several], [after[i] for i in several]) if several else None
    return Rescored(
        _means(before, seed),
        _means(after, seed),
        _gain(before, after, seed),
        _means(multi[0], seed) if multi else None,
        _means(multi[1], seed) if multi else None,
        _gain(*multi, seed) if multi else None,
    )


def _pairs(known: Sequence[tuple[RunQuestion, Question]]) -> list[tuple[Score, Score]]:
    """The optimal and the official score of each question."""
    return [
        (f1_optimal(given, gold.answers), f1_official(given, gold.answers))
        for given, gold in ((predictions(question), gold) for question, gold in known)
    ]


def _means(pairs: Sequence[tuple[Score, Score]], seed: int) -> Scores:
    return Scores(
        bootstrap_mean([optimal.f1 for optimal, _ in pairs], seed),
        bootstrap_mean([optimal.precision for optimal, _ in pairs], seed),
        bootstrap_mean([optimal.recall for optimal, _ in pairs], seed),
        bootstrap_mean([official.f1 for _, official in pairs], seed),
        len(pairs),
    )


def _gain(before: Sequence[tuple[Score, Score]], after: Sequence[tuple[Score, Score]], seed: int) -> Interval:
    return paired_bootstrap([own.f1 for own, _ in after], [own.f1 for own, _ in before], seed)
