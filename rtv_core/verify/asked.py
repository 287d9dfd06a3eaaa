"""How much of what is asked a candidate's evidence speaks of: where words are missing, an answer often is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rtv_core.records import Candidate, EvidencePassage
from rtv_core.words import content_stems, stem, stems, words

__all__ = ["asked_share", "unmentioned"]

TEXTS_KEPT = 2048


def asked_share(question: str, candidate: Candidate, passages: Sequence[EvidencePassage]) -> float:
    """The share of the question's content words that stand in one passage, of the passage with the most.

    Only passages that cover the candidate count, with their titles; 0 without one. Words are compared by
    their stems, and those of the candidate itself are left out unless the question has no others.
    """
    asked = _asked(question, candidate)
    if not asked:
        return 0.0
    return max((len(asked & own) for own in _mentioned(passages)), default=0) / len(asked)


def unmentioned(question: str, candidate: Candidate, passages: Sequence[EvidencePassage]) -> tuple[str, ...]:
    """The same words of the question, as they are written, of which no covering passage has one.

    None of them where no passage covers the candidate.
    """
    mentioned = _mentioned(passages)
    missing = _asked(question, candidate).difference(*mentioned) if mentioned else frozenset()
    return tuple(dict.fromkeys(word for word in words(question) if stem(word.casefold()) in missing))


def _asked(question: str, candidate: Candidate) -> frozenset[str]:
    asked = content_stems(question)
    return asked - stems(candidate.answer) or asked


def _mentioned(passages: Sequence[EvidencePassage]) -> list[frozenset[str]]:
    """The stems of each covering passage with its title."""
    return [_stems(f"{p.hit.passage.title} {p.hit.passage.text}") for p in passages if p.covers]


_stems = lru_cache(TEXTS_KEPT)(stems)
