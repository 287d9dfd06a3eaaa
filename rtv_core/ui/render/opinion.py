"""A language model's opinion in the evidence column: above the passages, with what it read."""

from __future__ import annotations

from collections.abc import Collection

from rtv_core.evidence import is_fresh
from rtv_core.ui.markup import Markup, escape, tag
from rtv_core.ui.opinion import Opinion
from rtv_core.ui.render.parts import LONGEST_NAME, counted
from rtv_core.ui.render.prompts import render_exchanges, render_opinion, render_warning

__all__ = ["render_said"]


def render_said(opinion: Opinion, shown: Collection[str]) -> Markup:
    """Verdict, verification question, what was read, what may instruct, and the exchanges.

    `shown` are the ids of the passages listed as the trace's own evidence.
    """
    passages = [passage.hit.passage for passage in opinion.evidence.passages]
    name = opinion.system and tag("h3", escape(opinion.system, LONGEST_NAME))
    return tag(
        "section",
        name or None,
        render_opinion(opinion.exchanges, opinion.question),
        tag("p", _read(opinion, shown), class_="read"),
        render_warning(passages),
        render_exchanges(opinion.exchanges) if opinion.exchanges else None,
        class_="rtv-said-by-model",
        data_system=opinion.system,
        aria_label=opinion.system or "The language model's verdict",
    )


def _read(opinion: Opinion, shown: Collection[str]) -> str:
    passages = opinion.evidence.passages
    fresh = sum(is_fresh(passage, opinion.hits) for passage in passages)
    text = f"It read {counted(len(passages), 'passage')}, {fresh} of them fresh"
    if not opinion.system:
        return f"{text}: those below."
    more = sum(passage.hit.passage.id not in shown for passage in passages)
    return f"{text}: {len(passages) - more} of those below (✦), {more} more after them."
