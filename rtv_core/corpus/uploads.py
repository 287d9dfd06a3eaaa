"""A file that somebody hands in over the network: bounded while it comes, under a name that is made safe."""

from __future__ import annotations

import filecmp
import os
import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import regex

from rtv_core.corpus.documents import FORMS, DocumentLimits
from rtv_core.corpus.prose import shown_path
from rtv_core.errors import InputError

__all__ = ["Incoming", "UploadLimits", "cut_bytes", "form_of", "is_document", "safe_file_name"]

MIB = 2**20
LONGEST_NAME = 80
LONGEST_STEM = 120
"""Bytes; with a number and an ending any file system takes it."""

PART = ".part"

_KEPT_SIGN = regex.compile(r"[\p{L}\p{M}\p{N} ._()+,&'@~=-]")


def _document_limits() -> DocumentLimits:
    return DocumentLimits(files=2_000, text_bytes=20 * MIB, pdf_bytes=100 * MIB, table_bytes=200 * MIB)


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """How much may be handed in. `documents` bounds each file, `total_bytes` and `files` a collection.

    `spare_bytes` of the disk stay free, whatever comes.
    """

    total_bytes: int = 1024 * MIB
    files: int = 2_000
    collections: int = 200
    spare_bytes: int = 512 * MIB
    documents: DocumentLimits = field(default_factory=_document_limits)

    def size(self, name: str) -> int:
        """The most bytes of a file of this name. Raises InputError for a form that isn't read."""
        return self.documents.size(form_of(name))


class Incoming:
    """A file while it comes, beside the others under a hidden name. Use it by `with`; uncommitted it is gone.

    Raises InputError for more bytes than the file, its collection or the disk may hold.
    """

    def __init__(self, folder: Path, name: str, most: int, room: int, free: int) -> None:
        self._folder = folder
        self._name = name
        self._most, self._room, self._free = most, room, free
        self._size = 0
        self._path = folder / f".{secrets.token_hex(8)}{PART}"
        self._file: BinaryIO | None = None

    def __enter__(self) -> Incoming:
        with self._plain_errors():
            self._file = self._path.open("xb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        self._path.unlink(missing_ok=True)

    def check(self, size: int) -> None:
        """Raises InputError if a file of so many bytes is too large."""
        if size > self._most:
            raise InputError(
                f"{self._name} has more than {_mib(self._most)}, the most for its form. Split it."
            )
        if size > self._room:
            raise InputError(
                f"{self._name} doesn't fit: the collection would have more than its limit. Remove files, or "
                "make another collection."
            )
        if size > self._free:
            raise InputError(f"{self._name} doesn't fit on the server's disk. Free some space there.")

    def write(self, data: bytes) -> None:
        """Add the next bytes."""
        self._size += len(data)
        self.check(self._size)
        with self._plain_errors():
            self._file.write(data)

    def commit(self) -> str:
        """Put the file among the others; returns its name, with a number if another file has it already.

        The same file again stays the one that is there.
        """
        if not self._size:
            raise InputError(f"{self._name} is empty. Leave it out.")
        with self._plain_errors():
            self._file.close()
            stem, suffix = Path(self._name).stem, Path(self._name).suffix
            number = 1
            while True:
                name = self._name if number == 1 else f"{stem}-{number}{suffix}"
                path = self._folder / name
                try:
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                except FileExistsError:
                    if is_document(path) and filecmp.cmp(path, self._path, shallow=False):
                        return name
                    number += 1
                    continue
                self._path.replace(path)
                return name

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{self._name} can't be kept: {error.strerror}. Nothing is left of it."
            ) from error


def safe_file_name(name: str) -> str:
    """A name for a file that lies in its folder and nowhere else, like the one it was sent under.

    Only what follows the last slash or backslash counts, without signs that name more than a file. Raises
    InputError for a form that isn't read.
    """
    last = regex.split(r"[/\\]", name)[-1]
    signs = (sign if _KEPT_SIGN.fullmatch(sign) else "_" for sign in unicodedata.normalize("NFC", last))
    safe = " ".join("".join(signs).split()).strip(" .")
    form_of(safe, last)
    path = Path(safe)
    return f"{cut_bytes(path.stem, LONGEST_STEM).rstrip(' .')}{path.suffix}"


def form_of(name: str, said: str = "") -> str:
    """One of `FORMS` by the end of a name. Raises InputError for another one; it shows the name as `said`."""
    form = FORMS.get(Path(name).suffix.lower())
    if form is None:
        shown = shown_path(said or name)[:LONGEST_NAME]
        raise InputError(f"{shown!r} is of no form that can be read. Give {', '.join(FORMS)}.")
    return form


def is_document(path: Path) -> bool:
    """Whether a file of a collection is one of its documents: no link, and not still coming."""
    return (
        not path.name.startswith(".")
        and path.suffix.lower() in FORMS
        and not path.is_symlink()
        and path.is_file()
    )


def cut_bytes(text: str, most: int) -> str:
    """The text without what goes beyond so many bytes of UTF-8."""
    return text.encode()[:most].decode(errors="ignore")


def _mib(size: int) -> str:
    return f"{size / MIB:,.0f} MiB"
