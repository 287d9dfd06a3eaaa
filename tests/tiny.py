"""A tiny base model made in code, and a small world of passages that its vocabulary knows."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from rtv_core.records import Candidate, Hit, Passage, Source, Span
from rtv_core.text import find_answer

__all__ = [
    "ANSWERS",
    "PASSAGES",
    "QUESTIONS",
    "candidate_of",
    "hits_of",
    "save_tiny_base",
    "tiny_base",
    "tiny_network",
    "tiny_reader",
]

_WORLD = (
    (
        "which lakes does the orla feed",
        "Orla",
        "The Orla rises in the hills and feeds Merin, Tovo and Sund before it turns south.",
        ("Merin", "Tovo", "Sund"),
    ),
    (
        "who wrote the opera velda",
        "Velda (opera)",
        "Velda is an opera by Ana Lind and Per Holm, first sung in a barn.",
        ("Ana Lind", "Per Holm"),
    ),
    (
        "when did the bridge of karo open",
        "",
        "The bridge of Karo opened in 1887 and, rebuilt after the flood, once more in 1952.",
        ("1887", "1952"),
    ),
    (
        "which moons go round tamis",
        "Tamis",
        "Two moons, Ilo and Brae, go round Tamis. The comet Sef passed it once.",
        ("Ilo", "Brae"),
    ),
    (
        "who founded the town of nerin",
        "Nerin",
        "Nerin was founded by Odo Falk. His sister drew its streets and its harbour.",
        ("Odo Falk",),
    ),
    (
        "what grows on the slopes of ruun",
        "Ruun",
        "On the slopes of Ruun grow oats, figs and a blue thistle; the top is bare.",
        ("oats", "figs", "a blue thistle"),
    ),
    (
        "who sang blue hour",
        "",
        "Blue Hour was sung by Beyla in the hall of Dorn; Ulf Straße sang it in the film.",
        ("Beyla", "Ulf Straße"),
    ),
    (
        "which languages are spoken in sefra",
        "Sefra",
        "In Sefra people speak Ostic and Malu.",
        ("Ostic", "Malu"),
    ),
)

_DISTRACTORS = (
    ("Dorn", "The harbour of Dorn was dredged twice. Ships from the south bring salt and wool."),
    ("", "A barn stood where the hall is now. It burned in a dry summer and nobody rebuilt it."),
    ("Thistle", "A thistle has thorns."),
    ("Hills", "The hills in the south are bare. People speak of a flood that once went round them."),
    ("", "The film was first shown in a town of the north, in the hall by the harbour."),
    ("Comet", "A comet passed the moons once; it rises before the sun and turns blue."),
)

QUESTIONS = tuple(question for question, *_ in _WORLD)
"""Question i is answered by `ANSWERS[i]` in `PASSAGES[i]`, and nowhere else."""

ANSWERS = tuple(answers for *_, answers in _WORLD)

PASSAGES = tuple(
    Passage(f"p{i:02}", title, text)
    for i, (title, text) in enumerate([*((title, text) for _, title, text, _ in _WORLD), *_DISTRACTORS])
)


def hits_of(passages: Sequence[Passage]) -> tuple[Hit, ...]:
    """The passages as a retriever would return them, in this order."""
    return tuple(
        Hit(passage, round(0.9 - 0.03 * i, 2), 0.0, i + 1, None, i + 1) for i, passage in enumerate(passages)
    )


def candidate_of(answer: str, hits: Sequence[Hit], *spellings: str) -> Candidate:
    """A candidate that was recalled wherever its answer stands."""
    sources = tuple(
        Source(hit.passage.id, hit.rank, Span(start, end, 0.8), 0.9)
        for hit in hits
        for start, end in find_answer(hit.passage.text, answer)
    )
    return Candidate(answer, (answer, *spellings), 0.8, sources)


def save_tiny_base(folder: Path, texts: Sequence[str] = (), seed: int = 0) -> Path:
    """A random BERT of two layers and width 32 with a WordPiece vocabulary of whole words and letters."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from transformers import BertConfig, BertModel

    texts = [*texts, *QUESTIONS, *(f"{p.title}. {p.text}" for p in PASSAGES)]
    normal, cut = BertNormalizer(lowercase=True), BertPreTokenizer()
    words = {word for text in texts for word, _ in cut.pre_tokenize_str(normal.normalize_str(text))}
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = string.ascii_lowercase + string.digits
    vocabulary = [*special, *dict.fromkeys([*letters, *("##" + x for x in letters), *sorted(words)])]
    tokenizer = Tokenizer(WordPiece({w: i for i, w in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normal, cut
    tokenizer.add_special_tokens(special)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=256,
        initializer_range=0.2,  # so wide that attention and padding matter without training
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


@cache
def _home() -> TemporaryDirectory:
    return TemporaryDirectory(prefix="rtv-tiny-")


@cache
def tiny_base() -> Path:
    """The folder of one tiny base model for the whole test run."""
    return save_tiny_base(Path(_home().name) / "base")


def tiny_network(seed: int = 0):
    """A fresh network on the tiny base, its card and its input form."""
    import torch

    from rtv_core.reading.network import ReaderShape
    from rtv_core.reading.weights import blank_network, input_form

    base = str(tiny_base())  # made before the seed is set: making it draws numbers too
    torch.manual_seed(seed)
    shape = ReaderShape(span_tokens=6, span_width=16, fusion_width=32, fusion_layers=2, fusion_heads=2)
    network, card = blank_network(base, shape)
    return network, card, input_form(card)


def tiny_reader(seed: int = 0, **options):
    """A reader with random weights; `options` as for `Reader`."""
    from rtv_core.reading.reader import Reader

    network, _, form = tiny_network(seed)
    return Reader(network, form, **options)
