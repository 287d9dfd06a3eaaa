"""How a (question, passage) pair becomes tokens: [CLS] question [SEP] title. text [SEP]."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tokenizers import Tokenizer

from rtv_core.records import Passage

__all__ = ["InputForm", "Pair"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A tokenised pair.

    `ids` are its token ids; the passage (title and text) begins at token `passage_at`, the text at `text_at`.
    `offsets` holds the characters [start, end) of `Passage.text` behind each text token; what was cut off has
    none.
    """

    ids: tuple[int, ...]
    passage_at: int
    text_at: int
    offsets: tuple[tuple[int, int], ...]

    def tokens_of(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and last token (inclusive, counted from the pair's start) that characters touch."""
        first = bisect_right(self.offsets, start, key=lambda offset: offset[1])
        last = bisect_left(self.offsets, end, key=lambda offset: offset[0]) - 1
        return (self.text_at + first, self.text_at + last) if first <= last else None

    def characters_of(self, first: int, last: int) -> tuple[int, int]:
        """The characters [start, end) of the text behind tokens `first` to `last` (inclusive)."""
        return self.offsets[first - self.text_at][0], self.offsets[last - self.text_at][1]


class InputForm:
    """The tokenizer and the lengths a reader was trained with.

    question_tokens, passage_tokens: the most that are kept of each; the rest is cut off at the end.
    """

    def __init__(self, tokenizer: Tokenizer, question_tokens: int = 40, passage_tokens: int = 200) -> None:
        # The name of a special token inside a text is text.
        tokenizer.encode_special_tokens = True
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._question_tokens, self._passage_tokens = question_tokens, passage_tokens
        self._cls, self._sep = (tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))
        self._encode = lru_cache(maxsize=4096)(self._encode_text)

    def pairs(self, question: str, passages: Sequence[Passage]) -> list[Pair]:
        """One pair per passage, in order."""
        asked = self._encode(question)[0][: self._question_tokens]
        return [self._pair(asked, passage) for passage in passages]

    def words(self, text: str) -> tuple[int, ...]:
        """The token ids of a bare text, without special tokens."""
        return self._encode(text)[0]

    def _pair(self, asked: tuple[int, ...], passage: Passage) -> Pair:
        title = self._encode(passage.title + ".")[0] if passage.title else ()
        title = title[: self._passage_tokens // 4]
        ids, offsets = self._encode(passage.text)
        room = self._passage_tokens - len(title)
        passage_at = len(asked) + 2
        return Pair(
            ids=(self._cls, *asked, self._sep, *title, *ids[:room], self._sep),
            passage_at=passage_at,
            text_at=passage_at + len(title),
            offsets=offsets[:room],
        )

    def _encode_text(self, text: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return tuple(encoded.ids), tuple((start, _past_marks(text, end)) for start, end in encoded.offsets)


def _past_marks(text: str, end: int) -> int:
    """Where a token that ends at `end` really ends: the tokenizer drops the combining marks that follow."""
    while end < len(text) and unicodedata.category(text[end]) == "Mn":
        end += 1
    return end


def pad(pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Token ids, attention mask and segment ids of a batch, each (pairs, longest), int64."""
    longest = max(len(p.ids) for p in pairs)
    ids, mask, segments = (np.zeros((len(pairs), longest), dtype=np.int64) for _ in range(3))
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)] = pair.ids
        mask[row, : len(pair.ids)] = 1
        segments[row, pair.passage_at : len(pair.ids)] = 1
    return ids, mask, segments
