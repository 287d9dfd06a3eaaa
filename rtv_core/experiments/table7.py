"""Table 7: what an answer costs in each configuration: seconds a question, stage by stage, and F1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rtv_core.baselines.systems import RecallerAlone
from rtv_core.experiments.bars import stacked_bars_of
from rtv_core.experiments.bench import OURS, Bench
from rtv_core.experiments.published import SOURCE, TABLE_7
from rtv_core.experiments.table import Row, Table
from rtv_core.experiments.tally import Tally, answer_values
from rtv_core.protocols import Gatherer
from rtv_core.records import Candidate, Evidence, Hit, Question, Trace
from rtv_core.settings import Settings
from rtv_core.thresholds import answers, judge

__all__ = ["FEWER", "QUESTIONS", "configurations", "run"]

QUESTIONS = 100
"""So many questions are answered anew by each configuration, or fewer where there are fewer."""

STRICT = 0.1
FEWER = 5
WARM_UP = "What was it called before it was renamed?"
"""Asked first, and not counted: what libraries prepare on their first run is no question's cost."""

STAGES = ("retrieve", "recall", "gather", "verify")


def run(bench: Bench) -> Table:
    """Each configuration on the same questions, by models that remember none of them."""
    few = bench.first(QUESTIONS)
    rows = []
    note = ""
    for name, settings in configurations(bench.settings).items():
        tally = _timed(bench, few.asked, name, settings)
        rows.append(Row(name, _cells(tally)))
        note = tally.note
    own = {trace.question.id: trace.seconds for trace in few.traces()}
    for system in few.baselines():
        tally = Tally()
        for trace in few.read_by(system):
            needed = ("retrieve", "recall") if isinstance(system, RecallerAlone) else ("retrieve",)
            shared = {stage: own[trace.question.id].get(stage, 0.0) for stage in needed}
            _add_other(tally, trace, shared, bench.predict(trace, system))
        rows.append(Row(system.name, _cells(tally)))
    rows += [Row(f"published: {system}", published=figures) for system, figures in TABLE_7]
    return Table(
        "table7",
        f"Table 7: seconds a question, {bench.label}",
        "configuration",
        (
            *(f"{stage}, s" for stage in STAGES),
            "read, s",
            "all, s",
            "|A|",
            "recall of A",
            "precision of A",
            "F1",
        ),
        tuple(rows),
        f"{SOURCE}, AmbigQA dev, one V100",
        (
            note,
            "Mean wall seconds on this machine, without loading the models. All configurations keep tau = "
            f"{bench.settings.verifier.tau:g}. Another system's time was taken when its answers were kept.",
        ),
        (stacked_bars_of("Seconds a question", "seconds", rows, tuple(enumerate((*STAGES, "read")))),),
        provenance=bench.provenance,
    )


def _timed(bench: Bench, questions: Sequence[Question], name: str, settings: Settings) -> Tally:
    """The questions answered by freshly loaded models; a language model's replies of before don't count."""
    tally = Tally()
    with TemporaryDirectory(prefix="rtv-") as folder:
        fresh = settings.with_values({"calls.cache": str(Path(folder) / "replies.db")})
        pipeline = bench.load().pipeline(fresh)
        pipeline = replace(pipeline, gatherer=_Cut(pipeline.gatherer, settings.verifier.k))
        pipeline.ask(WARM_UP)
        for done, question in enumerate(questions):
            bench.progress(name, done, len(questions))
            _add(tally, pipeline.ask(question), settings)
        bench.progress(name, len(questions), len(questions))
    return tally


def configurations(settings: Settings) -> dict[str, Settings]:
    """From what is set to what is cheap: less evidence, a stricter recaller, half the passages."""
    passages, strict = settings.retriever.passages, max(STRICT, settings.recaller.relevance)
    half = max(1, passages // 2)
    less = {"verifier.k": min(FEWER, settings.verifier.k)}
    stricter = less | {"recaller.relevance": strict}
    steps: tuple[Mapping[str, float], ...] = ({}, less, stricter, stricter | {"retriever.passages": half})
    named = {}
    for step in steps:
        own = settings.with_values(step)
        named[_called(own)] = own
    return named


def _called(settings: Settings) -> str:
    passages, relevance = settings.retriever.passages, settings.recaller.relevance
    return f"{OURS}: {passages} passages, relevance at least {relevance:g}, k = {settings.verifier.k}"


@dataclass(frozen=True)
class _Cut:
    """Gathers no more evidence than k passages, so that the verifier reads no more."""

    gatherer: Gatherer
    k: int

    def gather(self, question: str, candidates: Sequence[Candidate], hits: Sequence[Hit]) -> list[Evidence]:
        gathered = self.gatherer.gather(question, candidates, hits)
        return [replace(evidence, passages=evidence.passages[: self.k]) for evidence in gathered]


def _add(tally: Tally, trace: Trace, settings: Settings) -> None:
    recalled = answer_values([candidate.answer for candidate in trace.candidates], trace.question)
    f1 = answer_values(answers(judge(trace, settings.verifier)), trace.question)["f1"]
    tally.add(
        trace.question,
        **{stage: trace.seconds.get(stage, 0.0) for stage in STAGES},
        all=sum(trace.seconds.values()),
        f1=f1,
        size=recalled["answers"],
        recall_of_a=recalled["recall"],
        precision_of_a=recalled["precision"],
    )


def _add_other(tally: Tally, trace: Trace, shared: Mapping[str, float], given: Sequence[str]) -> None:
    """A system's own time and, of the pipeline's, what its answers needed besides (`shared`)."""
    seconds = dict(shared) | dict(trace.seconds)
    known = {stage: seconds[stage] for stage in (*STAGES, "read") if stage in seconds}
    f1 = answer_values(given, trace.question)["f1"]
    tally.add(trace.question, **known, all=sum(seconds.values()), f1=f1)


def _cells(tally: Tally) -> tuple:
    def times() -> Iterator:
        for stage in (*STAGES, "read", "all"):
            cell = tally.mean(stage, scale=1, digits=2)
            yield replace(cell, multi=None) if cell else None

    size = tally.mean("size", scale=1)
    return (*times(), size, tally.mean("recall_of_a"), tally.mean("precision_of_a"), tally.mean("f1"))
