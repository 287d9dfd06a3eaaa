"""Passages from a file, one after another: DPR's tab-separated form or JSON lines, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import logging
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rtv_core.corpus.blocks import cut_blocks
from rtv_core.errors import InputError, MissingError
from rtv_core.records import Passage

__all__ = ["BAD_LINE_LIMIT", "CorpusReport", "read_passages"]

BAD_LINE_LIMIT = 100
IDS = ("id", "_id")
TEXTS = ("text", "contents")

log = logging.getLogger(__name__)

Row = Mapping[str, Any]


@dataclass(slots=True)
class CorpusReport:
    """What was read so far; it grows while `read_passages` is consumed.

    `records` counts the records that were used, `cut` those of them cut into several passages, `repeats` the
    records and blocks left out because the same title and text had come before. `reasons` says, line by line,
    why a line was skipped.
    """

    lines: int = 0
    records: int = 0
    passages: int = 0
    cut: int = 0
    repeats: int = 0
    bad_lines: int = 0
    reasons: list[str] = field(default_factory=list)


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


class _BadLine(Exception):
    """Why a line can't be used."""


def _row_reader(path: Path) -> Callable[[Iterator[bytes]], Callable[[str], Row]]:
    form = Path(path.name.removesuffix(".gz")).suffix
    readers = {".tsv": _tsv_rows, ".jsonl": _json_rows}
    if form not in readers:
        raise InputError(
            f"{path.name} is neither TSV nor JSON lines. Name it .tsv, .jsonl, .tsv.gz or .jsonl.gz."
        )
    return readers[form]


def _passages(path: Path, rows: Callable, report: CorpusReport, bad_line_limit: int) -> Iterator[Passage]:
    ids: set[str] = set()
    contents: set[bytes] = set()
    with _open(path) as file:
        lines = _lines(path, file, report)
        parse = rows(lines)
        for line in lines:
            try:
                if not (text := _decode(line)).strip():
                    continue
                passages = _record(parse(text), ids, contents, report)
            except _BadLine as reason:
                _skip(path, report, str(reason), bad_line_limit)
                continue
            report.passages += len(passages)
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
            f"{path.name} is damaged after line {report.lines:,} ({error}). Fetch or compress it again."
        ) from error


def _skip(path: Path, report: CorpusReport, reason: str, limit: int) -> None:
    report.bad_lines += 1
    where = f"{path.name}, line {report.lines:,}: {reason}"
    if report.bad_lines > limit:
        raise InputError(
            f"{where}. That is bad line {report.bad_lines}; at most {limit} are skipped. Mend them."
        )
    report.reasons.append(where)
    log.warning("%s; skipped", where)


def _json_rows(lines: Iterator[bytes]) -> Callable[[str], Row]:
    def parse(line: str) -> Row:
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise _BadLine(f"not JSON ({error.msg} at column {error.colno})") from error
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits, a thousand brackets
            raise _BadLine(f"not JSON ({error})") from error
        if not isinstance(row, dict):
            raise _BadLine(f"a JSON {type(row).__name__}, not an object")
        return row

    return parse


def _tsv_rows(lines: Iterator[bytes]) -> Callable[[str], Row]:
    try:
        names = [name.strip() for name in _cells(_decode(next(lines, b"")))]
    except _BadLine as reason:
        raise InputError(f"The first line can't be read as column names: {reason}. Mend it.") from reason
    if not set(names) & set(IDS) or not set(names) & set(TEXTS):
        raise InputError(
            f"The first line names the columns {names}; it must name id, text and title, as in psgs_w100.tsv."
        )

    def parse(line: str) -> Row:
        cells = _cells(line)
        if len(cells) != len(names):
            raise _BadLine(f"{len(cells)} columns instead of {len(names)}")
        return dict(zip(names, cells, strict=True))

    return parse


def _cells(line: str) -> list[str]:
    # One line at a time: a stray quote must not swallow the lines that follow.
    try:
        return next(csv.reader([line.rstrip("\r\n")], delimiter="\t", strict=True), [])
    except csv.Error as error:
        raise _BadLine(f"quotes that don't match ({error})") from error


def _decode(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _BadLine(f"not UTF-8 at byte {error.start}") from error


def _record(row: Row, ids: set[str], contents: set[bytes], report: CorpusReport) -> list[Passage]:
    """The passages of one record; none for a repeat. `ids` and `contents` hold what came before."""
    identifier, title, text = (
        _identifier(row),
        _string(row, ("title",), "").strip(),
        _string(row, TEXTS).strip(),
    )
    if (digest := _digest(title, text)) in contents:
        report.repeats += 1
        return []
    if not (blocks := cut_blocks(text)):
        raise _BadLine("an empty text")
    names = [identifier] if len(blocks) == 1 else [f"{identifier}-{i}" for i in range(1, len(blocks) + 1)]
    if taken := [name for name in (identifier, *names) if name in ids]:
        raise _BadLine(f"the id {taken[0]!r} for the second time")
    ids.update((identifier, *names))
    contents.add(digest)
    report.records += 1
    passages = [Passage(name, title, block) for name, block in zip(names, blocks, strict=True)]
    return passages if len(passages) == 1 else _fresh_blocks(passages, contents, report)


def _fresh_blocks(passages: list[Passage], contents: set[bytes], report: CorpusReport) -> list[Passage]:
    report.cut += 1
    fresh = []
    for passage in passages:
        if (digest := _digest(passage.title, passage.text)) not in contents:
            contents.add(digest)
            fresh.append(passage)
    report.repeats += len(passages) - len(fresh)
    return fresh


def _identifier(row: Row) -> str:
    name = next((name for name in IDS if name in row), None)
    if name is None:
        raise _BadLine("no id")
    value = row[name]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not (text := _string(row, (name,)).strip()):
        raise _BadLine("an empty id")
    return text


def _string(row: Row, names: tuple[str, ...], absent: str | None = None) -> str:
    value = next((row[name] for name in names if row.get(name) is not None), absent)
    if value is None:
        raise _BadLine(f"no {names[0]}")
    if not isinstance(value, str):
        raise _BadLine(f"a {names[0]} that is a {type(value).__name__}, not a string")
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise _BadLine(f"half a character (a lone surrogate) in the {names[0]}")
    return value


def _digest(title: str, text: str) -> bytes:
    return hashlib.blake2b(f"{title}\0{text}".encode(), digest_size=16).digest()
