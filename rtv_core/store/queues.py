"""Queues of answers to judge, and who works on which of them: an append-only log of claims.

An item is done for an annotator while a current judgement of its trace, annotator and answer stands, wherever
it was made; so there is nothing to mark as done, and an undo opens the item again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from sqlite_utils import Database

from rtv_core.errors import InputError, MissingError
from rtv_core.records import QueueItem, QueuePlan
from rtv_core.store.database import connect, transaction
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
    "id_of_queue",
]

HOLD_SECONDS = 30 * 60
"""How long a claim without a verdict keeps an item from others."""

PACE_ITEMS = 20
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
class Claim:
    """An item that an annotator holds since `at`, without a verdict yet."""

    place: int
    annotator: str
    at: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an annotator stands in a queue.

    `done` items have the annotator's verdict; `left` are still wanted of them, those that others hold just
    now included. `finished` of the queue's `items` have all the verdicts that its overlap asks for.
    `seconds_each` is the median of the last 20 items, None before the first.
    """

    done: int
    left: int
    finished: int
    items: int
    seconds_each: float | None

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
    `unplaced` is as in `QueueStore.unplaced`.
    """

    item: QueueItem
    judged: bool
    is_open: bool
    others: tuple[QueueItem, ...]
    waiting: bool
    unplaced: bool


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
        with connect(self._path) as db:
            return _item(db, _queue(db, queue_id), place)

    def next(self, queue_id: str, annotator: str) -> QueueItem | None:
        """The item that the annotator is to judge now, claimed; None when there is none for them just now.

        That is the one they claimed last and still hold, else the first open item, else the one they skipped
        longest ago. An item is open while the annotators who judged or hold it are fewer than the queue's
        overlap, this one not counted. Asked again before the verdict, it is the same item.
        """
        annotator = checked_name(annotator)
        with transaction(self._path) as db:
            queue = _queue(db, queue_id)
            state = _state(db, queue, self._since())
            if (place := state.next_for(annotator)) is None:
                return None
            held = state.held[place].get(annotator)
            if held is None or held.at < self._since(share=0.5):
                self._log(db, queue, place, annotator, "claim")
            return _item(db, queue, place)

    def ahead(self, queue_id: str, place: int, annotator: str) -> QueueItem | None:
        """The item that comes to the annotator after the one at `place`, claimed too; None if there is none.

        `next` still gives the one at `place` while that is held. So a page can have the next item ready.
        """
        annotator = checked_name(annotator)
        with transaction(self._path) as db:
            queue = _queue(db, queue_id)
            state = _state(db, queue, self._since())
            if (after := state.next_for(annotator, besides=place)) is None:
                return None
            if annotator not in state.held[after]:
                self._log(db, queue, after, annotator, "claim")
                if annotator in state.held[place]:
                    self._log(db, queue, place, annotator, "claim")  # what is claimed last comes first
            return _item(db, queue, after)

    def standing(self, queue_id: str, place: int, annotator: str) -> Standing:
        """What an item is to an annotator just now."""
        annotator = checked_name(annotator)
        with connect(self._path) as db:
            queue = _queue(db, queue_id)
            item = _item(db, queue, place)
            state = _state(db, queue, self._since())
            sql = f"{_ITEMS} AND item.position = ? AND item.place <> ? ORDER BY item.place"
            rows = db.execute(sql, [queue.id, item.position, item.place])
            others = tuple(QueueItem(*row) for row in rows)
            has_gold = item.position in _with_gold(db, queue)
        waiting = any(state.may_come(other.place, annotator) for other in others)
        return Standing(
            item,
            annotator in state.judged.get(place, ()),
            state.is_free(place, annotator),
            others,
            waiting,
            has_gold and not waiting and state.is_unplaced(place, annotator),
        )

    def unplaced(self, queue_id: str, annotator: str) -> list[QueueItem]:
        """The items that the annotator called right while the gold was hidden, and now is to place in it.

        Their one verdict is a blind "unlisted", their question has gold, and no item of it may still come to
        the annotator, so that seeing the gold spoils nothing. The one judged last comes first.
        """
        annotator = checked_name(annotator)
        with connect(self._path) as db:
            queue = _queue(db, queue_id)
            state = _state(db, queue, self._since())
            if not (right := state.unplaced(annotator)):
                return []
            items = {item.place: item for item in _items(db, queue.id)}
            gold = _with_gold(db, queue)
        coming = {item.position for item in items.values() if state.may_come(item.place, annotator)}
        found = (items[place] for place in right)
        return [item for item in found if item.position in gold and item.position not in coming]

    def skip(self, queue_id: str, place: int, annotator: str) -> None:
        """Let an item go for now: others may take it, and it comes back to the annotator at the end."""
        self._let_go(queue_id, place, annotator, "skip")

    def release(self, queue_id: str, place: int, annotator: str) -> None:
        """End an annotator's claim on an item without putting the item off."""
        self._let_go(queue_id, place, annotator, "release")

    def undo(self, queue_id: str, annotator: str) -> QueueItem | None:
        """Take back the annotator's last verdict in a queue; its item, claimed again, or None without one.

        An item that was judged twice has its earlier verdict again.
        """
        return self._step("undo", _LAST_LIVE, queue_id, annotator)

    def redo(self, queue_id: str, annotator: str) -> QueueItem | None:
        """Restore the verdict taken back last; None when there is nothing, or a verdict came since."""
        return self._step("redo", _LAST_UNDONE, queue_id, annotator)

    def claims(self, queue_id: str) -> list[Claim]:
        """What is held just now, by place."""
        with connect(self._path) as db:
            state = _state(db, _queue(db, queue_id), self._since())
        found = [claim for holders in state.held.values() for claim in holders.values()]
        return sorted(found, key=lambda claim: (claim.place, claim.annotator))

    def progress(self, queue_id: str, annotator: str) -> Progress:
        """How far the annotator is, and at what pace."""
        annotator = checked_name(annotator)
        with connect(self._path) as db:
            queue = _queue(db, queue_id)
            judged = _state(db, queue, self._since()).judged
            return _progress(queue, judged, annotator, _pace(db, queue, annotator))

    def contributions(self, queue_id: str) -> list[Contribution]:
        """Everyone who judged an item of a queue, or ever claimed one, by name."""
        with connect(self._path) as db:
            queue = _queue(db, queue_id)
            judged = _state(db, queue, self._since()).judged
            names = {"queue": queue.id, "run": queue.run_id}
            last = dict(db.execute(f"SELECT annotator, max(at) FROM ({_LIVE}) GROUP BY annotator", names))
            claimed = db.execute("SELECT DISTINCT annotator FROM claims WHERE queue_id = ?", [queue.id])
            people = sorted({*last, *(annotator for (annotator,) in claimed)})
            return [
                Contribution(who, _progress(queue, judged, who, _pace(db, queue, who)), last.get(who, ""))
                for who in people
            ]

    def _let_go(self, queue_id: str, place: int, annotator: str, kind: str) -> None:
        annotator = checked_name(annotator)
        with transaction(self._path) as db:
            queue = _queue(db, queue_id)
            self._log(db, queue, _item(db, queue, place).place, annotator, kind)

    def _step(self, kind: str, target_sql: str, queue_id: str, annotator: str) -> QueueItem | None:
        """Append an undo or redo of the judgement that `target_sql` finds."""
        annotator = checked_name(annotator)
        with transaction(self._path) as db:
            queue = _queue(db, queue_id)
            names = {"queue": queue.id, "run": queue.run_id, "annotator": annotator}
            if (row := db.execute(target_sql, names).fetchone()) is None:
                return None
            target, trace_id, place = row
            event = {"kind": kind, "at": self._time(), "target": target, "trace_id": trace_id}
            db.table("events").insert(event | {"annotator": annotator})
            if kind == "undo":
                self._log(db, queue, place, annotator, "claim")
            return _item(db, queue, place)

    def _log(self, db: Database, queue: Queue, place: int, annotator: str, kind: str) -> None:
        event = {"queue_id": queue.id, "place": place, "annotator": annotator}
        db.table("claims").insert(event | {"kind": kind, "at": self._time()})

    def _time(self, ago: timedelta = timedelta()) -> str:
        return (self._clock() - ago).isoformat(timespec="milliseconds")

    def _since(self, share: float = 1.0) -> str:
        """Claims that are older than this share of the holding time began before."""
        return self._time(ago=share * self._hold)


@dataclass(frozen=True, slots=True)
class _State:
    """Who judged and who holds which place of a queue; `skips` are the skips so far, oldest first.

    `verdicts` are the labels that stand, by place and annotator, each with whether it was blind. `numbers`
    count the claims that are held through the log.
    """

    queue: Queue
    judged: defaultdict[int, set[str]]
    verdicts: Mapping[tuple[int, str], Sequence[tuple[str, bool]]]
    held: defaultdict[int, dict[str, Claim]]
    numbers: Mapping[tuple[int, str], int]
    skips: Sequence[tuple[int, str]]

    def next_for(self, annotator: str, besides: int | None = None) -> int | None:
        """The place that the annotator is to judge now, `besides` one."""
        places = (place for place in range(1, self.queue.items + 1) if place != besides)
        wanted = [p for p in places if annotator not in self.judged.get(p, ()) and self.is_free(p, annotator)]
        if mine := [place for place in wanted if annotator in self.held.get(place, ())]:
            return max(mine, key=lambda place: self.numbers[place, annotator])
        put_off = {place: number for number, (place, who) in enumerate(self.skips) if who == annotator}
        return min(wanted, key=lambda place: (put_off.get(place, -1), place), default=None)

    def is_free(self, place: int, annotator: str) -> bool:
        """Whether those who judged or hold it, the annotator aside, are fewer than the overlap."""
        others = {*self.judged.get(place, ()), *self.held.get(place, ())} - {annotator}
        return len(others) < self.queue.plan.overlap

    def may_come(self, place: int, annotator: str) -> bool:
        """Whether the annotator may still get it, be it that others let it go."""
        judged = self.judged.get(place, ())
        return annotator not in judged and len(judged) < self.queue.plan.overlap

    def is_unplaced(self, place: int, annotator: str) -> bool:
        """Whether all that the annotator said of it is a blind "unlisted"."""
        return self.verdicts.get((place, annotator)) == [("unlisted", True)]

    def unplaced(self, annotator: str) -> list[int]:
        """The places for which that is so, the one judged last first."""
        mine = [place for place, who in self.verdicts if who == annotator]
        return [place for place in reversed(mine) if self.is_unplaced(place, annotator)]


def _state(db: Database, queue: Queue, since: str) -> _State:
    judged: defaultdict[int, set[str]] = defaultdict(set)
    verdicts: defaultdict[tuple[int, str], list[tuple[str, bool]]] = defaultdict(list)
    names = {"queue": queue.id, "run": queue.run_id}
    live = f"SELECT place, annotator, label, blind FROM ({_LIVE}) ORDER BY id"
    for place, annotator, label, blind in db.execute(live, names):
        judged[place].add(annotator)
        verdicts[place, annotator].append((label, bool(blind)))
    held: defaultdict[int, dict[str, Claim]] = defaultdict(dict)
    numbers = {}
    for number, place, annotator, kind, at in db.execute(_LAST_CLAIMS, names | {"since": since}):
        if kind == "claim" and annotator not in judged.get(place, ()):
            held[place][annotator] = Claim(place, annotator, at)
            numbers[place, annotator] = number
    skips = db.execute(
        "SELECT place, annotator FROM claims WHERE queue_id = :queue AND kind = 'skip' ORDER BY id", names
    )
    return _State(queue, judged, verdicts, held, numbers, skips.fetchall())


def _with_gold(db: Database, queue: Queue) -> set[int]:
    """The positions of the queue's questions that have a gold answer."""
    sql = """
        SELECT DISTINCT item.position FROM queue_items AS item
        JOIN run_questions AS asked ON asked.run_id = ? AND asked.position = item.position
        WHERE item.queue_id = ? AND trim(asked.gold_json, '[], ') <> ''
    """
    return {position for (position,) in db.execute(sql, [queue.run_id, queue.id])}


_JUDGED = """
    SELECT event.id, event.at, event.trace_id, event.annotator, event.label, event.blind, item.place
    FROM queue_items AS item
    JOIN run_questions AS asked ON asked.run_id = :run AND asked.position = item.position
    JOIN events AS event ON event.trace_id = asked.trace_id AND event.answer_key = item.answer_key
    WHERE item.queue_id = :queue AND event.kind = 'judge'
"""
"""Every verdict ever given on a queue's items."""

_LIVE = f"""
    SELECT * FROM ({_JUDGED}) AS judged
    WHERE coalesce(
        (SELECT step.kind FROM events AS step WHERE step.target = judged.id ORDER BY step.id DESC LIMIT 1),
        'redo'
    ) = 'redo'
"""
"""Those of them that were not taken back, or were restored."""

_LAST_LIVE = f"""
    SELECT id, trace_id, place FROM ({_LIVE}) WHERE annotator = :annotator ORDER BY id DESC LIMIT 1
"""

_LAST_UNDONE = f"""
    WITH mine AS (SELECT * FROM ({_JUDGED}) WHERE annotator = :annotator)
    SELECT mine.id, mine.trace_id, mine.place
    FROM mine
    JOIN events AS step ON step.id = (SELECT max(id) FROM events WHERE target = mine.id)
    WHERE step.kind = 'undo' AND step.id > (SELECT max(id) FROM mine)
    ORDER BY step.id DESC LIMIT 1
"""

_LAST_CLAIMS = """
    SELECT id, place, annotator, kind, at FROM claims
    WHERE id IN (
        SELECT max(id) FROM claims WHERE queue_id = :queue AND at > :since GROUP BY place, annotator
    )
"""

_QUEUES = """
    SELECT queues.*, (SELECT count(*) FROM queue_items WHERE queue_id = queues.id) AS items FROM queues
"""


def _progress(queue: Queue, judged: Mapping[int, set[str]], annotator: str, pace: float | None) -> Progress:
    overlap, done = queue.plan.overlap, sum(annotator in people for people in judged.values())
    finished = sum(len(people) >= overlap for people in judged.values())
    full_by_others = sum(len(people) >= overlap and annotator not in people for people in judged.values())
    return Progress(done, queue.items - done - full_by_others, finished, queue.items, pace)


def _pace(db: Database, queue: Queue, annotator: str) -> float | None:
    """The median seconds from when the annotator got an item, or judged the one before, to the verdict."""
    names = {"queue": queue.id, "run": queue.run_id, "annotator": annotator, "most": PACE_ITEMS + 1}
    verdicts = db.execute(
        f"""
        SELECT place, min(id) AS id, at FROM ({_LIVE}) WHERE annotator = :annotator
        GROUP BY place ORDER BY id DESC LIMIT :most
        """,
        names,
    ).fetchall()
    spent, before = [], ""
    for place, _, at in reversed(verdicts):
        (claimed,) = db.execute(
            """
            SELECT max(at) FROM claims
            WHERE queue_id = ? AND place = ? AND annotator = ? AND kind = 'claim' AND at <= ?
            """,
            [queue.id, place, annotator, at],
        ).fetchone()
        if claimed is not None:
            began = datetime.fromisoformat(max(claimed, before))
            spent.append((datetime.fromisoformat(at) - began).total_seconds())
        before = at
    return median(spent[-PACE_ITEMS:]) if spent else None


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


def _item(db: Database, queue: Queue, place: int) -> QueueItem:
    whole = type(place) is int and 1 <= place <= queue.items
    row = db.execute(f"{_ITEMS} AND item.place = ?", [queue.id, place]).fetchone() if whole else None
    if row is None:
        raise MissingError(f"The queue has no item {place!r}; its items are 1 to {queue.items:,}.")
    return QueueItem(*row)


def _checked_queue_name(name: str) -> str:
    name = " ".join(checked_text("queue's name", name, LONGEST_NAME, visible=True).split())
    if any(ord(c) < 32 or ord(c) == 127 for c in name):
        raise InputError(f"The queue's name {name!r} holds a control character. Type it again.")
    return name
