"""JSON and JSONL files, packed or not, record by record, each with the place that messages name."""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtv_core.errors import InputError

__all__ = ["Place", "line_of", "read_records", "read_text", "records_in", "shown"]

GZIP = b"\x1f\x8b"
BZIP2 = b"BZh"
DECODER = json.JSONDecoder()

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands inside a file that is one JSON value; the line is only looked for in a message."""

    path: str
    steps: Steps
    text: str = field(repr=False)

    def __str__(self) -> str:
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.steps)
        return f"{self.path}, line {line_of(self.text, self.steps)}, {name.removeprefix('.')}"


def read_records(path: Path) -> Iterator[tuple[str, Any]]:
    """What a JSON or JSONL file holds, one by one, each with its place ("line 3", "line 3, entry 2").

    An array gives its entries. Raises InputError for a file that can't be read, with the line of what isn't
    JSON.
    """
    yield from records_in(read_text(path), str(path))


def records_in(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """`read_records` of a text; `name` is the file's, for messages."""
    if not _one_a_line(text):
        whole = _parse(text, name, 1) if text.strip() else []
        first = _first_line(text)
        if isinstance(whole, list):
            lines = _entry_lines(text) if "\n" in text.strip() else [first] * len(whole)
            for number, (line, record) in enumerate(zip(lines, whole, strict=True), start=1):
                yield f"line {line}, entry {number}", record
        else:
            yield f"line {first}", whole
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _parse(line, name, number)


def read_text(path: Path) -> str:
    """The whole file as text. Raises InputError for one that is absent, cut off or in another encoding."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}. Check the name.") from error
    for start, name, unpack in ((GZIP, "gzip", gzip.decompress), (BZIP2, "bzip2", bz2.decompress)):
        if data.startswith(start):
            try:
                data = unpack(data)
            except (EOFError, OSError, ValueError, zlib.error) as error:
                raise InputError(f"{path} is not a whole {name} file: {error}. Fetch it again.") from error
            break
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not UTF-8. Save the file as UTF-8.") from error


def shown(value: Any) -> str:
    """A value as messages show it: at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def line_of(text: str, steps: Steps) -> int:
    """The line on which a value begins in a valid JSON text, by the names and numbers that lead to it.

    The last value that is there counts: of ("a", "b") without b, the line of a.
    """
    at = _solid(text, 0)
    for step in steps:
        members = _members(text, at) if text[at] in "[{" else iter(())
        found = next((place for name, place, _ in members if name == step), None)
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


def _one_a_line(text: str) -> bool:
    """Whether each line is a value of its own, broken or not, rather than all of them one value."""
    first, _, others = text.lstrip().partition("\n")
    if first.startswith("[") or first.strip() == "{" or not others.strip():
        return False
    return _is_json(first) or not _is_json(text)


def _first_line(text: str) -> int:
    """The number of the first line with anything on it."""
    return text[: len(text) - len(text.lstrip())].count("\n") + 1


def _entry_lines(text: str) -> list[int]:
    """The line on which each entry of a valid JSON array begins."""
    lines, line, last = [], 1, 0
    for _, at, _ in _members(text, _solid(text, 0)):
        line, last = line + text.count("\n", last, at), at
        lines.append(line)
    return lines


def _members(text: str, at: int) -> Iterator[tuple[str | int, int, Any]]:
    """The members of the valid JSON array or object at `at`: name or number, where it begins, the value."""
    named, number = text[at] == "{", 0
    at = _solid(text, at + 1)
    while text[at] not in "]}":
        name: str | int = number
        if named:
            name, at = DECODER.raw_decode(text, at)
            at = _solid(text, _solid(text, at) + 1)
        value, end = DECODER.raw_decode(text, at)
        yield name, at, value
        at = _solid(text, end)
        at = _solid(text, at + 1) if text[at] == "," else at
        number += 1


def _solid(text: str, at: int) -> int:
    """The first place from `at` on that is no white space."""
    while text[at] in " \t\r\n":
        at += 1
    return at


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return False
    return True


def _parse(text: str, name: str, first_line: int) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        line = first_line + getattr(error, "lineno", 1) - 1
        raise InputError(f"{name}, line {line}: not valid JSON: {error}. Mend or drop it.") from error
