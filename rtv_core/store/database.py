"""One connection a call, set up for many writers; what SQLite can't do, in plain words."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlite_utils import Database

from rtv_core.errors import StoreError
from rtv_core.store.migrations import migrate

__all__ = ["connect", "one_connection", "plain_errors", "transaction"]

BUSY_SECONDS = 5.0

_TURNS: dict[Path, threading.Lock] = {}
_KEPT = threading.local()

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full. Free some space, then save again",
    sqlite3.SQLITE_READONLY: "it is read-only. Make the file and its folder writable, then save again",
    sqlite3.SQLITE_CANTOPEN: "it can't be opened. Check that its folder is there and writable",
    sqlite3.SQLITE_PERM: "it may not be opened. Check its permissions",
    sqlite3.SQLITE_BUSY: f"another program has held it for {BUSY_SECONDS:.0f} s. Try again",
    sqlite3.SQLITE_LOCKED: "another call holds it. Try again",
    sqlite3.SQLITE_IOERR: "the disk can't be read or written. Check its space and state, then save again",
    sqlite3.SQLITE_CORRUPT: "it is damaged. Restore a backup",
    sqlite3.SQLITE_NOTADB: "it is no SQLite database. Choose another file",
}


@contextmanager
def connect(path: Path) -> Iterator[Database]:
    """A connection with the newest schema, closed afterwards. SQLite objects must stay in their thread."""
    with plain_errors(path):
        if (kept := getattr(_KEPT, "open", {}).get(path)) is not None:
            yield kept
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        db = Database(sqlite3.connect(path, timeout=BUSY_SECONDS), execute_plugins=False)
        try:
            db.execute("PRAGMA foreign_keys = ON")
            _enable_wal(db)
            migrate(db)
            yield db
        finally:
            db.close()


@contextmanager
def one_connection(path: Path) -> Iterator[None]:
    """Lets all calls of this thread inside share a connection: to open one takes longer than most reads."""
    with connect(path) as db:
        before = getattr(_KEPT, "open", {})
        _KEPT.open = {**before, path: db}
        try:
            yield
        finally:
            _KEPT.open = before


@contextmanager
def transaction(path: Path) -> Iterator[Database]:
    """A connection that holds the write lock from the start: what is read stays true until it is written.

    (A transaction that starts by reading fails at once, whatever the time-out, if another writes meanwhile.)
    The threads of a process take turns: SQLite's own waiting is unfair, and one might never get its turn.
    """
    with _turn(path), connect(path) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.commit()
        finally:
            db.rollback()


@contextmanager
def _turn(path: Path) -> Iterator[None]:
    lock = _TURNS.setdefault(path.resolve(), threading.Lock())
    if not lock.acquire(timeout=BUSY_SECONDS):
        raise StoreError(_failed(path, _REASONS[sqlite3.SQLITE_BUSY]))
    try:
        yield
    finally:
        lock.release()


@contextmanager
def plain_errors(path: Path) -> Iterator[None]:
    """Turns failures of the file, disk or lock into StoreError; a fault in the SQL stays as it is."""
    try:
        yield
    except sqlite3.Error as error:
        reason = _REASONS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if reason is None:
            raise
        raise StoreError(_failed(path, reason)) from error
    except OSError as error:
        raise StoreError(_failed(path, f"{error.strerror}. Choose another place")) from error


def _failed(path: Path, reason: str) -> str:
    return f"The judgements in {path} could not be saved or read: {reason}."


def _enable_wal(db: Database) -> None:
    """The switch needs the file alone and doesn't wait for it, so that of many starters most must retry."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.enable_wal()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
