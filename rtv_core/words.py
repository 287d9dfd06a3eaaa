"""The words that tell what a text is about, and their stems."""

from __future__ import annotations

from functools import lru_cache

import regex
import snowballstemmer

__all__ = ["content_stems", "content_words", "stem", "stems", "words"]

_WORD = regex.compile(r"\w+")
_SMALL = frozenset(
    _WORD.findall(
        "a an the of in on at to for from by with and or is are was were be been do does did has have had "
        "what which who whom whose when where why how many much s it its this that there"
    )
)


def words(text: str) -> list[str]:
    """All its words, as they are written, in order."""
    return _WORD.findall(text)


def content_words(text: str) -> frozenset[str]:
    """Its words, case folded, but the small ones; all of them where nothing else is left."""
    known = frozenset(words(text.casefold()))
    return known - _SMALL or known


def content_stems(text: str) -> frozenset[str]:
    """The stems of `content_words`."""
    return frozenset(map(stem, content_words(text)))


def stems(text: str) -> frozenset[str]:
    """The stems of all its words, case folded."""
    return frozenset(map(stem, words(text.casefold())))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The English stem of a word (Snowball)."""
    return snowballstemmer.stemmer("english").stemWord(word)  # a new one each time: it has a state
