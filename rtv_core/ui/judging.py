"""Handlers for choosing and judging: one verdict, one write, and what the page says of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import gradio as gr

from rtv_core.errors import InputError, RtvError
from rtv_core.records import EVIDENCE_SIZES, Judgement, Trace
from rtv_core.settings import VerifierSettings
from rtv_core.store.validation import EVIDENCE_LABELS, LABELS
from rtv_core.ui import checks, render
from rtv_core.ui.marks import Row, covering, gold_answers, proposed_gold
from rtv_core.ui.opinion import opinions_of
from rtv_core.ui.session import Session, clock, draw_candidates, find_row, read_knobs, said_of, verdicts_of
from rtv_core.ui.workbench import Workbench

__all__ = ["Chosen", "Judged", "save_judgement", "show_candidate", "show_verdicts", "take_back"]

DRAFTS = 200
SKIP = gr.skip()


class Chosen(NamedTuple):
    """What choosing a candidate changes on the page."""

    evidence: Any = SKIP
    judge: Any = SKIP
    note: Any = SKIP
    drafts: Any = SKIP


class Judged(NamedTuple):
    """What a verdict changes on the page."""

    saved: Any = SKIP
    judge: Any = SKIP
    candidates: Any = SKIP
    note: Any = SKIP
    drafts: Any = SKIP
    session: Any = SKIP


def show_candidate(
    workbench: Workbench,
    session: Session | None,
    tau: object,
    k: object,
    single: object,
    annotator: object,
    note: object,
    drafts: Mapping[str, str] | None,
    event: object,
) -> Chosen:
    """The evidence of the candidate that an event names, and its verdict.

    A note typed for the candidate `before` but not saved is kept in `drafts` and comes back with it.
    """
    event = checks.read_event(event)
    try:
        if session is None:
            raise InputError("There is no candidate yet. Ask a question first.")
        knobs = read_knobs(tau, k, single)
        said = said_of(workbench, session, annotator)
        row = find_row(session, said, event)
        drafts = _with_draft(drafts, event.get("before"), checks.read_text(note, "note", checks.LONGEST_NOTE))
    except RtvError as error:
        return Chosen(evidence=render.render_message(str(error), "error"))
    evidence = _evidence(workbench, session, row, knobs, event.get("typed") or "")
    if session.frozen:
        return Chosen(evidence=evidence)
    return Chosen(
        evidence=evidence,
        judge=render.render_judge(session.trace.question, row),
        note=drafts.get(row.key, row.judgement.note if row.judgement else ""),
        drafts=drafts,
    )


def save_judgement(
    workbench: Workbench,
    session: Session | None,
    tau: object,
    k: object,
    single: object,
    annotator: object,
    note: object,
    drafts: Mapping[str, str] | None,
    event: object,
) -> Judged:
    """Save the verdict that an event names. A refusal or failure is shown and leaves every field as it is.

    With `unseen` in the event the note is that of another candidate: the judged one was not drawn yet.
    """
    event = checks.read_event(event)
    token = event.get("token")
    token = token if isinstance(token, str) and 0 < len(token) <= checks.LONGEST_NAME else ""
    try:
        if session is None:
            raise InputError("There is nothing to judge yet. Ask a question first.")
        _check_open(session)
        if not token:
            raise InputError("The request carries no token. Reload the page and judge again.")
        knobs = read_knobs(tau, k, single)
        name = checks.read_name(annotator)
        row = find_row(session, verdicts_of(workbench, session.trace, name), event)
        if event.get("unseen"):
            note, event = _kept(session.trace, row, drafts, event)
        judgement = _judgement(session.trace, row, knobs, name, note, event)
        trace_id = session.trace_id or workbench.store.save_trace(session.trace)
        saved = workbench.store.judge(replace(judgement, trace_id=trace_id), token)
        said = verdicts_of(workbench, session.trace, name)
    except RtvError as error:
        return Judged(saved=render.render_failure(str(error), token))
    row = replace(row, judgement=saved)
    return Judged(
        saved=render.render_saved(saved, clock(saved.at), token),
        judge=render.render_judge(session.trace.question, row),
        candidates=draw_candidates(session, said, knobs),
        note=saved.note,
        drafts={key: drafts[key] for key in drafts if key != row.key} if row.key in (drafts or ()) else SKIP,
        session=replace(session, trace_id=trace_id),
    )


def take_back(
    workbench: Workbench,
    session: Session | None,
    tau: object,
    k: object,
    single: object,
    annotator: object,
    again: bool,
    event: object,
) -> Judged:
    """Undo the annotator's last verdict on this trace or (`again`) restore what was undone last."""
    try:
        if session is None or not session.trace_id:
            raise InputError("There is no verdict on this page yet.")
        _check_open(session)
        knobs = read_knobs(tau, k, single)
        name = checks.read_name(annotator)
        step = workbench.store.redo if again else workbench.store.undo
        changed = step(session.trace_id, name)
    except RtvError as error:
        return Judged(saved=render.render_failure(str(error)))
    if changed is None:
        return Judged(saved=render.render_undone(f"Nothing to {'redo' if again else 'undo'}.", again=False))
    text = f"{'Restored' if again else 'Taken back'} {clock()} · {changed.label}: {changed.answer[:60]}"
    shown = _verdicts(workbench, session, knobs, name, event)
    return shown._replace(saved=render.render_undone(text, again=not again))


def show_verdicts(
    workbench: Workbench,
    session: Session | None,
    tau: object,
    k: object,
    single: object,
    annotator: object,
    event: object,
) -> Judged:
    """The verdicts of the annotator now named; nothing where no verdict is shown."""
    if session is None or session.frozen:
        return Judged()
    try:
        knobs = read_knobs(tau, k, single)
    except RtvError as error:
        return Judged(saved=render.render_failure(str(error)))
    return _verdicts(workbench, session, knobs, annotator, event)


def _check_open(session: Session) -> None:
    if session.frozen:
        raise InputError("This is a presentation: nothing is judged here. Leave it to judge.")


def _verdicts(
    workbench: Workbench, session: Session, knobs: VerifierSettings, annotator: object, event: object
) -> Judged:
    event = checks.read_event(event)
    try:
        said = verdicts_of(workbench, session.trace, annotator)
        row = find_row(session, said, event) if event.get("key") or event.get("typed") else None
    except RtvError as error:
        return Judged(saved=render.render_failure(str(error)))
    return Judged(
        saved=render.render_unsaid(),
        judge=render.render_judge(session.trace.question, row),
        candidates=draw_candidates(session, said, knobs),
    )


def _evidence(workbench: Workbench, session: Session, row: Row, knobs: VerifierSettings, typed: str) -> str:
    trace, opinions = session.trace, opinions_of(workbench, session.trace, session.beside, row)
    if row.index is not None:
        return render.render_evidence(trace, row, knobs, typed, opinions)
    found = covering(trace.hits, (row.answer, *row.spellings))
    return render.render_mentions(row, found, trace.hits, typed, opinions)


def _judgement(
    trace: Trace,
    row: Row,
    knobs: VerifierSettings,
    name: str,
    note: object,
    event: Mapping[str, Any],
) -> Judgement:
    label = checks.read_choice(event.get("label"), "verdict", LABELS)
    evidence = event.get("evidence") or ""
    if evidence:
        evidence = checks.read_choice(evidence, "evidence verdict", EVIDENCE_LABELS)
    return Judgement(
        trace_id="",
        question=trace.question.text,
        answer=row.answer,
        label=label,
        annotator=name,
        evidence=evidence,
        gold=_gold(trace, label, event.get("gold")),
        note=checks.read_text(note, "note", checks.LONGEST_NOTE),
        recalled=row.index is not None,
        p_right=row.p_right[EVIDENCE_SIZES.index(knobs.k)] if row.p_right else None,
        tau=knobs.tau,
        k=knobs.k,
    )


def _kept(
    trace: Trace, row: Row, drafts: Mapping[str, str] | None, event: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """The note that was kept for a candidate, and the event with what its bar would have had chosen."""
    before = row.judgement
    note = (drafts or {}).get(row.key, before.note if before else "")
    evidence = event.get("evidence") or (before.evidence if before else "")
    return note, {**event, "evidence": evidence, "gold": proposed_gold(gold_answers(trace.question), row)}


def _gold(trace: Trace, label: str, chosen: object) -> str:
    """The gold answer that a listed answer or a variant equals; "" for the other verdicts."""
    if label not in ("listed", "variant"):
        return ""
    known = gold_answers(trace.question)
    if not known:
        raise InputError(f"No gold is known for this question, so no answer can be {label}.")
    if chosen is None or chosen == "":
        raise InputError(f"Which gold answer is it? Choose it, then it is saved as {label}.")
    return known[checks.read_index(chosen, "gold answer", len(known))][0]


def _with_draft(drafts: Mapping[str, str] | None, key: object, note: str) -> dict[str, str]:
    """The drafts with one more, the newest `DRAFTS` of them."""
    kept = dict(drafts or {})
    if isinstance(key, str) and 0 < len(key) <= checks.LONGEST_NAME:
        kept.pop(key, None)
        kept[key] = note
    return dict(list(kept.items())[-DRAFTS:])
