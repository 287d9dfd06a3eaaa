"""An item: the question, its answer, the buttons, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.records import Judgement
from rtv_core.store.validation import EVIDENCE_LABELS, LABELS
from rtv_core.text import find_answer
from rtv_core.ui import checks
from rtv_core.ui.annotate.render.score import score_words
from rtv_core.ui.annotate.sheet import Addition, Gold, Sheet, Shown
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.render.judging import EVIDENCE_WORDS, LABEL_WORDS
from rtv_core.ui.render.parts import (
    LONGEST_ANSWER,
    LONGEST_MESSAGE,
    LONGEST_PASSAGE,
    counted,
    passage_text,
    passage_title,
)

__all__ = ["render_additions", "render_item"]

LONGEST_QUESTION = 2000
SPELLINGS_SHOWN = 8
GOLD_SHOWN = 200


def render_item(sheet: Sheet) -> Markup:
    """Question, answer, the buttons, and the evidence with the answer marked in it."""
    return tag(
        "article",
        tag("div", _asked(sheet), _verdicts(sheet), class_="left"),
        tag("div", _evidence(sheet), _added(sheet), _addition(), class_="right"),
        class_="rtv-item",
        data_place=sheet.place,
        data_mode=sheet.mode,
        data_followed=int(sheet.followed),
        data_evidence=sheet.said.evidence if sheet.said else "",
        data_equal="" if sheet.gold is None or sheet.gold.equal is None else sheet.gold.equal,
        tabindex=-1,
        aria_label="The item to judge",
    )


def render_additions(sheet: Sheet) -> Markup:
    """The answers that the annotator added to the question, each with the words that support it marked."""
    if not sheet.added:
        return Markup("")
    items = (_addition_row(number, addition) for number, addition in enumerate(sheet.added, start=1))
    head = tag("h2", "Answers you added ", tag("span", str(len(sheet.added)), class_="n"))
    return join([head, tag("ol", *items, class_="proofs")])


def _added(sheet: Sheet) -> Markup:
    return tag("section", render_additions(sheet), class_="added-part", aria_live="polite")


def _addition_row(number: int, addition: Addition) -> Markup:
    support, passage = addition.said.support, addition.passage
    top = tag(
        "p",
        tag("span", str(number), class_="no"),
        tag("bdi", escape(addition.said.answer, LONGEST_ANSWER), class_="title"),
        tag("span", "in ", passage_title(passage)) if passage else None,
        class_="top",
    )
    if support is None or passage is None:
        none = "No passage of the question supports it." if support is None else "Its passage is not here."
        return tag("li", top, tag("p", none, class_="text hint"))
    text = tag("p", passage_text(passage, [(support.start, support.end)]), class_="text")
    return tag("li", top, text, data_passage=passage.id)


def _asked(sheet: Sheet) -> Markup:
    also = None
    if sheet.spellings:
        shown = sheet.spellings[:SPELLINGS_SHOWN]
        names = [tag("bdi", escape(s, LONGEST_ANSWER)) for s in shown]
        parts = [part for name in names for part in (" · ", name)][1:]
        more = len(sheet.spellings) - len(shown)
        also = tag("p", "also ", *parts, f" · {more} more" if more else None, class_="also")
    score = None
    if sheet.score is not None:
        score = tag("p", *score_words(sheet.score), class_="score-line")
    return tag(
        "div",
        tag("p", tag("bdi", escape(sheet.question, LONGEST_QUESTION)), class_="question"),
        tag(
            "p",
            spoken("Candidate answer: "),
            tag("bdi", escape(sheet.answer, LONGEST_ANSWER)),
            class_="answer",
        ),
        also,
        score,
        class_="asked",
    )


def _verdicts(sheet: Sheet) -> Markup:
    said = sheet.said
    lead = {
        "blind": "Is the answer right?",
        "place": "You called it right. Which is it?",
        "open": "Is the answer right?",
    }[sheet.mode]
    if sheet.mode == "blind":
        buttons = (
            _button("1", "right", "right", "under some sensible reading", said and said.label in LABELS[:3]),
            *(_label_button(label, said) for label in LABELS[3:]),
        )
    else:
        none = sheet.gold is None or not sheet.gold.answers
        before = said if sheet.mode == "open" else None  # what was called right isn't placed yet
        buttons = (_label_button(label, before, off=none and label in LABELS[:2]) for label in LABELS)
    evidence = (
        _button(key, label, word, title, said and said.evidence == label, "evidence")
        for label, (key, word, title) in ((label, EVIDENCE_WORDS[label]) for label in EVIDENCE_LABELS)
    )
    note = tag(
        "input",
        class_="note",
        value=said.note if said else "",
        placeholder="Note (n)",
        aria_label="Note",
        maxlength=checks.LONGEST_NOTE,
    )
    skip = tag(
        "button", tag("kbd", "s"), tag("span", "skip"), type="button", data_do="skip", title="it comes back"
    )
    hint = None
    if sheet.mode == "blind":
        hint = tag("p", "Score and gold stay hidden until you have judged.", class_="hint")
    elif sheet.seen:
        text = "Not blind: score or gold of this question was shown to you before. The verdict will say so."
        hint = tag("p", text, class_="hint")
    return tag(
        "div",
        tag(
            "div",
            tag("p", "Does the evidence support it?", class_="lead"),
            tag("div", *evidence, class_="buttons evidence"),
            role="group",
            aria_label="Does the evidence support it?",
            class_="group",
        ),
        _gold_list(sheet),
        tag(
            "div",
            tag("p", lead, class_="lead"),
            tag("div", *buttons, class_="buttons answer-buttons"),
            role="group",
            aria_label=lead,
            class_="group",
        ),
        tag("div", note, skip, class_="words"),
        hint,
        class_="verdicts",
    )


def _label_button(label: str, said: Judgement | None, off: bool = False) -> Markup:
    number = str(LABELS.index(label) + 1)
    return _button(number, label, label, LABEL_WORDS[label], said and said.label == label, off=off)


def _button(
    key: str,
    value: str,
    word: str,
    title: str,
    pressed: object,
    kind: str = "label",
    off: bool = False,
) -> Markup:
    return tag(
        "button",
        tag("kbd", key),
        tag("span", word, class_="word"),
        tag("small", title),
        type="button",
        aria_pressed=str(bool(pressed)).lower(),
        aria_keyshortcuts=key,
        disabled=off,
        title=title,
        **{f"data_{kind}": value},
    )


def _gold_list(sheet: Sheet) -> Markup | None:
    """The gold answers to choose from; what is proposed is chosen already, and waits for the key."""
    gold = sheet.gold
    if gold is None:
        return None
    if not gold.answers:
        return tag("p", "No gold answer is known for this question.", class_="hint")
    reasons = dict(gold.proposals)
    chosen = _chosen(sheet, gold)
    first = [i for i, _ in gold.proposals]
    order = [*first, *(i for i in range(len(gold.answers)) if i not in reasons)][:GOLD_SHOWN]
    items = (_gold_row(sheet.place, i, gold, reasons.get(i), i == chosen) for i in order)
    more = len(gold.answers) - len(order)
    return tag(
        "fieldset",
        tag("legend", counted(len(gold.answers), "gold answer"), ": which one, if listed or a variant?"),
        *items,
        tag("p", f"{counted(more, 'more gold answer')} not shown", class_="hint") if more > 0 else None,
        class_="golds",
    )


def _chosen(sheet: Sheet, gold: Gold) -> int | None:
    if sheet.said and sheet.said.gold:
        known = (i for i, spellings in enumerate(gold.answers) if sheet.said.gold in spellings)
        return next(known, None)
    if gold.equal is not None:
        return gold.equal
    if gold.proposals:
        return gold.proposals[0][0]
    return 0 if len(gold.answers) == 1 else None


def _gold_row(place: int, i: int, gold: Gold, reason: str | None, chosen: bool) -> Markup:
    spellings = gold.answers[i]
    more = f" +{len(spellings) - 1}" if len(spellings) > 1 else None
    why = "equals the answer" if i == gold.equal else f"proposed: {reason}" if reason else None
    return tag(
        "label",
        tag("input", type="radio", data_group=f"gold-{place}", value=i, checked=chosen),
        tag("span", "★", class_="star", aria_hidden="true"),
        tag("bdi", escape(spellings[0], LONGEST_ANSWER)),
        tag("span", more, class_="more", title=" · ".join(spellings[1:6])[:LONGEST_MESSAGE])
        if more
        else None,
        tag("small", why) if why else None,
    )


def _evidence(sheet: Sheet) -> Markup:
    head = tag(
        "h2", "Evidence ", tag("span", str(len(sheet.passages)), class_="n") if sheet.passages else None
    )
    if not sheet.passages:
        if sheet.retrieved:
            text = (
                f"None of the {sheet.retrieved} passages of this question holds the answer. Judge it from "
                "what you know or can look up, and call the evidence insufficient."
            )
        else:
            text = (
                "No evidence: the run was imported without passages. Judge the answer from what you know or "
                "can look up; leave the evidence unsaid."
            )
        return tag("section", head, tag("p", text, class_="rtv-empty"), class_="evidence-part")
    names = (sheet.answer, *sheet.spellings)
    items = (_passage(number, shown, names) for number, shown in enumerate(sheet.passages, start=1))
    return tag("section", head, tag("ol", *items, class_="proofs"), class_="evidence-part")


def _passage(number: int, shown: Shown, names: Sequence[str]) -> Markup:
    rule = "official" if shown.covers and "strict" not in shown.covers else "strict"
    passage = shown.passage
    title, text = (
        [span for name in names for span in find_answer(words, name, rule)]
        for words in (passage.title[:LONGEST_ANSWER], passage.text[:LONGEST_PASSAGE])
    )
    badge = None
    if not shown.covers:
        badge = tag("span", "doesn't name it", class_="tag")
    return tag(
        "li",
        tag(
            "p",
            tag("span", str(number), class_="no"),
            tag("span", passage_title(passage, title), class_="title"),
            badge,
            class_="top",
        ),
        tag("p", passage_text(passage, text), class_="text"),
        data_passage=passage.id,
    )


def _addition() -> Markup:
    field = tag(
        "input",
        data_add_field=True,
        placeholder="An answer that nobody gave (a)",
        aria_label="An answer that nobody gave",
        maxlength=checks.LONGEST_ANSWER,
    )
    return tag(
        "form",
        tag("div", field, tag("button", "Add", type="submit"), class_="field"),
        tag(
            "p",
            "Type it, or select it in a passage: then passage and place are kept with it.",
            class_="where",
        ),
        class_="add",
        data_form="add",
    )
