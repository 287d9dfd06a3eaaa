"""Third stage: calibrate the validity score and choose tau on dev questions; both go into the reader's card.

Run: python -m rtv_core train calibrate --models DIR --index DIR --questions DEV
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rtv_core.baselines.systems import RecallerAlone
from rtv_core.errors import InputError
from rtv_core.pipeline import Pipeline
from rtv_core.protocols import Retriever
from rtv_core.reading.weights import ReaderCard
from rtv_core.records import EVIDENCE_SIZES, Hit, Question, Trace, Verdict
from rtv_core.text import covers_any, same_answer
from rtv_core.thresholds import FINE_TAUS
from rtv_core.training.tau import choose_tau

__all__ = ["Calibration", "calibrate", "calibrated_scores", "fit_logistic", "fit_rows", "silent_share"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """One row per evidence size (see `EmbeddedVerifier`), the tau of best mean F1 on dev, and that F1.

    `silent` is the share of the questions left unanswered at that tau when their answers are not in the
    corpus. `recaller_tau` is the best threshold of the recaller alone, for comparison.
    """

    rows: tuple[tuple[float, ...], ...]
    tau: float
    f1: float
    questions: int
    silent: float
    recaller_tau: float

    def applied(self, card: ReaderCard) -> ReaderCard:
        """The card with these values in it."""
        names = ("tau", "f1", "questions", "silent", "recaller_tau")
        facts = {name: getattr(self, name) for name in names}
        training = (card.training or {}) | {"calibration": facts}
        return replace(card, calibration=[list(row) for row in self.rows], tau=self.tau, training=training)


def calibrate(
    pipeline: Pipeline, questions: Sequence[Question], progress: Callable[[int, int], None] | None = None
) -> Calibration:
    """Ask the questions, fit a logistic function to what the verifier made of them, and choose tau.

    Each is asked once more over the passages that cover no gold answer, where every candidate is wrong: so
    that the scores also hold where the corpus has no answer. Both count alike. tau is chosen for the largest
    evidence size, on the questions as they are, and so is the recaller's own threshold. The pipeline's
    verifier must be an `EmbeddedVerifier`; whether it is calibrated already changes nothing. Raises
    InputError where nothing can be fitted.
    """
    traces, facts, unanswered = [], [], []
    for question in questions:
        trace = pipeline.ask(question)
        facts.append(pipeline.verifier.calibration_facts(question.text, trace.evidence))
        traces.append(trace)
        trace = replace(pipeline, retriever=_WithoutAnswers(pipeline.retriever, question)).ask(question)
        unanswered.append(pipeline.verifier.calibration_facts(question.text, trace.evidence))
        if progress:
            progress(len(traces), len(questions))
    right = np.array([is_right for trace in traces for is_right in _right(trace)], dtype=float)
    rows = fit_rows(np.concatenate(facts, axis=1), right, np.concatenate(unanswered, axis=1))
    fitted = [
        trace.grown(verdicts=tuple(Verdict(tuple(p)) for p in calibrated_scores(own, rows)))
        for trace, own in zip(traces, facts, strict=True)
    ]
    chosen = choose_tau(fitted, FINE_TAUS)
    alone = choose_tau([RecallerAlone().read(trace) for trace in traces], FINE_TAUS)
    silent = silent_share(unanswered, rows, chosen.tau)
    return Calibration(rows, chosen.tau, chosen.f1, chosen.questions, silent, alone.tau)


def silent_share(unanswered: Sequence[np.ndarray], rows: Sequence[Sequence[float]], tau: float) -> float:
    """The share of questions of which no candidate scores above tau, by the largest evidence size.

    `unanswered` are the facts of each question's candidates, see `fit_rows`.
    """
    scores = ([p[-1] for p in calibrated_scores(facts, rows)] for facts in unanswered)
    return float(np.mean([max(own, default=0.0) <= tau for own in scores]))


class _WithoutAnswers:
    """A retriever that leaves out what covers an answer of one question."""

    def __init__(self, retriever: Retriever, question: Question) -> None:
        self._retriever = retriever
        self._gold = _spellings(question)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        found = self._retriever.search(queries, k)
        return [[hit for hit in hits if not covers_any(hit.passage.text, self._gold)] for hits in found]


def fit_rows(facts: np.ndarray, right: np.ndarray, unanswered: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """One calibration row per evidence size.

    *Shape:* facts (sizes, candidates, columns), right (candidates,), and the facts of candidates of questions
    without an answer (sizes, others, columns).

    Raises InputError where all candidates are right or all wrong, and where a higher difference of the logits
    would mean a lower score: the verifier then has learned nothing that calibration could use.
    """
    if not 0 < right.sum() < len(right):
        raise InputError(
            f"Of {len(right):,} candidates {int(right.sum()):,} are right: a calibration needs right and "
            "wrong ones. Name dev questions whose answers the corpus holds."
        )
    labels = np.concatenate([right, np.zeros(unanswered.shape[1])])
    rows = []
    for size, own in zip(EVIDENCE_SIZES, np.concatenate([facts, unanswered], axis=1), strict=True):
        weights, offset = fit_logistic(own, labels)
        if weights[0] <= 0:
            raise InputError(
                f"With {size} evidence passages the verifier scores wrong candidates higher. Train it longer."
            )
        rows.append((float(offset), *map(float, weights)))
    return tuple(rows)


def calibrated_scores(facts: np.ndarray, rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """The scores under a calibration: facts (sizes, candidates, columns) to (candidates, sizes)."""
    logits = [own @ np.array(row[1:]) + row[0] for own, row in zip(facts, rows, strict=True)]
    return (1 / (1 + np.exp(-np.stack(logits, axis=1)))).tolist()


def fit_logistic(facts: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and offset of a ridge logistic regression of `right` (rows,) on `facts` (rows, columns).

    Columns are standardised for the fit, so that the penalty treats them alike.
    """
    from sklearn.linear_model import LogisticRegression

    centre, spread = facts.mean(axis=0), facts.std(axis=0)
    spread = np.where(spread < 1e-4, np.inf, spread)  # a column that never changes gets no weight
    model = LogisticRegression(C=0.3, max_iter=2000).fit((facts - centre) / spread, right)
    weights = model.coef_[0] / spread
    return weights, float(model.intercept_[0] - weights @ centre)


def _right(trace: Trace) -> list[bool]:
    gold = _spellings(trace.question)
    return [any(same_answer(c.answer, spelling) for spelling in gold) for c in trace.candidates]


def _spellings(question: Question) -> list[str]:
    return [s for annotation in question.answers for spellings in annotation for s in spellings]
