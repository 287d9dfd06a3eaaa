"""Handlers for asking: a link becomes a question, a question becomes a growing trace on the page."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import gradio as gr

from rtv_core.errors import RtvError
from rtv_core.pipeline import Pipeline, check_question
from rtv_core.records import Judgement, Question, Trace
from rtv_core.settings import VerifierSettings
from rtv_core.ui import checks, render
from rtv_core.ui.links import read_link, write_settings
from rtv_core.ui.marks import extra_rows, score_places
from rtv_core.ui.parts import parts_on, switch_parts
from rtv_core.ui.session import Run, Session, read_knobs, remembered_name, verdicts_of
from rtv_core.ui.workbench import Workbench

__all__ = [
    "Answers",
    "Opened",
    "call_answers",
    "draw_session",
    "find_question",
    "open_link",
    "sessions",
    "show_answers",
    "show_loading",
    "stop_answers",
]

LOADING = "The models are loading, about 8 s."
UNKEPT = "The trace could not be kept; the first verdict tries again."
UNEXPECTED = "Something failed that should not have; the server's log says what. Ask again."
PRESENTING = "This is a presentation: nothing is asked here. Leave it to ask."
LOADING_POLL = 0.5
LOOKED_AT = 20
"""How many kept traces of a question are compared."""

log = logging.getLogger(__name__)
SKIP = gr.skip()


class Opened(NamedTuple):
    """What a link fills in."""

    question: Any = SKIP
    tau: Any = SKIP
    k: Any = SKIP
    single: Any = SKIP
    passages: Any = SKIP
    relevance: Any = SKIP
    coverage: Any = SKIP
    parts: Any = SKIP
    annotator: Any = SKIP
    notice: Any = SKIP


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


def open_link(
    workbench: Workbench, run: Run, parameters: Mapping[str, str], annotator: object = None
) -> Opened:
    """Fill the controls from a link and ask its question.

    What the link doesn't name stays as it is, for it may have been typed in already. `annotator` is the
    name that this browser remembers.
    """
    link = read_link(parameters, workbench.settings)
    settings = link.settings
    values = {
        "question": link.question,
        "tau": settings.verifier.tau,
        "k": settings.verifier.k,
        "single": settings.verifier.single_answer,
        "passages": settings.retriever.passages,
        "relevance": settings.recaller.relevance,
        "coverage": settings.evidence.coverage,
        "parts": parts_on(settings),
    }
    given = {{"q": "question", "off": "parts"}.get(name, name) for name in parameters}
    filled = {name: value if name in given else SKIP for name, value in values.items()}
    if link.question:
        run.call(link.question)
    notice = render.render_message(link.notice) if link.notice else SKIP
    return Opened(**filled, annotator=remembered_name(annotator), notice=notice)


def show_loading(workbench: Workbench) -> Iterator[str]:
    """Say that the models are loading, until they are there."""
    while not workbench.ready():
        yield render.render_message(f"{LOADING} You can ask already.", "busy")
        time.sleep(LOADING_POLL)
    yield ""


def call_answers(run: Run, question: object) -> Answers:
    """Note that a question is asked; the run before ends, also while this one waits for its turn."""
    if run.frozen:
        return Answers(progress=render.render_message(PRESENTING, "error"))
    run.call(question)
    return Answers(**_buttons(running=True))


def stop_answers(run: Run) -> Answers:
    """End the run after the step in hand; it draws what it has, labelled incomplete."""
    run.stop()
    return Answers(**_buttons(running=False))


def show_answers(
    workbench: Workbench,
    run: Run,
    passages: object,
    relevance: object,
    coverage: object,
    parts: object,
    tau: object,
    k: object,
    single: object,
    annotator: object,
) -> Iterator[Answers]:
    """Ask what `run` wants, if anything, and draw the trace as it grows, until it is stopped.

    The question is the run's, not the request's: that of the loading page may be the one to take a click's.
    """
    if (mine := run.take()) is None:
        yield Answers()  # Gradio empties every part of the page for a generator that yields nothing
        return
    try:
        asked = find_question(workbench, check_question(checks.read_text(run.question, "question", 100_000)))
        # tau, k and the switch only mark: they are no part of what is run, nor of how a trace was made.
        knobs = read_knobs(tau, k, single)
        settings = switch_parts(workbench.settings, parts).with_values(
            {
                "retriever.passages": passages,
                "recaller.relevance": relevance,
                "evidence.coverage": coverage,
            }
        )
        verdicts_of(workbench, Trace(asked), annotator)
        yield _cleared(loading=not workbench.ready())
        pipeline = workbench.pipeline(settings)
        link = write_settings(settings, workbench.settings)
        for session in sessions(workbench, asked, pipeline):
            goes_on = run.goes_on(mine)
            said = verdicts_of(workbench, session.trace, annotator)
            running = goes_on and not session.trace.complete
            places = score_places(session.trace)
            yield draw_session(replace(session, link=link, places=places), knobs, said, running)
            if session.trace.complete and not session.trace_id:
                yield Answers(saved=render.render_failure(UNKEPT))
            if not goes_on:
                return
    except RtvError as error:
        yield Answers(progress=render.render_message(str(error), "error"), **_buttons(running=False))
    except Exception:
        yield Answers(progress=render.render_message(UNEXPECTED, "error"), **_buttons(running=False))
        raise


def find_question(workbench: Workbench, text: str) -> Question:
    """The example with this text, which brings its gold, or a question without gold."""
    for question in workbench.questions:
        if check_question(question.text).casefold() == text.casefold():
            return replace(question, text=text)
    return Question("", text)


def sessions(workbench: Workbench, question: Question, pipeline: Pipeline) -> Iterator[Session]:
    """The trace as it grows, or at once where the same models and settings have made it before."""
    for trace_id in workbench.store.traces(question.text)[:LOOKED_AT]:
        if dict(workbench.store.provenance(trace_id)) == dict(pipeline.provenance):
            trace = workbench.store.load_trace(trace_id)
            if trace.complete and trace.question == question:
                yield Session(trace, trace_id)
                return
    for trace in pipeline.steps(question):
        yield Session(trace, _save(workbench, trace) if trace.complete else "")


def _save(workbench: Workbench, trace: Trace) -> str:
    """The id of the trace, now kept; "" if it could not be, which must not hide it from the page."""
    try:
        return workbench.store.save_trace(trace)
    except RtvError as error:
        log.error("The trace of %r is not saved: %s", trace.question.text, error)
        return ""


def _cleared(loading: bool) -> Answers:
    text = f"{LOADING} The question is asked as soon as they are there." if loading else "Searching…"
    return Answers(
        progress=render.render_message(text, "busy"),
        evidence=render.render_empty_evidence("running"),
        judge=render.render_judge(None, None),
        saved=render.render_unsaid(),
        note="",
        drafts={},
        session=None,
        **_buttons(running=True),
    )


def draw_session(
    session: Session, knobs: VerifierSettings, said: Sequence[Judgement], running: bool = False
) -> Answers:
    """Every part that shows a trace, as far as it has come."""
    trace = session.trace
    rows = session.rows(said, knobs.k)
    none = not running and not rows
    return Answers(
        progress=render.render_progress(trace, running, session.link),
        summary=render.render_summary(trace, rows, knobs),
        candidates=render.render_candidates(trace, rows, extra_rows(trace, said), knobs, running),
        evidence=render.render_empty_evidence("none") if none else SKIP,
        passages=render.render_passages(trace, running),
        session=session,
        # With each step anew: of two updates in a row a slow page may lose the first one's buttons.
        **_buttons(running),
    )


def _buttons(running: bool) -> dict[str, Any]:
    return {"ask": gr.update(interactive=not running), "stop": gr.update(interactive=running)}
