"""What the server answers at all: requests to its own address, from its own pages, of people who may.

Gradio alone takes any Host, answers any Origin unless it runs on localhost, and sends no header that holds a
browser to the page. This is ASGI middleware that stands in front of its routes.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import unquote_plus, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rtv_core.errors import InputError
from rtv_core.ui.signin import SignIn

__all__ = ["Guard", "read_site"]

POLICY = "; ".join(
    (
        "default-src 'self'",
        # Gradio writes its configuration into inline scripts and compiles `js=` and templates in the browser.
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "media-src 'self' data: blob:",
        "connect-src 'self' data: blob:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
"""Scripts can't be told apart by this policy, so markup is escaped; but nothing is fetched from, or sent to,
another site."""

HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # Not "no-referrer": then browsers send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

CLOSED = re.compile(
    r"/(?:login|logout|monitoring)\b"
    r"|/gradio_api/(?:deep_link|mcp|openapi|process_recording|proxy=|run-history|runs|token|vibe|undo-vibe)"
    r"|/gradio_api/file[=/]https?:",
    re.IGNORECASE,
)
"""Gradio's routes that these pages don't use and that could sign somebody in another way, fetch from other
sites, hand one session's values to another, or write code."""

GRADIOS = ("page", "deep_link")
READING = ("GET", "HEAD")
DEFAULT_PORTS = {"http": 80, "https": 443}


class Guard:
    """Refuses what comes for another host or from another site, and asks for a sign-in if there is one.

    A request must name the address that it came in on, localhost for a loopback one, or one of `sites`
    (from `read_site`): no name that an attacker could point at this machine. Whatever states an Origin must
    state one of these, and all that may write must state it.
    """

    def __init__(self, app: ASGIApp, sites: Sequence[str] = (), sign_in: SignIn | None = None) -> None:
        self._app = app
        self._sites = frozenset(sites)
        self._sign_in = sign_in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # a websocket; Gradio has none
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        own = self._sites | _origins(scope)
        if reason := _refusal(scope, own):
            await PlainTextResponse(reason, 403)(scope, receive, send)
        elif CLOSED.match(scope["path"]):
            await PlainTextResponse("Not here.", 404)(scope, receive, send)
        else:
            scope = _without_false_address(scope, own)
            if self._sign_in is None:
                await self._hand_on(scope, receive, send)
            else:
                await self._sign_in.admit(self._hand_on, scope, receive, send)

    async def _hand_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(_without_own_parameters(scope), receive, send)


def read_site(text: str) -> str:
    """The origin that a URL such as https://rtv.example.org names. Raises InputError for anything else."""
    try:
        parts = urlsplit(text.strip().lower())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if (
        parts.scheme not in DEFAULT_PORTS
        or not parts.hostname
        or "@" in parts.netloc
        or parts.path not in ("", "/")
        or parts.query
        or parts.fragment
    ):
        raise InputError(f"{text!r} is no address of a site. Write it as https://rtv.example.org.")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return _origin(parts.scheme, name, port)


def _origins(scope: Scope) -> frozenset[str]:
    """The addresses under which the socket was reached that the request came in on."""
    address, port = scope.get("server") or ("", None)
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return frozenset()
    names = [f"[{ip}]" if ip.version == 6 else str(ip)]
    if ip.is_loopback:
        names.append("localhost")
    return frozenset(_origin(scope["scheme"], name, port) for name in names)


def _origin(scheme: str, name: str, port: int | None) -> str:
    return f"{scheme}://{name}" if port in (None, DEFAULT_PORTS[scheme]) else f"{scheme}://{name}:{port}"


def _refusal(scope: Scope, own: frozenset[str]) -> str:
    """Why the request is not answered; "" if it is."""
    headers = Headers(scope=scope)
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or hosts[0].lower() not in _hosts(own):
        named = hosts[0] if len(hosts) == 1 else ""
        return (
            f"RTV does not answer for the host {named[:80]!r}. "
            "If that is its address, start it with --site and that address."
        )
    if any(origin.lower() not in own for origin in origins):
        return "This request comes from another site."
    if not origins and scope["method"] not in READING:
        return "This request does not say which page it comes from."
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _navigates(scope, headers):
        return "This request comes from another site."
    return ""


def _hosts(origins: frozenset[str]) -> frozenset[str]:
    return frozenset(origin.partition("://")[2] for origin in origins)


def _navigates(scope: Scope, headers: Headers) -> bool:
    """Whether somebody follows a link to here, which any site may offer."""
    return scope["method"] in READING and headers.get("sec-fetch-mode") == "navigate"


def _without_false_address(scope: Scope, own: frozenset[str]) -> Scope:
    """The request without the headers from which Gradio would take a foreign address for its own."""
    hosts = _hosts(own)
    kept = [
        (name, value)
        for name, value in scope["headers"]
        if name != b"x-gradio-server"
        and (name != b"x-forwarded-host" or value.decode("latin-1").lower() in hosts)
    ]
    return {**scope, "headers": kept}


def _without_own_parameters(scope: Scope) -> Scope:
    """The request for the pages without the parameters that Gradio would take for its own, and fail on.

    `?page=` names one of our tabs, and is read in the browser.
    """
    if scope["path"] != "/":
        return scope
    parts = scope["query_string"].decode("latin-1").split("&")
    kept = [part for part in parts if unquote_plus(part.partition("=")[0]) not in GRADIOS]
    return {**scope, "query_string": "&".join(kept).encode("latin-1")}


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message.setdefault("headers", [])
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sending
