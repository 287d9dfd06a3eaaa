"""The switches of a language model's system: which of its parts are on, as the page and links name them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rtv_core.errors import InputError
from rtv_core.records import Trace
from rtv_core.ri2ver import PARTS
from rtv_core.settings import LLMSettings, Settings
from rtv_core.ui.marks import made_with

__all__ = ["PARTS", "as_made", "has_parts", "parts_off", "parts_on", "switch_parts"]


def has_parts(settings: Settings) -> bool:
    """Whether the system has parts to switch off: whether a language model runs it."""
    return settings.system == "llm"


def parts_on(settings: Settings) -> list[str]:
    """The names of the parts that are on; none for a system without such parts."""
    return [name for name in PARTS if has_parts(settings) and not _is_off(settings, name)]


def switch_parts(settings: Settings, on: object) -> Settings:
    """These settings with exactly the parts `on`: a part that was off comes on as it is by default.

    A system without parts stays as it is. Raises InputError for anything but names of parts.
    """
    if not has_parts(settings):
        return settings
    if not isinstance(on, Sequence) or isinstance(on, str) or any(name not in [*PARTS] for name in on):
        raise InputError(f"The parts to switch on are {on!r:.60}; each must be one of {', '.join(PARTS)}.")
    values: dict[str, Any] = {}
    for name, off in PARTS.items():
        if name not in on:
            values |= off
        elif _is_off(settings, name):
            values |= {setting: _value(LLMSettings(), setting) for setting in off}
    return settings.with_values(values)


def parts_off(trace: Trace) -> list[str]:
    """The names of the parts that were off when a trace was made; none where that isn't known."""
    own = made_with(trace.provenance)
    return [name for name in PARTS if own and has_parts(own) and _is_off(own, name)]


def as_made(settings: Settings, trace: Trace) -> Settings:
    """The server's settings with those parts off that were off when a trace was made."""
    own = made_with(trace.provenance)
    return switch_parts(settings, parts_on(own)) if own and has_parts(own) else settings


def _is_off(settings: Settings, name: str) -> bool:
    return all(_value(settings.llm, setting) == value for setting, value in PARTS[name].items())


def _value(settings: LLMSettings, setting: str) -> Any:
    return getattr(settings, setting.removeprefix("llm."))
