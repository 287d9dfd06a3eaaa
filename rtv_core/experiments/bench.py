"""What an experiment works with: questions with gold, the pipeline, other systems, and their kept answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from rtv_core.baselines.offers import Systems
from rtv_core.baselines.systems import Baseline, OtherPipeline, RerankThenRead, settings_of
from rtv_core.errors import InputError
from rtv_core.evaluation import OUR_SYSTEM, run_questions
from rtv_core.pipeline import Pipeline
from rtv_core.records import Question, Trace
from rtv_core.settings import Settings
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.runs import RunStore
from rtv_core.thresholds import answers, judge
from rtv_core.wire import to_json

__all__ = ["OURS", "Bench", "Models", "is_trained_reader"]

OURS = "recall, then verify"
"""What the tables call the pipeline."""

Progress = Callable[[str, int, int], None]
"""What is being done, how much of it is, and how much there is."""


class Models(Protocol):
    """Loaded models: the pipeline of any settings."""

    def pipeline(self, settings: Settings) -> Pipeline: ...


@dataclass(frozen=True)
class Bench:
    """The workplace of an experiment; traces are asked for once and kept as runs in the `store`.

    `label` names the questions; `clusters` are those of RoMQA's, by the question's id. `load` loads the
    models anew, so that they remember nothing. With `limit` only the first so many questions count. `run` is
    the name of the run that holds, or will hold, the pipeline's answers; without one it is made of what they
    come from. Raises InputError if no question has a gold answer.
    """

    label: str
    questions: tuple[Question, ...]
    settings: Settings
    load: Callable[[], Models]
    store: Path
    systems: Systems
    limit: int | None = None
    run: str = ""
    clusters: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = field(default=lambda what, done, total: None)

    def __post_init__(self) -> None:
        if not self.asked:
            raise InputError(f"No question of {self.label} has a gold answer. Name questions that have.")

    @cached_property
    def asked(self) -> tuple[Question, ...]:
        """The questions that count: the first ones, those that have a gold answer."""
        return tuple(q for q in self.questions[: self.limit] if any(q.answers))

    @cached_property
    def models(self) -> Models:
        """The models, loaded once."""
        return self.load()

    @property
    def provenance(self) -> tuple[tuple[str, str], ...]:
        """What a table was made with."""
        pipeline = self.models.pipeline(self.settings)
        facts = dict(pipeline.provenance) | {"label": self.label, "questions": str(len(self.asked))}
        return tuple(sorted(facts.items()))

    def first(self, count: int) -> Bench:
        """The same with only the first `count` of the questions that count; shares the models."""
        last = self.asked[:count][-1]
        return replace(self, limit=self.questions.index(last) + 1, load=lambda: self.models)

    def traces(self, settings: Settings | None = None) -> Iterator[Trace]:
        """The pipeline's traces of the questions, in order; under other settings, if given."""
        store = JudgementStore(self.store)
        for trace_id in self._answered(settings or self.settings).values():
            yield store.load_trace(trace_id)

    def read_by(self, system: Baseline) -> Iterator[Trace]:
        """Another system's traces of the questions, made from the passages that the pipeline retrieved."""
        own, store = self._answered(self.settings), JudgementStore(self.store)
        facts = dict(self._pipeline_of(system).provenance) | dict(system.weights) | {"system": system.name}
        reading = _Reading(
            settings_of(system, self.settings),
            facts,
            lambda question: system.read(store.load_trace(own[question.id])),
        )
        known = tuple(q for q in self.questions if any(q.answers))
        for trace_id in self._run(reading, known, len(self.asked), system.name, "").values():
            yield store.load_trace(trace_id)

    def baselines(self) -> list[Baseline]:
        """The other systems that were named, loaded."""
        return [self.systems.get(name, self.models) for name in self.systems.names]

    def predict(self, trace: Trace, system: Baseline | None = None) -> list[str]:
        """The answers of a trace, of the pipeline's or of another system's, best first."""
        settings = settings_of(system, self.settings) if system else self.settings
        return answers(judge(trace, settings.verifier))

    def _pipeline_of(self, system: Baseline) -> Pipeline:
        if isinstance(system, OtherPipeline) and isinstance(system.pipeline, Pipeline):
            return system.pipeline
        return self.models.pipeline(self.settings)

    def _answered(self, settings: Settings) -> dict[str, str]:
        """The ids of the pipeline's traces by the question's, once all questions are answered."""
        pipeline = self.models.pipeline(settings)
        name = self.run if settings == self.settings else ""
        return self._run(pipeline, self.questions, self.limit, OUR_SYSTEM, name)

    def _run(
        self,
        pipeline: Pipeline | _Reading,
        questions: tuple[Question, ...],
        limit: int | None,
        system: str,
        name: str,
    ) -> dict[str, str]:
        """The trace ids of the questions that count, by the questions' ids; asks what the run lacks."""
        runs = RunStore(self.store)
        name = name or self._name(system, pipeline.provenance, questions)
        run = run_questions(
            pipeline,
            questions,
            runs,
            name,
            lambda done, total: self.progress(system, done, total),
            system,
            limit,
        )
        wanted = {question.id for question in self.asked}
        return {q.question.id: q.trace_id for q in runs.questions(run.id) if q.question.id in wanted}

    def _name(self, system: str, provenance: Mapping[str, str], questions: tuple[Question, ...]) -> str:
        """A run's name that nothing else can have: of questions, system and all that it is made of."""
        content = to_json([dict(provenance), list(questions)]).encode(errors="surrogatepass")
        return f"{self.label} · {system} · {hashlib.sha256(content).hexdigest()[:8]}"


@dataclass(frozen=True)
class _Reading:
    """Another system in the shape of a pipeline."""

    settings: Settings
    provenance: Mapping[str, str]
    ask: Callable[[Question], Trace]


def is_trained_reader(system: Baseline) -> bool:
    """Whether a system reranks by what it was trained for, as JPR does, and then reads."""
    from rtv_core.baselines.rerank import OracleReranker, RetrievalOrder

    untrained = (OracleReranker, RetrievalOrder)
    return isinstance(system, RerankThenRead) and not isinstance(system.reranker, untrained)
