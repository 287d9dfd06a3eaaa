"""Backups of a file of judgements, in a folder beside it: made while others write, never written over."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from rtv_core.errors import StoreError
from rtv_core.store.database import plain_errors

__all__ = ["Backup", "backup_folder", "list_backups", "make_backup"]

SUFFIX = ".db"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup of `size` bytes, finished at `at`: UTC, ISO 8601."""

    path: Path
    at: str
    size: int


class _Copied(Protocol):
    """A store that can be copied whole, while others write to it."""

    @property
    def path(self) -> Path: ...

    def backup(self, path: Path) -> None: ...


def backup_folder(store: Path) -> Path:
    """Where the backups of a file lie: rtv.db-backups beside rtv.db."""
    return store.with_name(f"{store.name}-backups")


def list_backups(store: Path) -> list[Backup]:
    """The backups of a file, newest first; no links. Raises StoreError if the folder can't be read."""
    folder = backup_folder(store)
    with plain_errors(folder):
        if not folder.is_dir():
            return []
        found = [_read(path) for path in folder.iterdir() if _is_backup(path)]
    return sorted(found, key=lambda backup: (backup.at, backup.path.name), reverse=True)


def make_backup(store: _Copied, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Backup:
    """Copy a store to a new file in its folder of backups, and check that the copy is whole.

    The copy gets its name once it is finished. Raises StoreError if it can't be made or is damaged; then
    nothing is left of it.
    """
    folder = backup_folder(store.path)
    with plain_errors(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".making-") as making:
            copy = Path(making) / "copy.db"
            store.backup(copy)
            _check(copy, store.path)
            path = _free_name(folder, f"{store.path.stem}-{clock():%Y%m%d-%H%M%S}Z")
            _move(copy, path)
        made = _read(path)
    log.info("Backup %s: %d bytes.", made.path, made.size)
    return made


def _free_name(folder: Path, stem: str) -> Path:
    """A name that nothing had, taken by an empty file so that nothing else gets it."""
    number = 1
    while True:
        path = folder / f"{stem}{'' if number == 1 else f'-{number}'}{SUFFIX}"
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            return path
        except FileExistsError:
            number += 1


def _move(copy: Path, path: Path) -> None:
    try:
        copy.replace(path)
    except OSError:
        path.unlink()
        raise


def _check(copy: Path, store: Path) -> None:
    with closing(sqlite3.connect(copy)) as db:
        schema = db.execute("PRAGMA user_version").fetchone()[0]  # an empty file is a sound database too
        if not schema or db.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise StoreError(f"The copy of {store} is damaged. Check the disk, then make another.")


def _is_backup(path: Path) -> bool:
    return path.suffix == SUFFIX and path.is_file() and not path.is_symlink()


def _read(path: Path) -> Backup:
    told = path.stat()
    return Backup(
        path, datetime.fromtimestamp(told.st_mtime, UTC).isoformat(timespec="milliseconds"), told.st_size
    )
