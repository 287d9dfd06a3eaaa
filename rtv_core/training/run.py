"""A whole training stage from folders: examples, plan, training, weights with their card."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

from rtv_core.errors import MissingError
from rtv_core.reading.network import ReaderNetwork
from rtv_core.reading.weights import ReaderCard, blank_network, input_form, load_network, save_network
from rtv_core.records import Passage
from rtv_core.retrieval.dense import SentenceEncoder
from rtv_core.retrieval.index import Index, open_index
from rtv_core.training.courses import RECALLER_COURSES, VERIFIER_COURSES, Course, Share
from rtv_core.training.examples import (
    Example,
    build_examples,
    examples_made_from,
    load_examples,
    sample_sources,
    save_examples,
)
from rtv_core.training.loop import LoopSettings
from rtv_core.training.recaller import RecallerPlan, train_recaller
from rtv_core.training.sources import held_out_contexts, read_sources
from rtv_core.training.verifier import VerifierPlan, train_verifier
from rtv_core.wire import to_json

__all__ = [
    "blank_recaller",
    "open_training",
    "prepare_examples",
    "run_course",
    "run_recaller",
    "run_verifier",
    "train_stage",
    "with_stage",
]

EXAMPLES = "examples.jsonl.gz"

Progress = Callable[[int, int], None]

log = logging.getLogger(__name__)


def run_recaller(
    data: Path,
    index: Path,
    out: Path,
    course: Course = RECALLER_COURSES["first"],
    start: Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Train the recaller into the folder `out`, from the base model or the reader in `start`.

    Started again, it goes on.
    """
    begun = load_network(start) if start else blank_recaller(course.plan.seed)
    # What was learned for verification no longer fits the states: the card is a recaller's again.
    run_course("recaller", train_recaller, begun, data, index, start, out, course, progress)


def run_verifier(
    data: Path,
    index: Path,
    start: Path,
    out: Path,
    course: Course = VERIFIER_COURSES["first"],
    progress: Progress | None = None,
) -> None:
    """Train recaller and verifier together from the recaller in `start`; started again, it goes on."""
    run_course("verifier", train_verifier, load_network(start), data, index, start, out, course, progress)


def run_course(
    stage: str,
    train: Callable[..., dict[str, object]],
    begun: tuple[ReaderNetwork, ReaderCard],
    data: Path,
    index: Path,
    start: Path | None,
    out: Path,
    course: Course,
    progress: Progress | None = None,
) -> None:
    """Train a network on with what a course reads; the card tells its shares and the corpus.

    `start` is the folder that the network came from, whose examples serve again if they are the same.
    """
    opened, passages, examples = open_training(data, index, out, course.shares, start)
    known = {"shares": dict(course.shares), "corpus_sha256": opened.manifest.corpus_sha256}
    train_stage(stage, train, begun, examples, passages, out, course.plan, course.loop, progress, known)


def blank_recaller(seed: int) -> tuple[ReaderNetwork, ReaderCard]:
    """The base model with heads that start at random, by a seed, and its card."""
    torch.manual_seed(seed)
    return blank_network()


def train_stage(
    stage: str,
    train: Callable[..., dict[str, object]],
    begun: tuple[ReaderNetwork, ReaderCard],
    examples: Sequence[Example],
    passages: Sequence[Passage],
    out: Path,
    plan: RecallerPlan | VerifierPlan,
    loop: LoopSettings | None = None,
    progress: Progress | None = None,
    known: Mapping[str, object] | None = None,
) -> None:
    """Train a network on, by `train_recaller` or its like; weights, and a card with what is `known`.

    The card tells the plan that was given, or the one that `train` says it followed instead.
    """
    network, card = begun
    facts = train(network, input_form(card), examples, passages, out, plan, loop, progress)
    facts = {"plan": asdict(plan)} | facts | dict(known or {})
    save_network(network, with_stage(card, stage, facts), out)


def with_stage(card: ReaderCard, stage: str, facts: Mapping[str, object]) -> ReaderCard:
    """The card after one more stage, without a calibration: the stages before are kept, a number each."""
    training = dict(card.training or {})
    training.pop("calibration", None)
    times = sum(name.split()[0] == stage for name in training)
    name = f"{stage} {times + 1}" if times else stage
    return replace(card, stage=stage, calibration=None, training=training | {name: facts})


def prepare_examples(
    data: Path, index: Index, encoder: SentenceEncoder, path: Path, shares: Mapping[str, Share]
) -> list[Example]:
    """The training examples over an index, made once and kept at `path`."""
    made_from = _made_from(data, index, shares)
    if not path.exists():
        questions = sample_sources(read_sources(data), shares, seed=1)
        log.info("Retrieving passages for %s training questions.", f"{len(questions):,}")
        path.parent.mkdir(parents=True, exist_ok=True)
        examples = build_examples(
            questions, _passages(index), _search(index, encoder), held_out_contexts(data)
        )
        count = save_examples(examples, path, made_from)
        log.info("Kept the %s that some passage answers.", f"{count:,}")
    return load_examples(path, made_from)


def open_training(
    data: Path, index: Path, out: Path, shares: Mapping[str, Share], start: Path | None = None
) -> tuple[Index, list[Passage], list[Example]]:
    """The index, its passages and the examples over it: those of `start` if they are the same, else own."""
    if not data.is_dir():
        raise MissingError(
            f"There is no folder {str(data)!r}. Name the one with the training sets by --data."
        )
    encoder = SentenceEncoder()
    opened = open_index(index, encoder.fingerprint)
    path = out / EXAMPLES
    if start is not None and not path.exists():
        kept = start / EXAMPLES
        if kept.exists() and examples_made_from(kept) == _made_from(data, opened, shares):
            path = kept
    return opened, _passages(opened), prepare_examples(data, opened, encoder, path, shares)


def _made_from(data: Path, index: Index, shares: Mapping[str, Share]) -> str:
    """What examples are made from: corpus, encoder, shares, and the sets at hand."""
    manifest = index.manifest
    return to_json([manifest.corpus_sha256, manifest.encoder_fingerprint, dict(shares), _sizes(data)])


def _sizes(data: Path) -> list[tuple[str, int]]:
    """The sets at hand, by name and size."""
    files = sorted(path for path in data.rglob("*.gz"))
    return [(path.relative_to(data).as_posix(), path.stat().st_size) for path in files]


def _passages(index: Index) -> list[Passage]:
    # All of them in memory: training draws from everywhere.
    return [index.passages[row] for row in range(len(index))]


def _search(
    index: Index, encoder: SentenceEncoder
) -> Callable[[Sequence[str], int], tuple[np.ndarray, np.ndarray]]:
    import faiss

    flat = faiss.IndexFlatIP(index.vectors.shape[1])
    flat.add(np.asarray(index.vectors, np.float32))
    return lambda questions, k: flat.search(encoder.encode(questions), min(k, len(index)))
