"""Choosing: which runs and queues there are, and drawing a new queue from the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtv_core.annotation.population import POPULATIONS
from rtv_core.annotation.queue import LARGEST_QUEUE, STRATEGIES, UNITS, draw
from rtv_core.errors import InputError
from rtv_core.records import QueuePlan, Run
from rtv_core.store.queues import Progress, Queue
from rtv_core.ui import checks
from rtv_core.ui.workbench import Workbench

__all__ = ["Choice", "draw_queue", "read_choices"]

RUNS_SHOWN = 50
BY_VERDICTS = ("expected value", "disagreement")
OTHERS_COMPARED = 5
"""Of other runs with the same questions, this many, the newest, are compared for disagreement."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A run, and the queues drawn from it, each with an annotator's progress in it."""

    run: Run
    queues: tuple[tuple[Queue, Progress], ...]


def read_choices(workbench: Workbench, annotator: str) -> tuple[Choice, ...]:
    """The runs, newest first, each with its queues and how far the annotator is in them."""
    queues = workbench.queues.queues()
    return tuple(
        Choice(
            run,
            tuple(
                (queue, workbench.queues.progress(queue.id, annotator))
                for queue in queues
                if queue.run_id == run.id
            ),
        )
        for run in workbench.runs.runs()[:RUNS_SHOWN]
    )


def draw_queue(workbench: Workbench, event: Mapping[str, Any]) -> str:
    """Draw a queue as a form says; returns its id. Raises InputError for a form that can't be followed."""
    form = event.get("form")
    form = form if isinstance(form, Mapping) else {}
    run = workbench.runs.run(checks.read_text(form.get("run"), "run", checks.LONGEST_NAME))
    plan = _plan(form)
    others = ()
    if plan.strategy == "disagreement":
        ids = workbench.runs.question_ids(run.id)
        same = [
            r for r in workbench.runs.runs() if r.id != run.id and ids & workbench.runs.question_ids(r.id)
        ]
        others = [workbench.runs.questions(other.id) for other in same[:OTHERS_COMPARED]]
    judgements = workbench.store.current() if plan.strategy in BY_VERDICTS else ()
    questions = workbench.runs.questions(run.id)
    items = draw(questions, plan, run.tau, judgements, others)
    name = checks.read_text(form.get("name"), "queue's name", 200) or _name(plan)
    return workbench.queues.create(run.id, plan, items, name)


def _plan(form: Mapping[str, Any]) -> QueuePlan:
    strategy = checks.read_choice(form.get("strategy"), "strategy", STRATEGIES)
    default = QueuePlan()
    population, unit = default.population, default.unit
    if strategy != "paper":
        population = checks.read_choice(form.get("population"), "population", tuple(POPULATIONS))
        unit = checks.read_choice(form.get("unit"), "unit", UNITS)
    return QueuePlan(
        strategy=strategy,
        count=_whole(form, "count", 1, LARGEST_QUEUE),
        seed=_whole(form, "seed", 0, 2**31 - 1),
        overlap=_whole(form, "overlap", 1, 100),
        blind=form.get("blind") is True,
        population=population,
        unit=unit,
    )


def _whole(form: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """A number from a field, where it is text."""
    text = checks.read_text(form.get(name), name, 20)
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise InputError(f"The {name} is {text!r}; it must be a whole number from {least} to {most:,}.")
    return int(text)


def _name(plan: QueuePlan) -> str:
    extra = "" if plan.blind else ", open"
    extra += f", overlap {plan.overlap}" if plan.overlap > 1 else ""
    extra += "" if plan.population == "errors" else f", {plan.population}"
    extra += "" if plan.unit == "candidate" else ", by question"
    return f"{plan.strategy}, {plan.count}, seed {plan.seed}{extra}"
