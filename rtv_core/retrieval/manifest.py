"""What an index says of itself, and whether its files still are what it says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rtv_core.errors import MismatchError, MissingError
from rtv_core.pretrained import DEFAULT_MODEL
from rtv_core.wire import from_plain, to_json

__all__ = [
    "FORMAT",
    "FileStamp",
    "Manifest",
    "file_sha256",
    "read_manifest",
    "rebuild",
    "stamp_files",
    "write_manifest",
]

FORMAT = 1
NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file of the index, by its path inside the folder; its size in bytes and SHA-256 (hex)."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """`corpus` is the name of the corpus, `encoder_fingerprint` as in `rtv_core.pretrained`, `built_at` UTC.

    `repeats` and `bad_lines` count what was left out of the corpus; `versions` names the libraries.
    """

    format: int
    corpus: str
    corpus_sha256: str
    passages: int
    repeats: int
    bad_lines: int
    encoder: str
    encoder_fingerprint: str
    dimension: int
    built_at: str
    versions: Mapping[str, str]
    files: tuple[FileStamp, ...]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into the index folder."""
    (folder / NAME).write_text(to_json(manifest, indent=2) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an index whose files are all there and unchanged.

    Raises MissingError if there is no index, MismatchError if it is damaged or of another format.
    """
    path = folder / NAME
    if not path.is_file():
        raise MissingError(_absence(folder))
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if (found := plain["format"]) != FORMAT:
            raise MismatchError(
                f"The index {folder} has format {found}; this version reads {FORMAT}. {rebuild(folder)}"
            )
        manifest = from_plain(Manifest, plain)
    except (ValueError, TypeError, KeyError) as error:
        raise MismatchError(f"{path} can't be read ({error}). {rebuild(folder)}") from error
    for stamp in manifest.files:
        _check(folder, stamp, rebuild(folder, manifest.corpus, manifest.encoder))
    return manifest


def stamp_files(folder: Path, names: Iterable[str]) -> tuple[FileStamp, ...]:
    """The stamps of the named files, sorted by path."""
    return tuple(
        FileStamp(name, (folder / name).stat().st_size, file_sha256(folder / name)) for name in sorted(names)
    )


def file_sha256(path: Path) -> str:
    """The file's SHA-256 (hex)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rebuild(folder: Path, corpus: str = "PATH", encoder: str = DEFAULT_MODEL) -> str:
    """The sentence that says how to build the index again."""
    named = "" if encoder == DEFAULT_MODEL else f" --encoder {encoder}"
    return f"Build it again: `python -m rtv_core index --corpus {corpus} --out {folder}{named} --overwrite`."


def _absence(folder: Path) -> str:
    command = f"`python -m rtv_core index --corpus PATH --out {folder}`"
    if folder.name and not folder.exists() and folder.with_name(f"{folder.name}.partial").is_dir():
        return f"The index {folder} is unfinished. Run the same command again to go on: {command}."
    return f"There is no index in {folder}. Build one: {command}."


def _check(folder: Path, stamp: FileStamp, remedy: str) -> None:
    path = folder / stamp.path
    if not path.is_file():
        raise MissingError(f"The index {folder} lacks its file {stamp.path}. {remedy}")
    if (size := path.stat().st_size) != stamp.size:
        raise MismatchError(
            f"{stamp.path} of the index {folder} has {size:,} bytes instead of {stamp.size:,}. {remedy}"
        )
    if file_sha256(path) != stamp.sha256:
        raise MismatchError(f"{stamp.path} of the index {folder} has changed since it was built. {remedy}")
