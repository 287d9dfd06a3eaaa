"""What the recaller is taught: every answer span of a passage, no other, and whether there is any."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rtv_core.reading.form import Pair
from rtv_core.reading.network import FORBIDDEN

__all__ = ["mean_where", "relevance_loss", "single_span_loss", "span_loss", "span_targets"]


def span_targets(
    pairs: Sequence[Pair], answers: Sequence[Sequence[tuple[int, int]]], tokens: int, lengths: int
) -> tuple[Tensor, Tensor]:
    """Which spans may be answers, and which are: two boolean masks (pairs, tokens, lengths).

    `answers[i]` holds the characters [start, end) of the answers of pair i. One that was cut off, or is
    longer than `lengths` tokens, can't be a target.
    """
    possible = torch.zeros(len(pairs), tokens, lengths, dtype=torch.bool)
    wanted = torch.zeros_like(possible)
    for row, (pair, spans) in enumerate(zip(pairs, answers, strict=True)):
        first, last = pair.text_at, pair.text_at + len(pair.offsets)
        reach = torch.arange(first, last)[:, None] + torch.arange(lengths)
        possible[row, first:last] = reach < last
        for start, end in spans:
            touched = pair.tokens_of(start, end)
            if touched and pair.offsets[-1][1] >= end and touched[1] - touched[0] < lengths:
                wanted[row, touched[0], touched[1] - touched[0]] = True
    return possible, wanted


def span_loss(scores: Tensor, possible: Tensor, wanted: Tensor) -> Tensor:
    """Multi-label cross-entropy per pair, (pairs,): wanted spans above 0, all others below.

    log(1 + sum exp(s) over others) + log(1 + sum exp(-s) over wanted). Source: Su et al., 2022, equation 6 of
    the global-pointer paper.
    """
    scores = scores.float().flatten(1)
    possible, wanted = possible.flatten(1), wanted.flatten(1)
    zero = scores.new_zeros(len(scores), 1)
    others = torch.cat([zero, scores.masked_fill(~possible | wanted, FORBIDDEN)], dim=1)
    right = torch.cat([zero, (-scores).masked_fill(~wanted, FORBIDDEN)], dim=1)
    return others.logsumexp(dim=1) + right.logsumexp(dim=1)


def single_span_loss(scores: Tensor, possible: Tensor, wanted: Tensor) -> Tensor:
    """Cross-entropy of one choice per pair, (pairs,): any wanted span, or none (score 0) if none is wanted.

    The usual loss of extractive readers, which lets the answers of a passage compete; for comparison.
    """
    scores = scores.float().flatten(1)
    possible, wanted = possible.flatten(1), wanted.flatten(1)
    zero = scores.new_zeros(len(scores), 1)
    everything = torch.cat([zero, scores.masked_fill(~possible, FORBIDDEN)], dim=1)
    nothing = ~wanted.any(dim=1, keepdim=True)
    right = torch.cat([nothing, wanted], dim=1)
    return everything.logsumexp(dim=1) - everything.masked_fill(~right, FORBIDDEN).logsumexp(dim=1)


def mean_where(values: Tensor, where: Tensor) -> Tensor:
    """The mean of the values at the places where `where` is true; 0 if there is none."""
    return (values * where).sum() / where.sum().clamp(min=1)


def relevance_loss(logits: Tensor, relevant: Tensor) -> Tensor:
    """Binary cross-entropy per pair, (pairs,), float32."""
    return torch.nn.functional.binary_cross_entropy_with_logits(
        logits.float(), relevant.float(), reduction="none"
    )
