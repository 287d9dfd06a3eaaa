"""First stage: the recaller reads one passage at a time, answering or irrelevant ones.

Run: python -m rtv_core train recaller --data DIR --index DIR --out DIR
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from rtv_core.reading.form import InputForm, pad
from rtv_core.reading.network import ReaderNetwork
from rtv_core.records import Passage
from rtv_core.training.examples import Example, answer_spans
from rtv_core.training.loop import LoopSettings, plan_name, run_steps
from rtv_core.training.losses import relevance_loss, single_span_loss, span_loss, span_targets

__all__ = ["Item", "RecallerPlan", "plan_recaller", "recall_losses", "train_recaller"]

BATCHES_A_CHUNK = 40


@dataclass(frozen=True, slots=True)
class RecallerPlan:
    """`alpha_neg`: irrelevant passages per answering one. `repeats`: how often a set is seen (else once).

    A question that only seems to be answered comes with a passage that seems to answer it, each time. With
    `single_span` the spans of a passage compete for being the one answer.
    """

    alpha_neg: float = 0.4
    batch: int = 32
    repeats: tuple[tuple[str, int], ...] = (("multispanqa", 6), ("nq", 3))
    single_span: bool = field(default=False, repr=False)
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Item:
    """One (question, passage) pair to read, and the characters [start, end) of its answers, if any."""

    question: str
    passage: Passage
    answers: tuple[tuple[int, int], ...]


def plan_recaller(
    examples: Sequence[Example], passages: Sequence[Passage], plan: RecallerPlan
) -> list[list[Item]]:
    """The batches of one run, in order: pairs of like length together, shuffled by the plan's seed."""
    rng, repeats = random.Random(plan.seed), dict(plan.repeats)
    items: list[Item] = []
    for example in examples:
        for _ in range(repeats.get(example.set, 1)):
            if positive := draw_positive(example, passages, rng):
                items.append(positive)
            elif not example.answers:
                items.append(Item(example.text, passages[rng.choice(example.gold)], ()))
                continue
            if rng.random() < plan.alpha_neg and (negative := draw_negative(example, passages, rng)):
                items.append(negative)
    rng.shuffle(items)
    batches: list[list[Item]] = []
    chunk = plan.batch * BATCHES_A_CHUNK
    for start in range(0, len(items), chunk):
        some = sorted(items[start : start + chunk], key=lambda item: len(item.passage.text))
        own = [some[i : i + plan.batch] for i in range(0, len(some), plan.batch)]
        rng.shuffle(own)
        batches += own
    return batches


def draw_positive(example: Example, passages: Sequence[Passage], rng: random.Random) -> Item | None:
    """A passage that answers the question: one cut from its context, else a retrieved one."""
    ranked = [(row, None) for row in example.gold]
    if not ranked or (example.open and rng.random() < 0.3):
        ranked = [(row, rank) for rank, row in enumerate(example.rows[:20], 1)] or ranked
    rng.shuffle(ranked)
    for row, rank in ranked:
        if example.status(row, rank, passages[row]) == "positive":
            return Item(example.text, passages[row], tuple(answer_spans(passages[row], example.answers)))
    return None


def draw_negative(example: Example, passages: Sequence[Passage], rng: random.Random) -> Item | None:
    """A retrieved passage without any answer, likely a well ranked one."""
    for _ in range(8):
        place = int(len(example.rows) * rng.random() ** 2.5)
        row = example.rows[place]
        if example.status(row, place + 1, passages[row]) == "negative":
            return Item(example.text, passages[row], ())
    return None


def recall_losses(
    network: ReaderNetwork, form: InputForm, items: Sequence[Item], single_span: bool = False
) -> dict[str, Tensor]:
    """Span and relevance loss of a batch."""
    pairs = [form.pairs(item.question, [item.passage])[0] for item in items]
    ids, mask, segments = (torch.from_numpy(part) for part in pad(pairs))
    hidden = network.encode(ids, mask, segments)  # (pairs, tokens, width)
    scores = network.spans(hidden)
    possible, wanted = span_targets(pairs, [i.answers for i in items], scores.shape[1], scores.shape[2])
    relevant = torch.tensor([bool(item.answers) for item in items])
    # An answer that was cut off leaves a relevant passage without a target: nothing to learn about its spans.
    taught = ~relevant | wanted.flatten(1).any(dim=1)
    loss = single_span_loss if single_span else span_loss
    return {
        "span": (loss(scores, possible, wanted) * taught).mean(),
        "relevance": 0.5 * relevance_loss(network.relevant(hidden[:, 0]), relevant).mean(),
    }


def train_recaller(
    network: ReaderNetwork,
    form: InputForm,
    examples: Sequence[Example],
    passages: Sequence[Passage],
    folder: Path,
    plan: RecallerPlan | None = None,
    loop: LoopSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, object]:
    """Train encoder, span head and relevance head in place; returns what goes into the card."""
    plan = plan or RecallerPlan()
    torch.manual_seed(plan.seed)
    batches = plan_recaller(examples, passages, plan)
    run_steps(
        network,
        batches,
        lambda items: recall_losses(network, form, items, plan.single_span),
        folder,
        loop or LoopSettings(),
        progress,
        plan_name(plan),
    )
    return {
        "pairs": sum(map(len, batches)),
        "steps": len(batches),
        "alpha_neg": plan.alpha_neg,
        "seed": plan.seed,
    }
