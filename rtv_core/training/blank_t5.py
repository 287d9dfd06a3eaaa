"""A T5 that knows nothing yet, with a vocabulary of given texts: to train where none can be had."""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import Unigram
from transformers import T5Config, T5ForConditionalGeneration

from rtv_core.reading.t5 import RECALLER, T5, VERIFIER

__all__ = ["BlankShape", "blank_t5", "word_tokenizer"]

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
WORD_START = "▁"
LETTERS = string.ascii_letters + string.digits + string.punctuation
RARE = -20.0


@dataclass(frozen=True, slots=True)
class BlankShape:
    """Layers on either side, widths, heads. The default has about 5 million weights with 8,500 words.

    `gated` and `tied` are what T5 v1.1 and flan-T5 (gated, not tied) do otherwise than T5. Untied, `lm_head`
    has weights of its own and what it reads isn't scaled; encoder and decoder share their embeddings either
    way. `factor` multiplies the spread of the random weights.
    """

    layers: int = 2
    width: int = 256
    inner: int = 768
    heads: int = 4
    head_width: int = 64
    dropout: float = 0.0
    gated: bool = False
    tied: bool = True
    factor: float = 1.0


def blank_t5(texts: Iterable[str], shape: BlankShape | None = None, seed: int = 0) -> T5:
    """Random weights and a tokenizer of the texts' words, as a recaller of the paper's form."""
    shape = shape or BlankShape()
    tokenizer = word_tokenizer(texts)
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size(),
        d_model=shape.width,
        d_kv=shape.head_width,
        d_ff=shape.inner,
        num_layers=shape.layers,
        num_decoder_layers=shape.layers,
        num_heads=shape.heads,
        dropout_rate=shape.dropout,
        initializer_factor=shape.factor,
        feed_forward_proj="gated-gelu" if shape.gated else "relu",
        scale_decoder_outputs=shape.tied,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )
    model = T5ForConditionalGeneration(config)
    if not shape.tied:
        _untie(model, shape.factor)
    return T5(model.eval(), tokenizer, RECALLER)


def word_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """Whole words, one token each, and letters for what isn't among them; the form of T5's own tokenizer.

    The words of the two stages' inputs and outputs (label words, "irrelevant") are tokens as well.
    """
    cut = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(WORD_START), pre_tokenizers.Punctuation(behavior="isolated")]
    )
    counts = Counter(piece for text in texts for piece, _ in cut.pre_tokenize_str(text))
    words = f"{RECALLER.template} {VERIFIER.template}".replace("{", "").replace("}", "")
    fixed = [words, RECALLER.irrelevant, VERIFIER.link, *VERIFIER.labels]
    counts.update(piece for text in fixed for piece, _ in cut.pre_tokenize_str(text))
    letters = [letter for letter in (WORD_START, *LETTERS) if letter not in counts]
    letters += sorted({c for piece in counts for c in piece} - set(letters) - set(counts))
    total = sum(counts.values())
    vocabulary = [(PAD, 0.0), (END, 0.0), (UNKNOWN, 0.0)]
    vocabulary += [(piece, math.log(counts[piece] / total)) for piece in sorted(counts)]
    vocabulary += [(letter, RARE) for letter in letters]
    tokenizer = Tokenizer(Unigram(vocabulary, unk_id=2, byte_fallback=False))
    tokenizer.pre_tokenizer, tokenizer.decoder = cut, decoders.Metaspace(WORD_START)
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in (PAD, END, UNKNOWN)])
    return tokenizer


def _untie(model: T5ForConditionalGeneration, factor: float) -> None:
    """Give `lm_head` weights of its own. transformers ties every new T5, whatever its configuration says."""
    own = torch.randn_like(model.lm_head.weight) * factor
    model.lm_head.weight = torch.nn.Parameter(own)
    model.all_tied_weights_keys.pop("lm_head.weight")
