"""What turns padded pairs into encoder states: OpenVINO where it is installed, else torch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rtv_core.errors import MissingError
from rtv_core.reading.network import ReaderNetwork

__all__ = ["Batch", "Encoder", "TorchEncoder", "open_encoder", "precision"]

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Token ids, attention mask and segment ids, each (pairs, tokens), int64."""

TORCH_PAIRS = 8
ADVICE = "Run pip install -r requirements.txt, or set reader.backend=torch."

UNUSABLE = (ImportError, AttributeError, RuntimeError)
"""What another release of OpenVINO raises, or one that can't use the processor."""

log = logging.getLogger(__name__)


class Encoder(Protocol):
    """Reads batches; two encoders of one network give the same states, to rounding."""

    @property
    def name(self) -> str:
        """Library and precision, e.g. "torch bfloat16"."""
        ...

    def pairs_a_batch(self, pairs: int) -> int:
        """How many of so many pairs should go together."""
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

    def pairs_a_batch(self, pairs: int) -> int:
        return TORCH_PAIRS

    @torch.inference_mode()
    def encode(self, batches: Sequence[Batch]) -> list[Tensor]:
        return [self._network.encode(*map(torch.from_numpy, batch)) for batch in batches]


def open_encoder(network: ReaderNetwork, backend: str = "auto") -> Encoder:
    """The encoder of a network on "openvino" or "torch"; "auto" is the first where it works.

    Raises MissingError for OpenVINO where it doesn't.
    """
    if backend == "torch":
        return TorchEncoder(network)
    if find_spec("openvino") is None:
        if backend == "openvino":
            raise MissingError(f"OpenVINO is not installed. {ADVICE}")
        return TorchEncoder(network)
    try:
        from rtv_core.reading.openvino_encoder import OpenVINOEncoder

        return OpenVINOEncoder(network)
    except UNUSABLE as error:
        if backend == "openvino":
            raise MissingError(f"OpenVINO doesn't work here ({error}). {ADVICE}") from error
        log.warning("OpenVINO doesn't work here (%s): torch reads the passages.", error)
        return TorchEncoder(network)


def precision(network: ReaderNetwork) -> str:
    """The data type of the network's encoder: "float32" or "bfloat16"."""
    return str(next(network.encoder.parameters()).dtype).removeprefix("torch.")
