"""Records to JSON and back: the one place where a record becomes a dict."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["fits", "from_json", "from_plain", "to_json", "to_plain"]

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
    """The inverse of `to_plain` for a record type. Raises TypeError for an unknown or missing field.

    Of a union's members it is the first that the value fits. What the fields hold is not checked: see `fits`.
    """
    return _build(kind, value)


def from_json(kind: type[T], text: str) -> T:
    """The inverse of `to_json` for a record type."""
    return _build(kind, json.loads(text))


def fits(kind: Any, value: Any) -> bool:
    """Whether a plain value has the fields of a record type, all the way down, and the types that they name.

    A whole number fits where a number is wanted.
    """
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        hints = _hints(kind)
        return (
            isinstance(value, Mapping)
            and _needed(kind) <= set(value) <= set(hints)
            and all(fits(hints[name], item) for name, item in value.items())
        )
    if origin in (Union, types.UnionType):
        return any(fits(member, value) for member in args)
    if origin is tuple:
        whole = isinstance(value, tuple | list) and (args[-1] is Ellipsis or len(value) == len(args))
        return whole and all(fits(item_kind, item) for item_kind, item in _items(args, value))
    if origin is not None:
        return isinstance(value, origin)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return kind is Any or (isinstance(value, kind) and not (kind is int and isinstance(value, bool)))


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
        return _build_member(args, value)
    if origin is tuple:
        if args[-1] is Ellipsis:  # by far the most, and the longest: traces are made of them
            return tuple(_build(args[0], item) for item in value)
        return tuple(_build(item_kind, item) for item_kind, item in _items(args, value))
    if origin is not None and issubclass(origin, Mapping):
        return MappingProxyType(dict(value))
    return value


def _build_member(members: tuple[Any, ...], value: Any) -> Any:
    if value is None:
        return None
    members = tuple(member for member in members if member is not type(None))
    if len(members) == 1:
        return _build(members[0], value)
    for member in members:
        if fits(member, value):
            return _build(member, value)
    names = " or ".join(getattr(member, "__name__", str(member)) for member in members)
    raise TypeError(f"a value must be {names}, and fits none")


def _items(kinds: tuple[Any, ...], values: Any) -> list[tuple[Any, Any]]:
    """The items of a tuple, each with its kind. Raises TypeError if their number is wrong."""
    if kinds[-1] is Ellipsis:
        return [(kinds[0], value) for value in values]
    if len(values) != len(kinds):
        raise TypeError(f"{len(values)} values stand where {len(kinds)} belong")
    return list(zip(kinds, values, strict=True))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _needed(kind: type) -> frozenset[str]:
    """The fields of a record that have no default."""
    return frozenset(f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
