"""One question through several systems: which answers are the same, who found what, where others lost it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rtv_core.metrics import f1_optimal
from rtv_core.outcomes import outcome
from rtv_core.records import LOST, RunAnswer, Trace
from rtv_core.settings import Settings
from rtv_core.text import covers_any, same_answer

__all__ = ["NOT_READ", "Cell", "Column", "Line", "align", "cells_of", "lines_found"]

NOT_RETRIEVED, NOT_RECALLED, NOT_COVERED, REJECTED, PREDICTED = LOST[:5]

NOT_READ = "not among the passages read"
"""Where a system loses an answer that reads only some of the retrieved passages, and not the right ones."""


@dataclass(frozen=True)
class Column:
    """What one system made of a question, under its own settings (tau, k, rule of coverage).

    `seconds` is its wall time; of a system that works on passages which were retrieved before, without that.
    """

    name: str
    trace: Trace
    settings: Settings

    @property
    def seconds(self) -> float:
        return sum(self.trace.seconds.values())

    @property
    def tau(self) -> float:
        return self.settings.verifier.tau

    @cached_property
    def answers(self) -> tuple[RunAnswer, ...]:
        """Its candidates, best first."""
        return outcome(self.trace, self.settings).answers

    @property
    def predicted(self) -> tuple[RunAnswer, ...]:
        """Those that it gives as answers."""
        return tuple(answer for answer in self.answers if answer.predicted)

    @property
    def f1(self) -> float | None:
        """F1 of its answers to this question, 0 to 1; None where no gold is known."""
        gold = self.trace.question.answers
        return f1_optimal([answer.answer for answer in self.predicted], gold).f1 if gold else None

    def find(self, spellings: Sequence[str]) -> RunAnswer | None:
        """The answer of these spellings: the one it gives, else its best candidate."""
        equal = [answer for answer in self.answers if _equal(answer.spellings, spellings)]
        return next((answer for answer in equal if answer.predicted), next(iter(equal), None))


@dataclass(frozen=True, slots=True)
class Cell:
    """What a system made of an answer: its candidate, None if it has none, and what became of it.

    `lost` is "predicted", else the stage at which the answer was lost: one of `records.LOST`, or `NOT_READ`.
    """

    candidate: RunAnswer | None
    lost: str

    @property
    def found(self) -> bool:
        """Whether the system gives it as an answer."""
        return self.lost == PREDICTED


@dataclass(frozen=True, slots=True)
class Line:
    """An answer that some system gives, or that is gold, with one cell per system."""

    answer: str
    spellings: tuple[str, ...]
    gold: bool
    cells: tuple[Cell, ...]

    @property
    def finders(self) -> tuple[bool, ...]:
        """Which systems give it."""
        return tuple(cell.found for cell in self.cells)


def align(columns: Sequence[Column], gold: Sequence[Sequence[str]] = ()) -> tuple[Line, ...]:
    """The answers that a system gives and the `gold` ones, each on one line, the same answer on the same.

    First what all systems found, then by who did, the first system first; last the gold that nobody found.
    Among these gold before the rest, and the better score first.
    """
    named: list[list[str]] = [list(spellings) for spellings in gold]
    for column in columns:
        for answer in column.predicted:
            line = next((known for known in named if _equal(known, answer.spellings)), None)
            if line is None:
                named.append(line := [])
            line += [spelling for spelling in answer.spellings if spelling not in line]
    cells = [cells_of(column, named) for column in columns]
    lines = [
        Line(spellings[0], tuple(spellings), place < len(gold), tuple(own[place] for own in cells))
        for place, spellings in enumerate(named)
    ]
    return tuple(sorted(lines, key=_order))


def cells_of(column: Column, answers: Sequence[Sequence[str]]) -> list[Cell]:
    """What a system made of each answer, given by its spellings."""
    # Each answer is taken for gold: where an answer was lost is a question about gold answers.
    asked = replace(column.trace.question, answers=(tuple(map(tuple, answers)),))
    lost = outcome(column.trace.grown(question=asked), column.settings).gold
    return [
        Cell(column.find(spellings), _lost(column, spellings, found.lost))
        for spellings, found in zip(answers, lost, strict=True)
    ]


def lines_found(lines: Sequence[Line]) -> list[tuple[tuple[bool, ...], tuple[Line, ...]]]:
    """The lines by who found them, in their order."""
    groups: dict[tuple[bool, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(line.finders, []).append(line)
    return [(finders, tuple(own)) for finders, own in groups.items()]


def _order(line: Line) -> tuple[object, ...]:
    scores = [-(c.candidate.p_right or 0.0) if c.candidate else 1.0 for c in line.cells]
    none = not any(line.finders)
    return none, -sum(line.finders), [not found for found in line.finders], not line.gold, scores, line.answer


def _lost(column: Column, spellings: Sequence[str], lost: str) -> str:
    """The stage in the terms of systems that gather no evidence, or read only the first passages."""
    trace, rule = column.trace, column.settings.evidence.coverage
    if lost == NOT_COVERED and not trace.evidence:
        return REJECTED
    if lost == NOT_RECALLED and 0 < len(trace.readings) < len(trace.hits):
        read = trace.hits[: len(trace.readings)]
        if not any(covers_any(f"{hit.passage.title} {hit.passage.text}", spellings, rule) for hit in read):
            return NOT_READ
    return lost


def _equal(one: Sequence[str], other: Sequence[str]) -> bool:
    return any(same_answer(a, b) for a in one for b in other)
