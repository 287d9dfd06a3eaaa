"""The verdicts that stand, as JSONL or CSV, oldest first; `exported` reads both back."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from rtv_core.store.judgements import JudgementStore
from rtv_core.wire import to_json, to_plain

__all__ = ["COLUMNS", "SCHEMA", "export_csv", "export_jsonl", "guarded", "unguarded"]

SCHEMA = 2
"""The version of what a row holds. A reader refuses rows of a newer one than its own.

Schema 1 had no `support`: the place stood in the note, from where the import takes it.
"""

COLUMNS = (
    "question",
    "answer",
    "label",
    "evidence",
    "gold",
    "note",
    "support",
    "annotator",
    "at",
    "blind",
    "recalled",
    "p_right",
    "tau",
    "k",
    "trace_id",
    "provenance",
    "schema",
)
"""The CSV header, and the keys of a JSONL line. All but the last two are the fields of `records.Judgement`.

In CSV an unknown number is empty, a truth value is true or false, and `provenance` and `support` are JSON
objects (no support: empty).
"""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def export_jsonl(store: JudgementStore, with_traces: bool = False) -> Iterator[str]:
    """One JSON object a judgement, with its line end. Nothing is lost.

    `with_traces` puts each trace, as {"schema", "trace", "trace_id"}, before the first verdict on it, so that
    the file can be imported where nothing is known of them.
    """
    sent: set[str] = set()
    for row in _rows(store):
        trace_id = row["trace_id"]
        if with_traces and trace_id not in sent:
            sent.add(trace_id)
            yield _json_line(
                {"schema": SCHEMA, "trace_id": trace_id, "trace": to_plain(store.load_trace(trace_id))}
            )
        yield _json_line(row)


def export_csv(store: JudgementStore) -> Iterator[str]:
    """The header and one record a judgement, each with its line end (CR LF; a note may hold more of them).

    A cell that a spreadsheet might run as a formula is `guarded`; JSONL has the text as it is.
    """
    yield _line(COLUMNS)
    for row in _rows(store):
        yield _line(_cell(row[column]) for column in COLUMNS)


def guarded(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet might run it as a formula.

    One that has apostrophes before a formula already gets one more, so that `unguarded` is exact.
    """
    return f"'{text}" if _may_be_a_formula(text.lstrip("'")) else text


def unguarded(cell: str) -> str:
    """The text that was `guarded`."""
    return cell[1:] if cell.startswith("'") and _may_be_a_formula(cell.lstrip("'")) else cell


def _rows(store: JudgementStore) -> Iterator[Mapping[str, Any]]:
    provenance = cache(lambda trace_id: dict(store.provenance(trace_id)))
    for judgement in reversed(store.current()):
        yield to_plain(judgement) | {"provenance": provenance(judgement.trace_id), "schema": SCHEMA}


def _json_line(row: Mapping[str, Any]) -> str:
    """Half characters, which a trace's passages may hold and UTF-8 may not, are written as escapes."""
    return _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half.group()):04x}", to_json(row)) + "\n"


def _line(cells) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerow(cells)
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return guarded(value) if isinstance(value, str) else to_json(value)


def _may_be_a_formula(text: str) -> bool:
    """Whether the first visible character, in any width, starts a formula; tab and CR count by themselves."""
    if text.startswith(("\t", "\r")):
        return True
    first = next((c for c in text if unicodedata.category(c)[0] not in "CZ"), "")
    return unicodedata.normalize("NFKC", first) in ("=", "+", "-", "@", "\N{MINUS SIGN}")
