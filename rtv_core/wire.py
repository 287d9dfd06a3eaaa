"""Records to JSON and back: the one place where a record becomes a dict."""

from __future__ import annotations

import itertools
import json
import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["fits", "from_json", "from_plain", "misfits", "to_json", "to_plain"]

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
    """Whether a plain value has the fields of a record type, all the way down, and the types they name."""
    return next(misfits(kind, value, ""), None) is None


def misfits(kind: Any, value: Any, place: str) -> Iterator[str]:
    """What a plain value has that is not of the type that its field promises, a sentence each.

    A whole number fits where a number is wanted; a number has to be finite.
    """
    origin, args = get_origin(kind), get_args(kind)

    def wrong(wanted: str) -> str:  # said only where it is: a whole trace is long to write out
        return f"field {place!r} is {value!r:.60}; it must be {wanted}."

    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            yield wrong("an object")
            return
        hints = _hints(kind)
        yield from (f"field {place!r} has no {name!r}." for name in sorted(_needed(kind) - set(value)))
        for name, item in value.items():
            if name in hints:
                yield from misfits(hints[name], item, f"{place}.{name}")
            else:
                yield f"field {place!r} has a {name!r:.60}, which is unknown."
    elif origin in (Union, types.UnionType):
        if not any(fits(member, value) for member in args):
            yield from misfits(next(a for a in args if a is not type(None)), value, place)
    elif origin is tuple:
        if not isinstance(value, tuple | list):
            yield wrong("a list")
        elif args[-1] is not Ellipsis and len(value) != len(args):
            yield wrong(f"a list of {len(args)}")
        else:
            kinds = itertools.repeat(args[0]) if args[-1] is Ellipsis else args
            for number, (item_kind, item) in enumerate(zip(kinds, value, strict=False)):
                yield from misfits(item_kind, item, f"{place}[{number}]")
    elif origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            yield wrong("an object")
            return
        for key, item in value.items():
            yield from misfits(args[0], key, f"{place}'s key")
            yield from misfits(args[1], item, f"{place}.{key}")
    elif not _is(kind, value):
        yield wrong(f"of type {kind.__name__}")


def _is(kind: Any, value: Any) -> bool:
    if kind in (int, float) and isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return kind is Any or isinstance(value, kind)


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
        if len(value) != len(args):
            raise TypeError(f"{len(value)} values stand where {len(args)} belong")
        return tuple(map(_build, args, value))
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


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _needed(kind: type) -> frozenset[str]:
    """The fields of a record that have no default."""
    return frozenset(f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING)
