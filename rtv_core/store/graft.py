"""Verdicts from elsewhere joined to the log: added once, in their own words and times, and nothing rewritten.

The latest by time stands for each annotator and answer, whether it was there before or is added.
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


class Graft:
    """Joins verdicts to the log of a transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._met: set[int] = set()
        self._steps: dict[int, Counter[tuple[str, str]]] = {}

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
        sql = "SELECT trace_id, annotator FROM events WHERE id = ?"
        trace_id, annotator = self._db.execute(sql, [target]).fetchone()
        step = {"kind": kind, "at": at, "target": target}
        self._insert(step | {"trace_id": trace_id, "annotator": annotator})
        return True

    def _known(self, row: Mapping[str, Any]) -> int | None:
        sql = """
            SELECT * FROM events WHERE trace_id = ? AND annotator = ? AND answer_key = ? AND kind = 'judge'
            ORDER BY id
        """
        content = CONTENT if row["at"] else CONTENT[:-1]
        place = [row[name] for name in ("trace_id", "annotator", "answer_key")]
        same = [e for e in self._db.query(sql, place) if all(e[name] == row[name] for name in content)]
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


def _digest(value: Any) -> str:
    return hashlib.sha256(to_json(value).encode()).hexdigest()[:32]
