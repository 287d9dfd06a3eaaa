"""Where a judged answer stands: checked against its trace, kept as JSON, and read from notes that hold it.

Schema 1 and 2 kept the place as the last line of the note:

    supported by passage 4711, characters 12 to 26: "April 24, 2010"
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping

from rtv_core.errors import InputError
from rtv_core.records import Support
from rtv_core.store.validation import LONGEST_QUOTE, checked_support
from rtv_core.wire import from_json, to_json

__all__ = [
    "check_in_passages",
    "out_of_note",
    "passage_texts",
    "quoted",
    "read_support",
    "write_support",
]

_LINE = re.compile(r'(?:^|\n)supported by passage (\S+), characters (\d+) to (\d+): (".*")\Z')


def quoted(text: str, start: int, end: int) -> str:
    """The words that a support keeps of a text: the first 300 characters, half ones as question marks."""
    return text[start:end][:LONGEST_QUOTE].encode(errors="replace").decode()


def check_in_passages(support: Support, texts: Mapping[str, str]) -> None:
    """Raises InputError unless the words stand where the support says. `texts` are the passages' by id."""
    if support.passage_id not in texts:
        raise InputError(
            f"The support names the passage {support.passage_id[:80]!r}, which the trace doesn't hold. Take "
            "one that was retrieved or gathered."
        )
    text = texts[support.passage_id]
    if support.end > len(text) or quoted(text, support.start, support.end) != support.words:
        raise InputError(
            f"The support's words {support.words[:80]!r} don't stand at the characters {support.start} to "
            f"{support.end} of the passage {support.passage_id[:80]!r}. Select them again."
        )


def passage_texts(body: bytes) -> dict[str, str]:
    """The texts of all passages of a trace's stored body, by id."""
    trace = json.loads(zlib.decompress(body))
    hits = [*trace["hits"], *(p["hit"] for evidence in trace["evidence"] for p in evidence["passages"])]
    return {hit["passage"]["id"]: hit["passage"]["text"] for hit in hits}


def write_support(support: Support | None) -> str | None:
    """A support as a column's text."""
    return None if support is None else to_json(support)


def read_support(text: str | None) -> Support | None:
    """The support that a column holds."""
    return None if text is None else from_json(Support, text)


def out_of_note(note: str, texts: Mapping[str, str]) -> tuple[str, Support | None]:
    """The note without the line that names a support, and the support.

    A line that names no place in these passages is the annotator's own words, and stays.
    """
    if (found := _LINE.search(note)) is None:
        return note, None
    passage_id, start, end, words = found.groups()
    try:
        support = Support(json.loads(f'"{passage_id}"'), int(start), int(end), json.loads(words))
        check_in_passages(checked_support(support), texts)
    except (ValueError, InputError):
        return note, None
    return note[: found.start()], support
