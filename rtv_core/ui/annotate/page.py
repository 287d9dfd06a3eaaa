"""The Annotate page on the screen: one part that the server fills, one that the browser shows it in."""

from __future__ import annotations

import gradio as gr

from rtv_core.ui import checks
from rtv_core.ui.annotate.actions import answer
from rtv_core.ui.markup import Markup
from rtv_core.ui.session import annotator_of, signed_name
from rtv_core.ui.workbench import Workbench

__all__ = ["add_annotate", "show_answer"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.annotateEvents = ["annotate"];
window.rtv.toAnnotate = trigger;
window.rtv.annotateReady?.();
"""
"""Hands Gradio's way to call the server to annotate.js, and names the event that may be sent."""

GUIDE = "rtv-prose rtv-guide"


def show_answer(workbench: Workbench, data: object, request: gr.Request | None) -> Markup:
    """Do what the page asks for in the name of whoever is signed in, else in the name that was typed."""
    data = dict(checks.read_event(data))
    signed = {"signed": bool(signed_name(request))}
    return answer(workbench, annotator_of(request, data.get("name")), data | signed)


def add_annotate(workbench: Workbench, guidelines: str) -> None:
    """Lay out the page at the current place, and wire it. `guidelines` (Markdown) open with a key.

    What the server draws arrives in a part that nobody sees, and the browser takes from there what is new:
    so the next item can be ready before it is shown, and nothing is drawn over words that are being typed.
    """
    feed = gr.HTML("", elem_id="rtv-feed", apply_default_css=False, padding=False)
    gr.HTML('<div id="rtv-desk"></div>', elem_id="rtv-desk-frame", apply_default_css=False, padding=False)
    gr.Markdown(guidelines, elem_id="rtv-guide", elem_classes=GUIDE)
    bridge = gr.HTML("", elem_id="rtv-annotate-bridge", visible="hidden", js_on_load=BRIDGE)

    def annotate(event: gr.EventData, request: gr.Request):
        return show_answer(workbench, event._data, request)

    bridge.annotate(
        annotate,
        None,
        feed,
        trigger_mode="multiple",
        queue=False,
        show_progress="hidden",
        api_visibility="private",
    )
