"""F1, precision and recall against tau, from stored scores: no model runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rtv_core.errors import InputError
from rtv_core.metrics import is_multi
from rtv_core.records import Question, RunAnswer, RunQuestion
from rtv_core.text import normalise_answer

__all__ = ["CURVE_TAUS", "CurvePoint", "at_tau", "best_point", "tau_curve"]

CURVE_TAUS = tuple(round(0.01 * step, 2) for step in range(100))

Prefix = tuple[float, float, float]
"""F1, precision and recall of the first answers."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Means over questions under one tau; `f1_multi` over those with several answers (None: there are none),
    `answers` is the mean number of predictions."""

    tau: float
    f1: float
    precision: float
    recall: float
    f1_multi: float | None
    answers: float


def at_tau(question: RunQuestion, tau: float) -> list[str]:
    """The answers under another tau: those scored strictly above it, else the best, without repeats."""
    scored = _scored(question)
    return [a.answer for place, a in enumerate(scored) if a.p_right > tau or place == 0]


def tau_curve(
    questions: Sequence[RunQuestion],
    gold: Sequence[Question] | None = None,
    taus: Sequence[float] = CURVE_TAUS,
) -> tuple[CurvePoint, ...]:
    """One point a tau, over the questions with known gold (their own, or a parallel one), optimal matching.

    For the k of the run's stored scores. On corrected gold, candidates that nobody judged count as wrong: the
    curve is fair where what is predicted under each tau is judged. Raises InputError for a run without
    scores, or without gold.
    """
    gold = [question.question for question in questions] if gold is None else gold
    pairs = [(q, known) for q, known in zip(questions, gold, strict=True) if known.answers]
    if not pairs:
        raise InputError("No question of this run has gold answers: there is no F1 to draw against tau.")
    if not any(_scored(question) for question, _ in pairs):
        raise InputError("The predictions of this run have no scores: nothing changes with tau.")
    multi = np.array([is_multi(question.question) for question, _ in pairs])
    counts = np.stack([_counts(_scored(question), taus) for question, _ in pairs])  # (questions, taus)
    tables = [_prefix_scores([a.answer for a in _scored(q)], known) for q, known in pairs]
    scores = np.stack([np.array(table)[own] for table, own in zip(tables, counts, strict=True)])
    means = scores.mean(axis=0)  # (taus, 3)
    f1_multi = scores[multi, :, 0].mean(axis=0) if multi.any() else [None] * len(taus)
    return tuple(
        CurvePoint(tau, *map(float, means[i]), _float(f1_multi[i]), float(counts[:, i].mean()))
        for i, tau in enumerate(taus)
    )


def best_point(curve: Sequence[CurvePoint]) -> CurvePoint:
    """The point of highest F1(all) + F1(multi), as the paper chooses tau; of equal ones the lowest tau."""
    return max(curve, key=lambda point: (point.f1 + (point.f1_multi or 0), -point.tau))


def _scored(question: RunQuestion) -> list[RunAnswer]:
    """The scored candidates best first, repeats of better ones left out: under no tau do they count."""
    scored = [a for a in question.answers if a.p_right is not None and not a.repeats]
    return sorted(scored, key=lambda a: -a.p_right)


def _counts(scored: Sequence[RunAnswer], taus: Sequence[float]) -> np.ndarray:
    """How many answers pass each tau, the best always."""
    scores = np.array([a.p_right for a in scored], dtype=float)
    above = (scores[None, :] > np.asarray(taus)[:, None]).sum(axis=1)  # (taus,)
    return np.maximum(above, min(len(scored), 1))


def _prefix_scores(answers: Sequence[str], gold: Question) -> list[Prefix]:
    """The scores of the first 0, 1, 2, ... answers under the annotation that suits each best."""
    tables = [_annotation_scores(answers, annotation) for annotation in gold.answers]
    return [max(column, key=lambda prefix: prefix[0]) for column in zip(*tables, strict=True)]


def _annotation_scores(answers: Sequence[str], annotation: Sequence[Sequence[str]]) -> list[Prefix]:
    """The same under one annotation: a maximum matching, grown answer by answer."""
    accepted = [{normalise_answer(spelling) for spelling in spellings} for spellings in annotation]
    equal = [[row for row, names in enumerate(accepted) if normalise_answer(a) in names] for a in answers]
    nothing = 0.0 if annotation else 1.0
    table, taken, matched = [(nothing, nothing, nothing)], {}, 0
    for given, rows in enumerate(equal, start=1):
        matched += bool(rows) and _augment(given - 1, equal, taken, set())
        recall = matched / len(annotation) if annotation else 0.0
        table.append((2 * matched / (given + len(annotation)), matched / given, recall))
    return table


def _augment(place: int, equal: Sequence[Sequence[int]], taken: dict[int, int], seen: set[int]) -> bool:
    """Find the answer at `place` a gold answer, moving earlier ones to others where need be (Kuhn 1955)."""
    for row in equal[place]:
        if row not in seen:
            seen.add(row)
            if row not in taken or _augment(taken[row], equal, taken, seen):
                taken[row] = place
                return True
    return False


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
