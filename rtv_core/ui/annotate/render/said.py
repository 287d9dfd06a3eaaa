"""What became of the last action, and what a verdict lets be seen."""

from __future__ import annotations

from dataclasses import dataclass

from rtv_core.records import Judgement
from rtv_core.store.queues import Progress
from rtv_core.ui.annotate.render.score import score_words
from rtv_core.ui.annotate.sheet import VALID, Gold, Score
from rtv_core.ui.markup import Markup, escape, tag
from rtv_core.ui.render.judging import EVIDENCE_WORDS
from rtv_core.ui.render.parts import (
    LONGEST_MESSAGE,
    LONGEST_NAME,
    counted,
)

__all__ = ["Reveal", "render_added", "render_failed", "render_finished", "render_said", "render_undone"]

GOLD_NAMED = 8
RIGHT_WORD = "right"
"""What is said of a valid answer while it would give the gold away which kind it is."""


@dataclass(frozen=True, slots=True)
class Reveal:
    """What a verdict on an item lets be seen of it.

    `placing`: the item is to be placed among the gold next. `left`: how many other items its question has in
    the queue, while one of them keeps score and gold hidden.
    """

    score: Score | None
    gold: Gold | None
    placing: bool
    left: int


def render_said(saved: Judgement, clock: str, place: int, reveal: Reveal) -> Markup:
    """Says that a verdict is saved, and shows of its item what was hidden."""
    label = RIGHT_WORD if reveal.score is None and saved.label in VALID else saved.label
    gold = (" of ", tag("bdi", escape(saved.gold, LONGEST_NAME))) if label == "variant" else ()
    evidence = f", evidence {EVIDENCE_WORDS[saved.evidence][1]}" if saved.evidence else ""
    return _line(
        tag("span", "✓ ", class_="sign", aria_hidden="true"),
        tag("span", f"Saved {clock}", class_="when"),
        " · ",
        tag("bdi", escape(saved.answer, 60), class_="what"),
        ": ",
        tag("b", label),
        *gold,
        evidence,
        _revealed(reveal),
        tag("span", *_buttons_after(place, reveal), class_="after"),
    )


def _buttons_after(place: int, reveal: Reveal) -> tuple[Markup, ...]:
    undo = tag("button", "Undo ", tag("kbd", "z"), type="button", data_do="undo")
    if reveal.score is None:
        return (undo,)
    change = tag("button", "Change ", tag("kbd", "c"), type="button", data_do="change", data_place=place)
    return change, undo


def _revealed(reveal: Reveal) -> Markup | None:
    if reveal.placing:
        return None
    if reveal.score is None or reveal.gold is None:
        text = f" · score and gold follow: its question has {counted(reveal.left, 'other item')} here"
        return tag("span", text, class_="kept-back")
    names = []
    for i, spellings in enumerate(reveal.gold.answers[:GOLD_NAMED]):
        star = "★ " if i == reveal.gold.equal else ""
        names += [", " if names else None, star, tag("bdi", escape(spellings[0], LONGEST_NAME))]
    more = len(reveal.gold.answers) - GOLD_NAMED
    gold = ("gold: ", *names, f" and {more} more" if more > 0 else None) if names else ("no gold answer",)
    return tag("span", " · ", *score_words(reveal.score), " · ", *gold, class_="revealed")


def render_added(saved: Judgement, clock: str) -> Markup:
    """Says that an answer was added, and where it stands."""
    where = ", without a passage"
    if saved.support is not None:
        where = f", supported by “{saved.support.words[:60]}” in a passage"
    return _line(
        tag("span", "✓ ", class_="sign", aria_hidden="true"),
        tag("span", f"Added {clock}", class_="when"),
        " · ",
        tag("bdi", escape(saved.answer, LONGEST_NAME), class_="what"),
        escape(where),
        tag(
            "span",
            tag("button", "Undo ", tag("kbd", "z"), type="button", data_do="undo"),
            class_="after",
        ),
    )


def render_undone(text: str, redo: bool = False, undo: bool = False) -> Markup:
    """Says what a step did, and offers the way back."""
    again = tag("button", "Redo ", tag("kbd", "Z"), type="button", data_do="redo") if redo else None
    back = tag("button", "Undo ", tag("kbd", "z"), type="button", data_do="undo") if undo else None
    return _line(escape(text, LONGEST_MESSAGE), tag("span", again, back, class_="after"))


def render_failed(text: str, lead: str = "Not saved.") -> Markup:
    """What was refused or went wrong; it stays until there is something newer to say."""
    sign = tag("span", "✕ ", aria_hidden="true")
    return _line(sign, tag("b", lead), " ", escape(text, LONGEST_MESSAGE), kind="bad", role="alert")


def _line(*words: str | None, kind: str = "ok", role: str = "status") -> Markup:
    return tag("p", *words, class_=f"rtv-desk-said {kind}", role=role)


def render_finished(progress: Progress) -> Markup:
    """What stands in place of an item when there is none just now."""
    if progress.left:
        title = "Nothing for you just now"
        text = (
            f"The {counted(progress.left, 'item')} left are with other annotators. One that isn't judged "
            "within half an hour comes back."
        )
        button = tag("button", "Look again", type="button", data_do="again", class_="main")
    else:
        title = "All judged"
        text = (
            f"You judged {counted(progress.done, 'item')} of this queue. Your verdicts stand under Analyse; "
            "z takes them back one by one."
        )
        button = tag("button", "Choose another queue", type="button", data_do="leave", class_="main")
    return tag("div", tag("h2", title), tag("p", text), button, class_="rtv-choose rtv-end")
