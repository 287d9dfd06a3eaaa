"""Read the top passages as one text: one input, as far as the encoder's positions go, and one pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from rtv_core.baselines.joint import shared_readings
from rtv_core.reading.form import InputForm, Pair, pad
from rtv_core.reading.network import ReaderNetwork
from rtv_core.records import Hit, Passage, Reading

__all__ = ["ConcatenatedReader", "concatenate"]


class ConcatenatedReader:
    """Encodes the question with as many passages as fit, in their order; their spans share one softmax."""

    def __init__(self, network: ReaderNetwork, form: InputForm) -> None:
        self._network, self._form = network.eval(), form

    @torch.inference_mode()
    def read(self, question: str, hits: Sequence[Hit]) -> list[Reading]:
        if not hits:
            return []
        longest = self._network.encoder.config.max_position_embeddings
        pairs = concatenate(self._form, question, [hit.passage for hit in hits], longest)
        hidden = self._network.encode(*(torch.from_numpy(part) for part in pad(pairs[:1])))
        scores = self._network.spans(hidden.float())  # (1, tokens, lengths)
        return shared_readings(scores.expand(len(pairs), -1, -1), pairs, hits)


def concatenate(form: InputForm, question: str, passages: Sequence[Passage], longest: int) -> list[Pair]:
    """[CLS] question [SEP] title. text [SEP] title. text [SEP] ..., `longest` tokens at most.

    One pair per passage that fits, the last perhaps cut off. All have the same ids; each knows where its own
    text lies, so that no span crosses from one passage into the next.
    """
    ids: list[int] = []
    places: list[tuple[int, tuple[tuple[int, int], ...]]] = []
    passage_at = 0
    for pair in form.pairs(question, passages):
        if not ids:
            passage_at = pair.passage_at
            ids += pair.ids[:passage_at]
        title, room = pair.text_at - pair.passage_at, longest - len(ids) - 1
        if room <= title:
            break
        part = pair.ids[pair.passage_at : -1][:room]
        places.append((len(ids) + title, pair.offsets[: len(part) - title]))
        ids += (*part, pair.ids[-1])
    return [Pair(tuple(ids), passage_at, text_at, offsets) for text_at, offsets in places]
