"""Every string rule in one place: normalise an answer, tell two spellings apart, find an answer in a passage.

Two rules say whether a passage covers an answer:

`strict` (DPR)
    The tokens of the answer occur as a run of the passage's tokens. Tokens are runs of letters, digits and
    marks, or one other visible symbol, after NFD and lower case.
`official` (RTV's released code)
    Punctuation and a few small words are dropped first (unless nothing else would be left), and the answer,
    its tokens joined, only has to be a prefix of an equally long run of the passage's tokens, joined: "15" is
    covered by "150 million". That code fails on precomposed accents; this one does not.
"""

from __future__ import annotations

import calendar
import re
import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

__all__ = [
    "COVERAGE_RULES",
    "Tokenized",
    "answer_key",
    "covers",
    "covers_any",
    "find_answer",
    "normalise_answer",
    "same_answer",
    "split_coordinated",
    "tokenize",
    "without_end_marks",
]

COVERAGE_RULES = ("strict", "official")

_TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")
_WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+")
_ARTICLES = re.compile(r"\b(a|an|the)\b")  # re, as in those scripts: regex has other word boundaries
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SMALL_WORDS = frozenset(("the", "of", "on", "to", "for", "mr", "miss", "mrs", "dr"))
_MONTHS = frozenset(name.lower() for name in calendar.month_name if name)


@lru_cache(maxsize=16384)
def normalise_answer(text: str) -> str:
    """The field's answer normalisation: lower case, no ASCII punctuation, no articles, single spaces.

    Source: the SQuAD and AmbigQA scoring scripts' rule.
    """
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


@lru_cache(maxsize=16384)
def answer_key(text: str) -> str:
    """A key that the spellings of one answer share: also blind to accents, any punctuation and date order.

    "Beyoncé" and "Beyonce", "Jean-Luc" and "Jean Luc", "24 April 2010" and "April 24, 2010" have one key.
    Text that holds nothing else (say "C++" against "C") keeps its symbols.
    """
    plain = unicodedata.normalize("NFKD", text).casefold().replace("’", "'")
    plain = "".join(c for c in plain if not unicodedata.combining(c)).replace("'s ", " ")
    symbols = [c for c in plain if c in "+#%°$€£"]
    words = [w for w in _WORD.findall(plain) if w not in ("a", "an", "the")] or plain.split()
    if 2 <= len(words) <= 3 and _MONTHS.intersection(words) and any(w.isdigit() for w in words):
        words = sorted(w.removeprefix("0") if w.isdigit() else w for w in words)
    return " ".join(words + symbols)


def same_answer(one: str, other: str) -> bool:
    """Whether two strings are spellings of one answer, by `answer_key` or by the field's normalisation."""
    return answer_key(one) == answer_key(other) or normalise_answer(one) == normalise_answer(other)


@dataclass(frozen=True, slots=True)
class Tokenized:
    """A text as both coverage rules see it.

    `padded` is the strict token string with a space at both ends. `spans` holds the characters
    [start, end) of each strict token in the ORIGINAL text. `joined` is the official rule's tokens run
    together, `bounds` the offset in it at which each of them starts (and one more: its length), `kept` the
    index of each in `spans`.
    """

    padded: str
    starts: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    joined: str
    bounds: tuple[int, ...]
    kept: tuple[int, ...]


@lru_cache(maxsize=2048)
def tokenize(text: str) -> Tokenized:
    """Cut `text` once for every later look-up; the most recent 2,048 texts are remembered."""
    folded, origin = _fold(text)
    words, spans = [], []
    for match in _TOKEN.finditer(folded):
        words.append(match.group())
        spans.append((origin[match.start()], origin[match.end() - 1] + 1))
    starts, at = [], 1
    for word in words:
        starts.append(at)
        at += len(word) + 1
    kept = _official(words)
    bounds = [0]
    for i in kept:
        bounds.append(bounds[-1] + len(words[i]))
    return Tokenized(
        padded=" " + " ".join(words) + " " if words else " ",
        starts=tuple(starts),
        spans=tuple(spans),
        joined="".join(words[i] for i in kept),
        bounds=tuple(bounds),
        kept=tuple(kept),
    )


def find_answer(text: str, answer: str, rule: str = "strict") -> list[tuple[int, int]]:
    """Where `text` covers `answer`: characters [start, end) of the original text, left to right.

    Raises ValueError for an unknown rule. An answer without any token is covered nowhere.
    """
    if rule not in COVERAGE_RULES:
        raise ValueError(f"unknown coverage rule {rule!r}: use one of {', '.join(COVERAGE_RULES)}")
    place, wanted = tokenize(text), tokenize(answer)
    if not wanted.spans:
        return []
    if rule == "strict":
        return _find_strict(place, wanted)
    return _find_official(place, wanted)


def covers(text: str, answer: str, rule: str = "strict") -> bool:
    """Whether `text` covers `answer` under `rule`."""
    if rule == "strict":
        wanted = tokenize(answer).padded
        return len(wanted) > 1 and wanted in tokenize(text).padded
    return bool(find_answer(text, answer, rule))


def covers_any(text: str, spellings: Sequence[str], rule: str = "strict") -> bool:
    """Whether `text` covers at least one of the spellings."""
    return any(covers(text, spelling, rule) for spelling in spellings)


def split_coordinated(text: str) -> list[tuple[int, int]]:
    """The parts of an answer joined by commas, semicolons, slashes, brackets, "and", "or" or "&".

    Returns characters [start, end) of each part, without the whole; nothing for an answer in one part.
    Numbers keep their commas. Readers trained on single spans return a list as one span; its parts are
    candidates too.
    """
    parts, at = [], 0
    for match in regex.finditer(
        r"\s*(?:,(?!\d{3})|;|/|\(|\)|\[|\])\s*(?:(?:and|or)\s+)?|\s+(?:and|or|&|as well as)\s+", text
    ):
        parts.append((at, match.start()))
        at = match.end()
    parts.append((at, len(text)))
    parts = [trimmed for start, end in parts if (trimmed := _trim(text, start, end))]
    return [] if len(parts) < 2 else parts


def without_end_marks(text: str) -> str:
    """A phrase without the marks that end it: commas, colons, dashes, and the full stop of a sentence.

    "U.S.", "Jr." and "Inc." keep theirs: a full stop goes only after four letters or a number, and only where
    it is the one full stop.
    """
    short = text.rstrip(" \t\n,;:-–—")
    if short.endswith(".") and short.count(".") == 1 and regex.search(r"(?:\p{L}{4}|\d)\.$", short):
        short = short[:-1].rstrip()
    return short or text


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and not (text[start].isalnum() or unicodedata.combining(text[start])):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return (start, end) if any(c.isalnum() for c in text[start:end]) else None


def _fold(text: str) -> tuple[str, Sequence[int]]:
    """NFD and lower case, with the index of the original character behind each folded one."""
    if text.isascii():
        return text.lower(), range(len(text))
    folded, origin = [], []
    for i, char in enumerate(text):
        for c in unicodedata.normalize("NFD", char).lower():
            folded.append(c)
            origin.append(i)
    return "".join(folded), origin


def _official(words: Sequence[str]) -> list[int]:
    """Which tokens the official rule keeps."""
    solid = [i for i, word in enumerate(words) if _WORD.fullmatch(word)]
    kept = [i for i in solid if words[i] not in _SMALL_WORDS]
    return kept or solid or list(range(len(words)))


def _find_strict(place: Tokenized, wanted: Tokenized) -> list[tuple[int, int]]:
    found, count = [], len(wanted.spans)
    first = {start: i for i, start in enumerate(place.starts)} if wanted.padded in place.padded else {}
    at = place.padded.find(wanted.padded)
    while at >= 0:
        i = first[at + 1]
        found.append((place.spans[i][0], place.spans[i + count - 1][1]))
        at = place.padded.find(wanted.padded, at + 1)
    return found


def _find_official(place: Tokenized, wanted: Tokenized) -> list[tuple[int, int]]:
    found, count, needle = [], len(wanted.kept), wanted.joined
    for i in range(len(place.kept) - count + 1):
        if place.joined.startswith(needle, place.bounds[i]) and (
            place.bounds[i] + len(needle) <= place.bounds[i + count]
        ):
            first, last = place.kept[i], place.kept[i + count - 1]
            found.append((place.spans[first][0], place.spans[last][1]))
    return found
