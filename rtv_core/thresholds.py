"""Which candidates count as answers: strictly above tau, else the single best. No model runs here."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.records import Prediction, Trace
from rtv_core.settings import VerifierSettings
from rtv_core.text import answer_key, normalise_answer

__all__ = ["TAUS", "answers", "judge"]

TAUS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""The thresholds tried on dev (paper, appendix)."""


def judge(trace: Trace, settings: VerifierSettings) -> tuple[Prediction, ...]:
    """Every verified candidate under one threshold, best first, ties by first appearance.

    A candidate is accepted if its score is strictly above tau; if none is, the best one is kept as
    `fallback`; in single-answer mode only the best is kept. Of candidates that are one answer after
    normalisation, only the best-scored can be accepted.
    """
    scored = [(verdict.at(settings.k), i) for i, verdict in enumerate(trace.verdicts)]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    predictions, seen = [], set()
    for place, (p_right, i) in enumerate(scored):
        answer = trace.candidates[i].answer
        keys = {normalise_answer(answer), answer_key(answer)}
        first = not keys & seen
        seen |= keys
        above = p_right > settings.tau
        accepted = first and (place == 0 if settings.single_answer else above or place == 0)
        predictions.append(Prediction(i, answer, p_right, accepted, fallback=accepted and not above))
    return tuple(predictions)


def answers(predictions: Sequence[Prediction]) -> list[str]:
    """The accepted answers, best first."""
    return [p.answer for p in predictions if p.accepted]
