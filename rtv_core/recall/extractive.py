"""The embedded recaller: several spans or none from each passage, and whether it is relevant at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from rtv_core.reading.form import Pair
from rtv_core.reading.reader import Reader
from rtv_core.records import Hit, Passage, Reading, Span
from rtv_core.text import split_coordinated, without_end_marks

__all__ = ["ExtractiveRecaller", "propose_spans"]

SPANS_A_PASSAGE = 50
"""Answers of a list are often not among the ten best spans of its passage, which are cuts of one place."""
LOWEST_LOGIT = -9.0
"""Spans under this score (probability .0001) are never proposed: `recaller.span` can only be set above it."""


class ExtractiveRecaller:
    """Takes answers from the states that the reader keeps."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @torch.inference_mode()
    def recall(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        """One reading per hit."""
        readings = []
        for hit, states in zip(hits, self._reader.read(question, [hit.passage for hit in hits]), strict=True):
            network = self._reader.network
            hidden = states.hidden.float()  # (tokens, width)
            scores = network.spans(hidden[None])[0].numpy()
            relevance = float(network.relevant(hidden[:1]).sigmoid())
            readings.append(
                Reading(hit.passage.id, relevance, propose_spans(scores, states.pair, hit.passage))
            )
        return readings


def propose_spans(scores: np.ndarray, pair: Pair, passage: Passage) -> tuple[Span, ...]:
    """The best spans of a passage without the marks that end them, best first, and the parts of lists.

    scores (tokens, lengths): entry [i, d] is the logit of tokens i to i + d. A part ("Castor" of "Castor and
    Pollux") keeps the score of the whole if that is higher: a list is as good as its parts.
    """
    first, last = pair.text_at, pair.text_at + len(pair.offsets)
    logits = scores[first:last].copy()
    reach = np.arange(len(logits))[:, None] + np.arange(logits.shape[1])
    logits[reach >= len(logits)] = -np.inf
    flat = logits.ravel()
    best = np.argsort(-flat, kind="stable")[:SPANS_A_PASSAGE]
    found: dict[tuple[int, int], float] = {}
    for index in best[flat[best] > LOWEST_LOGIT]:
        i, length = divmod(int(index), logits.shape[1])
        start, end = pair.characters_of(first + i, first + i + length)
        end = start + len(without_end_marks(passage.text[start:end]))
        found[start, end] = max(found.get((start, end), -np.inf), float(flat[index]))
    for (start, end), logit in list(found.items()):
        for a, b in split_coordinated(passage.text[start:end]):
            part = (start + a, start + b)
            found[part] = max(found.get(part, -np.inf), logit)
    spans = [Span(start, end, _sigmoid(logit)) for (start, end), logit in found.items()]
    return tuple(sorted(spans, key=lambda span: (-span.score, span.start, span.end)))


def _sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))
