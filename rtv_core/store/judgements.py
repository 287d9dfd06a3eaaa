"""Judgements and the traces they were made on: an append-only log, read through views.

Nothing is ever changed or deleted. A changed verdict is one more "judge" event; undo and redo are events too.
What is latest by time stands, so that the logs of two machines can be joined in any order.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from sqlite_utils import Database

from rtv_core.errors import InputError
from rtv_core.records import Judgement, Trace
from rtv_core.store.copies import check_free
from rtv_core.store.database import connect, plain_errors, transaction
from rtv_core.store.events import (
    ADDED,
    append_judgement,
    append_step,
    on_trace,
    read_judgement,
    spellings_on,
    stored_trace,
    was_shown,
)
from rtv_core.store.supports import check_in_passages, passage_texts
from rtv_core.store.traces import bindable, insert_trace, now, question_key, read_trace, trace_row
from rtv_core.store.validation import checked_judgement, checked_name, checked_token, composed

__all__ = ["Event", "JudgementStore"]

TRACES_KEPT = 64


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the log: `judgement` was made ("judge"), taken back ("undo") or restored ("redo")."""

    kind: str
    at: str
    judgement: Judgement


class JudgementStore:
    """The judgements in one SQLite file, for any number of threads and processes.

    The file is made if it isn't there. Every method opens its own connection, and raises StoreError where
    the file can't be read or written. Times are UTC, ISO 8601.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._load_trace = lru_cache(TRACES_KEPT)(self._read_trace)
        self._spellings = lru_cache(TRACES_KEPT)(self._read_spellings)
        with connect(self._path):
            pass

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def save_trace(self, trace: Trace) -> str:
        """Keep a trace and return its id, which depends on everything but `seconds`. Twice is one row."""
        row = trace_row(trace)
        with transaction(self._path) as db:
            insert_trace(db, row)
        return row["id"]

    def load_trace(self, trace_id: str) -> Trace:
        """A kept trace. Raises MissingError if there is none of this id.

        The last ones are remembered: a trace never changes under its id, and to read one takes most of the
        time of a verdict.
        """
        return self._load_trace(bindable(trace_id))

    def traces(self, question: str) -> list[str]:
        """The ids of the traces of a question, newest first; case and spacing don't matter."""
        sql = "SELECT id FROM traces WHERE question_key = ? ORDER BY rowid DESC"
        with connect(self._path) as db:
            return [row["id"] for row in db.query(sql, [question_key(question)])]

    def provenance(self, trace_id: str) -> Mapping[str, str]:
        """Which models, index and versions made a trace. Raises MissingError if there is none of this id."""
        with connect(self._path) as db:
            return MappingProxyType(json.loads(stored_trace(db, trace_id)["provenance"]))

    def judge(self, judgement: Judgement, token: str, unseen: bool = False) -> Judgement:
        """Save a judgement; returns it as saved, with the time and the trace's own question.

        `token` names the click or key press: sent again with the same judgement, nothing more is written.
        An answer typed in (`recalled` False) that has a candidate's key counts as that candidate. Raises
        MissingError for an unknown trace and InputError for anything not allowed, such as a support whose
        words don't stand where it says; with `unseen` also where the annotator was shown the gold meanwhile.
        """
        token = checked_token(token)
        judgement = checked_judgement(judgement)
        judgement = on_trace(judgement, *self._spellings(bindable(judgement.trace_id)))
        with transaction(self._path) as db:
            if judgement.support is not None:
                trace = stored_trace(db, judgement.trace_id)
                check_in_passages(judgement.support, passage_texts(trace["body"]))
            if (saved := _by_token(db, judgement.annotator, token)) is not None:
                return _same(saved, judgement, token)
            if unseen and was_shown(db, judgement.trace_id, judgement.annotator):
                raise InputError("The gold was shown to you in another tab meanwhile. Reload the page.")
            return append_judgement(db, judgement, token)

    def added(self, trace_id: str, annotator: str) -> frozenset[str]:
        """The keys of the answers that an annotator added to a trace as missing ones: see `ADDED`.

        One that was judged elsewhere since is left out.
        """
        sql = """
            SELECT answer_key FROM current_judgements WHERE trace_id = ? AND annotator = ? AND token LIKE ?
        """
        with connect(self._path) as db:
            rows = db.execute(sql, [bindable(trace_id), checked_name(annotator), f"{ADDED}%"]).fetchall()
        return frozenset(key for (key,) in rows)

    def saved_as(self, annotator: str, token: str) -> Judgement | None:
        """The judgement that was saved under a client token, taken back or not; None if none was."""
        with connect(self._path) as db:
            return _by_token(db, checked_name(annotator), checked_token(token))

    def undo(self, trace_id: str, annotator: str) -> Judgement | None:
        """Take back the annotator's last judgement of a trace, step by step; None when none is left."""
        last_live = """
            SELECT * FROM live_judgements WHERE trace_id = :trace AND annotator = :annotator
            ORDER BY at DESC, id DESC LIMIT 1
        """
        return self._step("undo", last_live, trace_id, annotator)

    def redo(self, trace_id: str, annotator: str) -> Judgement | None:
        """Restore what was taken back last; None when there is nothing, or a judgement came since."""
        last_undone = """
            WITH mine AS (SELECT * FROM events WHERE trace_id = :trace AND annotator = :annotator)
            SELECT judged.*, traces.question
            FROM mine AS step
            JOIN mine AS judged ON judged.id = step.target
            JOIN traces ON traces.id = judged.trace_id
            WHERE step.kind = 'undo' AND NOT EXISTS (
                SELECT 1 FROM mine AS later
                WHERE later.kind = 'judge' AND (later.id > step.id OR later.at > step.at)
                    OR later.target = step.target AND (later.at, later.id) > (step.at, step.id)
            )
            ORDER BY step.at DESC, step.id DESC LIMIT 1
        """
        return self._step("redo", last_undone, trace_id, annotator)

    def current(self, trace_id: str | None = None, annotator: str | None = None) -> list[Judgement]:
        """The verdicts that stand, newest first: one for each trace, annotator and answer."""
        return self._current({"trace_id": trace_id, "annotator": _sought(annotator)})

    def for_question(self, question: str, annotator: str | None = None) -> list[Judgement]:
        """The verdicts that stand on any trace of a question, newest first; case and spacing don't matter.

        Traces of other runs may each have a verdict on the same answer: the first is the latest.
        """
        return self._current({"question_key": question_key(question), "annotator": _sought(annotator)})

    def history(self, trace_id: str) -> list[Event]:
        """Every event of a trace, oldest first."""
        sql = """
            SELECT judged.*, traces.question, events.kind AS event_kind, events.at AS event_at
            FROM events
            JOIN events AS judged ON judged.id = coalesce(events.target, events.id)
            JOIN traces ON traces.id = events.trace_id
            WHERE events.trace_id = ? ORDER BY events.at, events.id
        """
        with connect(self._path) as db:
            rows = list(db.query(sql, [bindable(trace_id)]))
        return [Event(row["event_kind"], row["event_at"], read_judgement(row)) for row in rows]

    def backup(self, path: Path | str) -> None:
        """Copy everything to a new file, also while others write. Raises StoreError if it exists."""
        path = Path(path)
        part = path.with_name(f"{path.name}.part")
        with connect(self._path) as db, plain_errors(path):
            check_free(path, "Give the backup a new name.")
            try:
                with closing(sqlite3.connect(part)) as copy:
                    db.conn.backup(copy)
                part.rename(path)
            finally:
                part.unlink(missing_ok=True)

    def _read_trace(self, trace_id: str) -> Trace:
        with connect(self._path) as db:
            return read_trace(stored_trace(db, trace_id))

    def _read_spellings(self, trace_id: str) -> tuple[str, frozenset[str]]:
        """A trace's question, and all spellings of its candidates."""
        with connect(self._path) as db:
            row = stored_trace(db, trace_id)
            return row["question"], spellings_on(row)

    def _step(self, kind: str, target_sql: str, trace_id: str, annotator: str) -> Judgement | None:
        """Append an undo or redo of the judgement that `target_sql` finds."""
        names = {"trace": bindable(trace_id), "annotator": checked_name(annotator)}
        with transaction(self._path) as db:
            row = next(iter(db.query(target_sql, names)), None)
            if row is None:
                return None
            append_step(db, kind, row["id"], now())
            return read_judgement(row)

    def _current(self, wanted: Mapping[str, str | None]) -> list[Judgement]:
        wanted = {column: bindable(value) for column, value in wanted.items() if value is not None}
        where = " AND ".join(f"{column} = :{column}" for column in wanted) or "1"
        sql = f"SELECT * FROM current_judgements WHERE {where} ORDER BY at DESC, id DESC"
        with connect(self._path) as db:
            return [read_judgement(row) for row in db.query(sql, wanted)]


def _same(saved: Judgement, judgement: Judgement, token: str) -> Judgement:
    if replace(saved, at="") != replace(judgement, at=""):
        raise InputError(f"The client token {token!r} was used for another judgement. Send a new one.")
    return saved


def _by_token(db: Database, annotator: str, token: str) -> Judgement | None:
    sql = """
        SELECT events.*, traces.question FROM events JOIN traces ON traces.id = events.trace_id
        WHERE annotator = ? AND token = ?
    """
    row = next(iter(db.query(sql, [annotator, token])), None)
    return None if row is None else read_judgement(row)


def _sought(annotator: str | None) -> str | None:
    return None if annotator is None else composed(annotator)
