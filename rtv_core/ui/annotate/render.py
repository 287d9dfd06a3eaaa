"""How the page looks: an item, what became of the last verdict, and the choice of queues."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.annotation.population import POPULATIONS
from rtv_core.annotation.queue import STRATEGIES, UNITS
from rtv_core.annotation.support import Support
from rtv_core.records import Judgement, QueuePlan
from rtv_core.store.queues import Progress, Queue
from rtv_core.store.validation import EVIDENCE_LABELS, LABELS
from rtv_core.text import find_answer
from rtv_core.ui import checks
from rtv_core.ui.annotate.choosing import Choice
from rtv_core.ui.annotate.sheet import VALID, Gold, Score, Sheet, Shown
from rtv_core.ui.markup import Markup, escape, join, spoken, tag
from rtv_core.ui.render.judging import EVIDENCE_WORDS, LABEL_WORDS
from rtv_core.ui.render.parts import (
    LONGEST_ANSWER,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    LONGEST_PASSAGE,
    counted,
    passage_text,
    passage_title,
)

__all__ = [
    "Reveal",
    "render_added",
    "render_choices",
    "render_failed",
    "render_feed",
    "render_finished",
    "render_head",
    "render_item",
    "render_name",
    "render_said",
    "render_undone",
]

LONGEST_QUESTION = 2000
SPELLINGS_SHOWN = 8
GOLD_SHOWN = 200
GOLD_NAMED = 8
RIGHT_WORD = "right"
"""What is said of a valid answer while it would give the gold away which kind it is."""

STRATEGY_WORDS = {
    "paper": "as in the paper: missed gold and wrong predictions alike",
    "uniform": "uniform: every answer as likely",
    "near tau": "near tau: scores close to the threshold",
    "expected value": "expected value: verdicts that may change F1 most",
    "disagreement": "disagreement: annotators or systems differ",
}
POPULATION_WORDS = {
    "errors": "errors: wrong predictions and missed gold",
    "candidates": "candidates: all that isn't known to be right",
    "all": "all answers",
}
UNIT_WORDS = {"candidate": "single answers", "question": "questions, with all their answers"}
EVALUATE = "python -m rtv_core evaluate --questions FILE --name NAME"
IMPORT = "python -m rtv_core runs import FILE --questions FILE --name NAME --system SYSTEM"


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


def render_feed(
    token: str,
    queue_id: str | None = None,
    *,
    failed: bool = False,
    head: Markup | None = None,
    said: Markup | None = None,
    item: Markup | None = None,
    ahead: Markup | None = None,
) -> Markup:
    """All that an action draws. A part that is None stays as it is on the page; an empty one is emptied."""
    parts = {"head": head, "said": said, "item": item, "ahead": ahead}
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
        id="rtv-desk-name",
        data_name_field=True,
        maxlength=checks.LONGEST_NAME,
        autocomplete="nickname",
        required=True,
    )
    return tag(
        "form",
        tag("h2", "Who is judging?"),
        tag("p", "Verdicts are kept by name, so that colleagues share a queue and never get the same item."),
        tag("label", "Your name", for_="rtv-desk-name"),
        tag("div", field, tag("button", "Go on", type="submit", class_="main"), class_="field"),
        class_="rtv-choose rtv-who",
        data_form="name",
    )


def render_head(queue: Queue, run: str, name: str, progress: Progress) -> Markup:
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
            tag("button", tag("bdi", escape(name, 30)), type="button", data_do="rename", title="judging as"),
            tag("button", "Guidelines ", tag("kbd", "g"), type="button", data_do="guide"),
            class_="tools",
        ),
        class_="rtv-desk-head",
        data_done=progress.done,
        data_queue=queue.id,
    )


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


# An item


def render_item(sheet: Sheet) -> Markup:
    """Question, answer, the buttons, and the evidence with the answer marked in it."""
    return tag(
        "article",
        tag("div", _asked(sheet), _verdicts(sheet), class_="left"),
        tag("div", _evidence(sheet), _addition(), class_="right"),
        class_="rtv-item",
        data_place=sheet.place,
        data_mode=sheet.mode,
        data_followed=int(sheet.followed),
        data_evidence=sheet.said.evidence if sheet.said else "",
        data_equal="" if sheet.gold is None or sheet.gold.equal is None else sheet.gold.equal,
        tabindex=-1,
        aria_label="The item to judge",
    )


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
        score = tag("p", *_score(sheet.score), class_="score-line")
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


def _score(score: Score) -> tuple[str | Markup, ...]:
    kept = "predicted" if score.predicted else "not predicted"
    if score.p_right is None:
        return f"{kept} · the run has no scores", ""
    tau = "" if score.tau is None else f" · tau {score.tau:.2f}"
    return "validity score ", tag("b", f"{score.p_right:.2f}"), f" · {kept}{tau}"


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
        buttons = (_label_button(label, said, off=none and label in LABELS[:2]) for label in LABELS)
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
        text = "Score and gold stay hidden until you have judged."
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


# What became of it


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
    return tag("span", " · ", *_score(reveal.score), " · ", *gold, class_="revealed")


def render_added(saved: Judgement, support: Support | None, clock: str, place: int) -> Markup:
    """Says that an answer was added, and where it stands."""
    where = ", without a passage"
    if support is not None:
        where = f", supported by “{support.words[:60]}” in a passage"
    return _line(
        tag("span", "✓ ", class_="sign", aria_hidden="true"),
        tag("span", f"Added {clock}", class_="when"),
        " · ",
        tag("bdi", escape(saved.answer, LONGEST_NAME), class_="what"),
        escape(where),
        tag(
            "span",
            tag("button", "Undo ", tag("kbd", "z"), type="button", data_do="unadd", data_place=place),
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


# Choosing


def render_choices(choices: Sequence[Choice], name: str) -> Markup:
    """The runs with their queues, and the form that draws a new one."""
    who = tag(
        "p", "Judging as ", tag("button", tag("bdi", escape(name, 30)), type="button", data_do="rename")
    )
    if not choices:
        return tag("div", who, _no_runs(), class_="rtv-choose")
    lead = "One answer at a time, with its evidence. Choose a queue, or draw one below."
    if not any(choice.queues for choice in choices):
        lead = "Answers to judge are drawn from a run into a queue. Draw the first one."
    runs = (_run(choice) for choice in choices)
    return tag(
        "div", who, tag("h2", "What to judge"), tag("p", lead), *runs, _form(choices), class_="rtv-choose"
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
    queues = [_queue(queue) for queue in choice.queues]
    text = "No queue yet. Draw 50 as in the paper, and begin"
    none = tag("p", tag("button", text, type="button", data_do="quick", data_run=run.id))
    return tag(
        "section",
        tag("h3", tag("bdi", escape(run.name, LONGEST_NAME)), tag("span", facts, class_="facts")),
        tag("ul", *queues) if queues else none,
        class_="run",
    )


def _queue(queue: Queue) -> Markup:
    plan = queue.plan
    overlap = f" · {plan.overlap} annotators each" if plan.overlap > 1 else ""
    facts = f"{counted(queue.items, 'item')} · {'blind' if plan.blind else 'open'}{overlap}"
    return tag(
        "li",
        tag(
            "button",
            tag("bdi", escape(queue.name, LONGEST_NAME)),
            tag("small", facts),
            type="button",
            data_do="open",
            data_queue=queue.id,
        ),
    )


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
