"""Settings to a working pipeline: the only module that names concrete stages."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rtv_core import __version__
from rtv_core.datasets import load_questions
from rtv_core.errors import MissingError, RtvError
from rtv_core.evidence import CoverFirstGatherer, FreshGatherer, UnionGatherer, template_questions
from rtv_core.pipeline import Pipeline
from rtv_core.pretrained import DEFAULT_MODEL
from rtv_core.protocols import Gatherer, Recaller, Verifier
from rtv_core.records import Question
from rtv_core.settings import CallSettings, EvidenceSettings, LLMSettings, Settings, T5Settings
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore
from rtv_core.wire import to_json

if TYPE_CHECKING:
    from rtv_core.llm.client import LLM
    from rtv_core.reading.reader import Reader
    from rtv_core.reading.weights import ReaderCard
    from rtv_core.retrieval.dense import SentenceEncoder
    from rtv_core.retrieval.hybrid import HybridRetriever

__all__ = ["DEMO_QUESTIONS", "MODELS", "Models", "Workbench", "demo_index", "load_models"]

ASSETS = Path(__file__).resolve().parents[1] / "assets"
MODELS = ASSETS / "models"
DEMO_CORPUS = ASSETS / "demo" / "passages.jsonl"
DEMO_QUESTIONS = ASSETS / "demo" / "questions.jsonl"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Models:
    """What is loaded once and shared by every pipeline: the retriever with its index, and the reader."""

    retriever: HybridRetriever
    reader: Reader
    card: ReaderCard
    weights_sha256: str

    def pipeline(self, settings: Settings) -> Pipeline:
        """The four stages under these settings; models of another kind load when first asked for."""
        if settings.system == "llm":
            return _prompted_pipeline(self, settings)
        retriever = self.retriever.under(settings.retriever)
        stages = STAGES[settings.system](self, settings)
        return Pipeline(
            retriever=retriever,
            recaller=stages.recaller,
            gatherer=_gatherer(retriever, settings.evidence),
            verifier=stages.verifier,
            settings=settings,
            provenance=MappingProxyType(self._provenance(settings) | stages.provenance),
        )

    def uncalibrated(self) -> Models:
        """The same models with the verifier's scores as it was trained."""
        return replace(self, card=replace(self.card, calibration=None))

    def _provenance(self, settings: Settings) -> dict[str, str]:
        manifest = self.retriever.index.manifest
        return {
            "corpus": manifest.corpus,
            "corpus_sha256": manifest.corpus_sha256,
            "encoder": manifest.encoder,
            "encoder_sha256": manifest.encoder_fingerprint,
            "profile": settings.profile,
            "rtv": __version__,
            "settings": to_json(settings),
        }


@dataclass(frozen=True)
class Stages:
    """The two stages that a kind of models has of its own, and what they are."""

    recaller: Recaller
    verifier: Verifier
    provenance: dict[str, str]


def _embedded_stages(models: Models, settings: Settings) -> Stages:
    from rtv_core.recall.extractive import ExtractiveRecaller
    from rtv_core.verify.embedded import EmbeddedVerifier

    reader = models.reader.under(settings.reader.backend)
    provenance = {
        "calibration": to_json(models.card.calibration),
        "reader_backend": reader.encoder.name,
        "reader_sha256": models.weights_sha256,
    }
    verifier = EmbeddedVerifier(reader, models.card.calibration)
    return Stages(ExtractiveRecaller(reader), verifier, provenance)


def _t5_stages(models: Models, settings: Settings) -> Stages:
    return _load_t5(settings.t5)


@lru_cache(maxsize=1)
def _load_t5(settings: T5Settings) -> Stages:
    """The paper's recaller and verifier; the last ones stay in memory.

    Raises MissingError or MismatchError if one isn't there or isn't what it is named as.
    """
    from rtv_core.reading.t5 import load_t5
    from rtv_core.recall.seq2seq import SequenceRecaller
    from rtv_core.verify.fid import FusionVerifier

    recaller = load_t5(settings.recaller, "recaller", settings)
    verifier = load_t5(settings.verifier, "verifier", settings)
    hashes = {"recaller_sha256": recaller.fingerprint, "verifier_sha256": verifier.fingerprint}
    return Stages(SequenceRecaller(recaller), FusionVerifier(verifier), hashes)


STAGES: dict[str, Callable[[Models, Settings], Stages]] = {"embedded": _embedded_stages, "t5": _t5_stages}
"""What each system reads with, by the names of `rtv_core.settings.PROFILES`."""


def _gatherer(retriever: HybridRetriever, settings: EvidenceSettings) -> Gatherer:
    if settings.source == "fresh":
        return UnionGatherer(retriever, settings, template_questions)
    return CoverFirstGatherer(retriever.similarity, settings)


def _prompted_pipeline(models: Models, settings: Settings) -> Pipeline:
    """The stages of `rtv_core.ri2ver`, with the language model that the environment names."""
    from rtv_core.llm.opening import open_llm
    from rtv_core.llm.prompter import Prompter
    from rtv_core.llm.prompts import prompts_fingerprint
    from rtv_core.recall.prompted import PromptedRecaller
    from rtv_core.ri2ver import PromptedPipeline
    from rtv_core.verify.prompted import PromptedQuestions, PromptedVerifier

    llm, asked = open_llm(settings.calls), settings.llm
    provenance = models._provenance(replace(settings, calls=CallSettings()))  # a budget changes no answer
    provenance |= {
        "llm": llm.model,
        "llm_server": llm.endpoint.place,
        "prompts_sha256": prompts_fingerprint(),
        "scores": "words" if _words_only(llm, asked) else "probabilities",
    }
    provenance["exchanges"] = hashlib.sha256(to_json(provenance).encode()).hexdigest()[:16]
    prompter = Prompter(llm, provenance["exchanges"])
    retriever = models.retriever.under(settings.retriever)
    questions = PromptedQuestions(prompter, asked) if asked.verify and asked.ask_question else None
    return PromptedPipeline(
        retriever=retriever,
        recaller=PromptedRecaller(prompter, asked),
        gatherer=FreshGatherer(retriever, questions, asked.fresh if asked.verify else 0, asked.sources),
        verifier=PromptedVerifier(prompter, asked),
        settings=settings,
        provenance=MappingProxyType(provenance),
        prompter=prompter,
    )


def _words_only(llm: LLM, asked: LLMSettings) -> bool:
    """Whether no verdict can be more than a word. (A server may still turn out to give nothing else.)"""
    return asked.samples == 1 and (asked.score != "auto" or not llm.endpoint.gives_logprobs)


def load_models(index: Path | None = None, models: Path = MODELS) -> Models:
    """Load index, encoder and reader; without an index, the demo corpus is indexed where that wasn't done.

    Raises MissingError or MismatchError if a part isn't there or doesn't belong to the others.
    """
    from rtv_core.reading.reader import Reader
    from rtv_core.reading.weights import input_form, load_reading_network, weights_sha256
    from rtv_core.retrieval.hybrid import HybridRetriever
    from rtv_core.retrieval.index import open_index

    network, card = load_reading_network(models)
    encoder = _encoder(index)
    opened = open_index(index or demo_index(encoder), encoder.fingerprint)
    reader = Reader(network, input_form(card))
    return Models(HybridRetriever(opened, encoder), reader, card, weights_sha256(models))


def _encoder(index: Path | None) -> SentenceEncoder:
    """The encoder that an index says it was built with, if this machine has it; else the default.

    An index from elsewhere must not make anything be downloaded.
    """
    from rtv_core.retrieval.dense import SentenceEncoder
    from rtv_core.retrieval.manifest import read_manifest

    name = read_manifest(index).encoder if index else DEFAULT_MODEL
    try:
        return SentenceEncoder(name, dtype="float32", download=False)
    except MissingError:
        return SentenceEncoder(dtype="float32")


def demo_index(encoder: SentenceEncoder) -> Path:
    """The folder of the demo corpus's index, built on first use in the user's cache (a few seconds)."""
    from rtv_core.retrieval.index import build_index
    from rtv_core.retrieval.manifest import file_sha256

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rtv"
    folder = cache / f"demo-{file_sha256(DEMO_CORPUS)[:12]}-{encoder.fingerprint[:12]}"
    if not folder.exists():
        log.info("Indexing the demo corpus in %s", folder)
        cache.mkdir(parents=True, exist_ok=True)
        build_index(DEMO_CORPUS, folder, encoder)
    return folder


class Workbench:
    """What a server works with: settings, stores and questions at once, the models once they are loaded."""

    def __init__(
        self,
        settings: Settings,
        store: Path,
        index: Path | None = None,
        questions: Path | None = None,
    ) -> None:
        self.settings = settings
        self.store = JudgementStore(store)
        self.runs = RunStore(store)
        self.queues = QueueStore(store)
        self._index = index
        source = questions or (None if index else DEMO_QUESTIONS)
        self.questions: tuple[Question, ...] = tuple(load_questions(source)) if source else ()
        self._models: Models | None = None
        self._failure: RtvError | None = None
        self._loaded = threading.Event()
        self.corpus = _corpus_line(index)

    def start(self) -> None:
        """Load the models in the background, so that the page is there at once."""
        threading.Thread(target=self._load, name="load-models", daemon=True).start()

    def ready(self) -> bool:
        """Whether the models are loaded (or failed to: `pipeline` then says why)."""
        return self._loaded.is_set()

    def pipeline(self, settings: Settings) -> Pipeline:
        """The pipeline under these settings; waits for the models. Raises what loading them raised."""
        self._loaded.wait()
        if self._models is None:
            raise self._failure or RuntimeError("The models failed to load; the log has the traceback.")
        return self._models.pipeline(settings)

    def _load(self) -> None:
        try:
            models = load_models(self._index)
            # The first question would otherwise pay for what torch prepares on its first run.
            # A language model is not asked: it may cost money.
            models.pipeline(self.settings)
            warm = (
                replace(self.settings, system="embedded") if self.settings.system == "llm" else self.settings
            )
            models.pipeline(warm).ask("When did You Don't Know Jack come out?")
            self._models = models
        except RtvError as error:
            log.error("%s", error)
            self._failure = error
        finally:
            self._loaded.set()


def _corpus_line(index: Path | None) -> str:
    if index is None:
        with DEMO_CORPUS.open("rb") as file:
            return f"demo ({sum(1 for _ in file):,} passages)"
    from rtv_core.retrieval.manifest import read_manifest

    manifest = read_manifest(index)
    return f"{manifest.corpus} ({manifest.passages:,} passages)"
