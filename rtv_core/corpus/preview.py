"""Documents read ahead of their indexing: how many passages each gives, how they begin, what isn't used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from rtv_core.corpus.documents import Documents
from rtv_core.corpus.intake import CorpusReport
from rtv_core.errors import InputError
from rtv_core.records import Passage

__all__ = ["FIRST", "DocumentPreview", "Preview", "read_ahead"]

FIRST = 3
"""Passages shown of each document."""

STEP = 100
"""Passages between two reports of progress."""


@dataclass(frozen=True, slots=True)
class DocumentPreview:
    """What one document gives. `problems` says, row by row, what is skipped, or why the whole file is."""

    name: str
    passages: int
    repeats: int
    first: tuple[Passage, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What an index of the documents would be made of. `refusal` says why it can't be; "" if it can."""

    documents: tuple[DocumentPreview, ...]
    passages: int
    repeats: int
    problems: int
    refusal: str = ""


def read_ahead(
    documents: Documents, progress: Callable[[int, int, int], None] | None = None, first: int = FIRST
) -> Preview:
    """Read the documents as `build_index` will, keeping the first passages of each only.

    `progress` is called with the documents read, their number, and the passages so far; what it raises ends
    the reading.
    """
    report, read, refusal = CorpusReport(), [], ""
    tell = progress or _no_progress
    try:
        for number, (name, passages) in enumerate(documents.by_document(report)):
            before = (report.passages, report.repeats, len(report.reasons))
            kept = list(islice(passages, first))
            tell(number, len(documents), report.passages)
            for count, _ in enumerate(passages, 1):
                if count % STEP == 0:
                    tell(number, len(documents), report.passages)
            read.append(_previewed(name, report, before, tuple(kept)))
    except InputError as error:
        refusal = str(error)
    tell(len(read), len(documents), report.passages)
    if not report.passages and not refusal:
        refusal = f"{documents.name} holds no passages. Add documents with text."
    return Preview(tuple(read), report.passages, report.repeats, report.bad_lines, refusal)


def _previewed(
    name: str, report: CorpusReport, before: tuple[int, int, int], first: tuple[Passage, ...]
) -> DocumentPreview:
    passages, repeats, reasons = before
    return DocumentPreview(
        name,
        report.passages - passages,
        report.repeats - repeats,
        first,
        tuple(_without_name(reason, name) for reason in report.reasons[reasons:]),
    )


def _without_name(reason: str, name: str) -> str:
    """ "a.csv, line 3: an empty text" -> "line 3: an empty text"."""
    return reason.removeprefix(name).removeprefix(": ").removeprefix(", ")


def _no_progress(read: int, documents: int, passages: int) -> None:
    pass
