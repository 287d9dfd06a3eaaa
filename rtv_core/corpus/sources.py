"""What an index is made of: one file of passages, or people's documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from rtv_core.corpus.documents import DocumentLimits, Documents
from rtv_core.corpus.intake import BAD_LINE_LIMIT, CorpusReport
from rtv_core.corpus.prose import shown_path
from rtv_core.corpus.read import names_passages, read_passages
from rtv_core.errors import InputError
from rtv_core.records import Passage

__all__ = ["Corpus", "open_corpus"]


class Corpus(Protocol):
    """`name` is for people; `sha256()` (hex) changes with whatever the passages are made of."""

    name: str

    def sha256(self) -> str: ...

    def passages(
        self, report: CorpusReport | None = None, bad_limit: int = BAD_LINE_LIMIT
    ) -> Iterator[Passage]: ...


def open_corpus(
    paths: Sequence[Path | str],
    columns: Mapping[str, str] | None = None,
    limits: DocumentLimits | None = None,
) -> Corpus:
    """One file of passages (.jsonl, .gz, or .tsv with DPR's columns) as it is; all else as documents.

    `columns` names the columns of tables that give "id", "title" and "text". Raises MissingError for an
    absent path, InputError for what can't be a corpus.
    """
    if not paths:
        raise InputError("No corpus is named. Give a file or a folder.")
    first = Path(paths[0])
    if len(paths) > 1 or not first.is_file() or not _is_of_passages(first, bool(columns)):
        return Documents(paths, limits, columns)
    if columns:
        raise InputError(f"{first.name} is no table, so that no columns can be named. Leave them out.")
    return _PassageCorpus(first)


class _PassageCorpus:
    """A file that holds passages already."""

    def __init__(self, path: Path) -> None:
        self.name = shown_path(path.name)
        self._path = path

    def sha256(self) -> str:
        with self._path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def passages(
        self, report: CorpusReport | None = None, bad_limit: int = BAD_LINE_LIMIT
    ) -> Iterator[Passage]:
        return read_passages(self._path, report, bad_limit)


def _is_of_passages(path: Path, columns_named: bool) -> bool:
    if path.suffix == ".tsv":
        return not columns_named and names_passages(path)
    return path.suffix in (".jsonl", ".gz")
