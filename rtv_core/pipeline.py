"""Recall, then verify: the whole method on one page."""

from __future__ import annotations

import logging
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from rtv_core.errors import InputError
from rtv_core.protocols import Gatherer, Recaller, Retriever, Verifier
from rtv_core.recall.merge import unite
from rtv_core.records import Question, Trace
from rtv_core.settings import LONGEST_QUESTION, Settings

__all__ = ["Pipeline", "check_question"]

PASSAGES_A_STEP = 20
CANDIDATES_A_STEP = 20

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pipeline:
    """The four stages and their settings. `provenance` says which models, index and versions they are."""

    retriever: Retriever
    recaller: Recaller
    gatherer: Gatherer
    verifier: Verifier
    settings: Settings = field(default_factory=Settings)
    provenance: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def ask(self, question: str | Question) -> Trace:
        """The whole trace of a question."""
        *_, trace = self.steps(question)
        return trace

    def steps(self, question: str | Question) -> Iterator[Trace]:
        """The trace as it grows: asked, retrieved, then after every few passages and candidates.

        Closing the iterator stops the work; the last trace keeps what it had. Raises InputError for a
        question that is empty or too long.
        """
        clock = _Clock()
        question = question if isinstance(question, Question) else Question("", question)
        text = check_question(question.text)
        trace = Trace(question, provenance=MappingProxyType(dict(self.provenance)))
        yield trace

        with clock.time("retrieve"):
            hits = tuple(self.retriever.search([text], self.settings.retriever.passages)[0])
        trace = trace.grown(hits=hits, stage="retrieved", seconds=clock.seconds())
        yield trace

        for start in range(0, len(hits), PASSAGES_A_STEP):
            batch = hits[start : start + PASSAGES_A_STEP]
            with clock.time("recall"):
                readings = trace.readings + tuple(self.recaller.recall(text, batch))
                candidates = unite(hits, readings, self.settings.recaller)
            trace = trace.grown(readings=readings, candidates=candidates, seconds=clock.seconds())
            yield trace
        trace = trace.grown(stage="recalled")

        with clock.time("gather"):
            evidence = tuple(self.gatherer.gather(text, trace.candidates, hits))
        trace = trace.grown(evidence=evidence, stage="gathered", seconds=clock.seconds())
        yield trace

        for start in range(0, len(evidence), CANDIDATES_A_STEP):
            batch = evidence[start : start + CANDIDATES_A_STEP]
            with clock.time("verify"):
                verdicts = trace.verdicts + tuple(self.verifier.verify(text, batch))
            trace = trace.grown(verdicts=verdicts, seconds=clock.seconds())
            if len(verdicts) < len(evidence):
                yield trace
        log.debug("%r took %s", text, trace.seconds)
        yield trace.grown(stage="verified")


def check_question(text: str) -> str:
    """The question without control characters and outer space. Raises InputError if empty or too long."""
    if len(text) > LONGEST_QUESTION:
        raise InputError(
            f"The question has {len(text):,} characters; the most is {LONGEST_QUESTION:,}. Shorten it."
        )
    visible = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in text)
    if not any(c.isalnum() for c in visible):
        raise InputError(
            "The question is empty. Type one, for example: When did You Don't Know Jack come out?"
        )
    return " ".join(visible.split())


class _Clock:
    """Adds up wall seconds by stage, without the time that a consumer takes between two steps."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start

    def seconds(self) -> Mapping[str, float]:
        return MappingProxyType(dict(self._seconds))
