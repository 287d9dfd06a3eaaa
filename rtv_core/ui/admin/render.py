"""How the Admin page looks."""

from __future__ import annotations

import secrets
from pathlib import Path

from rtv_core.store.backups import Backup, backup_folder
from rtv_core.store.queues import HOLD_SECONDS, Contribution, Progress
from rtv_core.ui.admin.board import Account, Board, Held, Work
from rtv_core.ui.analysis.tables import note, section, short, table
from rtv_core.ui.markup import Markup, escape, tag
from rtv_core.ui.render.frame import render_message
from rtv_core.ui.render.parts import LONGEST_ANSWER, counted
from rtv_core.ui.render.server import bar, command, moment, none_yet, quoted, size_text, time_left

__all__ = ["render_board", "render_refused"]

CLAIMS_SHOWN = 100
BACKUPS_SHOWN = 50
LONGEST_NAME = 200


def render_refused(text: str) -> Markup:
    """Nothing but why there is nothing."""
    return _page(render_message(text, "error"))


def render_board(board: Board, said: str = "", failed: bool = False) -> Markup:
    """The whole page, under what the last action did."""
    refresh = tag("button", "Refresh", type="button", data_admin="board")
    message = tag("div", render_message(said, "error" if failed else "note"), class_="said")
    return _page(
        tag("div", message, refresh, class_="top"),
        _claims(board.held),
        _progress(board),
        _backups(board),
        _accounts(board),
    )


def _page(*parts: Markup) -> Markup:
    """Each drawing is another one, so that the browser notices that it came."""
    return tag("div", *parts, class_="rtv-admin", data_serial=secrets.token_hex(6))


# Claims


def _claims(held: tuple[Held, ...]) -> Markup:
    if not held:
        return section("Claims", none_yet("Nobody holds an item just now."), name="claims")
    rows = [_claim(h) for h in held[:CLAIMS_SHOWN]]
    columns = ("item", "annotator", "queue", "since", "end it")
    more = len(held) - len(rows)
    return section(
        "Claims",
        table("Who holds which item", columns, rows),
        note(f"{counted(more, 'more claim')} not shown.") if more else None,
        note(
            "A held item comes to nobody else, beyond the overlap that its queue asks for. A claim without a "
            f"verdict ends by itself after {HOLD_SECONDS // 60} minutes; verdicts stay when one is released."
        ),
        name="claims",
    )


def _claim(held: Held) -> tuple[Markup | str, ...]:
    claim = held.claim
    release = tag(
        "button",
        "Release",
        type="button",
        aria_label=f"release item {claim.place}, held by {claim.annotator}",
        data_admin="release",
        data_queue=held.queue.id,
        data_place=claim.place,
        data_annotator=claim.annotator,
    )
    item = tag(
        "span",
        short(held.question, LONGEST_ANSWER),
        tag("b", short(held.answer, LONGEST_ANSWER), class_="answer"),
        tag("span", f"item {claim.place}", class_="quiet"),
        class_="item",
    )
    return item, short(claim.annotator), short(held.queue.name, LONGEST_NAME), moment(claim.at), release


# Progress


def _progress(board: Board) -> Markup:
    if not board.work:
        text = "There is no queue yet. Draw one on the page Annotate, or by "
        return section("Progress", none_yet(text, command("queue draw --run NAME")), name="progress")
    more = f"{counted(board.left_out, 'older queue')} not shown." if board.left_out else ""
    return section("Progress", *map(_work, board.work), note(more) if more else None, name="progress")


def _work(work: Work) -> Markup:
    plan, items = work.queue.plan, work.queue.items
    facts = f"{plan.strategy} · {'blind' if plan.blind else 'open'} · overlap {plan.overlap}"
    head = tag(
        "div",
        tag("h3", short(work.queue.name, LONGEST_NAME)),
        tag("span", "run ", short(work.run, LONGEST_NAME), f" · {facts}", class_="quiet"),
        class_="head",
    )
    done = tag("span", f"{work.finished:,} of {counted(items, 'item')} finished", class_="count")
    whole = bar(work.finished, items, "finished items")
    people = [_person(person) for person in work.people]
    columns = ("annotator", "judged", "still wanted", "pace", "time left", "last verdict")
    made = table("What each annotator did", columns, people) if people else none_yet("Nobody has begun.")
    return tag("div", head, tag("p", whole, done, class_="whole"), made, class_="work")


def _person(person: Contribution) -> tuple[Markup | str, ...]:
    progress = person.progress
    return (
        short(person.annotator),
        tag("span", bar(progress.done, progress.total, "judged"), f"{progress.done:,}", class_="done"),
        f"{progress.left:,}",
        "–" if progress.seconds_each is None else f"{progress.seconds_each:.0f} s each",
        _time_left(progress),
        moment(person.last_at) if person.last_at else "–",
    )


def _time_left(progress: Progress) -> str:
    return "–" if not progress.left or progress.seconds_left is None else time_left(progress.seconds_left)


# Backups


def _backups(board: Board) -> Markup:
    make = tag("button", "Make a backup now", type="button", data_admin="backup", class_="main")
    folder = tag("code", escape(str(backup_folder(board.store))))
    where = note("Copies of the whole database, made while others write, in ", folder, ".")
    rows = [_backup(backup, board.store) for backup in board.backups[:BACKUPS_SHOWN]]
    more = len(board.backups) - len(rows)
    listed = table("Backups, newest first", ("made", "file", "size", "restore it"), rows) if rows else None
    return section(
        "Backups",
        tag("div", make, where, class_="make"),
        listed or none_yet("There is no backup yet."),
        note(f"{counted(more, 'older backup')} not shown.") if more else None,
        note(
            "Backups are restored by the command line only, to a file that is not there yet: nothing is "
            "overwritten. Stop the server, restore, and start it on the restored file."
        ),
        name="backups",
    )


def _backup(backup: Backup, store: Path) -> tuple[Markup | str, ...]:
    restored = store.with_name(f"{store.stem}-restored{store.suffix}")
    restore = command(f"judgements restore {quoted(backup.path)} --store {quoted(restored)}")
    serve = command(f"serve --store {quoted(restored)}")
    commands = tag("details", tag("summary", "Command"), restore, serve)
    return moment(backup.at), short(backup.path.name, LONGEST_NAME), size_text(backup.size), commands


# Accounts


def _accounts(board: Board) -> Markup:
    if board.accounts is None or board.accounts_file is None:
        return section(
            "Accounts",
            none_yet(
                "Nobody signs in here: only this machine reaches the server, and everyone on it sees this "
                "page. To work with others, add accounts and serve the pages with them:"
            ),
            command("accounts add NAME --admin --file people.json"),
            command("serve --auth people.json"),
            name="accounts",
        )
    file = quoted(board.accounts_file)
    commands = (
        ("add one", f"accounts add NAME --file {file}"),
        ("add an admin, who sees this page", f"accounts add NAME --admin --file {file}"),
        ("take one away; its verdicts stay", f"accounts remove NAME --file {file}"),
    )
    listed = (tag("div", tag("dt", what), tag("dd", command(how))) for what, how in commands)
    return section(
        "Accounts",
        table("Who can sign in", ("name", "rights"), [_account(a) for a in board.accounts], class_="names"),
        note("Passwords are kept as hashes only, and shown nowhere. Accounts change by the command line:"),
        tag("dl", *listed),
        name="accounts",
    )


def _account(account: Account) -> tuple[Markup | str, ...]:
    return short(account.name), tag("b", "admin") if account.admin else "annotator"
