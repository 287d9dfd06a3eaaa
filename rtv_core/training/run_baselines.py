"""A baseline's training from folders: the recaller's examples and weights in, weights with their card out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from rtv_core.baselines.load import CONCATENATED, JOINT, RERANKER, load_baselines
from rtv_core.baselines.systems import BASELINE_TAUS, Baseline
from rtv_core.datasets import load_questions
from rtv_core.errors import InputError
from rtv_core.reading.weights import CARD, load_network, read_card, write_card
from rtv_core.records import Trace
from rtv_core.retrieval.dense import SentenceEncoder
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import open_index
from rtv_core.settings import RetrieverSettings
from rtv_core.training.courses import VERIFIER_COURSES, Course
from rtv_core.training.joint_reader import train_joint_reader
from rtv_core.training.reranker import train_reranker
from rtv_core.training.run import Progress, run_course
from rtv_core.training.tau import ChosenTau, choose_tau

__all__ = ["run_joint_reader", "run_reranker", "run_tau"]


def run_reranker(
    data: Path,
    index: Path,
    start: Path,
    out: Path,
    course: Course = VERIFIER_COURSES["again"],
    progress: Progress | None = None,
) -> None:
    """Train a reranker from the recaller in `start`; started again, it goes on."""
    _run(train_reranker, RERANKER, data, index, start, out, course, progress)


def run_joint_reader(
    data: Path,
    index: Path,
    start: Path,
    out: Path,
    concatenated: bool = False,
    course: Course = VERIFIER_COURSES["again"],
    progress: Progress | None = None,
) -> None:
    """Train a joint reader from the recaller in `start`; started again, it goes on."""

    def train(*given: object) -> dict[str, object]:
        return train_joint_reader(*given, concatenated=concatenated)

    stage = CONCATENATED if concatenated else JOINT
    _run(train, stage, data, index, start, out, course, progress)


def run_tau(
    index: Path,
    questions: Path,
    reader: Path,
    reranker: Path | None = None,
    progress: Progress | None = None,
) -> ChosenTau:
    """Choose the threshold of a joint or concatenated reader on questions with gold; it goes into its card.

    Without a reranker's folder the reader ranks the passages itself.
    """
    gold = [question for question in load_questions(questions) if any(question.answers)]
    if not gold:
        raise InputError(f"No question of {questions} has gold answers. Name dev questions that have.")
    baseline, card = _baseline(reader, reranker), read_card(reader)
    encoder, settings = SentenceEncoder(dtype="float32"), RetrieverSettings()
    retriever = HybridRetriever(open_index(index, encoder.fingerprint), encoder).under(settings)
    traces = []
    for question in gold:
        hits = tuple(retriever.search([question.text], settings.passages)[0])
        traces.append(baseline.read(Trace(question, hits=hits, stage="retrieved")))
        if progress:
            progress(len(traces), len(gold))
    chosen = choose_tau(traces, BASELINE_TAUS)
    training = (card.training or {}) | {"tau": asdict(chosen) | {"system": baseline.name}}
    write_card(replace(card, tau=chosen.tau, training=training), reader)
    return chosen


def _baseline(reader: Path, reranker: Path | None) -> Baseline:
    if (reader / CARD).is_file() and read_card(reader).stage == CONCATENATED:
        return load_baselines(concatenated=reader)[0]
    return load_baselines(reranker, reader)[1 if reranker else 0]


def _run(
    train: Callable[..., dict[str, object]],
    stage: str,
    data: Path,
    index: Path,
    start: Path,
    out: Path,
    course: Course,
    progress: Progress | None,
) -> None:
    network, card = load_network(start)
    # Competing answers have small scores; until a tau is chosen on dev this one is a guess.
    begun = network, replace(card, tau=0.1)
    run_course(stage, train, begun, data, index, start, out, course, progress)
