"""One record of a file, and its fields as the formats want them; a wrong one is named in the message."""

from __future__ import annotations

from typing import Any

from rtv_core.datasets.files import Place, shown
from rtv_core.errors import InputError

__all__ = ["Fields", "Spellings"]

Spellings = tuple[str, ...]


class Fields:
    """A JSON object and the place it stands at. Raises InputError if it is none; `called` says what of."""

    def __init__(self, place: str | Place, record: Any, called: str = "question") -> None:
        self.place = place
        if not isinstance(record, dict):
            raise InputError(f"{place}: {shown(record)} is no {called}; write a JSON object.")
        self.record: dict[str, Any] = record

    def first(self, fields: tuple[str, ...]) -> str:
        """The first of these fields that is there, else the first of them."""
        return next((field for field in fields if field in self.record), fields[0])

    def text(self, field: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(field, value, "a text that is not empty")
        return value

    def texts(self, field: str, value: Any) -> Spellings:
        """A list of at least one text."""
        return tuple(self.text(f"{field}[{i}]", item) for i, item in enumerate(self.list(field, value)))

    def list(self, field: str, value: Any) -> list[Any]:
        if not isinstance(value, list) or not value:
            raise self.wrong(field, value, "a list that is not empty")
        return value

    def wrong(self, field: str, value: Any, wanted: str) -> InputError:
        found = "is missing" if value is None else f"is {shown(value)}"
        return InputError(f"{self.place}: field {field!r} {found}; it must be {wanted}.")
