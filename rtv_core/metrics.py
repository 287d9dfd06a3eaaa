"""The measures: answer F1, exact match, multi-answer recall, hits, and intervals over questions.

QAMPARI's and RoMQA's own rules are here too: `score_qampari` and `score_qampari_5`, `score_labels` and
`cluster_minimum`.

Gold is `Question.answers`: annotations of answers of spellings. Every measure takes the annotation that suits
the predictions best. Two strings are equal after `normalise_answer`. An annotation without answers says that
the question has none: predicting nothing scores 1 on it, anything else 0. Where no gold is known at all there
is nothing to measure: ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from rtv_core.records import Question
from rtv_core.text import covers_any, normalise_answer

__all__ = [
    "Interval",
    "Score",
    "all_and_multi",
    "answer_recall",
    "bootstrap_mean",
    "cluster_minima",
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
]

Answer = Sequence[str]
Annotation = Sequence[Answer]
Annotations = Sequence[Annotation]
Match = Callable[[list[list[bool]]], int]
Rule = Callable[[Sequence[str], Annotation], "Score"]

DRAWS_A_BATCH = 4_000_000

CAP = 5
"""Where "F1-5" caps recall: five right answers are enough."""


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


def score_qampari(predictions: Sequence[str], annotations: Annotations) -> Score:
    """QAMPARI's rule: precision over the distinct predictions, recall over the answers with their aliases.

    Predictions that differ as strings are distinct, even where they are one answer's aliases: such a pair
    finds one answer and costs precision. An alias of two answers finds one of them. No prediction scores 0
    (the official script divides by zero there).
    """
    return _best_of(predictions, annotations, _qampari)


def score_qampari_5(predictions: Sequence[str], annotations: Annotations) -> Score:
    """The same with a recall in which five right answers are all. Never call its F1 anything but F1-5."""
    return _best_of(predictions, annotations, _qampari_capped)


def score_labels(predictions: Sequence[str], labels: Sequence[str], k: int | None = None) -> Score:
    """RoMQA's rule: the distinct predictions (the first `k` of them) and the gold labels, as two sets.

    Only exactly equal strings match, aliases do not count: the label of an answer is its first spelling. No
    prediction scores 0. Raises ValueError without labels.
    """
    if not labels:
        raise ValueError("No gold is known for this question; leave it out of the measure.")
    given, gold = tuple(dict.fromkeys(predictions))[:k], set(labels)
    return _of_counts(len(gold.intersection(given)), len(given), len(gold))


def cluster_minimum(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """RoMQA's robust form of a measure: the mean over clusters of the least value in each.

    `values[i]` is a question's value, `clusters[i]` the cluster of related questions that it belongs to.
    """
    if not values:
        raise ValueError("There are no values to take the mean of.")
    least = cluster_minima(values, clusters)
    return sum(least) / len(least)


def cluster_minima(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    """The least value of each cluster, in order of first appearance: for an interval over clusters."""
    least: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        least[cluster] = min(value, least.get(cluster, value))
    return list(least.values())


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


def is_multi(question: Question) -> bool:
    """Whether every annotation holds several answers: the questions of F1(multi)."""
    return bool(question.answers) and all(len(annotation) > 1 for annotation in question.answers)


def all_and_multi(
    values: Sequence[float], questions: Sequence[Question], seed: int
) -> tuple[Interval, Interval | None]:
    """The mean over all questions and over those with several answers (None: there are none), as a/b."""
    several = [value for value, q in zip(values, questions, strict=True) if is_multi(q)]
    return bootstrap_mean(values, seed), bootstrap_mean(several, seed) if several else None


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
    return _best_of(predictions, annotations, lambda given, gold: _matched(given, gold, match))


def _best_of(predictions: Sequence[str], annotations: Annotations, rule: Rule) -> Score:
    """The score of best F1 over the annotations; silence is right where the gold is no answer."""
    scores = []
    for annotation in _known(annotations):
        if annotation and predictions:
            scores.append(rule(predictions, annotation))
        else:
            right = float(len(annotation) == len(predictions))
            scores.append(Score(right, right, right))
    return max(scores, key=lambda score: score.f1)


def _matched(predictions: Sequence[str], annotation: Annotation, match: Match) -> Score:
    matched = match(_equal(predictions, annotation))
    return _of_counts(matched, len(predictions), len(annotation))


def _of_counts(matched: int, predicted: int, gold: int) -> Score:
    return Score(2 * matched / (predicted + gold), matched / max(predicted, 1), matched / gold)


def _qampari(predictions: Sequence[str], annotation: Annotation) -> Score:
    return _of_counts(_aliased(predictions, annotation), len(set(predictions)), len(annotation))


def _qampari_capped(predictions: Sequence[str], annotation: Annotation) -> Score:
    matched = _aliased(predictions, annotation)
    precision = matched / len(set(predictions))
    recall = min(CAP, matched) / min(CAP, len(annotation))
    f1 = 2 * precision * recall / (precision + recall) if matched else 0.0
    return Score(f1, precision, recall)


def _aliased(predictions: Sequence[str], annotation: Annotation) -> int:
    """How many answers the predictions name. Each stands for the answer of the first alias it equals.

    As in the official script answers go by name, and of two answers with one alias the later owns it.
    """
    answers = {spellings[0]: spellings for spellings in annotation}
    owners = {alias: name for name, spellings in answers.items() for alias in spellings}
    by_key: dict[str, str] = {}
    for alias, name in owners.items():
        by_key.setdefault(normalise_answer(alias), name)
    return len({by_key[key] for p in predictions if (key := normalise_answer(p)) in by_key})


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
