"""A T5 from a folder or the hub, with what its training fixed: lengths, separator, label words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import regex
import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import Tensor
from transformers import AutoTokenizer, PretrainedConfig, T5ForConditionalGeneration
from transformers.utils import logging as transformers_logging

from rtv_core.errors import MismatchError, MissingError, SettingError
from rtv_core.pretrained import READABLE, fingerprint
from rtv_core.settings import T5Settings

__all__ = [
    "RECALLER",
    "T5",
    "VERIFIER",
    "T5Card",
    "encode_rows",
    "find_t5",
    "length_batches",
    "load_t5",
    "pad_rows",
    "read_t5_card",
    "save_t5",
    "with_training",
    "write_t5_card",
]

CARD = "rtv.json"
SENTENCEPIECE = "spiece.model"

_FIELD = regex.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class T5Card:
    """What the weights were trained with.

    `stage` is "recaller" or "verifier". `input_tokens` and `answer_tokens` are the most that are read and
    written, ends included. `separator` stands between answers, `irrelevant` for none. The verifier's decoder
    begins with the candidate and `link`; `labels` are the words for a right and a wrong one. `tau` was chosen
    on dev. `training` says how, stage by stage, and `base` from what.
    """

    stage: str
    template: str
    input_tokens: int
    answer_tokens: int = 40
    separator: str = "<pad>"
    irrelevant: str = "irrelevant"
    link: str = "is"
    labels: tuple[str, str] = ("right", "wrong")
    tau: float | None = None
    base: str = ""
    training: Mapping[str, Any] | None = None

    def fill(self, **texts: str) -> str:
        """The template with its fields filled in; braces inside a text are text."""
        return _FIELD.sub(lambda match: texts[match[1]], self.template)


RECALLER = T5Card("recaller", "question: {question} title: {title} context: {context}", 240)
"""The paper's recaller; also what a T5 without a card is taken for."""

VERIFIER = T5Card(
    "verifier", "question: {question} prediction: {prediction} title: {title} context: {context}", 280
)
"""The paper's verifier."""

CARDS = {card.stage: card for card in (RECALLER, VERIFIER)}


@dataclass(frozen=True)
class T5:
    """A model with its tokenizer and card. `batch_tokens` bounds what is read at once."""

    model: T5ForConditionalGeneration
    tokenizer: Tokenizer
    card: T5Card
    batch_tokens: int = 16_384
    fingerprint: str = ""

    def __post_init__(self) -> None:
        # The name of a special token inside a text is text.
        self.tokenizer.encode_special_tokens = True
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.model.device

    @property
    def end(self) -> int:
        """The id that ends a text."""
        return self.model.config.eos_token_id

    @property
    def start(self) -> int:
        """The id that a decoder begins with."""
        return self.model.config.decoder_start_token_id

    @property
    def separator(self) -> int:
        """The id between two answers."""
        return self.tokenizer.token_to_id(self.card.separator)

    @property
    def label_ids(self) -> list[int]:
        """The first token of each label word."""
        return [self.words(label)[0] for label in self.card.labels]

    def words(self, text: str) -> list[int]:
        """The token ids of a bare text."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def row(self, **texts: str) -> list[int]:
        """An encoder input: the filled template, cut to the card's length, and the end."""
        return [*self.words(self.card.fill(**texts))[: self.card.input_tokens - 1], self.end]

    def text(self, ids: Sequence[int]) -> str:
        """What the ids say, without special tokens and outer space."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True).strip()


def load_t5(name: str, stage: str, settings: T5Settings | None = None) -> T5:
    """A T5, flan-T5 or T5 v1.1 from a folder or hub id, for one stage: "recaller" or "verifier".

    A folder without a card is taken for the paper's. Raises MissingError if the model is nowhere to be had,
    MismatchError if it is no T5, its parts don't fit, or it was trained for the other stage.
    """
    settings = settings or T5Settings()
    folder = find_t5(name, settings.local_files_only)
    card = read_t5_card(folder, stage)
    _check_config(folder)
    device = _device(settings.device)
    hash_ = fingerprint(folder)  # says what a folder lacks before anything is loaded
    transformers_logging.disable_progress_bar()
    try:
        model, info = T5ForConditionalGeneration.from_pretrained(
            folder,
            dtype=_dtype(settings.dtype, device),
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except (OSError, RuntimeError, ValueError, SafetensorError) as error:
        raise MismatchError(f"The T5 in {folder} can't be read ({error}). Copy it again.") from error
    if missing := sorted(info["missing_keys"]):
        raise MismatchError(f"The weights in {folder} lack {missing[0]} ({len(missing)} in all).")
    t5 = T5(model.to(device).eval(), _tokenizer(folder), card, settings.batch_tokens, hash_)
    _check_vocabulary(t5, folder)
    return t5


def save_t5(t5: T5, folder: Path) -> None:
    """Weights (safetensors), tokenizer and card, so that `load_t5` finds them; the card comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CARD).unlink(missing_ok=True)
    transformers_logging.disable_progress_bar()
    t5.model.save_pretrained(folder)
    t5.tokenizer.save(str(folder / "tokenizer.json"))
    write_t5_card(t5.card, folder)


def write_t5_card(card: T5Card, folder: Path) -> None:
    """Write the card, whole or not at all."""
    aside = folder / (CARD + ".partial")
    aside.write_text(json.dumps(asdict(card), indent=2, sort_keys=True) + "\n", encoding="utf-8")
    aside.replace(folder / CARD)


def read_t5_card(folder: Path, stage: str) -> T5Card:
    """The card of a folder, or the paper's for this stage. Raises MismatchError for another stage's."""
    path = folder / CARD
    if not path.is_file():
        return CARDS[stage]
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        card = T5Card(**{**plain, "labels": tuple(plain["labels"])})
        fields = set(_FIELD.findall(card.template))
    except (TypeError, ValueError, KeyError) as error:
        raise MismatchError(f"{path} is not a T5's card of this version: {error}") from error
    if card.stage != stage:
        raise MismatchError(
            f"The T5 in {folder} was trained as a {card.stage}, not as a {stage}. Name another folder by "
            f"t5.{stage}, or train one with `python -m rtv_core train t5-{stage}`."
        )
    if fields != set(_FIELD.findall(CARDS[stage].template)):
        raise MismatchError(f"{path}: its template has the fields {sorted(fields)}; a {stage} has others.")
    return card


def find_t5(name: str, local_files_only: bool = False) -> Path:
    """The folder of a model: `name` if that is a folder, else the hub's cache, else the hub if allowed."""
    if not name:
        raise MissingError(
            "The profile names no T5. Give a folder or hub id by t5.recaller and t5.verifier, or train them "
            "with `python -m rtv_core train t5-recaller` and `train t5-verifier`."
        )
    if (folder := Path(name).expanduser()).is_dir():
        return folder
    from huggingface_hub import snapshot_download

    reason = ""
    for local in (True,) if local_files_only else (True, False):
        try:
            patterns = [*READABLE, SENTENCEPIECE]
            return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=local))
        except Exception as error:  # the client's own errors, its HTTP library's and the system's
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    hub = "which t5.local_files_only says not to ask" if local_files_only else f"which said: {reason}"
    raise MissingError(f"There is no T5 {name!r}: no such folder, and not from the hub, {hub}.")


def length_batches(lengths: Sequence[int], bound: int) -> Iterator[list[int]]:
    """Indices of rows of like length, longest first, such that a padded batch has at most `bound` tokens.

    A row that is longer than that comes alone.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    start = 0
    while start < len(order):
        count = max(1, bound // max(1, lengths[order[start]]))
        yield order[start : start + count]
        start += count


def pad_rows(rows: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor]:
    """Token ids and mask, each (rows, longest); what pads has id 0."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return ids.to(device), mask.to(device)


def encode_rows(model: T5ForConditionalGeneration, ids: Tensor, mask: Tensor) -> Tensor:
    """The encoder's states, (rows, longest, width)."""
    return model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state


def with_training(card: T5Card, stage: str, facts: Mapping[str, Any]) -> T5Card:
    """The card with what one stage of training says of itself."""
    return replace(card, training={**(card.training or {}), stage: dict(facts)})


def _check_config(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise MissingError(f"{folder} has no config.json. Give a complete T5 folder or a hub id.")
    kind = PretrainedConfig.get_config_dict(folder)[0].get("model_type")
    if kind != "t5":
        raise MismatchError(f"{folder} holds a model of type {kind!r}. Give a T5, flan-T5 or T5 v1.1.")


def _check_vocabulary(t5: T5, folder: Path) -> None:
    known, room = t5.tokenizer.get_vocab_size(), t5.model.config.vocab_size
    if known > room:
        raise MismatchError(f"The tokenizer in {folder} has {known:,} tokens, its model only {room:,}.")
    if t5.separator is None:
        raise MismatchError(f"The tokenizer in {folder} does not know the separator {t5.card.separator!r}.")
    if t5.card.stage == "verifier" and len(set(t5.label_ids)) < 2:
        raise MismatchError(
            f"The label words {' and '.join(t5.card.labels)} begin with the same token in {folder}. "
            "Name others in rtv.json."
        )


def _tokenizer(folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    try:
        if path.is_file():
            return Tokenizer.from_file(str(path))
        loaded = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return loaded.backend_tokenizer
    except Exception as error:  # the tokenizers raise plain Exceptions, their converters all kinds
        if path.is_file():
            raise MismatchError(f"{path} can't be read ({error}). Copy it again.") from error
        raise MismatchError(
            f"{folder / SENTENCEPIECE} can't be read. That takes two more packages: "
            "`pip install sentencepiece protobuf`; or copy the tokenizer.json that belongs to it."
        ) from error


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise SettingError(f"t5.device is {name}, but there is no CUDA device. Use t5.device=cpu.")
    return torch.device(name)


def _dtype(name: str, device: torch.device) -> torch.dtype:
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    return getattr(torch, name)
