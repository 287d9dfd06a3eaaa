"""What turns padded pairs into encoder states; and torch, which always can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rtv_core.reading.network import ReaderNetwork

__all__ = ["Batch", "Encoder", "TorchEncoder", "precision"]

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Token ids, attention mask and segment ids, each (pairs, tokens), int64."""

TORCH_PAIRS = 8


class Encoder(Protocol):
    """Reads batches; two encoders of one network give the same states, to rounding."""

    @property
    def name(self) -> str:
        """Library and precision, e.g. "torch bfloat16"."""
        ...

    def sizes(self, pairs: int) -> list[int]:
        """How many of so many pairs should go into each batch."""
        ...

    def encode(self, batches: Sequence[Batch]) -> list[Tensor]:
        """The states of each batch, (pairs, tokens, width), in the data type of the network's encoder."""
        ...


class TorchEncoder:
    """The network itself, one batch after the other, each on all cores."""

    def __init__(self, network: ReaderNetwork) -> None:
        self._network = network

    @property
    def name(self) -> str:
        return f"torch {precision(self._network)}"

    def sizes(self, pairs: int) -> list[int]:
        return [min(TORCH_PAIRS, pairs - start) for start in range(0, pairs, TORCH_PAIRS)]

    @torch.inference_mode()
    def encode(self, batches: Sequence[Batch]) -> list[Tensor]:
        return [self._network.encode(*map(torch.from_numpy, batch)) for batch in batches]


def precision(network: ReaderNetwork) -> str:
    """The data type of the network's encoder: "float32" or "bfloat16"."""
    return str(next(network.encoder.parameters()).dtype).removeprefix("torch.")
