"""Every reply on disk, so that nothing is asked twice; the exchanges of each question beside them.

An SQLite file of its own: a reply's key is a hash over model, prompt and parameters, an exchange belongs to a
question and to the fingerprint of the pipeline that made it (`Trace.provenance["exchanges"]`).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from rtv_core.errors import StoreError
from rtv_core.llm.exchanges import Exchange
from rtv_core.llm.messages import Reply, Request
from rtv_core.wire import from_json, to_json

__all__ = ["ReplyCache", "cache_file", "request_key"]

VERSION = 1
BUSY_SECONDS = 30.0

_TABLES = """
    CREATE TABLE replies (
        key TEXT PRIMARY KEY, model TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL
    );
    CREATE TABLE exchanges (
        fingerprint TEXT NOT NULL, question TEXT NOT NULL, stage TEXT NOT NULL, subject TEXT NOT NULL,
        attempt INTEGER NOT NULL, sample INTEGER NOT NULL, code TEXT NOT NULL, exchange TEXT NOT NULL,
        PRIMARY KEY (fingerprint, question, stage, subject, attempt, sample, code)
    );
    CREATE TABLE secret (key BLOB NOT NULL);
"""


def cache_file(name: str = "") -> Path:
    """The file of that name; without one, `llm.db` in the user's cache."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(name) if name else home / "rtv" / "llm.db"


def request_key(model: str, request: Request) -> str:
    """What the same prompt to the same model with the same parameters shares."""
    text = json.dumps([model, to_json(request)])
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


class ReplyCache:
    """The replies and exchanges in one file, for any number of threads and processes.

    The file is made if it isn't there. Every method raises StoreError where it can't be read or written.
    `secret` keys the codes of prompts; it is drawn once for the file.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with self._connected() as db:
            self.secret: bytes = _prepared(db, self.path)

    def reply(self, key: str) -> Reply | None:
        """The kept reply, marked as cached; None if there is none."""
        with self._connected() as db:
            row = db.execute("SELECT reply FROM replies WHERE key = ?", [key]).fetchone()
        return None if row is None else replace(from_json(Reply, row[0]), cached=True)

    def keep(self, key: str, model: str, request: Request, reply: Reply) -> None:
        """Keep a reply; it is on disk when this returns. Of two the first stays."""
        row = [key, model, _text(to_json(request)), _text(to_json(reply))]
        with self._connected() as db, db:
            db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?)", row)

    def keep_exchanges(self, fingerprint: str, question: str, exchanges: Sequence[Exchange]) -> None:
        """Keep what was asked for a question; the newest of the same place stays."""
        rows = [
            (
                fingerprint,
                _text(question),
                e.stage,
                _text(e.subject),
                e.attempt,
                e.sample,
                e.code,
                _text(to_json(e)),
            )
            for e in exchanges
        ]
        with self._connected() as db, db:
            db.executemany("INSERT OR REPLACE INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def exchanges(self, fingerprint: str, question: str, subject: str | None = None) -> list[Exchange]:
        """What was asked for a question, stage by stage; of one passage or candidate if `subject` says so."""
        sql = "SELECT exchange FROM exchanges WHERE fingerprint = ? AND question = ?"
        values = [fingerprint, _text(question)]
        if subject is not None:
            sql, values = f"{sql} AND subject = ?", [*values, _text(subject)]
        order = "CASE stage WHEN 'read' THEN 0 WHEN 'question' THEN 1 ELSE 2 END"
        with self._connected() as db:
            rows = db.execute(f"{sql} ORDER BY {order}, subject, attempt, sample, rowid", values).fetchall()
        return [from_json(Exchange, row[0]) for row in rows]

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection for one call: SQLite's objects must stay in their thread."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as db:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute(
                    "PRAGMA synchronous = NORMAL"
                )  # a kill loses nothing; a power cut perhaps the last
                yield db
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The replies in {self.path} can't be read or written: {error}. Free the disk, or name "
                "another file with calls.cache."
            ) from error


def _prepared(db: sqlite3.Connection, path: Path) -> bytes:
    db.execute("BEGIN IMMEDIATE")
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0 and db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
            raise StoreError(f"{path} holds another program's tables. Name another file with calls.cache.")
        if version > VERSION:
            raise StoreError(f"{path} was written by a newer version. Name another file with calls.cache.")
        if version == 0:
            for statement in _TABLES.split(";"):
                db.execute(statement)
            db.execute("INSERT INTO secret VALUES (?)", [secrets.token_bytes(32)])
            db.execute(f"PRAGMA user_version = {VERSION}")
        db.commit()
    finally:
        db.rollback()
    return db.execute("SELECT key FROM secret").fetchone()[0]


def _text(value: str) -> str:
    return value.encode(errors="replace").decode()
