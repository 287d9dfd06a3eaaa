"""Some mistakes of each class, chosen by chance but always the same, with the passage that says most."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rtv_core.analysis.corrected import distinct_answers
from rtv_core.analysis.mistakes import Mistake, missed_gold, wrong_predictions
from rtv_core.analysis.rulings import Ruling
from rtv_core.analysis.table6 import kind_of_missed, kind_of_wrong
from rtv_core.records import Passage, RunAnswer, Trace
from rtv_core.text import COVERAGE_RULES, find_answer
from rtv_core.ui.analysis.state import Analysis

__all__ = ["Example", "Group", "chosen_examples"]

UNSETTLED = ("unsure", "split")

LoadTrace = Callable[[str], Trace]


@dataclass(frozen=True, slots=True)
class Example:
    """A wrong prediction, or a missed gold answer, with its ruling in words.

    `gold` are the question's gold answers, each by its first spelling. `passage` is the first of the evidence
    (None where there is none) and `spans` are where it holds the answer.
    """

    question: str
    answer: str
    p_right: float | None
    verdict: str
    gold: tuple[str, ...]
    passage: Passage | None
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Examples of one class; `of` mistakes are of this class in all."""

    name: str
    examples: tuple[Example, ...]
    of: int


def chosen_examples(analysis: Analysis, load_trace: LoadTrace, most: int) -> tuple[Group, ...]:
    """At most so many examples of each row of table 6, and of what annotators could not settle."""
    wrong = wrong_predictions(analysis.questions, analysis.rulings)
    missed = missed_gold(analysis.questions, analysis.rulings)
    table = analysis.table6
    groups = [
        *(_group(row.name, wrong, kind_of_wrong, load_trace, most) for row in table.wrong.rows),
        *(_group(name, wrong, kind_of_wrong, load_trace, most) for name in UNSETTLED),
        *(_group(row.name, missed, kind_of_missed, load_trace, most) for row in table.missed.rows),
    ]
    return tuple(group for group in groups if group.examples)


def _group(
    name: str, mistakes: Sequence[Mistake], kind: Callable[[Ruling], str], load_trace: LoadTrace, most: int
) -> Group:
    own = sorted((m for m in mistakes if m.ruling and kind(m.ruling) == name), key=_lot)
    return Group(name, tuple(_example(mistake, load_trace) for mistake in own[:most]), len(own))


def _lot(mistake: Mistake) -> str:
    """Orders mistakes as if by chance, the same way each time."""
    return hashlib.sha256(f"{mistake.question.question.id}\n{mistake.answer}".encode()).hexdigest()


def _example(mistake: Mistake, load_trace: LoadTrace) -> Example:
    question = mistake.question
    given = [a for a in question.answers if mistake.answer in (a.answer, a.gold)]
    passage = _passage(load_trace(question.trace_id), given)
    names = dict.fromkeys((mistake.answer, *(spelling for a in given for spelling in a.spellings)))
    return Example(
        question.question.text,
        mistake.answer,
        max((a.p_right for a in given if a.p_right is not None), default=None),
        _in_words(mistake),
        tuple(spellings[0] for spellings in distinct_answers(question.question)),
        passage,
        () if passage is None else _spans(passage.text, tuple(names)),
    )


def _passage(trace: Trace, given: Sequence[RunAnswer]) -> Passage | None:
    """The first passage of the evidence of the first of these answers that has any."""
    for answer in given:
        for body in trace.evidence:
            if body.candidate.answer == answer.answer and body.passages:
                return body.passages[0].hit.passage
    return None


def _spans(text: str, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    for rule in COVERAGE_RULES:
        if found := [span for name in names for span in find_answer(text, name, rule)]:
            return tuple(sorted(set(found)))
    return ()


def _in_words(mistake: Mistake) -> str:
    ruling = mistake.ruling
    words = {
        "listed": "equals a gold answer",
        "variant": "a gold answer in other words",
        "unlisted": "right, but not in the gold",
        "invalid": "wrong",
        "unsure": "annotators can't tell",
        "split": "annotators disagree",
    }[ruling.label]
    words += f": {ruling.gold}" if ruling.gold else ""
    supported = {True: "; the evidence supports it", False: "; the evidence doesn't support it", None: ""}
    return words + supported[ruling.supported]
