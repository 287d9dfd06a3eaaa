"""Takes in the files that the Documents page sends, one a request, and puts them into their collection.

Gradio's own way would let everybody who may see a page fill the disk with files of any form. This is ASGI
middleware behind `Guard`, which has seen to where a request comes from and who sent it.
"""

from __future__ import annotations

import logging
from types import SimpleNamespace

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rtv_core.corpus.uploads import Incoming
from rtv_core.errors import RtvError
from rtv_core.ui.admin import Access
from rtv_core.ui.documents.room import Room
from rtv_core.ui.signin import signed_in_name

__all__ = ["PATH", "Receiver"]

PATH = "/documents/files"
CHUNK = 2**20
"""Bytes collected between two writes to the disk."""

log = logging.getLogger(__name__)


class Receiver:
    """Answers PUT /documents/files?collection=ID&name=NAME with the name that the file got, 201; or why not.

    Only those whom `access` allows may send; every other path is the pages' affair.
    """

    def __init__(self, app: ASGIApp, room: Room, access: Access) -> None:
        self._app = app
        self._room = room
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "PUT":
            return PlainTextResponse("Send a file by PUT.", 405, {"Allow": "PUT"})
        by = signed_in_name(request) or ""
        try:
            await run_in_threadpool(self._access.check, SimpleNamespace(username=by))
        except RtvError as error:
            log.warning("%r may not hand in documents.", by)
            return PlainTextResponse(str(error), 403)
        try:
            name = await self._take(request)
        except ClientDisconnect:
            return PlainTextResponse("The file did not come whole.", 400)
        except RtvError as error:
            # What still comes of the file isn't read: the connection ends with the answer.
            return PlainTextResponse(str(error), 400, {"Connection": "close"})
        log.info("%s handed in %s.", by or "Somebody on this machine", name)
        return PlainTextResponse(name, 201)

    async def _take(self, request: Request) -> str:
        collection_id = request.query_params.get("collection", "")
        name = request.query_params.get("name", "")
        length = request.headers.get("content-length", "")
        size = int(length) if length.isdecimal() else None
        self._room.refuse_busy(collection_id)
        incoming = await run_in_threadpool(self._room.collections.receive, collection_id, name, size)
        with incoming:
            await _write(request, incoming)
            return await run_in_threadpool(incoming.commit)


async def _write(request: Request, incoming: Incoming) -> None:
    waiting = bytearray()
    async for data in request.stream():
        waiting += data
        if len(waiting) >= CHUNK:
            await run_in_threadpool(incoming.write, bytes(waiting))
            waiting.clear()
    if waiting:
        await run_in_threadpool(incoming.write, bytes(waiting))
