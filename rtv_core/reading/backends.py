"""Which library runs the reader's encoder: OpenVINO where it works, else torch."""

from __future__ import annotations

import logging
from importlib.util import find_spec

from rtv_core.errors import MissingError
from rtv_core.reading.encoders import Encoder, TorchEncoder
from rtv_core.reading.network import ReaderNetwork

__all__ = ["open_encoder"]

ADVICE = "Run pip install -r requirements.txt, or set reader.backend=torch."

UNUSABLE = (ImportError, AttributeError, RuntimeError)
"""What another release of OpenVINO raises, or one that can't use the processor."""

log = logging.getLogger(__name__)


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
