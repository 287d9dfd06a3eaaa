"""The Explore page: how an answer came to be, and a place to judge it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import gradio as gr

from rtv_core.errors import InputError, RtvError
from rtv_core.pipeline import Pipeline, check_question
from rtv_core.records import EVIDENCE_SIZES, Judgement, Question, Trace
from rtv_core.settings import LARGEST_RETRIEVAL, Settings, VerifierSettings
from rtv_core.text import COVERAGE_RULES
from rtv_core.ui import checks, render
from rtv_core.ui.links import read_link, write_settings
from rtv_core.ui.marks import Row, candidate_key, candidate_rows, covering, extra_rows, gold_answers
from rtv_core.ui.workbench import Workbench

__all__ = [
    "Answers",
    "Chosen",
    "Judged",
    "Session",
    "add_explore",
    "open_link",
    "save_judgement",
    "show_answers",
    "show_candidate",
    "show_stopped",
    "show_verdicts",
    "take_back",
]

LOADING = "The models are loading, about 8 s. The question is asked as soon as they are there."
DRAFTS = 200
BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.events = ["choose", "judge", "undo", "redo", "refresh", "example"];
window.rtv.send = trigger;
"""
"""Hands Gradio's way to call the server to keys.js, and names the events that may be sent."""

log = logging.getLogger(__name__)
SKIP = gr.skip()


@dataclass(frozen=True, slots=True)
class Session:
    """What one browser tab looks at. `trace_id` is "" until the trace is saved."""

    trace: Trace
    trace_id: str = ""


class Answers(NamedTuple):
    """What asking changes on the page."""

    progress: Any = SKIP
    summary: Any = SKIP
    candidates: Any = SKIP
    evidence: Any = SKIP
    passages: Any = SKIP
    judge: Any = SKIP
    saved: Any = SKIP
    note: Any = SKIP
    drafts: Any = SKIP
    session: Any = SKIP
    ask: Any = SKIP
    stop: Any = SKIP


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


class Opened(NamedTuple):
    """What a link fills in."""

    question: Any = SKIP
    tau: Any = SKIP
    k: Any = SKIP
    single: Any = SKIP
    passages: Any = SKIP
    relevance: Any = SKIP
    coverage: Any = SKIP
    notice: Any = SKIP


def open_link(workbench: Workbench, parameters: Mapping[str, str]) -> Opened:
    """Fill the controls from a link, or from the server's settings where it says nothing."""
    link = read_link(parameters, workbench.settings)
    settings = link.settings
    return Opened(
        link.question,
        settings.verifier.tau,
        settings.verifier.k,
        settings.verifier.single_answer,
        settings.retriever.passages,
        settings.recaller.relevance,
        settings.evidence.coverage,
        render.render_notice(link.notice),
    )


def show_answers(
    workbench: Workbench,
    question: object,
    passages: object,
    relevance: object,
    coverage: object,
    tau: object,
    k: object,
    single: object,
    annotator: object,
) -> Iterator[Answers]:
    """Ask, and draw the trace as it grows. An empty question changes nothing (a page without a link)."""
    if question in (None, ""):
        return
    try:
        text = check_question(checks.read_text(question, "question", 100_000))
        settings = workbench.settings.with_values(
            {
                "retriever.passages": passages,
                "recaller.relevance": relevance,
                "evidence.coverage": coverage,
                "verifier.tau": checks.read_tau(tau),
                "verifier.k": checks.read_k(k),
                "verifier.single_answer": single,
            }
        )
        said = workbench.store.for_question(text, _name(annotator))
        yield _cleared(workbench)
        pipeline = workbench.pipeline(settings)
        trace_id, trace = _saved(workbench, text, pipeline)
        steps = iter([trace]) if trace else pipeline.steps(_question(workbench, text))
        for trace in steps:
            if trace.complete and not trace_id:
                trace_id = workbench.store.save_trace(trace)
            yield _drawn(workbench, Session(trace, trace_id), settings, said)
    except RtvError as error:
        yield Answers(progress=render.render_message(str(error), "error"), **_idle())


def show_stopped(
    workbench: Workbench, session: Session | None, tau: object, k: object, single: object, annotator: object
) -> Answers:
    """What is there when a run is stopped, labelled incomplete."""
    if session is None:
        return Answers(progress=render.render_welcome(workbench.questions), **_idle())
    try:
        settings = workbench.settings.with_values(
            {
                "verifier.tau": checks.read_tau(tau),
                "verifier.k": checks.read_k(k),
                "verifier.single_answer": single,
            }
        )
        said = workbench.store.for_question(session.trace.question.text, _name(annotator))
    except RtvError as error:
        return Answers(progress=render.render_message(str(error), "error"), **_idle())
    return _drawn(workbench, session, settings, said, stopped=True)


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
    """The evidence of the candidate that an event names, with its verdict; the note typed so far is kept."""
    event = checks.read_event(event)
    try:
        if session is None:
            raise InputError("There is no answer to choose yet. Ask a question first.")
        verifier = _verifier(tau, k, single)
        said = workbench.store.for_question(session.trace.question.text, _name(annotator))
        row = _find(session.trace, said, event)
        drafts = _kept(drafts, event.get("before"), checks.read_text(note, "note", checks.LONGEST_NOTE))
    except RtvError as error:
        return Chosen(evidence=render.render_message(str(error), "error"))
    saved_note = row.judgement.note if row.judgement else ""
    return Chosen(
        evidence=_evidence(session.trace, row, verifier),
        judge=render.render_judge(session.trace.question, row),
        note=drafts.get(row.key, saved_note),
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
    """Save the verdict that an event names. A refusal or failure is shown and leaves every field as it is."""
    event = checks.read_event(event)
    token = event.get("token")
    token = token if isinstance(token, str) and 0 < len(token) <= checks.LONGEST_NAME else ""
    try:
        if session is None:
            raise InputError("There is nothing to judge yet. Ask a question first.")
        if not token:
            raise InputError("The request carries no token. Reload the page and judge again.")
        verifier = _verifier(tau, k, single)
        name = checks.read_name(annotator)
        said = workbench.store.for_question(session.trace.question.text, name)
        row = _find(session.trace, said, event)
        judgement = _judgement(session, row, verifier, name, note, event)
        if not session.trace_id:
            session = replace(session, trace_id=workbench.store.save_trace(session.trace))
        saved = workbench.store.judge(replace(judgement, trace_id=session.trace_id), token)
        said = workbench.store.for_question(session.trace.question.text, name)
    except RtvError as error:
        return Judged(saved=render.render_failure(str(error), token))
    row = _find(session.trace, said, event)
    return Judged(
        saved=render.render_saved(saved, _clock(saved.at), token),
        judge=render.render_judge(session.trace.question, row),
        candidates=_candidates(session.trace, said, verifier),
        note=saved.note,
        drafts={key: text for key, text in (drafts or {}).items() if key != row.key},
        session=session,
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
    """Undo the annotator's last verdict on this trace, or (`again`) restore what was undone."""
    event = checks.read_event(event)
    try:
        if session is None or not session.trace_id:
            raise InputError("There is no verdict to take back on this page.")
        verifier = _verifier(tau, k, single)
        name = checks.read_name(annotator)
        if again:
            changed = workbench.store.redo(session.trace_id, name)
        else:
            changed = workbench.store.undo(session.trace_id, name)
        said = workbench.store.for_question(session.trace.question.text, name)
        row = _find(session.trace, said, event) if event.get("key") else None
    except RtvError as error:
        return Judged(saved=render.render_failure(str(error)))
    if changed is None:
        text = f"Nothing to {'redo' if again else 'undo'}."
        return Judged(saved=render.render_undone(text, "", False))
    text = f"{'Restored' if again else 'Taken back'}: {changed.answer[:60]}, {changed.label} ·"
    return Judged(
        saved=render.render_undone(text, _clock(""), not again),
        judge=render.render_judge(session.trace.question, row),
        candidates=_candidates(session.trace, said, verifier),
        note=(row.judgement.note if row.judgement else "") if row else SKIP,
    )


def show_verdicts(
    workbench: Workbench,
    session: Session | None,
    tau: object,
    k: object,
    single: object,
    annotator: object,
    event: object,
) -> Judged:
    """The verdicts of the annotator now named."""
    if session is None:
        return Judged()
    event = checks.read_event(event)
    try:
        verifier = _verifier(tau, k, single)
        said = workbench.store.for_question(session.trace.question.text, _name(annotator))
        row = _find(session.trace, said, event) if event.get("key") else None
    except RtvError as error:
        return Judged(saved=render.render_failure(str(error)))
    return Judged(
        saved="",
        judge=render.render_judge(session.trace.question, row),
        candidates=_candidates(session.trace, said, verifier),
    )


def _cleared(workbench: Workbench) -> Answers:
    waiting = render.render_message(LOADING, "busy") if not workbench.ready() else SKIP
    return Answers(
        progress=waiting,
        evidence=render.render_empty_evidence(None, running=True),
        judge=render.render_judge(None, None),
        saved="",
        note="",
        drafts={},
        ask=gr.update(interactive=False),
        stop=gr.update(interactive=True),
    )


def _idle() -> dict[str, Any]:
    return {"ask": gr.update(interactive=True), "stop": gr.update(interactive=False)}


def _drawn(
    workbench: Workbench,
    session: Session,
    settings: Settings,
    said: Sequence[Judgement],
    stopped: bool = False,
) -> Answers:
    trace, verifier = session.trace, settings.verifier
    running = not trace.complete and not stopped
    rows = candidate_rows(trace, said, verifier.k)
    link = write_settings(settings, workbench.settings)
    return Answers(
        progress=render.render_progress(trace, running, stopped, link),
        summary=render.render_summary(trace, rows, verifier),
        candidates=render.render_candidates(trace, rows, extra_rows(trace, said), verifier, running),
        passages=render.render_passages(trace, running),
        session=session,
        **({} if running else _idle()),
    )


def _saved(workbench: Workbench, text: str, pipeline: Pipeline) -> tuple[str, Trace | None]:
    """A judged, complete trace of this question that the same models and settings made."""
    for trace_id in dict.fromkeys(j.trace_id for j in workbench.store.for_question(text)):
        trace = workbench.store.load_trace(trace_id)
        if trace.complete and dict(trace.provenance) == dict(pipeline.provenance):
            return trace_id, trace
    return "", None


def _question(workbench: Workbench, text: str) -> Question:
    """The example with this text, which brings its gold, or a question without gold."""
    for question in workbench.questions:
        if question.text.strip().casefold() == text.casefold():
            return replace(question, text=text)
    return Question("", text)


def _candidates(trace: Trace, said: Sequence[Judgement], verifier: VerifierSettings) -> str:
    rows = candidate_rows(trace, said, verifier.k)
    return render.render_candidates(trace, rows, extra_rows(trace, said), verifier)


def _evidence(trace: Trace, row: Row, verifier: VerifierSettings) -> str:
    if row.index is not None:
        return render.render_evidence(trace, row, verifier)
    found = covering(trace.hits, (row.answer, *row.spellings))
    return render.render_mentions(row, found, len(trace.hits))


def _find(trace: Trace, said: Sequence[Judgement], event: Mapping[str, Any]) -> Row:
    """The row that an event names by `key`, or, for an answer that a person typed, by `typed`."""
    key = event.get("key")
    typed = checks.read_text(event.get("typed"), "answer", checks.LONGEST_ANSWER)
    wanted = candidate_key(typed) if typed else key
    rows = (*candidate_rows(trace, said), *extra_rows(trace, said))
    for row in rows:
        if row.key == wanted:
            return row
    for row in rows:
        if typed and any(candidate_key(spelling) == wanted for spelling in row.spellings):
            return row
    if not typed:
        raise InputError(f"There is no candidate {str(key)[:40]!r} in this trace. Choose one from the list.")
    if not any(c.isalnum() for c in typed):
        raise InputError("The answer is empty. Type the answer that is missing.")
    return Row(key=wanted, answer=typed)


def _judgement(
    session: Session,
    row: Row,
    verifier: VerifierSettings,
    name: str,
    note: object,
    event: Mapping[str, Any],
) -> Judgement:
    label = checks.read_choice(event.get("label"), "verdict", checks.LABELS)
    evidence = event.get("evidence") or ""
    if evidence:
        evidence = checks.read_choice(evidence, "evidence verdict", checks.EVIDENCE_LABELS)
    gold = ""
    if label in ("listed", "variant"):
        known = gold_answers(session.trace.question)
        if not known:
            raise InputError(f"No gold is known for this question, so no answer can be {label}.")
        if event.get("gold") in (None, ""):
            raise InputError(f"Which gold answer is it? Choose it in the list, then it is saved as {label}.")
        gold = known[checks.read_index(event.get("gold"), "gold answer", len(known))][0]
    return Judgement(
        trace_id=session.trace_id,
        question=session.trace.question.text,
        answer=row.answer,
        label=label,
        annotator=name,
        evidence=evidence,
        gold=gold,
        note=checks.read_text(note, "note", checks.LONGEST_NOTE),
        recalled=row.index is not None,
        p_right=row.p_right[EVIDENCE_SIZES.index(verifier.k)] if row.p_right else None,
        tau=verifier.tau,
        k=verifier.k,
    )


def _verifier(tau: object, k: object, single: object) -> VerifierSettings:
    if not isinstance(single, bool):
        raise InputError("The single-answer switch must be on or off.")
    return VerifierSettings(checks.read_tau(tau), checks.read_k(k), single)


def _name(annotator: object) -> str:
    return checks.read_text(annotator, "annotator's name", checks.LONGEST_NAME)


def _kept(drafts: Mapping[str, str] | None, key: object, note: str) -> dict[str, str]:
    kept = dict(drafts or {})
    if isinstance(key, str) and 0 < len(key) <= checks.LONGEST_NAME:
        kept.pop(key, None)
        kept[key] = note
    return dict(list(kept.items())[-DRAFTS:])


def _clock(at: str) -> str:
    """Hours and minutes of a moment, or of now, in the server's time zone."""
    try:
        moment = datetime.fromisoformat(at).astimezone()
    except ValueError:
        moment = datetime.now().astimezone()
    return f"{moment:%H:%M}"


def add_explore(workbench: Workbench) -> None:
    """Lay out the page inside the current Blocks and wire it."""
    settings = workbench.settings
    session, drafts = gr.State(None), gr.State({})
    plain = {"apply_default_css": False, "padding": False}
    notice = gr.HTML("", elem_id="rtv-notice", **plain)
    with gr.Row(elem_id="rtv-ask"):
        question = gr.Textbox(
            show_label=False,
            label="Question",
            placeholder="Ask a question that may have many answers",
            elem_id="rtv-question",
            container=False,
            max_lines=1,
            scale=1,
        )
        ask = gr.Button("Ask", variant="primary", elem_id="rtv-ask-button", scale=0, min_width=72)
        stop = gr.Button("Stop", elem_id="rtv-stop-button", scale=0, min_width=72, interactive=False)
        gr.HTML(render.render_examples(workbench.questions), elem_id="rtv-examples", **plain)
    progress = gr.HTML(render.render_welcome(workbench.questions), elem_id="rtv-progress", **plain)
    with gr.Row(elem_id="rtv-controls"):
        tau = gr.Slider(
            0,
            1,
            settings.verifier.tau,
            step=0.01,
            label="tau",
            elem_id="rtv-tau",
            scale=0,
            min_width=300,
            buttons=[],
        )
        k = gr.Radio(
            list(EVIDENCE_SIZES),
            value=settings.verifier.k,
            label="k",
            elem_id="rtv-k",
            scale=0,
            min_width=150,
        )
        single = gr.Checkbox(
            settings.verifier.single_answer,
            label="one answer only",
            elem_id="rtv-single",
            scale=0,
            min_width=150,
            container=False,
        )
        with gr.Accordion("Advanced", open=False, elem_id="rtv-advanced"), gr.Row():
            passages = gr.Number(
                settings.retriever.passages,
                label="passages |B|",
                info="retrieved for the next question",
                precision=0,
                minimum=1,
                maximum=LARGEST_RETRIEVAL,
                min_width=140,
            )
            relevance = gr.Slider(
                0,
                1,
                settings.recaller.relevance,
                step=0.01,
                label="relevance",
                info="a passage less probably relevant gives no candidate",
                min_width=240,
            )
            coverage = gr.Radio(
                list(COVERAGE_RULES),
                value=settings.evidence.coverage,
                label="coverage",
                info="which passages count as holding a candidate",
                min_width=240,
            )
        summary = gr.HTML(render.render_summary(None, (), settings.verifier), elem_id="rtv-summary", **plain)
    with gr.Row(elem_id="rtv-columns"):
        with gr.Column(elem_id="rtv-left", min_width=0):
            candidates = gr.HTML(
                render.render_candidates(None, (), (), settings.verifier),
                elem_id="rtv-candidates",
                **plain,
            )
            with gr.Row(elem_id="rtv-missing"):
                gr.Textbox(
                    show_label=False,
                    label="An answer that is missing",
                    placeholder="+ an answer that is missing",
                    elem_id="rtv-missing-text",
                    container=False,
                    max_lines=1,
                )
        with gr.Column(elem_id="rtv-middle", min_width=0):
            evidence = gr.HTML(render.render_empty_evidence(None), elem_id="rtv-evidence", **plain)
            with gr.Column(elem_id="rtv-judging", min_width=0):
                judge = gr.HTML(render.render_judge(None, None), elem_id="rtv-judge", **plain)
                with gr.Row(elem_id="rtv-words"):
                    note = gr.Textbox(
                        show_label=False,
                        label="Note",
                        placeholder="Note (n)",
                        elem_id="rtv-note",
                        container=False,
                        max_lines=1,
                        scale=3,
                        min_width=0,
                    )
                    annotator = gr.Textbox(
                        value="me",
                        show_label=False,
                        label="Your name",
                        placeholder="Your name",
                        elem_id="rtv-annotator",
                        container=False,
                        max_lines=1,
                        scale=1,
                        min_width=0,
                    )
                saved = gr.HTML("", elem_id="rtv-saved", **plain)
        with gr.Column(elem_id="rtv-right", min_width=0):
            retrieved = gr.HTML(render.render_passages(None), elem_id="rtv-passages", **plain)

    bridge = gr.HTML(
        "",
        elem_id="rtv-bridge",
        visible="hidden",
        js_on_load=BRIDGE,
    )
    view = [session, tau, k, single, annotator]
    asked = Answers(
        progress, summary, candidates, evidence, retrieved, judge, saved, note, drafts, session, ask, stop
    )
    judged = Judged(saved, judge, candidates, note, drafts, session)
    quick = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}

    def answers(*values):
        yield from show_answers(workbench, *values)

    def example(event: gr.EventData):
        return checks.read_text(checks.read_event(event._data).get("question"), "question", 100_000)

    def choose(session, tau, k, single, annotator, note, drafts, event: gr.EventData):
        return show_candidate(workbench, session, tau, k, single, annotator, note, drafts, event._data)

    def judge_it(session, tau, k, single, annotator, note, drafts, event: gr.EventData):
        return save_judgement(workbench, session, tau, k, single, annotator, note, drafts, event._data)

    def undo(session, tau, k, single, annotator, event: gr.EventData):
        return take_back(workbench, session, tau, k, single, annotator, False, event._data)

    def redo(session, tau, k, single, annotator, event: gr.EventData):
        return take_back(workbench, session, tau, k, single, annotator, True, event._data)

    def refresh(session, tau, k, single, annotator, event: gr.EventData):
        return show_verdicts(workbench, session, tau, k, single, annotator, event._data)

    def opened(request: gr.Request):
        return open_link(workbench, dict(request.query_params))

    def stopped(session, tau, k, single, annotator):
        return show_stopped(workbench, session, tau, k, single, annotator)

    run = {
        "fn": answers,
        "inputs": [question, passages, relevance, coverage, tau, k, single, annotator],
        "outputs": list(asked),
        "show_progress": "hidden",
        "concurrency_id": "ask",
        "concurrency_limit": 1,
        "api_visibility": "private",
    }
    page = gr.context.Context.root_block
    link = page.load(
        opened,
        None,
        [question, tau, k, single, passages, relevance, coverage, notice],
        show_progress="hidden",
        queue=False,
        api_visibility="private",
    )
    runs = [
        ask.click(**run),
        question.submit(**run),
        link.then(**run),
        bridge.example(example, None, question, **quick).then(**run),
    ]
    stop.click(stopped, view, list(asked), cancels=runs, **quick)
    bridge.choose(
        choose,
        [*view, note, drafts],
        list(Chosen(evidence, judge, note, drafts)),
        trigger_mode="always_last",
        **quick,
    )
    bridge.judge(judge_it, [*view, note, drafts], list(judged), trigger_mode="multiple", **quick)
    bridge.undo(undo, view, list(judged), trigger_mode="multiple", **quick)
    bridge.redo(redo, view, list(judged), trigger_mode="multiple", **quick)
    bridge.refresh(refresh, view, list(judged), trigger_mode="always_last", **quick)
    for control in (tau, k, single):
        control.change(
            None,
            [tau, k, single],
            None,
            js="(tau, k, single) => window.rtv?.mark?.(tau, k, single)",
            show_progress="hidden",
        )
