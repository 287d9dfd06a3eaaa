"""Training questions with the passages that the retriever really returns, and where they are answered."""

from __future__ import annotations

import gzip
import json
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import regex

from rtv_core.errors import MismatchError
from rtv_core.records import Passage
from rtv_core.text import covers_any, find_answer
from rtv_core.training.sources import SourceQuestion

__all__ = [
    "Example",
    "answer_spans",
    "build_examples",
    "examples_made_from",
    "load_examples",
    "sample_sources",
    "save_examples",
]

RETRIEVED = 100
DISTANT_RANKS = 20
WORDS_OF_KEY = 8
SHINGLE, SHARED = 8, 0.2
"""A passage repeats texts if these hold this share of the passage's runs of `SHINGLE` words."""
SHORT = 3
"""Answers up to this length occur anywhere: they count only in their own context, and only as written."""

log = logging.getLogger(__name__)

_WORD = regex.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Example:
    """A training question.

    `gold`: rows of the corpus that were cut from the context in which its answers were read. `rows` and
    `dense`: what the retriever returned, best first, with its scores, without passages of test contexts.
    """

    set: str
    text: str
    answers: tuple[tuple[str, ...], ...]
    open: bool
    gold: tuple[int, ...]
    rows: tuple[int, ...]
    dense: tuple[float, ...]
    about: tuple[str, ...] = ()

    def status(self, row: int, rank: int | None, passage: Passage) -> str:
        """Whether a passage answers ("positive"), doesn't ("negative") or may ("unknown").

        A gold row that covers an answer does. Of an open question any passage among the first ranks that
        covers one does, too; elsewhere an answer's string may stand by chance, so that nothing is said. Nor
        is anything said of another passage on an entity of which only some answers are known.
        """
        if row in self.gold:
            return "positive" if answer_spans(passage, self.answers) else "negative"
        spellings = [s for some in self.answers for s in some]
        if not covers_any(passage.text, spellings):
            title_and_text = f"{passage.title}\n{passage.text}"
            return "unknown" if covers_any(title_and_text, self.about) else "negative"
        if self.open and rank is not None and rank <= DISTANT_RANKS:
            long = [s for s in spellings if len(s) > SHORT]
            return "positive" if covers_any(passage.text, long) else "unknown"
        return "unknown"


def answer_spans(passage: Passage, answers: Iterable[Sequence[str]]) -> list[tuple[int, int]]:
    """Every occurrence of every answer, longest spelling first, without those inside another of them.

    A short spelling has to occur as it is written: "US" is not "us".
    """
    found: list[tuple[int, int]] = []
    for spellings in answers:
        own = {
            (start, end)
            for spelling in spellings
            for start, end in find_answer(passage.text, spelling)
            if len(spelling) > SHORT or passage.text[start:end] == spelling
        }
        found += [s for s in own if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in own)]
    return sorted(set(found))


def sample_sources(
    questions: Sequence[SourceQuestion], shares: Mapping[str, tuple[int, int]], seed: int
) -> list[SourceQuestion]:
    """Questions [from, to) = `shares[set]` of each set in random order, those with several answers first.

    With one seed, shares that don't overlap have no question in common.
    """
    rng, by_set = random.Random(seed), defaultdict(list)
    for question in questions:
        by_set[question.set].append(question)
    chosen = []
    for name in sorted(by_set):
        pool = by_set[name]
        rng.shuffle(pool)
        pool.sort(key=lambda q: len(q.answers) < 2)
        chosen += pool[slice(*shares.get(name, (0, 0)))]
    return chosen


def build_examples(
    questions: Sequence[SourceQuestion],
    passages: Sequence[Passage],
    search: Callable[[Sequence[str], int], tuple[np.ndarray, np.ndarray]],
    forbidden: Sequence[str],
) -> Iterator[Example]:
    """One example per question that some retrieved or gold passage answers, or only its context seems to.

    `search(questions, k)` returns dense scores and rows, each (questions, k). `forbidden` are contexts of
    dev and test questions: passages that repeat them are never read in training.
    """
    locate = _Locator(passages)
    closed = {row for context in forbidden for row in locate.rows(context)} | _repeating(passages, forbidden)
    for start in range(0, len(questions), 256):
        batch = questions[start : start + 256]
        scores, rows = search([q.text for q in batch], RETRIEVED)
        for question, score, row in zip(batch, scores, rows, strict=True):
            kept = [(int(r), float(s)) for r, s in zip(row, score, strict=True) if int(r) not in closed]
            gold = [r for r in locate.rows(question.context) if r not in closed] if question.context else []
            example = Example(
                question.set,
                question.text,
                question.answers,
                question.open,
                tuple(gold),
                tuple(r for r, _ in kept),
                tuple(round(s, 4) for _, s in kept),
                question.about,
            )
            if _answerable(example, passages):
                yield example


def _answerable(example: Example, passages: Sequence[Passage]) -> bool:
    if not example.answers:
        return bool(example.gold)
    if example.gold:
        return any(answer_spans(passages[row], example.answers) for row in example.gold)
    ranked = enumerate(example.rows[:DISTANT_RANKS], 1)
    return any(example.status(row, rank, passages[row]) == "positive" for rank, row in ranked)


def _repeating(passages: Sequence[Passage], texts: Iterable[str]) -> set[int]:
    """The rows of passages that repeat the texts, one or several, whatever their case, spacing and marks."""
    known = {shingle for text in texts for shingle in _shingles(text)}
    rows = set()
    for row, passage in enumerate(passages):
        own = _shingles(passage.text)
        if own and sum(shingle in known for shingle in own) >= SHARED * len(own):
            rows.add(row)
    return rows


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[i : i + SHINGLE]) for i in range(len(words) - SHINGLE + 1)}


class _Locator:
    """Finds the corpus rows that were cut from a longer text, whatever its spacing."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._words = [_WORD.findall(p.text) for p in passages]
        self._first: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for row, words in enumerate(self._words):
            self._first[tuple(words[:WORDS_OF_KEY])].append(row)
        self._lengths = sorted({len(key) for key in self._first} - {0})

    def rows(self, text: str) -> list[int]:
        words, found = _WORD.findall(text), []
        for i in range(len(words)):
            for length in self._lengths:  # a passage shorter than a whole key has a key of its own length
                for row in self._first.get(tuple(words[i : i + length]), ()):
                    if words[i : i + len(self._words[row])] == self._words[row]:
                        found.append(row)
        return list(dict.fromkeys(found))


def save_examples(examples: Iterable[Example], path: Path, made_from: str) -> int:
    """Write examples as JSONL.gz, whole or not at all; returns how many. `made_from` names their sources."""
    count, aside = 0, path.with_suffix(".partial")
    with gzip.open(aside, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"made_from": made_from}) + "\n")
        for example in examples:
            file.write(json.dumps(asdict(example), ensure_ascii=False, sort_keys=True) + "\n")
            count += 1
    aside.rename(path)
    return count


def examples_made_from(path: Path) -> str:
    """What the examples of a file were made from."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return str(json.loads(next(file)).get("made_from"))


def load_examples(path: Path, made_from: str) -> list[Example]:
    """The inverse of `save_examples`. Raises MismatchError for examples made from something else."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found, *rows = (json.loads(line) for line in file)
    if found.get("made_from") != made_from:
        raise MismatchError(
            f"The examples in {path} were made over another index or from other sets. Delete the file, or "
            "name another folder by --out."
        )
    for row in rows:
        row["answers"] = tuple(tuple(spellings) for spellings in row["answers"])
        for name in ("gold", "rows", "dense", "about"):
            row[name] = tuple(row[name])
    return [Example(**row) for row in rows]
