"""What the page can ask for, by name: each action changes at most one thing and returns what to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rtv_core.annotation.support import find_support, passages_of, support_at
from rtv_core.errors import InputError, RtvError
from rtv_core.records import Judgement, Support, Trace
from rtv_core.store.database import one_connection
from rtv_core.store.events import ADDED
from rtv_core.store.queues import Queue
from rtv_core.store.validation import EVIDENCE_LABELS, LABELS, checked_name
from rtv_core.text import answer_key, same_answer
from rtv_core.ui import checks
from rtv_core.ui.annotate.choosing import draw_queue, read_choices
from rtv_core.ui.annotate.render import (
    Reveal,
    render_added,
    render_additions,
    render_choices,
    render_failed,
    render_feed,
    render_finished,
    render_head,
    render_item,
    render_name,
    render_said,
    render_undone,
)
from rtv_core.ui.annotate.sheet import VALID, Facts, Sheet, read_sheet
from rtv_core.ui.markup import Markup
from rtv_core.ui.session import clock
from rtv_core.ui.workbench import Workbench

__all__ = ["answer"]

Event = Mapping[str, Any]
LONGEST_ID = 80
EMPTY = Markup("")
RIGHT = "right"
"""What is said of an answer while the gold is hidden: which of the valid labels it gets is asked later."""


@dataclass(frozen=True, slots=True)
class Desk:
    """An annotator in front of a queue. Who is `signed` in can't take another name."""

    workbench: Workbench
    name: str
    queue: Queue
    signed: bool

    @property
    def run(self) -> str:
        return self.workbench.runs.run(self.queue.run_id).name


def answer(workbench: Workbench, annotator: object, event: object) -> Markup:
    """Do what an event asks for in the annotator's name. A refusal is drawn and changes nothing else."""
    event = checks.read_event(event)
    token = _token(event)
    try:
        action = ACTIONS.get(str(event.get("action")))
        if action is None:
            raise InputError(
                f"The page asks for {str(event.get('action'))[:40]!r}, which is unknown. Reload it."
            )
        with one_connection(workbench.store.path):
            return action(workbench, annotator, event)
    except RtvError as error:
        return render_feed(token, failed=True, said=render_failed(str(error)))


def open_page(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """The annotator's next item in the queue that a link names; without one, what can be chosen.

    With a `place`, that item instead, if the annotator has judged it.
    """
    if not (isinstance(annotator, str) and annotator.strip()):
        queue = event.get("queue")
        opened = queue[:LONGEST_ID] if isinstance(queue, str) and queue else None
        return render_feed(_token(event), opened, head=render_name(), said=EMPTY, item=EMPTY, ahead=EMPTY)
    name = checked_name(annotator)
    if not event.get("queue"):
        return _choices(workbench, name, event)
    try:
        desk = _desk(workbench, name, event)
    except RtvError as error:
        return _choices(workbench, name, event, str(error))
    if event.get("place") is None:
        return _advance(desk, _token(event), said=EMPTY)
    place = _place(desk, event)
    if not workbench.queues.standing(desk.queue.id, place, name).judged:
        raise InputError("You have not judged this item yet; it comes in its turn.")
    return _show(desk, _token(event), place)


def save_verdict(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """Save a verdict on an item; then the next item, or the same one with its gold to place it."""
    desk, token = _desk(workbench, annotator, event), _needed_token(event)
    facts = read_sheet(workbench, desk.queue, _place(desk, event), desk.name)
    saved = workbench.store.saved_as(desk.name, token)
    if saved is None:
        if not (facts.standing.judged or facts.standing.is_open):
            raise InputError(
                "Another annotator has this item now, for it was left for half an hour or released by an "
                "admin. Skip it (s)."
            )
        judgement = _judgement(facts, desk.name, event)
        saved = workbench.store.judge(judgement, token, unseen=facts.sheet.mode == "blind")
    return _advance(desk, token, saved, facts)


def step_back(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """Take back the annotator's last verdict in the queue, and show its item.

    Answers that were added count among the verdicts; of such a one the item in front stays.
    """
    desk = _desk(workbench, annotator, event)
    step = workbench.queues.undo(desk.queue.id, desk.name)
    if step is None:
        return render_feed(_token(event), said=render_undone("There is no verdict of yours to take back."))
    text = f"Taken back {clock()}: {step.answer[:60]}."
    if step.added:
        said = render_undone(f"{text} It is no added answer any more.", redo=True)
        return _advance(desk, _token(event), said=said)
    text += " Judge it again, or bring the verdict back."
    return _show(desk, _token(event), step.item.place, render_undone(text, redo=True))


def step_forward(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """Restore the verdict that was taken back last."""
    desk = _desk(workbench, annotator, event)
    step = workbench.queues.redo(desk.queue.id, desk.name)
    if step is None:
        return render_feed(_token(event), said=render_undone("There is nothing to bring back."))
    return _advance(desk, _token(event), said=render_undone(f"Brought back: {step.answer[:60]}", undo=True))


def skip(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """Put an item off to the end of the queue; others may take it meanwhile."""
    desk = _desk(workbench, annotator, event)
    place = _place(desk, event)
    if not workbench.queues.standing(desk.queue.id, place, desk.name).judged:
        workbench.queues.skip(desk.queue.id, place, desk.name)
    return _advance(desk, _token(event), said=render_undone("Skipped: it comes back at the end."))


def add_answer(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """Save an answer that nobody gave as right, with the passage and span that support it."""
    desk, token = _desk(workbench, annotator, event), _needed_token(event)
    facts = read_sheet(workbench, desk.queue, _place(desk, event), desk.name)
    text = checks.read_text(event.get("answer"), "answer", checks.LONGEST_ANSWER)
    if not any(c.isalnum() for c in text):
        raise InputError("The answer is empty. Type it, or select it in a passage.")
    if _key(text) == _key(facts.sheet.answer):
        raise InputError("That is the answer in front of you: judge it with 1 to 5.")
    support = _support(facts.trace, text, event)
    said_as = f"{ADDED}{token}"
    if (saved := workbench.store.saved_as(desk.name, said_as)) is None:
        addition = _addition(facts, desk.name, text, support, event)
        saved = workbench.store.judge(addition, said_as, unseen=facts.sheet.mode == "blind")
    sheet = read_sheet(workbench, desk.queue, facts.sheet.place, desk.name).sheet
    said = render_added(saved, clock(saved.at))
    return render_feed(token, head=_head(desk), said=said, added=render_additions(sheet))


def draw(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """Draw a queue as the form says, and open it."""
    name = checked_name(annotator if isinstance(annotator, str) else "")
    try:
        queue_id = draw_queue(workbench, event)
    except RtvError as error:
        return render_feed(_token(event), failed=True, said=render_failed(str(error), "Not drawn."))
    desk = Desk(workbench, name, workbench.queues.queue(queue_id), event.get("signed") is True)
    return _advance(desk, _token(event), said=EMPTY)


def leave(workbench: Workbench, annotator: object, event: Event) -> Markup:
    """Back to the choice of queues; what the annotator held goes to others."""
    desk = _desk(workbench, annotator, event)
    for claim in workbench.queues.claims(desk.queue.id):
        if claim.annotator == desk.name:
            workbench.queues.release(desk.queue.id, claim.place, desk.name)
    return _choices(workbench, desk.name, event)


ACTIONS: Mapping[str, Callable[[Workbench, object, Event], Markup]] = {
    "open": open_page,
    "judge": save_verdict,
    "undo": step_back,
    "redo": step_forward,
    "skip": skip,
    "add": add_answer,
    "draw": draw,
    "leave": leave,
}


def _choices(workbench: Workbench, name: str, event: Event, problem: str = "") -> Markup:
    said = render_failed(problem, "Not opened.") if problem else EMPTY
    body = render_choices(read_choices(workbench, name), name, event.get("signed") is True)
    return render_feed(_token(event), head=body, said=said, item=EMPTY, ahead=EMPTY)


def _advance(
    desk: Desk,
    token: str,
    saved: Judgement | None = None,
    facts: Facts | None = None,
    said: Markup | None = None,
) -> Markup:
    """What comes next: an item to place among its gold, else the next one to judge, else the end."""
    queues, queue = desk.workbench.queues, desk.queue
    unplaced = queues.unplaced(queue.id, desk.name)
    item = unplaced[0] if unplaced else queues.next(queue.id, desk.name)
    if saved is not None and facts is not None:
        placing = bool(unplaced) and unplaced[0].place == facts.sheet.place
        said = render_said(saved, clock(saved.at), facts.sheet.place, _reveal(desk, facts, placing))
    if item is None:
        progress = queues.progress(queue.id, desk.name)
        return render_feed(
            token, queue.id, head=_head(desk), said=said, item=render_finished(progress), ahead=EMPTY
        )
    return _show(desk, token, item.place, said)


def _show(desk: Desk, token: str, place: int, said: Markup | None = None) -> Markup:
    """An item, and hidden behind it the one after."""
    facts = read_sheet(desk.workbench, desk.queue, place, desk.name)
    after = desk.workbench.queues.ahead(desk.queue.id, place, desk.name)
    ahead = EMPTY
    if after is not None:
        ahead = render_item(read_sheet(desk.workbench, desk.queue, after.place, desk.name).sheet)
    return render_feed(
        token, desk.queue.id, head=_head(desk), said=said, item=render_item(facts.sheet), ahead=ahead
    )


def _head(desk: Desk) -> Markup:
    progress = desk.workbench.queues.progress(desk.queue.id, desk.name)
    return render_head(desk.queue, desk.run, desk.name, progress, desk.signed)


def _reveal(desk: Desk, facts: Facts, placing: bool) -> Reveal:
    """What may be said of an item that was just judged."""
    if placing or not facts.may_show_all:
        left = 0 if placing else len(facts.standing.others)
        return Reveal(None, None, placing, left)
    if facts.sheet.mode == "blind":  # of any other sheet it was logged when that was read
        desk.workbench.queues.show(desk.queue.id, facts.sheet.place, desk.name)
    return Reveal(facts.score, facts.gold, False, 0)


def _judgement(facts: Facts, name: str, event: Event) -> Judgement:
    sheet = facts.sheet
    label = checks.read_choice(event.get("label"), "verdict", (*LABELS, RIGHT))
    evidence = event.get("evidence") or ""
    if evidence:
        evidence = checks.read_choice(evidence, "evidence verdict", EVIDENCE_LABELS)
    label, gold = _placed(facts, label, event.get("gold"))
    return Judgement(
        trace_id=facts.standing.item.trace_id,
        question=sheet.question,
        answer=sheet.answer,
        label=label,
        annotator=name,
        evidence=evidence or (sheet.said.evidence if sheet.said else ""),
        gold=gold,
        note=checks.read_text(event.get("note"), "note", checks.LONGEST_NOTE),
        recalled=any(sheet.answer in (c.answer, *c.spellings) for c in facts.trace.candidates),
        blind=_stays_blind(sheet, label),
        p_right=facts.score.p_right,
        tau=facts.score.tau,
    )


def _stays_blind(sheet: Sheet, label: str) -> bool:
    """Whether gold and score had no part in what is said: they may in another kind, not in right or wrong."""
    if sheet.mode != "open":
        return sheet.mode == "blind" or label in VALID
    before = sheet.said
    if before is None or not before.blind:
        return False
    return label == before.label or (label in VALID and before.label in VALID)


def _placed(facts: Facts, label: str, chosen: object) -> tuple[str, str]:
    """The label as it is saved, and the gold answer that it names, "" for none."""
    known = facts.gold.answers
    if facts.sheet.mode == "blind":
        if label in VALID:
            raise InputError(
                "The gold is hidden again: a colleague let an item of this question go. Say whether the "
                "answer is right, invalid or unsure; which gold answer it is will be asked later."
            )
        if label != RIGHT:
            return label, ""
        equal = facts.gold.equal
        return ("unlisted", "") if equal is None else ("listed", known[equal][0])
    if label == RIGHT:
        raise InputError("Is it listed, a variant, or unlisted? The gold is shown now.")
    if label not in ("listed", "variant"):
        return label, ""
    if not known:
        raise InputError(f"No gold is known for this question, so no answer can be {label}.")
    if chosen is None or chosen == "":
        raise InputError(f"Which gold answer is it? Choose it, then it is saved as {label}.")
    return label, known[checks.read_index(chosen, "gold answer", len(known))][0]


def _addition(facts: Facts, name: str, text: str, support: Support | None, event: Event) -> Judgement:
    gold = next((g[0] for g in facts.gold.answers if any(same_answer(text, s) for s in g)), "")
    return Judgement(
        trace_id=facts.standing.item.trace_id,
        question=facts.sheet.question,
        answer=text,
        label="listed" if gold else "unlisted",
        annotator=name,
        evidence="supports" if support else "",
        gold=gold,
        note=checks.read_text(event.get("note"), "note", checks.LONGEST_NOTE),
        support=support,
        recalled=False,
        blind=facts.sheet.mode == "blind",
        tau=facts.score.tau,
    )


def _support(trace: Trace, text: str, event: Event) -> Support | None:
    """The place that the event names, else the first in the passages that holds the answer."""
    passages = passages_of(trace)
    wanted = event.get("passage")
    if wanted is None or wanted == "":
        return find_support(passages.values(), text)
    if not isinstance(wanted, str) or wanted not in passages:
        raise InputError(f"There is no passage {str(wanted)[:40]!r} here. Select the words again.")
    start, end = event.get("start"), event.get("end")
    whole = type(start) is int and type(end) is int
    if not whole or not 0 <= start < end <= len(passages[wanted].text):
        raise InputError("The selected words are not in the passage. Select them again.")
    return support_at(passages[wanted], start, end)


def _desk(workbench: Workbench, annotator: object, event: Event) -> Desk:
    name = checked_name(annotator if isinstance(annotator, str) else "")
    queue = event.get("queue")
    found = workbench.queues.queue(queue if isinstance(queue, str) else "")
    return Desk(workbench, name, found, event.get("signed") is True)


def _place(desk: Desk, event: Event) -> int:
    place = event.get("place")
    if type(place) is not int or not 1 <= place <= desk.queue.items:
        raise InputError(f"There is no item {str(place)[:40]!r} in the queue. Reload the page.")
    return place


def _token(event: Event) -> str:
    token = event.get("token")
    return token if isinstance(token, str) and len(token) <= checks.LONGEST_NAME else ""


def _needed_token(event: Event) -> str:
    if not (token := _token(event)):
        raise InputError("The request carries no token. Reload the page and judge again.")
    return token


def _key(answer_text: str) -> str:
    return answer_key(answer_text) or answer_text
