"""Work that only one process does at a time: a file held while it lasts, free again however it ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtv_core.errors import InputError

__all__ = ["alone"]


@contextmanager
def alone(path: Path, busy: str) -> Iterator[None]:
    """Hold the file `path`, which is made with its folder, and removed afterwards.

    The system frees it when the process dies, so that nothing needs to be deleted by hand. Threads of one
    process are kept apart too. Raises InputError with the text `busy` if somebody else holds it, or if it
    can't be made.
    """
    while (held := _open(path, busy)) is None:
        pass
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: whoever opened it before sees that it is gone
        os.close(held)


def _open(path: Path, busy: str) -> int | None:
    """The held file; None if its last holder removed it between our opening and our holding it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        raise InputError(
            f"The folder {path.parent} can't be written ({error.strerror}). Allow it, or name another."
        ) from error
    try:
        _hold(file)
    except OSError as error:
        os.close(file)
        raise InputError(busy) from error
    if _is_there(path, file):
        return file
    os.close(file)
    return None


def _hold(file: int) -> None:
    """Raises OSError if somebody else holds the file."""
    try:
        import fcntl
    except ImportError:
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_there(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(file))
    except FileNotFoundError:
        return False
