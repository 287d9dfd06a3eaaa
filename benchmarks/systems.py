"""The systems compared: ways to score the same candidates, each with its own threshold from dev."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.plain import fit_plain
from benchmarks.rows import Row
from rtv_core.records import EVIDENCE_SIZES, Trace, Verdict
from rtv_core.settings import VerifierSettings
from rtv_core.thresholds import FINE_TAUS, answers, judge
from rtv_core.training.tau import choose_tau

__all__ = ["MAIN", "System", "build_systems", "verifier_name", "verifier_scores"]

MAIN = "recall, then verify"
PLAIN = "logistic regression on 9 plain features"


@dataclass(frozen=True)
class System:
    """A way to score the candidates of a row, one score each, and the thresholds it may choose from."""

    name: str
    scores: Callable[[Row], Sequence[float]]
    taus: Sequence[float] = FINE_TAUS

    def predict(self, row: Row, tau: float, single_answer: bool = False) -> list[str]:
        """The answers under the rule of `thresholds.judge`, whatever gave the scores."""
        return answers(judge(self._trace(row), VerifierSettings(tau=tau, single_answer=single_answer)))

    def best_tau(self, rows: Sequence[Row]) -> float:
        """The threshold of the best mean F1 (optimal matching); the lowest of equals."""
        return choose_tau([self._trace(row) for row in rows], self.taus).tau

    def _trace(self, row: Row) -> Trace:
        verdicts = tuple(Verdict((score,) * len(EVIDENCE_SIZES)) for score in self.scores(row))
        candidates = tuple(candidate.candidate() for candidate in row.candidates)
        return Trace(row.question, candidates=candidates, verdicts=verdicts)


def build_systems(dev: Sequence[Row]) -> list[System]:
    """Ours at each evidence size, largest first, the recaller alone and, fitted on dev, the plain baseline.

    Without dev rows the plain baseline is left out.
    """
    sizes = reversed(EVIDENCE_SIZES)
    systems = [System(verifier_name(k), verifier_scores(k)) for k in sizes]
    systems.append(System("recaller alone", lambda row: [c.recall for c in row.candidates]))
    if dev:
        features = [candidate.plain for row in dev for candidate in row.candidates]
        score = fit_plain(features, [right for row in dev for right in row.right()])
        systems.append(System(PLAIN, lambda row: score([c.plain for c in row.candidates])))
    return systems


def verifier_name(k: int) -> str:
    """The name of our system with scores from `k` evidence passages."""
    return MAIN if k == max(EVIDENCE_SIZES) else f"{MAIN}, k = {k}"


def verifier_scores(k: int) -> Callable[[Row], list[float]]:
    """The validity scores from `k` evidence passages."""
    size = EVIDENCE_SIZES.index(k)
    return lambda row: [candidate.p_right[size] for candidate in row.candidates]
