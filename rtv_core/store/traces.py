"""Traces as rows: an id by content, so that what was seen twice is kept once, and a compressed body."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlite_utils import Database

from rtv_core.errors import StoreError
from rtv_core.records import Trace
from rtv_core.store.validation import checked_text
from rtv_core.wire import from_json, to_json, to_plain

__all__ = [
    "FARTHEST_AHEAD",
    "bindable",
    "check_trace",
    "insert_trace",
    "moved",
    "now",
    "question_key",
    "read_trace",
    "trace_row",
]


FARTHEST_AHEAD = timedelta(days=1)
"""A time further ahead than this is another clock's mistake."""


def insert_trace(db: Database, row: Mapping[str, Any]) -> None:
    """Keep what `trace_row` made, inside the caller's transaction. Twice is one row."""
    db.table("traces").insert(dict(row), pk="id", ignore=True)


def trace_row(trace: Trace) -> dict[str, Any]:
    """A trace as its row. The id depends on everything but `seconds`."""
    plain = to_plain(trace)
    text = checked_text("question", trace.question.text)
    return {
        "id": _trace_id(plain),
        "question": text,
        "question_key": question_key(text),
        "provenance": to_json(trace.provenance),
        "body": zlib.compress(_bytes(plain)),
        "created_at": now(),
    }


def read_trace(row: Mapping[str, Any]) -> Trace:
    """The trace of a row. Raises StoreError where it can't be read."""
    try:
        return from_json(Trace, zlib.decompress(row["body"]).decode(errors="surrogatepass"))
    except (zlib.error, ValueError, TypeError) as error:
        raise StoreError(f"The trace {row['id']} can't be read: {error}. Ask its question again.") from error


def check_trace(row: Mapping[str, Any]) -> None:
    """Raises StoreError unless the row's id and question are those of its body."""
    try:
        plain = json.loads(zlib.decompress(row["body"]))
        made_from = _trace_id(plain), plain["question"]["text"]
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        made_from = None
    if made_from != (row["id"], row["question"]):
        raise StoreError(f"The trace {row['id']} is not as it was saved. Take an unchanged copy.")


def question_key(question: str) -> str:
    """What two spellings of one question share: case and spacing don't matter."""
    return " ".join(checked_text("question", question).casefold().split())


def bindable(value: str) -> str:
    """The value as SQLite takes it; half characters, which it doesn't, become question marks."""
    return str(value).encode(errors="replace").decode()


def now() -> str:
    """The time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def moved(moment: str, by: timedelta) -> str:
    """A later time, as `now` writes it. Raises OverflowError after the year 9999."""
    return (datetime.fromisoformat(moment) + by).isoformat(timespec="milliseconds")


def _trace_id(plain: Mapping[str, Any]) -> str:
    timeless = {name: value for name, value in plain.items() if name != "seconds"}
    # Readings had no wordings once: where there are none, a trace keeps the id that it had then.
    timeless["readings"] = [
        {name: value for name, value in reading.items() if name != "wordings" or value}
        for reading in plain["readings"]
    ]
    return hashlib.sha256(_bytes(timeless)).hexdigest()[:16]


def _bytes(plain: Mapping[str, Any]) -> bytes:
    return to_json(plain).encode(errors="surrogatepass")  # a corpus may hold half a character
