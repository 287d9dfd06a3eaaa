"""What a short text says as a value: dates of any exactness, numbers in words, units, currencies."""

from __future__ import annotations

import calendar
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from dateutil import parser
from text_to_num import alpha2digit

__all__ = ["LONGEST", "Amount", "Date", "amount", "dates", "digits", "same_amount"]

LONGEST = 200
"""Longer texts are prose, in characters: no value is read from them."""

NEAR = 0.01
"""Amounts in different units are the same up to this share: 5 km are 3.1 miles."""

_DEFAULTS = (datetime(2000, 1, 1), datetime(2001, 2, 2))
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})s?\b")
_MONTHS = {name.lower() for name in (*calendar.month_name, *calendar.month_abbr) if name}
_BETWEEN = re.compile(
    r"\s*(?:[/;–—]|\s-\s|(?<=\d{4})-(?=\d)|\b(?:to|and|or|until|till|through)\b)\s*", re.IGNORECASE
)
_ISO = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_BEFORE_CHRIST = re.compile(r"\bb\.?\s?c\.?(?:e\.?)?(?!\w)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_UNIT = re.compile(r"[^\W\d_]+(?:(?: ?/ ?| )[^\W\d_]+){0,2}[²³]?|°\s?[CFK]")
_POWERS = (1e3, 1e6, 1e9, 1e12)
_INDIAN = {"lakh": 1e5, "lakhs": 1e5, "crore": 1e7, "crores": 1e7}


@dataclass(frozen=True, slots=True)
class Date:
    """A date as far as it is said, None for what isn't. A year before Christ is negative."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def said(self) -> dict[str, int]:
        """The parts that are said, by name."""
        parts = {"year": self.year, "month": self.month, "day": self.day}
        return {name: value for name, value in parts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, what stands after it, and the codes of the currencies that it may be an amount of."""

    value: float
    unit: str
    currencies: frozenset[str]


@lru_cache(maxsize=16384)
def digits(text: str) -> str:
    """The text with its numbers in digits: "twenty-eight" is "28", "the fourth" is "the 4th"."""
    return alpha2digit(text, "en", 0.0)


@lru_cache(maxsize=16384)
def dates(text: str) -> tuple[tuple[Date, ...], tuple[str, ...]]:
    """The dates in a text, and the words, in lower case, that belong to none of them.

    A text without a month's name or a year of four digits has no date. "1648-51" has two.
    """
    if len(text) > LONGEST:
        return (), ()
    found: list[Date] = []
    rest: list[str] = []
    for part in [text] if _ISO.search(text) else _BETWEEN.split(text):
        date, words = _date(part, found)
        found += [date] if date else []
        rest += words
    return tuple(found), tuple(rest)


@lru_cache(maxsize=16384)
def amount(text: str) -> Amount | None:
    """The one number in a text with its unit or currency; None where there is none, or several."""
    text = _THOUSANDS.sub("", digits(text)) if len(text) <= LONGEST else ""
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return None
    value, end = float(numbers[0].group()), numbers[0].end()
    for power in numbers[1:]:  # "2.4 billion" is "2.4 1000000000" by now
        if float(power.group()) not in _POWERS or text[end : power.start()].strip():
            return None
        value, end = value * float(power.group()), power.end()
    after = text[end:].split()
    if after and after[0].lower() in _INDIAN:
        value *= _INDIAN[after.pop(0).lower()]
    unit = re.sub(r"[^\w/°%²³]", " ", " ".join(after)).strip()
    symbols = [c for c in text if unicodedata.category(c) == "Sc"]
    return Amount(value, unit, _codes([*symbols, unit, *text[: numbers[0].start()].split()]))


def same_amount(one: Amount, other: Amount) -> bool:
    """Whether two amounts are equal, in any unit; a currency is only asked for where both have one."""
    if one.currencies or other.currencies:
        either = not (one.currencies and other.currencies) and not (one.unit and other.unit)
        return math.isclose(one.value, other.value) and (either or bool(one.currencies & other.currencies))
    first, second = _in_base_units(one.value, one.unit), _in_base_units(other.value, other.unit)
    if first is None or second is None:
        return False
    return first[1] == second[1] and math.isclose(first[0], second[0], rel_tol=NEAR)


def _date(text: str, before: Sequence[Date]) -> tuple[Date | None, list[str]]:
    """The date that a text has, if any, and its other words. `before` are the dates to its left."""
    words = re.findall(r"\w+", text.lower())
    if before and before[-1].year and re.fullmatch(r"\s*\d\d\s*", text):  # the 51 of 1648-51
        return Date(before[-1].year // 100 * 100 + int(text)), []
    if not _YEAR.search(text) and not (_MONTHS.intersection(words) and any(w[0].isdigit() for w in words)):
        return None, words
    christian = _BEFORE_CHRIST.sub(" ", text)
    try:
        (one, skipped), (two, _) = (
            parser.parse(christian, default=default, fuzzy_with_tokens=True, ignoretz=True)
            for default in _DEFAULTS
        )
    except (ValueError, OverflowError):
        return None, words
    year = one.year if one.year == two.year else None  # what isn't said is another in each default
    if year and christian != text:
        year = -year
    month = one.month if one.month == two.month else None
    day = one.day if one.day == two.day else None
    return Date(year, month, day), re.findall(r"[^\W\d_]+", " ".join(skipped).lower())


def _codes(names: Sequence[str]) -> frozenset[str]:
    known = _currencies() if any(names) else {}
    return frozenset().union(*(known.get(name.lower(), ()) for name in names if name))


@cache
def _currencies() -> dict[str, frozenset[str]]:
    """By symbol, code, name and last word of the name ("pesos") the codes of the currencies meant."""
    from babel import Locale
    from babel.numbers import get_currency_name

    locale = Locale("en")
    codes: dict[str, set[str]] = {}
    for code in locale.currencies:
        names = [get_currency_name(code, count, locale).lower() for count in (1, 2)]
        symbol = locale.currency_symbols.get(code, code).lower()
        for name in (code.lower(), symbol, *names, *(name.split()[-1] for name in names)):
            codes.setdefault(name, set()).add(code)
    return {name: frozenset(found) for name, found in codes.items()}


@lru_cache(maxsize=4096)
def _in_base_units(value: float, unit: str) -> tuple[float, str] | None:
    """The amount in base units and their name; None for what is no unit of measurement."""
    if not _UNIT.fullmatch(unit) or any(c.isnumeric() and c not in "²³" for c in unit):
        return None  # pint would calculate it: "½" is a letter to the pattern
    from pint import PintError

    try:
        amount = _units().Quantity(value, _units().parse_units(unit)).to_base_units()
    except (PintError, AssertionError, ValueError, TypeError, OverflowError):
        return None
    return float(amount.magnitude), str(amount.units)


@cache
def _units() -> Any:
    from pint import UnitRegistry

    return UnitRegistry(autoconvert_offset_to_baseunit=True)
