"""What a run made of an answer, in words."""

from __future__ import annotations

from rtv_core.ui.annotate.sheet import Score
from rtv_core.ui.markup import Markup, tag

__all__ = ["score_words"]


def score_words(score: Score) -> tuple[str | Markup, ...]:
    """Validity score, whether it was predicted, and tau, as parts of a line."""
    kept = "predicted" if score.predicted else "not predicted"
    if score.p_right is None:
        return f"{kept} · the run has no scores", ""
    tau = "" if score.tau is None else f" · tau {score.tau:.2f}"
    return "validity score ", tag("b", f"{score.p_right:.2f}"), f" · {kept}{tau}"
