"""Whole databases: opened as a checked copy that leaves the file alone, and restored to a new place."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlite_utils import Database

from rtv_core.errors import MissingError, StoreError
from rtv_core.store.database import connect, plain_errors
from rtv_core.store.migrations import migrate

__all__ = ["check_free", "opened_copy", "restore"]

COMPANIONS = ("-wal", "-shm", "-journal")
MOVE = "Restore to a new name, or move it away first."


@contextmanager
def opened_copy(path: Path | str) -> Iterator[Database]:
    """The database of a file, as a copy with the newest schema; the file itself is only read.

    Raises MissingError if it isn't there, and StoreError if it is damaged, of a newer schema, or not one of
    judgements.
    """
    path = Path(path)
    with plain_errors(path), TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        _copy(path, copy)
        with connect(copy) as db:
            _check(db, path)
            yield db


def restore(backup: Path | str, path: Path | str) -> None:
    """Put a backup in a place where nothing is. Raises StoreError if it is taken, else as `opened_copy`."""
    backup, path = Path(backup), Path(path)
    with plain_errors(path):
        check_free(path, MOVE)
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            copy = Path(folder) / "copy.db"
            with plain_errors(backup):
                _copy(backup, copy)
            with connect(copy) as db:
                _check(db, backup)
            check_free(path, MOVE)
            copy.rename(path)


def check_free(path: Path, remedy: str) -> None:
    """Raises StoreError, with the remedy, where a new database would meet another, or what that left behind.

    SQLite would take a companion that was left behind for the new file's own.
    """
    for taken in (path, *(path.with_name(path.name + end) for end in COMPANIONS)):
        if taken.exists():
            raise StoreError(f"{taken} is there already. {remedy}")


def _copy(source: Path, target: Path) -> None:
    if not source.is_file():
        raise MissingError(f"There is no file {source}. Check the name.")
    with closing(_read_only(source)) as origin, closing(sqlite3.connect(target)) as copy:
        if not origin.execute("PRAGMA user_version").fetchone()[0]:
            raise StoreError(
                f"{source} holds no judgements. If it was copied while in use, a part was left behind: make "
                "the copy with `judgements backup`."
            )
        origin.backup(copy)


def _read_only(source: Path) -> sqlite3.Connection:
    """Without write access to its folder, a database needs to be told that nobody else writes to it."""
    name = source.resolve().as_uri()
    origin = sqlite3.connect(f"{name}?mode=ro", uri=True)
    try:
        origin.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        origin.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB or source.with_name(f"{source.name}-wal").exists():
            raise
        origin = sqlite3.connect(f"{name}?immutable=1", uri=True)
    return origin


def _check(db: Database, source: Path) -> None:
    """That the copy is whole and has this program's tables, views and triggers."""
    if db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise StoreError(f"{source} is damaged. Take another copy.")
    if db.execute("PRAGMA foreign_key_check").fetchone():
        raise StoreError(f"{source} is damaged: it names rows that it doesn't hold. Take another copy.")
    with closing(sqlite3.connect(":memory:")) as connection:
        fresh = Database(connection, execute_plugins=False)
        migrate(fresh)
        wanted = _schema(fresh)
    if wanted - _schema(db):
        raise StoreError(f"{source} holds another program's tables. Choose a file of judgements.")


def _schema(db: Database) -> set[tuple[str, ...]]:
    return set(db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
