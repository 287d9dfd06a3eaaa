"""What a judgement may hold: its labels, its limits, and the checks that every write passes."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import replace
from typing import Any

from rtv_core.errors import InputError
from rtv_core.records import EVIDENCE_SIZES, Judgement, Support

__all__ = [
    "EVIDENCE_LABELS",
    "LABELS",
    "LONGEST_QUOTE",
    "checked_judgement",
    "checked_name",
    "checked_support",
    "checked_text",
    "checked_token",
    "composed",
]

LABELS = ("listed", "variant", "unlisted", "invalid", "unsure")
EVIDENCE_LABELS = ("supports", "insufficient", "contradicts", "other-entity")
FLAGS = ("recalled", "blind")

LONGEST_TEXT = 10_000
LONGEST_NAME = 80
LONGEST_TOKEN = 200
LONGEST_QUOTE = 300


def checked_judgement(judgement: Judgement) -> Judgement:
    """The judgement with its name tidied. Raises InputError for a value that isn't allowed."""
    if judgement.label not in LABELS:
        raise InputError(f"The label is {judgement.label!r}; it must be one of {', '.join(LABELS)}.")
    if judgement.evidence not in ("", *EVIDENCE_LABELS):
        raise InputError(
            f"The evidence is {judgement.evidence!r}; it must be empty or one of "
            f"{', '.join(EVIDENCE_LABELS)}."
        )
    checked_text("answer", judgement.answer, visible=True)
    checked_text("gold answer", judgement.gold)
    checked_text("note", judgement.note)
    if judgement.label == "variant" and not judgement.gold.strip():
        raise InputError("A variant is a gold answer in other words: say which gold answer it is.")
    checked_support(judgement.support)
    for name in FLAGS:
        if not isinstance(getattr(judgement, name), bool):
            raise InputError(f"{name} is {getattr(judgement, name)!r}; it must be true or false.")
    if judgement.k is not None and (type(judgement.k) is not int or judgement.k not in EVIDENCE_SIZES):
        raise InputError(f"k is {judgement.k!r}; it must be one of {', '.join(map(str, EVIDENCE_SIZES))}.")
    return replace(
        judgement,
        annotator=checked_name(judgement.annotator),
        p_right=_share("p_right", judgement.p_right),
        tau=_share("tau", judgement.tau),
    )


def checked_name(annotator: str) -> str:
    """The annotator's name, composed and without outer space, so that what looks the same is the same."""
    name = checked_text("annotator's name", annotator, LONGEST_TEXT)
    name = composed(name)
    if not 1 <= len(name) <= LONGEST_NAME:
        raise InputError(
            f"The annotator's name has {len(name):,} characters; it must have 1 to {LONGEST_NAME}. Type one."
        )
    if hidden := [c for c in name if unicodedata.category(c).startswith("C")]:
        raise InputError(
            f"The annotator's name holds the invisible character U+{ord(hidden[0]):04X}. Type it again."
        )
    return name


def checked_support(value: Any) -> Support | None:
    """The support itself. Raises InputError for what can't be one."""
    if value is None:
        return None
    if not isinstance(value, Support):
        raise InputError(f"The support is {value!r:.60}; it must name a passage and characters in it.")
    checked_text("support's passage", value.passage_id)
    checked_text("support's words", value.words, LONGEST_QUOTE, visible=True)
    whole = type(value.start) is int and type(value.end) is int
    if not whole or not 0 <= value.start < value.end:
        raise InputError(
            f"The support's characters are {value.start!r:.20} to {value.end!r:.20}; they must be whole "
            "numbers, the first below the second."
        )
    return value


def checked_token(token: str) -> str:
    """A client token: 1 to 200 characters."""
    return checked_text("client token", token, LONGEST_TOKEN, visible=True)


def checked_text(name: str, value: Any, most: int = LONGEST_TEXT, visible: bool = False) -> str:
    """`value` itself. Raises InputError if it is no text, too long, or without a visible character."""
    if not isinstance(value, str):
        raise InputError(f"The {name} is {value!r}; it must be a text.")
    if len(value) > most:
        raise InputError(f"The {name} has {len(value):,} characters; the most is {most:,}. Shorten it.")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise InputError(f"The {name} holds half a character (a lone surrogate). Type it again.")
    if visible and all(unicodedata.category(c)[0] in "CZ" for c in value):
        raise InputError(f"The {name} is empty. Give one.")
    return value


def _share(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}; it must be a number between 0 and 1.")
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {value}; it must lie between 0 and 1.")
    return float(value)


def composed(text: str) -> str:
    """Composed characters (NFC), single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())
