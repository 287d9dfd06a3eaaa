"""The Experiments page on the screen: one part, drawn whole by the server from the folder as it is now."""

from __future__ import annotations

import logging
from pathlib import Path

import gradio as gr

from rtv_core.errors import RtvError
from rtv_core.experiments.results import read_results
from rtv_core.ui import checks, render
from rtv_core.ui.experiments.render import render_experiments
from rtv_core.ui.latest import QUICK, wire_latest
from rtv_core.ui.markup import Markup

__all__ = ["add_experiments", "show_experiments"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.experimentsEvents = ["experiment"];
window.rtv.experiments?.(window.rtv.latest(trigger, ["experiment"]));
"""
"""Hands Gradio's way to call the server to experiments.js, and names the events that may be sent."""

LONGEST_LINK = 10_000
"""A longer name than any file has is still one that isn't there; only what no link holds is refused."""

READING = "Reading the results…"
UNEXPECTED = (
    "Something failed that should not have; the server's log says what. Reload the page to try again."
)

log = logging.getLogger(__name__)


def add_experiments(folder: Path) -> None:
    """Add the tab at the current place, over the results in a folder."""
    with gr.Tab("Experiments", id="experiments", elem_id="rtv-experiments"):
        first = render.render_message(READING, "busy")
        part = gr.HTML(first, elem_id="rtv-experiments-part", apply_default_css=False, padding=False)
        bridge = gr.HTML("", elem_id="rtv-experiments-bridge", visible="hidden", js_on_load=BRIDGE)

    def show(event: gr.EventData):
        return show_experiments(folder, event._data)

    wire_latest(bridge, "experiment", show, None, part, **QUICK)


def show_experiments(folder: Path, event: object) -> Markup:
    """The page with the experiment that the event names, else the first that has a result."""
    try:
        name = checks.read_text(checks.read_event(event).get("name"), "experiment", LONGEST_LINK)
        return render_experiments(read_results(folder), name)
    except RtvError as error:
        return render.render_message(str(error), "error")
    except Exception:
        log.exception("The Experiments page can't be drawn.")
        return render.render_message(UNEXPECTED, "error")
