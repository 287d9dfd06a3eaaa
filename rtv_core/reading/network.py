"""The reader's network: one encoder over (question, passage), and the heads that recall and verify."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

__all__ = [
    "PAIR_FACTS",
    "TOTAL_FACTS",
    "ReaderNetwork",
    "ReaderShape",
    "SpanHead",
    "VerifierHead",
    "VerifierInput",
]

FORBIDDEN = -1e4
"""The score of a span that can't be an answer; finite, so that bf16 and logsumexp stay finite too."""

PAIR_FACTS, TOTAL_FACTS = 6, 5
"""How many facts of an evidence passage, and of a candidate's evidence together, come in with the input."""

READ_PAIR_FACTS, READ_TOTAL_FACTS = 4, 6
"""How many the network adds from its own reading of the same passages."""

ALL_TOTALS = TOTAL_FACTS + READ_TOTAL_FACTS


@dataclass(frozen=True, slots=True)
class ReaderShape:
    """Sizes of the heads. `span_tokens`: the longest span that can be scored."""

    span_tokens: int = 24
    span_width: int = 64
    fusion_width: int = 256
    fusion_layers: int = 2
    fusion_heads: int = 4

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class SpanHead(nn.Module):
    """Scores every span of a passage at once: (start . end) / sqrt(width) + start + end + length.

    A score above 0 says "an answer". Several spans may pass, or none. Source: the global-pointer form of
    span extraction (Su et al., 2022), with a bias per length in place of rotary positions.
    """

    def __init__(self, width: int, shape: ReaderShape) -> None:
        super().__init__()
        self.project = nn.Linear(width, 2 * shape.span_width)
        self.bias = nn.Linear(width, 2)
        self.length = nn.Parameter(torch.zeros(shape.span_tokens))
        self._scale = shape.span_width**-0.5

    def forward(self, hidden: Tensor) -> Tensor:
        """*Shape:* hidden (batch, tokens, width) -> (batch, tokens, span_tokens).

        Entry [b, i, d] scores the span of tokens i to i + d.
        """
        start, end = self.project(hidden).chunk(2, dim=-1)
        start_bias, end_bias = self.bias(hidden).unbind(dim=-1)
        full = start @ end.transpose(1, 2) * self._scale + start_bias[:, :, None] + end_bias[:, None, :]
        return _band(full.float(), len(self.length)) + self.length.float()

    def score(self, first: Tensor, last: Tensor, distance: Tensor) -> Tensor:
        """The scores of given spans alone.

        *Shape:* states of first and last tokens (spans, width), their distance (spans,) -> (spans,). A span
        longer than any that was trained scores like none at all.
        """
        start, end = self.project(first).chunk(2, dim=-1)[0], self.project(last).chunk(2, dim=-1)[1]
        bias = self.bias(first)[:, 0] + self.bias(last)[:, 1]
        length = self.length[distance.clamp(max=len(self.length) - 1)]
        scores = ((start * end).sum(dim=-1) * self._scale + bias).float() + length.float()
        return scores.masked_fill(distance >= len(self.length), FORBIDDEN)


def _band(full: Tensor, spans: int) -> Tensor:
    """The first `spans` diagonals of (batch, tokens, tokens), as (batch, tokens, spans)."""
    tokens = full.shape[1]
    last = torch.arange(tokens, device=full.device)[:, None] + torch.arange(spans, device=full.device)
    band = full.gather(2, last.clamp(max=tokens - 1).expand(len(full), -1, -1))
    return band.masked_fill(last >= tokens, FORBIDDEN)


@dataclass(frozen=True, slots=True)
class VerifierInput:
    """What the verifier sees of a batch of candidates, each with up to k evidence passages.

    states (tokens, width)       encoder states of all passages, one after the other
    cls (pairs,)                 where in `states` each evidence passage begins
    mention_pair, mention_start, mention_end (mentions,)
                                 the evidence passage a mention lies in, its first and last token in `states`
    facts (pairs, PAIR_FACTS)    what is known of each evidence passage
    candidate, place (pairs,)    the candidate an evidence passage belongs to, and its place (from 0)
    words (candidates, width)    the mean word embedding of each candidate
    totals (candidates, TOTAL_FACTS)  what is known of each candidate's evidence together
    """

    states: Tensor
    cls: Tensor
    mention_pair: Tensor
    mention_start: Tensor
    mention_end: Tensor
    facts: Tensor
    candidate: Tensor
    place: Tensor
    words: Tensor
    totals: Tensor


class VerifierHead(nn.Module):
    """Fuses the evidence of one candidate in a small decoder whose prefix is the candidate.

    Each evidence passage is one memory slot: its states where the candidate is mentioned (a learned vector
    where it isn't), its [CLS] state and its facts. The decoder cross-attends to the slots and ends in two
    logits, right and wrong: Fusion-in-Decoder with a passage compressed to what concerns the candidate.
    """

    def __init__(self, width: int, shape: ReaderShape) -> None:
        super().__init__()
        d = shape.fusion_width
        self.mention = nn.Sequential(nn.Linear(2 * width, d), nn.GELU())
        self.no_mention = nn.Parameter(torch.zeros(d))
        self.passage = nn.Linear(width, d)
        self.fact = nn.Linear(PAIR_FACTS + READ_PAIR_FACTS, d)
        self.slot = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU(), nn.LayerNorm(d))
        self.prefix = nn.Linear(width, d)
        self.layers = nn.ModuleList(_FusionLayer(d, shape.fusion_heads) for _ in range(shape.fusion_layers))
        self.total = nn.Sequential(nn.Linear(ALL_TOTALS, 64), nn.GELU())
        self.verdict = nn.Sequential(nn.Linear(d + 64, d), nn.GELU(), nn.Linear(d, 2))

    def forward(self, x: VerifierInput, span: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of (right, wrong), attention shares (candidates, places), and all totals (candidates, 11).

        `span` (mentions,) and `relevance` (pairs,) are the recaller's scores of the same states.
        """
        pairs, candidates = len(x.cls), len(x.words)
        mentions = torch.cat([x.states[x.mention_start], x.states[x.mention_end]], dim=-1)
        mentions = self.mention(mentions).float()  # (mentions, d)
        best = mentions.new_full((pairs, mentions.shape[1]), -torch.inf)
        best = best.scatter_reduce(0, x.mention_pair[:, None].expand_as(mentions), mentions, "amax")
        best = torch.where(torch.isinf(best), self.no_mention.float(), best)  # (pairs, d)
        read, read_totals = _read_facts(x, span, relevance, pairs, candidates)
        slots = best + self.passage(x.states[x.cls]) + self.fact(torch.cat([x.facts, read], dim=-1))
        slots = self.slot(slots)

        places = int(x.place.max()) + 1 if pairs else 1
        memory = slots.new_zeros(candidates, places, slots.shape[1])
        memory = memory.index_put((x.candidate, x.place), slots)
        empty = torch.ones(candidates, places, dtype=torch.bool, device=slots.device)
        empty[x.candidate, x.place] = False

        query = self.prefix(x.words)
        for layer in self.layers:
            query, weights = layer(query, memory, empty)
        totals = torch.cat([x.totals, read_totals], dim=-1)
        logits = self.verdict(torch.cat([query, self.total(totals)], dim=-1))
        return logits.float(), weights.float(), totals.float()


def _read_facts(
    x: VerifierInput, span: Tensor, relevance: Tensor, pairs: int, candidates: int
) -> tuple[Tensor, Tensor]:
    """The recaller's view of the same evidence: (pairs, READ_PAIR_FACTS), (candidates, READ_TOTAL_FACTS)."""
    best = span.new_full((pairs,), -10.0).scatter_reduce(0, x.mention_pair, span.clamp(-10, 10), "amax")
    p_span, p_relevant = best.sigmoid(), relevance.sigmoid()
    both = p_span * p_relevant
    per_pair = torch.stack([best / 10, p_span, relevance.clamp(-10, 10) / 10, p_relevant], dim=-1)

    def most(value: Tensor) -> Tensor:
        return value.new_zeros(candidates).scatter_reduce(0, x.candidate, value, "amax")

    def together(value: Tensor) -> Tensor:
        return torch.log1p(value.new_zeros(candidates).index_add(0, x.candidate, value))

    per_candidate = [most(p_span), together(p_span), most(both), together(both), most(p_relevant)]
    return per_pair, torch.stack([*per_candidate, together(p_relevant)], dim=-1)


class _FusionLayer(nn.Module):
    """One decoder layer for a single query: cross-attention, then a feed-forward block, both residual."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.norm = nn.LayerNorm(d)
        self.query, self.key_value, self.out = nn.Linear(d, d), nn.Linear(d, 2 * d), nn.Linear(d, d)
        self.feed = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, query: Tensor, memory: Tensor, empty: Tensor) -> tuple[Tensor, Tensor]:
        candidates, places, d = memory.shape
        width = d // self._heads
        q = self.query(self.norm(query)).view(candidates, self._heads, 1, width)
        k, v = (
            part.view(candidates, places, self._heads, width).transpose(1, 2)
            for part in self.key_value(memory).chunk(2, dim=-1)
        )
        scores = (q @ k.transpose(2, 3)).float() * width**-0.5  # (candidates, heads, 1, places)
        weights = scores.masked_fill(empty[:, None, None, :], FORBIDDEN).softmax(dim=-1)
        fused = (weights.to(v.dtype) @ v).reshape(candidates, d)
        query = query + self.out(fused)
        return query + self.feed(query), weights.mean(dim=1)[:, 0]


class ReaderNetwork(nn.Module):
    """Encoder, span head, relevance head and verifier head."""

    def __init__(self, config: BertConfig, shape: ReaderShape) -> None:
        super().__init__()
        self.shape = shape
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.spans = SpanHead(config.hidden_size, shape)
        self.relevance = nn.Linear(config.hidden_size, 1)
        self.verifier = VerifierHead(config.hidden_size, shape)

    def encode(self, ids: Tensor, mask: Tensor, segments: Tensor) -> Tensor:
        """*Shape:* (batch, tokens) each -> states (batch, tokens, width)."""
        return self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=segments).last_hidden_state

    def relevant(self, first: Tensor) -> Tensor:
        """Relevance logits from [CLS] states, (passages, width) -> (passages,)."""
        return self.relevance(first).float()[:, 0]

    def verify(self, x: VerifierInput) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of (right, wrong), attention shares and totals: see `VerifierHead.forward`."""
        # The recaller's scores inform the verdict; the verdict's loss must not bend them.
        with torch.no_grad():
            first, last = x.states[x.mention_start], x.states[x.mention_end]
            span = self.spans.score(first, last, x.mention_end - x.mention_start)
            relevance = self.relevant(x.states[x.cls])
        return self.verifier(x, span, relevance)

    def mean_words(self, ids: list[tuple[int, ...]]) -> Tensor:
        """The mean word embedding of each token sequence, (sequences, width); zeros for an empty one.

        Word embeddings have a norm of about 1.4; they are scaled so that an entry is of order one.
        """
        table = self.encoder.embeddings.word_embeddings.weight.detach()
        means = [
            table[list(some)].float().mean(dim=0) if some else table.new_zeros(table.shape[1]) for some in ids
        ]
        return torch.stack(means).float() * 10
