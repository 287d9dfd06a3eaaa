"""The Documents page on the screen: the work that goes on, and all the rest, drawn by the server."""

from __future__ import annotations

import gradio as gr

from rtv_core.ui.admin import Access
from rtv_core.ui.documents import actions
from rtv_core.ui.documents.room import Room
from rtv_core.ui.latest import QUICK, wire_latest

__all__ = ["add_documents"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.documentsEvents = [
  "show", "create", "read", "build", "stop", "remove", "columns", "delete", "watch"
];
window.rtv.toDocuments = window.rtv.latest(trigger, ["show", "watch"]);
window.rtv.documentsReady?.();
"""
"""Hands Gradio's way to call the server to documents.js, and names the events that may be sent."""

OPEN_LINKED = "() => window.rtv?.documentsShown?.()"


def add_documents(room: Room, access: Access, page: gr.Blocks) -> None:
    """Add the tab at the current place, and wire it. Where people sign in, it appears for admins only.

    A hidden tab keeps nobody out: every handler, and `Receiver`, asks who calls.
    """
    with gr.Tab("Documents", id="documents", elem_id="rtv-documents", visible=not access.shared) as tab:
        work = gr.HTML("", elem_id="rtv-documents-work", apply_default_css=False, padding=False)
        board = gr.HTML("", elem_id="rtv-documents-board", apply_default_css=False, padding=False)
        bridge = gr.HTML("", elem_id="rtv-documents-bridge", visible="hidden", js_on_load=BRIDGE)

    for name in actions.ACTIONS:
        wire_latest(bridge, name, _handler(room, access, name), None, [work, board])

    def watch(event: gr.EventData, request: gr.Request):
        return actions.watch(room, access, request, event._data)

    def show_tab(request: gr.Request):
        return gr.update(visible=access.allows(request))

    wire_latest(bridge, "watch", watch, None, [work, board])
    if access.shared:
        shown = page.load(show_tab, None, tab, **QUICK)
        shown.then(None, None, None, js=OPEN_LINKED, **QUICK)


def _handler(room: Room, access: Access, name: str):
    def handle(event: gr.EventData, request: gr.Request):
        return actions.act(room, access, request, name, event._data)

    handle.__name__ = name
    return handle
