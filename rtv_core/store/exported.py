"""Exported judgements read back, row by row: JSONL with or without traces, or CSV; the content says which."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rtv_core.errors import InputError, RtvError
from rtv_core.records import Judgement, Support
from rtv_core.store.export import COLUMNS, SCHEMA, unguarded
from rtv_core.store.given import given_trace
from rtv_core.store.traces import FARTHEST_AHEAD, trace_row
from rtv_core.store.validation import checked_judgement, checked_text
from rtv_core.wire import from_plain

__all__ = ["Entry", "read_export"]

JUDGEMENT = tuple(f.name for f in fields(Judgement))
TRACE = ("trace_id", "trace")
SINCE_2 = ("support",)
NUMBERS = {"p_right": float, "tau": float, "k": int, "schema": int}
TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Entry:
    """One judgement, or the row of one trace, and the place where it stands, for messages.

    `schema` is the judgement's; before 2 a support may stand in its note.
    """

    place: str
    judgement: Judgement | None = None
    trace: Mapping[str, Any] | None = None
    schema: int = SCHEMA


def read_export(path: Path | str) -> Iterator[Entry]:
    """The entries of a file, in its order; none of an empty one.

    Raises InputError with the file, the line and the field for anything that no export holds, and for rows
    of a newer schema than `export.SCHEMA`.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
        rows = _json_rows(path) if start.startswith(b"{") else _csv_rows(path)
        for number, row in rows:
            place = f"{path}, line {number}"
            try:
                _check_schema(row)
                yield _trace(place, row) if "trace" in row else _judgement(place, row)
            except RtvError as error:
                raise InputError(f"{place}: {error}") from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}. Check the name.") from error


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8-sig"), parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{path}, line {number}: not valid JSON: {error}. The file is cut off or was edited: "
                    "export it again."
                ) from error
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {number}: {row!r:.60} is no judgement; it must be an object.")
            yield number, row


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8. Save the file as UTF-8.") from error
    lines = _csv_lines(path, text)
    place, header = next(lines, ("", None))
    if header is None:
        return
    for number, cells in lines:
        if len(cells) != len(header):
            raise InputError(
                f"{path}, line {number}: {len(cells)} cells, but the header has {len(header)}. The file is "
                "cut off or was edited: export it again."
            )
        row = dict(zip(header, cells, strict=True))
        schema = 1
        if row.get("schema", "").isdecimal():  # a newer version may well have other columns
            schema = _check_schema({"schema": int(row["schema"])})
        _check_header(f"{path}, line {place}", header, schema)
        yield number, {name: _value(f"{path}, line {number}", name, cell) for name, cell in row.items()}
    _check_header(f"{path}, line {place}", header, schema=1)


def _csv_lines(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The records that hold anything, each with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InputError(
                f"{path}, line {number}: not valid CSV: {error}. The file is cut off or was edited: "
                "export it again."
            ) from error
        if cells is None:
            return
        if cells:
            yield number, cells


def _check_header(place: str, header: list[str], schema: int) -> None:
    wanted = [name for name in COLUMNS if name != "schema" and (schema > 1 or name not in SINCE_2)]
    if missing := [name for name in wanted if name not in header]:
        raise InputError(
            f"{place}: the column {missing[0]!r} is missing. Give a CSV file, with commas, that was exported "
            f"with the columns {', '.join(wanted)}."
        )
    if len(set(header)) < len(header):
        raise InputError(f"{place}: a column occurs twice. Drop one.")


def _value(place: str, name: str, cell: str) -> Any:
    if name in NUMBERS:
        try:
            return NUMBERS[name](cell) if cell else None
        except ValueError as error:
            raise InputError(f"{place}: field {name!r} is {cell!r:.60}; it must be a number.") from error
    if name in ("blind", "recalled"):
        return TRUTH.get(cell.lower(), cell)  # spreadsheets write them in capitals
    if name == "support" and not cell:
        return None
    if name in ("provenance", "support"):
        try:
            return json.loads(cell, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place}: field {name!r} is not valid JSON: {error}.") from error
    return unguarded(cell)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _check_schema(row: Mapping[str, Any]) -> int:
    """The row's schema; none is the first."""
    schema = 1 if row.get("schema") is None else row["schema"]
    if type(schema) is not int or schema < 1:
        raise InputError(f"field 'schema' is {schema!r:.60}; it must be a whole number from 1.")
    if schema > SCHEMA:
        raise InputError(
            f"written by a newer version (schema {schema}; this one reads up to {SCHEMA}). Update this "
            "program."
        )
    return schema


def _trace(place: str, row: Mapping[str, Any]) -> Entry:
    _check_fields(row, TRACE)
    made = trace_row(given_trace(row["trace"]))
    if made["id"] != row["trace_id"]:
        raise InputError(
            f"field 'trace_id' is {row['trace_id']!r:.60}, but the trace's own is {made['id']!r}: the trace "
            "was changed. Export it again."
        )
    return Entry(place, trace=made)


def _judgement(place: str, row: Mapping[str, Any]) -> Entry:
    schema = _check_schema(row)
    if schema == 1:
        row = dict.fromkeys(SINCE_2) | row
    _check_fields(row, (*JUDGEMENT, "provenance"))
    for name in ("trace_id", "question"):
        checked_text(name, row[name], visible=True)
    if not isinstance(row["provenance"], dict):
        raise InputError(f"field 'provenance' is {row['provenance']!r:.60}; it must be an object.")
    values = {name: row[name] for name in JUDGEMENT}
    values |= {"at": _time(row["at"]), "support": _support(row["support"])}
    return Entry(place, judgement=checked_judgement(Judgement(**values)), schema=schema)


def _support(value: Any) -> Support | None:
    try:
        return None if value is None else from_plain(Support, value)
    except TypeError as error:
        raise InputError(f"field 'support' is no support: {error}.") from error


def _check_fields(row: Mapping[str, Any], wanted: tuple[str, ...]) -> None:
    if missing := [name for name in wanted if name not in row]:
        raise InputError(f"field {missing[0]!r} is missing. Export it again.")
    if unknown := sorted(row.keys() - {*wanted, "schema"}):
        raise InputError(f"field {unknown[0]!r:.60} is unknown. Leave it out.")


def _time(value: Any) -> str:
    """A time as the store writes them; "" if it isn't known."""
    if value == "":
        return ""
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError
        if moment > datetime.now(UTC) + FARTHEST_AHEAD:
            raise InputError(f"field 'at' is {value!r:.60}, which is still to come. Set the right time.")
        return moment.astimezone(UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"field 'at' is {value!r:.60}; it must be a time with its zone, such as "
            "2026-11-30T12:00:00.000+00:00."
        ) from error
