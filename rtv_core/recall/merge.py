"""One answer, many spellings: unite what the passages gave into candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rtv_core.records import Candidate, Hit, Reading, Source, Span
from rtv_core.settings import RecallerSettings
from rtv_core.text import answer_key

__all__ = ["unite"]


def unite(
    hits: Sequence[Hit], readings: Sequence[Reading], settings: RecallerSettings
) -> tuple[Candidate, ...]:
    """The candidates of the passages read so far, first appearance first.

    A passage below the relevance threshold gives nothing, and of the rest only spans that reach the span
    threshold count. Beyond `settings.candidates` the most promising are kept: see `_promise`.
    """
    sources: dict[str, list[tuple[str, Source]]] = {}
    for hit, reading in zip(hits, readings, strict=False):
        if reading.relevance < settings.relevance:
            continue
        text = hit.passage.text
        found = [(" ".join(text[span.start : span.end].split()), span) for span in reading.spans]
        found += [(wording.text, Span.nowhere(wording.score)) for wording in reading.wordings]
        for answer, span in found:
            if span.score >= settings.span and (key := answer_key(answer)):
                source = Source(hit.passage.id, hit.rank, span, reading.relevance)
                sources.setdefault(key, []).append((answer, source))
    candidates = [_candidate(found) for found in sources.values()]
    if len(candidates) > settings.candidates:
        promise = [max(map(_promise, candidate.sources)) for candidate in candidates]
        best = sorted(range(len(candidates)), key=lambda i: (-promise[i], i))[: settings.candidates]
        candidates = [candidates[i] for i in sorted(best)]
    return tuple(candidates)


def _candidate(found: Sequence[tuple[str, Source]]) -> Candidate:
    by_score = sorted(found, key=lambda pair: -pair[1].span.score)
    spellings = tuple(dict.fromkeys(answer for answer, _ in by_score))
    return Candidate(spellings[0], spellings, by_score[0][1].span.score, tuple(source for _, source in found))


def _promise(source: Source) -> float:
    """The log-odds of the span, a quarter of those of its passage, less the logarithm of the passage's rank.

    Chosen on MultiSpanQA dev by the share of gold answers that are kept: a span scores about as high in a
    passage that is beside the question as in the one that answers it.
    """
    return _log_odds(source.span.score) + 0.25 * _log_odds(source.relevance) - math.log(source.rank)


def _log_odds(p: float) -> float:
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))
