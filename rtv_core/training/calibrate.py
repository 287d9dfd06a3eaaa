"""Third stage: temperature, bias and tau from dev questions, written into the reader's card.

Run: python -m rtv_core train calibrate --models DIR --index DIR --questions DEV
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean

import numpy as np

from rtv_core.metrics import f1_optimal
from rtv_core.pipeline import Pipeline
from rtv_core.reading.weights import ReaderCard
from rtv_core.records import EVIDENCE_SIZES, Question, Trace
from rtv_core.settings import VerifierSettings
from rtv_core.text import same_answer
from rtv_core.thresholds import TAUS, answers, judge

__all__ = ["Calibration", "calibrate", "fit_logistic"]

K = EVIDENCE_SIZES[-1]


@dataclass(frozen=True, slots=True)
class Calibration:
    """`temperature` and `bias` of the logit difference, the tau of best mean F1 on dev, and that F1."""

    temperature: float
    bias: float
    tau: float
    f1: float
    questions: int

    def applied(self, card: ReaderCard) -> ReaderCard:
        """The card with these values in it."""
        training = (card.training or {}) | {"calibration": asdict(self)}
        return replace(card, temperature=self.temperature, bias=self.bias, tau=self.tau, training=training)


def calibrate(
    pipeline: Pipeline, questions: Sequence[Question], progress: Callable[[int, int], None] | None = None
) -> Calibration:
    """Ask the questions, fit a logistic function to the scores, and choose tau among the paper's.

    The pipeline's verifier must be uncalibrated (temperature 1, bias 0).
    """
    traces = []
    for question in questions:
        traces.append(pipeline.ask(question))
        if progress:
            progress(len(traces), len(questions))
    logits = [_logit(verdict.at(K)) for trace in traces for verdict in trace.verdicts]
    right = [is_right for trace in traces for is_right in _right(trace)]
    slope, offset = fit_logistic(np.array(logits), np.array(right, dtype=float))
    fitted = [
        trace.grown(
            verdicts=tuple(
                replace(v, p_right=tuple(_sigmoid(slope * _logit(p) + offset) for p in v.p_right))
                for v in trace.verdicts
            )
        )
        for trace in traces
    ]
    scores = {tau: _mean_f1(fitted, tau) for tau in TAUS}
    tau = max(TAUS, key=lambda value: (scores[value], -value))
    return Calibration(1 / slope, offset / slope, tau, scores[tau], len(questions))


def fit_logistic(logits: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logistic function of least log loss (Platt, 1999)."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6, max_iter=1000).fit(logits[:, None], right)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def _mean_f1(traces: Sequence[Trace], tau: float) -> float:
    settings = VerifierSettings(tau=tau, k=K)
    return mean(f1_optimal(answers(judge(trace, settings)), trace.question.answers).f1 for trace in traces)


def _right(trace: Trace) -> list[bool]:
    gold = [s for annotation in trace.question.answers for spellings in annotation for s in spellings]
    return [any(same_answer(c.answer, spelling) for spelling in gold) for c in trace.candidates]


def _logit(p: float) -> float:
    p = min(max(p, 1e-7), 1 - 1e-7)
    return math.log(p / (1 - p))


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))
