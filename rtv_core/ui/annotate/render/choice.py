"""The choice of queues, and the form that draws a new one."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.annotation.population import POPULATIONS
from rtv_core.annotation.queue import STRATEGIES, UNITS
from rtv_core.records import QueuePlan
from rtv_core.store.queues import Progress, Queue
from rtv_core.ui.annotate.choosing import Choice
from rtv_core.ui.annotate.render.frame import who
from rtv_core.ui.markup import Markup, escape, join, tag
from rtv_core.ui.render.parts import (
    LONGEST_NAME,
    counted,
)

__all__ = ["render_choices"]

STRATEGY_WORDS = {
    "paper": "as in the paper: missed gold and wrong predictions alike",
    "uniform": "uniform: every answer as likely",
    "near tau": "near tau: scores close to the threshold",
    "expected value": "expected value: verdicts that may change F1 most",
    "disagreement": "disagreement: annotators or systems differ",
}
POPULATION_WORDS = {
    "errors": "errors: wrong predictions and missed gold",
    "wrong": "wrong predictions only",
    "candidates": "candidates: all that isn't known to be right",
    "all": "all answers",
}
UNIT_WORDS = {"candidate": "single answers", "question": "questions, with all their answers"}
EVALUATE = "python -m rtv_core evaluate --questions FILE --name NAME"
IMPORT = "python -m rtv_core runs import FILE --questions FILE --name NAME --system SYSTEM"


def render_choices(choices: Sequence[Choice], name: str, signed: bool = False) -> Markup:
    """The runs with their queues, and the form that draws a new one."""
    judging = tag("p", "Judging as ", who(name, signed))
    if not choices:
        return tag("div", judging, _no_runs(), class_="rtv-choose")
    lead = "One answer at a time, with its evidence. Choose a queue, or draw one below."
    if not any(choice.queues for choice in choices):
        lead = "Answers to judge are drawn from a run into a queue. Draw the first one."
    runs = (_run(choice) for choice in choices)
    return tag(
        "div", judging, tag("h2", "What to judge"), tag("p", lead), *runs, _form(choices), class_="rtv-choose"
    )


def _no_runs() -> Markup:
    return join(
        [
            tag("h2", "There is no run to judge yet"),
            tag("p", "A run is one system's answers to a set of questions. Answer a set with this program:"),
            tag("pre", tag("code", EVALUATE)),
            tag("p", "or bring in the predictions of any other system:"),
            tag("pre", tag("code", IMPORT)),
            tag("p", "Then look again.", " ", tag("button", "Look again", type="button", data_do="again")),
        ]
    )


def _run(choice: Choice) -> Markup:
    run = choice.run
    system = f" · {run.system}" if run.system != run.name else ""
    facts = f"{system[:LONGEST_NAME]} · {counted(run.questions, 'question')}"
    facts += "" if run.scored else " · without scores"
    queues = [_queue(queue, progress) for queue, progress in choice.queues]
    text = "No queue yet. Draw 50 as in the paper, and begin"
    none = tag("p", tag("button", text, type="button", data_do="quick", data_run=run.id))
    return tag(
        "section",
        tag("h3", tag("bdi", escape(run.name, LONGEST_NAME)), tag("span", facts, class_="facts")),
        tag("ul", *queues) if queues else none,
        class_="run",
    )


def _queue(queue: Queue, progress: Progress) -> Markup:
    plan = queue.plan
    overlap = f" · {plan.overlap} annotators each" if plan.overlap > 1 else ""
    facts = f"{counted(queue.items, 'item')} · {'blind' if plan.blind else 'open'}{overlap}"
    return tag(
        "li",
        tag(
            "button",
            tag(
                "span",
                tag("bdi", escape(queue.name, LONGEST_NAME)),
                tag("small", _own(progress), " · ", _together(progress), class_="progress"),
            ),
            tag("small", facts),
            type="button",
            data_do="open",
            data_queue=queue.id,
        ),
    )


def _own(progress: Progress) -> str:
    skipped = f", {progress.skipped:,} skipped" if progress.skipped else ""
    return f"you: {progress.done:,} of {progress.total:,} judged{skipped}"


def _together(progress: Progress) -> str:
    """How far everybody is; an item is finished with as many verdicts as the queue wants of each."""
    if progress.finished == progress.items:
        return "all finished"
    return f"all together: {progress.finished:,} of {progress.items:,} finished"


def _form(choices: Sequence[Choice]) -> Markup:
    plan = QueuePlan()
    runs = [(choice.run.id, choice.run.name[:LONGEST_NAME]) for choice in choices]
    blind = tag("input", type="checkbox", name_="blind", checked=plan.blind)
    return tag(
        "form",
        tag("h3", "Draw a new queue"),
        _labelled("Run", _select("run", runs)),
        _labelled("Strategy", _select("strategy", [(s, STRATEGY_WORDS[s]) for s in STRATEGIES])),
        _labelled("How many", _number("count", plan.count, 1)),
        _labelled("Annotators for each", _number("overlap", plan.overlap, 1)),
        tag("label", blind, tag("span", "Blind: score and gold stay hidden until judged"), class_="check"),
        tag(
            "details",
            tag("summary", "More"),
            _labelled("From", _select("population", [(p, POPULATION_WORDS[p]) for p in POPULATIONS])),
            _labelled("Drawn and counted", _select("unit", [(u, UNIT_WORDS[u]) for u in UNITS])),
            _labelled("Seed", _number("seed", plan.seed, 0)),
            _labelled("Name", tag("input", name_="name", maxlength=200, placeholder="made from the above")),
            tag("p", "The paper's strategy takes single errors, whatever stands here.", class_="hint"),
        ),
        tag("button", "Draw and begin", type="submit", class_="main"),
        class_="draw",
        data_form="draw",
    )


def _labelled(text: str, field: Markup) -> Markup:
    return tag("label", tag("span", text), field)


def _select(name: str, options: Sequence[tuple[str, str]]) -> Markup:
    return tag("select", *(tag("option", text, value=value) for value, text in options), name_=name)


def _number(name: str, value: int, least: int) -> Markup:
    return tag("input", type="number", name_=name, value=value, min=least, step=1, inputmode="numeric")
