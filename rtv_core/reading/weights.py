"""The trained reader on disk: `reader.safetensors` beside `rtv.json`, the embeddings from the base model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import BertConfig

from rtv_core.errors import MismatchError, MissingError
from rtv_core.pretrained import DEFAULT_MODEL, find_pretrained, fingerprint
from rtv_core.reading.form import InputForm
from rtv_core.reading.network import ReaderNetwork, ReaderShape

__all__ = [
    "ReaderCard",
    "blank_network",
    "input_form",
    "load_network",
    "load_reading_network",
    "read_card",
    "save_network",
    "weights_sha256",
    "write_card",
]

WEIGHTS, CARD = "reader.safetensors", "rtv.json"
BASE_PREFIX = "encoder.embeddings."


@dataclass(frozen=True, slots=True)
class ReaderCard:
    """What the weights depend on.

    `base_sha256` is the fingerprint of the base model, whose embeddings are used as they are. `stage` is
    "recaller" or "verifier": how far training went. `calibration` calibrates the verdict (see
    `EmbeddedVerifier`), `tau` was chosen on dev. `training` says how, on which data, with which seed.
    """

    base: str
    base_sha256: str
    stage: str
    question_tokens: int = 40
    passage_tokens: int = 200
    shape: dict[str, int] | None = None
    calibration: list[list[float]] | None = None
    tau: float = 0.5
    training: dict[str, Any] | None = None


def blank_network(
    base: str = DEFAULT_MODEL, shape: ReaderShape | None = None
) -> tuple[ReaderNetwork, ReaderCard]:
    """A network with the base model's encoder and untrained heads, and its card."""
    folder = find_pretrained(base)
    network = ReaderNetwork(_config(folder), shape or ReaderShape())
    network.encoder.load_state_dict(_base_weights(folder), strict=True)
    return network, ReaderCard(base, fingerprint(folder), "blank", shape=network.shape.as_dict())


def input_form(card: ReaderCard) -> InputForm:
    """The tokenizer and lengths of a card."""
    tokenizer = Tokenizer.from_file(str(find_pretrained(card.base) / "tokenizer.json"))
    return InputForm(tokenizer, card.question_tokens, card.passage_tokens)


def save_network(
    network: ReaderNetwork, card: ReaderCard, folder: Path, dtype: torch.dtype = torch.bfloat16
) -> None:
    """Write weights (without the base model's embeddings) and card, each whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    own = {
        name: tensor.detach().to(dtype).contiguous()
        for name, tensor in network.state_dict().items()
        if not name.startswith(BASE_PREFIX)
    }
    aside = folder / (WEIGHTS + ".partial")
    save_file(own, aside)
    aside.replace(folder / WEIGHTS)
    write_card(card, folder)


def write_card(card: ReaderCard, folder: Path) -> None:
    """Write the card alone, whole or not at all, beside weights that stay as they are."""
    aside = folder / (CARD + ".partial")
    aside.write_text(json.dumps(asdict(card), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    aside.replace(folder / CARD)


def read_card(folder: Path) -> ReaderCard:
    """The card of a model folder. Raises MissingError or MismatchError."""
    path = folder / CARD
    if not path.is_file() or not (folder / WEIGHTS).is_file():
        raise MissingError(
            f"There is no reader in {folder}. Train one with `python -m rtv_core train recaller`, "
            "then `python -m rtv_core train verifier`."
        )
    try:
        return ReaderCard(**json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise MismatchError(f"{path} is not a reader's card of this version: {error}") from error


def load_network(folder: Path) -> tuple[ReaderNetwork, ReaderCard]:
    """A trained network in float32, on the CPU, and its card.

    Raises MismatchError if the base model is not the one it was trained from or a tensor doesn't fit.
    """
    card = read_card(folder)
    base = find_pretrained(card.base)
    if (found := fingerprint(base)) != card.base_sha256:
        raise MismatchError(
            f"The reader in {folder} was trained from {card.base} with hash {card.base_sha256[:12]}, but "
            f"the one found here has {found[:12]}. Install the version that requirements.txt names."
        )
    try:
        network = ReaderNetwork(_config(base), ReaderShape(**(card.shape or {})))
        own = {name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()}
    except (TypeError, SafetensorError) as error:
        raise MismatchError(
            f"The reader in {folder} can't be read ({error}). Copy or train it again."
        ) from error
    embeddings = {
        f"encoder.{name}": tensor
        for name, tensor in _base_weights(base).items()
        if f"encoder.{name}".startswith(BASE_PREFIX)
    }
    try:
        network.load_state_dict(own | embeddings, strict=True)
    except RuntimeError as error:
        raise MismatchError(f"The weights in {folder} don't fit their card: {error}") from error
    return network.eval(), card


def load_reading_network(folder: Path) -> tuple[ReaderNetwork, ReaderCard]:
    """A trained network for reading: the encoder in bfloat16 where the processor has it, heads in float32."""
    network, card = load_network(folder)
    if torch.cpu._is_avx512_bf16_supported():
        network.encoder.to(torch.bfloat16)
    return network, card


def weights_sha256(folder: Path) -> str:
    """SHA-256 (hex) of the weights file."""
    with (folder / WEIGHTS).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _config(folder: Path) -> BertConfig:
    # One pass over the data needs no dropout, and without it attention runs fused: twice as fast on a CPU.
    return BertConfig.from_pretrained(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def _base_weights(folder: Path) -> dict[str, torch.Tensor]:
    weights = load_file(folder / "model.safetensors")
    plain = {name.removeprefix("bert."): tensor.float() for name, tensor in weights.items()}
    return {
        name: t
        for name, t in plain.items()
        if name.startswith(("embeddings.", "encoder.")) and "position_ids" not in name
    }
