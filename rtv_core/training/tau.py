"""The threshold of a system: the one of the best mean F1 on dev."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from rtv_core.metrics import f1_optimal
from rtv_core.records import Trace
from rtv_core.settings import VerifierSettings
from rtv_core.thresholds import answers, judge

__all__ = ["ChosenTau", "choose_tau"]


@dataclass(frozen=True, slots=True)
class ChosenTau:
    """A threshold, and the mean F1 on the questions it was chosen on."""

    tau: float
    f1: float
    questions: int


def choose_tau(traces: Sequence[Trace], taus: Sequence[float]) -> ChosenTau:
    """The tau of the best mean F1 (optimal matching), the lowest of equals. The questions must have gold.

    Scores are those of the largest evidence size.
    """
    found = {
        tau: mean(
            f1_optimal(answers(judge(trace, VerifierSettings(tau=tau))), trace.question.answers).f1
            for trace in traces
        )
        for tau in taus
    }
    tau = max(taus, key=lambda value: (found[value], -value))
    return ChosenTau(tau, found[tau], len(traces))
