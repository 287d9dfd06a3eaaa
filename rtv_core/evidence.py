"""Gather the evidence of a candidate: covering passages first, then the most similar ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rtv_core.records import EVIDENCE_SIZES, Candidate, Evidence, EvidencePassage, Hit
from rtv_core.settings import EvidenceSettings
from rtv_core.text import COVERAGE_RULES, covers_any

__all__ = ["CoverFirstGatherer", "evidence_query", "rank_evidence"]

Similarity = Callable[[Sequence[str], Sequence[str]], np.ndarray]


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
        text = f"{hits[i].passage.title}\n{hits[i].passage.text}"
        covers = tuple(name for name in COVERAGE_RULES if covers_any(text, candidate.spellings, name))
        passages.append(
            EvidencePassage(hits[i], covers, float(similarity[i]), hits[i].passage.id in recalled)
        )
    return Evidence(candidate, query, tuple(passages))
