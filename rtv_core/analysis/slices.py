"""F1 by kind of question: any column, or any function that names a question's kinds, makes the slices."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rtv_core.analysis.columns import COLUMNS, UNKNOWN, Sources, no_sources
from rtv_core.analysis.scores import question_scores
from rtv_core.metrics import Interval, bootstrap_mean
from rtv_core.records import Question, RunQuestion

__all__ = ["Slice", "by_column", "by_gold_answers", "by_question_word", "f1_slices"]

Kinds = Callable[[RunQuestion], Sequence[str]]
"""The names of the kinds that a question belongs to."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Mean F1 (optimal matching) of the questions of one kind; `questions` counts them."""

    name: str
    f1: Interval
    questions: int


def f1_slices(
    questions: Sequence[RunQuestion],
    kinds: Kinds,
    gold: Sequence[Question] | None = None,
    seed: int = 0,
) -> tuple[Slice, ...]:
    """One slice a kind, numbers first by size, then by name; questions without known gold are left out.

    A question of several kinds counts in the slice of each.
    """
    gold = [question.question for question in questions] if gold is None else gold
    pairs = [(q, known) for q, known in zip(questions, gold, strict=True) if known.answers]
    scores = question_scores([q for q, _ in pairs], [known for _, known in pairs])
    values: dict[str, list[float]] = defaultdict(list)
    for (question, _), score in zip(pairs, scores, strict=True):
        for kind in kinds(question):
            values[kind].append(score.f1)
    return tuple(
        Slice(name, bootstrap_mean(values[name], seed), len(values[name]))
        for name in sorted(values, key=_order)
    )


def by_column(name: str, sources: Sources = no_sources) -> Kinds:
    """The kinds of one of `columns.COLUMNS`."""
    return partial(COLUMNS[name].kinds_of, sources=sources)


def by_gold_answers(question: RunQuestion) -> Sequence[str]:
    """How many gold answers the shortest annotation holds: "0" to "4", "5 or more"."""
    return COLUMNS["gold"].kinds_of(question, no_sources)


def by_question_word(question: RunQuestion) -> Sequence[str]:
    """The first question word in the question, or "other"."""
    return COLUMNS["word"].kinds_of(question, no_sources)


def _order(name: str) -> tuple[bool, float, str]:
    number = re.match(r"[\d.]+", name)
    return name == UNKNOWN, float(number[0]) if number else float("inf"), name
