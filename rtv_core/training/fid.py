"""Train the paper's verifier: is a candidate right, given the passages gathered for it?

Run: python -m rtv_core train t5-verifier --recaller DIR --questions FILE --index DIR --out DIR
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor, tensor
from torch.nn.functional import cross_entropy

from rtv_core.reading.t5 import T5
from rtv_core.training.flat_loop import FlatLoop, TrainingFacts, run_flat
from rtv_core.training.paper_examples import VerifyExample
from rtv_core.verify.fid import decoder_prefix, encode_apart, join_states, plain_step, verifier_row

__all__ = ["train_t5_verifier", "verify_losses"]


def train_t5_verifier(
    t5: T5,
    examples: Sequence[VerifyExample],
    folder: Path,
    loop: FlatLoop,
    k: int,
    dev: Sequence[VerifyExample] = (),
    progress: Callable[[int, int], None] | None = None,
    plan: str = "",
) -> TrainingFacts:
    """Train the model in place on the first `k` passages of each candidate that has any."""
    kept, others = ([e for e in some if e.passages] for some in (examples, dev))
    plan = f"{plan} k={k}"
    losses = lambda some: verify_losses(t5, some, k)  # noqa: E731
    return run_flat(t5.model, kept, losses, folder, loop, dev=others, progress=progress, plan=plan)


def verify_losses(t5: T5, examples: Sequence[VerifyExample], k: int) -> Tensor:
    """Each candidate's cross-entropy between right and wrong (equation 1): (examples,)."""
    rows = [[verifier_row(t5, e.question, e.answer, p) for p in e.passages[:k]] for e in examples]
    flat, states = iter(encode_apart(t5, [row for own in rows for row in own])), []
    for own in rows:
        states.append([next(flat) for _ in own])
    prefix, last = decoder_prefix(t5, [example.answer for example in examples])
    logits = plain_step(t5.model, *join_states(states), prefix, last, t5.label_ids)  # (examples, 2)
    wanted = tensor([0 if example.right else 1 for example in examples]).to(t5.device)
    return cross_entropy(logits.float(), wanted, reduction="none")
