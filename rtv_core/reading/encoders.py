"""What turns padded pairs into encoder states: OpenVINO where it is installed, else torch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from rtv_core.errors import MissingError
from rtv_core.reading.network import ReaderNetwork

__all__ = ["Batch", "Encoder", "TorchEncoder", "choose_backend", "open_encoder"]

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Token ids, attention mask and segment ids, each (pairs, tokens), int64."""


class Encoder(Protocol):
    """Reads batches; two encoders of one network give the same states, to rounding."""

    @property
    def name(self) -> str:
        """Library and precision, e.g. "torch bfloat16"."""
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

    @torch.inference_mode()
    def encode(self, batches: Sequence[Batch]) -> list[Tensor]:
        return [self._network.encode(*map(torch.from_numpy, batch)) for batch in batches]


def choose_backend(wanted: str) -> str:
    """ "openvino" or "torch"; "auto" is the first where it is installed.

    Raises MissingError for OpenVINO where it isn't.
    """
    installed = find_spec("openvino") is not None
    if wanted == "openvino" and not installed:
        raise MissingError(
            "OpenVINO is not installed. Run pip install openvino, or set reader.backend=torch."
        )
    return "openvino" if installed and wanted != "torch" else "torch"


def open_encoder(network: ReaderNetwork, backend: str = "auto") -> Encoder:
    """The encoder of a network on a backend (see `choose_backend`)."""
    if choose_backend(backend) == "torch":
        return TorchEncoder(network)
    from rtv_core.reading.openvino_encoder import OpenVINOEncoder

    return OpenVINOEncoder(network)


def precision(network: ReaderNetwork) -> str:
    """The data type of the network's encoder: "float32" or "bfloat16"."""
    return str(next(network.encoder.parameters()).dtype).removeprefix("torch.")
