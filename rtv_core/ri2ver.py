"""RI2VER-style: read each passage apart, then check each candidate against passages of its own.

The second paper's method on one page. Every step is a prompt to a language model; the prompts are our own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from rtv_core.llm.exchanges import Exchange
from rtv_core.llm.prompter import Prompter
from rtv_core.pipeline import Pipeline, check_question
from rtv_core.recall.prompted import Listed, PromptedRecaller, readings_of, unite_answers
from rtv_core.records import Question, Trace

__all__ = [
    "MOST_JUDGED",
    "PARTS",
    "SECOND_VERIFIER",
    "PromptedPipeline",
    "SecondVerifier",
    "exchanges_behind",
    "says_words",
    "score_text",
]

MOST_JUDGED = 30
"""Candidates of another system that are judged, best first: each is two calls."""
STEP = 20
"""Passages read, or candidates judged, between two traces."""

SECOND_VERIFIER = "language model's verdicts"

PARTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "reading apart": {"llm.reading": "together"},
        "verification": {"llm.verify": False},
        "verification question": {"llm.ask_question": False},
        "additional evidence": {"llm.fresh": 0},
    }
)
"""The parts that the paper's ablation switches off, and what doing so changes in the settings."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PromptedPipeline(Pipeline):
    """The four stages, three of them prompts. `prompter` knows the exchanges behind a trace."""

    recaller: PromptedRecaller
    prompter: Prompter | None = None

    def steps(self, question: str | Question) -> Iterator[Trace]:
        """The trace as it grows, as `Pipeline.steps` gives it.

        What was answered before a failure or a spent budget is kept on disk: asked again, it goes on there.
        """
        question = question if isinstance(question, Question) else Question("", question)
        text, seconds = check_question(question.text), {}
        trace = Trace(question, provenance=MappingProxyType(dict(self.provenance)))
        yield trace

        with _timed(seconds, "retrieve"):
            hits = tuple(self.retriever.search([text], self.settings.retriever.passages)[0])
        trace = trace.grown(hits=hits, stage="retrieved", seconds=MappingProxyType(dict(seconds)))
        yield trace

        listed, step = Listed(), max(len(hits), 1) if self.recaller.together else STEP
        for start in range(0, len(hits), step):
            with _timed(seconds, "recall"):
                listed = listed.and_then(self.recaller.read(text, hits[start : start + step]))
            trace = trace.grown(
                readings=tuple(readings_of(hits, listed)),
                candidates=unite_answers(hits, listed, self.settings.recaller.candidates),
                seconds=MappingProxyType(dict(seconds)),
            )
            yield trace
        trace = trace.grown(stage="recalled")

        with _timed(seconds, "gather"):
            evidence = tuple(self.gatherer.gather(text, trace.candidates, hits))
        trace = trace.grown(evidence=evidence, stage="gathered", seconds=MappingProxyType(dict(seconds)))
        yield trace

        for start in range(0, len(evidence), STEP):
            with _timed(seconds, "verify"):
                batch = evidence[start : start + STEP]
                verdicts = trace.verdicts + tuple(self.verifier.verify(text, batch))
            trace = trace.grown(verdicts=verdicts, seconds=MappingProxyType(dict(seconds)))
            if len(verdicts) < len(evidence):
                yield trace
        self._warn(text)
        yield trace.grown(stage="verified")

    def as_verifier(self) -> SecondVerifier:
        """The same model as a judge of another system's candidates."""
        return SecondVerifier(self)

    def _warn(self, question: str) -> None:
        """Say what was not understood, so that no lost reply goes unnoticed."""
        if self.prompter is None:
            return
        found = self.prompter.tally(question)
        if found.of("malformed") or found.of("refused") or found.suspicious:
            log.warning(
                "%r: of %d replies %d were malformed and %d refused; %d passages look like an instruction",
                question,
                found.exchanges,
                found.of("malformed"),
                found.of("refused"),
                found.suspicious,
            )


@dataclass(frozen=True)
class SecondVerifier:
    """Judges the candidates that another system verified, on evidence that it seeks for each.

    It has the shape of `baselines.systems.Baseline`, so that its verdicts stand beside the other's scores.
    Only the `most` best candidates are judged.
    """

    pipeline: PromptedPipeline
    most: int = MOST_JUDGED
    name: str = SECOND_VERIFIER

    @property
    def tau(self) -> float:
        """The threshold of the profile."""
        return self.pipeline.settings.verifier.tau

    @property
    def weights(self) -> Mapping[str, str]:
        """What the verdicts come from: model, prompts, settings."""
        names = ("llm", "llm_server", "prompts_sha256", "exchanges", "scores")
        given = self.pipeline.provenance
        return MappingProxyType({name: given[name] for name in names if name in given})

    def read(self, trace: Trace) -> Trace:
        """A trace of the same candidates, best first by the other system, with new evidence and verdicts."""
        text, seconds = check_question(trace.question.text), {}
        ranked = sorted(range(len(trace.verdicts)), key=lambda i: (-trace.verdicts[i].p_right[-1], i))
        candidates = tuple(trace.candidates[i] for i in ranked[: self.most])
        with _timed(seconds, "gather"):
            evidence = tuple(self.pipeline.gatherer.gather(text, candidates, trace.hits))
        with _timed(seconds, "verify"):
            verdicts = tuple(self.pipeline.verifier.verify(text, evidence))
        return trace.grown(
            candidates=candidates,
            evidence=evidence,
            verdicts=verdicts,
            seconds=MappingProxyType(seconds),
            provenance=MappingProxyType({**trace.provenance, **self.weights, "system": self.name}),
            stage="verified",
        )


def says_words(trace: Trace) -> bool:
    """Whether the scores of a trace are plain words (1 for Yes, 0 for No), never to be shown as numbers."""
    return trace.provenance.get("scores") == "words"


def score_text(p_right: float, words: bool) -> str:
    """A validity score as it is shown; where scores are plain words (see `says_words`), the word."""
    return ("Yes" if p_right > 0.5 else "No") if words else f"{p_right:.2f}"


def exchanges_behind(pipeline: Pipeline, trace: Trace) -> list[Exchange]:
    """What was asked for a trace, stage by stage; nothing where no language model was asked here.

    Also for a trace that another run of the same kind made: what it comes from is in its provenance.
    """
    fingerprint = trace.provenance.get("exchanges")
    if fingerprint is None or not isinstance(pipeline, PromptedPipeline) or pipeline.prompter is None:
        return []
    return pipeline.prompter.llm.cache.exchanges(fingerprint, check_question(trace.question.text))


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Adds up wall seconds by stage, without the time that a consumer takes between two steps."""
    start = time.perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start
