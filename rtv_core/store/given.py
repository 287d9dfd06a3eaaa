"""A trace from outside, checked before it is believed: every type, and the parts that belong together."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from rtv_core.errors import InputError
from rtv_core.records import EVIDENCE_SIZES, Trace
from rtv_core.wire import from_plain

__all__ = ["given_trace"]

STAGES = ("asked", "retrieved", "recalled", "gathered", "verified")


def given_trace(value: Any) -> Trace:
    """The trace that a plain structure describes.

    Raises InputError, with the field, where the structure isn't that of a trace.
    """
    try:
        trace = from_plain(Trace, value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"field 'trace' is no trace: {error}.") from error
    if wrong := next(_misfits(Trace, trace, "trace"), None):
        raise InputError(wrong)
    if wrong := next(_mismatches(trace), None):
        raise InputError(f"field 'trace' is no trace: {wrong}.")
    return trace


def _misfits(kind: Any, value: Any, place: str) -> Iterator[str]:
    """What is not of the type that its field promises."""
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        for field in fields(kind):
            yield from _misfits(_hints(kind)[field.name], getattr(value, field.name), f"{place}.{field.name}")
    elif origin in (Union, types.UnionType):
        if value is not None:
            yield from _misfits(next(a for a in args if a is not type(None)), value, place)
    elif origin is tuple:
        for number, item in enumerate(value):
            yield from _misfits(args[0], item, f"{place}[{number}]")
    elif origin is not None and issubclass(origin, Mapping):
        for key, item in value.items():
            yield from _misfits(args[0], key, f"{place}'s key")
            yield from _misfits(args[1], item, f"{place}.{key}")
    elif not _is(kind, value):
        yield f"field {place!r} is {value!r:.60}; it must be of type {kind.__name__}."


def _is(kind: type, value: Any) -> bool:
    if kind in (int, float) and isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, kind)


def _mismatches(trace: Trace) -> Iterator[str]:
    if trace.stage not in STAGES:
        yield f"its stage is {trace.stage!r}"
    for name, other in (("readings", "hits"), ("evidence", "candidates"), ("verdicts", "candidates")):
        if len(getattr(trace, name)) > len(getattr(trace, other)):
            yield f"it has more {name} than {other}"
    if any("\ud800" <= c <= "\udfff" for item in trace.provenance.items() for text in item for c in text):
        yield "its provenance holds half a character"
    if any(len(verdict.p_right) != len(EVIDENCE_SIZES) for verdict in trace.verdicts):
        yield f"a verdict has not {len(EVIDENCE_SIZES)} scores"


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
