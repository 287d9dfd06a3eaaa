"""The Explore page: how an answer came to be, and a place to judge it. Layout, then wiring."""

from __future__ import annotations

from typing import Any

import gradio as gr

from rtv_core.baselines.offers import Systems
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.settings import LARGEST_RETRIEVAL, LONGEST_QUESTION, Settings
from rtv_core.text import COVERAGE_RULES
from rtv_core.ui import asking, checks, judging, presenting, render, second, whatif
from rtv_core.ui.latest import QUICK, wire_latest
from rtv_core.ui.parts import PARTS, has_parts, parts_on
from rtv_core.ui.session import Run, annotator_of, signed_name
from rtv_core.ui.workbench import Workbench

__all__ = ["add_explore"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.events = [
  "choose", "judge", "undo", "redo", "refresh", "example", "turn", "whatif", "flip", "second",
];
window.rtv.send = window.rtv.latest(trigger, ["choose", "refresh", "turn", "whatif", "second"]);
"""
"""Hands Gradio's way to call the server to keys.js, and names the events that may be sent."""

MARK = "(tau, k, single) => window.rtv?.mark?.(tau, k, single)"
"""Moving a control that only marks: no call to the server."""

NAME = "(run, name) => [run, window.rtv?.name?.() ?? name]"
"""The annotator's name is remembered in the browser."""

Parts = dict[str, Any]
"""Components by name."""


def add_explore(workbench: Workbench, page: gr.Blocks, systems: Systems) -> None:
    """Lay out the page inside `page`, at the current place, and wire it; `systems` can be compared with."""
    parts = {
        "run": gr.State(Run()),
        "session": gr.State(None),
        "drafts": gr.State({}),
        "loading": _html("", "loading"),
        "notice": _html("", "notice"),
        **_question_row(workbench),
        "progress": _html(render.render_welcome(workbench.questions), "progress"),
        **_controls(workbench.settings),
        **_columns(workbench.settings, systems),
        "bridge": gr.HTML("", elem_id="rtv-bridge", visible="hidden", js_on_load=BRIDGE),
    }
    _wire_asking(workbench, parts, page, systems)
    _wire_judging(workbench, parts)
    _wire_whatif(workbench, parts)
    marking = [parts[name] for name in ("tau", "k", "single")]
    for control in marking:
        control.change(None, marking, None, js=MARK, show_progress="hidden", api_visibility="private")


def _question_row(workbench: Workbench) -> Parts:
    with gr.Row(elem_id="rtv-ask"):
        question = _field("Question", "Ask a question that may have many answers", "question")
        ask = gr.Button("Ask", variant="primary", elem_id="rtv-ask-button", scale=0, min_width=72)
        stop = gr.Button("Stop", elem_id="rtv-stop-button", scale=0, min_width=72, interactive=False)
        _html(render.render_examples(workbench.questions), "examples")
    return {"question": question, "ask": ask, "stop": stop}


def _controls(settings: Settings) -> Parts:
    parts = {}
    with gr.Row(elem_id="rtv-controls"):
        parts["tau"] = gr.Slider(
            0, 1, settings.verifier.tau, step=0.01, label="tau", elem_id="rtv-tau", buttons=[]
        )
        parts["k"] = gr.Radio(list(EVIDENCE_SIZES), value=settings.verifier.k, label="k", elem_id="rtv-k")
        parts["single"] = gr.Checkbox(
            settings.verifier.single_answer, label="one answer only", elem_id="rtv-single", container=False
        )
        with gr.Accordion("Advanced", open=False, elem_id="rtv-advanced"), gr.Row():
            parts |= _advanced(settings)
        parts["summary"] = _html(render.render_summary(None, (), settings.verifier), "summary")
    return parts


def _advanced(settings: Settings) -> Parts:
    return {
        "passages": gr.Number(
            settings.retriever.passages,
            label="passages |B|",
            info="how many are retrieved",
            precision=0,
            minimum=1,
            maximum=LARGEST_RETRIEVAL,
            min_width=130,
        ),
        "relevance": gr.Slider(
            0,
            1,
            settings.recaller.relevance,
            step=0.01,
            label="relevance",
            info="a passage less probably relevant gives no candidate",
            buttons=[],
            min_width=220,
        ),
        "coverage": gr.Radio(
            list(COVERAGE_RULES),
            value=settings.evidence.coverage,
            label="coverage",
            info="which passages count as holding a candidate",
            min_width=220,
        ),
        "parts": gr.CheckboxGroup(
            list(PARTS),
            value=parts_on(settings),
            label="parts of the system",
            info="Switch one off, ask again, and see what it gave. The last two belong to verification.",
            visible=has_parts(settings),
            elem_id="rtv-parts",
        ),
    }


def _columns(settings: Settings, systems: Systems) -> Parts:
    parts = {}
    with gr.Row(elem_id="rtv-columns"):
        with gr.Column(elem_id="rtv-left", min_width=0):
            parts["candidates"] = _html(
                render.render_candidates(None, (), (), settings.verifier), "candidates"
            )
            parts["second"] = _html(render.render_second(systems.names), "second")
            with gr.Row(elem_id="rtv-missing"):
                _field("An answer that is missing", "+ an answer that is missing (Enter)", "missing-text")
        with gr.Column(elem_id="rtv-middle", min_width=0):
            parts["evidence"] = _html(render.render_empty_evidence(), "evidence")
            parts["whatif"] = _html("", "whatif")
            with gr.Column(elem_id="rtv-judging", min_width=0):
                parts["judge"] = _html(render.render_judge(None, None), "judge")
                with gr.Row(elem_id="rtv-words"):
                    parts["note"] = _field("Note", "Note (n)", "note", checks.LONGEST_NOTE)
                    parts["annotator"] = _field(
                        "Your name", "Your name", "annotator", checks.LONGEST_NAME, value="me"
                    )
                parts["saved"] = _html(render.render_unsaid(), "saved")
        with gr.Column(elem_id="rtv-right", min_width=0):
            parts["retrieved"] = _html(render.render_passages(None), "passages")
    return parts


def _wire_asking(workbench: Workbench, parts: Parts, page: gr.Blocks, systems: Systems) -> None:
    def opened(run, name, request: gr.Request):
        parameters = dict(request.query_params)
        open_link = presenting.open_stored if presenting.is_stored(parameters) else asking.open_link
        link = open_link(workbench, run, parameters, name)
        choice = second.open_second(systems, run, parameters)
        if signed := signed_name(request):
            link = link._replace(annotator=gr.update(value=signed, interactive=False))
        return *link, choice

    def loading():
        yield from asking.show_loading(workbench)

    def stored(run, tau, k, single, name, request: gr.Request):
        return presenting.show_stored(workbench, run, tau, k, single, annotator_of(request, name))

    def turn(run, tau, k, single, name, event: gr.EventData, request: gr.Request):
        name = annotator_of(request, name)
        return presenting.turn(workbench, run, tau, k, single, name, event._data)

    def example(run, event: gr.EventData):
        text = checks.read_text(checks.read_event(event._data).get("question"), "question", LONGEST_QUESTION)
        run.call(text)
        return gr.skip() if run.frozen else text

    def answers(request: gr.Request, *values):
        *asked, name = values
        yield from asking.show_answers(workbench, *asked, annotator_of(request, name))

    def choose_second(run, event: gr.EventData):
        second.choose_second(systems, run, event._data)

    def seconded(run, session, tau, k, single, name, request: gr.Request):
        name = annotator_of(request, name)
        yield from second.show_second(workbench, systems, run, session, tau, k, single, name)

    asked = [parts[name] for name in ("passages", "relevance", "coverage", "parts", "tau", "k", "single")]
    shown = asking.Answers(
        progress=parts["progress"],
        summary=parts["summary"],
        candidates=parts["candidates"],
        evidence=parts["evidence"],
        passages=parts["retrieved"],
        judge=parts["judge"],
        saved=parts["saved"],
        note=parts["note"],
        drafts=parts["drafts"],
        session=parts["session"],
        ask=parts["ask"],
        stop=parts["stop"],
    )
    answer = {
        "fn": answers,
        "inputs": [parts["run"], *asked, parts["annotator"]],
        "outputs": list(shown),
        "concurrency_id": "ask",  # one question at a time has the machine's cores
        "concurrency_limit": 1,
        "show_progress": "hidden",
        "api_visibility": "private",
    }
    compare = answer | {
        "fn": seconded,
        "inputs": [parts["run"], *_view(parts)],
        "outputs": [parts[name] for name in second.Seconded._fields],
    }
    run, bridge = parts["run"], parts["bridge"]
    link = [parts[name] for name in (*asking.Opened._fields, "second")]
    opening = page.load(opened, [run, parts["annotator"]], link, js=NAME, **QUICK)
    opening.then(**answer).then(**compare)
    kept = [run, *(parts[name] for name in ("tau", "k", "single", "annotator"))]
    opening.then(stored, kept, list(shown), **QUICK).then(**compare)
    turning = wire_latest(bridge, "turn", turn, kept, [parts["question"], *shown])
    turning.then(**compare)
    bridge.example(example, run, parts["question"], **QUICK).then(**answer).then(**compare)
    for asking_now in (parts["ask"].click, parts["question"].submit):
        called = asking_now(asking.call_answers, [run, parts["question"]], list(shown), **QUICK)
        called.then(**answer).then(**compare)
    wire_latest(bridge, "second", choose_second, run, None).then(**compare)
    parts["stop"].click(asking.stop_answers, run, list(shown), **QUICK)
    page.load(
        loading,
        None,
        parts["loading"],
        concurrency_limit=None,
        show_progress="hidden",
        api_visibility="private",
    )


def _wire_judging(workbench: Workbench, parts: Parts) -> None:
    def choose(session, tau, k, single, name, note, drafts, event: gr.EventData, request: gr.Request):
        name = annotator_of(request, name)
        return judging.show_candidate(workbench, session, tau, k, single, name, note, drafts, event._data)

    def judge(session, tau, k, single, name, note, drafts, event: gr.EventData, request: gr.Request):
        name = annotator_of(request, name)
        return judging.save_judgement(workbench, session, tau, k, single, name, note, drafts, event._data)

    def undo(session, tau, k, single, name, event: gr.EventData, request: gr.Request):
        name = annotator_of(request, name)
        return judging.take_back(workbench, session, tau, k, single, name, False, event._data)

    def redo(session, tau, k, single, name, event: gr.EventData, request: gr.Request):
        name = annotator_of(request, name)
        return judging.take_back(workbench, session, tau, k, single, name, True, event._data)

    def refresh(session, tau, k, single, name, event: gr.EventData, request: gr.Request):
        name = annotator_of(request, name)
        return judging.show_verdicts(workbench, session, tau, k, single, name, event._data)

    bridge, view = parts["bridge"], _view(parts)
    written = [*view, parts["note"], parts["drafts"]]
    chosen = [parts[name] for name in judging.Chosen._fields]
    judged = [parts[name] for name in judging.Judged._fields]
    wire_latest(bridge, "choose", choose, written, chosen)
    bridge.judge(judge, written, judged, trigger_mode="multiple", **QUICK)
    bridge.undo(undo, view, judged, trigger_mode="multiple", **QUICK)
    bridge.redo(redo, view, judged, trigger_mode="multiple", **QUICK)
    wire_latest(bridge, "refresh", refresh, view, judged)


def _wire_whatif(workbench: Workbench, parts: Parts) -> None:
    def without(session, tau, k, single, event: gr.EventData):
        return whatif.show_whatif(workbench, session, tau, k, single, event._data)

    def flip(session, tau, k, single, event: gr.EventData):
        return whatif.show_flip(workbench, session, tau, k, single, event._data)

    bridge, made = parts["bridge"], parts["whatif"]
    view = _view(parts)[:-1]
    wire_latest(bridge, "whatif", without, view, made)
    bridge.flip(
        flip,
        view,
        made,
        trigger_mode="multiple",
        concurrency_id="ask",
        show_progress="hidden",
        api_visibility="private",
    )


def _view(parts: Parts) -> list[Any]:
    return [parts[name] for name in ("session", "tau", "k", "single", "annotator")]


def _html(value: str, name: str) -> gr.HTML:
    return gr.HTML(value, elem_id=f"rtv-{name}", apply_default_css=False, padding=False)


def _field(label: str, placeholder: str, name: str, most: int | None = None, value: str = "") -> gr.Textbox:
    return gr.Textbox(
        value,
        label=label,
        placeholder=placeholder,
        elem_id=f"rtv-{name}",
        show_label=False,
        container=False,
        max_lines=1,
        max_length=most,
        min_width=0,
    )
