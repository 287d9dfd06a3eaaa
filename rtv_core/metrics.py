"""The measures: answer F1, exact match, multi-answer recall, hits, and intervals over questions.

QAMPARI's and RoMQA's own rules are here too: `score_qampari` and `score_qampari_5`, `score_labels` and
`cluster_minimum`.

Gold is `Question.answers`: annotations of answers of spellings. Every measure takes the annotation that suits
the predictions best. Two strings are equal after `normalise_answer`. An annotation without answers says that
the question has none: predicting nothing scores 1 on it, anything else 0. Where no gold is known at all there
is nothing to measure: ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from rtv_core.records import Question
from rtv_core.text import covers_any, normalise_answer

__all__ = [
    "Interval",
    "Score",
    "answer_recall",
    "bootstrap_mean",
    "cluster_minimum",
    "covered_answers",
    "exact_match",
    "f1_official",
    "f1_optimal",
    "hits",
    "is_multi",
    "matched_answers",
    "mrecall_at",
    "paired_bootstrap",
    "score_labels",
    "score_qampari",
    "score_qampari_5",
    "share_reaching",
]

Answer = Sequence[str]
Annotation = Sequence[Answer]
Annotations = Sequence[Annotation]
Match = Callable[[list[list[bool]]], int]

DRAWS_A_BATCH = 4_000_000


@dataclass(frozen=True, slots=True)
class Score:
    """F1 with the precision and recall behind it, all 0 to 1."""

    f1: float
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the 2.5 % and 97.5 % percentiles of its bootstrap distribution."""

    mean: float
    low: float
    high: float


def f1_official(predictions: Sequence[str], annotations: Annotations) -> Score:
    """AmbigQA's answer F1: each answer in turn takes the first free prediction equal to it.

    That matching depends on the order: the answers {a b, c d} and {a b} score .5 against "a b", "c d" and
    1 against "c d", "a b". Report it for comparison with published figures. A prediction given twice counts
    twice. No prediction scores 0 (the official script stops with an error there).
    """
    return _best(predictions, annotations, _greedy)


def f1_optimal(predictions: Sequence[str], annotations: Annotations) -> Score:
    """Answer F1 under a maximum matching, so that no order matters; never below `f1_official`."""
    return _best(predictions, annotations, _maximum)


def exact_match(predictions: Sequence[str], annotations: Annotations) -> float:
    """1 if the first prediction equals any spelling of any answer, else 0."""
    if not predictions:
        return float(() in map(tuple, _known(annotations)))
    return float(any(any(matched_answers(predictions[:1], a)) for a in _known(annotations)))


def hits(predictions: Sequence[str], annotations: Annotations) -> int:
    """#Hit: how many distinct gold answers were given; one prediction stands for one answer."""
    return max(_maximum(_equal(predictions, annotation)) for annotation in _known(annotations))


def mrecall_at(k: int, texts: Sequence[str], annotations: Annotations) -> float:
    """1 if the first `k` texts cover at least min(k, n) of the n answers, else 0.

    Coverage is strict; texts are passage texts without titles. A question without an answer has nothing to
    find and gets 1: leave it out of averages.
    """
    top = texts[:k]
    return float(any(sum(covered_answers(top, a)) >= min(k, len(a)) for a in _known(annotations)))


def answer_recall(k: int, texts: Sequence[str], annotations: Annotations) -> float:
    """The share of the gold answers that the first `k` texts cover, strictly; 1 where there is none."""
    top = texts[:k]
    found = [covered_answers(top, annotation) for annotation in _known(annotations)]
    return max(sum(answers) / len(answers) if answers else 1.0 for answers in found)


def covered_answers(texts: Sequence[str], annotation: Annotation) -> list[bool]:
    """For each answer, whether one of the texts covers one of its spellings, strictly."""
    return [any(covers_any(text, spellings) for text in texts) for spellings in annotation]


def matched_answers(predictions: Sequence[str], annotation: Annotation) -> list[bool]:
    """For each answer, whether some prediction equals one of its spellings."""
    return [any(row) for row in _equal(predictions, annotation)]


def score_qampari(predictions: Sequence[str], annotations: Annotations) -> Score:
    """QAMPARI's rule: recall over answers with their aliases, precision over distinct predictions.

    Two predictions that are aliases of one answer are both right, and that answer is found once: so this can
    lie above `f1_optimal`. No prediction scores 0.
    """
    return _best_qampari(predictions, annotations, None)


def score_qampari_5(predictions: Sequence[str], annotations: Annotations) -> Score:
    """The same with recall capped at five answers (ALCE's recall-5): never to be called F1, but F1-5."""
    return _best_qampari(predictions, annotations, 5)


def score_labels(predictions: Sequence[str], labels: Sequence[str]) -> Score:
    """RoMQA's rule: sets of Wikidata labels, compared as they are. No prediction scores 0."""
    given, gold = set(predictions), set(labels)
    if not gold:
        raise ValueError("No gold is known for this question; leave it out of the measure.")
    return _joined(len(given & gold) / max(len(given), 1), len(given & gold) / len(gold))


def cluster_minimum(values: Sequence[float], clusters: Sequence[str]) -> float:
    """RoMQA's robust form of a measure: the mean over clusters of the least value in each.

    `values[i]` is a question's value, `clusters[i]` the cluster of related questions that it belongs to.
    """
    if not values:
        raise ValueError("There are no values to take the mean of.")
    least: dict[str, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        least[cluster] = min(value, least.get(cluster, value))
    return sum(least.values()) / len(least)


def share_reaching(values: Sequence[float], least: float) -> float:
    """The share of questions whose value is at least `least`: QAMPARI's recall >= .8 and F1 >= .5."""
    if not values:
        raise ValueError("There are no values to take the share of.")
    return sum(value >= least for value in values) / len(values)


def is_multi(question: Question) -> bool:
    """Whether every annotation holds several answers: the questions of F1(multi)."""
    return bool(question.answers) and all(len(annotation) > 1 for annotation in question.answers)


def bootstrap_mean(values: Sequence[float], seed: int, n: int = 2000) -> Interval:
    """The mean of one value a question, with its 95 % interval from `n` resamples of the questions."""
    array = np.asarray(values, dtype=np.float64)  # (questions,)
    if not array.size:
        raise ValueError("There are no values to take the mean of.")
    rng = np.random.default_rng(seed)
    batch = max(1, DRAWS_A_BATCH // array.size)
    means = np.concatenate(
        [
            array[rng.integers(array.size, size=(min(batch, n - done), array.size))].mean(axis=1)
            for done in range(0, n, batch)
        ]
    )  # (n,)
    low, high = np.percentile(means, (2.5, 97.5))
    return Interval(float(array.mean()), float(low), float(high))


def paired_bootstrap(a: Sequence[float], b: Sequence[float], seed: int, n: int = 2000) -> Interval:
    """The mean of a - b, question by question. An interval above 0 means that `a` is better."""
    if len(a) != len(b):
        raise ValueError(f"A paired comparison needs the same questions, not {len(a)} and {len(b)}.")
    return bootstrap_mean(np.subtract(a, b), seed, n)


def _known(annotations: Annotations) -> Annotations:
    if not annotations:
        raise ValueError("No gold is known for this question; leave it out of the measure.")
    return annotations


def _best(predictions: Sequence[str], annotations: Annotations, match: Match) -> Score:
    scores = [_score(predictions, annotation, match) for annotation in _known(annotations)]
    return max(scores, key=lambda score: score.f1)


def _score(predictions: Sequence[str], annotation: Annotation, match: Match) -> Score:
    if not annotation or not predictions:
        right = float(len(annotation) == len(predictions))
        return Score(right, right, right)
    matched = match(_equal(predictions, annotation))
    precision, recall = matched / len(predictions), matched / len(annotation)
    return Score(2 * matched / (len(predictions) + len(annotation)), precision, recall)


def _best_qampari(predictions: Sequence[str], annotations: Annotations, most: int | None) -> Score:
    distinct = list({normalise_answer(prediction): prediction for prediction in predictions}.values())
    return max((_qampari(distinct, a, most) for a in _known(annotations)), key=lambda score: score.f1)


def _qampari(distinct: Sequence[str], annotation: Annotation, most: int | None) -> Score:
    if not annotation or not distinct:
        right = float(len(annotation) == len(distinct))
        return Score(right, right, right)
    equal = _equal(distinct, annotation)
    found, right = sum(map(any, equal)), sum(map(any, zip(*equal, strict=True)))
    wanted = min(len(annotation), most or len(annotation))
    return _joined(right / len(distinct), min(found, wanted) / wanted)


def _joined(precision: float, recall: float) -> Score:
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return Score(f1, precision, recall)


def _equal(predictions: Sequence[str], annotation: Annotation) -> list[list[bool]]:
    """Which prediction (column) equals which answer (row)."""
    given = [normalise_answer(prediction) for prediction in predictions]
    accepted = [{normalise_answer(spelling) for spelling in spellings} for spellings in annotation]
    return [[prediction in spellings for prediction in given] for spellings in accepted]


def _greedy(equal: list[list[bool]]) -> int:
    taken: set[int] = set()
    for row in equal:
        free = (j for j, same in enumerate(row) if same and j not in taken)
        if (j := next(free, None)) is not None:
            taken.add(j)
    return len(taken)


def _maximum(equal: list[list[bool]]) -> int:
    if not any(map(any, equal)):
        return 0
    return int((maximum_bipartite_matching(csr_array(equal), perm_type="column") >= 0).sum())
