"""A run's two kinds of mistakes, wrong predictions and missed gold answers, and what people said of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rtv_core.analysis.rulings import Ruling, Rulings, key_of
from rtv_core.metrics import matched_answers
from rtv_core.records import QueueItem, RunAnswer, RunQuestion

__all__ = [
    "CANDIDATE",
    "GOLD",
    "PREDICTION",
    "Inclusion",
    "Mistake",
    "equals_gold",
    "inclusion_of",
    "missed_gold",
    "weighed_queues",
    "wrong_predictions",
]

PREDICTION, GOLD, CANDIDATE = "prediction", "gold", "candidate"

Inclusion = Mapping[tuple[str, int, str], float]
"""(kind, position, answer key) of each item of a queue, to 1 / how many items it stands for.

For one queue that is the probability with which the item was drawn.
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """`inclusion` is None for an answer that no queue drew."""

    question: RunQuestion
    answer: str
    ruling: Ruling | None
    inclusion: float | None


def inclusion_of(*queues: Sequence[QueueItem]) -> Inclusion:
    """What each item stands for.

    Of several queues each alone would weigh its items by 1 / probability; their weights are averaged, by the
    queues' sizes, which stays unbiased whatever the queues have in common (Hartley 1962, multiple frames).
    """
    weights: dict[tuple[str, int, str], float] = defaultdict(float)
    total = sum(map(len, queues))
    for queue in queues:
        for item in queue:
            weights[item.kind, item.position, key_of(item.answer)] += len(queue) / total / item.inclusion
    return {item: 1 / weight for item, weight in weights.items()}


def weighed_queues(
    queues: Sequence[Sequence[QueueItem]], judged: Callable[[QueueItem], bool]
) -> tuple[int, ...]:
    """Which queues the judged items are weighed by: those judged to the end, else the one judged furthest.

    What is judged of a queue that others overtook was chosen by those, not by its own draw.
    """
    shares = [sum(map(judged, queue)) / len(queue) if queue else 0.0 for queue in queues]
    ended = tuple(place for place, share in enumerate(shares) if share == 1)
    return ended or ((shares.index(max(shares)),) if any(shares) else ())


def equals_gold(question: RunQuestion, answer: RunAnswer) -> bool:
    """Whether an answer equals a gold answer: of the annotation that suits best, or of any other one."""
    return bool(answer.gold) or any(
        any(matched_answers([answer.answer], annotation)) for annotation in question.question.answers
    )


def wrong_predictions(
    questions: Sequence[RunQuestion], rulings: Rulings, inclusion: Inclusion | None = None
) -> list[Mistake]:
    """Every prediction that equals no gold answer, once a question, where gold is known; no repeats."""
    found = []
    for question in questions:
        if not question.question.answers:
            continue
        wrong = [
            a for a in question.answers if a.predicted and not a.repeats and not equals_gold(question, a)
        ]
        by_key = {key_of(answer.answer): answer for answer in reversed(wrong)}
        for key, answer in reversed(by_key.items()):
            ruling = rulings.of(question, answer.answer, *answer.spellings)
            drawn = (inclusion or {}).get((PREDICTION, question.position, key))
            found.append(Mistake(question, answer.answer, ruling, drawn))
    return found


def missed_gold(
    questions: Sequence[RunQuestion], rulings: Rulings, inclusion: Inclusion | None = None
) -> list[Mistake]:
    """Every gold answer that is among the candidates but not among the predictions."""
    found = []
    for question in questions:
        for gold in question.gold:
            recalled = [a for a in question.answers if a.gold == gold.answer]
            if gold.lost == "predicted" or not recalled:
                continue
            names = [gold.answer, *gold.spellings, *(s for a in recalled for s in (a.answer, *a.spellings))]
            drawn = [(inclusion or {}).get((GOLD, question.position, key_of(name))) for name in names]
            first = next((probability for probability in drawn if probability), None)
            found.append(Mistake(question, gold.answer, rulings.of(question, *names), first))
    return found
