"""Read passages jointly: one normalisation over the spans of all of them, so that answers compete.

Recall-then-verify scores each span and each candidate for itself. Here every span of every passage, and "no
answer", share one softmax: what one answer gains the others lose, as in a reader that writes one sequence of
answers from all passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor

from rtv_core.reading.form import Pair
from rtv_core.reading.network import FORBIDDEN
from rtv_core.reading.reader import Reader
from rtv_core.recall.extractive import propose_spans
from rtv_core.recall.merge import unite
from rtv_core.records import Candidate, Hit, Reading
from rtv_core.settings import RecallerSettings

__all__ = ["JointReader", "PassageReader", "log_shares", "possible_spans", "shared_readings", "unite_shares"]

KEPT = RecallerSettings(relevance=0.0, span=2e-4, candidates=80)
"""No passage is left out as irrelevant: the shares say it. As many candidates as recall-then-verify has."""


class PassageReader(Protocol):
    """Reads the passages of a question together."""

    def read(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        """A reading of each of the first hits, as far as the reader's input goes; span scores are shares."""
        ...


class JointReader:
    """Encodes each passage with the question, then scores the spans of all passages in one softmax."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @torch.inference_mode()
    def read(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        if not hits:
            return []
        read = self._reader.read(question, [hit.passage for hit in hits])
        hidden = torch.nn.utils.rnn.pad_sequence([states.hidden.float() for states in read], batch_first=True)
        scores = self._reader.network.spans(hidden)  # (passages, tokens, lengths)
        return shared_readings(scores, [states.pair for states in read], hits)


def possible_spans(pairs: Sequence[Pair], tokens: int, lengths: int) -> Tensor:
    """Which spans lie in the passages' texts: a boolean mask (pairs, tokens, lengths)."""
    possible = torch.zeros(len(pairs), tokens, lengths, dtype=torch.bool)
    for row, pair in enumerate(pairs):
        first, last = pair.text_at, pair.text_at + len(pair.offsets)
        possible[row, first:last] = torch.arange(first, last)[:, None] + torch.arange(lengths) < last
    return possible


def log_shares(scores: Tensor, possible: Tensor) -> tuple[Tensor, Tensor]:
    """The log share of every possible span in one softmax with "no answer" (logit 0), and that of the latter.

    *Shape:* scores, possible (passages, tokens, lengths) -> the same, and a scalar.
    """
    scores = scores.float().masked_fill(~possible, FORBIDDEN)
    total = torch.cat([scores.new_zeros(1), scores.flatten()]).logsumexp(dim=0)
    return scores - total, -total


def shared_readings(scores: Tensor, pairs: Sequence[Pair], hits: Sequence[Hit]) -> list[Reading]:
    """A reading per pair: span scores are shares of the one softmax, relevance is a passage's whole share.

    *Shape:* scores (passages, tokens, lengths).
    """
    shares, _ = log_shares(scores, possible_spans(pairs, *scores.shape[1:]))
    relevance = shares.flatten(1).logsumexp(dim=1).exp().clamp(max=1.0).tolist()
    # Spans are proposed by logit; the logit whose logistic value is the share.
    shares = shares.clamp(max=-1e-6)
    logits = (shares - torch.log(-torch.expm1(shares))).numpy()
    return [
        Reading(hit.passage.id, relevance[i], propose_spans(logits[i], pairs[i], hit.passage))
        for i, hit in enumerate(hits[: len(pairs)])
    ]


def unite_shares(hits: Sequence[Hit], readings: Sequence[Reading]) -> tuple[Candidate, ...]:
    """The candidates, first appearance first; a candidate's score is the share of all its places together."""
    return tuple(
        replace(candidate, score=min(1.0, sum(source.span.score for source in candidate.sources)))
        for candidate in unite(hits, readings, KEPT)
    )
