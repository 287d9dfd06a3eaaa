"""The Compare page on the screen: a form that the browser reads, and two parts that the server fills."""

from __future__ import annotations

import gradio as gr

from rtv_core.baselines.offers import Systems
from rtv_core.ui.compare.actions import Compared, call_comparison, show_comparison, stop_comparison
from rtv_core.ui.compare.render import render_form, render_welcome
from rtv_core.ui.latest import QUICK, wire_latest
from rtv_core.ui.session import Run
from rtv_core.ui.workbench import Workbench

__all__ = ["add_compare"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.compareEvents = ["compare", "halt"];
window.rtv.compare?.(window.rtv.latest(trigger, ["compare"]));
"""
"""Hands Gradio's way to call the server to compare.js, and names the events that may be sent."""


def add_compare(workbench: Workbench, systems: Systems) -> None:
    """Lay out the page at the current place, and wire it."""
    run, wanted = gr.State(Run()), gr.State(None)
    _part("form", render_form(systems.names))
    said = _part("said", "")
    table = _part("table", render_welcome(workbench.questions))
    bridge = gr.HTML("", elem_id="rtv-compare-bridge", visible="hidden", js_on_load=BRIDGE)
    shown = list(Compared(said=said, table=table))

    def call(run, event: gr.EventData):
        return call_comparison(run, event._data)

    def compare(run, wanted):
        yield from show_comparison(workbench, systems, run, wanted)

    wire_latest(bridge, "compare", call, run, wanted).then(
        compare,
        [run, wanted],
        shown,
        concurrency_id="ask",  # one question at a time has the machine's cores
        concurrency_limit=1,
        show_progress="hidden",
        api_visibility="private",
    )
    bridge.halt(stop_comparison, run, shown, **QUICK)


def _part(name: str, value: str) -> gr.HTML:
    return gr.HTML(value, elem_id=f"rtv-compare-{name}", apply_default_css=False, padding=False)
