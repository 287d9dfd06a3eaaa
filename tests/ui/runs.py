"""Runs with verdicts, on disk, for the tests of the pages."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from fakes import FakeWorkbench

from rtv_core.records import (
    LOST,
    Candidate,
    Judgement,
    Question,
    QueueItem,
    QueuePlan,
    Run,
    RunAnswer,
    RunGold,
    RunQuestion,
    Trace,
)
from rtv_core.store.judgements import JudgementStore
from rtv_core.store.queues import QueueStore
from rtv_core.store.runs import RunStore
from rtv_core.text import same_answer

__all__ = ["Told", "add_queue", "add_run", "on_disk", "said", "small_run"]

Told = tuple[str, Sequence[Sequence[str]], Sequence[tuple[str, float]]]
"""A question: its words, its gold answers with their spellings, its candidates with their scores."""


def on_disk(path: Path, **more: object) -> FakeWorkbench:
    """A workbench whose judgements, runs and queues lie in one file."""
    return FakeWorkbench(
        (), "x", store=JudgementStore(path), runs=RunStore(path), queues=QueueStore(path), **more
    )


def add_run(
    workbench: FakeWorkbench,
    name: str,
    told: Sequence[Told],
    tau: float = 0.5,
    system: str = "ours",
    judgeable: bool = True,
) -> list[RunQuestion]:
    """Keep a run; answers scored above tau are predicted, gold nobody recalled was lost by turns.

    Without being `judgeable` its traces have no candidates, which makes large runs quickly.
    """
    kept = workbench.runs.create(Run("", name, system, "", 0, True, tau, 10, {"models": "fake"}))
    items = []
    for position, (text, gold, scored) in enumerate(told):
        question = Question(f"q{position}", text, (tuple(map(tuple, gold)),) if gold else ())
        answers = tuple(
            RunAnswer(answer, (answer,), score, score > tau, _equal(gold, answer)) for answer, score in scored
        )
        own = tuple(RunGold(g[0], tuple(g), _lost(g[0], answers, position)) for g in gold)
        recalled = tuple(Candidate(a.answer, a.spellings, 0.5, ()) for a in answers if judgeable)
        trace = Trace(question, candidates=recalled, provenance={"run": name}, stage="recalled")
        items.append((RunQuestion("", position, question, "", answers, own), trace))
    workbench.runs.add_questions(kept.id, items)
    workbench.runs.finish(kept.id)
    return workbench.runs.questions(kept.id)


def add_queue(
    workbench: FakeWorkbench, name: str, items: Sequence[QueueItem], plan: QueuePlan | None = None
) -> str:
    """Keep a queue of a run's items."""
    run = workbench.runs.run(name)
    return workbench.queues.create(run.id, plan or QueuePlan(), items, "queue")


def said(
    workbench: FakeWorkbench, question: RunQuestion, answer: str, label: str, by: str, **more: object
) -> Judgement:
    """Keep a verdict, blind unless told otherwise."""
    made = Judgement(question.trace_id, question.question.text, answer, label, by, **{"blind": True} | more)
    return workbench.store.judge(made, secrets.token_hex(8))


def small_run(workbench: FakeWorkbench, name: str = "ours") -> list[RunQuestion]:
    """Four questions, with predictions that equal gold, wrong ones, and gold that was missed."""
    return add_run(
        workbench,
        name,
        [
            (
                "When did Jack come out?",
                [["1995"], ["April 24, 2010", "24 April 2010"]],
                [("1995", 0.9), ("2011", 0.8), ("April 24, 2010", 0.3)],
            ),
            ("Who made Jack?", [["Berkeley Systems"]], [("Berkeley Systems Inc", 0.7), ("Sierra", 0.6)]),
            ("Who sang Jill?", [["Ann"], ["Bob"], ["Cid"]], [("Ann", 0.95), ("Bob", 0.85), ("Dan", 0.55)]),
            ("Where is Jill from?", [["Oslo"]], [("Oslo", 0.2), ("Rome", 0.65)]),
        ],
    )


def _equal(gold: Sequence[Sequence[str]], answer: str) -> str:
    return next((g[0] for g in gold if any(same_answer(s, answer) for s in g)), "")


def _lost(gold: str, answers: Sequence[RunAnswer], position: int) -> str:
    own = [a for a in answers if a.gold == gold]
    if any(a.predicted for a in own):
        return "predicted"
    return "at or below tau" if own else LOST[position % 3]
