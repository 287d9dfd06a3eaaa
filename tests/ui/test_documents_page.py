"""The Documents page: hand in, read ahead, build, stop and go on; who may; what it draws of hostile names."""

from __future__ import annotations

import html
import inspect
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from argon2 import PasswordHasher
from encoders import WordEncoder
from runs import on_disk
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from rtv_core.accounts import Accounts
from rtv_core.retrieval.index import is_unfinished, open_index
from rtv_core.retrieval.lock import alone
from rtv_core.ui.admin import Access
from rtv_core.ui.app import build_app
from rtv_core.ui.documents import Receiver, Room, actions
from rtv_core.ui.documents.receive import PATH
from rtv_core.ui.signin import NAME

ALONE = Access(shared=False)
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "correct horse"
HOSTILE = "<img src=x onerror=alert(1)> ${7*7} {{7*7}}"


class GatedEncoder(WordEncoder):
    """Says that it encodes, and waits until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.gate = threading.Event(), threading.Event()

    def encode(self, texts):
        self.begun.set()
        self.gate.wait(60)
        return super().encode(texts)


@pytest.fixture
def encoder() -> GatedEncoder:
    encoder = GatedEncoder()
    encoder.gate.set()
    return encoder


@pytest.fixture
def room(tmp_path: Path, encoder: GatedEncoder):
    room = Room(on_disk(tmp_path / "rtv.db"), lambda: encoder)
    yield room
    encoder.gate.set()
    room.worker.wait(60)


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    """Ann is an admin, Bo is none."""
    accounts = Accounts(tmp_path / "people.json", CHEAP)
    accounts.add("Ann", PASSWORD, admin=True)
    accounts.add("Bo", PASSWORD)
    return accounts


@pytest.fixture
def letters(room: Room) -> str:
    """A collection with a note, a table whose columns aren't known, and a broken PDF."""
    made = room.collections.create("Letters").id
    hand_in(room, made, "note.md", "# Bridge\n\nThe bridge was built in 1894.")
    hand_in(room, made, "rows.csv", "Nr,Inhalt\n7,The castle burnt in 1701.\n8,\n")
    hand_in(room, made, "scan.pdf", "no PDF")
    return made


def hand_in(room: Room, collection: str, name: str, text: str) -> None:
    with room.collections.receive(collection, name) as incoming:
        incoming.write(text.encode())
        incoming.commit()


def do(room: Room, name: str, collection: object = "", **event: object) -> actions.Drawn:
    return actions.act(room, ALONE, None, name, {"collection": collection, **event})


def finished(room: Room, collection: str) -> actions.Drawn:
    """The page once the work has ended."""
    assert room.worker.wait(60).ended
    return actions.watch(room, ALONE, None, {"collection": collection})


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def by(name: str | None) -> SimpleNamespace:
    return SimpleNamespace(username=name)


# From documents to an index


def test_a_newcomer_is_told_what_can_be_handed_in_and_where_it_will_lie(room):
    page = text_of(do(room, "show").board)
    for words in (".txt, .md", ".pdf", "104.9 MB", "1.1 GB", "2,000 files", "rtv.db-documents", "none yet"):
        assert words in page


def test_a_collection_is_read_before_it_can_be_built_and_each_problem_names_its_file_and_line(room, letters):
    unread = do(room, "show", letters).board
    assert 'data-documents="build"' not in unread
    assert "Read the documents" in unread
    do(room, "read", letters)
    page = finished(room, letters).board
    assert "1 passage from 1 of 3 documents" in text_of(page)
    assert "The bridge was built in 1894." in page
    assert "✕ no PDF" in text_of(page)
    assert "No column is known as the text. Choose one." in page
    assert 'data-documents="build"' in page
    do(room, "columns", letters, file="rows.csv", id="Nr", title="", text="Inhalt")
    page = finished(room, letters).board
    assert "2 passages from 2 of 3 documents" in text_of(page)
    assert "line 3: an empty text" in page
    assert "id: Nr, text: Inhalt" in text_of(page)


def test_an_index_is_built_whole_and_the_page_says_how_to_use_it(room, letters):
    do(room, "read", letters)
    room.worker.wait(60)
    do(room, "build", letters)
    drawn = finished(room, letters)
    assert "The index is made: 1 passage." in text_of(drawn.work)
    index = room.collections.index(letters)
    assert [p.id for p in open_index(index).passages] == ["note.md#1"]
    assert sorted(path.name for path in index.parent.iterdir()) == ["letters"]
    commands = re.findall(r'<code class="command">(.*?)</code>', drawn.board)
    assert any(c.startswith(f"python -m rtv_core serve --index {index} --store ") for c in commands)
    assert 'data-documents="build"' not in drawn.board
    assert "✓ 1 passage" in text_of(do(room, "show").board)


def test_documents_that_change_after_the_index_was_made_are_said_to_and_it_can_be_built_again(room, letters):
    do(room, "build", letters)
    room.worker.wait(60)
    hand_in(room, letters, "more.txt", "The harbour froze in 1963.")
    page = text_of(do(room, "show", letters).board)
    assert "The documents have changed since." in page
    assert "Read them to build it again." in page
    do(room, "read", letters)
    assert "Build it again" in text_of(finished(room, letters).board)
    do(room, "build", letters)
    assert "changed since" not in text_of(finished(room, letters).board)
    assert len(open_index(room.collections.index(letters))) == 2


def test_a_build_shows_how_far_it_is_and_stopped_it_leaves_no_index_and_goes_on(room, letters, encoder):
    hand_in(room, letters, "many.txt", " ".join(f"Sentence number {i} of this note." for i in range(6000)))
    encoder.gate.clear()
    do(room, "build", letters)
    assert encoder.begun.wait(60)
    running = actions.watch(room, ALONE, None, {"collection": letters}).work
    assert re.search(r"Letters : encoding passages · 0 of \d\d\d", text_of(running))
    assert "data-running" in running
    stopping = do(room, "stop", letters, serial=room.worker.now().serial).work
    assert "Stopping…" in stopping
    encoder.gate.set()
    drawn = finished(room, letters)
    assert "Stopped." in drawn.work
    assert "Go on" in text_of(drawn.board)
    index = room.collections.index(letters)
    assert not index.exists()
    assert is_unfinished(index)
    do(room, "build", letters)
    assert "The index is made" in text_of(finished(room, letters).work)
    assert not is_unfinished(index)


def test_work_that_ends_while_the_page_is_drawn_is_watched_on(room, letters, monkeypatch):
    hand_in(room, letters, "a.txt", "It was built in 1894.")
    may_end = threading.Event()
    room.worker.start("read", letters, "Letters", lambda report: str(may_end.wait(60)))

    def preview(collection_id):  # what is known of it now, and then it ends
        may_end.set()
        room.worker.wait(60)

    monkeypatch.setattr(room, "preview", preview)
    drawn = do(room, "show", letters)
    assert "data-running" in drawn.work
    assert room.worker.now().ended


def test_one_thing_is_read_or_built_at_a_time_and_nothing_changes_beneath_it(room, letters, encoder):
    other = room.collections.create("Other").id
    hand_in(room, other, "a.txt", "A note.")
    encoder.gate.clear()
    do(room, "build", letters)
    assert encoder.begun.wait(60)
    for name, collection, event in (
        ("read", other, {}),
        ("build", other, {}),
        ("build", letters, {}),
        ("remove", letters, {"file": "note.md"}),
        ("delete", letters, {}),
        ("columns", letters, {"file": "rows.csv", "text": "Inhalt"}),
    ):
        assert "Wait for" in text_of(do(room, name, collection, **event).board)
    assert [f.name for f in room.collections.files(letters)] == ["note.md", "rows.csv", "scan.pdf"]
    encoder.gate.set()
    assert "The index is made" in text_of(finished(room, letters).work)


def test_another_server_that_builds_beside_the_same_store_is_waited_for(room, letters):
    with alone(room.collections.folder / "building.lock", "busy"):
        do(room, "build", letters)
        assert "Another server builds an index" in text_of(finished(room, letters).work)
    do(room, "build", letters)
    assert "The index is made" in text_of(finished(room, letters).work)


def test_a_failure_that_nobody_foresaw_ends_the_work_and_is_said_without_its_details(tmp_path, letters, room):
    def broken():
        raise RuntimeError("secret detail")

    room._encoder = broken
    do(room, "build", letters)
    drawn = finished(room, letters)
    assert "the server's log says what" in text_of(drawn.work)
    assert "secret" not in drawn.work


# What a browser may send


@pytest.mark.parametrize(
    "event", [None, "x", [], {"collection": 7}, {"collection": "../.."}, {"collection": "no"}]
)
@pytest.mark.parametrize("name", list(actions.ACTIONS))
def test_a_forged_event_changes_nothing_and_is_answered_by_a_page(room, letters, name, event):
    before = sorted(str(path) for path in room.collections.folder.rglob("*"))
    drawn = actions.act(room, ALONE, None, name, event)
    assert "rtv-documents" in drawn.board
    assert sorted(str(path) for path in room.collections.folder.rglob("*")) == before
    assert room.worker.now() is None


def test_names_from_data_stand_on_the_page_as_they_are(room):
    made = room.collections.create(HOSTILE).id
    hand_in(room, made, "t.csv", f'"{HOSTILE}",text\n"{HOSTILE}","{HOSTILE}"\n')
    hand_in(room, made, "t.html", "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title><p>${alert(1)}")
    do(room, "read", made)
    drawn = finished(room, made)
    for page in (drawn.board, drawn.work, do(room, "show").board):
        assert not re.search(r"<(img|script|svg)", page)
    assert HOSTILE in text_of(
        do(room, "show", made).board.replace("&lt;", "\u0001").replace("\u0001", "&lt;")
    )


# Who may


def test_every_handler_refuses_whoever_is_no_admin_and_the_tab_stays_hidden(room, letters, accounts):
    app = build_app(room._workbench, True, accounts, room=room)
    handlers = {
        call.fn.__name__: call.fn
        for call in app.fns.values()
        if any(getattr(part, "elem_id", "") == "rtv-documents-board" for part in call.outputs)
    }
    assert set(handlers) == {*actions.ACTIONS, "watch"}
    event = SimpleNamespace(_data={"collection": letters, "file": "note.md", "name": "x", "text": "Inhalt"})
    before = sorted(str(path) for path in room.collections.folder.rglob("*"))
    for name in ("Bo", "ann", "", None):
        for function in handlers.values():
            values = {"request": by(name), "event": event}
            drawn = function(**{key: values[key] for key in inspect.signature(function).parameters})
            assert "Only admins may see this page" in drawn.board
            assert "Letters" not in drawn.board + drawn.work
    assert sorted(str(path) for path in room.collections.folder.rglob("*")) == before
    assert "Letters" in handlers["show"](event=event, request=by("Ann")).board
    tabs = {c["props"].get("elem_id"): c["props"] for c in app.get_config_file()["components"]}
    assert tabs["rtv-documents"]["visible"] is False


def client(room: Room, access: Access, name: str | None = None) -> TestClient:
    """The receiver before an application of its own, as somebody who is signed in."""

    async def beyond(scope, receive, send):
        await PlainTextResponse("the pages")(scope, receive, send)

    receiver = Receiver(beyond, room, access)

    async def signed_in(scope, receive, send):
        await receiver({**scope, **({} if name is None else {NAME: name})}, receive, send)

    return TestClient(signed_in)


def put(client: TestClient, collection: str, name: str, content: bytes):
    return client.put(PATH, params={"collection": collection, "name": name}, content=content)


def test_a_file_is_taken_in_under_a_safe_name(room, letters):
    answer = put(client(room, ALONE), letters, "../../новый файл.txt", b"A note." * 300_000)
    assert (answer.status_code, answer.text) == (201, "новый файл.txt")
    assert (room.collections.folder / "files" / letters / "новый файл.txt").stat().st_size == 2_100_000


@pytest.mark.parametrize(
    ("collection", "name", "content", "message"),
    [
        ("letters", "a.exe", b"x", "of no form that can be read"),
        ("letters", "", b"x", "of no form"),
        ("letters", "a.txt", b"", "is empty"),
        ("letters", "a.txt", b"x" * (20 * 2**20 + 1), "has more than 20 MiB"),
        ("../..", "a.txt", b"x", "no collection"),
        ("", "a.txt", b"x", "no collection"),
    ],
)
def test_what_cannot_be_taken_in_is_refused_plainly_and_leaves_nothing(
    room, letters, collection, name, content, message
):
    before = sorted(str(path) for path in room.collections.folder.rglob("*"))
    answer = put(client(room, ALONE), collection, name, content)
    assert answer.status_code == 400
    assert message in answer.text
    assert sorted(str(path) for path in room.collections.folder.rglob("*")) == before


def test_a_file_without_an_announced_size_is_held_to_its_limit_too(room, letters):
    chunks = (b"x" * 2**20 for _ in range(30))
    answer = client(room, ALONE).put(PATH, params={"collection": letters, "name": "a.txt"}, content=chunks)
    assert (answer.status_code, "has more than 20 MiB" in answer.text) == (400, True)
    assert "a.txt" not in {file.name for file in room.collections.files(letters)}


def test_only_admins_hand_in_and_only_by_put(room, letters, accounts):
    shared = Access(True, accounts)
    assert [
        put(client(room, shared, n), letters, "a.txt", b"x").status_code for n in ("Bo", "", None, "Ann")
    ] == [
        403,
        403,
        403,
        201,
    ]
    assert client(room, ALONE).get(PATH).status_code == 405
    assert client(room, ALONE).post(PATH).status_code == 405
    assert client(room, ALONE).get("/").text == "the pages"


def test_nothing_comes_in_while_the_collection_is_built(room, letters, encoder):
    encoder.gate.clear()
    do(room, "build", letters)
    assert encoder.begun.wait(60)
    assert "Wait for that" in put(client(room, ALONE), letters, "a.txt", b"x").text
