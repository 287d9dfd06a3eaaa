"""Signing in: a page that asks for name and password, and sessions that remember who came in.

Gradio's own login takes a name as it is typed, hands the token to scripts and sets a cookie that other sites'
requests carry; here Gradio only asks `signed_in_name` who it is.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rtv_core.accounts import Accounts, name_key
from rtv_core.errors import RtvError
from rtv_core.ui.markup import Markup, join, tag

__all__ = ["Failures", "SignIn", "render_sign_out", "signed_in_name"]

IDLE_SECONDS = 12 * 3600.0
"""A session ends when nothing was asked for so long, when the account is removed or gets another password,
and when the server stops."""

WINDOW_SECONDS = 15 * 60.0
FAILURES_BY_NAME = 5
FAILURES_BY_ADDRESS = 25
"""Failed sign-ins from one network address, for one name or in all, before it has to wait."""

LONGEST_FORM = 10_000
OPEN = ("/favicon.ico", "/gradio_api/startup-events")
"""What needs no session: startup-events is how Gradio, launching, wakes its own queue."""

NAME = "rtv.name"
"""Where in the ASGI scope a signed-in name stands."""

log = logging.getLogger(__name__)


def signed_in_name(request: Request) -> str | None:
    """Gradio's `auth_dependency`: who signed in, or None."""
    return request.scope.get(NAME)


def render_sign_out() -> Markup:
    """The button that ends the session."""
    button = tag("button", "Sign out", type="submit")
    return tag("form", button, method="post", action="/sign-out", class_="rtv-sign-out")


class _Session(NamedTuple):
    """Who came in, the stamp of the account then, and the time at which the session ends."""

    name: str
    stamp: str | None
    ends: float


class SignIn:
    """Lets people with an account in, and keeps who they are until they leave. For one event loop."""

    def __init__(self, accounts: Accounts, clock: Callable[[], float] = time.monotonic) -> None:
        self._accounts = accounts
        self._clock = clock
        self._sessions: dict[str, _Session] = {}
        self._by_name = Failures(FAILURES_BY_NAME, WINDOW_SECONDS, clock)
        self._by_address = Failures(FAILURES_BY_ADDRESS, WINDOW_SECONDS, clock)
        self._turn = asyncio.Lock()  # one password at a time: each check takes a core and 64 MB

    async def admit(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on with its name in the scope, or answer it: by the page that signs in, or 401."""
        request = Request(scope, receive)
        name = self._name(request)
        if scope["path"] in OPEN:
            await app(scope, receive, send)
        elif scope["path"] == "/sign-in":
            response = await self._sign_in(request) if request.method == "POST" else _page(_next(request))
            await response(scope, receive, _unstored(send))
        elif scope["path"] == "/sign-out":
            await self._sign_out(request)(scope, receive, _unstored(send))
        elif name is not None:
            await app({**scope, NAME: name}, receive, _unstored(send))
        else:
            await _sent_to_sign_in(request)(scope, receive, _unstored(send))

    def _name(self, request: Request) -> str | None:
        token = request.cookies.get(_cookie(request), "")
        if (session := self._sessions.get(token)) is None:
            return None
        try:
            is_his = self._accounts.stamp(session.name) == session.stamp
        except RtvError as error:
            log.error("Nobody is let in: %s", error)
            return None
        now = self._clock()
        if session.ends < now or not is_his:
            del self._sessions[token]
            return None
        self._sessions[token] = session._replace(ends=now + IDLE_SECONDS)
        return session.name

    async def _sign_in(self, request: Request) -> Response:
        form = await _form(request)
        if form is None:
            return PlainTextResponse("The form is too long.", 413)
        typed, after = form.get("name", ""), _local(form.get("next", ""))
        address = _network(request)
        async with self._turn:
            wait = max(self._by_name.wait((address, name_key(typed))), self._by_address.wait((address,)))
            if wait > 0:
                text = f"Too many failed sign-ins. Try again in {wait / 60:.0f} min."
                return _page(after, typed, text, 429, {"Retry-After": f"{wait:.0f}"})
            try:
                name, stamp = await run_in_threadpool(self._verify, typed, form.get("password", ""))
            except RtvError as error:
                log.error("Nobody can sign in: %s", error)
                return _page(after, typed, "Nobody can sign in now; the server's log says why.", 503)
            if name is None:
                self._by_name.add((address, name_key(typed)))
                self._by_address.add((address,))
                log.warning("A sign-in from %s failed.", address)
                return _page(after, typed, "Name or password is wrong.", 403)
        self._by_name.clear((address, name_key(typed)))
        return self._entered(request, name, stamp, after)

    def _verify(self, typed: str, password: str) -> tuple[str | None, str | None]:
        """Whose password it is, and the stamp of the account as it was when the password was right."""
        stamps = {name: self._accounts.stamp(name) for name in self._accounts.names()}
        name = self._accounts.verify(typed, password)
        return name, None if name is None else stamps.get(name)

    def _entered(self, request: Request, name: str, stamp: str | None, after: str) -> Response:
        now = self._clock()
        self._sessions = {token: kept for token, kept in self._sessions.items() if kept.ends >= now}
        token = secrets.token_urlsafe(32)
        self._sessions[token] = _Session(name, stamp, now + IDLE_SECONDS)
        response = RedirectResponse(after, 303)
        # Lax, not strict, so that a link in a mail opens; every write is held to our own pages by its Origin.
        response.set_cookie(
            _cookie(request), token, httponly=True, samesite="lax", secure=request.url.scheme == "https"
        )
        return response

    def _sign_out(self, request: Request) -> Response:
        if request.method != "POST":
            return PlainTextResponse("Sign out by the button.", 405, {"Allow": "POST"})
        self._sessions.pop(request.cookies.get(_cookie(request), ""), None)
        response = RedirectResponse("/sign-in", 303)
        response.delete_cookie(_cookie(request), httponly=True, samesite="lax")
        return response


class Failures:
    """Counts failures by key: after `most` of them within `seconds` a key has to wait."""

    KEYS = 10_000

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._times: dict[tuple[str, ...], deque[float]] = {}

    def add(self, key: tuple[str, ...]) -> None:
        """Count one. Of more keys than `KEYS` those that failed longest ago are forgotten."""
        times = self._times.pop(key, deque(maxlen=self._most))
        times.append(self._clock())
        self._times[key] = times
        if len(self._times) > self.KEYS:
            del self._times[next(iter(self._times))]

    def wait(self, key: tuple[str, ...]) -> float:
        """Seconds until the key may try again; 0 if it may now."""
        times = self._times.get(key, ())
        return max(times[0] + self._seconds - self._clock(), 0.0) if len(times) == self._most else 0.0

    def clear(self, key: tuple[str, ...]) -> None:
        """Forget the key's failures."""
        self._times.pop(key, None)


def _sent_to_sign_in(request: Request) -> Response:
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/sign-in?{urlencode({'next': request.url.path + query})}", 303)
    return JSONResponse({"detail": "Sign in first."}, 401)


def _page(
    after: str, name: str = "", problem: str = "", status: int = 200, headers: dict | None = None
) -> Response:
    """The form; `problem` says what was wrong with the last try."""
    fields = (
        tag(
            "label",
            "Name",
            tag("input", name_="name", value=name[:80], autocomplete="username", required=True),
        ),
        tag(
            "label",
            "Password",
            tag("input", name_="password", type="password", autocomplete="current-password", required=True),
        ),
    )
    form = tag(
        "form",
        tag("h1", "RTV"),
        tag("p", problem, role="alert") if problem else None,
        *fields,
        tag("input", type="hidden", name_="next", value=after),
        tag("button", "Sign in", type="submit"),
        method="post",
        action="/sign-in",
    )
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", "Sign in · RTV"),
        tag("style", Markup(STYLE)),
    )
    page = join([Markup("<!doctype html>"), tag("html", head, tag("body", tag("main", form)), lang="en")])
    return HTMLResponse(page, status, headers)


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of a form, the first of each name; None if it is too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            return None
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return None
    return {name: values[0] for name, values in fields.items()}


def _next(request: Request) -> str:
    return _local(request.query_params.get("next", ""))


def _local(path: str) -> str:
    """The path if it lies on this server, else the first page."""
    return path if re.fullmatch(r"/(?![/\\])[^\\\x00-\x20\x7f]{0,4000}", path) else "/"


def _network(request: Request) -> str:
    """The client's address; for IPv6 its network, of which one client has all addresses."""
    host = request.client.host if request.client else ""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else str(ip)


def _cookie(request: Request) -> str:
    """Browsers share cookies over the ports of a host: servers on two ports must not take each other's."""
    return f"rtv-session-{(request.scope.get('server') or ('', 0))[1]}"


def _unstored(send: Send) -> Send:
    """Keeps what one person saw out of caches, where the next one could find it."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message.get("headers", ())}
            if b"cache-control" not in names and b"etag" not in names:
                message["headers"] = [*message.get("headers", ()), (b"cache-control", b"no-store")]
        await send(message)

    return sending


STYLE = """
:root { color-scheme: light dark; font: 15px system-ui, sans-serif; }
body { margin: 0; }
main { display: grid; min-height: 100vh; place-items: center; }
form { display: grid; gap: 12px; width: min(300px, calc(100vw - 48px)); }
h1 { margin: 0; font-size: 20px; }
label { display: grid; gap: 4px; }
input, button { font: inherit; padding: 8px; }
p { margin: 0; color: light-dark(#b3261e, #ff8a80); }
"""
