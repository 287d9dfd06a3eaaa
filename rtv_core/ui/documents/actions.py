"""Handlers of the Documents page: each asks first who calls, then draws the page as it is afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gradio as gr

from rtv_core.corpus.tables import FIELDS
from rtv_core.errors import MissingError, RtvError
from rtv_core.ui import checks
from rtv_core.ui.admin import Access
from rtv_core.ui.documents.board import read_board
from rtv_core.ui.documents.render import render_board, render_refused, render_work
from rtv_core.ui.documents.room import Room
from rtv_core.ui.session import signed_name

__all__ = ["ACTIONS", "Drawn", "act", "watch"]

UNEXPECTED = "Something failed that should not have; the server's log says what. Reload the page."
LONGEST = 255

log = logging.getLogger(__name__)

Event = Mapping[str, object]


class Drawn(NamedTuple):
    """What an action draws: the work that goes on, and all the rest."""

    work: Any
    board: Any


def act(room: Room, access: Access, request: gr.Request | None, name: str, event: object) -> Drawn:
    """Do what an event asks for, one of `ACTIONS`, if the caller may; then the page."""
    event = checks.read_event(event)
    return _answer(room, access, request, event, lambda: ACTIONS[name](room, event, signed_name(request)))


def watch(room: Room, access: Access, request: gr.Request | None, event: object) -> Drawn:
    """How far the work is; the whole page once it has ended."""
    work = room.worker.now()
    if work is not None and not work.ended and access.allows(request):
        return Drawn(render_work(work), gr.skip())
    return act(room, access, request, "show", event)


def show(room: Room, event: Event, by: str) -> tuple[str, str]:
    """The collection that the event names, or all of them."""
    return "", _named(event)


def create(room: Room, event: Event, by: str) -> tuple[str, str]:
    """Make a collection and open it."""
    name = checks.read_text(event.get("name"), "name of the collection", LONGEST)
    return "", room.collections.create(name, by).id


def read(room: Room, event: Event, by: str) -> tuple[str, str]:
    """Read the documents of a collection ahead of its index."""
    room.read(_named(event))
    return "", _named(event)


def build(room: Room, event: Event, by: str) -> tuple[str, str]:
    """Build a collection's index, or go on where a build was stopped."""
    room.build(_named(event))
    log.info("%s builds the index of %s.", by or "Somebody on this machine", _named(event))
    return "", _named(event)


def stop(room: Room, event: Event, by: str) -> tuple[str, str]:
    """Stop the work of a number."""
    room.worker.stop(event.get("serial"))
    return "", _named(event)


def remove(room: Room, event: Event, by: str) -> tuple[str, str]:
    """Take a file out of a collection."""
    room.refuse_busy(_named(event))
    file = checks.read_text(event.get("file"), "name of the file", LONGEST)
    room.collections.remove(_named(event), file)
    return f"Removed: {file}.", _named(event)


def columns(room: Room, event: Event, by: str) -> tuple[str, str]:
    """Say which columns of a table give what, and read the documents again."""
    room.refuse_busy(_named(event))
    file = checks.read_text(event.get("file"), "name of the file", LONGEST)
    chosen = {
        what: column
        for what in FIELDS
        if (column := checks.read_text(event.get(what), f"column of the {what}", 1000))
    }
    room.collections.name_columns(_named(event), file, chosen)
    room.read(_named(event))
    return "", _named(event)


def delete(room: Room, event: Event, by: str) -> tuple[str, str]:
    """Delete a collection with its documents and index."""
    room.refuse_busy(_named(event))
    name = room.collections.get(_named(event)).name
    room.collections.delete(_named(event))
    log.info("%s deleted the collection %s.", by or "Somebody on this machine", _named(event))
    return f"Deleted: {name}.", ""


ACTIONS: Mapping[str, Callable[[Room, Event, str], tuple[str, str]]] = {
    "show": show,
    "create": create,
    "read": read,
    "build": build,
    "stop": stop,
    "remove": remove,
    "columns": columns,
    "delete": delete,
}
"""What an event can ask for. Each does it for whoever is signed in, and returns what to say of it and which
collection to show, "" for all."""


def _named(event: Event) -> str:
    return checks.read_text(event.get("collection"), "collection", LONGEST)


def _answer(
    room: Room,
    access: Access,
    request: gr.Request | None,
    event: Event,
    do: Callable[[], tuple[str, str]],
) -> Drawn:
    """Do it, if the caller may; then the page, with what was done or why it was not."""
    turn = event.get("turn")
    turn = turn if isinstance(turn, int) else 0
    try:
        access.check(request)
    except RtvError as error:
        log.warning("%r may not use the Documents page.", signed_name(request))
        return Drawn("", render_refused(str(error), turn))
    try:
        said, opened, failed = _done(event, do)
        try:
            board = read_board(room, opened)
        except MissingError as error:  # somebody deleted it in the meantime
            said, opened, failed, board = said or str(error), "", True, read_board(room)
        return Drawn(render_work(board.work, opened), render_board(board, said, failed, turn))
    except RtvError as error:
        return Drawn("", render_refused(str(error), turn))
    except Exception:
        log.exception("The Documents page can't be drawn.")
        return Drawn("", render_refused(UNEXPECTED, turn))


def _done(event: Event, do: Callable[[], tuple[str, str]]) -> tuple[str, str, bool]:
    """What to say, which collection to show, and whether it failed."""
    try:
        return *do(), False
    except RtvError as error:
        named = event.get("collection")
        return str(error), named if isinstance(named, str) else "", True
