"""The first line of an analysis: what a reader of a paper needs, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.analysis.estimate import Estimate
from rtv_core.analysis.mistakes import Inclusion, wrong_predictions
from rtv_core.analysis.rulings import Rulings
from rtv_core.analysis.scores import Rescored
from rtv_core.analysis.shares import Share, share, weighted_share
from rtv_core.metrics import Interval
from rtv_core.records import RunQuestion

__all__ = ["Headline", "headline", "right_share"]


@dataclass(frozen=True, slots=True)
class Headline:
    """`corrected` is the estimate of F1 on corrected gold, exact where every wrong prediction is judged.

    `so_far` is F1 on the gold corrected so far, `right` the share of judged wrong predictions that are right.
    """

    raw: Interval
    so_far: Interval
    corrected: Interval | None
    estimated: bool
    right: Share
    wrong: int

    @property
    def text(self) -> str:
        """The sentence; F1 in points of 100."""
        if self.corrected is None:
            raw = f"F1 {_points(self.raw.mean)} raw ({_points(self.raw.low)} to {_points(self.raw.high)})"
            none = "no wrong prediction is judged yet" if self.wrong else "there is no wrong prediction"
            return f"{raw}; {none}."
        value = f"{_points(self.corrected.mean)} corrected"
        if self.estimated:
            value += f", estimated from {self.right.of:,} of {self.wrong:,} wrong predictions"
        value += f" ({_points(self.corrected.low)} to {_points(self.corrected.high)})"
        right = (
            f"{_percent(self.right.share)} % of wrong predictions judged so far are right "
            f"({_percent(self.right.low)} to {_percent(self.right.high)} %, n = {self.right.of:,})"
        )
        return f"F1 {_points(self.raw.mean)} raw -> {value}; {right}."


def headline(scores: Rescored, estimate: Estimate | None, right: Share, wrong: int) -> Headline:
    """From `rescored` scores, `estimated_scores`, `right_share` and the number of wrong predictions."""
    if estimate is not None:
        return Headline(scores.raw.f1, scores.corrected.f1, estimate.f1, not estimate.complete, right, wrong)
    corrected = scores.corrected.f1 if right.of else None
    return Headline(scores.raw.f1, scores.corrected.f1, corrected, False, right, wrong)


def right_share(
    questions: Sequence[RunQuestion],
    rulings: Rulings,
    inclusion: Inclusion | None = None,
    whole_questions: bool = False,
) -> Share:
    """The share of wrong predictions with a clear ruling that are right after all: false negatives of gold.

    With `inclusion`, design-weighted over the items in it (see `shares.weighted_share`).
    """
    judged = [
        m for m in wrong_predictions(questions, rulings, inclusion) if m.ruling and m.ruling.valid is not None
    ]
    if not inclusion:
        return share("right", sum(m.ruling.valid for m in judged), len(judged))
    drawn = [m for m in judged if m.inclusion]
    groups = [m.question.position for m in drawn] if whole_questions else None
    return weighted_share("right", [m.ruling.valid for m in drawn], [1 / m.inclusion for m in drawn], groups)


def _points(value: float) -> str:
    return f"{100 * value:.1f}"


def _percent(value: float) -> str:
    return f"{100 * value:.0f}"
