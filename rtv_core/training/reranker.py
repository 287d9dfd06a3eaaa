"""A baseline's reranker: which passages answer, learned from the verifier's own groups of passages.

Run: python -m rtv_core train reranker --data DIR --index DIR --from DIR --out DIR

Encoder, examples, groups, number of steps and learning rates are those of the verifier's stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor

from rtv_core.reading.form import InputForm, pad
from rtv_core.reading.network import ReaderNetwork
from rtv_core.records import Passage
from rtv_core.training.examples import Example
from rtv_core.training.loop import LoopSettings, run_steps
from rtv_core.training.losses import mean_where, relevance_loss
from rtv_core.training.verifier import SECOND_STAGE, Group, VerifierPlan, plan_verifier

__all__ = [
    "listwise_loss",
    "ranking_losses",
    "rerank_losses",
    "train_reranker",
]


def train_reranker(
    network: ReaderNetwork,
    form: InputForm,
    examples: Sequence[Example],
    passages: Sequence[Passage],
    folder: Path,
    plan: VerifierPlan | None = None,
    loop: LoopSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, object]:
    """Train encoder and relevance head in place; returns what goes into the card.

    No question is left unanswered, whatever the plan: without an answering passage there is nothing to rank.
    """
    plan = replace(plan or VerifierPlan(), unanswered=0.0)
    torch.manual_seed(plan.seed)
    steps = plan_verifier(examples, passages, plan)
    run_steps(
        network,
        steps,
        lambda groups: rerank_losses(network, form, groups),
        folder,
        loop or SECOND_STAGE,
        progress,
        f"reranker {plan!r}",
    )
    return {
        "questions": sum(map(len, steps)),
        "passages_a_question": plan.passages,
        "steps": len(steps),
        "seed": plan.seed,
        "plan": asdict(plan),
    }


def rerank_losses(network: ReaderNetwork, form: InputForm, groups: Sequence[Group]) -> dict[str, Tensor]:
    """The losses of a few questions, whose passages are read for nothing else."""
    pairs = [form.pairs(group.question, [hit.passage])[0] for group in groups for hit in group.hits]
    hidden = network.encode(*(torch.from_numpy(part) for part in pad(pairs)))  # (pairs, tokens, width)
    return ranking_losses(network.relevant(hidden[:, 0]), groups)


def ranking_losses(scores: Tensor, groups: Sequence[Group]) -> dict[str, Tensor]:
    """Listwise loss of each question's passages, and whether each passage answers.

    Passages that may answer are left out of both.

    *Shape:* scores (passages,) of all groups, one after the other.
    """
    own = scores.split([len(group.hits) for group in groups])
    listwise = [listwise_loss(s, group.statuses) for s, group in zip(own, groups, strict=True)]
    statuses = [status for group in groups for status in group.statuses]
    known = torch.tensor([status != "unknown" for status in statuses])
    relevant = torch.tensor([status == "positive" for status in statuses])
    return {
        "listwise": torch.stack(listwise).mean(),
        "relevance": 0.5 * mean_where(relevance_loss(scores, relevant), known),
    }


def listwise_loss(scores: Tensor, statuses: Sequence[str]) -> Tensor:
    """Each answering passage against all that don't answer: mean of -log softmax; 0 without one of either.

    *Shape:* scores (passages,) -> scalar.
    """
    positive = scores[torch.tensor([status == "positive" for status in statuses])]
    negative = scores[torch.tensor([status == "negative" for status in statuses])]
    if not len(positive) or not len(negative):
        return scores.sum() * 0.0
    rivals = negative.expand(len(positive), -1)
    return (torch.cat([positive[:, None], rivals], dim=1).logsumexp(dim=1) - positive).mean()
