"""Cut a long text into blocks of about 100 words, at sentence ends where it can."""

from __future__ import annotations

import regex

__all__ = ["BLOCK_WORDS", "LONGEST_BLOCK", "cut_blocks"]

BLOCK_WORDS = 100
LONGEST_BLOCK = 120
"""A text of so many words stays whole; a cut is looked for this side of it."""

SHORTEST_BLOCK = 80
SHORT_TAIL = 30
"""A last block of fewer words joins the block before."""

# A run without any space (a table, Chinese, a megabyte of base64) counts as a word per 100 characters, so
# that every block stays bounded.
_WORD = regex.compile(r"\S{1,100}")
_SENTENCE_END = regex.compile(r"[.!?…][\"'”’»)\]]*$|[。！？][」』）]*$")
_ABBREVIATION = regex.compile(
    r"(?:^|[^\p{L}])(?:\p{Lu}|Dr|Mr|Mrs|Ms|St|Jr|Sr|No|vs|cf|ca|c|e\.g|i\.e|Lt|Gen|Col|Prof|Rev)\.$"
)


def cut_blocks(text: str) -> list[str]:
    """The blocks of `text`, in order, each a slice of it without outer space.

    A text of at most 120 words is one block. Otherwise a block has 80 to 120 words, ends at the sentence end
    nearest to 100 (at 100 if there is none), and a tail of fewer than 30 words joins the last.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    blocks, start = [], 0
    while start < len(words):
        stop = len(words)
        if stop - start > LONGEST_BLOCK:
            cut = _nearest_end(text, words, start)
            stop = cut if len(words) - cut >= SHORT_TAIL else len(words)
        blocks.append(text[words[start][0] : words[stop - 1][1]])
        start = stop
    return blocks


def _nearest_end(text: str, words: list[tuple[int, int]], start: int) -> int:
    """The index of the word after the best cut."""
    target = start + BLOCK_WORDS
    for distance in range(LONGEST_BLOCK - BLOCK_WORDS + 1):
        for stop in (target - distance, target + distance):
            if stop - start >= SHORTEST_BLOCK and stop < len(words) and _ends_sentence(text, words, stop):
                return stop
    return target


def _ends_sentence(text: str, words: list[tuple[int, int]], stop: int) -> bool:
    """Whether a sentence or paragraph ends before word `stop`."""
    (start, end), (following, _) = words[stop - 1], words[stop]
    if "\n" in text[end:following]:
        return True
    word = text[start:end]
    if not _SENTENCE_END.search(word) or text[following].islower():
        return False
    return not _ABBREVIATION.search(word)
