"""What the paper's models learn from: drawn from what was retrieved and recalled for training questions."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rtv_core.errors import MismatchError
from rtv_core.records import Hit, Passage, Question, Trace
from rtv_core.text import covers_any, same_answer
from rtv_core.training.examples import answer_spans
from rtv_core.wire import from_plain, to_plain

__all__ = [
    "RecallExample",
    "RetrieveExample",
    "VerifyExample",
    "gold_answers",
    "load_drawn",
    "recall_examples",
    "retrieve_examples",
    "save_drawn",
    "verify_examples",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecallExample:
    """A passage to read, and the answers to write, in order of appearance; none: "irrelevant"."""

    question: str
    passage: Passage
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VerifyExample:
    """A candidate with its evidence, best first."""

    question: str
    answer: str
    passages: tuple[Passage, ...]
    right: bool


@dataclass(frozen=True, slots=True)
class RetrieveExample:
    """A question, a passage that answers it, and some that were retrieved and don't."""

    question: str
    positive: Passage
    negatives: tuple[Passage, ...]


def gold_answers(question: Question) -> tuple[tuple[str, ...], ...]:
    """The answers of all annotations, each once."""
    kept: list[tuple[str, ...]] = []
    for annotation in question.answers:
        for spellings in annotation:
            if not any(same_answer(one, other) for own in kept for one in own for other in spellings):
                kept.append(tuple(spellings))
    return tuple(kept)


def recall_examples(trace: Trace, alpha_neg: float, rng: random.Random) -> list[RecallExample]:
    """Every retrieved passage that covers gold answers, and `alpha_neg` others per such passage.

    A share of a passage is a chance of one.
    """
    gold, text = gold_answers(trace.question), trace.question.text
    positive, negative = [], []
    for hit in trace.hits:
        if answers := _answers_in(hit.passage, gold):
            positive.append(RecallExample(text, hit.passage, answers))
        elif not _covers(hit, gold):
            negative.append(RecallExample(text, hit.passage, ()))
    wanted = alpha_neg * len(positive)
    count = int(wanted) + (rng.random() < wanted % 1)
    return positive + rng.sample(negative, min(count, len(negative)))


def verify_examples(trace: Trace, invalid: int, rng: random.Random) -> list[VerifyExample]:
    """Every right candidate of a gathered trace, and at most `invalid` wrong ones per right one.

    Where none is right, as many wrong ones as for one.
    """
    gold, found = gold_answers(trace.question), ([], [])  # type: tuple, tuple[list, list]
    for candidate, body in zip(trace.candidates, trace.evidence, strict=True):
        passages = tuple(passage.hit.passage for passage in body.passages)
        right = any(same_answer(own, s) for own in candidate.spellings for some in gold for s in some)
        example = VerifyExample(trace.question.text, candidate.answer, passages, right)
        found[right].append(example)
    wrong, right = found
    return right + rng.sample(wrong, min(len(wrong), invalid * max(1, len(right))))


def retrieve_examples(
    trace: Trace, positives: int, negatives: int, hard: int, rounds: int, rng: random.Random
) -> list[RetrieveExample]:
    """`rounds` draws of one positive and `hard` hard negatives of a question, none if it has no positive.

    Per gold answer the first `positives` passages that cover it are positives; the first `negatives` that
    cover none are hard negatives.
    """
    gold = gold_answers(trace.question)
    rows = [
        row
        for spellings in gold
        for row in [i for i, hit in enumerate(trace.hits) if _covers(hit, [spellings])][:positives]
    ]
    right = [trace.hits[row].passage for row in dict.fromkeys(rows)]
    wrong = [hit.passage for hit in trace.hits if not _covers(hit, gold)][:negatives]
    if not right:
        return []
    return [
        RetrieveExample(
            trace.question.text, rng.choice(right), tuple(rng.sample(wrong, min(hard, len(wrong))))
        )
        for _ in range(rounds)
    ]


def save_drawn(examples: Sequence[object], path: Path, made_from: str) -> None:
    """Write examples as JSONL.gz, whole or not at all; `made_from` names what they were drawn from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".partial")
    with gzip.open(aside, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"made_from": made_from}) + "\n")
        for example in examples:
            file.write(json.dumps(to_plain(example), ensure_ascii=False, sort_keys=True) + "\n")
    aside.replace(path)


def load_drawn(kind: type[T], path: Path, made_from: str) -> list[T]:
    """The inverse of `save_drawn`. Raises MismatchError for examples drawn from something else."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        if json.loads(next(file)).get("made_from") != made_from:
            raise MismatchError(
                f"The examples in {path} were drawn from other questions, another index or by another "
                "recipe. Delete the file, or name another folder by --out."
            )
        return [from_plain(kind, json.loads(line)) for line in file]


def _answers_in(passage: Passage, gold: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The gold answers that the text covers, in the passage's words, in order of appearance."""
    first = [spans[0] for spellings in gold if (spans := answer_spans(passage, [spellings]))]
    return tuple(dict.fromkeys(" ".join(passage.text[a:b].split()) for a, b in sorted(first)))


def _covers(hit: Hit, gold: Iterable[Sequence[str]]) -> bool:
    return any(covers_any(hit.passage.text, spellings) for spellings in gold)
