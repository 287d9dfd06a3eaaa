"""The verdicts that stand, as JSONL or CSV, oldest first."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from rtv_core.store.judgements import JudgementStore
from rtv_core.wire import to_json, to_plain

__all__ = ["COLUMNS", "export_csv", "export_jsonl"]

COLUMNS = (
    "question",
    "answer",
    "label",
    "evidence",
    "gold",
    "note",
    "annotator",
    "at",
    "blind",
    "recalled",
    "p_right",
    "tau",
    "k",
    "trace_id",
    "provenance",
)
"""The CSV header, and the keys of a JSONL line. All but `provenance` are the fields of `records.Judgement`.

In CSV an unknown number is empty, a truth value is true or false, and `provenance` is a JSON object.
"""


def export_jsonl(store: JudgementStore) -> Iterator[str]:
    """One JSON object a judgement, with its line end. Nothing is lost."""
    for row in _rows(store):
        yield to_json(row) + "\n"


def export_csv(store: JudgementStore) -> Iterator[str]:
    """The header and one record a judgement, each with its line end (CR LF; a note may hold more of them).

    A cell that a spreadsheet might run as a formula gets a leading apostrophe; JSONL has the text as it is.
    """
    yield _line(COLUMNS)
    for row in _rows(store):
        yield _line(_cell(row[column]) for column in COLUMNS)


def _rows(store: JudgementStore) -> Iterator[Mapping[str, Any]]:
    provenance = cache(lambda trace_id: dict(store.provenance(trace_id)))
    for judgement in reversed(store.current()):
        yield to_plain(judgement) | {"provenance": provenance(judgement.trace_id)}


def _line(cells) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerow(cells)
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return to_json(value)
    return f"'{value}" if _may_be_a_formula(value) else value


def _may_be_a_formula(text: str) -> bool:
    """Whether the first visible character, in any width, starts a formula; tab and CR count by themselves."""
    if text.startswith(("\t", "\r")):
        return True
    first = next((c for c in text if unicodedata.category(c)[0] not in "CZ"), "")
    return unicodedata.normalize("NFKC", first) in ("=", "+", "-", "@", "\N{MINUS SIGN}")
