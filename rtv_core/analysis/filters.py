"""Conditions on questions, written as people read them: "gold >= 2", "lost = not recalled", "text ~ river".

= != ~ !~         of a column of words: is, is not, contains, doesn't contain; case and spacing don't matter
= != < <= > >=    of a column of numbers

A question with several values in a column meets a condition if one of them does; != and !~ if none of them is
the text, or contains it. Without a value it meets no condition on numbers. All conditions of a filter must be
met.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.analysis.columns import COLUMNS, Column, Sources, no_sources
from rtv_core.errors import InputError
from rtv_core.records import RunQuestion

__all__ = ["LONGEST_CONDITION", "MOST_CONDITIONS", "SIGNS", "Condition", "read_conditions", "selected"]

MOST_CONDITIONS = 20
LONGEST_CONDITION = 300

SIGNS = ("=", "!=", "~", "!~", ">=", "<=", ">", "<")

_NUMBERS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_WORDS = {"=": operator.eq, "!=": operator.eq, "~": operator.contains, "!~": operator.contains}
_FORM = re.compile(r"\s*(\w+)\s*(!=|!~|>=|<=|=|~|<|>)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """`column` is one of `columns.COLUMNS`, `sign` one of `SIGNS`, `value` a text or a number as written."""

    column: str
    sign: str
    value: str

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.value}"

    def meets(self, question: RunQuestion, sources: Sources) -> bool:
        """Whether a question meets it."""
        column = COLUMNS[self.column]
        values = column.values(question, sources)
        if column.number:
            return any(_NUMBERS[self.sign](value, float(self.value)) for value in values)
        wanted = _folded(self.value)
        found = any(_WORDS[self.sign](_folded(value), wanted) for value in values)
        return found != self.sign.startswith("!")


def read_conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """The conditions, each once. Raises InputError, with what is wrong, for what is none."""
    if len(texts) > MOST_CONDITIONS:
        raise InputError(f"The filter has {len(texts):,} conditions; the most is {MOST_CONDITIONS}.")
    return tuple(dict.fromkeys(map(_read, texts)))


def selected(
    questions: Sequence[RunQuestion], conditions: Sequence[Condition], sources: Sources = no_sources
) -> list[RunQuestion]:
    """The questions that meet every condition, in their order."""
    return [q for q in questions if all(condition.meets(q, sources) for condition in conditions)]


def _read(text: str) -> Condition:
    if len(text) > LONGEST_CONDITION:
        raise InputError(
            f"A condition has {len(text):,} characters; the most is {LONGEST_CONDITION}. Shorten it."
        )
    if (match := _FORM.fullmatch(text)) is None:
        raise InputError(
            f"{text[:60]!r} is no condition. Write one such as: lost = not recalled, or gold >= 2."
        )
    name, sign, value = match[1], match[2], " ".join(match[3].split())
    if (column := COLUMNS.get(name)) is None:
        raise InputError(f"There is no column {name[:40]!r}. Choose one of {', '.join(COLUMNS)}.")
    if column.number:
        return Condition(name, _sign(column, sign, _NUMBERS), _number(column, value))
    if not value:
        raise InputError(
            f"The condition on the {column.title} has no text. Say what it is to be, or contain."
        )
    return Condition(name, _sign(column, sign, _WORDS), value)


def _sign(column: Column, sign: str, signs: Sequence[str]) -> str:
    if sign not in signs:
        raise InputError(f"{sign} does not go with the {column.title}. Use one of {' '.join(signs)}.")
    return sign


def _number(column: Column, value: str) -> str:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{value[:40]!r} is no number; the {column.title} is one.")
    return f"{number:.12g}"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
