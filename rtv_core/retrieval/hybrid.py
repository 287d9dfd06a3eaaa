"""Meaning and words together: dense and BM25 ranks fused into one."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from rtv_core.records import Hit
from rtv_core.retrieval.dense import Encoder
from rtv_core.retrieval.index import Index
from rtv_core.retrieval.lexical import LexicalIndex
from rtv_core.settings import RetrieverSettings

if TYPE_CHECKING:
    from faiss import IndexFlatIP

__all__ = ["HybridRetriever"]

DEPTH = 100
"""Each side is searched at least so deep."""

RANK_SMOOTHING = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""

MARGIN = 16
"""Passages sought beyond the depth: faiss's rounding depends on the batch, the final order must not."""

BLAS_FROM = 20
"""Queries in a batch from which BLAS pays."""

ROWS_AT_A_TIME = 65_536


class HybridRetriever:
    """Searches an index by inner product and by BM25; the encoder must be the one that built it.

    The fused score is (1 - w) / (60 + dense rank) + w / (60 + lexical rank), w = `lexical_weight`, where a
    side that did not find the passage gives 0. With w = 0 the order is the dense one. Ties go by dense score,
    then by row.
    """

    def __init__(self, index: Index, encoder: Encoder, settings: RetrieverSettings | None = None) -> None:
        self.index = index
        self.encoder = encoder
        self.settings = settings or RetrieverSettings()
        self._flat = _flat_index(index.vectors)
        self._lexical = LexicalIndex(index.lexical_folder)

    def under(self, settings: RetrieverSettings) -> HybridRetriever:
        """The same index and encoder under other settings; loads nothing."""
        other = copy(self)
        other.settings = settings
        return other

    def search(self, questions: Sequence[str], k: int) -> list[list[Hit]]:
        """The `k` best passages of each question (all of them in a smaller corpus), best first.

        A question gives the same hits whatever else is asked with it.
        """
        if not questions:
            return []
        # One by one: what a vector's last bits are depends on the batch it is encoded in.
        queries = np.concatenate([self.encoder.encode([question]) for question in questions])
        depth = min(max(k, DEPTH), len(self.index))
        _, found = self._flat.search(queries, min(depth + MARGIN, len(self.index)))
        return [
            self._fuse(question, query, near, depth, k)
            for question, query, near in zip(questions, queries, found, strict=True)
        ]

    def similarity(self, queries: Sequence[str], passage_ids: Sequence[str]) -> np.ndarray:
        """Dense scores of queries against passages of the index.

        *Shape:* (queries, passages)
        """
        rows = [self.index.row(passage_id) for passage_id in passage_ids]
        return _scores(self.encoder.encode(queries), self._vectors(rows))

    def _fuse(self, question: str, query: np.ndarray, near: np.ndarray, depth: int, k: int) -> list[Hit]:
        lexical = self._lexical.scores(question)  # (passages,)
        worded = _best(lexical, depth)
        rows = np.union1d(near, worded)  # sorted, so that a stable sort breaks ties by row
        dense = _scores(query[None], self._vectors(rows))[0]  # (rows,)
        dense_ranks = _ranks(rows[np.argsort(-dense, kind="stable")][:depth])
        lexical_ranks = _ranks(worded)
        weight = self.settings.lexical_weight
        fused = np.array(
            [
                _share(1 - weight, dense_ranks.get(row)) + _share(weight, lexical_ranks.get(row))
                for row in rows.tolist()
            ]
        )
        best = np.lexsort((-dense, -fused))[:k]  # stable as well
        return [
            Hit(
                passage=self.index.passages[row],
                dense=float(dense[at]),
                lexical=float(lexical[row]),
                dense_rank=dense_ranks.get(row),
                lexical_rank=lexical_ranks.get(row),
                rank=rank,
            )
            for rank, (at, row) in enumerate(zip(best.tolist(), rows[best].tolist(), strict=True), 1)
        ]

    def _vectors(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        return np.asarray(self.index.vectors[rows], np.float32)  # (rows, dimension)


def _flat_index(vectors: np.ndarray) -> IndexFlatIP:
    import faiss

    # Below this many queries x width faiss leaves BLAS aside; its default makes batches ten times slower.
    faiss.cvar.distance_compute_blas_threshold = BLAS_FROM * vectors.shape[1]
    flat = faiss.IndexFlatIP(vectors.shape[1])
    for start in range(0, len(vectors), ROWS_AT_A_TIME):
        flat.add(np.asarray(vectors[start : start + ROWS_AT_A_TIME], np.float32))
    return flat


def _scores(queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    # Not by BLAS, whose rounding of one score depends on how many are asked for.
    return np.einsum("qd,pd->qp", queries, vectors)


def _best(scores: np.ndarray, depth: int) -> np.ndarray:
    """The rows of the `depth` best scores above 0, best first, ties by row."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > depth:
        last = np.partition(scores[rows], -depth)[-depth]
        rows = rows[scores[rows] >= last]
    return rows[np.argsort(-scores[rows], kind="stable")][:depth]


def _ranks(rows: np.ndarray) -> dict[int, int]:
    return {row: rank for rank, row in enumerate(rows.tolist(), 1)}


def _share(weight: float, rank: int | None) -> float:
    return 0.0 if rank is None else weight / (RANK_SMOOTHING + rank)
