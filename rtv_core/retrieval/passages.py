"""Passages on disk: found by row or by id without reading the others."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rtv_core.records import Passage
from rtv_core.wire import from_json, to_json

__all__ = ["PASSAGE_FILES", "PassageFile", "write_passages"]

PASSAGE_FILES = ("passages.jsonl", "offsets.npy", "ids.npy")
"""One JSON object a line; the byte at which each line starts, and the end; each id's hash and row, sorted."""

_ID_ROW = np.dtype([("hash", "<u8"), ("row", "<i8")])


class PassageFile(Sequence[Passage]):
    """The passages that `write_passages` left in a folder, by row; the files stay mapped."""

    def __init__(self, folder: Path) -> None:
        lines, offsets, ids = (folder / name for name in PASSAGE_FILES)
        self._lines = np.memmap(lines, np.uint8, "r")
        self._offsets = np.load(offsets, mmap_mode="r", allow_pickle=False)
        self._ids = np.load(ids, mmap_mode="r", allow_pickle=False)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> Passage:
        if not 0 <= row < len(self):
            raise IndexError(f"there is no passage {row} among {len(self)}")
        line = self._lines[self._offsets[row] : self._offsets[row + 1]].tobytes()
        return from_json(Passage, line.decode("utf-8"))

    def row(self, passage_id: str) -> int:
        """The row of a passage. Raises KeyError for an id that isn't there."""
        wanted = _hash(passage_id)
        at = int(np.searchsorted(self._ids["hash"], np.uint64(wanted)))
        while at < len(self._ids) and self._ids["hash"][at] == wanted:
            row = int(self._ids["row"][at])
            if self[row].id == passage_id:
                return row
            at += 1
        raise KeyError(passage_id)


def write_passages(passages: Iterable[Passage], folder: Path) -> None:
    """Write the passages for `PassageFile`; memory grows by 16 bytes a passage."""
    lines, offsets, ids = (folder / name for name in PASSAGE_FILES)
    ends, hashes = array("q", [0]), array("Q")
    with lines.open("wb") as file:
        for passage in passages:
            ends.append(ends[-1] + file.write(to_json(passage).encode("utf-8") + b"\n"))
            hashes.append(_hash(passage.id))
    table = np.empty(len(hashes), _ID_ROW)
    table["hash"], table["row"] = hashes, np.arange(len(hashes))
    table.sort(order=["hash", "row"])
    np.save(offsets, np.asarray(ends, "<i8"), allow_pickle=False)
    np.save(ids, table, allow_pickle=False)


def _hash(passage_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(passage_id.encode("utf-8"), digest_size=8).digest(), "little")
