"""The words that tell what a text is about, and their stems."""

from __future__ import annotations

from functools import lru_cache

import regex
import snowballstemmer

__all__ = ["content_stems", "content_words", "stem", "stems"]

_WORD = regex.compile(r"\w+")
_SMALL = frozenset(
    _WORD.findall(
        "a an the of in on at to for from by with and or is are was were be been do does did has have had "
        "what which who whom whose when where why how many much s it its this that there"
    )
)


def content_words(text: str) -> frozenset[str]:
    """Its words, case folded, but the small ones; all of them where nothing else is left."""
    words = frozenset(_WORD.findall(text.casefold()))
    return words - _SMALL or words


def content_stems(text: str) -> frozenset[str]:
    """The stems of `content_words`."""
    return frozenset(map(stem, content_words(text)))


def stems(text: str) -> frozenset[str]:
    """The stems of all its words, case folded."""
    return frozenset(map(stem, _WORD.findall(text.casefold())))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The English stem of a word (Snowball)."""
    return snowballstemmer.stemmer("english").stemWord(word)  # a new one each time: it has a state
