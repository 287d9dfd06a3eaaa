"""BM25 over the words of title and text."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import regex

from rtv_core.records import Passage

if TYPE_CHECKING:
    from bm25s import BM25

__all__ = ["LEXICAL_FILES", "LexicalIndex", "build_lexical"]

LEXICAL_FILES = (
    "data.csc.index.npy",
    "indices.csc.index.npy",
    "indptr.csc.index.npy",
    "params.index.json",
    "vocab.index.json",
)

K1, B = 0.9, 0.4
"""Anserini's values for Wikipedia passages."""

_WORD = regex.compile(r"\b\w\w+\b")


class LexicalIndex:
    """BM25 scores of every passage; the postings are mapped from disk."""

    def __init__(self, folder: Path) -> None:
        import bm25s

        self._bm25: BM25 = bm25s.BM25.load(folder, mmap=True, allow_pickle=False, show_progress=False)
        self._stop_words = frozenset(bm25s.stopwords.STOPWORDS_EN)

    def __len__(self) -> int:
        return self._bm25.scores["num_docs"]

    def scores(self, question: str) -> np.ndarray:
        """The score of each passage, 0 where no word of the question occurs.

        *Shape:* (passages,)
        """
        known = self._bm25.get_tokens_ids(_words(question, self._stop_words))
        if not known:
            return np.zeros(len(self), np.float32)
        return self._bm25.get_scores_from_ids(known)


def build_lexical(passages: Iterable[Passage], folder: Path) -> None:
    """Write the BM25 index of `passages` into `folder`; the same passages give the same bytes."""
    import bm25s

    stop_words = frozenset(bm25s.stopwords.STOPWORDS_EN)
    vocabulary: dict[str, int] = {}
    rows = []
    for passage in passages:
        words = _words(f"{passage.title} {passage.text}", stop_words)
        rows.append([vocabulary.setdefault(word, len(vocabulary)) for word in words])
    if (
        not vocabulary
    ):  # nothing but stop words and symbols: BM25 needs a word, so all share one nobody asks for
        vocabulary, rows = {"": 0}, [[0] for _ in rows]
    bm25 = bm25s.BM25(k1=K1, b=B)
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it announces every step at level DEBUG
    bm25.index((rows, vocabulary), create_empty_token=False, show_progress=False)
    bm25.save(folder, show_progress=False)


def _words(text: str, stop_words: frozenset[str]) -> list[str]:
    # Composed first: \w does not match a combining mark, which would cut "Beyoncé" in two.
    text = unicodedata.normalize("NFC", text).lower()
    return [word for word in _WORD.findall(text) if word not in stop_words]
