"""A trace from outside, checked before it is believed: every type, and the parts that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rtv_core.errors import InputError
from rtv_core.records import EVIDENCE_SIZES, Trace
from rtv_core.wire import from_plain, misfits

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
    if wrong := next(misfits(Trace, value, "trace"), None):
        raise InputError(wrong)
    if wrong := next(_mismatches(trace), None):
        raise InputError(f"field 'trace' is no trace: {wrong}.")
    return trace


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
