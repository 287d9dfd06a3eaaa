"""What the pages need from the rest: a pipeline for given settings, and stores of what was made and said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from rtv_core.pipeline import Pipeline
from rtv_core.records import Judgement, Question, Trace
from rtv_core.settings import Settings
from rtv_core.store.judgements import Event
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore

__all__ = ["JudgementStore", "Workbench"]


class JudgementStore(Protocol):
    """Traces and what people said of their answers. Every method may raise StoreError."""

    @property
    def path(self) -> Path:
        """The file that holds them, with the runs and queues."""
        ...

    def backup(self, path: Path) -> None:
        """Copy everything to a new file, also while others write."""
        ...

    def save_trace(self, trace: Trace) -> str:
        """Keep a trace; returns its id."""
        ...

    def load_trace(self, trace_id: str) -> Trace:
        """The trace of that id."""
        ...

    def traces(self, question: str) -> list[str]:
        """The ids of the kept traces of a question, newest first."""
        ...

    def provenance(self, trace_id: str) -> Mapping[str, str]:
        """Which models, index, settings and versions made a trace."""
        ...

    def judge(self, judgement: Judgement, token: str) -> Judgement:
        """Save a judgement; the same token twice saves once. Returns it with its time."""
        ...

    def saved_as(self, annotator: str, token: str) -> Judgement | None:
        """What was saved under a token, taken back or not; None if nothing was."""
        ...

    def history(self, trace_id: str) -> list[Event]:
        """Every verdict on a trace, every undo and redo, oldest first."""
        ...

    def undo(self, trace_id: str, annotator: str) -> Judgement | None:
        """Take back the annotator's last judgement of this trace; None if there is none."""
        ...

    def redo(self, trace_id: str, annotator: str) -> Judgement | None:
        """Restore what the last undo took back; None if there is nothing."""
        ...

    def current(self, trace_id: str | None = None, annotator: str | None = None) -> list[Judgement]:
        """The verdicts that stand, newest first: one for each trace, annotator and answer."""
        ...

    def for_question(self, question: str, annotator: str | None = None) -> list[Judgement]:
        """The judgements that stand on any trace of a question, newest first."""
        ...


class Workbench(Protocol):
    """Everything one server works with. `corpus` says what is searched, e.g. "demo (297 passages)"."""

    settings: Settings
    store: JudgementStore
    runs: RunStore
    queues: QueueStore
    questions: tuple[Question, ...]
    corpus: str

    def pipeline(self, settings: Settings) -> Pipeline:
        """The pipeline for these settings; waits until the models are loaded."""
        ...

    def ready(self) -> bool:
        """Whether the models are loaded."""
        ...
