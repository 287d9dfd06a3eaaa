"""What each question is worth under each measure, and figures over questions with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.rows import Row
from benchmarks.systems import System
from rtv_core.metrics import (
    Interval,
    bootstrap_mean,
    exact_match,
    f1_official,
    f1_optimal,
    hits,
    matched_answers,
    paired_bootstrap,
)

__all__ = [
    "PARTS",
    "RECALLED_OF_COVERED",
    "Measures",
    "applies",
    "bootstrap_median",
    "bootstrap_sums",
    "difference",
    "interval",
    "measure_rows",
]

Measures = Mapping[str, Mapping[str, float]]
"""Measure, question id, value; a question to which a measure does not apply is left out."""

PARTS = ("retrieval", "recaller", "seconds")
"""The subjects that are no systems."""

SEED = 1
DRAWS = 2000

RECALLED_OF_COVERED = "recalled / covered"
"""A figure that is no mean: a ratio of the sums of two measures."""


def measure_rows(
    rows: Sequence[Row], systems: Sequence[System], taus: Mapping[str, float], single_answer: bool
) -> dict[str, dict[str, dict[str, float]]]:
    """The measures by subject: those of `PARTS`, and each system that has a tau.

    In single-answer mode a system needs no tau. Questions with the gold "no answer" only have `unanswered`,
    1 where no score is above tau, and seconds.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}

    def note(subject: str, row: Row, values: Mapping[str, float]) -> None:
        for measure, value in values.items():
            found.setdefault(subject, {}).setdefault(measure, {})[row.question.id] = float(value)

    for row in rows:
        note("seconds", row, {**row.seconds, "all": sum(row.seconds.values())})
        if row.answerable:
            note("retrieval", row, row.retrieval)
            note("recaller", row, _recalled(row))
        for system in systems:
            if single_answer:
                note(system.name, row, _single(row, system.predict(row, 0.0, single_answer=True)))
            elif row.answerable and system.name in taus:
                note(system.name, row, _several(row, system.predict(row, taus[system.name])))
            elif system.name in taus:
                above = any(score > taus[system.name] for score in system.scores(row))
                note(system.name, row, {"unanswered": not above})
    return found


def _recalled(row: Row) -> dict[str, float]:
    """Covered gold answers, those of them that were recalled; candidates, the share of right ones."""
    given = [candidate.answer for candidate in row.candidates]
    matched = [matched_answers(given, annotation) for annotation in row.question.answers]
    pairs = [
        (c, m)
        for covered, recalled in zip(row.covered, matched, strict=True)
        for c, m in zip(covered, recalled, strict=True)
    ]
    return {
        "covered": sum(c for c, _ in pairs),
        "recalled": sum(c and m for c, m in pairs),
        "candidates": len(given),
        "precision": sum(row.right()) / max(1, len(given)),
    }


def _single(row: Row, given: Sequence[str]) -> dict[str, float]:
    return {"exact_match": exact_match(given, row.question.answers)}


def _several(row: Row, given: Sequence[str]) -> dict[str, float]:
    gold = row.question.answers
    score = f1_optimal(given, gold)
    return _single(row, given) | {
        "f1": score.f1,
        "f1_official": f1_official(given, gold).f1,
        "precision": score.precision,
        "recall": score.recall,
        "hits": hits(given, gold),
        "answers": len(given),
    }


def interval(figure: str, measures: Measures, ids: Collection[str]) -> Interval | None:
    """A mean over the questions, or the ratio `RECALLED_OF_COVERED`; None where it applies to no question."""
    columns = _columns(figure, measures, ids)
    if not columns[0]:
        return None
    if len(columns) == 1:
        return bootstrap_mean(columns[0], SEED, DRAWS)
    return bootstrap_sums(_ratio, list(zip(*columns, strict=True)))


def difference(figure: str, a: Measures, b: Measures, ids: Collection[str]) -> Interval | None:
    """The figure of `b` less that of `a`, both over the same questions, drawn in pairs."""
    shared = [i for i in ids if all(applies(figure, measures, i) for measures in (a, b))]
    of_a, of_b = _columns(figure, a, shared), _columns(figure, b, shared)
    if not shared:
        return None
    if len(of_a) == 1:
        return paired_bootstrap(of_b[0], of_a[0], SEED, DRAWS)
    table = list(zip(*of_a, *of_b, strict=True))
    return bootstrap_sums(lambda sums: _ratio(sums[:, 2:]) - _ratio(sums[:, :2]), table)


def applies(figure: str, measures: Measures, question: str) -> bool:
    """Whether a question counts in a figure."""
    return all(question in measures.get(part, {}) for part in _parts(figure))


def bootstrap_sums(statistic: Callable[[np.ndarray], np.ndarray], table: Sequence[Any]) -> Interval:
    """A statistic of sums over questions, resampled by question; draws in which it is NaN are left out.

    `table` is (questions, columns); the statistic takes sums, (draws, columns), and gives (draws,).
    """
    rows = np.asarray(table, np.float64)
    values = statistic(_counts(len(rows)) @ rows)
    low, high = np.nanpercentile(values, (2.5, 97.5))
    return Interval(float(statistic(rows.sum(axis=0, keepdims=True))[0]), float(low), float(high))


def bootstrap_median(values: Sequence[float]) -> Interval:
    """The median of one value a question, resampled by question."""
    array = np.asarray(values, np.float64)
    low, high = np.percentile(np.median(array[_draws(array.size)], axis=1), (2.5, 97.5))
    return Interval(float(np.median(array)), float(low), float(high))


def _draws(size: int) -> np.ndarray:
    """Which questions each draw holds, (draws, questions)."""
    return np.random.default_rng(SEED).integers(size, size=(DRAWS, size))


@lru_cache(maxsize=4)
def _counts(size: int) -> np.ndarray:
    """How often each draw holds each question, (draws, questions)."""
    places = _draws(size) + size * np.arange(DRAWS)[:, None]
    return np.bincount(places.ravel(), minlength=DRAWS * size).reshape(DRAWS, size).astype(np.float64)


def _parts(figure: str) -> tuple[str, ...]:
    return ("recalled", "covered") if figure == RECALLED_OF_COVERED else (figure,)


def _columns(figure: str, measures: Measures, ids: Collection[str]) -> list[list[float]]:
    known = [i for i in ids if applies(figure, measures, i)]
    return [[measures[part][i] for i in known] for part in _parts(figure)]


def _ratio(sums: np.ndarray) -> np.ndarray:
    # A draw without anything to find (possible among few questions) counts as nothing found.
    return sums[:, 0] / np.maximum(sums[:, 1], 1)
