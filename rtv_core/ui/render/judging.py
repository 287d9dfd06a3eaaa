"""The verdict buttons, the keys, and what became of a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.records import Judgement, Question
from rtv_core.store.validation import EVIDENCE_LABELS, LABELS
from rtv_core.ui.marks import Row, gold_answers, proposed_gold
from rtv_core.ui.markup import Markup, escape, tag
from rtv_core.ui.render.parts import CANDIDATES_DRAWN, LONGEST_MESSAGE, LONGEST_NAME

__all__ = ["render_failure", "render_judge", "render_keys", "render_saved", "render_undone", "render_unsaid"]

LABEL_WORDS = {
    "listed": "equals a gold answer",
    "variant": "a gold answer in other words",
    "unlisted": "right, but not in the gold",
    "invalid": "wrong",
    "unsure": "can't tell",
}
EVIDENCE_WORDS = {
    "supports": ("q", "supports", "the passages show that the answer is right"),
    "insufficient": ("w", "insufficient", "the passages don't settle it"),
    "contradicts": ("e", "contradicts", "the passages show that the answer is wrong"),
    "other-entity": ("r", "other entity", "the passages are about something else of that name"),
}
KEYS = (
    ("j k", "next and previous candidate"),
    *((str(i), f"{label}: {LABEL_WORDS[label]}") for i, label in enumerate(LABELS, start=1)),
    *((key, f"evidence {word}: {title}") for key, word, title in EVIDENCE_WORDS.values()),
    ("n", "write a note; Enter saves it"),
    ("z Z", "undo, redo"),
    ("s", "Annotate: skip the item; it comes back"),
    ("c", "Annotate: change the last verdict"),
    ("a", "Annotate: add an answer that nobody gave"),
    ("g", "Annotate: the guidelines"),
    ("/", "go to the question"),
    ("Esc", "leave a field"),
    ("→ ←", "next and previous question of a run; when presenting n and p too"),
    ("?", "show these keys"),
)
PRESENTING = ("j k", "→ ←", "?")
"""The keys that are there when nothing can be judged."""


def render_judge(question: Question | None, row: Row | None) -> Markup:
    """The verdict buttons for the chosen candidate, with what was said before."""
    gold = gold_answers(question) if question else ()
    said = row.judgement if row else None
    verdicts = (
        _verdict_button(number, label, said, row is None or (label in LABELS[:2] and not gold))
        for number, label in enumerate(LABELS, start=1)
    )
    evidence = (_evidence_button(label, said, row is None) for label in EVIDENCE_LABELS)
    lead = {"class_": "line", "role": "group"}
    return tag(
        "div",
        tag(
            "div",
            tag("span", "Answer", class_="lead"),
            *verdicts,
            _gold_choice(gold, row) if gold and row else None,
            aria_label="Is the answer right?",
            **lead,
        ),
        tag(
            "div",
            tag("span", "Evidence", class_="lead"),
            *evidence,
            aria_label="Does the evidence support it?",
            **lead,
        ),
        class_="rtv-judge",
        data_key=row.key if row else "",
        data_label=said.label if said else "",
        data_evidence=said.evidence if said else "",
    )


def render_keys() -> Markup:
    """The dialog that lists the keys."""
    rows = (
        tag(
            "div",
            tag("dt", *(tag("kbd", key) for key in keys.split())),
            tag("dd", text),
            class_=None if keys in PRESENTING else "judging",
        )
        for keys, text in KEYS
    )
    close = tag("form", tag("button", "Close", autofocus=True), method="dialog")
    title = tag("h2", "Keys", id="rtv-keys-title")
    return tag("dialog", title, tag("dl", *rows), close, class_="rtv-keys", aria_labelledby="rtv-keys-title")


def render_unsaid() -> Markup:
    """The place where the page says what became of a verdict, while there is nothing to say."""
    return _said(None)


def render_saved(judgement: Judgement, clock: str, token: str) -> Markup:
    """Says that a judgement is saved, and offers to take it back."""
    of = (" of ", tag("bdi", escape(judgement.gold, LONGEST_NAME))) if judgement.label == "variant" else ()
    evidence = f", evidence {EVIDENCE_WORDS[judgement.evidence][1]}" if judgement.evidence else ""
    return _said(
        tag("span", "✓ ", class_="sign", aria_hidden="true"),
        f"Saved {clock} · ",
        tag("b", judgement.label),
        *of,
        f"{evidence} · ",
        tag("button", "Undo", type="button", data_action="undo"),
        token=token,
    )


def render_undone(text: str, again: bool) -> Markup:
    """Says what an undo or redo did; `again` offers the redo."""
    redo = (" · ", tag("button", "Redo", type="button", data_action="redo")) if again else ()
    return _said(text, *redo)


def render_failure(text: str, token: str = "") -> Markup:
    """A judgement that was not saved: stays until there is something newer to say."""
    sign = tag("span", "✕ ", aria_hidden="true")
    words = escape(text, LONGEST_MESSAGE)
    return _said(sign, tag("b", "Not saved. "), words, kind="bad", role="alert", token=token)


def _said(*words: str | None, kind: str = "ok", role: str = "status", token: str = "") -> Markup:
    """The server's line, and an empty one in which the page itself can say something."""
    line = tag("p", *words, class_=f"rtv-saved {kind}", role=role, data_token=token) if any(words) else None
    return tag("div", line, tag("p", class_="rtv-local", role="status"), class_="rtv-said")


def _verdict_button(number: int, label: str, said: Judgement | None, off: bool) -> Markup:
    return tag(
        "button",
        tag("kbd", str(number)),
        label,
        type="button",
        data_verdict=label,
        aria_pressed=str(bool(said and said.label == label)).lower(),
        aria_keyshortcuts=number,
        title=LABEL_WORDS[label],
        disabled=off,
    )


def _evidence_button(label: str, said: Judgement | None, off: bool) -> Markup:
    key, word, title = EVIDENCE_WORDS[label]
    return tag(
        "button",
        tag("kbd", key),
        word,
        type="button",
        data_evidence_verdict=label,
        aria_pressed=str(bool(said and said.evidence == label)).lower(),
        aria_keyshortcuts=key,
        title=title,
        disabled=off,
    )


def _gold_choice(gold: Sequence[Sequence[str]], row: Row) -> Markup:
    """The list of gold answers; what was said before, else what the answer equals, is chosen."""
    chosen = proposed_gold(gold, row)
    options = (
        tag("option", escape(known[0], LONGEST_NAME), value=i, selected=i == chosen)
        for i, known in enumerate(gold[:CANDIDATES_DRAWN])
    )
    none = tag("option", "which gold?", value="", selected=chosen is None)
    name = "The gold answer that it equals"
    choice = tag("select", none, *options, data_gold=True, data_chosen=chosen, aria_label=name, title=name)
    return tag("span", choice, class_="of")
