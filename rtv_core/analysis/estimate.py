"""Corrected scores estimated from a sample of the wrong predictions: as if people had judged them all.

For each question q with wrong predictions, some judged and w not yet:

    e(q)    the expected score if each of the w were right with the sample's weighted shares (a variant of a
            missed gold answer; an unlisted answer; neither), given what is known of the others
    e(q-i)  the same if judged item i were forgotten
    z(q)  = e(q) + Σ over judged i of (1/π(i) - 1) (e(q) - e(q-i))

and the estimate is the mean of z: a difference estimator (Särndal, Swensson and Wretman 1992, ch. 6), where
the shares only help and π, the probability with which item i was drawn, corrects them. The weights are scaled
to sum to the number of wrong predictions (Hájek), which also allows for items drawn but not judged yet, if
they are judged in random order. It is exact once everything is judged, and otherwise unbiased up to the
interplay of two unjudged predictions of one question, and of the shares with the sample. The interval
resamples questions, each with its judged items; z may leave 0 to 1, the interval's ends may not.

An answer that annotators agree is right, but not which gold answer it is, counts as an answer of its own: the
lesser of the gains that it may be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb

import numpy as np

from rtv_core.analysis.corrected import correct_question
from rtv_core.analysis.mistakes import Inclusion, Mistake, wrong_predictions
from rtv_core.analysis.rulings import Ruling, Rulings
from rtv_core.analysis.scores import predictions
from rtv_core.metrics import Interval, bootstrap_mean, f1_optimal, hits, is_multi
from rtv_core.records import Question, RunQuestion

__all__ = ["Estimate", "estimated_scores", "estimated_values"]

Gold = tuple[tuple[int, int], ...]
"""Per annotation: predictions that match it, and its answers."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What F1, precision and recall would be if all `wrong` predictions were judged; `judged` of them are.

    `designed` is False where no queue drew the judged items: they are then taken for a uniform sample, which
    verdicts on answers that somebody happened to look at are not. `f1_multi`: questions with several answers.
    """

    f1: Interval
    precision: Interval
    recall: Interval
    f1_multi: Interval | None
    judged: int
    wrong: int
    designed: bool
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to estimate."""
        return self.judged == self.wrong


def estimated_scores(
    questions: Sequence[RunQuestion], rulings: Rulings, inclusion: Inclusion | None = None, seed: int = 0
) -> Estimate | None:
    """The estimate over questions with known gold; None where no wrong prediction has a clear ruling.

    With `inclusion`, rulings on wrong predictions outside it are used as known but stand for nothing else;
    None if all lie outside.
    """
    known = [question for question in questions if question.question.answers]
    cases = _cases(known, rulings, inclusion)
    if (values := _values(cases, designed=bool(inclusion))) is None:
        return None
    total = _wrong(cases)
    multi = values[[is_multi(question.question) for question in known]]
    judged = sum(len(case.judged) for case in cases)
    return Estimate(
        _interval(values[:, 0], seed),
        _interval(values[:, 1], seed),
        _interval(values[:, 2], seed),
        _interval(multi[:, 0], seed) if len(multi) else None,
        judged,
        total,
        bool(inclusion),
        _notes(judged, total, bool(inclusion)),
    )


def estimated_values(
    questions: Sequence[RunQuestion], rulings: Rulings, inclusion: Inclusion | None = None
) -> np.ndarray | None:
    """z of each question (all must have gold), whose means are the estimate: F1, precision, recall.

    None where `estimated_scores` is. *Shape:* (questions, 3).
    """
    return _values(_cases(questions, rulings, inclusion), designed=bool(inclusion))


@dataclass(frozen=True, slots=True)
class _Case:
    """One question: its predictions, its gold as corrected so far, its judged wrong predictions, and how many
    are not judged. `without` has the counts for each judged one as if it were not."""

    given: list[str]
    gold: Question
    judged: list[Mistake]
    unjudged: int
    counts: Gold
    without: list[Gold]


def _cases(questions: Sequence[RunQuestion], rulings: Rulings, inclusion: Inclusion | None) -> list[_Case]:
    wrong: dict[int, list[Mistake]] = defaultdict(list)
    for mistake in wrong_predictions(questions, rulings, inclusion):
        wrong[mistake.question.position].append(mistake)
    return [_case(question, rulings.on(question), wrong[question.position]) for question in questions]


def _wrong(cases: Sequence[_Case]) -> int:
    return sum(len(case.judged) + case.unjudged for case in cases)


def _values(cases: Sequence[_Case], designed: bool) -> np.ndarray | None:
    """z of each case (cases, 3); None where no judged prediction stands for any."""
    if not (weights := _weights(cases, _wrong(cases), designed)):
        return None
    shares = _shares(cases, weights)
    return np.array([_value(case, own, shares) for case, own in zip(cases, weights, strict=True)])


def _case(question: RunQuestion, ruled: Sequence[Ruling], wrong: Sequence[Mistake]) -> _Case:
    given = predictions(question)
    ruled = [_taken(ruling) for ruling in ruled]
    judged = [m for m in wrong if m.ruling is not None and m.ruling.valid is not None]
    gold = correct_question(question, ruled)[0]
    others = [[r for r in ruled if r.answer != m.ruling.answer] for m in judged]
    without = [_counts(given, correct_question(question, kept)[0]) for kept in others]
    return _Case(given, gold, judged, len(wrong) - len(judged), _counts(given, gold), without)


def _taken(ruling: Ruling) -> Ruling:
    """The ruling as it counts here: where a right answer's kind is disputed, as an answer of its own."""
    disputed = not ruling.clear and ruling.valid
    return replace(ruling, label="unlisted") if disputed else ruling


def _counts(given: Sequence[str], gold: Question) -> Gold:
    return tuple((hits(given, (annotation,)), len(annotation)) for annotation in gold.answers)


def _weights(cases: Sequence[_Case], total: int, designed: bool) -> list[list[float]]:
    """How many wrong predictions each judged one stands for, by case; empty if none stands for any."""
    if all(not case.unjudged for case in cases):
        return [[1.0] * len(case.judged) for case in cases] if total else []
    raw = [[_weight(m.inclusion) if designed else 1.0 for m in case.judged] for case in cases]
    summed = sum(map(sum, raw))
    return [[w * total / summed for w in own] for own in raw] if summed else []


def _weight(inclusion: float | None) -> float:
    return 1 / inclusion if inclusion else 0.0


def _shares(cases: Sequence[_Case], weights: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The weighted shares of variants that match a missed gold answer, and of unlisted answers."""
    sums = [0.0, 0.0, 0.0]
    for case, own in zip(cases, weights, strict=True):
        for without, weight in zip(case.without, own, strict=True):
            sums[_effect(case.counts, without)] += weight
    return sums[1] / sum(sums), sums[2] / sum(sums)


def _effect(counts: Gold, without: Gold) -> int:
    """What a verdict added to the question's counts: 0 nothing, 1 a match, 2 a match and an answer."""
    pairs = list(zip(counts, without, strict=True))
    if not any(now[0] > before[0] for now, before in pairs):
        return 0
    return 2 if any(now[1] > before[1] for now, before in pairs) else 1


def _value(case: _Case, weights: Sequence[float], shares: tuple[float, float]) -> np.ndarray:
    """z(q): F1, precision, recall."""
    if case.unjudged:
        expected = _expected(case.counts, len(case.given), case.unjudged, shares)
    else:
        score = f1_optimal(case.given, case.gold.answers)
        expected = np.array([score.f1, score.precision, score.recall])
    value = expected.copy()
    for without, weight in zip(case.without, weights, strict=True):
        forgotten = _expected(without, len(case.given), case.unjudged + 1, shares)
        value += (weight - 1) * (expected - forgotten)
    return value


def _expected(counts: Gold, given: int, unjudged: int, shares: tuple[float, float]) -> np.ndarray:
    """F1, precision and recall of the best annotation, expected over what the unjudged may turn out to be."""
    variants, unlisted, probability = _outcomes(unjudged, *shares)  # (outcomes,) each
    best = np.zeros((3, len(probability)))
    for matched, answers in counts:
        found = matched + np.minimum(variants, answers - matched) + unlisted
        wanted = answers + unlisted
        f1 = 2 * found / (given + wanted)
        scores = np.stack([f1, found / given, found / np.maximum(wanted, 1)])
        best = np.where(f1 > best[0], scores, best)
    return best @ probability


@lru_cache(maxsize=256)
def _outcomes(unjudged: int, variant: float, unlisted: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of variants and of unlisted answers among the unjudged, with their multinomial probability."""
    pairs = [(v, u) for v in range(unjudged + 1) for u in range(unjudged + 1 - v)]
    neither = max(1 - variant - unlisted, 0.0)
    probability = [
        comb(unjudged, v) * comb(unjudged - v, u) * variant**v * unlisted**u * neither ** (unjudged - v - u)
        for v, u in pairs
    ]
    return np.array([v for v, _ in pairs]), np.array([u for _, u in pairs]), np.array(probability)


def _interval(values: np.ndarray, seed: int) -> Interval:
    interval = bootstrap_mean(values, seed)
    return Interval(interval.mean, *(min(max(end, 0.0), 1.0) for end in (interval.low, interval.high)))


def _notes(judged: int, wrong: int, designed: bool) -> tuple[str, ...]:
    notes = ["Answers that the run did not predict count only where people added them or judged them."]
    if not designed and judged < wrong:
        notes.append("No queue drew the judged predictions: they are taken for a uniform sample.")
    if judged < min(30, wrong):
        notes.append(f"Only {judged} wrong predictions are judged: the interval is rough below 30.")
    return tuple(notes)
