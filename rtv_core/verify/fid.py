"""The paper's verifier: Fusion-in-Decoder over transformers' T5, in a few functions.

Each evidence passage is encoded apart with question and candidate; the decoder attends to all of them at once
and takes one step, its prefix being the candidate and "is". The score is the softmax over the logits of
"right" and "wrong" (paper, equation 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import T5ForConditionalGeneration

from rtv_core.reading.t5 import T5, encode_rows, length_batches, pad_rows
from rtv_core.records import EVIDENCE_SIZES, Evidence, Passage, Verdict

__all__ = [
    "FusionVerifier",
    "absorbed_step",
    "decoder_prefix",
    "encode_apart",
    "join_states",
    "p_right",
    "plain_step",
    "verifier_row",
]


class FusionVerifier:
    """Scores each candidate from its own evidence. `weights` of a verdict are the decoder's cross-attention.

    At its last position the decoder spreads attention 1 over the tokens of all passages; the share of a
    passage is what its tokens get, averaged over layers and heads.
    """

    def __init__(self, t5: T5) -> None:
        self._t5 = t5

    @torch.inference_mode()
    def verify(self, question: str, evidence: Sequence[Evidence]) -> list[Verdict]:
        """One verdict per body of evidence; a candidate without evidence scores 0."""
        verdicts = [Verdict((0.0,) * len(EVIDENCE_SIZES)) for _ in evidence]
        rows = [_rows(self._t5, question, body) for body in evidence]
        for some in _groups([sum(map(len, own)) for own in rows], self._t5.batch_tokens):
            answers = [evidence[i].candidate.answer for i in some]
            found = score_groups(self._t5, [rows[i] for i in some], answers)
            for i, verdict in zip(some, found, strict=True):
                verdicts[i] = verdict
        return verdicts


def score_groups(t5: T5, rows: Sequence[Sequence[Sequence[int]]], answers: Sequence[str]) -> list[Verdict]:
    """The verdicts of candidates that are read together: `rows[i]` are the encoder inputs of `answers[i]`."""
    flat = encode_apart(t5, [row for own in rows for row in own])
    states, at = [], 0
    for own in rows:
        states.append(flat[at : at + len(own)])
        at += len(own)
    prefix, last = decoder_prefix(t5, answers)
    columns, shares = [], None
    for k in EVIDENCE_SIZES:
        joined, mask = join_states([own[:k] for own in states])
        logits, shares = absorbed_step(t5.model, joined, mask, prefix, last, t5.label_ids)
        columns.append(p_right(logits))
    scores, largest = torch.stack(columns, dim=1).tolist(), max(EVIDENCE_SIZES)
    return [
        Verdict(tuple(scores[i]), _by_passage(shares[i], [len(s) for s in own[:largest]]))
        for i, own in enumerate(states)
    ]


def verifier_row(t5: T5, question: str, answer: str, passage: Passage) -> list[int]:
    """The encoder input of one evidence passage."""
    return t5.row(question=question, prediction=answer, title=passage.title, context=passage.text)


def encode_apart(t5: T5, rows: Sequence[Sequence[int]]) -> list[Tensor]:
    """The states of each input, read alone and without padding: (tokens, width) each."""
    found: dict[int, Tensor] = {}
    for batch in length_batches([len(row) for row in rows], t5.batch_tokens):
        ids, mask = pad_rows([rows[i] for i in batch], t5.device)
        states = encode_rows(t5.model, ids, mask)
        for place, i in enumerate(batch):
            found[i] = states[place, : len(rows[i])]
    return [found[i] for i in range(len(rows))]


def join_states(states: Sequence[Sequence[Tensor]]) -> tuple[Tensor, Tensor]:
    """The passages of each candidate one after the other, and which places hold a token.

    *Shape:* (candidates, most tokens, width), (candidates, most tokens)
    """
    whole = [torch.cat(list(own)) for own in states]
    tokens = [torch.ones(len(own), dtype=torch.long, device=own.device) for own in whole]
    mask = pad_sequence(tokens, batch_first=True)
    return pad_sequence(whole, batch_first=True), mask


def decoder_prefix(t5: T5, answers: Sequence[str]) -> tuple[Tensor, Tensor]:
    """What the decoder is given, candidate and "is" after its start, and the place of each last token.

    *Shape:* (candidates, longest), (candidates,). Padding comes after the last token, which can't see it.
    """
    link = t5.words(t5.card.link)
    rows = [[t5.start, *t5.words(answer)[: t5.card.answer_tokens], *link] for answer in answers]
    ids, mask = pad_rows(rows, t5.device)
    return ids, mask.sum(dim=1) - 1


def p_right(logits: Tensor) -> Tensor:
    """Equation 1: the softmax over the logits of "right" and "wrong", (candidates, 2) to (candidates,)."""
    return logits.float().softmax(dim=-1)[:, 0]


def plain_step(
    model: T5ForConditionalGeneration,
    joined: Tensor,
    mask: Tensor,
    prefix: Tensor,
    last: Tensor,
    labels: Sequence[int],
) -> Tensor:
    """The label words' logits after the prefix, by the model's own forward pass: (candidates, 2)."""
    out = model(
        encoder_outputs=(joined,), attention_mask=mask, decoder_input_ids=prefix, use_cache=False
    ).logits  # (candidates, longest, vocabulary)
    return out[torch.arange(len(out), device=out.device), last][:, list(labels)]


def absorbed_step(
    model: T5ForConditionalGeneration,
    joined: Tensor,
    mask: Tensor,
    prefix: Tensor,
    last: Tensor,
    labels: Sequence[int],
) -> tuple[Tensor, Tensor]:
    """The same logits, and how the last place attends: (candidates, 2), (candidates, most tokens).

    A step of few tokens over thousands of states need not project every state to keys and values: the key
    projection is folded into the queries, the value projection into what was attended to.
    """
    decoder, rows = model.decoder, torch.arange(len(prefix), device=prefix.device)
    hidden = decoder.embed_tokens(prefix)  # (candidates, longest, width)
    closed = (1 - mask)[:, None, :].float() * torch.finfo(torch.float32).min  # (candidates, 1, tokens)
    bias = _self_bias(decoder.block[0].layer[0].SelfAttention, prefix.shape[1])
    shares = joined.new_zeros(mask.shape, dtype=torch.float32)
    for block in decoder.block:
        hidden = hidden + _attend_to_prefix(block.layer[0], hidden, bias)
        attended, weights = _attend_to_states(block.layer[1], hidden, joined, closed)
        hidden = block.layer[-1](hidden + attended)
        shares += weights[rows, :, last].mean(dim=1) / len(decoder.block)
    hidden = decoder.final_layer_norm(hidden)[rows, last]  # (candidates, width)
    if model.config.scale_decoder_outputs:
        hidden = hidden * model.config.d_model**-0.5
    return hidden.float() @ model.lm_head.weight[list(labels)].float().T, shares


def _rows(t5: T5, question: str, body: Evidence) -> list[list[int]]:
    passages = body.passages[: max(EVIDENCE_SIZES)]
    return [verifier_row(t5, question, body.candidate.answer, p.hit.passage) for p in passages]


def _groups(tokens: Sequence[int], bound: int) -> Iterator[list[int]]:
    """Consecutive candidates that have evidence, together at most `bound` tokens, or one alone."""
    some: list[int] = []
    for i, own in enumerate(tokens):
        if some and sum(tokens[j] for j in some) + own > bound:
            yield some
            some = []
        if own:
            some.append(i)
    if some:
        yield some


def _by_passage(shares: Tensor, lengths: Sequence[int]) -> tuple[float, ...]:
    return tuple(part.sum().item() for part in shares[: sum(lengths)].split(list(lengths)))


def _self_bias(attention: nn.Module, length: int) -> Tensor:
    """Relative positions, and nothing of what comes later: (1, heads, length, length)."""
    bias = attention.compute_bias(length, length).float()
    later = torch.ones(length, length, dtype=torch.bool, device=bias.device).triu(1)
    return bias.masked_fill(later, torch.finfo(torch.float32).min)


def _attend_to_prefix(layer: nn.Module, hidden: Tensor, bias: Tensor) -> Tensor:
    attention, seen = layer.SelfAttention, layer.layer_norm(hidden)
    query, key, value = (_heads(attention, p(seen)) for p in (attention.q, attention.k, attention.v))
    weights = (query @ key.transpose(2, 3)).float() + bias  # T5 doesn't scale by the width
    attended = weights.softmax(dim=-1).to(value.dtype) @ value  # (candidates, heads, longest, head width)
    return attention.o(attended.transpose(1, 2).flatten(2))


def _attend_to_states(
    layer: nn.Module, hidden: Tensor, joined: Tensor, closed: Tensor
) -> tuple[Tensor, Tensor]:
    """What the cross-attention adds, and its weights: (candidates, heads, longest, tokens)."""
    attention, (count, length, width) = layer.EncDecAttention, hidden.shape
    query = _heads(attention, attention.q(layer.layer_norm(hidden)))
    keys, values = (p.weight.view(attention.n_heads, -1, width) for p in (attention.k, attention.v))
    folded = (query @ keys).flatten(1, 2)  # (candidates, heads x longest, width)
    weights = ((folded @ joined.transpose(1, 2)).float() + closed).softmax(dim=-1)
    mixed = (weights.to(joined.dtype) @ joined).view(count, attention.n_heads, length, width)
    attended = mixed @ values.transpose(1, 2)  # (candidates, heads, longest, head width)
    shape = (count, attention.n_heads, length, -1)
    return attention.o(attended.transpose(1, 2).flatten(2)), weights.view(shape)


def _heads(attention: nn.Module, projected: Tensor) -> Tensor:
    """(candidates, longest, inner) to (candidates, heads, longest, head width)."""
    return projected.unflatten(-1, (attention.n_heads, -1)).transpose(1, 2)
