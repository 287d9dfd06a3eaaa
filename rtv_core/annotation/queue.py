"""Draw a queue: which answers of a run to judge, each with the exact probability with which it was drawn.

Strategies

`paper`
    Equal random samples of the gold answers recalled but not predicted and of the wrong predictions.
`uniform`
    A random sample of the population.
`near tau`
    Answers whose score lies close to the threshold more often.
`expected value`
    Answers whose verdict is likely to change F1, by much, and quickly, more often (`worth.expected_value`).
`disagreement`
    Only answers on which annotators or systems differ, but for the uniform share.

The last three mix a uniform share into their weights, so that no answer of the population is out of reach and
totals can be estimated from the items by dividing each by its inclusion probability (Horvitz and Thompson).
The items come in random order: who stops early has judged a random part of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from rtv_core.annotation.population import KINDS, POPULATIONS, Entry, population
from rtv_core.annotation.sampling import chance, equal_sample, inclusion_probabilities, systematic_sample
from rtv_core.annotation.worth import disagreement, expected_value, nearness
from rtv_core.errors import InputError
from rtv_core.records import Judgement, QueueItem, QueuePlan, RunQuestion

__all__ = ["LARGEST_QUEUE", "STRATEGIES", "UNITS", "draw"]

STRATEGIES = ("paper", "uniform", "near tau", "expected value", "disagreement")
UNITS = ("candidate", "question")
LARGEST_QUEUE = 100_000
MOST_ANNOTATORS = 100
LEAST_SHARE = 0.01


def draw(
    questions: Sequence[RunQuestion],
    plan: QueuePlan,
    tau: float | None = None,
    judgements: Sequence[Judgement] = (),
    others: Sequence[Sequence[RunQuestion]] = (),
) -> tuple[QueueItem, ...]:
    """The items of a queue over a run's questions, in the order in which they are to be judged.

    `tau` is the run's, `judgements` are the current verdicts so far and `others` the same questions as other
    systems answered them; each is looked at only by the strategies that need it. Equal arguments give equal
    items. A plan that asks for more than there is gets all, each with probability 1. Raises InputError for a
    plan that can't be followed, and where the run leaves nothing to judge.
    """
    _check(plan)
    entries = population(questions, plan.population)
    if not entries:
        raise InputError(
            f"The run has nothing to judge in the population {plan.population!r}. Choose another: "
            f"{', '.join(POPULATIONS)}."
        )
    if plan.strategy == "paper":
        drawn = _equal_parts(entries, plan)
    else:
        drawn = _weighted(entries, plan, _weights(entries, plan, tau, judgements, others))
    return tuple(_item(entry, inclusion) for entry, inclusion in _shuffled(drawn, plan))


def _equal_parts(entries: Sequence[Entry], plan: QueuePlan) -> list[tuple[Entry, float]]:
    """As many of each stratum; one that has fewer gives all, and the others make up for it."""
    strata = [[entry for entry in entries if entry.stratum == name] for name in POPULATIONS[plan.population]]
    strata = sorted(filter(None, strata), key=len)
    if plan.count < len(strata):
        raise InputError(f"The count is {plan.count}; the paper's sample needs at least {len(strata)} items.")
    drawn, left = [], plan.count
    for number, stratum in enumerate(strata):
        count = min(left // (len(strata) - number), len(stratum))
        chosen = equal_sample([_chance(entry, plan, "draw") for entry in stratum], count)
        drawn += [(stratum[i], count / len(stratum)) for i in chosen]
        left -= count
    return drawn


def _weights(
    entries: Sequence[Entry],
    plan: QueuePlan,
    tau: float | None,
    judgements: Sequence[Judgement],
    others: Sequence[Sequence[RunQuestion]],
) -> list[float]:
    if plan.strategy == "uniform":
        return [1.0] * len(entries)
    if plan.strategy == "near tau":
        if tau is None:
            raise InputError("The run has no scores to compare with tau. Choose another strategy.")
        return nearness(entries, tau)
    if plan.strategy == "expected value":
        return expected_value(entries, judgements)
    return disagreement(entries, judgements, others)


def _weighted(
    entries: Sequence[Entry], plan: QueuePlan, weights: Sequence[float]
) -> list[tuple[Entry, float]]:
    """Units drawn by weight, each brought as the entries that it holds."""
    units = _units(entries, plan)
    sums = [math.fsum(weights[i] for i in unit) for unit in units]
    if not any(sums):
        raise InputError(_NO_WEIGHT[plan.strategy])
    numbers = [_chance(entries[unit[0]], plan, "draw") for unit in units]
    if plan.strategy == "uniform":
        count = min(plan.count, len(units))
        probabilities, chosen = np.full(len(units), count / len(units)), equal_sample(numbers, count)
    else:
        probabilities = inclusion_probabilities(sums, plan.count, plan.uniform_share)
        chosen = systematic_sample(probabilities, numbers, chance(plan.seed, "start"))
    return [(entries[i], float(probabilities[unit])) for unit in chosen for i in units[unit]]


_NO_WEIGHT = {
    "near tau": "No answer of the population has a score to compare with tau. Choose another strategy.",
    "expected value": "No verdict that is still missing can change F1. Choose another strategy.",
    "disagreement": (
        "No two annotators or systems differ yet. Have items judged by two annotators, name another run of "
        "the same questions, or choose another strategy."
    ),
}


def _units(entries: Sequence[Entry], plan: QueuePlan) -> list[list[int]]:
    """The indexes of the entries of each unit; a question's entries follow each other."""
    if plan.unit == "candidate":
        return [[i] for i in range(len(entries))]
    by_question = groupby(range(len(entries)), key=lambda i: entries[i].question.position)
    return [list(group) for _, group in by_question]


def _shuffled(drawn: Sequence[tuple[Entry, float]], plan: QueuePlan) -> list[tuple[Entry, float]]:
    """In random order; the items of a question stay together if questions were drawn."""

    def order(pair: tuple[Entry, float]) -> tuple[object, ...]:
        entry = pair[0]
        place = chance(plan.seed, "order", entry.question.question.id, entry.key[1])
        if plan.unit == "candidate":
            return place, entry.question.position, entry.key
        return _chance(entry, plan, "order"), entry.question.position, place, entry.key

    return sorted(drawn, key=order)


def _chance(entry: Entry, plan: QueuePlan, purpose: str) -> float:
    """The entry's number for a purpose; all entries of a question have one if questions are drawn."""
    answer = () if plan.unit == "question" else (entry.key[1],)
    return chance(plan.seed, purpose, entry.question.question.id, *answer)


def _item(entry: Entry, inclusion: float) -> QueueItem:
    question = entry.question
    kind = KINDS[entry.stratum]
    return QueueItem(
        question.position, question.trace_id, kind, entry.answer.answer, inclusion, entry.stratum
    )


def _check(plan: QueuePlan) -> None:
    for name, value, known in (
        ("strategy", plan.strategy, STRATEGIES),
        ("population", plan.population, POPULATIONS),
        ("unit", plan.unit, UNITS),
    ):
        if not isinstance(value, str) or value not in known:
            raise InputError(f"The {name} is {value!r}; it must be one of {', '.join(known)}.")
    for name, value, least, most in (
        ("count", plan.count, 1, LARGEST_QUEUE),
        ("overlap", plan.overlap, 1, MOST_ANNOTATORS),
        ("seed", plan.seed, -(2**63), 2**63 - 1),
    ):
        if type(value) is not int or not least <= value <= most:
            raise InputError(f"The {name} is {value!r}; it must be a whole number from {least} to {most}.")
    share = plan.uniform_share
    if isinstance(share, bool) or not isinstance(share, int | float) or not LEAST_SHARE <= share <= 1:
        raise InputError(f"The uniform share is {share!r}; it must lie between {LEAST_SHARE} and 1.")
    if not isinstance(plan.blind, bool):
        raise InputError(f"blind is {plan.blind!r}; it must be true or false.")
    if plan.strategy == "paper" and (plan.population, plan.unit) != ("errors", "candidate"):
        raise InputError(
            "The paper's sample is drawn from single errors: leave population and unit as they are."
        )
