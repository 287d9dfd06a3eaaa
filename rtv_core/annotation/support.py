"""Where an added answer stands: a passage and a span in it, kept as the last line of a judgement's note.

    supported by passage 4711, characters 12 to 26: "April 24, 2010"

Characters count from 0 in the passage's text, the end not included; the words stand as in JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from rtv_core.records import Passage
from rtv_core.text import find_answer

__all__ = ["Support", "find_support", "read_support", "write_support"]

_LINE = re.compile(r'(?:^|\n)supported by passage (\S+), characters (\d+) to (\d+): (".*")\Z')
LONGEST_QUOTE = 300


@dataclass(frozen=True, slots=True)
class Support:
    """Characters [start, end) of a passage's text, and the words that stand there."""

    passage_id: str
    start: int
    end: int
    words: str


def find_support(passages: Iterable[Passage], answer: str) -> Support | None:
    """The first place in the passages' texts that holds the answer; None if none does."""
    for passage in passages:
        for start, end in find_answer(passage.text, answer)[:1]:
            return Support(passage.id, start, end, passage.text[start:end])
    return None


def write_support(note: str, support: Support | None) -> str:
    """The note with the support as its last line."""
    if support is None:
        return note
    words = json.dumps(support.words[:LONGEST_QUOTE], ensure_ascii=False)
    passage_id = json.dumps(support.passage_id)[1:-1].replace(" ", "\\u0020")
    line = f"supported by passage {passage_id}, characters {support.start} to {support.end}: {words}"
    return f"{note}\n{line}" if note else line


def read_support(note: str) -> Support | None:
    """The support that a note ends with; None where it names none."""
    found = _LINE.search(note)
    if found is None:
        return None
    passage_id, start, end, words = found.groups()
    try:
        return Support(json.loads(f'"{passage_id}"'), int(start), int(end), json.loads(words))
    except ValueError:
        return None
