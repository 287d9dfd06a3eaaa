"""The header, the examples, and plain messages."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.records import Question
from rtv_core.ui.markup import Markup, escape, join, tag
from rtv_core.ui.render.parts import LONGEST_ANSWER, LONGEST_MESSAGE, LONGEST_NAME

__all__ = ["render_examples", "render_header", "render_message", "render_welcome"]

EXAMPLES_DRAWN = 200
EXAMPLES_TO_START = 3


def render_header(corpus: str, profile: str) -> Markup:
    """The line at the top: what is searched, with which profile, and the way to the keys."""
    keys = tag("button", "Keys ", tag("kbd", "?"), type="button", data_help=True, title="show the keys")
    profile = profile[:LONGEST_NAME]
    where = tag(
        "p",
        tag("span", "corpus ", class_="word"),
        tag("b", escape(corpus, LONGEST_NAME)),
        tag("span", " · profile ", class_="word"),
        tag("b", profile, class_="profile", data_profile=profile),
        keys,
        class_="rtv-where",
    )
    return join([tag("div", tag("b", "RTV"), class_="rtv-brand"), where])


def render_message(text: str, kind: str = "note") -> Markup:
    """One plain sentence. `kind` is "note", "busy" or "error"; an error is read out at once."""
    if not text:
        return Markup("")
    sign = tag("span", "✕ ", aria_hidden="true") if kind == "error" else None
    role = "alert" if kind == "error" else "status"
    return tag("p", sign, escape(text, LONGEST_MESSAGE), class_=f"rtv-message {kind}", role=role)


def render_examples(questions: Sequence[Question]) -> Markup:
    """The example questions, behind one button."""
    if not questions:
        return Markup("")
    items = (tag("li", _example(question)) for question in questions[:EXAMPLES_DRAWN])
    return tag("details", tag("summary", "Examples"), tag("ul", *items), class_="rtv-examples")


def render_welcome(questions: Sequence[Question]) -> Markup:
    """What stands in place of the stages before the first question: a few examples to start from."""
    few = [_example(question) for question in questions[:EXAMPLES_TO_START]]
    text = "Ask a question, or try" if few else "Ask a question to see every stage here."
    return tag("div", tag("p", tag("span", text), *few, class_="try"), class_="rtv-progress")


def _example(question: Question) -> Markup:
    text = escape(question.text, LONGEST_ANSWER)
    return tag("button", text, type="button", data_example=question.text, title=question.text)
