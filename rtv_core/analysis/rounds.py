"""Two rounds of judgement of one run: what each says, and how far they say the same.

A round is a selection of the verdicts: on one queue's items, by one person, before a day or since. Each is
settled for itself and has its own table 6, corrected gold and estimate; both score the same predictions, so
that their differences are paired by question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rtv_core.analysis.comparison import Difference, paired_difference
from rtv_core.analysis.corrected import correct_gold
from rtv_core.analysis.estimate import estimated_values
from rtv_core.analysis.mistakes import Inclusion
from rtv_core.analysis.rulings import Ruling, Rulings, key_of
from rtv_core.analysis.scores import question_scores
from rtv_core.analysis.shares import Share, share
from rtv_core.analysis.table6 import Table6, error_table
from rtv_core.errors import InputError
from rtv_core.records import Judgement, QueueItem, RunQuestion

__all__ = ["Change", "Round", "RoundComparison", "by_annotator", "compare_rounds", "on_items", "since"]

MEASURES = ("f1", "precision", "recall")


@dataclass(frozen=True, slots=True)
class Round:
    """The rulings of a round; `inclusion` and `whole_questions` as in `table6.error_table`."""

    rulings: Rulings
    inclusion: Inclusion | None = None
    whole_questions: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """An answer on which the rounds differ, with what either says."""

    position: int
    question: str
    answer: str
    first: Ruling
    second: Ruling


@dataclass(frozen=True, slots=True)
class RoundComparison:
    """Differences are the first round's scores minus the second's, over the `questions` with known gold.

    `corrected` is on gold corrected by each round so far, by measure. `estimated` is as if each had judged
    every wrong prediction (see `estimate`), empty where one of them judged none. Of the answers with a clear
    ruling in both rounds, `same` is the share on which these agree; `changes` are the others. `first_only`
    and `second_only` count answers that one round alone ruled on.
    """

    table6: tuple[Table6, Table6]
    corrected: dict[str, Difference]
    estimated: dict[str, Difference]
    same: Share
    changes: tuple[Change, ...]
    first_only: int
    second_only: int
    questions: int


def on_items(judgements: Iterable[Judgement], items: Iterable[QueueItem]) -> list[Judgement]:
    """The verdicts on the items of a queue, whoever gave them."""
    places = {(item.trace_id, key_of(item.answer)) for item in items}
    return [j for j in judgements if (j.trace_id, key_of(j.answer)) in places]


def by_annotator(judgements: Iterable[Judgement], annotator: str) -> list[Judgement]:
    """The verdicts of one person."""
    return [judgement for judgement in judgements if judgement.annotator == annotator]


def since(judgements: Iterable[Judgement], moment: str) -> list[Judgement]:
    """The verdicts given at a moment or later (UTC, ISO 8601; a day is its beginning)."""
    return [judgement for judgement in judgements if judgement.at >= moment]


def compare_rounds(
    questions: Sequence[RunQuestion], first: Round, second: Round, seed: int = 0
) -> RoundComparison:
    """The comparison, with a paired bootstrap by question. Raises InputError where no gold is known."""
    known = [question for question in questions if question.question.answers]
    if not known:
        raise InputError("No gold answers are known for these questions: the rounds have no F1 to compare.")
    scores = [question_scores(known, correct_gold(known, own.rulings).questions) for own in (first, second)]
    values = [estimated_values(known, own.rulings, own.inclusion) for own in (first, second)]
    both = all(own is not None for own in values)
    pairs, only = _rulings(questions, first.rulings, second.rulings)
    changes = tuple(change for change in pairs if _meaning(change.first) != _meaning(change.second))
    tables = [
        error_table(questions, own.rulings, own.inclusion, own.whole_questions) for own in (first, second)
    ]
    return RoundComparison(
        (tables[0], tables[1]),
        {
            name: paired_difference(*([getattr(s, name) for s in own] for own in scores), seed=seed)
            for name in MEASURES
        },
        {
            name: paired_difference(*(own[:, place] for own in values), seed=seed)
            for place, name in enumerate(MEASURES)
            if both
        },
        share("same", len(pairs) - len(changes), len(pairs)),
        changes,
        *only,
        len(known),
    )


def _rulings(
    questions: Sequence[RunQuestion], first: Rulings, second: Rulings
) -> tuple[list[Change], tuple[int, int]]:
    """What both rounds ruled on clearly, and how many answers only the one or the other ruled on."""
    found, only = [], [0, 0]
    for question in questions:
        own, other = (
            {key_of(r.answer): r for r in rulings.on(question) if r.clear} for rulings in (first, second)
        )
        found += [
            Change(question.position, question.question.text, own[key].answer, own[key], other[key])
            for key in sorted(own.keys() & other.keys())
        ]
        only[0] += len(own.keys() - other.keys())
        only[1] += len(other.keys() - own.keys())
    return found, (only[0], only[1])


def _meaning(ruling: Ruling) -> tuple[str, str]:
    """What a ruling says: "listed" and "variant" of one gold answer say the same."""
    if ruling.label in ("listed", "variant"):
        return "gold", key_of(ruling.gold or ruling.answer)
    return ruling.label, ""
