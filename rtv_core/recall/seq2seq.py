"""The paper's recaller: a T5 reads each passage alone and writes its answers, or "irrelevant"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from rtv_core.reading.t5 import T5, encode_rows, length_batches, pad_rows
from rtv_core.records import Hit, Passage, Reading, Span, Wording
from rtv_core.text import answer_key, find_answer, tokenize

__all__ = ["SequenceRecaller", "Written", "locate_answer", "parse_answers", "write"]

LONGER = 3
"""An answer in other words than the passage's is looked for in runs of up to so many more of its tokens."""


@dataclass(frozen=True, slots=True)
class Written:
    """What the decoder wrote for one passage: token ids as they came, and the log-probability of each.

    `irrelevant` is the probability of beginning with the word for no answer.
    """

    ids: tuple[int, ...]
    logs: tuple[float, ...]
    irrelevant: float


class SequenceRecaller:
    """Decodes greedily, passage by passage.

    A passage's relevance is 1 minus the probability of beginning with "irrelevant", a span's score that of
    its answer. An answer is marked wherever the passage has it, whatever its case, accents and punctuation;
    one that the text does not have, or the title alone, is an answer in the recaller's own words.
    """

    def __init__(self, t5: T5) -> None:
        self._t5 = t5

    def recall(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        """One reading per hit."""
        rows = [recaller_row(self._t5, question, hit.passage) for hit in hits]
        return [
            _reading(hit.passage, 1 - written.irrelevant, parse_answers(self._t5, written))
            for hit, written in zip(hits, write(self._t5, rows), strict=True)
        ]


def recaller_row(t5: T5, question: str, passage: Passage) -> list[int]:
    """The encoder input of one passage."""
    return t5.row(question=question, title=passage.title, context=passage.text)


@torch.inference_mode()
def write(t5: T5, rows: Sequence[Sequence[int]]) -> list[Written]:
    """Decode each encoder input greedily, up to the card's number of tokens."""
    found: dict[int, Written] = {}
    for batch in length_batches([len(row) for row in rows], t5.batch_tokens):
        for i, written in zip(batch, _write_batch(t5, [rows[i] for i in batch]), strict=True):
            found[i] = written
    return [found[i] for i in range(len(rows))]


def parse_answers(t5: T5, written: Written) -> list[Wording]:
    """The answers that were written, in order, each once; none if the word "irrelevant" is anywhere.

    An answer's score is the geometric mean of its tokens' probabilities.

    Where no end came within the allowed length, the last answer was cut off: it counts only if it is the
    only one.
    """
    complete = t5.end in written.ids
    ids = written.ids[: written.ids.index(t5.end)] if complete else written.ids
    if t5.card.irrelevant in t5.text(ids):
        return []
    pieces, at = [], 0
    for place in [*(i for i, token in enumerate(ids) if token == t5.separator), len(ids)]:
        pieces.append((at, place))
        at = place + 1
    if not complete and len(pieces) > 1:
        pieces.pop()
    answers: dict[str, Wording] = {}
    for start, end in pieces:
        if text := " ".join(t5.text(ids[start:end]).split()):
            score = math.exp(sum(written.logs[start:end]) / (end - start))
            answers.setdefault(text, Wording(text, score))
    return list(answers.values())


def locate_answer(text: str, answer: str) -> list[tuple[int, int]]:
    """Where a passage has an answer, characters [start, end): by its tokens, else as another spelling."""
    if found := find_answer(text, answer):
        return found
    key, spans = answer_key(answer), tokenize(text).spans
    if not key:
        return []
    count = len(tokenize(answer).spans)
    for length in range(max(1, count - LONGER), count + LONGER + 1):
        runs = [(spans[i][0], spans[i + length - 1][1]) for i in range(len(spans) - length + 1)]
        if found := [(start, end) for start, end in runs if answer_key(text[start:end]) == key]:
            return found
    return []


def _reading(passage: Passage, relevance: float, given: Sequence[Wording]) -> Reading:
    """The places of the answers, in the order in which they were written, and those without a place."""
    spans: dict[tuple[int, int], Span] = {}
    wordings = []
    for answer in given:
        places = locate_answer(passage.text, answer.text)
        if not places:
            wordings.append(answer)
        for start, end in places:
            spans.setdefault((start, end), Span(start, end, answer.score))
    return Reading(passage.id, relevance, tuple(spans.values()), tuple(wordings))


def _write_batch(t5: T5, rows: Sequence[Sequence[int]]) -> list[Written]:
    ids, mask = pad_rows(rows, t5.device)
    states = encode_rows(t5.model, ids, mask)  # (rows, tokens, width)
    irrelevant = t5.words(t5.card.irrelevant)[0]
    token = torch.full((len(rows), 1), t5.start, device=t5.device)
    ended = torch.zeros(len(rows), dtype=torch.bool, device=t5.device)
    cache, tokens, logs, first = None, [], [], None
    for _ in range(t5.card.answer_tokens):
        out = t5.model(
            encoder_outputs=(states,),
            attention_mask=mask,
            decoder_input_ids=token,
            cache=cache,
            use_cache=True,
        )
        cache = out.cache
        log = out.logits[:, -1].float().log_softmax(dim=-1)  # (rows, vocabulary)
        first = log[:, irrelevant].exp() if first is None else first
        best, token = log.max(dim=-1)
        tokens.append(token)
        logs.append(best)
        ended |= token == t5.end
        token = token[:, None]
        if bool(ended.all()):
            break
    written = zip(
        torch.stack(tokens, dim=1).tolist(), torch.stack(logs, dim=1).tolist(), first.tolist(), strict=True
    )
    return [Written(tuple(i), tuple(log), p) for i, log, p in written]
