"""The Admin page: who may use it, what it shows, and what releasing a claim and making a backup do."""

from __future__ import annotations

import html
import inspect
import re
import shlex
import sqlite3
from contextlib import closing
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from argon2 import PasswordHasher
from click.testing import CliRunner
from fakes import FakeWorkbench
from runs import add_run, on_disk, said, small_run

from rtv_core.accounts import Accounts
from rtv_core.cli import cli
from rtv_core.records import QueueItem, QueuePlan
from rtv_core.store.backups import backup_folder, list_backups
from rtv_core.store.judgements import JudgementStore
from rtv_core.ui.admin import Access, actions
from rtv_core.ui.admin.board import read_board
from rtv_core.ui.admin.render import CLAIMS_SHOWN, render_board
from rtv_core.ui.app import build_app

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
PASSWORD = "correct horse"
ALONE = Access(shared=False)
REFUSED = "Only admins may see this page"
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "${alert(1)} {{7*7}} `",
)


@pytest.fixture
def workbench(tmp_path: Path) -> FakeWorkbench:
    return on_disk(tmp_path / "rtv.db")


@pytest.fixture
def queue(workbench: FakeWorkbench) -> str:
    """A queue of two items, the first of which Bo holds."""
    return held_by_bo(workbench, small_run(workbench))


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    """Ann is an admin, Bo is none."""
    accounts = Accounts(tmp_path / "people.json", CHEAP)
    accounts.add("Ann", PASSWORD, admin=True)
    accounts.add("Bo", PASSWORD)
    return accounts


def held_by_bo(workbench: FakeWorkbench, run: list, name: str = "queue") -> str:
    items = [
        QueueItem(q.position, q.trace_id, "prediction", q.answers[-1].answer, 0.5, "wrong") for q in run[:2]
    ]
    queue = workbench.queues.create(workbench.runs.runs()[0].id, QueuePlan(), items, name)
    assert workbench.queues.next(queue, "Bo").place == 1
    return queue


def by(name: str | None) -> SimpleNamespace:
    """A request of somebody who is signed in; None where nobody signs in."""
    return SimpleNamespace(username=name)


def kept(workbench: FakeWorkbench) -> list[str]:
    """Everything in the database, and which files lie beside it."""
    with closing(sqlite3.connect(workbench.store.path)) as db:
        rows = list(db.iterdump())
    files = sorted(str(p) for p in workbench.store.path.parent.rglob("*") if "-wal" not in p.name)
    return [*rows, *(file for file in files if "-shm" not in file)]


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", " ", page))


def section_of(page: str, name: str) -> str:
    return page.partition(f'data-section="{name}"')[2].partition("</section>")[0]


def release(workbench, queue_id, **changes):
    event = {"queue": queue_id, "place": 1, "annotator": "Bo", **changes}
    return actions.release(workbench, ALONE, None, event)


# Who may


@pytest.fixture
def app(workbench, accounts):
    return build_app(workbench, True, accounts)


def handlers_of(app):
    """The functions behind the page's part, as the server would call them."""
    found = {}
    for call in app.fns.values():
        if any(getattr(part, "elem_id", "") == "rtv-admin-board" for part in call.outputs):
            found[call.fn.__name__] = call.fn
    return found


def called(function, request, event):
    values = {"request": request, "event": SimpleNamespace(_data=event)}
    return function(**{name: values[name] for name in inspect.signature(function).parameters})


def test_every_handler_refuses_whoever_is_no_admin_and_the_tab_stays_hidden(workbench, queue, app):
    handlers = handlers_of(app)
    assert set(handlers) == {"show_board", "release", "back_up"}
    event = {"queue": queue, "place": 1, "annotator": "Bo", "name": "Ann", "username": "Ann"}
    before = kept(workbench)
    for name in ("Bo", "ann", "Ann ", "Nobody", "", None):
        for function in handlers.values():
            page = called(function, by(name), event)
            assert REFUSED in page
            for secret in ("2011", "Sierra", "rtv.db", "people.json", "<table", "<button"):
                assert secret not in page
    assert kept(workbench) == before
    assert "Released" in called(handlers["release"], by("Ann"), event)
    assert kept(workbench) != before
    tabs = {c["props"].get("elem_id"): c["props"] for c in app.get_config_file()["components"]}
    assert tabs["rtv-admin"]["visible"] is False
    show_tab = next(call.fn for call in app.fns.values() if getattr(call.fn, "__name__", "") == "show_tab")
    assert [show_tab(by(name))["visible"] for name in ("Ann", "Bo", None)] == [True, False, False]


def test_shared_pages_without_accounts_are_for_nobody(workbench, queue):
    before = kept(workbench)
    for name in ("Ann", "", None):
        assert REFUSED in actions.back_up(workbench, Access(shared=True), by(name))
    assert kept(workbench) == before


def test_without_a_sign_in_everyone_on_the_machine_may(workbench, queue):
    page = actions.show_board(workbench, ALONE, by(None))
    assert "Release" in page
    assert "only this machine reaches the server" in text_of(page)


def test_accounts_make_pages_shared_whatever_else_is_said(workbench, accounts):
    assert not Access(shared=False, accounts=accounts).allows(by(None))


def test_an_admin_who_is_none_any_more_is_refused_at_the_next_call(workbench, queue, accounts):
    access = Access(True, accounts)
    assert access.allows(by("Ann"))
    accounts.remove("Ann")
    assert not access.allows(by("Ann"))
    accounts.add("Ann", PASSWORD)
    assert REFUSED in actions.show_board(workbench, access, by("Ann"))


def test_accounts_that_cannot_be_trusted_let_nobody_in(workbench, queue, accounts):
    access = Access(True, accounts)
    accounts.path.chmod(0o644)
    assert not access.allows(by("Ann"))
    accounts.path.unlink()
    assert not access.allows(by("Ann"))


# Claims


def test_a_claim_shows_its_item_and_its_holder_but_neither_score_nor_gold(workbench, queue):
    claims = section_of(actions.show_board(workbench, ALONE, None), "claims")
    for shown in ("When did Jack come out?", "April 24, 2010", "Bo", "queue"):
        assert shown in text_of(claims)
    for hidden in ("1995", "0.3", "prediction", "wrong"):
        assert hidden not in claims


def test_a_released_item_comes_to_whoever_asks_next(workbench, queue):
    assert workbench.queues.next(queue, "Cy").place == 2
    assert workbench.queues.next(queue, "Di") is None
    assert "Released: item 1, held by Bo." in text_of(release(workbench, queue))
    assert [(c.place, c.annotator) for c in workbench.queues.claims(queue)] == [(2, "Cy")]
    assert workbench.queues.next(queue, "Di").place == 1


def test_releasing_keeps_verdicts_and_is_refused_once_there_is_one(workbench, queue):
    (item, _) = workbench.queues.items(queue)
    question = workbench.runs.question(workbench.queues.queue(queue).run_id, item.position)
    verdict = said(workbench, question, item.answer, "unlisted", "Bo")
    before = kept(workbench)
    assert "Bo does not hold this item any more" in text_of(release(workbench, queue))
    assert kept(workbench) == before
    assert workbench.store.current() == [verdict]


def test_a_second_click_releases_nothing_of_whoever_has_the_item_now(workbench, queue):
    release(workbench, queue)
    assert workbench.queues.next(queue, "Cy").place == 1
    before = kept(workbench)
    assert "Nothing is changed" in text_of(release(workbench, queue))
    assert kept(workbench) == before
    assert [c.annotator for c in workbench.queues.claims(queue)] == ["Cy"]


@pytest.mark.parametrize(
    "forged",
    [
        {"queue": "elsewhere"},
        {"queue": None},
        {"queue": ["x"]},
        {"queue": "x" * 10_000},
        {"place": "1"},
        {"place": True},
        {"place": 1.0},
        {"place": float("nan")},
        {"place": -1},
        {"place": 10**30},
        {"annotator": "Ann"},
        {"annotator": None},
        {"annotator": {"name": "Bo"}},
        {"annotator": "B" * 10_000},
    ],
)
def test_a_forged_release_says_what_is_wrong_and_changes_nothing(workbench, queue, forged):
    before = kept(workbench)
    page = release(workbench, queue, **forged)
    assert "rtv-message error" in page
    assert kept(workbench) == before


@pytest.mark.parametrize("event", [None, "x", 1, [], {}])
def test_an_event_that_names_nothing_changes_nothing(workbench, queue, event):
    before = kept(workbench)
    assert "rtv-message error" in actions.release(workbench, ALONE, None, event)
    assert kept(workbench) == before


def test_of_very_many_claims_the_oldest_are_drawn(workbench, queue):
    board = read_board(workbench, None)
    (one,) = board.held
    many = replace(board, held=tuple(replace(one) for _ in range(CLAIMS_SHOWN + 7)))
    page = render_board(many)
    assert page.count("data-place=") == CLAIMS_SHOWN
    assert "7 more claims not shown" in page


# Progress


def test_progress_is_the_queues_own_for_everyone_in_it(workbench, queue):
    run = workbench.runs.questions(workbench.queues.queue(queue).run_id)
    said(workbench, run[0], "April 24, 2010", "listed", "Bo", gold="April 24, 2010")
    workbench.queues.next(queue, "Cy")
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", section_of(show(workbench), "progress"))
    bo, cy = (text_of(row).split() for row in rows)
    progress = workbench.queues.progress(queue, "Bo")
    assert (progress.done, progress.left) == (1, 1)
    assert bo[:3] == ["Bo", "1", "1"]
    assert bo[3:6] == [f"{progress.seconds_each:.0f}", "s", "each"]
    assert cy[:4] == ["Cy", "0", "1", "–"]
    assert "1 of 2 items finished" in show(workbench)


def test_without_queues_and_claims_the_page_says_what_to_do(workbench):
    page = text_of(show(workbench))
    assert "Nobody holds an item just now." in page
    assert "python -m rtv_core queue draw --run NAME" in page
    assert "There is no backup yet." in page


def show(workbench) -> str:
    return actions.show_board(workbench, ALONE, None)


# Backups


def test_a_backup_appears_in_the_list_and_nothing_else_changes(workbench, queue):
    before = workbench.queues.claims(queue)
    page = actions.back_up(workbench, ALONE, None)
    (made,) = list_backups(workbench.store.path)
    assert f"Backup made: {made.path.name}" in text_of(page)
    assert made.path.name in section_of(page, "backups")
    assert str(backup_folder(workbench.store.path)) in text_of(page)
    assert workbench.queues.claims(queue) == before


def test_the_command_that_the_page_shows_restores_the_backup(tmp_path):
    folder = tmp_path / "it's a folder; $HOME"
    workbench = on_disk(folder / "rtv.db")
    run = small_run(workbench)
    said(workbench, run[0], "2011", "invalid", "Ann")
    actions.back_up(workbench, ALONE, None)
    said(workbench, run[0], "2011", "unlisted", "Ann")
    commands = re.findall(r'<code class="command">(.*?)</code>', section_of(show(workbench), "backups"))
    words = shlex.split(html.unescape(commands[0]))
    assert words[:3] == ["python", "-m", "rtv_core"]
    done = CliRunner().invoke(cli, words[3:])
    assert "1 judgements" in done.output
    restored = Path(words[-1])
    assert restored == folder / "rtv-restored.db"
    assert [j.label for j in JudgementStore(restored).current()] == ["invalid"]
    assert CliRunner().invoke(cli, words[3:]).exit_code != 0
    assert shlex.split(html.unescape(commands[1]))[3:] == ["serve", "--store", str(restored)]


def test_a_backup_that_fails_is_said_and_the_rest_of_the_page_stays(workbench, queue):
    backup_folder(workbench.store.path).write_text("in the way", encoding="utf-8")
    page = actions.back_up(workbench, ALONE, None)
    assert "rtv-message error" in page
    assert "rtv.db-backups" in text_of(page)
    assert "Release" in section_of(page, "claims")


# Accounts


def test_accounts_are_names_and_rights_and_nothing_of_a_password(workbench, accounts):
    page = actions.show_board(workbench, Access(True, accounts), by("Ann"))
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", section_of(page, "accounts"))
    assert [text_of(row).split() for row in rows] == [["Ann", "admin"], ["Bo", "annotator"]]
    assert "accounts add NAME --admin --file" in text_of(page)
    assert "argon2" not in page
    assert PASSWORD not in page


# Hostile names


class Elements(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", HOSTILE)
def test_names_from_data_stand_on_the_page_as_they_are(tmp_path, name):
    workbench = on_disk(tmp_path / "rtv.db")
    run = add_run(workbench, f"run {name}", [(f"Who is {name}?", [["x"]], [(f"answer {name}", 0.9)])])
    queue = held_by_bo(workbench, run, f"queue {name}")
    workbench.queues.release(queue, 1, "Bo")
    workbench.queues.next(queue, name)
    folder = backup_folder(workbench.store.path)
    folder.mkdir()
    file = f"{name.replace('/', '|')}.db"
    (folder / file).write_bytes(b"x")
    accounts = Accounts(tmp_path / "people.json", CHEAP)
    accounts.add(f"{name} A", PASSWORD, admin=True)
    pages = [
        actions.show_board(workbench, Access(True, accounts), by(f"{name} A")),
        release(workbench, queue, annotator=name),
    ]
    for page in pages:
        found = Elements(page)
        assert not found.names & {"img", "script", "svg"}
        assert not {a for a in found.attributes if a.startswith("on")}
    shown = Elements(pages[0]).text
    for literal in (f"run {name}", f"Who is {name}?", f"answer {name}", f"queue {name}", f"{name} A", file):
        assert literal in shown
    assert f"held by {name}" in Elements(pages[1]).text
    refused = actions.show_board(workbench, Access(True, accounts), by(name))
    assert REFUSED in refused
    assert name not in Elements(refused).text
