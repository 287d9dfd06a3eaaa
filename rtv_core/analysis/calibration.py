"""How far validity scores tell the share that is right: reliability, calibration error, Brier score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rtv_core.analysis.mistakes import CANDIDATE, PREDICTION, Inclusion, equals_gold
from rtv_core.analysis.mistakes import GOLD as MISSED
from rtv_core.analysis.rulings import Rulings, key_of
from rtv_core.analysis.shares import Share, weighted_share
from rtv_core.errors import InputError
from rtv_core.records import RunAnswer, RunQuestion

__all__ = [
    "Bar",
    "Bin",
    "Reliability",
    "ScoredItem",
    "reliability",
    "score_histogram",
    "scored_by_gold",
    "scored_by_verdicts",
]

GOLD = "equals gold"
UNJUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class ScoredItem:
    """A candidate's validity score, whether it is right, and how many candidates it stands for."""

    p_right: float
    right: bool
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Bin:
    """Candidates scored from `low` (included) to `high` (only the last bin has it too): their mean score and
    the share that is right."""

    low: float
    high: float
    p_right: float
    right: Share


@dataclass(frozen=True, slots=True)
class Reliability:
    """`bins` are those that hold candidates. `error` is the expected calibration error, the mean over
    candidates of |share right - mean score| of their bin (Guo et al. 2017); `brier` the mean squared
    difference of score and truth (Brier 1950). Both 0 at best."""

    bins: tuple[Bin, ...]
    error: float
    brier: float
    items: int


@dataclass(frozen=True, slots=True)
class Bar:
    """Candidates scored from `low` to `high`; `verdict`: "equals gold", a label, "split" or "not judged"."""

    low: float
    high: float
    verdict: str
    count: int


def scored_by_gold(questions: Sequence[RunQuestion]) -> list[ScoredItem]:
    """Every scored candidate of the questions with known gold; right if it equals a gold answer."""
    return [
        ScoredItem(answer.p_right, equals_gold(question, answer))
        for question, answer in _scored(questions)
        if question.question.answers
    ]


def scored_by_verdicts(
    questions: Sequence[RunQuestion],
    rulings: Rulings,
    inclusion: Inclusion | None = None,
    predicted_only: bool = True,
) -> list[ScoredItem]:
    """The scored predictions whose truth is known: those that equal gold, and others as people ruled.

    Predictions that equal gold are right unless people say otherwise. For the others, those with a clear
    ruling stand, with weights that sum to their number: equal weights, or with `inclusion` 1 / the
    probability with which each was drawn (judged ones that no queue drew are left out). `predicted_only`
    False takes all candidates, which is fair only if the verdicts are a sample of all of them.
    """
    equal, judged, others = [], [], 0
    for question, answer in _scored(questions):
        if predicted_only and not answer.predicted:
            continue
        ruling = rulings.of(question, answer.answer, *answer.spellings)
        right = ruling.valid if ruling else None
        if equals_gold(question, answer):
            equal.append(ScoredItem(answer.p_right, right is not False))
            continue
        others += 1
        drawn = _drawn(inclusion, question, answer) if inclusion else 1.0
        if right is not None and drawn:
            judged.append(ScoredItem(answer.p_right, right, 1 / drawn))
    scale = others / sum(item.weight for item in judged) if judged else 1.0
    return equal + [replace(item, weight=item.weight * scale) for item in judged]


def reliability(items: Sequence[ScoredItem], bins: int = 10) -> Reliability:
    """The reliability diagram in bins of equal width. Raises InputError where there is nothing to show."""
    if not items:
        raise InputError("No candidate has both a score and a known truth: there is no reliability to show.")
    score = np.array([item.p_right for item in items])
    right = np.array([item.right for item in items])
    weight = np.array([item.weight for item in items])
    place = _places(score, bins)
    drawn, error = [], 0.0
    for number in np.unique(place):
        own = place == number
        mean = float(weight[own] @ score[own] / weight[own].sum())
        part = weighted_share("right", right[own].tolist(), weight[own].tolist())
        drawn.append(Bin(float(number / bins), float((number + 1) / bins), mean, part))
        error += abs(part.share - mean) * weight[own].sum() / weight.sum()
    brier = weight @ (score - right) ** 2 / weight.sum()
    return Reliability(tuple(drawn), float(error), float(brier), len(items))


def score_histogram(
    questions: Sequence[RunQuestion], rulings: Rulings, bins: int = 20, predicted_only: bool = False
) -> tuple[Bar, ...]:
    """How many candidates of each verdict have which scores; empty bars are left out."""
    pairs = [(q, a) for q, a in _scored(questions) if a.predicted or not predicted_only]
    if not pairs:
        return ()
    places = _places(np.array([answer.p_right for _, answer in pairs]), bins).tolist()
    verdicts = [_verdict(question, answer, rulings) for question, answer in pairs]
    counts = Counter(zip(places, verdicts, strict=True))
    return tuple(
        Bar(place / bins, (place + 1) / bins, verdict, count)
        for (place, verdict), count in sorted(counts.items())
    )


def _scored(questions: Sequence[RunQuestion]) -> Iterator[tuple[RunQuestion, RunAnswer]]:
    for question in questions:
        yield from ((question, answer) for answer in question.answers if answer.p_right is not None)


def _places(score: np.ndarray, bins: int) -> np.ndarray:
    return np.minimum((score * bins).astype(int), bins - 1)


def _verdict(question: RunQuestion, answer: RunAnswer, rulings: Rulings) -> str:
    if ruling := rulings.of(question, answer.answer, *answer.spellings):
        return ruling.label
    return GOLD if equals_gold(question, answer) else UNJUDGED


def _drawn(inclusion: Inclusion, question: RunQuestion, answer: RunAnswer) -> float | None:
    kinds = (PREDICTION,) if answer.predicted else (CANDIDATE, MISSED)
    found = (inclusion.get((kind, question.position, key_of(answer.answer))) for kind in kinds)
    return next((chance for chance in found if chance), None)
