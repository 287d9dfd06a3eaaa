"""Which records become passages: no repeat, no id twice, long texts cut; what can't be used is counted."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass, field

from rtv_core.corpus.blocks import cut_blocks
from rtv_core.errors import InputError
from rtv_core.records import Passage

__all__ = ["BAD_LINE_LIMIT", "BadRecord", "CorpusReport", "Intake"]

BAD_LINE_LIMIT = 100

log = logging.getLogger(__name__)


@dataclass(slots=True)
class CorpusReport:
    """What was read so far; it grows while a corpus is consumed.

    `records` counts the records (or documents) that were used, `cut` those of them that were cut into several
    passages, `repeats` the records and blocks left out because the same title and text had come before.
    `reasons` says, one by one, why a line, row or file was skipped; `bad_lines` counts them. `files` counts
    the documents and tables that were used, `left_out` the files of a folder that never were to be: of
    another form, hidden, or links that lead out of it.
    """

    lines: int = 0
    records: int = 0
    passages: int = 0
    cut: int = 0
    repeats: int = 0
    bad_lines: int = 0
    reasons: list[str] = field(default_factory=list)
    files: int = 0
    left_out: int = 0


class BadRecord(Exception):
    """Why a line, a row or a file can't be used."""


class Intake:
    """Takes records one after another; only a digest and the ids of each are kept in memory.

    `unit` names what is counted as bad, `limit` how many of them are skipped.
    """

    def __init__(self, report: CorpusReport, limit: int, unit: str = "line") -> None:
        self.report = report
        self._limit = limit
        self._unit = unit
        self._ids: set[str] = set()
        self._contents: set[bytes] = set()

    def take(self, identifier: str, title: str, text: str, *, numbered: bool = False) -> list[Passage]:
        """The passages of one record; none for a repeat.

        A text of one block keeps the record's id; the blocks of a longer one are `<id>-1`, `<id>-2`, ... If
        `numbered`, blocks are `<id>#1`, `<id>#2`, ... however many there are, so that a document that grows
        keeps the ids it had. Raises BadRecord for an empty text or an id that was there before.
        """
        if (digest := _digest(title, text)) in self._contents:
            self.report.repeats += 1
            return []
        if not (blocks := cut_blocks(text)):
            raise BadRecord("an empty text")
        mark = "#" if numbered else "-"
        names = [f"{identifier}{mark}{number}" for number in range(1, len(blocks) + 1)]
        if len(blocks) == 1 and not numbered:
            names = [identifier]
        if taken := [name for name in (identifier, *names) if name in self._ids]:
            raise BadRecord(f"the id {taken[0]!r} for the second time")
        self._ids.update((identifier, *names))
        self._contents.add(digest)
        self.report.records += 1
        passages = [Passage(name, title, block) for name, block in zip(names, blocks, strict=True)]
        if len(passages) > 1:
            passages = self._fresh(passages)
        self.report.passages += len(passages)
        return passages

    def skip(self, where: str, reason: BadRecord) -> None:
        """Count and log what can't be used. Raises InputError for one more than the limit."""
        self.report.bad_lines += 1
        what = f"{where}: {reason}"
        if self.report.bad_lines > self._limit:
            raise InputError(
                f"{what}. That is bad {self._unit} {self.report.bad_lines}; at most {self._limit} are "
                "skipped. Mend them."
            )
        self.report.reasons.append(what)
        log.warning("%s; skipped", what)

    def _fresh(self, blocks: list[Passage]) -> list[Passage]:
        """The blocks of a record that no other one held."""
        self.report.cut += 1
        fresh = []
        for passage in blocks:
            if (digest := _digest(passage.title, passage.text)) not in self._contents:
                self._contents.add(digest)
                fresh.append(passage)
        self.report.repeats += len(blocks) - len(fresh)
        return fresh


def _digest(title: str, text: str) -> bytes:
    return hashlib.blake2b(f"{title}\0{text}".encode(), digest_size=16).digest()
