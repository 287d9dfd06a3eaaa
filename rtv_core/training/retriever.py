"""Fine-tune the retriever as DPR does: a passage that answers, against hard negatives and the batch's others.

Run: python -m rtv_core train retriever --questions FILE --index DIR --out DIR
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from rtv_core.pretrained import DEFAULT_MODEL, find_pretrained
from rtv_core.retrieval.dense import LONGEST_INPUT, passage_text
from rtv_core.training.flat_loop import FlatLoop, TrainingFacts, run_flat
from rtv_core.training.paper_examples import RetrieveExample

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = ["load_sentence_model", "retrieval_losses", "save_sentence_model", "train_retriever"]

SCALE = 20.0
"""Vectors are unit: their inner products, at most 1, are spread before the softmax."""


def load_sentence_model(name: str = DEFAULT_MODEL) -> SentenceTransformer:
    """A sentence-transformers model in float32, to train."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(find_pretrained(name)),
        local_files_only=True,
        trust_remote_code=False,
        model_kwargs={"dtype": torch.float32, "use_safetensors": True},
        device="cpu",
    )
    model.max_seq_length = min(LONGEST_INPUT, model.max_seq_length or LONGEST_INPUT)
    for name, parameter in model.named_parameters():
        # BERT's pooler takes no part in mean pooling; several devices would wait for its gradient.
        parameter.requires_grad_(".pooler." not in name)
    return model


def save_sentence_model(model: SentenceTransformer, folder: Path) -> None:
    """Write a sentence-transformers folder; of equal weights, always one with the same fingerprint."""
    # A tokenizer keeps how its last batch was cut and padded, and would save that too.
    if tokenizer := getattr(model.tokenizer, "backend_tokenizer", None):
        tokenizer.no_truncation()
        tokenizer.no_padding()
    model.save(str(folder))


def train_retriever(
    model: SentenceTransformer,
    examples: Sequence[RetrieveExample],
    folder: Path,
    loop: FlatLoop,
    dev: Sequence[RetrieveExample] = (),
    progress: Callable[[int, int], None] | None = None,
    plan: str = "",
) -> TrainingFacts:
    """Train the model in place. Passages compete within what a device reads at once (`loop.device_batch`).

    So that and the number of devices decide what is learned here, and not only how fast.
    """
    losses = lambda some: retrieval_losses(model, some)  # noqa: E731
    return run_flat(model, examples, losses, folder, loop, dev=dev, progress=progress, plan=plan)


def retrieval_losses(model: SentenceTransformer, examples: Sequence[RetrieveExample]) -> Tensor:
    """The cross-entropy of each question's own positive among all passages of the batch: (examples,)."""
    passages = [passage_text(e.positive) for e in examples]
    passages += [passage_text(passage) for e in examples for passage in e.negatives]
    asked, read = (_vectors(model, texts) for texts in ([e.question for e in examples], passages))
    scores = SCALE * asked @ read.T  # (examples, passages)
    return cross_entropy(scores.float(), torch.arange(len(examples), device=scores.device), reduction="none")


def _vectors(model: SentenceTransformer, texts: list[str]) -> Tensor:
    """Unit vectors with their gradients, (texts, dimension)."""
    features = model.preprocess(texts)
    features = {n: f.to(model.device) if isinstance(f, Tensor) else f for n, f in features.items()}
    return normalize(model(features)["sentence_embedding"], dim=-1)
