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
    if not pairs:
        return None
    own, known = [q for q, _ in pairs], [k for _, k in pairs]
    optimal = question_scores(own, known)
    official = question_scores(own, known, f1_official)
    return Scores(
        bootstrap_mean([s.f1 for s in optimal], seed),
        bootstrap_mean([s.precision for s in optimal], seed),
        bootstrap_mean([s.recall for s in optimal], seed),
        bootstrap_mean([s.f1 for s in official], seed),
        len(pairs),
    )


def rescored(
    questions: Sequence[RunQuestion], corrected: Sequence[Question], seed: int = 0
) -> Rescored | None:
    """Raw and corrected scores (`corrected` runs parallel to the questions); None where no gold is known."""
    pairs = [(q, known) for q, known in zip(questions, corrected, strict=True) if q.question.answers]
    if not pairs:
        return None
    multi = [(q, known) for q, known in pairs if is_multi(q.question)]
    columns = (_columns(pairs, seed), _columns(multi, seed) if multi else (None, None, None))
    return Rescored(*columns[0], *columns[1])


def _columns(
    pairs: Sequence[tuple[RunQuestion, Question]], seed: int
) -> tuple[Scores | None, Scores | None, Interval]:
    own, known = [q for q, _ in pairs], [k for _, k in pairs]
    gain = paired_bootstrap(
        [s.f1 for s in question_scores(own, known)], [s.f1 for s in question_scores(own)], seed
    )
    return run_scores(own, seed=seed), run_scores(own, known, seed), gain
