"""Named filters on questions, each person's own: an append-only log, so that a deletion can be taken back.

A filter is kept as the texts of its conditions; the log's last entry of a name says what it is, or that it is
gone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlite_utils import Database

from rtv_core.errors import InputError, MissingError
from rtv_core.store.database import connect, transaction
from rtv_core.store.traces import bindable, now
from rtv_core.store.validation import checked_text, composed

__all__ = ["FilterStore", "SavedFilter"]

LONGEST_NAME = 80
MOST_FILTERS = 200


@dataclass(frozen=True, slots=True)
class SavedFilter:
    """A filter's name and conditions. `at` is when it was saved (UTC, ISO 8601)."""

    name: str
    conditions: tuple[str, ...]
    at: str


class FilterStore:
    """The filters in a file of judgements, for any number of threads and processes.

    `owner` is the name of whoever is signed in, "" where nobody signs in. Every method opens its own
    connection and raises StoreError where the file can't be read or written.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)

    def save(self, owner: str, name: str, conditions: Sequence[str]) -> SavedFilter:
        """Keep conditions under a name, in place of what was there. The same once more is kept once.

        Raises InputError for a name or conditions that can't be kept.
        """
        name = _checked_name(name)
        conditions = tuple(checked_text("condition", condition, visible=True) for condition in conditions)
        if not conditions:
            raise InputError("The filter has no condition yet. Add one, then save it.")
        with transaction(self._path) as db:
            kept = _standing(db, owner)
            if name not in kept and len(kept) >= MOST_FILTERS:
                raise InputError(f"There are {len(kept):,} filters already. Delete one first.")
            if name not in kept or kept[name].conditions != conditions:
                _log(db, owner, name, conditions)
            return _standing(db, owner)[name]

    def filters(self, owner: str) -> list[SavedFilter]:
        """The owner's filters, by name."""
        with connect(self._path) as db:
            return list(_standing(db, owner).values())

    def delete(self, owner: str, name: str) -> None:
        """Delete a filter. Raises MissingError if the owner has none of this name."""
        with transaction(self._path) as db:
            if composed(name) not in _standing(db, owner):
                raise MissingError(f"There is no filter {name[:LONGEST_NAME]!r} any more.")
            _log(db, owner, composed(name), None)

    def restore(self, owner: str, name: str) -> SavedFilter:
        """Bring back what a name stood for before it was deleted; nothing changes if it is there.

        Raises MissingError if the owner never had a filter of this name.
        """
        sql = """
            SELECT conditions FROM filter_events
            WHERE owner = ? AND name = ? AND conditions IS NOT NULL ORDER BY id DESC LIMIT 1
        """
        name = composed(name)
        with transaction(self._path) as db:
            if name not in _standing(db, owner):
                row = db.execute(sql, [bindable(owner), bindable(name)]).fetchone()
                if row is None:
                    raise MissingError(f"There never was a filter {name[:LONGEST_NAME]!r}.")
                _log(db, owner, name, json.loads(row[0]))
            return _standing(db, owner)[name]


def _standing(db: Database, owner: str) -> dict[str, SavedFilter]:
    """The filters that stand, by name."""
    sql = """
        SELECT name, conditions, at FROM filter_events WHERE conditions IS NOT NULL AND id IN (
            SELECT max(id) FROM filter_events WHERE owner = ? GROUP BY name
        ) ORDER BY name
    """
    rows = db.execute(sql, [bindable(owner)])
    return {name: SavedFilter(name, tuple(json.loads(text)), at) for name, text, at in rows}


def _log(db: Database, owner: str, name: str, conditions: Sequence[str] | None) -> None:
    text = None if conditions is None else json.dumps(list(conditions), ensure_ascii=False)
    row = {"owner": bindable(owner), "name": name, "conditions": text, "at": now()}
    db.table("filter_events").insert(row)


def _checked_name(name: str) -> str:
    name = composed(checked_text("filter's name", name, LONGEST_NAME, visible=True))
    if not any(c.isalnum() for c in name):
        raise InputError("A filter needs a name. Type one.")
    return name
