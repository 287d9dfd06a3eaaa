"""Records to JSON and back: the one place where a record becomes a dict."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["from_json", "from_plain", "to_json", "to_plain"]

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Records as dicts, tuples as lists, all the way down."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(item) for item in value]
    return value


def to_json(value: Any, indent: int | None = None) -> str:
    """A record as JSON: sorted keys, no escapes for letters, NaN refused with ValueError."""
    return json.dumps(to_plain(value), ensure_ascii=False, sort_keys=True, indent=indent, allow_nan=False)


def from_plain(kind: type[T], value: Any) -> T:
    """The inverse of `to_plain` for a record type. Raises TypeError for an unknown or missing field."""
    return _build(kind, value)


def from_json(kind: type[T], text: str) -> T:
    """The inverse of `to_json` for a record type."""
    return _build(kind, json.loads(text))


def _build(kind: Any, value: Any) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise TypeError(f"{kind.__name__} must be an object, not {type(value).__name__}")
        hints = _hints(kind)
        if unknown := set(value) - set(hints):
            raise TypeError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
        return kind(**{name: _build(hints[name], item) for name, item in value.items()})
    if origin in (Union, types.UnionType):
        return None if value is None else _build(next(a for a in args if a is not type(None)), value)
    if origin is tuple:
        return tuple(_build(args[0], item) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        return MappingProxyType(dict(value))
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
