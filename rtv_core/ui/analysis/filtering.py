"""The filter of the page: its conditions, the way to add one, and the filters that were saved."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rtv_core.analysis.columns import COLUMNS
from rtv_core.analysis.filters import LONGEST_CONDITION, Condition
from rtv_core.records import LOST
from rtv_core.store.filters import SavedFilter
from rtv_core.ui.analysis.tables import drawn, note, short
from rtv_core.ui.markup import Markup, escape, tag

__all__ = ["LEFT_OUT", "in_words", "render_filter"]

LEFT_OUT = (
    "Verdicts are left out under a filter on a shared server, so that nobody's can be singled out: every "
    "figure is raw."
)

SIGN_WORDS = {
    "=": "is",
    "!=": "is not",
    "~": "contains",
    "!~": "does not contain",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is above",
    "<": "is below",
}


def render_filter(
    where: Sequence[Condition],
    saved: Sequence[SavedFilter],
    found: str,
    turn: int,
    said: str = "",
    bad: bool = False,
    undo: str = "",
) -> Markup:
    """The filter bar. `found` tells how many questions meet the conditions, "" where that is not known.

    `said` is what became of what somebody asked for, `undo` names the filter that was just deleted. The
    conditions in `data-where` are those that the page is to look at from now on.
    """
    texts = [str(condition) for condition in where]
    return tag(
        "div",
        drawn(
            turn,
            tag("span", "Filter", class_="name"),
            *(_chip(place, condition) for place, condition in enumerate(where)),
            tag("span", found, class_="found", role="status") if found else None,
            tag("button", "clear", type="button", data_filter="clear", class_="take") if where else None,
            _builder(),
            _saver() if where else None,
            _saved(saved, texts) if saved else None,
            _said(said, bad, undo) if said else None,
        ),
        data_where=json.dumps(texts, ensure_ascii=False),
    )


def in_words(condition: Condition) -> str:
    """A condition as a person would say it."""
    return f"{COLUMNS[condition.column].title} {SIGN_WORDS[condition.sign]} {condition.value}"


def _chip(place: int, condition: Condition) -> Markup:
    words = in_words(condition)
    return tag(
        "span",
        short(words),
        tag(
            "button",
            "✕",
            type="button",
            data_filter="remove",
            data_value=place,
            aria_label=escape(f"Remove the condition: {words}", 200),
        ),
        class_="chip",
    )


def _builder() -> Markup:
    """The fields of one more condition, folded away."""
    columns = (tag("option", own.title, value=own.name) for own in COLUMNS.values())
    signs = (tag("option", words, value=sign) for sign, words in SIGN_WORDS.items())
    stages = (tag("option", value=stage) for stage in LOST)
    return tag(
        "details",
        tag("summary", "add a condition"),
        tag(
            "div",
            tag("select", *columns, data_condition="column", aria_label="Column"),
            tag("select", *signs, data_condition="sign", aria_label="Comparison"),
            tag(
                "input",
                type="text",
                data_condition="value",
                list="rtv-stages",
                maxlength=LONGEST_CONDITION // 2,
                placeholder="text or number",
                aria_label="Text or number",
                autocomplete="off",
            ),
            tag("datalist", *stages, id="rtv-stages"),
            tag("button", "Add", type="button", data_filter="add", class_="take"),
            class_="fields",
        ),
        class_="rtv-builder",
    )


def _saver() -> Markup:
    field = tag(
        "input",
        type="text",
        data_filter_name=True,
        maxlength=80,
        placeholder="name it",
        aria_label="The filter's name",
        autocomplete="off",
    )
    button = tag("button", "Save", type="button", data_filter="save", class_="take")
    return tag("span", field, button, class_="saver")


def _saved(saved: Sequence[SavedFilter], texts: Sequence[str]) -> Markup:
    chips = (
        tag(
            "span",
            tag(
                "button",
                short(own.name),
                type="button",
                data_filter="apply",
                data_value=own.name,
                aria_pressed=str(list(own.conditions) == list(texts)).lower(),
                title=", ".join(own.conditions)[:300],
            ),
            tag(
                "button",
                "✕",
                type="button",
                data_filter="delete",
                data_value=own.name,
                aria_label=f"Delete the filter {own.name}",
            ),
            class_="chip saved",
        )
        for own in saved
    )
    return tag("span", tag("span", "saved: ", class_="name"), *chips, class_="saveds")


def _said(said: str, bad: bool, undo: str) -> Markup:
    button = None
    if undo:
        button = tag("button", "Undo", type="button", data_filter="undo", data_value=undo, class_="take")
    return note(
        tag("span", escape(said, 400), class_="bad" if bad else None, role="alert" if bad else "status"),
        " ",
        button,
    )
