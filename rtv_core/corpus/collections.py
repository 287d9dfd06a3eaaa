"""Documents that people handed in: collections in one folder, each with its files and, in time, its index.

    <folder>/files/letters/...        the documents of the collection "letters", as they came
    <folder>/collections/letters.json what it is called, who made it when, which columns its tables have
    <folder>/indexes/letters          its index, once one was built

Nothing is ever written outside that folder, whatever a file or a collection is said to be called.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import regex

from rtv_core.corpus.documents import FORMS, TABLES, Documents
from rtv_core.corpus.intake import BadRecord
from rtv_core.corpus.prose import shown_path
from rtv_core.corpus.tables import FIELDS, read_names
from rtv_core.corpus.uploads import (
    PART,
    Incoming,
    UploadLimits,
    cut_bytes,
    form_of,
    is_document,
    safe_file_name,
)
from rtv_core.errors import InputError, MissingError
from rtv_core.wire import from_json, to_json

__all__ = ["Collection", "Collections", "Upload", "collections_folder"]

LONGEST_NAME = 80
LONGEST_ID = 60

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents that become one index. `id` names its folders, `at` is when it was made (UTC).

    `tables` says which columns of a table give id, title and text, where somebody chose them. `built_from` is
    the `stamp` of what its index was made from; "" without one.
    """

    id: str
    name: str
    at: str
    by: str = ""
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    built_from: str = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a collection, of `size` bytes."""

    name: str
    size: int

    @property
    def is_table(self) -> bool:
        """Whether its rows are records of their own."""
        return form_of(self.name) in TABLES


def collections_folder(store: Path) -> Path:
    """Where the collections of a store lie: rtv.db-documents beside rtv.db."""
    return store.with_name(f"{store.name}-documents")


class Collections:
    """The collections in a folder, which is made when the first one is.

    Every method raises MissingError for a collection or file that isn't there, InputError for anything that
    can't be used, and for a disk that can't be read or written.
    """

    def __init__(self, folder: Path, limits: UploadLimits | None = None) -> None:
        self.folder = folder
        self.limits = limits or UploadLimits()

    def create(self, name: str, by: str = "") -> Collection:
        """Make an empty collection; its id is like its name, and no other's."""
        name = " ".join(shown_path(name).split())[:LONGEST_NAME]
        if not _WORD.search(name):
            raise InputError("The collection has no name. Type one.")
        if len(self.all()) >= self.limits.collections:
            raise InputError(f"There are {self.limits.collections} collections already. Delete one first.")
        with self._plain_errors():
            for part in ("files", "collections", "indexes"):
                self._inside(part).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._refuse_links()
            collection = Collection(
                self._free_id(name), name, datetime.now(UTC).isoformat("T", "seconds"), by
            )
            self._keep(collection)
        return collection

    def all(self) -> list[Collection]:
        """The collections, newest first; a description that can't be read is passed over."""
        with self._plain_errors():
            folder = self._inside("collections")
            if not folder.is_dir():
                return []
            found = [self._read(path) for path in sorted(folder.glob("*.json"))]
        kept = [c for c in found if c is not None and _is_folder(self._files(c.id))]
        return sorted(kept, key=lambda c: (c.at, c.id), reverse=True)

    def get(self, collection_id: str) -> Collection:
        """The collection of that id."""
        found = next((c for c in self.all() if c.id == collection_id), None)
        if found is None:
            raise MissingError(f"There is no collection {shown_path(collection_id)[:LONGEST_ID]!r} any more.")
        return found

    def files(self, collection_id: str) -> list[Upload]:
        """The files of a collection by name."""
        folder = self._files(self.get(collection_id).id)
        with self._plain_errors():
            paths = [path for path in sorted(folder.iterdir()) if is_document(path)]
            return [Upload(path.name, path.stat().st_size) for path in paths]

    def columns(self, collection_id: str, name: str) -> tuple[str, ...]:
        """The names of a table's columns; none of a file that is no table, or none that can be read."""
        file = self._file(collection_id, name)
        return _columns(self._files(collection_id) / file.name)

    def receive(self, collection_id: str, name: str, size: int | None = None) -> Incoming:
        """A file about to come; it is there once it is committed. `size` is what was announced of it."""
        collection = self.get(collection_id)
        name = safe_file_name(name)
        kept = self.files(collection.id)
        if len(kept) >= self.limits.files:
            raise InputError(f"The collection has {len(kept):,} files; that is the most. Make another.")
        room = self.limits.total_bytes - sum(file.size for file in kept)
        with self._plain_errors():
            self._refuse_links()
            free = shutil.disk_usage(self.folder).free - self.limits.spare_bytes
        incoming = Incoming(self._files(collection.id), name, self.limits.size(name), room, free)
        incoming.check(size or 0)
        return incoming

    def remove(self, collection_id: str, name: str) -> None:
        """Take a file out of a collection."""
        collection = self.get(collection_id)
        with self._plain_errors():
            (self._files(collection.id) / self._file(collection_id, name).name).unlink()
            tables = {file: columns for file, columns in collection.tables.items() if file != name}
            self._keep(replace(collection, tables=tables))

    def name_columns(self, collection_id: str, name: str, columns: Mapping[str, str]) -> None:
        """Say which columns of a table give "id", "title" and "text"; what is left out goes by name."""
        collection, file = self.get(collection_id), self._file(collection_id, name)
        known = self.columns(collection_id, name)
        for what, column in columns.items():
            if what not in FIELDS or column not in known:
                raise InputError(f"{file.name} has no column {str(column)[:40]!r}. Choose another.")
        tables = {**collection.tables, file.name: dict(columns)}
        with self._plain_errors():
            self._keep(
                replace(collection, tables={name: chosen for name, chosen in tables.items() if chosen})
            )

    def delete(self, collection_id: str) -> None:
        """Delete a collection with its documents and its index."""
        collection = self.get(collection_id)
        index = self.index(collection.id)
        with self._plain_errors():
            (self._inside("collections") / f"{collection.id}.json").unlink()
            for folder in (self._files(collection.id), index, index.with_name(f"{index.name}.partial")):
                if _is_folder(folder):
                    shutil.rmtree(folder)

    def documents(self, collection_id: str) -> Documents:
        """The documents of a collection, to be read or indexed."""
        collection = self.get(collection_id)
        present = {file.name for file in self.files(collection.id)}
        tables = {name: columns for name, columns in collection.tables.items() if name in present}
        return Documents([self._files(collection.id)], self.limits.documents, tables=tables)

    def index(self, collection_id: str) -> Path:
        """Where the index of a collection lies, or will."""
        return self._inside("indexes") / self.get(collection_id).id

    def stamp(self, collection_id: str) -> str:
        """What changes with the files of a collection and the columns chosen; cheap, nothing is read."""
        collection = self.get(collection_id)
        folder = self._files(collection.id)
        with self._plain_errors():
            told = [(path.name, path.stat()) for path in sorted(folder.iterdir()) if is_document(path)]
        seen = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in told]
        plain = json.dumps([seen, {n: dict(c) for n, c in collection.tables.items()}], sort_keys=True)
        return hashlib.sha256(plain.encode()).hexdigest()

    def note_built(self, collection_id: str, stamp: str) -> None:
        """Keep from what the index was made."""
        with self._plain_errors():
            self._keep(replace(self.get(collection_id), built_from=stamp))

    def _inside(self, part: str) -> Path:
        return self.folder / part

    def _files(self, collection_id: str) -> Path:
        return self._inside("files") / collection_id

    def _file(self, collection_id: str, name: str) -> Upload:
        found = next((file for file in self.files(collection_id) if file.name == name), None)
        if found is None:
            raise MissingError(f"There is no file {shown_path(name)[:LONGEST_NAME]!r} here any more.")
        return found

    def _free_id(self, name: str) -> str:
        """A name of a folder that nothing had, with the folder."""
        words = "-".join(_WORD.findall(unicodedata.normalize("NFC", name).lower()))
        wanted = cut_bytes(words, LONGEST_ID)
        number = 1
        while True:
            taken = wanted if number == 1 else f"{wanted}-{number}"
            number += 1
            if any((self._inside(part) / taken).exists() for part in ("indexes", "collections")):
                continue
            try:
                self._files(taken).mkdir(mode=0o700)
                return taken
            except FileExistsError:
                continue

    def _keep(self, collection: Collection) -> None:
        path = self._inside("collections") / f"{collection.id}.json"
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
        part.write_text(to_json(collection, indent=2) + "\n", encoding="utf-8")
        part.replace(path)

    def _read(self, path: Path) -> Collection | None:
        try:
            collection = from_json(Collection, path.read_text(encoding="utf-8"))
        except (ValueError, TypeError):
            return None
        return collection if collection.id == path.stem and not path.is_symlink() else None

    def _refuse_links(self) -> None:
        """Raises InputError if a folder was exchanged for a link, which could lead anywhere."""
        for folder in (self.folder, *(self._inside(part) for part in ("files", "collections", "indexes"))):
            if folder.is_symlink():
                raise InputError(f"{folder} is a link. Put the folder itself there.")

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(f"The folder {self.folder} can't be used: {error.strerror}.") from error


def _is_folder(path: Path) -> bool:
    """Whether it is a folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def _columns(path: Path) -> tuple[str, ...]:
    """The columns of a table, none if it has none or is something else."""
    form = FORMS[path.suffix.lower()]
    if form not in TABLES:
        return ()
    try:
        with path.open("rb") as file:
            return tuple(dict.fromkeys(name for name in read_names(file, form == "csv") if name))
    except BadRecord:
        return ()
