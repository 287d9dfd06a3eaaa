"""Handlers for what was kept: a run's question, or an example's trace, opened by a link and paged through.

    ?run=NAME&q=POSITION            that question of the run, to be judged
    ?run=NAME&q=POSITION&present=1  the same, to be shown only; without q the first, without run the newest
    ?q=TEXT&present=1               the kept trace of a question, in a run or not

No model is needed: what is shown is the trace that was kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from rtv_core.errors import InputError, MissingError, RtvError
from rtv_core.records import EVIDENCE_SIZES, RunQuestion, Trace, Verdict
from rtv_core.records import Run as KeptRun
from rtv_core.settings import Settings
from rtv_core.ui import checks, render
from rtv_core.ui.asking import Answers, Opened, draw_session
from rtv_core.ui.links import read_link
from rtv_core.ui.marks import is_given, made_with, score_places
from rtv_core.ui.markup import Markup, join
from rtv_core.ui.parts import parts_off
from rtv_core.ui.session import Run, Session, read_knobs, remembered_name, said_of
from rtv_core.ui.stored import Stored
from rtv_core.ui.workbench import Workbench

__all__ = ["is_stored", "open_stored", "show_stored", "turn"]

NOTHING = (
    "There is nothing to present yet: no run, and no kept answer to an example question. Ask a question in "
    "Explore, or make a run: python -m rtv_core evaluate."
)
EXAMPLES = 200
"""How many of the server's questions are looked through for kept traces."""

LOOKED_AT = 20
"""How many kept traces of a question are looked at for a finished one."""

SKIP = gr.skip()


def is_stored(parameters: Mapping[str, str]) -> bool:
    """Whether a link names something that was kept, rather than a question to ask or another page."""
    named = bool(parameters.get("run")) and parameters.get("page", "explore") == "explore"
    return named or _presents(parameters)


def open_stored(
    workbench: Workbench, run: Run, parameters: Mapping[str, str], annotator: object = None
) -> Opened:
    """Find what a link names, and fill the controls. What is wrong with it, `show_stored` says.

    A tab that presents stays frozen, whatever the link names.
    """
    run.frozen = _presents(parameters)
    name = remembered_name(annotator)
    try:
        kept = _run(workbench, parameters)
        run.stored = _in_run(workbench, kept, parameters) if kept else _example(workbench, parameters)
        text = _question(workbench, run.stored)
    except RtvError as error:
        run.stored = Stored(problem=str(error))
        return Opened(annotator=name)
    named = {name: value for name, value in parameters.items() if name not in ("q", "profile")}
    link = read_link(named, _settings(workbench, kept))
    knobs = link.settings.verifier
    notice = render.render_message(link.notice) if link.notice else SKIP
    return Opened(
        question=text, tau=knobs.tau, k=knobs.k, single=knobs.single_answer, annotator=name, notice=notice
    )


def show_stored(
    workbench: Workbench, run: Run, tau: object, k: object, single: object, annotator: object
) -> Answers:
    """Draw what the tab shows of what was kept; nothing, if it asks."""
    stored = run.stored
    if stored is None:
        return Answers()
    if stored.problem:
        return _refused(run, stored.problem)
    try:
        session = _session(workbench, stored, run.frozen)
        knobs = read_knobs(tau, k, single)
        said = said_of(workbench, session, annotator)
    except RtvError as error:
        return _refused(run, str(error))
    drawn = draw_session(session, knobs, said)
    evidence = Markup("") if session.trace.candidates else drawn.evidence
    return drawn._replace(
        progress=join([render.render_place(stored, session.trace.question.text, run.frozen), drawn.progress]),
        evidence=evidence,
        judge=Markup("") if run.frozen else render.render_judge(None, None),
        saved=Markup("") if run.frozen else render.render_unsaid(),
        note="",
        drafts={},
    )


def turn(
    workbench: Workbench,
    run: Run,
    tau: object,
    k: object,
    single: object,
    annotator: object,
    event: object,
) -> tuple[Any, ...]:
    """Go to the place that an event names: the question's text, then what `show_stored` draws."""
    to, stored = checks.read_event(event).get("to"), run.stored
    if stored is None:
        return SKIP, *Answers()
    if isinstance(to, bool) or not isinstance(to, int) or to not in stored.places:
        return SKIP, *_refused(run, "There is no such question here. Go on by the buttons.")
    run.stored = stored = replace(stored, at=to)
    try:
        text = _question(workbench, stored)
    except RtvError as error:
        return SKIP, *_refused(run, str(error))
    return text, *show_stored(workbench, run, tau, k, single, annotator)


def _presents(parameters: Mapping[str, str]) -> bool:
    return parameters.get("present") == "1"


def _run(workbench: Workbench, parameters: Mapping[str, str]) -> KeptRun | None:
    """The run that a link names, else the newest that has a question; None where a question is named."""
    if name := parameters.get("run"):
        return workbench.runs.run(name)
    if parameters.get("q"):
        return None
    return next((run for run in workbench.runs.runs() if run.questions), None)


def _in_run(workbench: Workbench, run: KeptRun, parameters: Mapping[str, str]) -> Stored:
    places = tuple(workbench.runs.positions(run.name))
    if not places:
        raise MissingError(f"The run {run.name!r} has no question yet. Open it again once it has one.")
    return Stored(run.name, run.system, places, _position(parameters.get("q", ""), run, places))


def _position(text: str, run: KeptRun, places: tuple[int, ...]) -> int:
    if not text:
        return places[0]
    if not (text.isascii() and text.isdigit()):
        raise InputError(
            f"q is {text[:60]!r}; beside a run it must be the position of one of its questions, "
            f"{places[0]} to {places[-1]}."
        )
    if len(text) > 9 or int(text) not in places:
        raise MissingError(
            f"The run {run.name!r} has no question {text[:20]}; it has {places[0]} to {places[-1]}."
        )
    return int(text)


def _example(workbench: Workbench, parameters: Mapping[str, str]) -> Stored:
    """The question that a link names, in the row of examples if it is one; else the first example kept."""
    text = checks.read_text(parameters.get("q"), "question", 2000)
    examples = workbench.questions[:EXAMPLES]
    places = tuple(i for i, question in enumerate(examples) if workbench.store.traces(question.text))
    if not text:
        if not places:
            raise MissingError(NOTHING)
        return Stored(places=places, at=places[0])
    wanted = _folded(text)
    at = next((i for i in places if _folded(examples[i].text) == wanted), None)
    return Stored(places=places if at is not None else (), at=at, question=text)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _question(workbench: Workbench, stored: Stored) -> str:
    """The text of the question that is shown."""
    if stored.run:
        return workbench.runs.question(stored.run, stored.at).question.text
    return stored.question if stored.at is None else workbench.questions[stored.at].text


def _settings(workbench: Workbench, run: KeptRun | None) -> Settings:
    """The server's settings with the knobs as the run had them.

    A scored run without tau predicted all it had: it is drawn under one that everything passes.
    """
    if run is None:
        return workbench.settings
    made = made_with(run.provenance)
    single = made is not None and made.verifier.single_answer
    values = {"verifier.k": run.k, "verifier.single_answer": single}
    if run.scored:
        values["verifier.tau"] = 0.0 if run.tau is None else run.tau
    return workbench.settings.with_values(values)


def _session(workbench: Workbench, stored: Stored, frozen: bool) -> Session:
    if stored.run:
        question = workbench.runs.question(stored.run, stored.at)
        trace_id = question.trace_id
        trace = _with_given_scores(workbench.store.load_trace(trace_id), question)
    else:
        trace_id, trace = _kept(workbench, _question(workbench, stored))
    link = urlencode({**stored.link, **({"present": "1"} if frozen else {})})
    return Session(trace, trace_id, link, score_places(trace), frozen)


def _kept(workbench: Workbench, question: str) -> tuple[str, Trace]:
    """The newest finished trace of a question, else the newest answers of another system.

    A trace made with parts switched off stands back behind those that weren't.
    """
    kept = ((i, workbench.store.load_trace(i)) for i in workbench.store.traces(question)[:LOOKED_AT])
    lesser = given = None
    for trace_id, trace in kept:
        if trace.complete:
            if not parts_off(trace):
                return trace_id, trace
            lesser = lesser or (trace_id, trace)
        elif is_given(trace):
            given = given or (trace_id, trace)
    given = lesser or given
    if given is None:
        raise MissingError(
            f"No finished answer to “{question[:200]}” is kept, and nothing is asked while presenting. Leave "
            "the presentation and ask it first."
        )
    return given


def _with_given_scores(trace: Trace, question: RunQuestion) -> Trace:
    """Another system's scores stand in the run, not in the trace: here as verdicts, the same for every k."""
    if not is_given(trace) or trace.verdicts:
        return trace
    scores = [answer.p_right for answer in question.answers]
    if None in scores or len(scores) != len(trace.candidates):
        return trace
    return trace.grown(verdicts=tuple(Verdict((score,) * len(EVIDENCE_SIZES)) for score in scores))


def _refused(run: Run, text: str) -> Answers:
    """Why there is nothing to show, beside the ways on, and an empty page."""
    blank = Markup("")
    bar = render.render_place(run.stored, run.stored.question, run.frozen)
    return Answers(
        progress=join([bar, render.render_message(text, "error")]),
        summary=blank,
        candidates=blank,
        evidence=blank,
        passages=blank,
        judge=blank if run.frozen else render.render_judge(None, None),
        saved=blank,
        note="",
        drafts={},
        session=None,
    )
