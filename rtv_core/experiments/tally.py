"""Values question by question, and the figures of them with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rtv_core.experiments.table import Cell
from rtv_core.metrics import (
    Interval,
    bootstrap_mean,
    cluster_minima,
    f1_official,
    f1_optimal,
    hits,
    is_multi,
    paired_bootstrap,
)
from rtv_core.records import Question

__all__ = ["SEED", "Tally", "answer_values", "count", "share"]

SEED = 1


class Tally:
    """The values of one line of a table, by measure; each measure has one value a question that it fits."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, float]] = {}
        self._multi: dict[str, bool] = {}

    def add(self, question: Question, **values: float) -> None:
        """Note a question's values."""
        self._multi[question.id] = is_multi(question)
        for measure, value in values.items():
            self._values.setdefault(measure, {})[question.id] = float(value)

    def __len__(self) -> int:
        """How many questions have values."""
        return len(self._multi)

    def mean(self, measure: str, scale: float = 100, digits: int = 1) -> Cell | None:
        """The mean of a measure; None where it fits no question."""
        known = self._values.get(measure, {})
        if not known:
            return None
        several = self._several(known)
        multi = bootstrap_mean(several, SEED) if several else None
        return Cell(bootstrap_mean(list(known.values()), SEED), multi, scale, digits)

    def robust(self, measure: str, clusters: Mapping[str, str]) -> Cell | None:
        """The mean over clusters of the least value in each (RoMQA); None where no value has a cluster."""
        known = {id_: value for id_, value in self._values.get(measure, {}).items() if id_ in clusters}
        if not known:
            return None
        least = cluster_minima(list(known.values()), [clusters[id_] for id_ in known])
        return Cell(bootstrap_mean(least, SEED))

    def total(self, measure: str) -> Cell | None:
        """The sum of a measure over the questions."""
        known = self._values.get(measure, {})
        if not known:
            return None
        several = self._several(known)
        return Cell(_sum(list(known.values())), _sum(several) if several else None, 1, 0)

    def ahead(self, of: Tally, measure: str) -> Cell | None:
        """How much higher a measure is here than in another tally, paired by question."""
        own, other = self._values.get(measure, {}), of._values.get(measure, {})
        shared = {id_: own[id_] - other[id_] for id_ in own if id_ in other}
        if not shared:
            return None
        several = self._several(shared)
        none = [0.0] * len(several)
        multi = paired_bootstrap(several, none, SEED) if several else None
        return Cell(paired_bootstrap(list(shared.values()), [0.0] * len(shared), SEED), multi)

    @property
    def note(self) -> str:
        """What "all / several answers" means for these questions, in a sentence."""
        several = sum(self._multi.values())
        if several == len(self):
            return f"{len(self):,} questions, all with several answers: the figures are over all of them."
        if not several:
            return f"{len(self):,} questions, none with several answers in every annotation."
        return f"{len(self):,} questions; after the stroke, the {several:,} with several answers."

    def _several(self, known: dict[str, float]) -> list[float]:
        """The values of the questions with several answers, if these are some but not all."""
        several = [value for id_, value in known.items() if self._multi[id_]]
        return several if len(several) < len(known) else []


def answer_values(predictions: Sequence[str], question: Question) -> dict[str, float]:
    """The measures of predictions: F1 under both matchings, precision, recall, #Hit, and how many."""
    official = f1_official(predictions, question.answers)
    return {
        "f1": official.f1,
        "f1_optimal": f1_optimal(predictions, question.answers).f1,
        "precision": official.precision,
        "recall": official.recall,
        "hits": hits(predictions, question.answers),
        "answers": len(predictions),
    }


def count(number: float, digits: int = 0) -> Cell:
    """A number without an interval."""
    return Cell(Interval(number, number, number), scale=1, digits=digits)


def share(values: Sequence[bool]) -> Cell | None:
    """The share that is true, with its interval over the values; None without any."""
    return Cell(bootstrap_mean([float(value) for value in values], SEED)) if values else None


def _sum(values: Sequence[float]) -> Interval:
    mean = bootstrap_mean(values, SEED)
    n = len(values)
    return Interval(n * mean.mean, n * mean.low, n * mean.high)
