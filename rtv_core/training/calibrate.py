"""Third stage: calibrate the validity score and choose tau on dev questions; both go into the reader's card.

Run: python -m rtv_core train calibrate --models DIR --index DIR --questions DEV
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import mean

import numpy as np

from rtv_core.metrics import f1_optimal
from rtv_core.pipeline import Pipeline
from rtv_core.reading.weights import ReaderCard
from rtv_core.records import EVIDENCE_SIZES, Question, Trace, Verdict
from rtv_core.settings import VerifierSettings
from rtv_core.text import same_answer
from rtv_core.thresholds import FINE_TAUS, answers, judge

__all__ = ["Calibration", "calibrate", "fit_logistic"]

K = EVIDENCE_SIZES[-1]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The verifier's `temperature`, `bias` and `totals`, the tau of best mean F1 on dev, and that F1."""

    temperature: float
    bias: float
    totals: tuple[float, ...]
    tau: float
    f1: float
    questions: int

    def applied(self, card: ReaderCard) -> ReaderCard:
        """The card with these values in it."""
        training = (card.training or {}) | {"calibration": asdict(self)}
        return replace(
            card,
            temperature=self.temperature,
            bias=self.bias,
            totals=list(self.totals),
            tau=self.tau,
            training=training,
        )


def calibrate(
    pipeline: Pipeline, questions: Sequence[Question], progress: Callable[[int, int], None] | None = None
) -> Calibration:
    """Ask the questions, fit a logistic function to what the verifier made of them, and choose tau.

    The pipeline's verifier must be an `EmbeddedVerifier`; whether it is calibrated already changes nothing.
    """
    traces, facts = [], []
    for question in questions:
        trace = pipeline.ask(question)
        facts.append(pipeline.verifier.calibration_facts(question.text, trace.evidence))
        traces.append(trace)
        if progress:
            progress(len(traces), len(questions))
    right = np.array([is_right for trace in traces for is_right in _right(trace)], dtype=float)
    weights, offset = fit_logistic(np.concatenate(facts), right)
    fitted = [
        trace.grown(
            verdicts=tuple(Verdict((p,) * len(EVIDENCE_SIZES)) for p in _scores(own, weights, offset))
        )
        for trace, own in zip(traces, facts, strict=True)
    ]
    scores = {tau: _mean_f1(fitted, tau) for tau in FINE_TAUS}
    tau = max(FINE_TAUS, key=lambda value: (scores[value], -value))
    slope = float(weights[0])
    return Calibration(
        temperature=1 / slope,
        bias=float(offset) / slope,
        totals=tuple(float(weight) / slope for weight in weights[1:]),
        tau=tau,
        f1=scores[tau],
        questions=len(questions),
    )


def fit_logistic(facts: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and offset of a ridge logistic regression of `right` (rows,) on `facts` (rows, columns).

    Columns are standardised for the fit, so that the penalty treats them alike.
    """
    from sklearn.linear_model import LogisticRegression

    centre, spread = facts.mean(axis=0), facts.std(axis=0) + 1e-6
    model = LogisticRegression(C=0.3, max_iter=2000).fit((facts - centre) / spread, right)
    weights = model.coef_[0] / spread
    return weights, float(model.intercept_[0] - weights @ centre)


def _scores(facts: np.ndarray, weights: np.ndarray, offset: float) -> list[float]:
    return (1 / (1 + np.exp(-(facts @ weights + offset)))).tolist()


def _mean_f1(traces: Sequence[Trace], tau: float) -> float:
    settings = VerifierSettings(tau=tau, k=K)
    return mean(f1_optimal(answers(judge(trace, settings)), trace.question.answers).f1 for trace in traces)


def _right(trace: Trace) -> list[bool]:
    gold = [s for annotation in trace.question.answers for spellings in annotation for s in spellings]
    return [any(same_answer(c.answer, spelling) for spelling in gold) for c in trace.candidates]
