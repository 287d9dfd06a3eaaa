"""Passages from people's own documents: folders and files of text, Markdown, HTML, PDF, CSV and TSV."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rtv_core.corpus.intake import BAD_LINE_LIMIT, BadRecord, CorpusReport, Intake
from rtv_core.corpus.markup import read_html, read_markdown
from rtv_core.corpus.pdf import read_pdf
from rtv_core.corpus.prose import decode, one_line, paragraphs, shown_path
from rtv_core.corpus.tables import BadRow, read_rows
from rtv_core.errors import InputError, MissingError
from rtv_core.records import Passage

__all__ = ["FORMS", "TABLES", "DocumentLimits", "Documents", "read_documents"]

FORMS = MappingProxyType(
    {
        ".txt": "text",
        ".md": "markdown",
        ".markdown": "markdown",
        ".html": "html",
        ".htm": "html",
        ".pdf": "pdf",
        ".csv": "csv",
        ".tsv": "tsv",
    }
)
"""What is read, by the end of a file's name in lower case."""

TABLES = ("csv", "tsv")
"""The forms whose rows are records of their own."""

LONGEST_TITLE = 200
MIB = 2**20

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """How much is read. Too many files stop the reading; a file over another limit is a bad file.

    `text_bytes` is the most of a text, Markdown or HTML file, `pdf_bytes` of a PDF, `table_bytes` of a table,
    which is read row by row; `pages` the most of a PDF; `characters` the most text of one document.
    """

    files: int = 100_000
    text_bytes: int = 20 * MIB
    pdf_bytes: int = 200 * MIB
    table_bytes: int = 20 * 1024 * MIB
    pages: int = 5_000
    characters: int = 10_000_000

    def size(self, form: str) -> int:
        """The most bytes of a file of one of `FORMS`."""
        if form in TABLES:
            return self.table_bytes
        return self.pdf_bytes if form == "pdf" else self.text_bytes


def read_documents(
    paths: Sequence[Path | str],
    limits: DocumentLimits | None = None,
    columns: Mapping[str, str] | None = None,
    report: CorpusReport | None = None,
    bad_limit: int = BAD_LINE_LIMIT,
) -> Iterator[Passage]:
    """The passages of files and folders, by name; `Documents(paths, limits, columns).passages(...)`."""
    return Documents(paths, limits, columns).passages(report, bad_limit)


@dataclass(frozen=True, slots=True)
class _Document:
    """`name` is the path that the ids begin with, whatever `path` it is read from."""

    name: str
    path: Path
    form: str


class Documents:
    """The documents in some folders and files: found at once, hashed and read when asked to.

    The ids of a document are `<name>#1`, `<name>#2`, ..., those of a table's rows `<name>#<id>`, or the bare
    id where the table is all there is. The name is the path inside the folder, behind the folder's own name
    if there are several paths; of a file that was named itself, just its name.

    Hidden files, files of another form and links out of a folder are left out of it; a linked folder isn't
    entered. `columns` says which columns of tables give "id", "title" and "text" where other names do;
    `tables` says so for single documents, by name, in place of `columns`.

    Raises MissingError for an absent path; InputError for a named file of another form, for no documents or
    too many, and for two of one name.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        limits: DocumentLimits | None = None,
        columns: Mapping[str, str] | None = None,
        tables: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        paths = [Path(path) for path in paths]
        self._limits = limits or DocumentLimits()
        self._columns = dict(columns or {})
        self._tables = {name: dict(chosen) for name, chosen in (tables or {}).items()}
        self._alone = len(paths) == 1 and not paths[0].is_dir()
        self._left_out: Counter[str] = Counter()
        self._documents = sorted(self._find(paths), key=lambda document: document.name)
        self.name = _corpus_name(paths)
        self._check()

    def __len__(self) -> int:
        return len(self._documents)

    def sha256(self) -> str:
        """A SHA-256 (hex) over the names and contents of what is read, and the chosen columns.

        Of a file that can't be opened or is too large only the name counts.
        """
        chosen = [self._columns, self._tables] if self._tables else self._columns
        total = hashlib.sha256(json.dumps(chosen, sort_keys=True).encode())
        for document in self._documents:
            total.update(f"{json.dumps(document.name)} {self._digest(document)}\n".encode())
        return total.hexdigest()

    def passages(
        self, report: CorpusReport | None = None, bad_limit: int = BAD_LINE_LIMIT
    ) -> Iterator[Passage]:
        """The passages, in the order of the documents' names.

        A file or row that can't be used is logged, counted and skipped. Raises InputError for more than
        `bad_limit` of them.
        """
        for _, passages in self.by_document(report, bad_limit):
            yield from passages

    def by_document(
        self, report: CorpusReport | None = None, bad_limit: int = BAD_LINE_LIMIT
    ) -> Iterator[tuple[str, Iterator[Passage]]]:
        """The name of each document with its passages, which must be taken before the next one's."""
        report = CorpusReport() if report is None else report
        report.left_out = self._left_out.total()
        intake = Intake(report, bad_limit, "file or row")
        for document in self._documents:
            yield document.name, self._taken(document, intake)
        log.info(
            "%s: %s of %s documents used, %s files left out%s",
            self.name,
            f"{report.files:,}",
            f"{len(self):,}",
            f"{report.left_out:,}",
            self._reasons(),
        )

    def _taken(self, document: _Document, intake: Intake) -> Iterator[Passage]:
        report = intake.report
        used = report.records + report.repeats
        try:
            yield from self._read(document, intake)
        except BadRecord as reason:
            intake.skip(document.name, reason)
        report.files += report.records + report.repeats > used

    def _find(self, paths: Sequence[Path]) -> Iterator[_Document]:
        for path in paths:
            if not path.exists():
                raise MissingError(
                    f"There is no corpus file {str(path)!r}, and no folder of that name. Give one that holds "
                    f"{_forms()}."
                )
            if path.is_dir():
                prefix = f"{shown_path(path.resolve().name)}/" if len(paths) > 1 else ""
                yield from self._walk(path, prefix)
            elif form := FORMS.get(path.suffix.lower()):
                yield _Document(shown_path(path.name), path, form)
            else:
                raise InputError(
                    f"{shown_path(path.name)} is of no form that can be read. Give {_forms()}; or passages, "
                    "one file alone, in .jsonl, .jsonl.gz or .tsv.gz."
                )

    def _walk(self, root: Path, prefix: str) -> Iterator[_Document]:
        inside = root.resolve()
        for folder, folders, files in os.walk(root, onerror=_stop):
            self._left_out["hidden"] += sum(name.startswith(".") for name in folders)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                path = Path(folder, name)
                if reason := _unread(path, inside):
                    self._left_out[reason] += 1
                else:
                    place = path.relative_to(root).as_posix()
                    yield _Document(prefix + shown_path(place), path, FORMS[path.suffix.lower()])

    def _check(self) -> None:
        if not self._documents:
            raise InputError(f"{self.name} holds no documents{self._reasons()}. Put {_forms()} there.")
        if len(self) > self._limits.files:
            raise InputError(
                f"{self.name} holds {len(self):,} documents; the most is {self._limits.files:,}. Leave some "
                "out."
            )
        names = Counter(document.name for document in self._documents)
        if twice := [name for name, count in names.items() if count > 1]:
            raise InputError(
                f"Two documents are called {twice[0]!r}. Rename one, or give the folder that holds both."
            )
        if self._columns and not any(document.form in TABLES for document in self._documents):
            raise InputError(f"{self.name} holds no table, so that no columns can be named. Leave them out.")

    def _reasons(self) -> str:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in sorted(self._left_out.items()) if count)
        return f" ({counts})" if counts else ""

    def _digest(self, document: _Document) -> str:
        try:
            if document.path.stat().st_size > self._limits.size(document.form):
                return ""
            with document.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""

    def _read(self, document: _Document, intake: Intake) -> Iterator[Passage]:
        try:
            if document.form in TABLES:
                yield from self._rows(document, intake)
            else:
                title, text = self._content(document)
                title = one_line(title)[:LONGEST_TITLE] or _title_of(document)
                yield from intake.take(document.name, title, text, numbered=True)
        except OSError as error:
            raise BadRecord(f"it can't be opened ({error.strerror})") from error

    def _content(self, document: _Document) -> tuple[str, str]:
        """Title ("" for none) and text of a document that is read as a whole."""
        most, limits = self._limits.size(document.form), self._limits
        with document.path.open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise BadRecord(f"more than {most:,} bytes; split it")
        if document.form == "pdf":
            title, text = read_pdf(data, limits.pages, limits.characters)
        elif document.form == "text":
            title, text = "", paragraphs(decode(data))
        else:
            title, text = (read_html if document.form == "html" else read_markdown)(data)
        if not text:
            raise BadRecord("no text")
        if len(text) > limits.characters:
            raise BadRecord(f"{len(text):,} characters; the most is {limits.characters:,}; split it")
        return title, text

    def _rows(self, document: _Document, intake: Intake) -> Iterator[Passage]:
        if document.path.stat().st_size > self._limits.table_bytes:
            raise BadRecord(f"more than {self._limits.table_bytes:,} bytes; split it")
        prefix = "" if self._alone else f"{document.name}#"
        columns = self._tables.get(document.name, self._columns)
        with document.path.open("rb") as file:
            for row in read_rows(file, document.form == "csv", columns):
                try:
                    if isinstance(row, BadRow):
                        raise row.reason
                    yield from intake.take(prefix + row.id, row.title[:LONGEST_TITLE], row.text)
                except BadRecord as reason:
                    intake.skip(f"{document.name}, line {row.line:,}", reason)


def _corpus_name(paths: Sequence[Path]) -> str:
    first = shown_path(paths[0].resolve().name or str(paths[0])) if paths else "The corpus"
    return first if len(paths) < 2 else f"{first} and {len(paths) - 1:,} more"


def _title_of(document: _Document) -> str:
    return Path(document.name).stem.replace("_", " ")[:LONGEST_TITLE]


def _unread(path: Path, inside: Path) -> str:
    """Why a file in a folder is left out, "" if it isn't."""
    if path.name.startswith("."):
        return "hidden"
    if path.suffix.lower() not in FORMS:
        return f"of another form ({shown_path(path.suffix)})" if path.suffix else "of no form"
    try:
        if path.is_symlink() and not path.resolve().is_relative_to(inside):
            return "linked from elsewhere"
        return "" if path.is_file() else "no file"
    except (OSError, RuntimeError):  # a folder that may be listed only, a link to itself
        return "that can't be opened"


def _stop(error: OSError) -> None:
    raise InputError(
        f"The folder {str(error.filename)!r} can't be opened ({error.strerror}). Allow it, or move it away."
    ) from error


def _forms() -> str:
    return ", ".join(FORMS)
