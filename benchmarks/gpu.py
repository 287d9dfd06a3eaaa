"""Seconds a question by the paper's system on CUDA, for T5-base, T5-large and T5-3b with random weights.

Run: python -m benchmarks.gpu [--shapes base,large,3b] [--candidates 29] [--repeat 3]

Without a CUDA device it says so and stops. Random weights cost what trained ones do, but write on until the
allowed length is full: recall is timed at its longest. Published, on one V100, for a T5-3b recaller and
verifier at 28.7 candidates and k = 10: recall 4.88 s, verification 4.83 s.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import click
import torch
from transformers import T5Config, T5ForConditionalGeneration

from rtv_core.reading.t5 import RECALLER, T5, VERIFIER
from rtv_core.recall.seq2seq import SequenceRecaller
from rtv_core.records import Candidate, Evidence, EvidencePassage, Hit, Passage
from rtv_core.training.blank_t5 import word_tokenizer
from rtv_core.verify.fid import FusionVerifier

__all__ = ["SHAPES", "Timing", "main", "time_shape"]

SHAPES = {
    "base": {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "d_kv": 64},
    "large": {"d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16, "d_kv": 64},
    "3b": {"d_model": 1024, "d_ff": 16384, "num_layers": 24, "num_heads": 32, "d_kv": 128},
}
"""As published by the makers of T5."""

VOCABULARY = 32128
PASSAGES, EVIDENCE, WORDS = 100, 10, 190
QUESTION = "when did the bridge of the harbour open to ships and trains"


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds a question (medians), and the most memory that was held, in GiB."""

    shape: str
    weights: int
    recall: float
    verify: float
    memory: float


@click.command()
@click.option("--shapes", default=",".join(SHAPES), show_default=True)
@click.option("--candidates", default=29, show_default=True, help="Verified a question.")
@click.option("--batch-tokens", default=65_536, show_default=True, help="Read at once.")
@click.option("--repeat", default=3, show_default=True)
def main(shapes: str, candidates: int, batch_tokens: int, repeat: int) -> None:
    """Print a row a shape."""
    if not torch.cuda.is_available():
        print("There is no CUDA device here: nothing to time.")
        return
    name = torch.cuda.get_device_name()
    print(f"{name}, bfloat16, {PASSAGES} passages, {candidates} candidates, k = {EVIDENCE}\n")
    print("| T5 | weights | recall s | verify s | both s | most memory |\n|---|---|---|---|---|---|")
    for shape in shapes.split(","):
        found = time_shape(shape, candidates, batch_tokens, repeat)
        both = found.recall + found.verify
        print(
            f"| {shape} | {found.weights / 1e6:,.0f} M | {found.recall:.2f} | {found.verify:.2f} "
            f"| {both:.2f} | {found.memory:.1f} GiB |",
            flush=True,
        )


def time_shape(
    shape: str, candidates: int, batch_tokens: int, repeat: int, device: str = "cuda", scale: int = 1
) -> Timing:
    """Time recall and verification of one question; `scale` divides passages and candidates: a quick try."""
    t5 = _random_t5(shape, batch_tokens, device)
    hits = _hits(PASSAGES // scale)
    evidence = [_body(i, hits) for i in range(max(1, candidates // scale))]
    recaller, verifier = SequenceRecaller(t5), FusionVerifier(replace(t5, card=VERIFIER))
    recall = _median(lambda: recaller.recall(QUESTION, hits), repeat, device)
    verify = _median(lambda: verifier.verify(QUESTION, evidence), repeat, device)
    weights = sum(parameter.numel() for parameter in t5.model.parameters())
    memory = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    return Timing(shape, weights, recall, verify, memory)


def _random_t5(shape: str, batch_tokens: int, device: str) -> T5:
    tokenizer = word_tokenizer([QUESTION, *(f"word{i}" for i in range(2000))])
    if shape not in SHAPES:
        raise click.BadParameter(f"there is no shape {shape!r}; use {', '.join(SHAPES)}.")
    config = T5Config(vocab_size=VOCABULARY, dropout_rate=0.0, decoder_start_token_id=0, **SHAPES[shape])
    torch.manual_seed(0)
    with torch.device(device):
        model = T5ForConditionalGeneration(config)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    return T5(model.to(torch.bfloat16).eval(), tokenizer, RECALLER, batch_tokens)


def _hits(count: int) -> list[Hit]:
    texts = (" ".join(f"word{(17 * i + j) % 2000}" for j in range(WORDS)) for i in range(count))
    return [
        Hit(Passage(f"p{i}", f"word{i}", text), 0.5, 0.0, i + 1, None, i + 1) for i, text in enumerate(texts)
    ]


def _body(number: int, hits: list[Hit]) -> Evidence:
    answer = f"word{number} word{number + 1}"
    some = [hits[(number + i) % len(hits)] for i in range(min(EVIDENCE, len(hits)))]
    passages = tuple(EvidencePassage(hit, ("strict",), 0.5, True) for hit in some)
    return Evidence(Candidate(answer, (answer,), 0.5, ()), f"{QUESTION} {answer}", passages)


def _median(work: Callable[[], object], repeat: int, device: str) -> float:
    """Seconds of the middle run; one before them is not counted."""
    seconds = []
    for run in range(repeat + 1):
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        if run:
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
