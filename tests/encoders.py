"""Encoders small enough for tests: one that hashes words, one tiny BERT with a vocabulary made here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np


class WordEncoder:
    """Texts that share words get vectors that point the same way. `texts` keeps what it was asked."""

    name = "words"
    fingerprint = "0" * 64

    def __init__(self, dimension: int = 64, fingerprint: str = "0" * 64) -> None:
        self.dimension = dimension
        self.fingerprint = fingerprint
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += texts
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.lower().split() or [""]:
                digest = hashlib.sha256(word.strip(".,?!").encode()).digest()
                vector += np.random.default_rng(int.from_bytes(digest[:8], "little")).normal(
                    size=self.dimension
                )
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def save_tiny_encoder(folder: Path, words: Sequence[str], seed: int = 0) -> Path:
    """A random two-layer BERT of width 32 as a sentence-transformers folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(seed)
    bert = folder / "bert"
    bert.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".?,", *sorted(set(words))]
    (bert / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizerFast(vocab=str(bert / "vocab.txt")).save_pretrained(bert)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(bert)
    body = Transformer(str(bert), max_seq_length=64)
    SentenceTransformer(modules=[body, Pooling(32)], device="cpu").save(str(folder / "model"))
    return folder / "model"
