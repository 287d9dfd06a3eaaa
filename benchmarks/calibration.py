"""Whether .5 means .5: scores against the share of candidates that equal a gold answer.

Run: python -m benchmarks.calibration --out DIR [--splits dev,test,demo]

DIR is that of benchmarks.quality, which asked the questions. Prints the expected calibration error of each
split and draws OUT/reliability-SPLIT.svg; no model runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from benchmarks.measures import bootstrap_sums
from benchmarks.rows import Row, RowFile
from benchmarks.systems import verifier_scores
from rtv_core.errors import MissingError, RtvError
from rtv_core.metrics import Interval
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.ui.analysis.plots import Line, line_plot

__all__ = ["BINS", "Bin", "calibration_error", "draw_reliability", "main", "reliability"]

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


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True)
@click.option("--splits", default="dev,test,demo", show_default=True)
def main(out: Path, splits: str) -> None:
    """Print the calibration error of each split that was asked, and draw its scores against what is right."""
    try:
        found = {split: RowFile(out / f"{split}.jsonl").rows() for split in dict.fromkeys(splits.split(","))}
        if not any(found.values()):
            raise MissingError(
                f"No rows of {splits} are in {out}. Make them with python -m benchmarks.quality --out {out}."
            )
    except RtvError as error:
        raise click.ClickException(str(error)) from error
    for split, rows in found.items():
        if rows:
            print(_report(split, rows, out / f"reliability-{split}.svg"))


def _report(split: str, rows: Sequence[Row], picture: Path) -> str:
    scores = verifier_scores(max(EVIDENCE_SIZES))
    bins, error = reliability(rows, scores), calibration_error(rows, scores)
    if error is None:
        return f"{split}: no candidate"
    told = (
        f"expected calibration error {100 * error.mean:.1f} points ({100 * error.low:.1f} to "
        f"{100 * error.high:.1f}) over {sum(each.candidates for each in bins):,} candidates"
    )
    picture.write_text(draw_reliability(f"{split}: {told}", bins) + "\n", encoding="utf-8")
    return f"{split}: {told}; {picture}"


def draw_reliability(told: str, bins: Sequence[Bin]) -> str:
    """The share of right candidates against their mean score, with its interval, as SVG; `told` in words."""
    line = Line(
        "candidates",
        tuple((each.score, each.right.mean) for each in bins),
        "corrected",
        dots=True,
        bars=tuple((each.right.low, each.right.high) for each in bins),
    )
    ideal = Line("ideal", ((0.0, 0.0), (1.0, 1.0)), "ideal")
    return line_plot(told, [ideal, line], "mean validity score", "% equal to gold")


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


if __name__ == "__main__":
    main()
