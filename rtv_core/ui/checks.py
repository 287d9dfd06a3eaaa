"""What a browser sends, read with suspicion: each function returns a usable value or raises InputError."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rtv_core.errors import InputError
from rtv_core.records import EVIDENCE_SIZES

__all__ = [
    "read_choice",
    "read_event",
    "read_index",
    "read_k",
    "read_name",
    "read_tau",
    "read_text",
]

LONGEST_ANSWER = 500
LONGEST_NAME = 80
LONGEST_NOTE = 4000


def read_tau(value: object) -> float:
    """A threshold from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"tau is {_shown(value)}; it must be a number from 0 to 1.")
    if not 0 <= value <= 1:
        raise InputError(f"tau is {value}; it must lie between 0 and 1.")
    return float(value)


def read_k(value: object) -> int:
    """An evidence size."""
    if isinstance(value, bool) or value not in EVIDENCE_SIZES:
        raise InputError(f"k is {_shown(value)}; it must be one of {', '.join(map(str, EVIDENCE_SIZES))}.")
    return int(value)


def read_event(value: object) -> Mapping[str, object]:
    """The data of a page event: a mapping, empty when the browser sent something else."""
    return value if isinstance(value, Mapping) else {}


def read_text(value: object, name: str, most: int) -> str:
    """A text of at most `most` characters, without outer space; "" when it is missing."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"The {name} is {_shown(value)}; it must be text.")
    if len(value) > most:
        raise InputError(f"The {name} has {len(value):,} characters; the most is {most:,}. Shorten it.")
    return value.encode("utf-8", "replace").decode("utf-8").strip()


def read_name(value: object) -> str:
    """An annotator's name, which must not be empty."""
    name = read_text(value, "annotator's name", LONGEST_NAME)
    if not any(c.isalnum() for c in name):
        raise InputError("A judgement needs a name. Type yours in the field “Your name”.")
    return name


def read_choice(value: object, name: str, choices: tuple[str, ...]) -> str:
    """One of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"The {name} is {_shown(value)}; it must be one of {', '.join(choices)}.")
    return value


def read_index(value: object, name: str, size: int) -> int:
    """An index below `size`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < size:
        raise InputError(f"There is no {name} {_shown(value)}.")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
