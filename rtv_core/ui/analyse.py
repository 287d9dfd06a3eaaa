"""The Analyse page: what the verdicts on a run mean. Layout, then wiring."""

from __future__ import annotations

from collections.abc import Callable

import gradio as gr

from rtv_core.ui import analysing, render
from rtv_core.ui.analysis.controls import render_search
from rtv_core.ui.analysis.state import Analyses
from rtv_core.ui.latest import wire_latest
from rtv_core.ui.session import signed_name
from rtv_core.ui.workbench import Workbench

__all__ = ["add_analyse"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.analyseEvents = [
  "controls", "filter", "figures", "curves", "slices", "people", "questions", "settle", "unsettle", "file",
];
window.rtv.analyse?.(window.rtv.latest(trigger, [
  "controls", "figures", "curves", "slices", "people", "questions",
]));
"""
"""Hands Gradio's way to call the server to analyse.js, and names the events that may be sent."""

WORKING = "Working out the figures…"

OPTIONS = {"show_progress": "hidden", "api_visibility": "private", "concurrency_limit": 4}


def add_analyse(
    workbench: Workbench, seen: Callable[[gr.Request | None], bool] = analysing.may_see_verdicts
) -> None:
    """Lay out the page at the current place, and wire it.

    `seen` says whether whoever sent a request may see, and settle, single verdicts of others.
    """
    analyses = Analyses(workbench)
    controls = _part("controls", "")
    filtering = _part("filter", "")
    with gr.Row(elem_id="rtv-analyse-columns"):
        with gr.Column(elem_id="rtv-analyse-left", min_width=0):
            figures = _part("figures", render.render_message(WORKING, "busy"))
            curves = _part("curves", "")
            slices = _part("slices", "")
            settled = _part("settled", "")
            people = _part("people", "")
        with gr.Column(elem_id="rtv-analyse-right", min_width=0):
            _part("search", render_search())
            questions = _part("questions", "")
    file = _part("file", "")
    bridge = gr.HTML("", elem_id="rtv-analyse-bridge", visible="hidden", js_on_load=BRIDGE)

    def draw_controls(event: gr.EventData, request: gr.Request):
        return analysing.show_controls(workbench, analyses, event._data)

    def draw_figures(event: gr.EventData, request: gr.Request):
        return analysing.show_figures(analyses, event._data, seen(request))

    def draw_curves(event: gr.EventData, request: gr.Request):
        return analysing.show_curves(analyses, event._data, seen(request))

    def draw_slices(event: gr.EventData, request: gr.Request):
        who = signed_name(request)
        return analysing.show_slices(workbench, analyses, event._data, seen(request), who)

    def draw_filter(event: gr.EventData, request: gr.Request):
        return analysing.show_filter(workbench, analyses, event._data, signed_name(request))

    def draw_people(event: gr.EventData, request: gr.Request):
        return analysing.show_people(analyses, event._data, seen(request), signed_name(request))

    def draw_questions(event: gr.EventData, request: gr.Request):
        return analysing.show_questions(workbench, analyses, event._data, seen(request))

    def settle(event: gr.EventData, request: gr.Request):
        who = signed_name(request)
        return analysing.save_adjudication(workbench, analyses, event._data, seen(request), who)

    def unsettle(event: gr.EventData, request: gr.Request):
        who = signed_name(request)
        return analysing.take_back_adjudication(workbench, event._data, seen(request), who)

    def save(event: gr.EventData, request: gr.Request):
        who = signed_name(request)
        return analysing.make_file(workbench, analyses, event._data, seen(request), who)

    wire_latest(bridge, "controls", draw_controls, None, controls, **OPTIONS)
    wire_latest(bridge, "figures", draw_figures, None, figures, **OPTIONS)
    wire_latest(bridge, "curves", draw_curves, None, curves, **OPTIONS)
    wire_latest(bridge, "slices", draw_slices, None, slices, **OPTIONS)
    wire_latest(bridge, "people", draw_people, None, people, **OPTIONS)
    wire_latest(bridge, "questions", draw_questions, None, questions, **OPTIONS)
    each = {"trigger_mode": "multiple", **OPTIONS}
    bridge.filter(draw_filter, None, filtering, **each)
    bridge.settle(settle, None, settled, **each)
    bridge.unsettle(unsettle, None, settled, **each)
    bridge.file(save, None, file, **each)


def _part(name: str, value: str) -> gr.HTML:
    return gr.HTML(value, elem_id=f"rtv-analyse-{name}", apply_default_css=False, padding=False)
