"""How far annotators agree, beyond chance too, on the answer label or on the evidence label.

Cohen         two annotators: those items that both judged
Fleiss        more of them: all items with at least two verdicts, whoever gave them
Krippendorff  any number: the same items

Each with a bootstrap interval over items. "unsure" is a label like the others. Where only one label occurs
there is no chance agreement to compare with: the coefficient is undefined, however often people agreed.

Items with the same verdicts are one kind. How often each kind is among n items drawn with replacement is
multinomial, so that a resample is a row of counts of few kinds, and all resamples are one matrix product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

import numpy as np

from rtv_core.annotation.population import key_of
from rtv_core.records import Judgement

__all__ = [
    "AXES",
    "Agreement",
    "Coefficient",
    "Disagreement",
    "Item",
    "Ratings",
    "agreement",
    "cohen_kappa",
    "cohen_kappas",
    "disagreements",
    "fleiss_kappa",
    "fleiss_kappas",
    "krippendorff_alpha",
    "krippendorff_alphas",
    "matrix_rows",
    "ratings",
]

AXES = {"answer": "label", "evidence": "evidence"}
"""The axes of a judgement, and the field that holds the label."""

LEAST_DEFINED = 0.9
"""An interval needs that share of the resamples to be defined."""

UNEQUAL = (
    "Items have different numbers of verdicts. If one more person was asked just where others disagreed, "
    "leave that person out: agreement looks higher than it is."
)

Measure = Callable[[np.ndarray], float | None]
"""A coefficient of items, one a row."""

Measures = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The coefficient of many resamples: of kinds of items, one a row, and how often each resample has each
(draws, kinds). Not a number where it is undefined."""


@dataclass(frozen=True, slots=True)
class Item:
    """What was judged: an answer to a question, on a trace."""

    trace_id: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Ratings:
    """The raw matrix: `labels[i][j]` is what annotator `j` said of item `i`, "" if nothing."""

    axis: str
    items: tuple[Item, ...]
    annotators: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One measure over `items` items. `value` is None where it is undefined, and `note` says why.

    `low` and `high` are the 2.5 % and 97.5 % percentiles over resampled items, None where too few resamples
    are defined. `note` may also say which items were left out.
    """

    name: str
    value: float | None
    low: float | None
    high: float | None
    items: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement on one axis. `judged` counts items with a verdict, `shared` those with two or more.

    `percent` is the share of agreeing pairs of verdicts, item by item, then averaged; `kappa` is Cohen's for
    two annotators and Fleiss' for more; `alpha` is Krippendorff's, nominal.
    """

    axis: str
    annotators: tuple[str, ...]
    judged: int
    shared: int
    percent: Coefficient
    kappa: Coefficient
    alpha: Coefficient


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item with different labels: one judgement a person, by name, and labels with counts, most first."""

    item: Item
    judgements: tuple[Judgement, ...]
    labels: tuple[tuple[str, int], ...]


def ratings(
    judgements: Iterable[Judgement], axis: str = "answer", leave_out: Set[str] = frozenset()
) -> Ratings:
    """The raw matrix of the judgements that stand, items by trace and answer, annotators by name.

    Spellings of one answer are one item, and of one annotator's several verdicts on it the latest counts.
    `leave_out` names people whose verdicts don't count, say the adjudicator's, who saw the others'. Raises
    KeyError for an axis that isn't one of `AXES`.
    """
    table = _table(judgements, axis, leave_out)
    names = tuple(sorted({name for row in table.values() for name in row}))
    items = tuple(_item(row) for row in table.values())
    labels = tuple(
        tuple(getattr(row[name], AXES[axis]) if name in row else "" for name in names)
        for row in table.values()
    )
    return Ratings(axis, items, names, labels)


def agreement(matrix: Ratings, seed: int = 0, draws: int = 1000) -> Agreement:
    """Percent agreement, kappa and alpha of a matrix, with bootstrap intervals over items."""
    codes, counts = _coded(matrix)
    shared = counts[counts.sum(axis=1) > 1]
    rng = np.random.default_rng(seed)
    return Agreement(
        matrix.axis,
        matrix.annotators,
        len(matrix.items),
        len(shared),
        percent=_percent(shared, rng, draws),
        kappa=_cohen(codes, rng, draws) if len(matrix.annotators) == 2 else _fleiss(shared, rng, draws),
        alpha=_alpha(shared, rng, draws),
    )


def disagreements(
    judgements: Iterable[Judgement], axis: str = "answer", leave_out: Set[str] = frozenset()
) -> tuple[Disagreement, ...]:
    """The items on which people said different things: the most evenly split first, then by question."""
    found = []
    for row in _table(judgements, axis, leave_out).values():
        labels = Counter(getattr(judgement, AXES[axis]) for judgement in row.values())
        if len(labels) > 1:
            said = tuple(row[name] for name in sorted(row))
            counted = sorted(labels.items(), key=lambda pair: (-pair[1], pair[0]))
            found.append(Disagreement(_item(row), said, tuple(counted)))
    return tuple(sorted(found, key=_by_split))


def matrix_rows(matrix: Ratings) -> Iterator[tuple[str, ...]]:
    """The raw matrix as rows of a table, the header first; a missing verdict is empty."""
    yield ("trace_id", "question", "answer", *matrix.annotators)
    for item, labels in zip(matrix.items, matrix.labels, strict=True):
        yield (item.trace_id, item.question, item.answer, *labels)


def cohen_kappa(confusion: np.ndarray) -> float | None:
    """Cohen's kappa of two annotators; None if only one label occurs.

    `confusion[a, b]` counts the items that the first called `a` and the second `b`.
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = np.nonzero(confusion)
    if len({*first, *second}) < 2:
        return None
    return float(cohen_kappa_score(first, second, sample_weight=confusion[first, second]))


def fleiss_kappa(counts: np.ndarray) -> float | None:
    """Fleiss' kappa (1971), in Gwet's form (2014) for unequal numbers; None if only one label occurs.

    `counts[i, c]` is how many called item `i` by label `c`, at least two in all.
    """
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    shares = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)  # (labels,)
    expected = float((shares**2).sum())
    return (_mean_agreement(counts) - expected) / (1 - expected)


def krippendorff_alpha(counts: np.ndarray) -> float | None:
    """Krippendorff's alpha for nominal labels; None if only one label occurs.

    `counts[i, c]` is how many called item `i` by label `c`, at least two in all.
    """
    import krippendorff

    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def cohen_kappas(kinds: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """`cohen_kappa` of each resample; `kinds[i]` are the labels' numbers that the two annotators gave."""
    own, other = (kinds[:, place, None] == np.arange(kinds.max() + 1) for place in (0, 1))  # (kinds, labels)
    first, second = drawn @ own, drawn @ other  # (draws, labels)
    items = drawn.sum(axis=1)
    observed = drawn @ (kinds[:, 0] == kinds[:, 1]) / items
    expected = (first * second).sum(axis=1) / items**2
    return _beyond_chance(observed, expected, first + second)


def fleiss_kappas(kinds: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """`fleiss_kappa` of each resample; `kinds[i, c]` counts the verdicts `c` on an item."""
    items = drawn.sum(axis=1)
    shares = drawn @ (kinds / kinds.sum(axis=1, keepdims=True)) / items[:, None]  # (draws, labels)
    observed = drawn @ _item_agreement(kinds) / items
    return _beyond_chance(observed, (shares**2).sum(axis=1), shares)


def krippendorff_alphas(kinds: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """`krippendorff_alpha` of each resample; `kinds[i, c]` counts the verdicts `c` on an item.

    From coincidences (Krippendorff 2011): an item with m verdicts has each of its pairs 1 / (m - 1) times.
    """
    verdicts = kinds.sum(axis=1, keepdims=True)
    same = drawn @ (kinds * (kinds - 1) / (verdicts - 1)).sum(axis=1)  # (draws,)
    labels = drawn @ kinds  # (draws, labels)
    total = labels.sum(axis=1)
    by_chance = (labels * (labels - 1)).sum(axis=1) / (total * (total - 1))
    return _beyond_chance(same / total, by_chance, labels)


def _beyond_chance(observed: np.ndarray, expected: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Agreement beyond chance by resample; not a number where fewer than two `labels` occur."""
    defined = np.count_nonzero(labels, axis=1) > 1
    return np.where(defined, (observed - expected) / np.where(defined, 1 - expected, 1), np.nan)


def _table(
    judgements: Iterable[Judgement], axis: str, leave_out: Set[str]
) -> dict[tuple[str, str], dict[str, Judgement]]:
    """By item and annotator the verdict that has a label on the axis, the latest one."""
    table: dict[tuple[str, str], dict[str, Judgement]] = {}
    for judgement in sorted(judgements, key=lambda j: j.at):
        if getattr(judgement, AXES[axis]) and judgement.annotator not in leave_out:
            place = judgement.trace_id, key_of(judgement.answer)
            table.setdefault(place, {})[judgement.annotator] = judgement
    return {place: table[place] for place in sorted(table)}


def _item(row: dict[str, Judgement]) -> Item:
    first = row[min(row)]
    return Item(first.trace_id, first.question, first.answer)


def _by_split(found: Disagreement) -> tuple[float, str, str, str]:
    share = found.labels[0][1] / len(found.judgements)
    return share, found.item.question, found.item.answer, found.item.trace_id


def _coded(matrix: Ratings) -> tuple[np.ndarray, np.ndarray]:
    """The labels as numbers, -1 for none (items, annotators), and how often each occurs (items, labels)."""
    names = sorted({label for row in matrix.labels for label in row if label})
    numbers = {"": -1} | {name: number for number, name in enumerate(names)}
    codes = np.array([[numbers[label] for label in row] for row in matrix.labels], dtype=int)
    codes = codes.reshape(len(matrix.items), len(matrix.annotators))
    counts = (codes[:, :, None] == np.arange(max(len(names), 1))).sum(axis=1)
    return codes, counts


def _item_agreement(counts: np.ndarray) -> np.ndarray:
    """The share of agreeing pairs of verdicts, item by item."""
    verdicts = counts.sum(axis=1)
    return ((counts**2).sum(axis=1) - verdicts) / (verdicts * (verdicts - 1))


def _mean_agreement(counts: np.ndarray) -> float:
    """The same, averaged over items."""
    return float(_item_agreement(counts).mean())


def _mean_agreements(kinds: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    return drawn @ _item_agreement(kinds) / drawn.sum(axis=1)


def _percent(counts: np.ndarray, rng: np.random.Generator, draws: int) -> Coefficient:
    return _coefficient("percent agreement", counts, _mean_agreement, _mean_agreements, rng, draws)


def _cohen(codes: np.ndarray, rng: np.random.Generator, draws: int) -> Coefficient:
    both = codes[(codes >= 0).all(axis=1)]
    labels = int(codes.max(initial=0)) + 1

    def kappa(items: np.ndarray) -> float | None:
        confusion = np.bincount(items[:, 0] * labels + items[:, 1], minlength=labels**2)
        return cohen_kappa(confusion.reshape(labels, labels))

    return _coefficient("Cohen's kappa", both, kappa, cohen_kappas, rng, draws)


def _fleiss(counts: np.ndarray, rng: np.random.Generator, draws: int) -> Coefficient:
    note = UNEQUAL if len({*counts.sum(axis=1).tolist()}) > 1 else ""
    return _coefficient("Fleiss' kappa", counts, fleiss_kappa, fleiss_kappas, rng, draws, note)


def _alpha(counts: np.ndarray, rng: np.random.Generator, draws: int) -> Coefficient:
    return _coefficient("Krippendorff's alpha", counts, krippendorff_alpha, krippendorff_alphas, rng, draws)


def _coefficient(
    name: str,
    items: np.ndarray,
    measure: Measure,
    measures: Measures,
    rng: np.random.Generator,
    draws: int,
    note: str = "",
) -> Coefficient:
    if not len(items):
        return Coefficient(name, None, None, None, 0, "Undefined: no item has two verdicts.")
    value = measure(items)
    if value is None:
        why = "Undefined: only one label occurs, so that chance would agree as often."
        return Coefficient(name, None, None, None, len(items), f"{why} {note}".strip())
    low, high = _interval(items, measures, rng, draws)
    if low is None:
        note = f"{note} No interval: many resamples hold one label only. Judge more items.".strip()
    return Coefficient(name, value, low, high, len(items), note)


def _interval(
    items: np.ndarray, measures: Measures, rng: np.random.Generator, draws: int
) -> tuple[float, float] | tuple[None, None]:
    kinds, times = np.unique(items, axis=0, return_counts=True)
    drawn = rng.multinomial(len(items), times / len(items), size=draws).astype(float)  # (draws, kinds)
    values = measures(kinds, drawn)  # (draws,)
    defined = values[~np.isnan(values)]
    if len(defined) < LEAST_DEFINED * draws:
        return None, None
    low, high = np.percentile(defined, (2.5, 97.5))
    return float(low), float(high)
