"""The baselines themselves: each answers a trace's question from its hits, in a trace of its own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from rtv_core.records import EVIDENCE_SIZES, Candidate, Hit, Prediction, Question, Reading, Trace, Verdict
from rtv_core.settings import Settings, VerifierSettings
from rtv_core.thresholds import FINE_TAUS, judge

if TYPE_CHECKING:
    from rtv_core.baselines.joint import PassageReader
    from rtv_core.baselines.rerank import Reranker

__all__ = [
    "BASELINE_TAUS",
    "Baseline",
    "ConcatenatedReading",
    "OtherPipeline",
    "PipelineLike",
    "RecallerAlone",
    "RerankThenRead",
    "predict",
    "scored_trace",
    "settings_of",
]

BASELINE_TAUS = tuple(sorted((0.002, 0.005, 0.015, *FINE_TAUS)))
"""Lower than our own, so that no baseline loses by a coarse grid: ten answers share one softmax."""

READ = 10
"""How many passages a joint reader gets (paper: k = 10)."""


class Baseline(Protocol):
    """Another way to answer. `tau` is its threshold, chosen on dev; `weights` are hashes of what it runs."""

    @property
    def name(self) -> str: ...

    @property
    def tau(self) -> float: ...

    @property
    def weights(self) -> Mapping[str, str]: ...

    def read(self, trace: Trace) -> Trace:
        """This system's trace over the same question and hits.

        Its candidates carry its scores, and so do its verdicts (at every evidence size), so that
        `thresholds.judge` and the pages treat it as they do any trace. `trace` must at least be retrieved.
        """
        ...


def predict(baseline: Baseline, trace: Trace, tau: float | None = None) -> tuple[Prediction, ...]:
    """A baseline's answers under the rules of `thresholds.judge`; at its own tau unless one is given."""
    return judge(baseline.read(trace), VerifierSettings(tau=baseline.tau if tau is None else tau))


@dataclass(frozen=True)
class RecallerAlone:
    """The trace's own candidates by their span scores: no verification. Runs no model."""

    tau: float = 0.5
    weights: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    name: str = "recaller alone"

    def read(self, trace: Trace) -> Trace:
        return scored_trace(self, trace, trace.hits, trace.readings, trace.candidates, 0.0)


@dataclass(frozen=True)
class RerankThenRead:
    """A reranker picks the passages, a reader reads them jointly and its answers compete."""

    reranker: Reranker
    reader: PassageReader
    tau: float = 0.1
    weights: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    passages: int = READ

    @property
    def name(self) -> str:
        return f"{self.reranker.name}, then read"

    def read(self, trace: Trace) -> Trace:
        start = time.perf_counter()
        hits = self.reranker.rank(trace.question, trace.hits)
        return _read(self, trace, hits, self.passages, start)


@dataclass(frozen=True)
class ConcatenatedReading:
    """The top passages as one text, read in one pass."""

    reader: PassageReader
    tau: float = 0.1
    weights: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    name: str = "concatenated reading"

    def read(self, trace: Trace) -> Trace:
        return _read(self, trace, trace.hits, READ, time.perf_counter())


class PipelineLike(Protocol):
    """A pipeline: its settings, and a whole trace for a question."""

    @property
    def settings(self) -> Settings: ...

    def ask(self, question: Question) -> Trace: ...


@dataclass(frozen=True)
class OtherPipeline:
    """Another whole pipeline: it retrieves for itself, and its traces have evidence and verdicts."""

    name: str
    pipeline: PipelineLike
    weights: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def tau(self) -> float:
        return self.pipeline.settings.verifier.tau

    def read(self, trace: Trace) -> Trace:
        return self.pipeline.ask(trace.question)


def settings_of(system: Baseline, settings: Settings) -> Settings:
    """The settings under which a system's trace counts: another pipeline's own, else these with its tau."""
    if isinstance(system, OtherPipeline):
        return system.pipeline.settings
    return settings.with_values({"verifier.tau": system.tau, "verifier.single_answer": False})


def _read(
    system: RerankThenRead | ConcatenatedReading,
    trace: Trace,
    hits: Sequence[Hit],
    passages: int,
    start: float,
) -> Trace:
    from rtv_core.baselines.joint import unite_shares

    readings = system.reader.read(trace.question.text, hits[:passages])
    candidates = unite_shares(hits, readings)
    return scored_trace(system, trace, hits, readings, candidates, time.perf_counter() - start)


def scored_trace(
    system: Baseline,
    trace: Trace,
    hits: Sequence[Hit],
    readings: Sequence[Reading],
    candidates: Sequence[Candidate],
    seconds: float,
) -> Trace:
    """A trace of `system` whose verdicts are its candidates' own scores.

    `seconds` is its time after retrieval. It has no evidence: a baseline gathers none.
    """
    return Trace(
        question=trace.question,
        hits=tuple(hits),
        readings=tuple(readings),
        candidates=tuple(candidates),
        verdicts=tuple(Verdict((c.score,) * len(EVIDENCE_SIZES)) for c in candidates),
        seconds=MappingProxyType({"read": seconds} if seconds else {}),
        provenance=MappingProxyType(dict(trace.provenance) | dict(system.weights) | {"system": system.name}),
        stage="verified",
    )
