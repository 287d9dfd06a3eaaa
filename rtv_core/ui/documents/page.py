"""The Documents page on the screen: the work that goes on, and all the rest, drawn by the server."""

from __future__ import annotations

import gradio as gr

from rtv_core.ui.admin import Access
from rtv_core.ui.documents import actions
from rtv_core.ui.documents.room import Room

__all__ = ["add_documents"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.documentsEvents = [
  "show", "create", "read", "build", "stop", "remove", "columns", "delete", "watch"
];
window.rtv.toDocuments = trigger;
window.rtv.documentsReady?.();
"""
"""Hands Gradio's way to call the server to documents.js, and names the events that may be sent."""

OPEN_LINKED = "() => window.rtv?.documentsShown?.()"

OPTIONS = {"show_progress": "hidden", "api_visibility": "private", "queue": False}


def add_documents(room: Room, access: Access, page: gr.Blocks) -> None:
    """Add the tab at the current place, and wire it. Where people sign in, it appears for admins only.

    A hidden tab keeps nobody out: every handler, and `Receiver`, asks who calls.
    """
    with gr.Tab("Documents", id="documents", elem_id="rtv-documents", visible=not access.shared) as tab:
        work = gr.HTML("", elem_id="rtv-documents-work", apply_default_css=False, padding=False)
        board = gr.HTML("", elem_id="rtv-documents-board", apply_default_css=False, padding=False)
        bridge = gr.HTML("", elem_id="rtv-documents-bridge", visible="hidden", js_on_load=BRIDGE)

    for name in actions.ACTIONS:
        repeats = "always_last" if name == "show" else "multiple"
        handler = _handler(room, access, name)
        getattr(bridge, name)(handler, None, [work, board], trigger_mode=repeats, **OPTIONS)

    def watch(event: gr.EventData, request: gr.Request):
        return actions.watch(room, access, request, event._data)

    def show_tab(request: gr.Request):
        return gr.update(visible=access.allows(request))

    bridge.watch(watch, None, [work, board], trigger_mode="always_last", **OPTIONS)
    if access.shared:
        shown = page.load(show_tab, None, tab, **OPTIONS)
        shown.then(None, None, None, js=OPEN_LINKED, **OPTIONS)


def _handler(room: Room, access: Access, name: str):
    def handle(event: gr.EventData, request: gr.Request):
        return actions.act(room, access, request, name, event._data)

    handle.__name__ = name
    return handle
