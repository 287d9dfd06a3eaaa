"""How much a verdict on an answer is worth: the weights behind the strategies that don't draw evenly."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from statistics import median

from rtv_core.annotation.population import UNLISTED, WRONG, Entry, key_of
from rtv_core.records import Judgement, RunQuestion
from rtv_core.store.traces import question_key

__all__ = ["disagreement", "expected_value", "nearness"]

REACH = 0.1
"""The distance from tau at which an answer's weight has fallen to 37 %."""

PRIOR_VERDICTS = 4
"""How many verdicts the expectation before any verdict counts for."""

VARIANT_OF_VALID = 0.65
"""The share of variants among valid wrong predictions to expect before any verdict: 52 of 80 (Table 6)."""

VALID = ("listed", "variant", "unlisted")
SECONDS = 15.0
LONGEST_PAUSE = 300.0
FEWEST_TIMES = 5


def nearness(entries: Sequence[Entry], tau: float) -> list[float]:
    """Weights that fall with |p_right - tau|, by a factor e every `REACH`; 0 without a score."""
    scores = [entry.answer.p_right for entry in entries]
    return [0.0 if score is None else math.exp(-abs(score - tau) / REACH) for score in scores]


def disagreement(
    entries: Sequence[Entry], judgements: Iterable[Judgement], others: Sequence[Sequence[RunQuestion]]
) -> list[float]:
    """The chance that two annotators, or two systems, drawn with replacement differ on each entry.

    Annotators differ in the label; systems in whether they predict the answer (or the gold answer that it
    equals), those counted that answered the question. The larger of both chances counts.
    """
    labels = _labels(judgements)
    systems = [{question_key(q.question.text): _predicted(q) for q in run} for run in others]
    weights = []
    for entry in entries:
        own = {("gold", entry.answer.gold)} if entry.answer.gold else set()
        names = own | {("answer", key_of(spelling)) for spelling in _spellings(entry)}
        question, _ = entry.key
        asked = [run[question] for run in systems if question in run]
        given = [entry.answer.predicted, *(bool(names & predicted) for predicted in asked)]
        weights.append(max(_difference(labels.get(entry.key, ())), _difference(given)))
    return weights


def expected_value(entries: Sequence[Entry], judgements: Iterable[Judgement]) -> list[float]:
    """The change of F1 to expect of a verdict, for each second that it takes.

    A question with m of its g gold answers among a predictions has F1 = 2m / (a + g). What a verdict can do,
    as corrected gold only ever gains by verdicts (see `analysis.corrected`):

        wrong prediction    variant: m + 1         unlisted: m + 1, g + 1      invalid: nothing
        unlisted candidate  variant: nothing       unlisted: g + 1             invalid: nothing
        gold answer         nothing

    The value is the sum over these of probability times |F1 after - F1 before|, divided by seconds. An
    answer is valid with probability (v + 4 e) / (n + 4), where v of the n verdicts so far on its stratum
    and its fifth of the score range say so, and e is p_right (.5 without a score). Of the valid answers
    that the gold doesn't list, the share of variants is estimated alike, from all verdicts on wrong
    predictions; where no gold answer is left to be a variant of, it is 0. Seconds are the median time
    between an annotator's successive verdicts, by stratum, 15 before enough are known. An answer that has a
    verdict other than "unsure" is settled and has value 0, and so has one whose question has no gold.
    """
    judgements = list(judgements)
    labels, known = _labels(judgements), {entry.key: entry for entry in entries}
    votes: dict[object, Counter[str]] = defaultdict(Counter)
    for key, given in labels.items():
        if key in known:
            votes[_bin(known[key])].update(given)
            votes[known[key].stratum].update(given)
    pace = _seconds(judgements, known)
    variants = votes[WRONG]["listed"] + votes[WRONG]["variant"]
    variant_share = (variants + PRIOR_VERDICTS * VARIANT_OF_VALID) / (_valid(votes[WRONG]) + PRIOR_VERDICTS)
    return [
        0.0
        if any(label != "unsure" for label in labels.get(entry.key, ()))
        else _change(entry, _validity(entry, votes[_bin(entry)]), variant_share) / pace(entry.stratum)
        for entry in entries
    ]


def _change(entry: Entry, valid: float, variant_share: float) -> float:
    """The expected absolute change of the question's F1."""
    a = sum(answer.predicted for answer in entry.question.answers)
    g = len(entry.question.gold)
    m = sum(gold.lost == "predicted" for gold in entry.question.gold)
    now = _f1(m, a, g)
    if entry.stratum == WRONG:
        variant = valid * variant_share if m < g else 0.0
        return variant * abs(_f1(m + 1, a, g) - now) + (valid - variant) * abs(_f1(m + 1, a, g + 1) - now)
    if entry.stratum == UNLISTED:
        return valid * (1 - variant_share * (m < g)) * abs(_f1(m, a, g + 1) - now)
    return 0.0


def _f1(matched: int, predicted: int, gold: int) -> float:
    return 2 * matched / (predicted + gold) if predicted + gold else 1.0


def _validity(entry: Entry, votes: Counter[str]) -> float:
    score = entry.answer.p_right
    expected = 0.5 if score is None else score
    decided = _valid(votes) + votes["invalid"]
    return (_valid(votes) + PRIOR_VERDICTS * expected) / (decided + PRIOR_VERDICTS)


def _valid(votes: Counter[str]) -> int:
    return sum(votes[label] for label in VALID)


def _bin(entry: Entry) -> tuple[str, int]:
    score = entry.answer.p_right
    return entry.stratum, -1 if score is None else min(int(5 * score), 4)


def _seconds(
    judgements: Iterable[Judgement], known: Mapping[tuple[str, str], Entry]
) -> Callable[[str], float]:
    """A function from a stratum to the seconds that one of its verdicts takes."""
    times: dict[str, list[float]] = defaultdict(list)
    last: dict[str, datetime] = {}
    for judgement in sorted((j for j in judgements if j.at), key=lambda j: (j.annotator, j.at)):
        at = datetime.fromisoformat(judgement.at)
        before = last.get(judgement.annotator)
        last[judgement.annotator] = at
        key = question_key(judgement.question), key_of(judgement.answer)
        if before is None or key not in known:
            continue
        if 0 < (spent := (at - before).total_seconds()) <= LONGEST_PAUSE:
            times[known[key].stratum].append(spent)
    everything = [spent for found in times.values() for spent in found]
    overall = median(everything) if len(everything) >= FEWEST_TIMES else SECONDS
    by_stratum = {name: median(found) for name, found in times.items() if len(found) >= FEWEST_TIMES}
    return lambda stratum: by_stratum.get(stratum, overall)


def _labels(judgements: Iterable[Judgement]) -> dict[tuple[str, str], list[str]]:
    labels: dict[tuple[str, str], list[str]] = defaultdict(list)
    for judgement in judgements:
        labels[question_key(judgement.question), key_of(judgement.answer)].append(judgement.label)
    return dict(labels)


def _predicted(question: RunQuestion) -> set[tuple[str, str]]:
    """What a system predicted, by the gold answers it equals and by every spelling."""
    given = [answer for answer in question.answers if answer.predicted]
    golds = {("gold", answer.gold) for answer in given if answer.gold}
    return golds | {("answer", key_of(s)) for a in given for s in (a.answer, *a.spellings)}


def _spellings(entry: Entry) -> tuple[str, ...]:
    return entry.answer.answer, *entry.answer.spellings


def _difference(votes: Sequence[object]) -> float:
    counts = Counter(votes).values()
    return 1 - sum(count * count for count in counts) / len(votes) ** 2 if votes else 0.0
