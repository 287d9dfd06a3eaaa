"""Rerank: which of the retrieved passages a reader gets to see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from rtv_core.errors import InputError
from rtv_core.reading.reader import Reader
from rtv_core.records import Hit, Question
from rtv_core.text import covers_any

__all__ = ["OracleReranker", "Reranker", "RetrievalOrder", "TrainedReranker"]


class Reranker(Protocol):
    """Puts the hits of a question in another order."""

    name: str

    def rank(self, question: Question, hits: Sequence[Hit]) -> list[Hit]:
        """All hits, the most useful first; ties by retrieval rank."""
        ...


class RetrievalOrder:
    """Leaves the hits as the retriever ranked them."""

    name = "retrieval order"

    def rank(self, question: Question, hits: Sequence[Hit]) -> list[Hit]:
        return sorted(hits, key=lambda hit: hit.rank)


class TrainedReranker:
    """Reads every hit alone and ranks by the relevance that its [CLS] state speaks of."""

    def __init__(self, reader: Reader, name: str = "rerank") -> None:
        self._reader, self.name = reader, name

    @torch.inference_mode()
    def rank(self, question: Question, hits: Sequence[Hit]) -> list[Hit]:
        if not hits:
            return []
        read = self._reader.read(question.text, [hit.passage for hit in hits])
        first = torch.stack([states.hidden[0] for states in read]).float()  # (hits, width)
        scores = self._reader.network.relevant(first).tolist()
        order = sorted(range(len(hits)), key=lambda i: (-scores[i], hits[i].rank))
        return [hits[i] for i in order]


class OracleReranker:
    """Knows the gold: passages that cover some gold answer of any annotation, then the others.

    The paper's oracle passage reranker. Coverage is strict and looks at the text, as a reader takes answers
    from there.
    """

    name = "oracle rerank"

    def rank(self, question: Question, hits: Sequence[Hit]) -> list[Hit]:
        """Raises InputError where no gold is known."""
        if not question.answers:
            raise InputError(
                "An oracle reranker needs the gold answers, and none are known for "
                f"{question.text!r}. Choose a question of a set with gold."
            )
        spellings = [s for annotation in question.answers for answer in annotation for s in answer]
        return sorted(hits, key=lambda hit: (not covers_any(hit.passage.text, spellings), hit.rank))
