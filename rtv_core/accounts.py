"""Who may sign in: a file of names with password hashes. No password is kept, and none is set by default."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from rtv_core.errors import InputError, MissingError
from rtv_core.store.validation import checked_name

__all__ = ["SHORTEST_PASSWORD", "Accounts", "name_key"]

SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 1000


@dataclass(frozen=True, slots=True)
class _Account:
    """A password's hash, and whether its owner sees and does what only admins may."""

    hash: str
    admin: bool = False


class Accounts:
    """The accounts in one file: a JSON object of names and argon2id hashes, for its owner's eyes only.

    Instead of its hash alone, an admin's name has {"admin": true, "hash": ...}. The file is read at every
    call, so that an account added while a server runs can sign in. `hasher` sets what a guess costs.
    """

    def __init__(self, path: Path | str, hasher: PasswordHasher | None = None) -> None:
        self._path = Path(path)
        self._hasher = hasher or PasswordHasher()
        self._stamps: tuple[os.stat_result | None, dict[str, str]] = None, {}

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def names(self) -> list[str]:
        """The names, sorted. Raises MissingError where there is none: then nobody could sign in."""
        if not (accounts := self._load()):
            raise MissingError(f"There is no account in {self._path}. {self._remedy()}")
        return sorted(accounts)

    def admins(self) -> list[str]:
        """The names of the admins, sorted; whoever is added isn't one unless it is asked for."""
        return sorted(name for name, account in self._load().items() if account.admin)

    def add(self, name: str, password: str, admin: bool = False) -> str:
        """Add an account, making the file if it isn't there; returns the name as it is kept.

        Raises InputError for a name that is taken, also if it only looks like one that is (see `name_key`),
        and for a password that is too short.
        """
        name = checked_name(name)
        if not any(c.isalnum() for c in name):
            raise InputError(f"The name {name!r} has no letter or digit. Choose another.")
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise InputError(
                f"The password has {len(password):,} characters; it must have {SHORTEST_PASSWORD} to "
                f"{LONGEST_PASSWORD:,}. Choose another."
            )
        hashed = self._hasher.hash(_composed(password))
        with self._changing() as accounts:
            if (taken := _find(accounts, name)) is not None:
                raise InputError(f"There is an account {taken!r} in {self._path}. Choose another name.")
            accounts[name] = _Account(hashed, admin)
        return name

    def remove(self, name: str) -> str:
        """Take an account away; returns its name. Raises MissingError if there is none."""
        self.names()
        with self._changing() as accounts:
            if (found := _find(accounts, name)) is None:
                raise MissingError(f"There is no account {name[:80]!r} in {self._path}.")
            del accounts[found]
        return found

    def verify(self, name: str, password: str) -> str | None:
        """The account's own name if the password is right, else None.

        An unknown name takes as long as a wrong password, so that the time tells no names.
        """
        accounts = self._load()
        found = _find(accounts, name)
        try:
            self._hasher.verify(self._nobody if found is None else accounts[found].hash, _composed(password))
        except (VerificationError, InvalidHashError):
            return None
        return found

    def stamp(self, name: str) -> str | None:
        """What an account has until it is removed or gets another password; None for no account.

        The name is the account's own. The file is read only if it changed, so that every request may ask.
        """
        try:
            told = self._path.stat()
        except OSError:
            told = None
        if told is None or self._stamps[0] is None or _traits(told) != _traits(self._stamps[0]):
            self._stamps = told, {known: _digest(account.hash) for known, account in self._load().items()}
        return self._stamps[1].get(name)

    @cached_property
    def _nobody(self) -> str:
        """The hash of a password that nobody knows."""
        return self._hasher.hash(secrets.token_urlsafe())

    def _load(self) -> dict[str, _Account]:
        if not self._path.is_file():
            raise MissingError(f"There is no file of accounts {str(self._path)!r}. {self._remedy()}")
        mode = stat.S_IMODE(self._path.stat().st_mode)
        if os.name == "posix" and mode & 0o077:
            raise InputError(
                f"Others can read {self._path} (mode {mode:o}), which holds password hashes. "
                f"Close it: chmod 600 {self._path}"
            )
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{self._path} can't be read: {error.strerror}.") from error
        except ValueError as error:
            raise InputError(f"{self._path} is not a file of accounts: {error}.") from error
        accounts = {name: _read(value) for name, value in kept.items()} if isinstance(kept, dict) else None
        if accounts is None or None in accounts.values():
            raise InputError(f"{self._path} is not a file of accounts: it must hold names and hashes.")
        return accounts

    @contextmanager
    def _changing(self) -> Iterator[dict[str, _Account]]:
        """The accounts, kept as they are afterwards if nothing was raised.

        They go to a new file that becomes this one when it is whole. Only one writer can make that file, so
        that of two changes at once none is lost.
        """
        part = self._path.with_name(f"{self._path.name}.part")
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError as error:
            raise InputError(
                f"Another command is changing {self._path}. If none is, delete {part} and try again."
            ) from error
        except OSError as error:
            raise InputError(f"{self._path} can't be written: {error.strerror}. Name another.") from error
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                accounts = self._load() if self._path.exists() else {}
                yield accounts
                kept = {name: _written(account) for name, account in accounts.items()}
                json.dump(kept, file, ensure_ascii=False, indent=2, sort_keys=True)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)
        finally:
            part.unlink(missing_ok=True)

    def _remedy(self) -> str:
        return f"Add one: python -m rtv_core accounts add NAME --file {self._path}"


def name_key(name: str) -> str:
    """What two names that a reader could take for one have in common: width, case and spacing don't count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _read(value: Any) -> _Account | None:
    """The account that a value of the file holds; None for anything else."""
    if isinstance(value, str):
        return _Account(value)
    if not isinstance(value, dict) or set(value) != {"admin", "hash"}:
        return None
    known = isinstance(value["hash"], str) and isinstance(value["admin"], bool)
    return _Account(value["hash"], value["admin"]) if known else None


def _written(account: _Account) -> str | dict[str, Any]:
    return {"admin": True, "hash": account.hash} if account.admin else account.hash


def _traits(told: os.stat_result) -> tuple[int, ...]:
    """What differs once a file was written or put in the place of another."""
    return told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _find(accounts: dict[str, _Account], name: str) -> str | None:
    wanted = name_key(name)
    return next((known for known in sorted(accounts) if name_key(known) == wanted), None)


def _composed(password: str) -> str:
    """Keyboards differ in how they send an accent; half characters, which no keyboard sends, are replaced."""
    return unicodedata.normalize("NFC", password).encode(errors="replace").decode()
