"""The paper's training, stage by stage: from question files and an index to a profile that answers.

Drawn examples, checkpoints and the log lie in `OUT.training` beside the folder `OUT` that a stage leaves.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any, TypeVar

from rtv_core.datasets import load_questions
from rtv_core.errors import InputError
from rtv_core.evidence import CoverFirstGatherer
from rtv_core.metrics import f1_optimal, is_multi
from rtv_core.pretrained import find_pretrained, fingerprint
from rtv_core.protocols import Recaller, Verifier
from rtv_core.reading.t5 import T5, find_t5, load_t5, read_t5_card, save_t5, with_training
from rtv_core.recall.merge import unite
from rtv_core.recall.seq2seq import SequenceRecaller
from rtv_core.records import Question, Trace
from rtv_core.retrieval.dense import SentenceEncoder
from rtv_core.retrieval.hybrid import HybridRetriever
from rtv_core.retrieval.index import open_index
from rtv_core.retrieval.manifest import read_manifest
from rtv_core.settings import PROFILES, Settings, T5Settings, VerifierSettings
from rtv_core.thresholds import TAUS, answers, judge
from rtv_core.training.fid import train_t5_verifier
from rtv_core.training.paper_examples import (
    RecallExample,
    RetrieveExample,
    VerifyExample,
    load_drawn,
    recall_examples,
    retrieve_examples,
    save_drawn,
    verify_examples,
)
from rtv_core.training.recipes import Recipe
from rtv_core.training.retriever import load_sentence_model, save_sentence_model, train_retriever
from rtv_core.training.seq2seq import train_t5_recaller
from rtv_core.verify.fid import FusionVerifier
from rtv_core.wire import to_json

__all__ = [
    "TRAINING",
    "choose_paper_tau",
    "gathered",
    "open_retriever",
    "retrieved",
    "run_retriever",
    "run_t5_recaller",
    "run_t5_verifier",
    "verified",
    "work_folder",
    "write_profile",
]

T = TypeVar("T")
Progress = Callable[[int, int], None]

QUESTIONS_AT_ONCE = 64
UNDRAWN = ("base", "k", "tau")
"""What a plan says that has no part in drawing examples."""
TRAINING = T5Settings(device="cpu", dtype="float32")
"""How a model is loaded to be trained: the loop moves it to its device and computes in the recipe's dtype."""

log = logging.getLogger(__name__)


def run_retriever(
    questions: Path,
    index: Path,
    out: Path,
    recipe: Recipe,
    dev: Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Fine-tune the encoder into `out`, a sentence-transformers folder; then index the corpus with it."""
    plan, retriever = recipe.plan, open_retriever(index)

    def draw(path: Path, seed: int) -> Iterator[RetrieveExample]:
        rng = random.Random(seed)
        for trace in retrieved(_with_gold(path), retriever, plan.passages):
            yield from retrieve_examples(trace, plan.positives, plan.negatives, plan.hard, plan.rounds, rng)

    examples, others = _drawn(RetrieveExample, draw, questions, dev, index, out, recipe)
    model = load_sentence_model(plan.base)
    train_retriever(model, examples, work_folder(out), recipe.loop, others, progress, _plan(recipe))
    if _is_main():
        save_sentence_model(model, out)


def run_t5_recaller(
    questions: Path,
    index: Path,
    out: Path,
    recipe: Recipe,
    dev: Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Train a recaller from the recipe's base, a T5 or an earlier recaller, into `out`."""
    plan, retriever = recipe.plan, open_retriever(index)

    def draw(path: Path, seed: int) -> Iterator[RecallExample]:
        rng = random.Random(seed)
        for trace in retrieved(_with_gold(path), retriever, plan.passages):
            yield from recall_examples(trace, plan.alpha_neg, rng)

    examples, others = _drawn(RecallExample, draw, questions, dev, index, out, recipe)
    t5 = load_t5(plan.base, "recaller", TRAINING)
    facts = train_t5_recaller(
        t5, examples, work_folder(out), recipe.loop, others, progress, _plan(recipe, t5)
    )
    if _is_main():
        _save(t5, out, questions, index, recipe, asdict(facts))


def run_t5_verifier(
    questions: Path,
    index: Path,
    recaller: Path,
    out: Path,
    recipe: Recipe,
    dev: Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Train a verifier on the candidates of the recaller in `recaller`, and write `out`/profile.toml.

    tau is chosen on the dev questions; without them it is the recipe's. The recaller is in memory only while
    candidates are drawn and tau is chosen, which one process does by itself.
    """
    plan, retriever, folder = recipe.plan, open_retriever(index), find_t5(str(recaller))
    read_t5_card(folder, "recaller")  # refuses a model of the other stage before anything is trained

    def traces(path: Path) -> Iterator[Trace]:
        reader = SequenceRecaller(load_t5(str(folder), "recaller"))
        return gathered(_with_gold(path), retriever, reader, plan.passages)

    def draw(path: Path, seed: int) -> Iterator[VerifyExample]:
        rng = random.Random(seed)
        for trace in traces(path):
            yield from verify_examples(trace, plan.invalid, rng)

    examples, others = _drawn(VerifyExample, draw, questions, dev, index, out, recipe, fingerprint(folder))
    t5 = load_t5(plan.base, "verifier", TRAINING)
    work, made = work_folder(out), _plan(recipe, t5)
    facts = asdict(train_t5_verifier(t5, examples, work, recipe.loop, plan.k, others, progress, made))
    if not _is_main():
        return
    tau = plan.tau
    if dev:
        tau, f1 = choose_paper_tau(verified(traces(dev), FusionVerifier(t5)), plan.k)
        facts |= {"tau": tau, "f1_all_plus_multi": f1}
    _save(replace(t5, card=replace(t5.card, tau=tau)), out, questions, index, recipe, facts)
    write_profile(out / "profile.toml", folder, out, tau, plan.k)


def work_folder(out: Path) -> Path:
    """Where the training of `out` keeps its examples, checkpoints and log."""
    return out.with_name(f"{out.name}.training")


def open_retriever(index: Path) -> HybridRetriever:
    """The paper's dense retriever over an index, by the encoder that built it."""
    encoder = SentenceEncoder(read_manifest(index).encoder, dtype="float32")
    return HybridRetriever(open_index(index, encoder.fingerprint), encoder, _settings().retriever)


def retrieved(questions: Sequence[Question], retriever: HybridRetriever, passages: int) -> Iterator[Trace]:
    """What is retrieved for each question."""
    for start in range(0, len(questions), QUESTIONS_AT_ONCE):
        some = questions[start : start + QUESTIONS_AT_ONCE]
        for question, hits in zip(some, retriever.search([q.text for q in some], passages), strict=True):
            yield Trace(question, hits=tuple(hits), stage="retrieved")


def gathered(
    questions: Sequence[Question], retriever: HybridRetriever, recaller: Recaller, passages: int
) -> Iterator[Trace]:
    """The candidates of each question with their evidence."""
    settings = _settings()
    gatherer = CoverFirstGatherer(retriever.similarity, settings.evidence)
    for trace in retrieved(questions, retriever, passages):
        text = trace.question.text
        readings = tuple(recaller.recall(text, trace.hits))
        candidates = unite(trace.hits, readings, settings.recaller)
        evidence = tuple(gatherer.gather(text, candidates, trace.hits))
        yield trace.grown(readings=readings, candidates=candidates, evidence=evidence, stage="gathered")


def verified(traces: Iterable[Trace], verifier: Verifier) -> list[Trace]:
    """The traces with a verdict on each candidate."""
    return [
        trace.grown(verdicts=tuple(verifier.verify(trace.question.text, trace.evidence)), stage="verified")
        for trace in traces
    ]


def choose_paper_tau(traces: Sequence[Trace], k: int) -> tuple[float, float]:
    """The tau (of `TAUS`) of the highest F1(all) + F1(multi), the lowest of equals; and that sum."""
    found = {}
    for tau in TAUS:
        settings = VerifierSettings(tau=tau, k=k)
        scores = [f1_optimal(answers(judge(t, settings)), t.question.answers).f1 for t in traces]
        multi = [score for score, t in zip(scores, traces, strict=True) if is_multi(t.question)]
        found[tau] = mean(scores) + (mean(multi) if multi else 0.0)
    tau = max(TAUS, key=lambda value: (found[value], -value))
    return tau, found[tau]


def write_profile(path: Path, recaller: Path, verifier: Path, tau: float, k: int) -> None:
    """A profile that answers with these two models, from whatever folder it is used."""
    lines = [
        'system = "t5"',
        "",
        "[t5]",
        f"recaller = {json.dumps(str(recaller.resolve()))}",
        f"verifier = {json.dumps(str(verifier.resolve()))}",
        "",
        "[verifier]",
        f"tau = {tau}",
        f"k = {k}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _settings() -> Settings:
    return Settings(profile="t5", system="t5").with_values(PROFILES["t5"])


def _with_gold(path: Path) -> list[Question]:
    questions = [question for question in load_questions(path) if any(question.answers)]
    if not questions:
        raise InputError(f"No question of {path} has gold answers. Name a file of questions that have.")
    return questions


def _drawn(
    kind: type[T],
    draw: Callable[[Path, int], Iterable[T]],
    questions: Path,
    dev: Path | None,
    index: Path,
    out: Path,
    recipe: Recipe,
    more: str = "",
) -> tuple[list[T], list[T]]:
    """The training and dev examples, drawn once and kept beside `out`'s checkpoints."""
    found: list[list[T]] = []
    for name, path in (("train", questions), ("dev", dev)):
        if path is None:
            found.append([])
            continue
        kept = work_folder(out) / f"{name}.jsonl.gz"
        manifest = read_manifest(index)
        hashes = [manifest.corpus_sha256, manifest.encoder_fingerprint, more]
        drawn_by = {n: value for n, value in asdict(recipe.plan).items() if n not in UNDRAWN}
        made_from = to_json([kind.__name__, path.name, path.stat().st_size, *hashes, drawn_by])
        if not kept.exists():
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                raise InputError(
                    "The examples are not drawn yet, and several processes must not each draw their own. "
                    "Run the command once by itself with --set steps=1, and then without that on all devices."
                )
            log.info("Drawing %s examples from %s.", name, path)
            save_drawn(list(draw(path, recipe.loop.seed)), kept, made_from)
        found.append(load_drawn(kind, kept, made_from))
    return found[0], found[1]


def _plan(recipe: Recipe, t5: T5 | None = None) -> str:
    base = t5.fingerprint if t5 else str(find_pretrained(recipe.plan.base))
    return f"{recipe.plan!r} from {base}"


def _save(t5: T5, out: Path, questions: Path, index: Path, recipe: Recipe, facts: dict[str, Any]) -> None:
    """Weights and card; an earlier stage's facts stay in it, so that pre-training shows."""
    earlier = len(t5.card.training or {})
    facts |= {
        "questions": questions.name,
        "corpus_sha256": read_manifest(index).corpus_sha256,
        "plan": asdict(recipe.plan),
        "loop": asdict(recipe.loop),
    }
    card = with_training(t5.card, f"{earlier + 1}", facts)
    save_t5(replace(t5, card=replace(card, base=card.base or recipe.plan.base)), out)


def _is_main() -> bool:
    """Whether this is the process that writes, of those that `accelerate launch` started."""
    return os.environ.get("RANK", "0") == "0"
