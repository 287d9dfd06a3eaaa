"""Whether .5 means .5: scores against the share of candidates that equal a gold answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.measures import bootstrap_sums
from benchmarks.rows import Row
from rtv_core.metrics import Interval

__all__ = ["BINS", "Bin", "calibration_error", "reliability"]

BINS = 10
"""Equal bins of the score: 0 to .1, .1 to .2, ..."""

Scores = Callable[[Row], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Bin:
    """Candidates whose score lies from `low` on: how many, their mean score, the share of right ones."""

    low: float
    candidates: int
    score: float
    right: Interval


def calibration_error(rows: Sequence[Row], scores: Scores, above: float = -1.0) -> Interval | None:
    """Expected calibration error over the candidates with a score above `above`, resampled by question.

    None where there is no such candidate.
    """
    totals = _totals(rows, scores, above)
    if not totals[..., 0].any():
        return None
    return bootstrap_sums(_error, totals.reshape(len(rows), -1))


def reliability(rows: Sequence[Row], scores: Scores) -> list[Bin]:
    """The bins that hold a candidate, lowest first."""
    bins = []
    for i, totals in enumerate(np.moveaxis(_totals(rows, scores), 1, 0)):  # (questions, 3)
        count, score, _ = totals.sum(axis=0)
        if count:
            bins.append(Bin(i / BINS, int(count), float(score / count), bootstrap_sums(_share_right, totals)))
    return bins


def _totals(rows: Sequence[Row], scores: Scores, above: float = -1.0) -> np.ndarray:
    """Candidates, their summed score and the right ones, by question and bin.

    *Shape:* (questions, BINS, 3)
    """
    totals = np.zeros((len(rows), BINS, 3))
    for i, row in enumerate(rows):
        for score, right in zip(scores(row), row.right(), strict=True):
            if score > above:
                totals[i, min(int(score * BINS), BINS - 1)] += (1, score, right)
    return totals


def _error(sums: np.ndarray) -> np.ndarray:
    count, score, right = np.moveaxis(sums.reshape(-1, BINS, 3), 2, 0)  # (draws, BINS) each
    return np.abs(score - right).sum(axis=1) / np.maximum(count.sum(axis=1), 1)


def _share_right(sums: np.ndarray) -> np.ndarray:
    count, _, right = sums.T  # (draws,) each
    return np.divide(right, count, out=np.full_like(right, np.nan), where=count > 0)
