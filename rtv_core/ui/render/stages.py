"""The stages in one line, as they run."""

from __future__ import annotations

from rtv_core.records import Trace
from rtv_core.ui.marks import is_given
from rtv_core.ui.markup import Markup, escape, spoken, tag
from rtv_core.ui.parts import parts_off
from rtv_core.ui.render.parts import LONGEST_NAME, counted

__all__ = ["render_progress"]

STAGES = (
    ("asked", "", ""),
    ("retrieved", "retrieve", "retrieved"),
    ("recalled", "recall", "recalled"),
    ("gathered", "gather", "evidence"),
    ("verified", "verify", "verified"),
)
"""Each stage as the trace names it, as its clock names it, and as the page does."""


def render_progress(trace: Trace, running: bool = False, link: str = "") -> Markup:
    """The stages in one line: counts, a sign for what is done, seconds. `link` goes into the address.

    A trace that is neither complete nor growing was stopped; of another system's answers no stage is known.
    """
    names = [name for name, _, _ in STAGES]
    done = names.index(trace.stage)
    given = is_given(trace)
    items = _given(trace) if given else [_stage(trace, i, done, running) for i in range(1, len(STAGES))]
    if off := parts_off(trace):
        items.append(tag("li", f"switched off: {', '.join(off)}", class_="off"))
    if trace.complete:
        items.append(tag("li", f"{sum(trace.seconds.values()):.2f} s in all", class_="total"))
    elif not (running or given):
        sign = tag("span", "■ ", aria_hidden="true")
        items.append(tag("li", sign, "stopped: incomplete", class_="incomplete"))
    return tag(
        "div",
        tag("ol", *items, aria_label="Stages"),
        class_="rtv-progress",
        data_running=int(running),
        data_link=link,
        data_question=trace.question.text,
    )


def _given(trace: Trace) -> list[Markup]:
    words = [f"{counted(len(trace.candidates), 'answer')} of {trace.provenance['system']}"]
    if name := trace.provenance.get("imported"):
        words.append(f"imported from {name}")
    return [tag("li", escape(text, 2 * LONGEST_NAME), class_="done") for text in words]


def _stage(trace: Trace, place: int, done: int, running: bool) -> Markup:
    _, timer, word = STAGES[place]
    state = "done" if done >= place else "now" if running and place == done + 1 else "waiting"
    count = {
        "retrieve": f"{len(trace.hits)}",
        "recall": f"{len(trace.candidates)}",
        "verify": f"{len(trace.verdicts)}/{len(trace.candidates)}",
    }.get(timer, "")
    seconds = f"{trace.seconds[timer]:.2f} s" if timer in trace.seconds else ""
    return tag(
        "li",
        word,
        tag("b", count) if count and (seconds or state == "done") else None,
        tag("span", {"done": "✓", "now": "…", "waiting": ""}[state], class_="sign", aria_hidden="true"),
        spoken(state),
        _bar_of_stage(timer, trace) if state == "now" else None,
        tag("span", seconds) if seconds else None,
        class_=state,
        aria_current="step" if state == "now" else None,
    )


def _bar_of_stage(timer: str, trace: Trace) -> Markup | None:
    done, of = {
        "recall": (len(trace.readings), len(trace.hits)),
        "verify": (len(trace.verdicts), len(trace.candidates)),
    }.get(timer, (0, 0))
    if not of:
        return None
    return tag(
        "span",
        tag("i", style=f"width:{100 * done / of:.0f}%"),
        class_="bar",
        role="progressbar",
        aria_label=timer,
        aria_valuemin=0,
        aria_valuemax=of,
        aria_valuenow=done,
    )
