"""The paper's table 6 for a run: what its wrong predictions are, and why it missed recalled gold answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rtv_core.analysis.mistakes import Inclusion, Mistake, missed_gold, wrong_predictions
from rtv_core.analysis.rulings import Ruling, Rulings
from rtv_core.analysis.shares import Share, share, weighted_share
from rtv_core.records import RunQuestion

__all__ = ["PUBLISHED", "Part", "Row", "Table6", "error_table", "kind_of_missed", "kind_of_wrong"]

TRUE_NEGATIVE = "true negatives"
DIFFERENT = "superficially different false negatives"
UNANNOTATED = "unannotated false negatives"
EVIDENCE_WRONG = "evidence wrong"
STRAIGHTFORWARD = "evidence right and straightforward"

PUBLISHED = {
    TRUE_NEGATIVE: share(TRUE_NEGATIVE, 5, 25),
    DIFFERENT: share(DIFFERENT, 13, 25),
    UNANNOTATED: share(UNANNOTATED, 7, 25),
    EVIDENCE_WRONG: share(EVIDENCE_WRONG, 6, 25),
    STRAIGHTFORWARD: share(STRAIGHTFORWARD, 19, 25),
}
"""Shao & Huang (ACL 2022), table 6: 20 %, 52 % and 28 % of 25 wrong predictions; 24 % and 76 % of 25 missed
gold answers. The intervals are ours, from these counts."""


@dataclass(frozen=True, slots=True)
class Row:
    """`weighted` is the design-weighted share; None where no judged item comes from a queue."""

    name: str
    plain: Share
    weighted: Share | None
    published: Share


@dataclass(frozen=True, slots=True)
class Part:
    """Half of the table. `total` counts the run's mistakes of this kind: those with a clear ruling are in
    `rows`, those that are `unsure`, `split` (annotators disagree) or `unjudged` are not."""

    rows: tuple[Row, ...]
    total: int
    unsure: int
    split: int
    unjudged: int


@dataclass(frozen=True, slots=True)
class Table6:
    """`wrong`: predictions that equal no gold answer. `missed`: gold answers recalled but not predicted."""

    wrong: Part
    missed: Part


def error_table(
    questions: Sequence[RunQuestion],
    rulings: Rulings,
    inclusion: Inclusion | None = None,
    whole_questions: bool = False,
) -> Table6:
    """Both halves for the rulings so far.

    The plain shares take the judged items for a uniform sample. The weighted ones (Hájek, see `shares`) use
    only items of `inclusion`. `whole_questions`: the queue drew questions and all their items, so that the
    items of one question are not independent.

    A wrong prediction that people call "listed" equals gold in their eyes: it counts as superficially
    different. A missed gold answer's evidence is right if people say that it supports the answer, wrong if it
    is insufficient, contradicts it or speaks of another entity.
    """
    wrong = wrong_predictions(questions, rulings, inclusion)
    missed = missed_gold(questions, rulings, inclusion)
    names = (TRUE_NEGATIVE, DIFFERENT, UNANNOTATED), (EVIDENCE_WRONG, STRAIGHTFORWARD)
    return Table6(
        _part(wrong, kind_of_wrong, names[0], whole_questions),
        _part(missed, kind_of_missed, names[1], whole_questions),
    )


def kind_of_wrong(ruling: Ruling) -> str:
    """What a ruling makes of a wrong prediction: a row of the table, "unsure" or "split"."""
    rows = {"invalid": TRUE_NEGATIVE, "variant": DIFFERENT, "listed": DIFFERENT, "unlisted": UNANNOTATED}
    return rows.get(ruling.label, ruling.label)


def kind_of_missed(ruling: Ruling) -> str:
    """What it makes of a missed gold answer: the same, or "" where nobody spoke of the evidence."""
    if ruling.supported is not None:
        return STRAIGHTFORWARD if ruling.supported else EVIDENCE_WRONG
    return ruling.label if ruling.label in ("unsure", "split") else ""


def _part(
    mistakes: Sequence[Mistake], kind: Callable[[Ruling], str], names: Sequence[str], whole_questions: bool
) -> Part:
    kinds = [kind(m.ruling) if m.ruling else "" for m in mistakes]
    judged = [(m, k) for m, k in zip(mistakes, kinds, strict=True) if k in names]
    drawn = [(m, k) for m, k in judged if m.inclusion]
    weights = [1 / m.inclusion for m, _ in drawn]
    groups = [m.question.position for m, _ in drawn] if whole_questions else None
    rows = [
        Row(
            name,
            share(name, sum(k == name for _, k in judged), len(judged)),
            weighted_share(name, [k == name for _, k in drawn], weights, groups) if drawn else None,
            PUBLISHED[name],
        )
        for name in names
    ]
    return Part(tuple(rows), len(mistakes), kinds.count("unsure"), kinds.count("split"), kinds.count(""))
