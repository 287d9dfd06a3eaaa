"""Where an added answer stands in the passages of its question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rtv_core.records import Passage, Support, Trace
from rtv_core.store.supports import quoted
from rtv_core.text import find_answer

__all__ = ["find_support", "passages_of", "support_at"]


def passages_of(trace: Trace) -> Mapping[str, Passage]:
    """Every passage that was retrieved or gathered, by id."""
    hits = {hit.passage.id: hit.passage for hit in trace.hits}
    return hits | {p.hit.passage.id: p.hit.passage for body in trace.evidence for p in body.passages}


def support_at(passage: Passage, start: int, end: int) -> Support:
    """The characters [start, end) of the passage's text."""
    return Support(passage.id, start, end, quoted(passage.text, start, end))


def find_support(passages: Iterable[Passage], answer: str) -> Support | None:
    """The first place in the passages' texts that holds the answer; None if none does."""
    for passage in passages:
        for start, end in find_answer(passage.text, answer)[:1]:
            return support_at(passage, start, end)
    return None
