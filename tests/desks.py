"""A file with a run to judge, and a workbench over it: for the tests of the Annotate page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fakes import FakeWorkbench

from rtv_core.annotation.queue import draw
from rtv_core.evaluation import run_questions
from rtv_core.records import Passage, Question, QueuePlan
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore

__all__ = ["PLAN", "Bench", "bench", "questions_and_passages"]

PLAN = QueuePlan("uniform", 100, seed=1, population="candidates")
PATTERN = r"\b(?:1[0-9]|20)\d\d\b|[A-Z][a-z]+ [A-Z][a-z]+"


@dataclass(frozen=True)
class Bench:
    """A workbench with a run of the name "small", and the means to draw queues from it."""

    workbench: FakeWorkbench
    run_id: str

    def queue(self, name: str = "mine", only: str = "", position: int | None = None, **plan: object) -> str:
        """A queue of everything drawn by a plan, or of those with the answer `only` or of one question."""
        chosen = QueuePlan(**{**_values(PLAN), **plan})
        items = draw(self.workbench.runs.questions(self.run_id), chosen, 0.5)
        items = [item for item in items if only in ("", item.answer) and position in (None, item.position)]
        return self.workbench.queues.create(self.run_id, chosen, items, name)


def bench(
    path: Path, questions: tuple[Question, ...], passages: list[Passage], pattern: str = PATTERN
) -> Bench:
    """A bench over a new file at `path`."""
    workbench = FakeWorkbench(
        passages,
        pattern,
        questions=questions,
        store=JudgementStore(path),
        runs=RunStore(path),
        queues=QueueStore(path),
    )
    run = run_questions(workbench.pipeline(workbench.settings), questions, workbench.runs, "small")
    return Bench(workbench, run.id)


def questions_and_passages(count: int) -> tuple[tuple[Question, ...], list[Passage]]:
    """Questions about one topic each, with a passage that holds their years and a place."""
    questions, passages = [], []
    for i in range(count):
        place, first, second = f"Town {chr(65 + i % 26)}ville", 1500 + 7 * i, 1804 + 7 * i
        questions.append(Question(f"q{i}", f"When was tower {i} of {place} built?", (((str(first),),),)))
        passages.append(
            Passage(
                f"p{i}", f"Tower {i}", f"Tower {i} of {place} was built in {first} and again in {second}."
            )
        )
    return tuple(questions), passages


def _values(plan: QueuePlan) -> dict[str, object]:
    return {name: getattr(plan, name) for name in plan.__dataclass_fields__}
