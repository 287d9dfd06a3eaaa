"""A baseline's joint reader: one softmax over the spans of all passages of a question, and their order.

Run: python -m rtv_core train joint-reader --data DIR --index DIR --from DIR --out DIR [--concatenated]

Encoder, examples, groups, number of steps and learning rates are those of the verifier's stage. As our one
network recalls and verifies, this one ranks passages and reads them, from the same states: equal size, equal
memory, equal training. Read as one text, passages can't be ranked, and that reader only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from rtv_core.baselines.concatenated import concatenate
from rtv_core.baselines.joint import log_shares, possible_spans
from rtv_core.reading.form import InputForm, Pair, pad
from rtv_core.reading.network import ReaderNetwork
from rtv_core.records import Passage
from rtv_core.training.examples import Example, answer_spans
from rtv_core.training.loop import LoopSettings, run_steps
from rtv_core.training.losses import span_targets
from rtv_core.training.reranker import ranking_losses
from rtv_core.training.verifier import SECOND_STAGE, Group, VerifierPlan, plan_verifier

__all__ = ["concatenated_losses", "joint_loss", "joint_losses", "to_concatenate", "train_joint_reader"]

FITTING = 3
"""About how many passages of 100 words fit into 512 tokens."""


def train_joint_reader(
    network: ReaderNetwork,
    form: InputForm,
    examples: Sequence[Example],
    passages: Sequence[Passage],
    folder: Path,
    plan: VerifierPlan | None = None,
    loop: LoopSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    concatenated: bool = False,
) -> dict[str, object]:
    """Train encoder, span head and (but for `concatenated`) relevance head in place; returns what goes into
    the card.
    """
    plan = plan or VerifierPlan()
    losses = concatenated_losses if concatenated else joint_losses
    torch.manual_seed(plan.seed)
    steps = plan_verifier(examples, passages, plan)
    if concatenated:
        steps = [[to_concatenate(group) for group in groups] for groups in steps]
    run_steps(
        network,
        steps,
        lambda groups: losses(network, form, groups),
        folder,
        loop or SECOND_STAGE,
        progress,
        f"{'concatenated' if concatenated else 'joint'} reader {plan!r}",
    )
    return {
        "questions": sum(map(len, steps)),
        "passages_a_question": FITTING if concatenated else plan.passages,
        "steps": len(steps),
        "seed": plan.seed,
    }


def joint_losses(network: ReaderNetwork, form: InputForm, groups: Sequence[Group]) -> dict[str, Tensor]:
    """The mean joint loss of a few questions whose passages are encoded apart, and how to rank these."""
    pairs = [form.pairs(group.question, [hit.passage])[0] for group in groups for hit in group.hits]
    hidden = network.encode(*(torch.from_numpy(part) for part in pad(pairs)))  # (pairs, tokens, width)
    scores = network.spans(hidden)  # (pairs, tokens, lengths)
    losses, start = [], 0
    for group in groups:
        end = start + len(group.hits)
        losses.append(joint_loss(scores[start:end], pairs[start:end], group))
        start = end
    ranking = ranking_losses(network.relevant(hidden[:, 0]), groups)
    return {"joint": torch.stack(losses).mean()} | ranking


def concatenated_losses(
    network: ReaderNetwork, form: InputForm, groups: Sequence[Group]
) -> dict[str, Tensor]:
    """The mean joint loss of a few questions whose passages are encoded as one text, as far as they fit."""
    longest = network.encoder.config.max_position_embeddings
    views = [
        concatenate(form, group.question, [hit.passage for hit in group.hits], longest) for group in groups
    ]
    hidden = network.encode(*(torch.from_numpy(part) for part in pad([own[0] for own in views])))
    scores = network.spans(hidden)  # (questions, tokens, lengths)
    losses = [
        joint_loss(scores[row].expand(len(own), -1, -1), own, group)
        for row, (own, group) in enumerate(zip(views, groups, strict=True))
    ]
    return {"joint": torch.stack(losses).mean()}


def to_concatenate(group: Group) -> Group:
    """The group with its first answering passage among the first that fit, all in the order of rank.

    As ranked, most answering passages would never be read.
    """
    order = list(range(len(group.hits)))
    answering = [i for i in order if group.statuses[i] == "positive"][:1]
    first = sorted((answering + [i for i in order if i not in answering])[:FITTING])
    order = first + [i for i in order if i not in first]
    return replace(
        group,
        hits=tuple(group.hits[i] for i in order),
        statuses=tuple(group.statuses[i] for i in order),
        spans=tuple(group.spans[i] for i in order),
    )


def joint_loss(scores: Tensor, pairs: Sequence[Pair], group: Group) -> Tensor:
    """Mean over the answers of -log of the share that an answer's places have together; one question.

    `pairs` are those of the group's first passages. Passages that may answer take no part in the softmax.
    Where no passage answers, "no answer" is what is wanted; where all answers were cut off there is nothing
    to learn.

    *Shape:* scores (passages, tokens, lengths) -> scalar.
    """
    tokens, lengths = scores.shape[1:]
    statuses = group.statuses[: len(pairs)]
    known = torch.tensor([status != "unknown" for status in statuses])
    possible = possible_spans(pairs, tokens, lengths) & known[:, None, None]
    shares, none = log_shares(scores, possible)
    if "positive" not in statuses:
        return -none
    losses = []
    for answer in group.answers:
        places = [
            answer_spans(hit.passage, [answer]) if status == "positive" else []
            for hit, status in zip(group.hits, statuses, strict=False)
        ]
        wanted = span_targets(pairs, places, tokens, lengths)[1]
        if wanted.any():
            losses.append(-shares[wanted].logsumexp(dim=0))
    return torch.stack(losses).mean() if losses else none * 0.0
