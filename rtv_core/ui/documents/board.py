"""What the Documents page shows: the collections, and of the open one its files, preview and index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rtv_core.corpus.collections import Collection, Upload
from rtv_core.corpus.preview import DocumentPreview, Preview
from rtv_core.corpus.tables import FIELDS, known_columns
from rtv_core.corpus.uploads import UploadLimits
from rtv_core.retrieval.index import glance, is_unfinished
from rtv_core.retrieval.manifest import Manifest
from rtv_core.ui.documents.room import Room
from rtv_core.ui.documents.work import Work

__all__ = ["Board", "Entry", "File", "Opened", "Table", "read_board"]


@dataclass(frozen=True, slots=True)
class Table:
    """The columns of a table, and which of them give id, title and text: chosen, or known by name."""

    columns: tuple[str, ...]
    gives: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class File:
    """A file of the open collection; `read` is what it gave, None before it was read."""

    upload: Upload
    table: Table | None
    read: DocumentPreview | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A collection, how many files it has, and its index.

    `made` is what the index says of itself, None without one; `changed`: the files are others since.
    `unfinished`: a build of it was begun and can go on.
    """

    collection: Collection
    files: int
    size: int
    made: Manifest | None
    changed: bool
    unfinished: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """The collection that is open."""

    entry: Entry
    files: tuple[File, ...]
    preview: Preview | None
    index: Path


@dataclass(frozen=True, slots=True)
class Board:
    """The collections, newest first; `opened` is None while the page lists them all."""

    entries: tuple[Entry, ...]
    opened: Opened | None
    work: Work | None
    limits: UploadLimits
    store: Path
    folder: Path


def read_board(room: Room, collection_id: str = "") -> Board:
    """What there is to show. Raises MissingError for an unknown collection, InputError for a bad disk."""
    work = room.worker.now()  # first: were it to end meanwhile, what it gave would be missing unnoticed
    collections = room.collections
    opened, entries = None, ()
    if collection_id:
        opened = _opened(room, _entry(room, collections.get(collection_id)))
    else:
        entries = tuple(_entry(room, collection) for collection in collections.all())
    return Board(entries, opened, work, collections.limits, room.store, collections.folder)


def _entry(room: Room, collection: Collection) -> Entry:
    collections = room.collections
    files, index = collections.files(collection.id), collections.index(collection.id)
    made = glance(index)
    changed = made is not None and collection.built_from != collections.stamp(collection.id)
    size = sum(file.size for file in files)
    return Entry(collection, len(files), size, made, changed, is_unfinished(index))


def _opened(room: Room, entry: Entry) -> Opened:
    collection, collections = entry.collection, room.collections
    preview = room.preview(collection.id)
    read = {document.name: document for document in preview.documents} if preview else {}
    files = tuple(
        File(upload, _table(room, collection, upload), read.get(upload.name))
        for upload in collections.files(collection.id)
    )
    return Opened(entry, files, preview, collections.index(collection.id))


def _table(room: Room, collection: Collection, upload: Upload) -> Table | None:
    if not upload.is_table:
        return None
    columns = room.collections.columns(collection.id, upload.name)
    known = known_columns(columns) | dict(collection.tables.get(upload.name, {}))
    return Table(columns, {field: known[field] for field in FIELDS if field in known})
