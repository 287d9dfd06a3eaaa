"""Rows of CSV and TSV files whose columns have names; a row that can't be used spoils no other."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple

import regex

from rtv_core.corpus.intake import BadRecord
from rtv_core.corpus.prose import BYTE_ORDER_MARKS
from rtv_core.errors import InputError

__all__ = ["FIELDS", "BadRow", "TableRow", "known_columns", "parse_columns", "read_names", "read_rows"]

FIELDS = {
    "id": ("id", "_id", "docid", "doc_id", "document_id", "passage_id", "pid"),
    "title": ("title", "name", "headline", "heading"),
    "text": ("text", "contents", "content", "body", "passage", "abstract"),
}
"""What a row gives, and the column names that are known for it, the first found being taken."""

LONGEST_CELL = 1_000_000
LONGEST_ID = 200

_HALF = regex.compile(r"[\ud800-\udfff]")
_PAIR = regex.compile(rf",\s*(?=(?:{'|'.join(FIELDS)})\s*=)")


class TableRow(NamedTuple):
    """`line` is where it begins, counted from 1; `id` is the row's number where no column gives one."""

    line: int
    id: str
    title: str
    text: str


class BadRow(NamedTuple):
    """Why the row that begins at `line` can't be used."""

    line: int
    reason: BadRecord


def parse_columns(values: Sequence[str]) -> Mapping[str, str]:
    """`("id=Nr,text=Long answer",)` -> {"id": "Nr", "text": "Long answer"}.

    Raises InputError for anything but id, title and text, each named once.
    """
    columns = {}
    for pair in (pair for value in values for pair in _PAIR.split(value)):
        field, sign, name = (part.strip() for part in pair.partition("="))
        if field not in FIELDS or not sign or not name:
            raise InputError(
                f"{pair!r} names no column. Write id=NAME,title=NAME,text=NAME, or some of them."
            )
        if field in columns:
            raise InputError(f"The column of the {field} is named twice. Name it once.")
        columns[field] = name
    return columns


def read_rows(file: BinaryIO, comma: bool, columns: Mapping[str, str]) -> Iterator[TableRow | BadRow]:
    """The rows of an open file, or where and why one can't be used; empty rows are passed over.

    `comma`: cells are parted by the comma, semicolon or tab that the first line has most of; else by tabs.
    `columns` says which column gives a field, where it isn't one of `FIELDS`. UTF-8, or UTF-16 with a byte
    order mark. Raises BadRecord if the first line doesn't say which column is the text.
    """
    lines = _Lines(file)
    delimiter = _delimiter(lines) if comma else "\t"
    names = _names(lines, delimiter)
    at = _positions(names, columns)
    number = 0
    while True:
        line, number = lines.number + 1, number + 1
        try:
            if (cells := _next_cells(lines, delimiter)) is None:
                return
            if any(cell.strip() for cell in cells):
                yield _row(line, number, cells, len(names), at)
            else:
                number -= 1
        except BadRecord as reason:
            yield BadRow(line, reason)


def read_names(file: BinaryIO, comma: bool) -> list[str]:
    """The names of the columns of an open file, as in `read_rows`. Raises BadRecord if it has none."""
    lines = _Lines(file)
    return _names(lines, _delimiter(lines) if comma else "\t")


def known_columns(names: Sequence[str]) -> dict[str, str]:
    """Which of the columns give the `FIELDS`, by their names; a field that none is known for is absent."""
    found = {field: _found(names, known) for field, known in FIELDS.items()}
    return {field: names[at] for field, at in found.items() if at is not None}


class _Lines(Iterator[str]):
    """Lines of text; those of the row at hand can be given back, `fault` says what is wrong with them."""

    def __init__(self, file: BinaryIO) -> None:
        head = file.read(4)
        file.seek(0)
        encoding = next((name for mark, name in BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")
        # Bytes that are no UTF-8 become lone surrogates, so that they spoil one row and not the file.
        errors = "surrogateescape" if encoding == "utf-8" else "replace"
        self._file = io.TextIOWrapper(file, encoding, errors, newline="")
        self._given_back: deque[str] = deque()
        self.row: list[str] = []
        self.number = 0
        self.fault = ""

    def __next__(self) -> str:
        line = self._given_back.popleft() if self._given_back else self._read()
        if not line:
            raise StopIteration
        self.number += 1
        self.row.append(line)
        if "\0" in line:
            self.fault = "a NUL: it is no text"
        elif not line.isascii() and _HALF.search(line):
            self.fault = "not UTF-8; save it as UTF-8"
        elif len(line) > LONGEST_CELL:
            self.fault = f"a line of more than {LONGEST_CELL:,} characters"
        return line

    def begin_row(self) -> None:
        self.row, self.fault = [], ""

    def give_back(self, lines: Sequence[str]) -> None:
        self._given_back.extendleft(reversed(lines))
        self.number -= len(lines)

    def _read(self) -> str:
        line = self._file.readline(LONGEST_CELL + 1)
        rest = line
        while len(rest) > LONGEST_CELL and not rest.endswith(("\n", "\r")):
            rest = self._file.readline(LONGEST_CELL + 1)
        return line.removeprefix("\ufeff") if self.number == 0 else line


def _delimiter(lines: _Lines) -> str:
    first = next(lines, "")
    lines.give_back([first] if first else [])
    return max(",;\t", key=first.count)


def _next_cells(lines: _Lines, delimiter: str) -> list[str] | None:
    """The cells of the next row, None at the end. Raises BadRecord for a row that can't be read."""
    lines.begin_row()
    # The limit is the module's own, for all readers; a cell of a long article is above the default.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    try:
        cells = next(csv.reader(lines, delimiter=delimiter, strict=True), None)
    except csv.Error as error:
        lines.give_back(lines.row[1:])  # a stray quote must not swallow the rows that follow
        raise BadRecord(lines.fault or f"quotes that don't match ({error})") from error
    if lines.fault:
        raise BadRecord(lines.fault)
    return cells


def _names(lines: _Lines, delimiter: str) -> list[str]:
    cells = _next_cells(lines, delimiter)
    if cells is None:
        raise BadRecord("no first line with the names of the columns")
    return [cell.strip() for cell in cells]


def _positions(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, int]:
    """Where the fields stand in a row. Raises BadRecord if that can't be told."""
    at = {}
    for field, known in FIELDS.items():
        found = _found(names, (columns[field],) if field in columns else known)
        if found is None and field in columns:
            raise BadRecord(f"no column {columns[field]!r} among {_shown(names)}")
        if found is not None:
            at[field] = found
    if "text" not in at:
        raise BadRecord(
            f"no column known as the text among {_shown(names)}; say which by --columns text=NAME"
        )
    return at


def _found(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The place of the first wanted name that is there; upper and lower case count only where both are."""
    lower = [name.lower() for name in names]
    name = next((name for name in wanted if name.lower() in lower), None)
    if name is None:
        return None
    return names.index(name) if name in names else lower.index(name.lower())


def _shown(names: Sequence[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:12]) + (", ..." if len(names) > 12 else "")


def _row(line: int, number: int, cells: Sequence[str], width: int, at: Mapping[str, int]) -> TableRow:
    if len(cells) != width:
        raise BadRecord(f"{len(cells)} columns instead of {width}")
    cell = {field: cells[position].strip() for field, position in at.items()}
    identifier = cell.get("id", str(number))
    if not identifier:
        raise BadRecord("an empty id")
    if len(identifier) > LONGEST_ID:
        raise BadRecord(f"an id of {len(identifier):,} characters; the most is {LONGEST_ID}")
    return TableRow(line, identifier, cell.get("title", ""), cell["text"])
