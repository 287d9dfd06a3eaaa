"""A server that speaks the OpenAI protocol in the test's own process, over real HTTP.

What it says is up to a `mind`, a function of the request's body; how it behaves (busy, slow, broken) is a
queue of faults that the next requests meet.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Fault", "OpenAIServer", "Said", "system_of", "user_of"]


@dataclass(frozen=True)
class Said:
    """A reply: its text, and for each token the log-probabilities of what could stand there."""

    text: str
    tokens: tuple[tuple[str, Mapping[str, float]], ...] = ()
    finish: str = "stop"
    refusal: str | None = None


@dataclass(frozen=True)
class Fault:
    """What one request meets instead of a reply, or on the way to it."""

    status: int = 200
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False


Mind = Callable[[Mapping[str, Any]], Said | Fault]


class OpenAIServer:
    """Serves `mind` on a free port of the loopback address until closed."""

    def __init__(self, mind: Mind, logprobs: bool = True, usage: bool = True) -> None:
        self.mind, self.logprobs, self.usage = mind, logprobs, usage
        self.faults: deque[Fault] = deque()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner._answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.requests.append(body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            fault = self.faults.popleft() if self.faults else Fault()
        try:
            time.sleep(fault.delay)
            if handler.path != "/v1/chat/completions":
                fault = Fault(404, json.dumps({"error": {"message": "no such path"}}))
            said = self.mind(body) if fault.status == 200 and fault.body is None else fault
            if isinstance(said, Fault):
                text = json.dumps({"error": {"message": "a fault"}}) if said.body is None else said.body
                self._send(handler, said.status, text, dict(said.headers))
            elif body.get("stream"):
                self._stream(handler, body, said, fault.cut)
            else:
                self._send(handler, 200, json.dumps(self._whole(body, said)), {})
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client gave up waiting
        finally:
            with self._lock:
                self.at_once -= 1

    def _send(self, handler: BaseHTTPRequestHandler, status: int, text: str, headers: dict[str, str]) -> None:
        data = text.encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _whole(self, body: Mapping[str, Any], said: Said) -> dict[str, Any]:
        message = {"role": "assistant", "content": said.text, "refusal": said.refusal}
        choice = {"index": 0, "message": message, "finish_reason": said.finish, "logprobs": None}
        if body.get("logprobs") and self.logprobs and said.tokens:
            choice["logprobs"] = {"content": [_token(*token) for token in said.tokens]}
        answer = self._frame(body, "chat.completion") | {"choices": [choice]}
        return answer | ({"usage": self._usage(body, said)} if self.usage else {})

    def _stream(
        self, handler: BaseHTTPRequestHandler, body: Mapping[str, Any], said: Said, cut: bool
    ) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        frame = self._frame(body, "chat.completion.chunk")
        pieces = list(said.tokens) or [(piece, {}) for piece in (said.text[:3], said.text[3:]) if piece]
        for i, (text, choices) in enumerate(pieces):
            choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
            if body.get("logprobs") and self.logprobs and said.tokens:
                choice["logprobs"] = {"content": [_token(text, choices)]}
            _event(handler, frame | {"choices": [choice]})
            if cut and i == 0:
                handler.close_connection = True
                handler.connection.close()
                return
        _event(handler, frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": said.finish}]})
        if self.usage and body.get("stream_options"):
            _event(handler, frame | {"choices": [], "usage": self._usage(body, said)})
        handler.wfile.write(_chunk(b"data: [DONE]\n\n") + _chunk(b""))

    def _frame(self, body: Mapping[str, Any], kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body["model"]}

    def _usage(self, body: Mapping[str, Any], said: Said) -> dict[str, int]:
        given = sum(len(message["content"].split()) for message in body["messages"])
        taken = len(said.text.split())
        return {"prompt_tokens": given, "completion_tokens": taken, "total_tokens": given + taken}


def system_of(body: Mapping[str, Any]) -> str:
    """The system message of a request."""
    return next(m["content"] for m in body["messages"] if m["role"] == "system")


def user_of(body: Mapping[str, Any]) -> str:
    """The user message of a request."""
    return next(m["content"] for m in body["messages"] if m["role"] == "user")


def _token(text: str, choices: Mapping[str, float]) -> dict[str, Any]:
    top = [{"token": token, "logprob": logprob, "bytes": None} for token, logprob in choices.items()]
    return {"token": text, "logprob": choices.get(text, -0.1), "bytes": None, "top_logprobs": top}


def _event(handler: BaseHTTPRequestHandler, data: Mapping[str, Any]) -> None:
    handler.wfile.write(_chunk(f"data: {json.dumps(data)}\n\n".encode()))


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
