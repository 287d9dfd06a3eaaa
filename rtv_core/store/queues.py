"""Queues of answers to judge, and who works on which of them: an append-only log of claims.

An item is done for an annotator while a current judgement of its trace, annotator and answer stands, wherever
it was made; so there is nothing to mark as done, and an undo opens the item again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from rtv_core.errors import InputError, MissingError
from rtv_core.records import QueueItem, QueuePlan
from rtv_core.store.database import connect, transaction
from rtv_core.store.events import ADDED, append_reveal, append_step
from rtv_core.store.ledger import JUDGED, Claim, Ledger
from rtv_core.store.traces import bindable
from rtv_core.store.validation import checked_name, checked_text
from rtv_core.text import answer_key
from rtv_core.wire import from_plain, to_json, to_plain

__all__ = [
    "HOLD_SECONDS",
    "Claim",
    "Contribution",
    "Progress",
    "Queue",
    "QueueStore",
    "Standing",
    "Step",
    "id_of_queue",
]

HOLD_SECONDS = 30 * 60
"""How long a claim without a verdict keeps an item from others."""

LEDGERS_KEPT = 64
LONGEST_NAME = 200

_COLUMNS = ("strategy", "seed", "overlap", "blind")
"""The fields of a plan that have columns of their own; the rest lie in `settings`."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A stored queue of `items` items, drawn from a run by `plan`. `created_at` is UTC, ISO 8601."""

    id: str
    run_id: str
    name: str
    plan: QueuePlan
    created_at: str
    items: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an annotator stands in a queue.

    `done` items have the annotator's verdict; `left` are still wanted of them, those that others hold just
    now included. `finished` of the queue's `items` have all the verdicts that its overlap asks for.
    `seconds_each` is the median of the last 20 items, None before the first. `skipped` items were put off
    and are not judged yet.
    """

    done: int
    left: int
    finished: int
    items: int
    seconds_each: float | None
    skipped: int = 0

    @property
    def total(self) -> int:
        """Done and left."""
        return self.done + self.left

    @property
    def seconds_left(self) -> float | None:
        """What is left, at this pace; None while the pace isn't known."""
        return None if self.seconds_each is None else self.left * self.seconds_each


@dataclass(frozen=True, slots=True)
class Contribution:
    """What an annotator did in a queue. `last_at` is the time of their last verdict, "" without one."""

    annotator: str
    progress: Progress
    last_at: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How an annotator stands to an item.

    `judged`: a verdict of theirs on it stands. `is_open`: nobody else is in the way of one. `others` are the
    queue's other items of the same question; `waiting`: one of them may still come to the annotator.
    `unplaced` is as in `QueueStore.unplaced`. `shown`: gold or scores of the question were shown to them, on
    an item of this queue or of another one of the run.
    """

    item: QueueItem
    judged: bool
    is_open: bool
    others: tuple[QueueItem, ...]
    waiting: bool
    unplaced: bool
    shown: bool


@dataclass(frozen=True, slots=True)
class Step:
    """What an undo or redo changed: the verdict on `item`, or on an `answer` that was `added` beside it."""

    item: QueueItem
    answer: str
    added: bool


def id_of_queue(run_id: str, name: str) -> str:
    """The id of a run's queue of this name: the first 16 hex digits of a SHA-256 over both."""
    return hashlib.sha256(f"{run_id}\n{name}".encode()).hexdigest()[:16]


class QueueStore:
    """The queues in a file of judgements, for any number of threads and processes.

    Every method opens its own connection, and raises StoreError where the file can't be read or written,
    MissingError for a queue or place that isn't there, and InputError for a name that isn't allowed.
    """

    def __init__(
        self,
        path: Path | str,
        hold_seconds: float = HOLD_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = Path(path)
        self._hold = timedelta(seconds=hold_seconds)
        self._clock = clock
        self._ledgers: dict[str, tuple[Queue, Ledger]] = {}
        self._reading = threading.Lock()
        with connect(self._path):
            pass

    def create(self, run_id: str, plan: QueuePlan, items: Sequence[QueueItem], name: str) -> str:
        """Keep a drawn queue under a name; returns its id. The same once more is the same queue.

        Raises InputError where the run has another queue of this name, and for items that are not the run's.
        """
        name = _checked_queue_name(name)
        if not items:
            raise InputError("The queue has no items. Draw some first.")
        queue_id = id_of_queue(run_id, name)
        with transaction(self._path) as db:
            _check_run(db, run_id, items)
            if db.execute("SELECT 1 FROM queues WHERE id = ?", [queue_id]).fetchone():
                if _queue(db, queue_id).plan == plan and _same(_items(db, queue_id), items):
                    return queue_id
                raise InputError(f"The run has another queue {name!r}. Give this one another name.")
            _insert(db, Queue(queue_id, run_id, name, plan, self._time(), len(items)), items)
        return queue_id

    def queues(self, run_id: str | None = None) -> list[Queue]:
        """The queues of a run, or of all runs, oldest first."""
        where, values = ("WHERE run_id = ?", [bindable(run_id)]) if run_id is not None else ("", [])
        with connect(self._path) as db:
            return [_read_queue(row) for row in db.query(f"{_QUEUES} {where} ORDER BY queues.rowid", values)]

    def queue(self, queue_id: str) -> Queue:
        """One queue."""
        with connect(self._path) as db:
            return _queue(db, queue_id)

    def items(self, queue_id: str) -> list[QueueItem]:
        """All items of a queue, by place."""
        with connect(self._path) as db:
            _queue(db, queue_id)
            return _items(db, queue_id)

    def item(self, queue_id: str, place: int) -> QueueItem:
        """One item; places count from 1."""
        with self._read(queue_id) as (queue, ledger):
            return _item(queue, ledger, place)

    def next(self, queue_id: str, annotator: str) -> QueueItem | None:
        """The item that the annotator is to judge now, claimed; None when there is none for them just now.

        That is the one they claimed last and still hold, else the first open item, else the one they skipped
        longest ago. An item is open while the annotators who judged or hold it are fewer than the queue's
        overlap, this one not counted. Asked again before the verdict, it is the same item.
        """
        annotator, since = checked_name(annotator), self._since()
        with transaction(self._path) as db:
            with self._opened(db, queue_id) as (queue, ledger):
                if (place := ledger.next_for(annotator, since)) is None:
                    return None
                item, held = ledger.items[place], ledger.claim(place, annotator, since)
            if held is None or held.at < self._since(share=0.5):
                self._log(db, queue, place, annotator, "claim")
            return item

    def ahead(self, queue_id: str, place: int, annotator: str) -> QueueItem | None:
        """The item that comes to the annotator after the one at `place`, claimed too; None if there is none.

        `next` still gives the one at `place` while that is held. So a page can have the next item ready.
        """
        annotator, since = checked_name(annotator), self._since()
        with transaction(self._path) as db:
            with self._opened(db, queue_id) as (queue, ledger):
                if (after := ledger.next_for(annotator, since, besides=place)) is None:
                    return None
                item = ledger.items[after]
                is_new = ledger.claim(after, annotator, since) is None
                holds = ledger.claim(place, annotator, since) is not None
            if is_new:
                self._log(db, queue, after, annotator, "claim")
                if holds:
                    self._log(db, queue, place, annotator, "claim")  # what is claimed last comes first
            return item

    def standing(self, queue_id: str, place: int, annotator: str) -> Standing:
        """What an item is to an annotator just now."""
        annotator = checked_name(annotator)
        with self._read(queue_id) as (queue, ledger):
            item = _item(queue, ledger, place)
            others = ledger.others(item)
            waiting = any(ledger.may_come(other.place, annotator) for other in others)
            return Standing(
                item,
                annotator in ledger.judges(place),
                ledger.is_free(place, annotator, self._since()),
                others,
                waiting,
                item.position in ledger.with_gold and not waiting and ledger.is_unplaced(place, annotator),
                ledger.shown(item.trace_id, annotator) is not None,
            )

    def show(self, queue_id: str, place: int, annotator: str) -> None:
        """Log that an annotator is shown gold or scores of an item's question: from now on it isn't blind."""
        annotator = checked_name(annotator)
        with transaction(self._path) as db:
            with self._opened(db, queue_id) as (queue, ledger):
                trace_id = _item(queue, ledger, place).trace_id
            append_reveal(db, trace_id, annotator)

    def unplaced(self, queue_id: str, annotator: str) -> list[QueueItem]:
        """The items that the annotator called right while the gold was hidden, and now is to place in it.

        Their last verdict is a blind "unlisted" from before any gold was shown, their question has gold, and
        no item of it may still come to the annotator, so that seeing the gold spoils nothing. The one judged
        last comes first.
        """
        annotator = checked_name(annotator)
        with self._read(queue_id) as (_, ledger):
            return ledger.unplaced(annotator)

    def all_unplaced(self, queue_id: str) -> int:
        """How many verdicts of all annotators are still to be placed in the gold, now or later."""
        with self._read(queue_id) as (_, ledger):
            return ledger.all_unplaced()

    def skip(self, queue_id: str, place: int, annotator: str) -> None:
        """Let an item go for now: others may take it, and it comes back to the annotator at the end."""
        self._let_go(queue_id, place, annotator, "skip")

    def release(self, queue_id: str, place: int, annotator: str) -> None:
        """End an annotator's claim on an item without putting the item off."""
        self._let_go(queue_id, place, annotator, "release")

    def undo(self, queue_id: str, annotator: str) -> Step | None:
        """Take back the last verdict of an annotator in a queue; None without one.

        Answers that the annotator added to the queue's questions count among the verdicts. An item that was
        judged twice has its earlier verdict again; one that has none any more is claimed again.
        """
        return self._step("undo", _LAST_LIVE, queue_id, annotator)

    def redo(self, queue_id: str, annotator: str) -> Step | None:
        """Restore the verdict taken back last; None when there is nothing, or a verdict came since."""
        return self._step("redo", _LAST_UNDONE, queue_id, annotator)

    def claims(self, queue_id: str) -> list[Claim]:
        """What is held just now, by place."""
        with self._read(queue_id) as (_, ledger):
            return ledger.claims(self._since())

    def progress(self, queue_id: str, annotator: str) -> Progress:
        """How far the annotator is, and at what pace."""
        annotator = checked_name(annotator)
        with self._read(queue_id) as (queue, ledger):
            return _progress(queue, ledger, annotator)

    def contributions(self, queue_id: str) -> list[Contribution]:
        """Everyone who judged an item of a queue, or ever claimed one, by name."""
        with self._read(queue_id) as (queue, ledger):
            return [
                Contribution(who, _progress(queue, ledger, who), ledger.last_at(who))
                for who in ledger.people()
            ]

    @contextmanager
    def _read(self, queue_id: str) -> Iterator[tuple[Queue, Ledger]]:
        with connect(self._path) as db, self._opened(db, queue_id) as opened:
            yield opened

    @contextmanager
    def _opened(self, db: Database, queue_id: str) -> Iterator[tuple[Queue, Ledger]]:
        """A queue with its ledger as of now, for this thread alone. In a transaction, before any write."""
        with self._reading:
            key = bindable(queue_id)
            opened = self._ledgers.pop(key, None)
            if opened is None or not _is_there(db, key):
                queue = _queue(db, key)
                opened = queue, Ledger(db, queue.id, queue.run_id, queue.plan.overlap)
            self._ledgers[key] = opened
            if len(self._ledgers) > LEDGERS_KEPT:
                del self._ledgers[next(iter(self._ledgers))]
            opened[1].refresh(db)
            yield opened

    def _let_go(self, queue_id: str, place: int, annotator: str, kind: str) -> None:
        annotator = checked_name(annotator)
        with transaction(self._path) as db:
            with self._opened(db, queue_id) as (queue, ledger):
                item = _item(queue, ledger, place)
            self._log(db, queue, item.place, annotator, kind)

    def _step(self, kind: str, target_sql: str, queue_id: str, annotator: str) -> Step | None:
        """Append an undo or redo of the judgement that `target_sql` finds."""
        annotator = checked_name(annotator)
        with transaction(self._path) as db:
            queue = _queue(db, queue_id)
            names = {"queue": queue.id, "run": queue.run_id, "annotator": annotator}
            if (row := db.execute(target_sql, names).fetchone()) is None:
                return None
            target, answer, place, added = row
            item = QueueItem(*db.execute(f"{_ITEMS} AND item.place = ?", [queue.id, place]).fetchone())
            append_step(db, kind, target, self._time())
            if kind == "undo" and not added:
                self._log(db, queue, place, annotator, "claim")
            return Step(item, answer, bool(added))

    def _log(self, db: Database, queue: Queue, place: int, annotator: str, kind: str) -> None:
        event = {"queue_id": queue.id, "place": place, "annotator": annotator}
        db.table("claims").insert(event | {"kind": kind, "at": self._time()})

    def _time(self, ago: timedelta = timedelta()) -> str:
        return (self._clock() - ago).isoformat(timespec="milliseconds")

    def _since(self, share: float = 1.0) -> str:
        """Claims that are older than this share of the holding time began before."""
        return self._time(ago=share * self._hold)


_MINE = f"""
    WITH mine AS (
        SELECT judged.id, judged.at, judged.trace_id, judged.place, 0 AS added FROM ({JUDGED}) AS judged
        WHERE judged.annotator = :annotator
        UNION ALL
        SELECT event.id, event.at, event.trace_id, min(item.place), 1
        FROM queue_items AS item
        JOIN run_questions AS asked ON asked.run_id = :run AND asked.position = item.position
        JOIN events AS event ON event.trace_id = asked.trace_id
        WHERE item.queue_id = :queue AND event.kind = 'judge' AND event.annotator = :annotator
            AND (NOT event.recalled OR event.token LIKE '{ADDED}%' AND NOT EXISTS (
                SELECT 1 FROM events AS since
                WHERE since.trace_id = event.trace_id AND since.answer_key = event.answer_key
                    AND +since.annotator = event.annotator AND since.kind = 'judge'
                    AND since.token NOT LIKE '{ADDED}%' AND (since.at, since.id) > (event.at, event.id)
            ))
            AND NOT EXISTS (
                SELECT 1 FROM queue_items AS own
                WHERE own.queue_id = :queue AND own.position = item.position
                    AND own.answer_key = event.answer_key
            )
        GROUP BY event.id
    )
    SELECT mine.id, said.answer, mine.place, mine.added
    FROM mine JOIN events AS said ON said.id = mine.id
    LEFT JOIN events AS step ON step.id = (
        SELECT id FROM events WHERE target = mine.id ORDER BY at DESC, id DESC LIMIT 1
    )
"""
"""An annotator's verdicts on a queue's items, and on answers added to their questions, with the last step.

An added answer may be a candidate that the queue left out, unless it was judged elsewhere since.
"""

_LAST_LIVE = f"""
    {_MINE} WHERE coalesce(step.kind, 'redo') = 'redo' ORDER BY mine.at DESC, mine.id DESC LIMIT 1
"""

_LAST_UNDONE = f"""
    {_MINE} WHERE step.kind = 'undo' AND NOT EXISTS (
        SELECT 1 FROM mine AS later WHERE later.id > step.id OR later.at > step.at
    )
    ORDER BY step.at DESC, step.id DESC LIMIT 1
"""

_QUEUES = """
    SELECT queues.*, (SELECT count(*) FROM queue_items WHERE queue_id = queues.id) AS items FROM queues
"""


def _progress(queue: Queue, ledger: Ledger, annotator: str) -> Progress:
    mine, full = ledger.judged_by(annotator), ledger.full()
    left = queue.items - len(mine) - len(full - mine)
    pace = ledger.seconds_each(annotator)
    return Progress(len(mine), left, len(full), queue.items, pace, len(ledger.skipped_by(annotator)))


def _insert(db: Database, queue: Queue, items: Sequence[QueueItem]) -> None:
    plan = to_plain(queue.plan)
    row = {name: plan.pop(name) for name in _COLUMNS}
    row |= {"id": queue.id, "run_id": queue.run_id, "name": queue.name, "created_at": queue.created_at}
    db.table("queues").insert(row | {"settings": to_json(plan)})
    try:
        db.table("queue_items").insert_all(_item_rows(queue.id, items))
    except sqlite3.IntegrityError as error:
        raise InputError(f"The items of the queue are not in order ({error}). Draw them again.") from error


def _item_rows(queue_id: str, items: Sequence[QueueItem]) -> Iterator[dict[str, Any]]:
    for place, item in enumerate(items, start=1):
        yield {
            "queue_id": queue_id,
            "place": place,
            "position": item.position,
            "kind": item.kind,
            "answer": checked_text("answer", item.answer, visible=True),
            "answer_key": answer_key(item.answer) or item.answer,
            "inclusion": item.inclusion,
            "stratum": item.stratum,
        }


def _check_run(db: Database, run_id: str, items: Sequence[QueueItem]) -> None:
    sql = "SELECT position, trace_id FROM run_questions WHERE run_id = ?"
    traces = dict(db.execute(sql, [bindable(run_id)]).fetchall())
    if not traces:
        raise MissingError(f"There is no run {str(run_id)[:80]!r} with questions. Choose another.")
    foreign = next((item for item in items if traces.get(item.position) != item.trace_id), None)
    if foreign is not None:
        raise InputError(f"The item {foreign.answer[:80]!r} is not of this run. Draw the queue again.")


def _same(stored: Sequence[QueueItem], items: Sequence[QueueItem]) -> bool:
    return [replace(item, place=0) for item in stored] == [replace(item, place=0) for item in items]


def _queue(db: Database, queue_id: str) -> Queue:
    row = next(iter(db.query(f"{_QUEUES} WHERE id = ?", [bindable(queue_id)])), None)
    if row is None:
        raise MissingError(f"There is no queue {str(queue_id)[:80]!r}. Choose another.")
    return _read_queue(row)


def _read_queue(row: dict[str, Any]) -> Queue:
    plan = json.loads(row["settings"]) | {name: row[name] for name in _COLUMNS}
    plan["blind"] = bool(plan["blind"])
    return Queue(
        row["id"], row["run_id"], row["name"], from_plain(QueuePlan, plan), row["created_at"], row["items"]
    )


_ITEMS = """
    SELECT item.position, asked.trace_id, item.kind, item.answer, item.inclusion, item.stratum, item.place
    FROM queue_items AS item
    JOIN queues ON queues.id = item.queue_id
    JOIN run_questions AS asked ON asked.run_id = queues.run_id AND asked.position = item.position
    WHERE item.queue_id = ?
"""


def _items(db: Database, queue_id: str) -> list[QueueItem]:
    return [QueueItem(*row) for row in db.execute(f"{_ITEMS} ORDER BY item.place", [bindable(queue_id)])]


def _item(queue: Queue, ledger: Ledger, place: int) -> QueueItem:
    if type(place) is not int or place not in ledger.items:
        raise MissingError(f"The queue has no item {place!r}; its items are 1 to {queue.items:,}.")
    return ledger.items[place]


def _is_there(db: Database, queue_id: str) -> bool:
    return db.execute("SELECT 1 FROM queues WHERE id = ?", [queue_id]).fetchone() is not None


def _checked_queue_name(name: str) -> str:
    name = " ".join(checked_text("queue's name", name, LONGEST_NAME, visible=True).split())
    if any(ord(c) < 32 or ord(c) == 127 for c in name):
        raise InputError(f"The queue's name {name!r} holds a control character. Type it again.")
    return name
