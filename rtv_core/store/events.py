"""Verdicts as rows of the log: the row that is written for one, and the verdict that a row holds."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Set
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

from sqlite_utils import Database

from rtv_core.errors import InputError, MissingError
from rtv_core.records import Judgement
from rtv_core.store.supports import read_support, write_support
from rtv_core.store.traces import FARTHEST_AHEAD, bindable, moved, now
from rtv_core.store.validation import FLAGS
from rtv_core.text import answer_key
from rtv_core.wire import to_plain

__all__ = [
    "ADDED",
    "append_judgement",
    "append_reveal",
    "append_step",
    "event_row",
    "on_trace",
    "read_judgement",
    "spellings_on",
    "stored_trace",
    "was_shown",
]

ADDED = "added:"
"""So begins the token of an answer that was added as missing. It may be a candidate all the same."""

_FIELDS = tuple(f.name for f in fields(Judgement))


def append_judgement(db: Database, judgement: Judgement, token: str) -> Judgement:
    """Log a judgement that was checked, in the caller's transaction; returns it with its time.

    That is now, or a later time where a clock was set back or another machine's was ahead: times order what
    an annotator said, took back and was shown.
    """
    row = event_row(judgement, token)
    place = "trace_id = :trace_id AND annotator = :annotator AND answer_key = :answer_key"
    row["at"] = _next(db, judgement.annotator, place, row)
    db.table("events").insert(row)
    return replace(judgement, at=row["at"])


def append_step(db: Database, kind: str, target: int, at: str) -> None:
    """Log that a verdict is taken back ("undo") or restored ("redo"), in the caller's transaction.

    At the time given, or a later one as in `append_judgement`.
    """
    sql = "SELECT trace_id, annotator FROM events WHERE id = ?"
    trace_id, annotator = db.execute(sql, [target]).fetchone()
    at = max(at, _next(db, annotator, "id = :target OR target = :target", {"target": target}))
    step = {"kind": kind, "at": at, "target": target}
    db.table("events").insert(step | {"trace_id": trace_id, "annotator": annotator})


def append_reveal(db: Database, trace_id: str, annotator: str) -> None:
    """Log, once, that an annotator was shown gold or scores of a trace's question.

    In the caller's transaction, at a time as in `append_judgement`: what is said from then on isn't blind.
    """
    if was_shown(db, trace_id, annotator):
        return
    place = "trace_id = :trace AND annotator = :annotator"
    at = _next(db, annotator, place, {"trace": trace_id, "annotator": annotator})
    db.table("reveals").insert({"trace_id": trace_id, "annotator": annotator, "at": at})


def was_shown(db: Database, trace_id: str, annotator: str) -> bool:
    """Whether that was logged."""
    sql = "SELECT 1 FROM reveals WHERE trace_id = ? AND annotator = ?"
    return db.execute(sql, [trace_id, annotator]).fetchone() is not None


def _next(db: Database, annotator: str, about: str, names: Mapping[str, Any]) -> str:
    """Now, or a millisecond after the latest time of the annotator's that isn't before it.

    Times that are too far ahead count only for the events `about` which something is said.
    """
    at = now()
    soon = moved(at, FARTHEST_AHEAD)
    own = "SELECT max(at) FROM {} WHERE annotator = ? AND at < ?"
    found = [db.execute(own.format(table), [annotator, soon]).fetchone() for table in ("events", "reveals")]
    found.append(db.execute(f"SELECT max(at) FROM events WHERE {about}", names).fetchone())
    latest = max(last or "" for (last,) in found)
    if latest < at:
        return at
    try:
        return moved(latest, timedelta(milliseconds=1))
    except OverflowError as error:
        raise InputError(f"A verdict on this is dated {latest}: nothing can be said after it.") from error


def event_row(judgement: Judgement, token: str) -> dict[str, Any]:
    """The "judge" event of a judgement that was checked."""
    row = to_plain(judgement) | {
        "kind": "judge",
        "token": token,
        "answer_key": answer_key(judgement.answer) or judgement.answer,
        "support": write_support(judgement.support),
    }
    del row["question"]
    return row


def read_judgement(row: Mapping[str, Any]) -> Judgement:
    """The judgement of a "judge" event that was read with its trace's question."""
    values = {name: bool(row[name]) if name in FLAGS else row[name] for name in _FIELDS}
    return Judgement(**values | {"support": read_support(row["support"])})


def stored_trace(db: Database, trace_id: str) -> Mapping[str, Any]:
    """The row of a trace. Raises MissingError if there is none of this id."""
    row = next(iter(db.query("SELECT * FROM traces WHERE id = ?", [bindable(trace_id)])), None)
    if row is None:
        raise MissingError(f"There is no trace {str(trace_id)[:80]!r}. Ask its question again.")
    return row


def spellings_on(trace: Mapping[str, Any]) -> frozenset[str]:
    """All spellings of the candidates of a trace's row."""
    candidates = json.loads(zlib.decompress(trace["body"]))["candidates"]
    return frozenset(spelling for c in candidates for spelling in (c["answer"], *c["spellings"]))


def on_trace(judgement: Judgement, question: str, spellings: Set[str]) -> Judgement:
    """The judgement with its trace's question, and `recalled` as the candidates' spellings say.

    An answer typed in (`recalled` False) that has a candidate's key counts as that candidate. Raises
    InputError for a `recalled` answer that is no candidate.
    """
    recalled = judgement.answer in spellings
    if judgement.recalled and not recalled:
        raise InputError(
            f"{judgement.answer[:80]!r} is no candidate of this trace. Choose a candidate, or add the answer "
            "as one that is missing."
        )
    recalled = recalled or answer_key(judgement.answer) in map(answer_key, spellings)
    return replace(judgement, question=question, recalled=recalled)
