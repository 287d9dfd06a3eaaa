"""Passages from a file, one after another: DPR's tab-separated form or JSON lines, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from rtv_core.corpus.intake import BAD_LINE_LIMIT, BadRecord, CorpusReport, Intake
from rtv_core.corpus.prose import shown_path
from rtv_core.errors import InputError, MissingError
from rtv_core.records import Passage

__all__ = ["BAD_LINE_LIMIT", "IDS", "TEXTS", "CorpusReport", "names_passages", "read_passages"]

IDS = ("id", "_id")
TEXTS = ("text", "contents")
"""The names of the columns and fields for the id and the text."""

LONGEST_HEADER = 100_000

Row = Mapping[str, Any]


def read_passages(
    path: Path | str, report: CorpusReport | None = None, bad_line_limit: int = BAD_LINE_LIMIT
) -> Iterator[Passage]:
    """The passages of `.tsv[.gz]` (a header with id, text, title) or `.jsonl[.gz]`, in file order.

    JSON fields: `id` or `_id`; `text` or `contents`; `title` if there is one. A record is one line. Records
    longer than 120 words are cut into passages `<id>-1`, `<id>-2`, ... A line that can't be used is logged,
    counted and skipped. Only a digest of each record is kept in memory.

    Raises MissingError for an absent file; InputError for a form it doesn't know, a damaged archive, or more
    than `bad_line_limit` bad lines.
    """
    path = Path(path)
    if not path.is_file():
        raise MissingError(
            f"There is no corpus file {str(path)!r}. Give a .tsv, .jsonl, .tsv.gz or .jsonl.gz."
        )
    rows = _row_reader(path)
    return _passages(path, rows, CorpusReport() if report is None else report, bad_line_limit)


def names_passages(path: Path) -> bool:
    """Whether the first line of a tab-separated file names DPR's columns, an id and a text among them."""
    with path.open("rb") as file:
        line = file.readline(LONGEST_HEADER).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    names = {name.strip().strip('"') for name in line.split("\t")}
    return bool(names & set(IDS)) and bool(names & set(TEXTS))


def _row_reader(path: Path) -> Callable[[Iterator[bytes]], Callable[[str], Row]]:
    form = Path(path.name.removesuffix(".gz")).suffix
    readers = {".tsv": _tsv_rows, ".jsonl": _json_rows}
    if form not in readers:
        raise InputError(
            f"{shown_path(path.name)} is neither TSV nor JSON lines. "
            "Name it .tsv, .jsonl, .tsv.gz or .jsonl.gz."
        )
    return readers[form]


def _passages(path: Path, rows: Callable, report: CorpusReport, bad_line_limit: int) -> Iterator[Passage]:
    intake = Intake(report, bad_line_limit)
    with _open(path) as file:
        lines = _lines(path, file, report)
        parse = rows(lines)
        for line in lines:
            try:
                if not (text := _decode(line)).strip():
                    continue
                passages = intake.take(*_record(parse(text)))
            except BadRecord as reason:
                intake.skip(f"{shown_path(path.name)}, line {report.lines:,}", reason)
                continue
            yield from passages


def _open(path: Path) -> BinaryIO:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _lines(path: Path, file: BinaryIO, report: CorpusReport) -> Iterator[bytes]:
    try:
        for line in file:
            report.lines += 1
            yield line.removeprefix(b"\xef\xbb\xbf") if report.lines == 1 else line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{shown_path(path.name)} is damaged after line {report.lines:,} ({error}). "
            "Fetch or compress it again."
        ) from error


def _json_rows(lines: Iterator[bytes]) -> Callable[[str], Row]:
    def parse(line: str) -> Row:
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadRecord(f"not JSON ({error.msg} at column {error.colno})") from error
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits, a thousand brackets
            raise BadRecord(f"not JSON ({error})") from error
        if not isinstance(row, dict):
            raise BadRecord(f"a JSON {type(row).__name__}, not an object")
        return row

    return parse


def _tsv_rows(lines: Iterator[bytes]) -> Callable[[str], Row]:
    try:
        names = [name.strip() for name in _cells(_decode(next(lines, b"")))]
    except BadRecord as reason:
        raise InputError(f"The first line can't be read as column names: {reason}. Mend it.") from reason
    if not set(names) & set(IDS) or not set(names) & set(TEXTS):
        raise InputError(
            f"The first line names the columns {names}; it must name id, text and title, as in psgs_w100.tsv."
        )

    def parse(line: str) -> Row:
        cells = _cells(line)
        if len(cells) != len(names):
            raise BadRecord(f"{len(cells)} columns instead of {len(names)}")
        return dict(zip(names, cells, strict=True))

    return parse


def _cells(line: str) -> list[str]:
    csv.field_size_limit(max(csv.field_size_limit(), len(line) + 1))
    # One line at a time: a stray quote must not swallow the lines that follow.
    try:
        return next(csv.reader([line.rstrip("\r\n")], delimiter="\t", strict=True), [])
    except csv.Error as error:
        raise BadRecord(f"quotes that don't match ({error})") from error


def _decode(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRecord(f"not UTF-8 at byte {error.start}") from error


def _record(row: Row) -> tuple[str, str, str]:
    """Id, title and text."""
    return _identifier(row), _string(row, ("title",), "").strip(), _string(row, TEXTS).strip()


def _identifier(row: Row) -> str:
    name = next((name for name in IDS if name in row), None)
    if name is None:
        raise BadRecord("no id")
    value = row[name]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not (text := _string(row, (name,)).strip()):
        raise BadRecord("an empty id")
    return text


def _string(row: Row, names: tuple[str, ...], absent: str | None = None) -> str:
    value = next((row[name] for name in names if row.get(name) is not None), absent)
    if value is None:
        raise BadRecord(f"no {names[0]}")
    if not isinstance(value, str):
        raise BadRecord(f"a {names[0]} that is a {type(value).__name__}, not a string")
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise BadRecord(f"half a character (a lone surrogate) in the {names[0]}")
    return value
