"""All that an action draws, and the line over an item."""

from __future__ import annotations

import secrets

from rtv_core.store.queues import Progress, Queue
from rtv_core.ui import checks
from rtv_core.ui.markup import Markup, escape, tag
from rtv_core.ui.render.parts import (
    LONGEST_NAME,
)

__all__ = ["render_feed", "render_head", "render_name", "who"]


def render_feed(
    token: str,
    queue_id: str | None = None,
    *,
    failed: bool = False,
    head: Markup | None = None,
    said: Markup | None = None,
    item: Markup | None = None,
    ahead: Markup | None = None,
    added: Markup | None = None,
) -> Markup:
    """All that an action draws. A part that is None stays as it is on the page; an empty one is emptied.

    `added` takes its place in the item that is on the page.
    """
    parts = {"head": head, "said": said, "item": item, "ahead": ahead, "added": added}
    slots = (tag("div", part, data_slot=name) for name, part in parts.items() if part is not None)
    return tag(
        "div",
        *slots,
        class_="rtv-fed",
        data_token=token,
        data_failed=failed,
        data_queue=queue_id,
        data_serial=secrets.token_hex(6),
    )


def render_name() -> Markup:
    """Asks who judges."""
    field = tag(
        "input",
        data_name_field=True,
        placeholder="Your name",
        aria_label="Your name",
        maxlength=checks.LONGEST_NAME,
        autocomplete="nickname",
        required=True,
    )
    return tag(
        "form",
        tag("h2", "Who is judging?"),
        tag("p", "Verdicts are kept by name, so that colleagues share a queue and never get the same item."),
        tag("div", field, tag("button", "Go on", type="submit", class_="main"), class_="field"),
        class_="rtv-choose rtv-who",
        data_form="name",
    )


def render_head(queue: Queue, run: str, name: str, progress: Progress, signed: bool = False) -> Markup:
    """The line over an item: which queue, how far, at what pace, in whose name."""
    share = progress.done / progress.total if progress.total else 1
    bar = tag(
        "span",
        tag("i", style=f"width:{100 * share:.1f}%"),
        class_="bar",
        role="progressbar",
        aria_label="judged",
        aria_valuemin=0,
        aria_valuemax=progress.total,
        aria_valuenow=progress.done,
    )
    blind = "blind" if queue.plan.blind else "open"
    return tag(
        "div",
        tag("button", tag("span", "‹ ", aria_hidden="true"), "Queues", type="button", data_do="leave"),
        tag(
            "p",
            tag("b", escape(queue.name, LONGEST_NAME)),
            tag("span", " of ", escape(run, LONGEST_NAME), f" · {blind}", class_="of"),
            class_="title",
        ),
        tag("p", bar, _progress(progress), class_="pace", aria_live="polite"),
        tag(
            "p",
            who(name, signed),
            tag("button", "Guidelines ", tag("kbd", "g"), type="button", data_do="guide"),
            class_="tools",
        ),
        class_="rtv-desk-head",
        data_done=progress.done,
        data_queue=queue.id,
    )


def who(name: str, signed: bool) -> Markup:
    """In whose name verdicts are saved; who isn't signed in can change it."""
    shown = tag("bdi", escape(name, 30))
    if signed:
        return tag("span", shown)
    return tag("button", shown, type="button", data_do="rename", title="judging as")


def _progress(progress: Progress) -> str:
    parts = [f"{progress.done:,} of {progress.total:,}"]
    if progress.seconds_each is not None:
        parts.append(f"{progress.seconds_each:.0f} s each")
    if progress.left and progress.seconds_left is not None:
        parts.append(f"about {_duration(progress.seconds_left)} left")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    minutes = max(round(seconds / 60), 1)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
