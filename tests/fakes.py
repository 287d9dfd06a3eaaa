"""Fakes with the protocols of the real parts: stages that read by pattern, a store in memory, a workbench."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType

from rtv_core.errors import MissingError, StoreError
from rtv_core.pipeline import Pipeline
from rtv_core.records import (
    Candidate,
    Evidence,
    EvidencePassage,
    Hit,
    Judgement,
    Passage,
    Question,
    Reading,
    Span,
    Trace,
    Verdict,
)
from rtv_core.settings import Settings
from rtv_core.store.judgements import Event
from rtv_core.text import COVERAGE_RULES, answer_key, covers_any
from rtv_core.wire import to_json

__all__ = [
    "CoverGatherer",
    "FakeWorkbench",
    "MemoryStore",
    "PatternRecaller",
    "TableVerifier",
    "WordRetriever",
    "spread",
]


def spread(text: str) -> float:
    """A number from 0 to 1 that depends on nothing but the text."""
    return int.from_bytes(hashlib.blake2s(text.encode(), digest_size=4).digest(), "big") / 2**32


@dataclass
class WordRetriever:
    """Ranks passages by the share of question words that they hold."""

    passages: Sequence[Passage]

    def search(self, questions: Sequence[str], k: int) -> list[list[Hit]]:
        return [self._search(question, k) for question in questions]

    def _search(self, question: str, k: int) -> list[Hit]:
        words = set(re.findall(r"\w+", question.lower()))
        scored = []
        for passage in self.passages:
            found = words & set(re.findall(r"\w+", f"{passage.title} {passage.text}".lower()))
            share = len(found) / max(len(words), 1)
            scored.append((0.2 + 0.5 * share + 0.08 * spread(passage.id), 3.1 * len(found), passage))
        scored.sort(key=lambda s: (-s[0], s[2].id))
        lexical = {p.id: i for i, (_, _, p) in enumerate(sorted(scored, key=lambda s: (-s[1], s[2].id)), 1)}
        return [
            Hit(p, dense, words, i, lexical[p.id] if words else None, i)
            for i, (dense, words, p) in enumerate(scored[:k], start=1)
        ]


@dataclass
class PatternRecaller:
    """Takes every match of a pattern for an answer; waits at the gate, if there is one, before each batch."""

    pattern: str
    gate: threading.Event | None = None

    def recall(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        if self.gate is not None:
            self.gate.wait(timeout=120)
        return [self._read(hit) for hit in hits]

    def _read(self, hit: Hit) -> Reading:
        spans = tuple(
            Span(*match.span(), 0.2 + 0.7 * spread(match.group()))
            for match in re.finditer(self.pattern, hit.passage.text)
        )
        return Reading(hit.passage.id, 0.9 - 0.5 * spread(hit.passage.id) if spans else 0.04, spans)


@dataclass
class CoverGatherer:
    """Covering passages first, then the order of retrieval."""

    rule: str = "strict"

    def gather(self, question: str, candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Evidence]:
        return [self._gather(question, candidate, hits) for candidate in candidates]

    def _gather(self, question: str, candidate: Candidate, hits: Sequence[Hit]) -> Evidence:
        sources = {source.passage_id for source in candidate.sources}
        passages = []
        for hit in hits:
            text = f"{hit.passage.title} {hit.passage.text}"
            rules = tuple(rule for rule in COVERAGE_RULES if covers_any(text, candidate.spellings, rule))
            passages.append(EvidencePassage(hit, rules, hit.dense, hit.passage.id in sources))
        passages.sort(key=lambda p: (self.rule not in p.covers, -p.similarity))
        return Evidence(candidate, f"{question} {candidate.answer}", tuple(passages[:10]))


@dataclass
class TableVerifier:
    """Looks the score up by answer; an unknown answer scores low, by its letters."""

    scores: Mapping[str, float] = field(default_factory=dict)

    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        table = {answer_key(answer): score for answer, score in self.scores.items()}
        return [self._score(body, table) for body in evidence]

    def _score(self, body: Evidence, table: Mapping[str, float]) -> Verdict:
        answer = body.candidate.answer
        score = table.get(answer_key(answer), 0.02 + 0.4 * spread(answer))
        wobble = 0.2 * (spread(answer + "k") - 0.5)
        raw = [1 / (place + 1.5) + spread(answer + str(place)) for place in range(len(body.passages))]
        one = min(max(score + wobble, 0.01), 0.99)
        five = min(max(score + wobble / 3, 0.01), 0.99)
        return Verdict((one, five, score), tuple(share / sum(raw) for share in raw))


@dataclass
class MemoryStore:
    """The store's behaviour without a disk. `broken` makes every write fail, as a full disk does."""

    broken: bool = False
    _kept: dict[str, Trace] = field(default_factory=dict)
    events: list[tuple[str, str, Judgement]] = field(default_factory=list)
    undone: list[tuple[str, str, Judgement]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def save_trace(self, trace: Trace) -> str:
        self._check()
        for trace_id, kept in self._kept.items():
            if replace(kept, seconds=trace.seconds) == trace:
                return trace_id
        with self.lock:
            trace_id = f"trace-{len(self._kept) + 1}"
            self._kept[trace_id] = trace
        return trace_id

    def traces(self, question: str) -> list[str]:
        return [
            i for i, t in reversed(self._kept.items()) if t.question.text.casefold() == question.casefold()
        ]

    def provenance(self, trace_id: str) -> Mapping[str, str]:
        return self.load_trace(trace_id).provenance

    def load_trace(self, trace_id: str) -> Trace:
        if trace_id not in self._kept:
            raise MissingError(f"There is no trace {trace_id!r}.")
        return self._kept[trace_id]

    def judge(self, judgement: Judgement, token: str) -> Judgement:
        self._check()
        if judgement.trace_id not in self._kept:
            raise MissingError(f"There is no trace {judgement.trace_id!r}.")
        with self.lock:
            for known, _, saved in self.events:
                if known == token:
                    return saved
            saved = replace(judgement, at=datetime.now(UTC).isoformat())
            self.events.append((token, answer_key(judgement.answer), saved))
            self.undone.clear()
        return saved

    def undo(self, trace_id: str, annotator: str) -> Judgement | None:
        self._check()
        return self._move(self.events, self.undone, trace_id, annotator)

    def redo(self, trace_id: str, annotator: str) -> Judgement | None:
        self._check()
        return self._move(self.undone, self.events, trace_id, annotator)

    def saved_as(self, annotator: str, token: str) -> Judgement | None:
        return next((j for known, _, j in self.events if (known, j.annotator) == (token, annotator)), None)

    def history(self, trace_id: str) -> list[Event]:
        return [Event("judge", j.at, j) for _, _, j in self.events if j.trace_id == trace_id]

    def current(self, trace_id: str, annotator: str | None = None) -> list[Judgement]:
        return [j for j in self._current(annotator) if j.trace_id == trace_id]

    def for_question(self, text: str, annotator: str | None = None) -> list[Judgement]:
        return [j for j in self._current(annotator) if j.question == text]

    def _current(self, annotator: str | None) -> list[Judgement]:
        newest: dict[tuple[str, str, str], Judgement] = {}
        for _, key, judgement in self.events:
            newest.pop(place := (judgement.trace_id, judgement.annotator, key), None)
            newest[place] = judgement
        return [j for j in reversed(newest.values()) if annotator is None or j.annotator == annotator]

    def _move(self, source: list, target: list, trace_id: str, annotator: str) -> Judgement | None:
        for i in reversed(range(len(source))):
            if (source[i][2].trace_id, source[i][2].annotator) == (trace_id, annotator):
                target.append(source.pop(i))
                return target[-1][2]
        return None

    def _check(self) -> None:
        if self.broken:
            raise StoreError("The disk is full. Free some space and judge again.")


@dataclass
class FakeWorkbench:
    """A workbench over passages and a pattern, with the real pipeline."""

    passages: Sequence[Passage]
    pattern: str
    scores: Mapping[str, float] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    corpus: str = "a test corpus"
    settings: Settings = field(default_factory=lambda: Settings().with_values({"verifier.tau": 0.5}))
    store: object = field(default_factory=MemoryStore)
    runs: object = None
    queues: object = None
    loaded: bool = True
    gate: threading.Event | None = None
    asked: int = 0

    def pipeline(self, settings: Settings) -> Pipeline:
        self.asked += 1
        provenance = {"models": "fake", "settings": to_json(settings)}
        return Pipeline(
            WordRetriever(self.passages),
            PatternRecaller(self.pattern, self.gate),
            CoverGatherer(settings.evidence.coverage),
            TableVerifier(self.scores),
            settings,
            MappingProxyType(provenance),
        )

    def ready(self) -> bool:
        return self.loaded
