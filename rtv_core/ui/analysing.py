"""Handlers of the Analyse page: each draws one part for the view that an event describes."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from rtv_core.analysis.filters import Condition, read_conditions
from rtv_core.annotation.agreement import Disagreement
from rtv_core.errors import InputError, MissingError, RtvError
from rtv_core.records import Judgement, RunQuestion
from rtv_core.store.filters import FilterStore
from rtv_core.store.validation import EVIDENCE_LABELS, LABELS
from rtv_core.ui import checks, render
from rtv_core.ui.analysis.behind import (
    figure_name,
    is_lost,
    matching,
    questions_behind,
    tells_verdicts,
)
from rtv_core.ui.analysis.controls import render_controls
from rtv_core.ui.analysis.curves import render_curves
from rtv_core.ui.analysis.figures import render_figures
from rtv_core.ui.analysis.filtering import render_filter
from rtv_core.ui.analysis.listed import PAGE, Listing, render_list
from rtv_core.ui.analysis.people import CLOSED, NEEDS_GOLD, question_of, render_people, render_settled
from rtv_core.ui.analysis.sheets import PRIVATE, csv_text, question_rows, sheet
from rtv_core.ui.analysis.sliced import render_slices
from rtv_core.ui.analysis.state import NO_RUNS, Analyses, Analysis
from rtv_core.ui.analysis.tables import drawn
from rtv_core.ui.analysis.view import ANSWERS, View, read_view
from rtv_core.ui.appendix.page import render_appendix
from rtv_core.ui.marks import gold_answers
from rtv_core.ui.markup import Markup, tag
from rtv_core.ui.session import signed_name
from rtv_core.ui.workbench import Workbench

__all__ = [
    "make_file",
    "may_see_verdicts",
    "save_adjudication",
    "show_controls",
    "show_curves",
    "show_figures",
    "show_filter",
    "show_people",
    "show_questions",
    "show_slices",
    "take_back_adjudication",
]

UNEXPECTED = "Something failed that should not have; the server's log says what. Choose the run again."
NOTHING_MEETS = "No question of the run meets the filter. Remove a condition at the top of the page."
LONGEST_FILE = 80
LONGEST_DEED = 300
DEEDS = ("add", "remove", "clear", "save", "apply", "delete", "undo")
"""What can be done with the filter."""

REPORT = "report"
"""The file that is the whole analysis with examples of verdicts, for a paper's appendix."""

log = logging.getLogger(__name__)


def may_see_verdicts(request: gr.Request | None) -> bool:
    """Whether single verdicts of others may be seen: not where people sign in, so that all judge blind."""
    return not signed_name(request)


def show_controls(workbench: Workbench, analyses: Analyses, event: object) -> Markup:
    """The choice of runs and of what counts."""

    def draw(view: View) -> Markup:
        runs = workbench.runs.runs()
        if not runs:
            return drawn(view.turn, render.render_message(NO_RUNS))
        try:
            chosen = analyses.run(view)
        except MissingError:
            chosen = None
        annotators = sorted({judgement.annotator for judgement in workbench.store.current()})
        return render_controls(view, runs, chosen, annotators)

    return _drawn(event, draw)


def show_figures(analyses: Analyses, event: object, open_verdicts: bool) -> Markup:
    """The headline, scores, table 6 and the stages."""
    return _drawn(
        event,
        lambda view: render_figures(_some(analyses.of(view, open_verdicts)), view.turn, open_verdicts),
    )


def show_curves(analyses: Analyses, event: object, open_verdicts: bool = False) -> Markup:
    """The plots of scores."""
    return _drawn(event, lambda view: render_curves(_some(analyses.of(view, open_verdicts)), view.turn))


def show_slices(
    workbench: Workbench, analyses: Analyses, event: object, open_verdicts: bool = False, signed: str = ""
) -> Markup:
    """F1 by kind of question, and by the filters that whoever is `signed` in saved."""

    def draw(view: View) -> Markup:
        saved = FilterStore(workbench.store.path).filters(signed)
        return render_slices(_some(analyses.of(view, open_verdicts)), view.slices, saved, view.turn)

    return _drawn(event, draw)


def show_filter(workbench: Workbench, analyses: Analyses, event: object, signed: str = "") -> Markup:
    """The filter bar, after what the event asks for: its `do` is one of `DEEDS`, with a `value`.

    The filters are those of whoever is `signed` in, or everybody's where nobody signs in.
    """
    event = checks.read_event(event)
    said, bad, undo = "", False, ""
    try:
        read_view(event)
    except RtvError as error:
        said, bad, event = str(error), True, {**event, "where": None, "do": None}

    def draw(view: View) -> Markup:
        nonlocal said, bad, undo
        store, where = FilterStore(workbench.store.path), view.where
        try:
            where, done, undo = _done(store, view, event, signed)
            said = said or done
        except (InputError, MissingError) as error:
            said, bad = str(error), True
        found = ""
        if where:
            analysis = analyses.of(replace(view, where=where))
            found = f"{len(analysis.questions):,} of {analysis.run.questions:,} questions"
        return render_filter(where, store.filters(signed), found, view.turn, said, bad, undo)

    return _drawn(event, draw)


def show_people(analyses: Analyses, event: object, open_verdicts: bool, signed: str = "") -> Markup:
    """Agreement, disagreements, missing answers, the other run. `signed` is who is signed in."""

    def draw(view: View) -> Markup:
        look = analyses.look(view, open_verdicts)
        _some(look.analysis)
        return render_people(look, view, open_verdicts, signed)

    return _drawn(event, draw)


def show_questions(workbench: Workbench, analyses: Analyses, event: object, open_verdicts: bool) -> Markup:
    """A page of the questions behind a figure that match a search."""

    def draw(view: View) -> Markup:
        run = analyses.run(view)
        questions, total = _page(workbench, analyses, replace(view, run=run.id), open_verdicts)
        name = figure_name(view.behind) if view.behind else ""
        rulings = analyses.of(view, True).rulings if open_verdicts and view.behind else None
        return render_list(Listing(run, questions, total, name, rulings), view)

    return _drawn(event, draw)


def save_adjudication(
    workbench: Workbench, analyses: Analyses, event: object, open_verdicts: bool, signed: str = ""
) -> Markup:
    """Save the adjudicator's verdict on an answer; those of the annotators stay as they are.

    The adjudicator is whoever is `signed` in, else the name in the event.
    """
    event = checks.read_event(event)
    try:
        if not open_verdicts:
            raise InputError(CLOSED)
        view, name, token = read_view(event), _adjudicator(event, signed), _token(event)
        analysis = analyses.of(view, open_verdicts)
        found = next(
            (
                d
                for d in analysis.disagreements
                if (d.item.trace_id, d.item.answer) == (event.get("trace"), event.get("answer"))
            ),
            None,
        )
        if found is None:
            raise InputError("This disagreement is not there any more. Reload the page.")
        if name in {judgement.annotator for judgement in found.judgements}:
            other = "Let another admin settle it." if signed else f"Type another name, say “{name} 2”."
            raise InputError(
                f"{name} has judged this answer as an annotator; that verdict would be replaced. {other}"
            )
        question = question_of(analysis, found.item.trace_id, found.item.question)
        saved = workbench.store.judge(_verdict(found, name, question, event), token)
    except RtvError as error:
        return render_settled(f"Not saved. {error}", saved=False)
    text = f"Saved: {saved.label}, by {saved.annotator}: {saved.answer[:80]}"
    return render_settled(text, saved=True, trace_id=saved.trace_id)


def take_back_adjudication(
    workbench: Workbench, event: object, open_verdicts: bool, signed: str = ""
) -> Markup:
    """Take back the adjudicator's last verdict on a trace."""
    event = checks.read_event(event)
    try:
        if not open_verdicts:
            raise InputError(CLOSED)
        trace_id = checks.read_text(event.get("trace"), "trace", checks.LONGEST_NAME)
        undone = workbench.store.undo(trace_id, _adjudicator(event, signed))
    except RtvError as error:
        return render_settled(str(error), saved=False)
    if undone is None:
        return render_settled("There is nothing to take back.", saved=False)
    text = f"Taken back: {undone.label}: {undone.answer[:80]}"
    return render_settled(text, saved=True, again=False)


def make_file(
    workbench: Workbench, analyses: Analyses, event: object, open_verdicts: bool, signed: str = ""
) -> Markup:
    """A file for the browser to save: its name, type and content (base64) in an element's data."""

    def draw(view: View) -> Markup:
        name = checks.read_text(checks.read_event(event).get("file"), "table", LONGEST_FILE)
        if name in (*PRIVATE, REPORT) and not open_verdicts:
            raise InputError(CLOSED)
        run = analyses.run(view)
        if name == REPORT:
            report = render_appendix(analyses.look(view, open_verdicts), workbench.store.load_trace, {})
            return _file(f"{run.name} {name}.html", "text/html", report, view.turn)
        if name == "questions":
            whole = replace(view, run=run.id, offset=0)
            rows = question_rows(_page(workbench, analyses, whole, open_verdicts, most=run.questions)[0])
        else:
            saved = FilterStore(workbench.store.path).filters(signed)
            rows = sheet(name, analyses.look(view, open_verdicts, saved))
        return _file(f"{run.name} {name}.csv", "text/csv", csv_text(rows), view.turn)

    return _drawn(event, draw)


def _page(
    workbench: Workbench, analyses: Analyses, view: View, open_verdicts: bool, most: int = PAGE
) -> tuple[list[RunQuestion], int]:
    """The questions of a list from `offset` on, and how many there are in all."""
    predicted = ANSWERS[view.answers]
    lost = is_lost(view.behind)
    if not view.where and (not view.behind or lost):
        wanted = view.run, view.text, lost, predicted
        return workbench.runs.filter(*wanted, most, view.offset), workbench.runs.count(*wanted)
    if tells_verdicts(view.behind) and not open_verdicts:
        raise InputError(CLOSED)
    analysis, behind = analyses.of(view, open_verdicts), []
    if view.behind:
        behind = questions_behind(analysis, analyses.pair(view, open_verdicts), view.behind)
    found = matching(behind if view.behind else analysis.questions, view.text, predicted)
    return found[view.offset : view.offset + most], len(found)


def _some(analysis: Analysis) -> Analysis:
    """The analysis itself. Raises InputError where no question meets its filter."""
    if analysis.where and not analysis.questions:
        raise InputError(NOTHING_MEETS)
    return analysis


def _done(
    store: FilterStore, view: View, event: Mapping[str, Any], signed: str
) -> tuple[tuple[Condition, ...], str, str]:
    """The conditions after what the event asks for, what to say of it, and which filter can come back."""
    deed = checks.read_choice(event.get("do") or "", "request", ("", *DEEDS))
    where, value = view.where, event.get("value")
    if deed == "remove":
        place = checks.read_index(value, "condition", len(where))
        return where[:place] + where[place + 1 :], "", ""
    if deed in ("", "clear"):
        return () if deed else where, "", ""
    text = checks.read_text(value, "request", LONGEST_DEED)
    if deed == "add":
        return read_conditions([*map(str, where), text]), "", ""
    if deed == "save":
        saved = store.save(signed, text, [str(condition) for condition in where])
        return where, f"Saved: {saved.name}", ""
    if deed == "delete":
        store.delete(signed, text)
        return where, f"Deleted: {text}", text
    if deed == "undo":
        return where, f"Brought back: {store.restore(signed, text).name}", ""
    saved = next((own for own in store.filters(signed) if own.name == text), None)
    if saved is None:
        raise MissingError(f"There is no filter {text[:80]!r} any more. Reload the page.")
    return read_conditions(saved.conditions), "", ""


def _verdict(
    found: Disagreement, name: str, question: RunQuestion | None, event: Mapping[str, Any]
) -> Judgement:
    label = checks.read_choice(event.get("label"), "verdict", LABELS)
    evidence = event.get("evidence") or ""
    if evidence:
        evidence = checks.read_choice(evidence, "evidence verdict", EVIDENCE_LABELS)
    gold = ""
    if label in NEEDS_GOLD:
        known = gold_answers(question.question) if question else ()
        if event.get("gold") is None:
            raise InputError(f"Which gold answer is it? Choose it, then it is saved as {label}.")
        gold = known[checks.read_index(event.get("gold"), "gold answer", len(known))][0]
    item, recalled = found.item, found.judgements[0].recalled
    return Judgement(
        item.trace_id, item.question, item.answer, label, name, evidence, gold, recalled=recalled
    )


def _adjudicator(event: Mapping[str, Any], signed: str) -> str:
    name = signed or checks.read_text(event.get("name"), "adjudicator's name", checks.LONGEST_NAME)
    if not any(c.isalnum() for c in name):
        raise InputError("A verdict needs a name. Type the adjudicator's name above the list.")
    return name


def _token(event: Mapping[str, Any]) -> str:
    token = event.get("token")
    if not isinstance(token, str) or not 0 < len(token) <= checks.LONGEST_NAME:
        raise InputError("The request carries no token. Reload the page and settle it again.")
    return token


def _file(name: str, kind: str, content: str, turn: int) -> Markup:
    safe = "".join(c if c.isalnum() or c in " .-_()" else "-" for c in name)[-120:].strip(" .")
    data = base64.b64encode(content.encode("utf-8", "replace")).decode()
    return drawn(turn, tag("span", data_save=safe, data_type=kind, data_base64=data, hidden=True))


def _drawn(event: object, draw: Callable[[View], Markup]) -> Markup:
    """What `draw` makes of the event's view, or what is wrong with it."""
    try:
        view = read_view(event)
    except RtvError as error:
        return drawn(0, render.render_message(str(error), "error"))
    try:
        return draw(view)
    except RtvError as error:
        return drawn(view.turn, render.render_message(str(error), "error"))
    except Exception:
        log.exception("A part of the Analyse page can't be drawn.")
        return drawn(view.turn, render.render_message(UNEXPECTED, "error"))
