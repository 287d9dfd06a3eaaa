"""Handlers of the Admin page: each asks first who calls, then draws the whole page as it is afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable

import gradio as gr

from rtv_core.errors import InputError, RtvError
from rtv_core.store.backups import make_backup
from rtv_core.ui import checks
from rtv_core.ui.admin.access import Access
from rtv_core.ui.admin.board import read_board
from rtv_core.ui.admin.render import render_board, render_refused
from rtv_core.ui.markup import Markup
from rtv_core.ui.session import signed_name
from rtv_core.ui.workbench import Workbench

__all__ = ["back_up", "release", "show_board"]

UNEXPECTED = "Something failed that should not have; the server's log says what. Refresh the page."
LONGEST_ID = 80

log = logging.getLogger(__name__)


def show_board(workbench: Workbench, access: Access, request: gr.Request | None) -> Markup:
    """The page as it is."""
    return _answer(workbench, access, request, lambda: "")


def release(workbench: Workbench, access: Access, request: gr.Request | None, event: object) -> Markup:
    """End the claim that an event names by `queue`, `place` and `annotator`: others may take the item."""
    return _answer(workbench, access, request, lambda: _release(workbench, request, event))


def back_up(workbench: Workbench, access: Access, request: gr.Request | None) -> Markup:
    """Make a backup now."""

    def make() -> str:
        made = make_backup(workbench.store)
        return f"Backup made: {made.path.name}, whole and checked."

    return _answer(workbench, access, request, make)


def _release(workbench: Workbench, request: gr.Request | None, event: object) -> str:
    event = checks.read_event(event)
    queue_id = checks.read_text(event.get("queue"), "queue", LONGEST_ID)
    annotator = checks.read_text(event.get("annotator"), "annotator's name", checks.LONGEST_NAME)
    place = event.get("place")
    claims = workbench.queues.claims(queue_id)
    if type(place) is not int or not any((c.place, c.annotator) == (place, annotator) for c in claims):
        raise InputError(f"{annotator or 'Nobody'} does not hold this item any more. Nothing is changed.")
    workbench.queues.release(queue_id, place, annotator)
    by = signed_name(request) or "somebody on this machine"
    log.info("%s released item %d of the queue %s, held by %s.", by, place, queue_id, annotator)
    return f"Released: item {place}, held by {annotator}. Whoever asks next gets it."


def _answer(
    workbench: Workbench, access: Access, request: gr.Request | None, act: Callable[[], str]
) -> Markup:
    """Act, if the caller may; then the page, with what was done or why it was not."""
    try:
        access.check(request)
    except RtvError as error:
        log.warning("%r may not use the Admin page.", signed_name(request))
        return render_refused(str(error))
    said, failed = "", False
    try:
        try:
            said = act()
        except RtvError as error:
            said, failed = str(error), True
        return render_board(read_board(workbench, access.accounts), said, failed)
    except RtvError as error:
        return render_refused(f"{said} {error}".strip())
    except Exception:
        log.exception("The Admin page can't be drawn.")
        return render_refused(UNEXPECTED)
