"""Train the paper's recaller: write the answers that a passage covers, or "irrelevant".

Run: python -m rtv_core train t5-recaller --questions FILE --index DIR --out DIR
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from torch import Tensor, tensor
from torch.nn.functional import cross_entropy

from rtv_core.reading.t5 import T5, pad_rows
from rtv_core.recall.seq2seq import recaller_row
from rtv_core.training.flat_loop import FlatLoop, TrainingFacts, run_flat
from rtv_core.training.paper_examples import RecallExample

__all__ = ["recall_losses", "recall_target", "train_t5_recaller"]

IGNORED = -100


def train_t5_recaller(
    t5: T5,
    examples: Sequence[RecallExample],
    folder: Path,
    loop: FlatLoop,
    dev: Sequence[RecallExample] = (),
    progress: Callable[[int, int], None] | None = None,
    plan: str = "",
) -> TrainingFacts:
    """Train the model in place; checkpoints and the log lie in `folder`."""
    return run_flat(
        t5.model,
        examples,
        lambda some: recall_losses(t5, some),
        folder,
        loop,
        lambda example: len(recall_target(t5, example.answers)),
        dev,
        progress,
        plan,
    )


def recall_target(t5: T5, answers: Sequence[str]) -> list[int]:
    """What to write: the answers with the separator between them, and the end, or the word for none.

    What is longer than the card allows is cut off, with its end: so that reading knows it for cut off.
    """
    ids = t5.words(answers[0] if answers else t5.card.irrelevant)
    for answer in answers[1:]:
        ids = [*ids, t5.separator, *t5.words(answer)]
    return [*ids, t5.end][: t5.card.answer_tokens]


def recall_losses(t5: T5, examples: Sequence[RecallExample]) -> Tensor:
    """Each example's negative log-likelihood, summed over the tokens to write: (examples,)."""
    ids, mask = pad_rows([recaller_row(t5, e.question, e.passage) for e in examples], t5.device)
    targets = [recall_target(t5, example.answers) for example in examples]
    longest = max(map(len, targets))
    labels = tensor([[*target, *[IGNORED] * (longest - len(target))] for target in targets]).to(t5.device)
    given = t5.model.prepare_decoder_input_ids_from_labels(labels)
    out = t5.model(input_ids=ids, attention_mask=mask, decoder_input_ids=given, use_cache=False)
    logits = out.logits.float().transpose(1, 2)  # (examples, vocabulary, longest)
    return cross_entropy(logits, labels, ignore_index=IGNORED, reduction="none").sum(dim=1)
