"""The server as an attacker meets it: other hosts and sites, no session, another's name, files, guesses."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from argon2 import PasswordHasher
from fakes import FakeWorkbench
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

import rtv_core
from rtv_core.accounts import Accounts
from rtv_core.errors import InputError, MissingError
from rtv_core.records import Judgement, Passage
from rtv_core.store.judgements import JudgementStore
from rtv_core.ui.app import build_app, check_host, launch_options, serve
from rtv_core.ui.asking import Opened
from rtv_core.ui.guard import Guard, read_site
from rtv_core.ui.marks import candidate_key
from rtv_core.ui.signin import (
    FAILURES_BY_ADDRESS,
    FAILURES_BY_NAME,
    IDLE_SECONDS,
    Failures,
    SignIn,
    signed_in_name,
)

ASKED = "When did Jack come out?"
SITE = "https://rtv.example.org"
PASSWORDS = {"Ann": "correct horse", "bob": "battery staple"}
COSTLY = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


class Answer(NamedTuple):
    """A response: header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: str


class Server:
    """The pages on a free port, and a client that may send whatever it likes."""

    def __init__(self, workbench: FakeWorkbench, sign_in: SignIn | None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.own = f"http://127.0.0.1:{self.port}"
        self.store = workbench.store
        self.sign_in = sign_in
        self.app = build_app(workbench, shared=sign_in is not None)
        options = launch_options([read_site(SITE)], sign_in)
        self.app.launch(server_name="127.0.0.1", server_port=self.port, prevent_thread_lock=True, **options)

    def ask(self, method: str, path: str, body: str = "", **headers: str | None) -> Answer:
        """One request; `headers` are laid over those a browser on our own page sends, None leaves one out."""
        sent = {"host": f"127.0.0.1:{self.port}", "accept": "text/html"}
        if method == "POST":
            sent |= {"origin": self.own, "content-type": "application/json", "content-length": str(len(body))}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body.encode())
            got = connection.getresponse()
            # A stream of events that goes on is cut after its first line.
            endless = method == "GET" and "heartbeat" in path
            text = got.readline() if endless else got.read()
            named = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, named, text.decode("utf-8", "replace"))
        finally:
            connection.close()

    def enter(self, name: str, password: str | None = None, after: str = "/", **headers: str) -> Answer:
        form = {"name": name, "password": password or PASSWORDS.get(name, ""), "next": after}
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", "/sign-in", urlencode(form), content_type=kind, **headers)

    def cookie(self, name: str) -> str:
        return self.enter(name).headers["set-cookie"].partition(";")[0]

    def call(
        self, function: str, session: str, values: list[Any], event: Any = None, **headers: Any
    ) -> Answer:
        """Call a handler that bypasses the queue, as the page does."""
        body = self._body(function, session, values, event)
        return self.ask("POST", "/gradio_api/run/predict", body, **headers)

    def question(self, session: str, name: str, **headers: Any) -> None:
        """Ask the question in a tab, and wait until its answers are there."""
        asked = [None, 100, 0.02, "strict", [], 0.5, 10, False, name]
        assert self.call("call_answers", session, [None, ASKED], **headers).status == 200
        join = self.ask("POST", "/gradio_api/queue/join", self._body("answers", session, asked), **headers)
        assert join.status == 200
        stream = self.ask("GET", f"/gradio_api/queue/data?session_hash={session}", **headers)
        assert "process_completed" in stream.body

    def judge(self, session: str, name: str, token: str, label: str = "invalid", **headers: Any) -> Answer:
        event = {"key": candidate_key("1995"), "label": label, "token": token}
        return self.call("judge", session, [None, 0.5, 10, False, name, "", None], event, **headers)

    def _body(self, function: str, session: str, values: list[Any], event: Any = None) -> str:
        number = next(i for i, fn in self.app.fns.items() if getattr(fn.fn, "__name__", "") == function)
        body = {"fn_index": number, "session_hash": session, "data": values, "event_data": event}
        return json.dumps(body)

    def verdicts(self) -> list[Judgement]:
        return self.store.current()


@contextmanager
def running(folder: Path, sign_in: SignIn | None = None) -> Iterator[Server]:
    passages = (Passage("a", "Jack", "The game Jack came out in 1995 and again in 2011."),)
    workbench = FakeWorkbench(passages, r"\b(?:19|20)\d\d\b", {"1995": 0.9, "2011": 0.6})
    workbench.store = JudgementStore(folder / "rtv.db")
    server = Server(workbench, sign_in)
    try:
        yield server
    finally:
        server.app.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without sign-in."""
    with running(tmp_path_factory.mktemp("alone")) as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the accounts in `PASSWORDS`."""
    folder = tmp_path_factory.mktemp("shared")
    accounts = Accounts(folder / "people.json", PasswordHasher(**COSTLY))
    for name, password in PASSWORDS.items():
        accounts.add(name, password)
    with running(folder, SignIn(accounts)) as server:
        yield server


@pytest.fixture(scope="module")
def ann(shared: Server) -> dict[str, str]:
    """The headers of somebody signed in who has asked the question in the tab "ann"."""
    headers = {"cookie": shared.cookie("Ann")}
    shared.question("ann", "Ann", **headers)
    return headers


@pytest.fixture(autouse=True)
def _fresh_failures(request: pytest.FixtureRequest) -> None:
    if "shared" in request.fixturenames:
        sign_in = request.getfixturevalue("shared").sign_in
        for failures in (sign_in._by_name, sign_in._by_address):
            failures._times.clear()


# Other sites and hosts

FORGED = (
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"origin": "http://127.0.0.1"},
    {"origin": "https://rtv.example.org.evil.example"},
    {"origin": "http://rtv.example.org"},
    {"origin": ""},
    {"origin": None},
    {"host": "evil.example"},
    {"host": "127.0.0.1"},
    {"host": "127.0.0.1:1"},
    {"host": "localhost.evil.example:80"},
    {"host": ""},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
)


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_a_write_from_elsewhere_is_refused_though_the_cookie_is_right(shared: Server, ann, forged) -> None:
    before = shared.verdicts()
    refused = shared.judge("ann", "Ann", f"forged {forged}", **ann, **forged)
    assert refused.status in ((403, 400) if forged == {"host": ""} else (403,))
    assert shared.verdicts() == before


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_it_is_refused_without_a_sign_in_too(alone: Server, forged) -> None:
    refused = alone.judge("tab", "me", "token", **forged)
    assert refused.status in ((403, 400) if forged == {"host": ""} else (403,))
    assert alone.verdicts() == []


def test_two_hosts_are_no_host(alone: Server) -> None:
    with socket.create_connection(("127.0.0.1", alone.port), timeout=60) as link:
        own = f"Host: 127.0.0.1:{alone.port}\r\n"
        link.sendall(f"GET / HTTP/1.1\r\n{own}Host: evil.example\r\nConnection: close\r\n\r\n".encode())
        assert link.recv(100).split()[1] in (b"400", b"403")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_what_states_another_origin_reads_nothing_either(alone: Server, origin: str) -> None:
    assert alone.ask("GET", "/config", origin=origin).status == 403


@pytest.mark.parametrize("fetched", ["cross-site", "same-site"])
def test_another_site_may_link_here_but_embed_nothing(alone: Server, fetched: str) -> None:
    assert alone.ask("GET", "/config", sec_fetch_site=fetched, sec_fetch_mode="no-cors").status == 403
    assert alone.ask("GET", "/", sec_fetch_site=fetched, sec_fetch_mode="navigate").status == 200


def test_the_servers_own_addresses_are_answered(alone: Server) -> None:
    assert alone.ask("GET", "/", host=f"localhost:{alone.port}").status == 200
    assert alone.ask("GET", "/", host="RTV.example.org").status == 200
    assert alone.ask("POST", "/gradio_api/reset", "{}", origin=SITE).status != 403


def test_a_forged_address_does_not_end_up_in_the_page(alone: Server) -> None:
    forged = {"x_forwarded_host": "evil.example", "x_gradio_server": "http://evil.example"}
    assert "evil.example" not in alone.ask("GET", "/config", **forged).body


def test_a_websocket_is_refused(alone: Server) -> None:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec_websocket_version": "13",
        "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    answer = alone.ask("GET", "/gradio_api/queue/join", origin="https://evil.example", **upgrade)
    assert answer.status in (403, 404)


@pytest.mark.parametrize("path", ["/", "/config", "/theme.css", "/nowhere", "/monitoring"])
def test_every_answer_holds_the_browser_to_this_site(alone: Server, path: str) -> None:
    headers = alone.ask("GET", path).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_a_refusal_has_the_headers_too(alone: Server) -> None:
    assert "content-security-policy" in alone.ask("GET", "/", host="evil.example").headers


CLOSED = (
    "/monitoring",
    "/monitoring/summary",
    "/login",
    "/logout",
    "/gradio_api/runs",
    "/gradio_api/run-history/records",
    "/gradio_api/deep_link?session_hash=ann",
    "/gradio_api/token",
    "/gradio_api/vibe-code",
    "/gradio_api/openapi.json",
    "/gradio_api/mcp/sse",
    "/gradio_api/proxy=https://evil.example",
    "/gradio_api/file=https://evil.example/x.png",
    "/gradio_api/file=HTTPS%3A%2F%2Fevil.example/x.png",
    "/gradio_api/file/http://evil.example/x.png",
    "/openapi.json",
    "/docs",
    "/redoc",
)


@pytest.mark.parametrize("path", CLOSED)
def test_what_the_pages_do_not_need_is_closed(alone: Server, path: str) -> None:
    assert alone.ask("GET", path).status == 404


# Files


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    for name in ("rtv.db", "rtv.db-wal", ".env", "people.json"):
        (folder / name).write_text("SECRET", encoding="utf-8")
    (folder / "link.txt").symlink_to(folder / ".env")
    return folder


@pytest.mark.parametrize(
    "form",
    [
        "/gradio_api/file={path}",
        "/gradio_api/file/{path}",
        "/gradio_api/file=/tmp/gradio/../../{path}",
        "/gradio_api/file=%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/{path}",
        "/gradio_api/file=..%2f..%2f..%2f..%2f..%2f..%2f{path}",
        "/gradio_api/file=%252e%252e%252f%252e%252e%252f{path}",
        "/gradio_api/file=file://{path}",
        "/static/../../../../../../../../..{path}",
        "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e{path}",
        "/static/..%5c..%5c..%5c..{path}",
        "/assets/..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2f..{path}",
        "/assets/{path}",
        "/svelte/..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2f..%2f..{path}",
    ],
)
def test_no_file_route_leads_out(alone: Server, secrets: Path, form: str) -> None:
    for name in ("rtv.db", "rtv.db-wal", ".env", "people.json", "link.txt"):
        answer = alone.ask("GET", form.format(path=secrets / name))
        assert answer.status in (400, 403, 404)
        assert "SECRET" not in answer.body


@pytest.mark.parametrize("query", ["page=annotate&queue=1", "page=nothing", "%70age=x", "deep_link=x&q=y"])
def test_a_link_to_one_of_our_tabs_opens_the_pages(alone: Server, query: str) -> None:
    answer = alone.ask("GET", f"/?{query}")
    assert answer.status == 200
    assert "rtv-tabs" in answer.body


# Without a session


@pytest.mark.parametrize(
    "path",
    [
        "/config",
        "/theme.css",
        "/static/img/logo.svg",
        "/gradio_api/info",
        "/gradio_api/queue/status",
        "/gradio_api/queue/data?session_hash=ann",
        "/gradio_api/heartbeat/ann",
        "/gradio_api/file=/etc/hostname",
        "/gradio_api/user",
        "/nowhere",
    ],
)
def test_nothing_is_read_without_a_session(shared: Server, path: str) -> None:
    for cookie in (None, f"rtv-session-{shared.port}=forged"):
        assert shared.ask("GET", path, accept="*/*", cookie=cookie).status == 401


@pytest.mark.parametrize(
    "path",
    ["run/predict", "api/judge", "call/judge", "queue/join", "cancel", "upload", "component_server", "reset"],
)
def test_nothing_is_called_without_a_session(shared: Server, ann, path: str) -> None:
    before = shared.verdicts()
    assert shared.ask("POST", f"/gradio_api/{path}", "{}").status == 401
    assert shared.judge("ann", "Ann", "no session").status == 401
    assert shared.verdicts() == before


def test_a_page_without_a_session_is_the_sign_in_page_and_leads_back(shared: Server) -> None:
    sent = shared.ask("GET", "/?q=When%3F&tau=0.5")
    assert sent.status == 303
    assert sent.headers["location"] == "/sign-in?next=%2F%3Fq%3DWhen%253F%26tau%3D0.5"
    page = shared.ask("GET", sent.headers["location"])
    assert 'name="password"' in page.body
    assert 'value="/?q=When%3F&amp;tau=0.5"' in page.body
    assert "RTV: recall" not in page.body
    assert shared.enter("Ann", after="/?q=When%3F&tau=0.5").headers["location"] == "/?q=When%3F&tau=0.5"


@pytest.mark.parametrize(
    "after",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "evil",
        "",
        "/a\r\nb: c",
        "javascript:alert(1)",
    ],
)
def test_signing_in_leads_nowhere_else(shared: Server, after: str) -> None:
    assert shared.enter("Ann", after=after).headers["location"] == "/"


def test_markup_typed_as_a_name_stays_text(shared: Server) -> None:
    page = shared.enter('"><img src=x onerror=alert(1)>', "wrong password")
    assert page.status == 403
    assert "<img" not in page.body


# Signing in


def test_the_cookie_is_for_the_browser_alone(shared: Server) -> None:
    cookie = shared.enter("Ann").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_there_is_no_default_password(shared: Server) -> None:
    for name in ("admin", "root", "rtv", "me", "user", "", "Ann"):
        for password in ("admin", "password", "rtv", "gradio"):
            assert shared.enter(name, password).status in (403, 429)


def test_a_session_ends_by_signing_out(shared: Server) -> None:
    cookie = shared.cookie("Ann")
    assert shared.ask("GET", "/", cookie=cookie).status == 200
    assert shared.ask("GET", "/sign-out", cookie=cookie).status == 405
    assert shared.ask("POST", "/sign-out", cookie=cookie, origin="https://evil.example").status == 403
    assert shared.ask("GET", "/", cookie=cookie).status == 200
    assert shared.ask("POST", "/sign-out", cookie=cookie).status == 303
    assert shared.ask("GET", "/", cookie=cookie).status == 303


def test_a_session_ends_when_it_is_not_used(tmp_path: Path) -> None:
    async def greet(scope, receive, send) -> None:
        await PlainTextResponse(f"Hello {signed_in_name(Request(scope))}")(scope, receive, send)

    now = [0.0]
    accounts = Accounts(tmp_path / "people.json", PasswordHasher(**COSTLY))
    accounts.add("Ann", PASSWORDS["Ann"])
    guard = Guard(greet, [SITE], SignIn(accounts, lambda: now[0]))
    client = TestClient(guard, SITE, headers={"origin": SITE, "accept": "text/html"})
    client.post("/sign-in", data={"name": "ann", "password": PASSWORDS["Ann"]})
    for _ in range(3):
        now[0] += IDLE_SECONDS - 1
        assert client.get("/").text == "Hello Ann"
    now[0] += IDLE_SECONDS + 1
    assert 'name="password"' in client.get("/").text


@pytest.fixture
def people(tmp_path: Path) -> Accounts:
    accounts = Accounts(tmp_path / "people.json", PasswordHasher(**COSTLY))
    for name, password in PASSWORDS.items():
        accounts.add(name, password)
    return accounts


@pytest.fixture
def enter(people: Accounts) -> Callable[[str], TestClient]:
    """Signs somebody in to a server that greets by name and reads the accounts' file by itself."""

    async def greet(scope, receive, send) -> None:
        await PlainTextResponse(f"Hello {signed_in_name(Request(scope))}")(scope, receive, send)

    guard = Guard(greet, [SITE], SignIn(Accounts(people.path, PasswordHasher(**COSTLY))))

    def signed_in(name: str) -> TestClient:
        client = TestClient(guard, SITE, headers={"origin": SITE, "accept": "text/html"})
        client.post("/sign-in", data={"name": name, "password": PASSWORDS[name]})
        assert client.get("/").text == f"Hello {name}"
        return client

    return signed_in


def test_the_sessions_of_a_removed_account_end_at_the_next_request(
    people: Accounts, enter: Callable[[str], TestClient]
) -> None:
    ann, elsewhere, bob = enter("Ann"), enter("Ann"), enter("bob")
    by_another_process = [
        sys.executable,
        "-m",
        "rtv_core",
        "accounts",
        "remove",
        "Ann",
        "--file",
        people.path,
    ]
    subprocess.run(by_another_process, check=True, timeout=120, cwd=Path(rtv_core.__file__).parents[1])
    for client in (ann, elsewhere):
        assert 'name="password"' in client.get("/").text
        assert client.post("/gradio_api/run/predict").status_code == 401
    assert bob.get("/").text == "Hello bob"


def test_the_sessions_of_an_account_with_a_new_password_end_too(
    people: Accounts, enter: Callable[[str], TestClient]
) -> None:
    ann, bob = enter("Ann"), enter("bob")
    people.remove("Ann")
    people.add("Ann", "another password")
    assert 'name="password"' in ann.get("/").text
    ann.post("/sign-in", data={"name": "Ann", "password": "another password"})
    assert ann.get("/").text == "Hello Ann"
    assert bob.get("/").text == "Hello bob"


def test_without_accounts_that_can_be_trusted_no_session_counts(
    people: Accounts, enter: Callable[[str], TestClient]
) -> None:
    ann = enter("Ann")
    people.path.chmod(0o644)
    assert 'name="password"' in ann.get("/").text
    people.path.chmod(0o600)
    assert ann.get("/").text == "Hello Ann"
    people.path.unlink()
    assert 'name="password"' in ann.get("/").text


def test_another_site_can_not_sign_anybody_in(shared: Server) -> None:
    assert shared.enter("Ann", origin="https://evil.example").status == 403


def test_what_a_person_sees_is_kept_in_no_cache(shared: Server, ann) -> None:
    assert shared.ask("GET", "/", **ann).headers["cache-control"] == "no-store"


def test_guessing_is_slowed_down(shared: Server) -> None:
    for _ in range(FAILURES_BY_NAME):
        assert shared.enter("bob", "a wrong guess").status == 403
    refused = shared.enter("bob")
    assert refused.status == 429
    assert 0 < int(refused.headers["retry-after"]) <= 900
    assert "Try again in 15 min" in refused.body
    assert shared.enter(" BOB ", PASSWORDS["bob"]).status == 429
    assert shared.enter("Ann").status == 303


def test_guessing_at_many_names_is_slowed_down_too(shared: Server) -> None:
    statuses = [shared.enter(f"name {i}", "a wrong guess").status for i in range(FAILURES_BY_ADDRESS + 1)]
    assert statuses == [403] * FAILURES_BY_ADDRESS + [429]
    assert shared.enter("Ann").status == 429


def test_after_a_while_one_may_try_again() -> None:
    now = [0.0]
    failures = Failures(2, 60, lambda: now[0])
    failures.add(("ann",))
    assert failures.wait(("ann",)) == 0
    now[0] = 50
    failures.add(("ann",))
    assert failures.wait(("ann",)) == 10
    assert failures.wait(("bob",)) == 0
    now[0] = 60
    assert failures.wait(("ann",)) == 0
    failures.add(("ann",))
    assert failures.wait(("ann",)) == 50


def test_failures_of_ever_new_names_take_no_more_room() -> None:
    failures = Failures(2, 60, lambda: 0.0)
    for i in range(Failures.KEYS + 5):
        failures.add((str(i),))
    assert len(failures._times) == Failures.KEYS


def test_a_long_form_is_refused(shared: Server) -> None:
    assert shared.enter("Ann", "x" * 20_000).status == 413


# One name, one person


def test_a_verdict_is_the_signed_in_persons_whatever_name_is_sent(shared: Server, ann) -> None:
    shared.judge("ann", "bob", "as bob", label="unsure", **ann)
    assert [v.annotator for v in shared.verdicts() if v.label == "unsure"] == ["Ann"]


def test_nobody_reads_changes_or_undoes_the_verdict_of_another(shared: Server, ann) -> None:
    shared.judge("ann", "Ann", "mine", **ann)
    bob = {"cookie": shared.cookie("bob")}
    shared.question("bob", "Ann", **bob)
    key = {"key": candidate_key("1995")}
    view = [None, 0.5, 10, False, "Ann"]
    assert "you: invalid" in shared.call("refresh", "ann", view, key, **ann).body
    for function, values in (("refresh", view), ("undo", view), ("choose", [*view, "", None])):
        answer = shared.call(function, "bob", values, key, **bob)
        assert answer.status == 200
        assert "you: invalid" not in answer.body
        assert 'data-label=\\"invalid\\"' not in answer.body
    shared.judge("bob", "Ann", "not mine", label="unlisted", **bob)
    assert {(v.annotator, v.label) for v in shared.verdicts()} == {("Ann", "invalid"), ("bob", "unlisted")}


def test_the_name_on_the_page_is_fixed(shared: Server, ann) -> None:
    opened = shared.call("opened", "ann", [None, "bob"], **ann)
    update = json.loads(opened.body)["data"][Opened._fields.index("annotator")]
    assert (update["value"], update["interactive"]) == ("Ann", False)


def test_without_a_sign_in_the_name_is_the_one_typed(alone: Server) -> None:
    alone.question("tab", "me")
    alone.judge("tab", "me", "token")
    assert [v.annotator for v in alone.verdicts()] == ["me"]


# Starting


def test_an_open_address_needs_accounts_and_somebody_in_them(tmp_path: Path) -> None:
    workbench = FakeWorkbench((), "x")
    with pytest.raises(InputError, match=r"no login.*--auth"):
        serve(workbench, host="0.0.0.0")
    with pytest.raises(MissingError, match="accounts add"):
        serve(workbench, host="0.0.0.0", accounts=Accounts(tmp_path / "people.json"))
    check_host("0.0.0.0", shared=True)
    with pytest.raises(InputError, match="empty"):
        check_host("", shared=True)


@pytest.mark.parametrize(
    ("text", "site"),
    [
        ("https://rtv.example.org", "https://rtv.example.org"),
        ("HTTPS://RTV.example.org/", "https://rtv.example.org"),
        ("https://rtv.example.org:443", "https://rtv.example.org"),
        ("http://lab:7860", "http://lab:7860"),
        ("http://[::1]:7860", "http://[::1]:7860"),
    ],
)
def test_a_site_is_read_as_browsers_write_it(text: str, site: str) -> None:
    assert read_site(text) == site


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "null",
        "rtv.example.org",
        "ftp://a",
        "https://",
        "https://a/b",
        "https://a?b",
        "https://u@a",
        "http://a:x",
    ],
)
def test_what_is_no_site_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no address of a site"):
        read_site(text)
