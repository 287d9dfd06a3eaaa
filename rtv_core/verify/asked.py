"""How much of what is asked a candidate's evidence speaks of: where words are missing, an answer often is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rtv_core.records import Candidate, EvidencePassage
from rtv_core.words import content_stems, stems

__all__ = ["asked_share"]

TEXTS_KEPT = 2048


def asked_share(question: str, candidate: Candidate, passages: Sequence[EvidencePassage]) -> float:
    """The share of the question's content words that stand in one passage, of the passage with the most.

    Only passages that cover the candidate count, with their titles; 0 without one. Words are compared by
    their stems, and those of the candidate itself are left out unless the question has no others.
    """
    asked = content_stems(question)
    asked = asked - stems(candidate.answer) or asked
    if not asked:
        return 0.0
    texts = (f"{p.hit.passage.title} {p.hit.passage.text}" for p in passages if p.covers)
    return max((len(asked & _stems(text)) for text in texts), default=0) / len(asked)


_stems = lru_cache(TEXTS_KEPT)(stems)
