"""Where a kept question stands among others, and the ways on from it."""

from __future__ import annotations

from urllib.parse import urlencode

from rtv_core.ui.markup import Markup, escape, tag
from rtv_core.ui.render.parts import LONGEST_NAME
from rtv_core.ui.stored import Stored

__all__ = ["render_place"]


def render_place(stored: Stored, question: str, presenting: bool) -> Markup:
    """The run, the question's number in it, and the ways to the one before and after; when `presenting`, the
    question itself too."""
    title = tag("h1", tag("bdi", question), class_="question") if presenting and question else None
    line = [*_names(stored), _number(stored), *_turns(stored), _switch(stored, question, presenting)]
    return tag("div", tag("div", *line, class_="line"), title, class_="rtv-place")


def _names(stored: Stored) -> list[Markup]:
    names = [("run", stored.run)] if stored.run else []
    if stored.system and stored.system != stored.run:
        names.append(("system", stored.system))
    return [
        tag(
            "span",
            _word(f"{word} "),
            tag("b", tag("bdi", escape(name, LONGEST_NAME))),
            class_=word,
            title=name,
        )
        for word, name in names
    ]


def _number(stored: Stored) -> Markup | None:
    if not stored.number:
        return None
    return tag(
        "span",
        _word("question "),
        f"{stored.number:,} of {len(stored.places):,}",
        class_="number",
        role="status",
    )


def _turns(stored: Stored) -> tuple[Markup, ...]:
    if len(stored.places) < 2:
        return ()
    return (
        _turn(("‹ ", _word("Previous")), "previous question (←)", stored.previous, -1),
        _turn((_word("Next"), " ›"), "next question (→)", stored.next, 1),
    )


def _word(text: str) -> Markup:
    """What is left out where there is little room."""
    return tag("span", text, class_="word")


def _turn(parts: tuple[str, str], title: str, to: int | None, by: int) -> Markup:
    return tag(
        "button",
        *parts,
        type="button",
        data_turn="" if to is None else to,
        data_by=by,
        title=title,
        aria_label=title.partition(" (")[0],
        aria_keyshortcuts="ArrowRight" if by > 0 else "ArrowLeft",
        disabled=to is None,
    )


def _switch(stored: Stored, question: str, presenting: bool) -> Markup | None:
    """The link between presenting a question and judging or asking it."""
    named = dict(stored.link) or ({"q": question} if question else {})
    if not (named or presenting):
        return None
    if presenting:
        text, title = "Leave", "leave the presentation"
    else:
        named["present"] = "1"
        text, title = "Present", "show it in large type, without judging"
    return tag("a", text, href=f"?{urlencode(named)}", title=title, data_present=int(not presenting))
