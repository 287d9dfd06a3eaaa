"""F1 by kind of question: any function that names a question's kind makes the slices."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rtv_core.analysis.scores import question_scores
from rtv_core.metrics import Interval, bootstrap_mean
from rtv_core.records import Question, RunQuestion

__all__ = ["Slice", "by_gold_answers", "by_question_word", "f1_slices"]

MANY = 5
WORDS = ("who", "whose", "what", "which", "when", "where", "why", "how many", "how much", "how")


@dataclass(frozen=True, slots=True)
class Slice:
    """Mean F1 (optimal matching) of the questions of one kind; `questions` counts them."""

    name: str
    f1: Interval
    questions: int


def f1_slices(
    questions: Sequence[RunQuestion],
    kind: Callable[[RunQuestion], str],
    gold: Sequence[Question] | None = None,
    seed: int = 0,
) -> tuple[Slice, ...]:
    """One slice a kind, by name; questions without known gold are left out."""
    gold = [question.question for question in questions] if gold is None else gold
    pairs = [(q, known) for q, known in zip(questions, gold, strict=True) if known.answers]
    scores = question_scores([q for q, _ in pairs], [known for _, known in pairs])
    values: dict[str, list[float]] = defaultdict(list)
    for (question, _), score in zip(pairs, scores, strict=True):
        values[kind(question)].append(score.f1)
    return tuple(Slice(name, bootstrap_mean(own, seed), len(own)) for name, own in sorted(values.items()))


def by_gold_answers(question: RunQuestion) -> str:
    """How many gold answers the shortest annotation holds: "0" to "4", "5 or more"."""
    count = min(map(len, question.question.answers), default=0)
    return f"{MANY} or more" if count >= MANY else str(count)


def by_question_word(question: RunQuestion) -> str:
    """The first question word in the question, or "other"."""
    text = question.question.text.lower()
    found = [
        (match.start(), -len(word), word) for word in WORDS if (match := re.search(rf"\b{word}\b", text))
    ]
    return min(found)[2] if found else "other"
