"""A T5 of two layers and width 32, with the vocabulary of the small world in `tiny`."""

from __future__ import annotations

from functools import cache

from tiny import PASSAGES, QUESTIONS, hits_of

from rtv_core.records import Candidate, Evidence, EvidencePassage, Passage

TEXTS = (*QUESTIONS, *(f"{p.title} {p.text}" for p in PASSAGES))


def tiny_t5(
    stage: str = "recaller", seed: int = 0, tied: bool = True, gated: bool = False, factor: float = 1.0
):
    """A fresh one with random weights, wide enough apart that attention and padding matter."""
    from dataclasses import replace

    from rtv_core.reading.t5 import CARDS
    from rtv_core.training.blank_t5 import BlankShape, blank_t5

    shape = BlankShape(
        layers=2, width=32, inner=64, heads=2, head_width=16, tied=tied, gated=gated, factor=factor
    )
    return replace(blank_t5(TEXTS, shape, seed), card=CARDS[stage])


@cache
def shared_t5(stage: str):
    """One of each stage for tests that don't change it."""
    return tiny_t5(stage)


def body_of(answer: str, passages: tuple[Passage, ...]) -> Evidence:
    """The evidence of a candidate: these passages, in this order."""
    candidate = Candidate(answer, (answer,), 0.5, ())
    return Evidence(
        candidate, answer, tuple(EvidencePassage(hit, (), hit.dense, False) for hit in hits_of(passages))
    )
