"""What a run leaves to be judged: each distinct answer of each question once, by what the gold says of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rtv_core.records import RunAnswer, RunQuestion
from rtv_core.store.traces import question_key
from rtv_core.text import answer_key, normalise_answer

__all__ = [
    "KINDS",
    "MISSED",
    "POPULATIONS",
    "RIGHT",
    "UNLISTED",
    "WRONG",
    "Entry",
    "key_of",
    "population",
]

WRONG, MISSED, UNLISTED = "wrong prediction", "missed gold", "unlisted candidate"
RIGHT, LISTED = "right prediction", "listed candidate"
NO_GOLD, NO_GOLD_CANDIDATE = "prediction without gold", "candidate without gold"

KINDS = {
    WRONG: "prediction",
    MISSED: "gold",
    UNLISTED: "candidate",
    RIGHT: "prediction",
    LISTED: "candidate",
    NO_GOLD: "prediction",
    NO_GOLD_CANDIDATE: "candidate",
}
"""The strata, and the kind of item that each holds."""

POPULATIONS = {
    "errors": (WRONG, MISSED),
    "wrong": (WRONG,),
    "candidates": (WRONG, MISSED, UNLISTED, NO_GOLD, NO_GOLD_CANDIDATE),
    "all": tuple(KINDS),
}
"""What can be drawn from: the paper's two kinds of error; the first alone; all that may be wrong; all."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One member of a population; `key` names question and answer as any trace of any run would."""

    question: RunQuestion
    answer: RunAnswer
    stratum: str
    key: tuple[str, str]


def population(questions: Sequence[RunQuestion], name: str) -> list[Entry]:
    """The entries of a population, question by question, best answers first.

    A gold answer is missed if it was recalled but not predicted; the words in which it was recalled best
    stand for it. An answer that equals no gold and only repeats a better one is no entry, nor is another
    spelling of a gold answer that has one. An answer is right, or listed, if any annotation holds it, but
    only the annotation that suits the predictions best has answers that are missed.
    """
    strata = POPULATIONS[name]
    return [entry for question in questions for entry in _entries(question) if entry.stratum in strata]


def key_of(answer: str) -> str:
    """What the store takes for the identity of an answer."""
    return answer_key(answer) or answer


def _entries(question: RunQuestion) -> Iterator[Entry]:
    asked = question_key(question.question.text)
    annotations = question.question.answers
    listed = {
        normalise_answer(s) for annotation in annotations for spellings in annotation for s in spellings
    }
    taken: set[str] = set()
    for answer in sorted(question.answers, key=lambda answer: not answer.predicted):
        key = key_of(answer.answer)
        names = {key, f"gold {answer.gold}"} if answer.gold else {key}
        if (answer.gold or not answer.repeats) and not names & taken:
            known = bool(answer.gold) or normalise_answer(answer.answer) in listed
            yield Entry(question, answer, _stratum(question, answer, known), (asked, key))
        taken |= names


def _stratum(question: RunQuestion, answer: RunAnswer, listed: bool) -> str:
    if not question.question.answers:
        return NO_GOLD if answer.predicted else NO_GOLD_CANDIDATE
    if answer.predicted:
        return RIGHT if listed else WRONG
    if listed:
        return MISSED if answer.gold else LISTED
    return UNLISTED
