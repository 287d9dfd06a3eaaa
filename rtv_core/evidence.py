"""Gather the evidence of a candidate, from what was retrieved for the question or sought anew for it.

Three gatherers: covering passages of the retrieved ones first, then the most similar (RTV); the same with
passages that a verification question finds in the whole index; the passages a candidate came from with such
fresh ones (RI2VER).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from rtv_core.records import EVIDENCE_SIZES, Candidate, Evidence, EvidencePassage, Hit
from rtv_core.settings import EvidenceSettings
from rtv_core.text import COVERAGE_RULES, covers_any, normalise_answer

__all__ = [
    "CoverFirstGatherer",
    "FreshGatherer",
    "UnionGatherer",
    "evidence_query",
    "is_fresh",
    "near_duplicates",
    "rank_evidence",
    "template_questions",
    "verification_question",
]

SHINGLE = 5
"""Words in a row that near-duplicates are compared by."""

SHARED = 0.8
"""The share of the shorter passage's runs of words from which two passages are near-duplicates."""

MARGIN = 5
"""Passages sought beyond those wanted, in the place of those that are known already."""

Similarity = Callable[[Sequence[str], Sequence[str]], np.ndarray]

Questions = Callable[[str, Sequence[Candidate]], list[str]]
"""Writes a verification question for each candidate of a question."""


class Searcher(Protocol):
    """A retriever that can also compare."""

    def search(self, questions: Sequence[str], k: int) -> list[list[Hit]]: ...

    def similarity(self, queries: Sequence[str], passage_ids: Sequence[str]) -> np.ndarray: ...


class CoverFirstGatherer:
    """The paper's aggregator: query = question + " " + candidate; rank by (covers it, dense score).

    `similarity(queries, passage_ids)` gives dense scores, (queries, passages).
    """

    def __init__(self, similarity: Similarity, settings: EvidenceSettings) -> None:
        self._similarity, self._settings = similarity, settings

    def gather(self, question: str, candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Evidence]:
        """One body of evidence per candidate: the ten best of the retrieved passages."""
        if not candidates or not hits:
            return [Evidence(c, evidence_query(question, c), ()) for c in candidates]
        queries = [evidence_query(question, candidate) for candidate in candidates]
        scores = self._similarity(queries, [hit.passage.id for hit in hits])
        return [
            rank_evidence(candidate, query, hits, row, self._settings.coverage)
            for candidate, query, row in zip(candidates, queries, scores, strict=True)
        ]


class UnionGatherer:
    """Evidence as `CoverFirstGatherer` ranks it, over the retrieved passages and each candidate's fresh ones.

    `questions` writes what is sought; nothing of it reaches the verifier.
    """

    def __init__(self, retriever: Searcher, settings: EvidenceSettings, questions: Questions) -> None:
        self._retriever, self._settings, self._questions = retriever, settings, questions

    def gather(self, question: str, candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Evidence]:
        """One body of evidence per candidate: the ten best of retrieved and fresh passages."""
        if not candidates:
            return []
        sought = self._questions(question, candidates)
        fresh = _fresh(self._retriever, question, sought, hits, self._settings.fresh)
        found = list(hits) + list({hit.passage.id: hit for own in fresh for hit in own}.values())
        queries = [evidence_query(question, candidate) for candidate in candidates]
        column = {hit.passage.id: i for i, hit in enumerate(found)}
        scores = self._retriever.similarity(queries, list(column))
        bodies = []
        for candidate, query, own, row in zip(candidates, queries, fresh, scores, strict=True):
            union = [*hits, *own]
            similarity = [row[column[hit.passage.id]] for hit in union]
            bodies.append(rank_evidence(candidate, query, union, similarity, self._settings.coverage))
        return bodies


class FreshGatherer:
    """The passages that a candidate came from, then what its verification question finds in the whole index.

    At most `sources` and `fresh` passages, ten together; near-duplicates of a passage before them are left
    out. A candidate of no known passage has the first retrieved ones instead. The evidence's query is the
    verification question; where `questions` is None it is question and candidate.
    """

    def __init__(
        self, retriever: Searcher, questions: Questions | None = None, fresh: int = 5, sources: int = 3
    ) -> None:
        self._retriever, self._questions = retriever, questions
        self._fresh, self._sources = fresh, sources

    def gather(self, question: str, candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Evidence]:
        """One body of evidence per candidate: where it came from first, in rank order."""
        if not candidates:
            return []
        if self._questions is None:
            queries = [evidence_query(question, candidate) for candidate in candidates]
        else:
            queries = self._questions(question, candidates)
        fresh: list[list[Hit]] = [[] for _ in candidates]
        if self._fresh:
            most = self._fresh + self._sources  # some may be the candidate's own again
            fresh = _fresh(self._retriever, question, queries, hits, most, keep_known=True)
        bodies = []
        for candidate, query, found in zip(candidates, queries, fresh, strict=True):
            sources = {source.passage_id for source in candidate.sources}
            own = [hit for hit in hits if hit.passage.id in sources] or list(hits)
            gathered = own[: self._sources]
            most = min(len(gathered) + self._fresh, max(EVIDENCE_SIZES))
            for hit in found:
                if len(gathered) < most and not _is_known(hit, gathered):
                    gathered.append(hit)
            bodies.append(self._body(candidate, query, gathered))
        return bodies

    def _body(self, candidate: Candidate, query: str, hits: Sequence[Hit]) -> Evidence:
        scores = self._retriever.similarity([query], [hit.passage.id for hit in hits])[0] if hits else ()
        recalled = {source.passage_id for source in candidate.sources}
        passages = (_passage(candidate, h, float(s), recalled) for h, s in zip(hits, scores, strict=True))
        return Evidence(candidate, query, tuple(passages))


def verification_question(question: str, candidate: Candidate) -> str:
    """A question that names the candidate, from a template: no language model writes it.

    "Who sang Lost Boy" and "Ruth B." make "Ruth B. sang Lost Boy?", "What is the capital of France" and
    "Paris" make "is Paris the capital of France?"; any other question is followed by the candidate.
    """
    plain, answer = question.strip().rstrip("?").rstrip(), candidate.answer
    if match := re.fullmatch(r"(?:who|what)\s+(is|are|was|were)\s+(.+)", plain, re.IGNORECASE):
        return f"{match.group(1)} {answer} {match.group(2)}?"
    if match := re.fullmatch(r"who\s+(.+)", plain, re.IGNORECASE):
        return f"{answer} {match.group(1)}?"
    return f"{plain}: {answer}?"


def template_questions(question: str, candidates: Sequence[Candidate]) -> list[str]:
    """`verification_question` of each candidate."""
    return [verification_question(question, candidate) for candidate in candidates]


def near_duplicates(one: str, other: str) -> bool:
    """Whether two texts share nearly all runs of five words of the shorter one."""
    a, b = sorted((_shingles(one), _shingles(other)), key=len)
    return len(a & b) >= SHARED * len(a)


def is_fresh(passage: EvidencePassage, hits: Sequence[Hit]) -> bool:
    """Whether an evidence passage was not among those retrieved for the question."""
    return passage.hit.rank > len(hits)


def evidence_query(question: str, candidate: Candidate) -> str:
    """The text that stands for a candidate when its evidence is ranked."""
    return f"{question} {candidate.answer}"


def rank_evidence(
    candidate: Candidate, query: str, hits: Sequence[Hit], similarity: Sequence[float], rule: str
) -> Evidence:
    """The evidence of one candidate; coverage looks at title, text and every spelling; ties by rank."""
    recalled = {source.passage_id for source in candidate.sources}
    covering = [covers_any(f"{h.passage.title}\n{h.passage.text}", candidate.spellings, rule) for h in hits]
    order = sorted(range(len(hits)), key=lambda i: (not covering[i], -similarity[i], hits[i].rank))
    passages = []
    for i in order[: max(EVIDENCE_SIZES)]:
        passages.append(_passage(candidate, hits[i], float(similarity[i]), recalled))
    return Evidence(candidate, query, tuple(passages))


def _passage(candidate: Candidate, hit: Hit, similarity: float, recalled: set[str]) -> EvidencePassage:
    text = f"{hit.passage.title}\n{hit.passage.text}"
    covers = tuple(name for name in COVERAGE_RULES if covers_any(text, candidate.spellings, name))
    return EvidencePassage(hit, covers, similarity, hit.passage.id in recalled)


def _fresh(
    retriever: Searcher,
    question: str,
    sought: Sequence[str],
    hits: Sequence[Hit],
    fresh: int,
    keep_known: bool = False,
) -> list[list[Hit]]:
    """For each query the `fresh` best passages of the index; without near-duplicates among themselves.

    Unless `keep_known`, passages that were retrieved for the question, or nearly repeat one, don't count. A
    new passage is scored by the question like the others, and its rank goes on behind theirs: what is ranked
    beyond the retrieved is fresh.
    """
    known = {hit.passage.id: hit for hit in hits}
    new: dict[str, Hit] = {}
    chosen = []
    for found in retriever.search(sought, fresh + (MARGIN if keep_known else len(hits))):
        own: list[Hit] = []
        for hit in found:
            if len(own) == fresh or (hit.passage.id in known and not keep_known):
                continue
            if _is_known(hit, own) or (not keep_known and hit.passage.id not in new and _is_known(hit, hits)):
                continue
            rank = len(hits) + len(new) + 1
            hit = known.get(hit.passage.id) or new.setdefault(
                hit.passage.id, replace(hit, lexical=0.0, dense_rank=None, lexical_rank=None, rank=rank)
            )
            own.append(hit)
        chosen.append(own)
    scores = retriever.similarity([question], list(new))[0] if new else ()
    scored = {id_: replace(hit, dense=float(s)) for (id_, hit), s in zip(new.items(), scores, strict=True)}
    return [[scored.get(hit.passage.id, hit) for hit in own] for own in chosen]


def _is_known(hit: Hit, others: Sequence[Hit]) -> bool:
    return any(
        hit.passage.id == other.passage.id or near_duplicates(hit.passage.text, other.passage.text)
        for other in others
    )


@lru_cache(maxsize=4096)
def _shingles(text: str) -> frozenset[str]:
    words = normalise_answer(text).split()
    return frozenset(" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1)))
