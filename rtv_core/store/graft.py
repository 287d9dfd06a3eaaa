"""Verdicts from elsewhere joined to the log: added once, in their own words and times, and nothing rewritten.

The log's order says which verdict stands. Where one that is added is older than one that was there, the newer
one is taken back and said again after it, so that for each annotator and answer the latest by time stands.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sqlite_utils import Database

from rtv_core.records import Judgement
from rtv_core.store.events import event_row
from rtv_core.store.traces import now
from rtv_core.wire import to_json

__all__ = ["Graft"]

CONTENT = (
    "answer",
    "label",
    "evidence",
    "gold",
    "note",
    "support",
    "recalled",
    "blind",
    "p_right",
    "tau",
    "k",
    "at",
)

Place = tuple[str, str, str]
"""Trace, annotator and answer key."""


class Graft:
    """Joins verdicts to the log of a transaction. `finish` comes last, once."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._met: set[int] = set()
        self._steps: dict[int, Counter[tuple[str, str]]] = {}
        self._stepped: set[int] = set()
        self._changed: set[Place] = set()

    def judge(self, judgement: Judgement, token: str) -> tuple[int, bool]:
        """The id of the event of a judgement that was checked, and whether it had to be added.

        It is there already if an event has the same content and time, or the same token and content if no
        time is known; each event stands for one judgement. The traces must be there.
        """
        row = event_row(judgement, token)
        event = self._known(row)
        is_new = event is None
        if is_new:
            if self._is_used(judgement.annotator, token):
                row["token"] = f"joined:{_digest(row)}"
            event = self._insert(row | {"at": row["at"] or now()})
            self._changed.add(_place(row))
        self._met.add(event)
        return event, is_new

    def step(self, kind: str, at: str, target: int) -> bool:
        """Join an "undo" or "redo" of an event; whether it had to be added."""
        if target not in self._steps:
            done = self._db.execute("SELECT kind, at FROM events WHERE target = ?", [target])
            self._steps[target] = Counter(map(tuple, done))
        if self._steps[target][kind, at]:
            self._steps[target][kind, at] -= 1
            return False
        self._insert_step(kind, at, target)
        return True

    def finish(self) -> None:
        """Let the latest by time stand where something was added."""
        for target in sorted(self._stepped):
            steps = self._rows("SELECT id, kind, at FROM events WHERE target = ? ORDER BY id", [target])
            latest = max(steps, key=lambda row: (row["at"], row["id"]))
            if latest["kind"] != steps[-1]["kind"]:
                self._insert_step(latest["kind"], latest["at"], target)
        for place in sorted(self._changed):
            for event in self._out_of_order(place):
                self._say_again(event)

    def _known(self, row: Mapping[str, Any]) -> int | None:
        sql = """
            SELECT * FROM events WHERE trace_id = ? AND annotator = ? AND answer_key = ? AND kind = 'judge'
            ORDER BY id
        """
        content = CONTENT if row["at"] else CONTENT[:-1]
        same = [e for e in self._rows(sql, _place(row)) if all(e[name] == row[name] for name in content)]
        by_token = [event for event in same if event["token"] == row["token"]]
        free = [event for event in same if event["id"] not in self._met] if row["at"] else []
        return next((event["id"] for event in (*by_token, *free)), None)

    def _is_used(self, annotator: str, token: str) -> bool:
        sql = "SELECT 1 FROM events WHERE annotator = ? AND token = ?"
        return self._db.execute(sql, [annotator, token]).fetchone() is not None

    def _insert(self, row: Mapping[str, Any]) -> int:
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        return self._db.execute(f"INSERT INTO events ({names}) VALUES ({marks})", [*row.values()]).lastrowid

    def _insert_step(self, kind: str, at: str, target: int) -> None:
        (judged,) = self._rows("SELECT * FROM events WHERE id = ?", [target])
        who = {name: judged[name] for name in ("trace_id", "annotator")}
        self._insert(who | {"kind": kind, "at": at, "target": target})
        self._stepped.add(target)
        self._changed.add(_place(judged))

    def _out_of_order(self, place: Place) -> list[dict[str, Any]]:
        """The live verdicts on an answer, oldest first, from the first on that stands before an older one."""
        sql = """
            SELECT events.* FROM events JOIN live_judgements AS live ON live.id = events.id
            WHERE live.trace_id = ? AND live.annotator = ? AND live.answer_key = ?
            ORDER BY events.at, events.id
        """
        live = self._rows(sql, place)
        wrong = [i for i in range(1, len(live)) if live[i]["id"] < live[i - 1]["id"]]
        return live[wrong[0] :] if wrong else []

    def _say_again(self, event: dict[str, Any]) -> None:
        (last,) = self._db.execute("SELECT max(id) FROM events").fetchone()
        self._insert_step("undo", now(), event["id"])
        again = {name: value for name, value in event.items() if name != "id"}
        self._insert(again | {"token": f"again:{_digest([event['token'], last])}"})

    def _rows(self, sql: str, values: Any) -> list[dict[str, Any]]:
        return list(self._db.query(sql, list(values)))


def _place(row: Mapping[str, Any]) -> Place:
    return row["trace_id"], row["annotator"], row["answer_key"]


def _digest(value: Any) -> str:
    return hashlib.sha256(to_json(value).encode()).hexdigest()[:32]
