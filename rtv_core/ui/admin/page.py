"""The Admin page on the screen: one part, drawn whole by the server at every event."""

from __future__ import annotations

import gradio as gr

from rtv_core.ui.admin import actions
from rtv_core.ui.admin.access import Access
from rtv_core.ui.latest import QUICK, wire_latest
from rtv_core.ui.workbench import Workbench

__all__ = ["add_admin"]

BRIDGE = """
window.rtv = window.rtv || {};
window.rtv.adminEvents = ["board", "release", "backup"];
window.rtv.toAdmin = window.rtv.latest(trigger, ["board"]);
window.rtv.adminReady?.();
"""
"""Hands Gradio's way to call the server to admin.js, and names the events that may be sent."""

OPEN_LINKED = "() => window.rtv?.adminShown?.()"


def add_admin(workbench: Workbench, access: Access, page: gr.Blocks) -> None:
    """Add the tab at the current place, and wire it. Where people sign in, it appears for admins only.

    A hidden tab keeps nobody out: every handler asks who calls.
    """
    with gr.Tab("Admin", id="admin", elem_id="rtv-admin", visible=not access.shared) as tab:
        board = gr.HTML("", elem_id="rtv-admin-board", apply_default_css=False, padding=False)
        bridge = gr.HTML("", elem_id="rtv-admin-bridge", visible="hidden", js_on_load=BRIDGE)

    def show_tab(request: gr.Request):
        return gr.update(visible=access.allows(request))

    def show_board(request: gr.Request):
        return actions.show_board(workbench, access, request)

    def release(event: gr.EventData, request: gr.Request):
        return actions.release(workbench, access, request, event._data)

    def back_up(request: gr.Request):
        return actions.back_up(workbench, access, request)

    wire_latest(bridge, "board", show_board, None, board)
    bridge.release(release, None, board, trigger_mode="multiple", **QUICK)
    bridge.backup(back_up, None, board, trigger_mode="once", **QUICK)
    if access.shared:
        shown = page.load(show_tab, None, tab, **QUICK)
        shown.then(None, None, None, js=OPEN_LINKED, **QUICK)
