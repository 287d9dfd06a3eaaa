"""How many valid answers nobody has found yet: capture-recapture over systems or annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from rtv_core.analysis.corrected import correct_question, distinct_answers
from rtv_core.analysis.mistakes import wrong_predictions
from rtv_core.analysis.rulings import VALID, Rulings, key_of
from rtv_core.analysis.scores import predictions
from rtv_core.analysis.shares import Z
from rtv_core.errors import InputError
from rtv_core.metrics import matched_answers
from rtv_core.records import Judgement, RunQuestion
from rtv_core.store.traces import question_key

__all__ = [
    "LEAST_OVERLAP",
    "Missing",
    "found_by_annotators",
    "found_by_run",
    "found_by_runs",
    "missing_answers",
    "unjudged_answers",
]

LEAST_OVERLAP = 7
"""With at least 7 recaptures Chapman's estimator is as good as unbiased (Robson and Regier 1964)."""

Found = Mapping[str, Set[tuple[str, str]]]
"""By system or annotator: the valid answers found, each a (question, answer) pair."""

METHODS = {
    "Chapman": "Two sources: Chapman's estimator (Chapman 1951), with Seber's variance (1970) and a "
    "log-normal interval.",
    "Chao lower bound": "Three or more sources: Chao's lower bound from the answers that one source or two "
    "found, in its bias-corrected form (Chao 1987), with a log-normal interval.",
}

ASSUMPTIONS = (
    "Each found answers independently of the others. Systems that read the same passages find the same "
    "answers: then too few are taken to be missing.",
    "All answers of all questions are equally easy to find. They are not: again too few are taken to be "
    "missing.",
    "Sources that differ little (one system under two settings) count as one in truth: leave the second out.",
    "Only answers that such systems or annotators could find at all are counted.",
    "Verdicts are right, and two spellings of one answer are recognised as one.",
)


@dataclass(frozen=True, slots=True)
class Missing:
    """`found` valid answers are known, `total` are estimated (95 % interval), `missing` is the difference.

    `lower_bound`: `total` is the least that is plausible (three or more sources), not the likeliest number.
    `sources` counts what each found, `overlap` what more than one did. Show `notes` beside the figures.
    """

    method: str
    sources: tuple[tuple[str, int], ...]
    found: int
    overlap: int
    total: float
    low: float
    high: float
    lower_bound: bool
    notes: tuple[str, ...]

    @property
    def missing(self) -> float:
        """How many valid answers are estimated to be out there still."""
        return self.total - self.found


def missing_answers(found: Found) -> Missing:
    """Chapman's estimate for two sources, Chao's lower bound for more.

    Two sources (Chapman 1951), that found n1 and n2 answers, m of them in common:
        N = (n1 + 1)(n2 + 1) / (m + 1) - 1
        V = (n1 + 1)(n2 + 1)(n1 - m)(n2 - m) / ((m + 1)² (m + 2))        (Seber 1970)
    t sources that found S answers, f1 of them by one alone, f2 by two, with a = (t - 1) / t and g = f2 + 1
    (Chao 1987, in the bias-corrected form for presence and absence; without a it is Chao1):
        N = S + a f1 (f1 - 1) / (2 g)
        V = a f1 (f1 - 1) / (2 g) + a² f1 (2 f1 - 1)² / (4 g²) + a² f1² f2 (f1 - 1)² / (4 g⁴)
    The interval is log-normal on N - S, so that it never starts below what was found (Chao 1987).

    Assumes sources that are independent of each other and answers equally easy to find; both fail in the
    same direction, towards too few missing. Raises InputError for fewer than two sources that found anything,
    or fewer than `LEAST_OVERLAP` answers found by more than one.
    """
    sources = {name: answers for name, answers in sorted(found.items()) if answers}
    if len(sources) < 2:
        raise InputError(
            f"Valid answers of {len(sources)} system or annotator are known; an estimate of what is missing "
            "needs two. Import another run on these questions, or let a second annotator search."
        )
    times = Counter(answer for answers in sources.values() for answer in answers)
    overlap = sum(count > 1 for count in times.values())
    if overlap < LEAST_OVERLAP:
        raise InputError(
            f"Only {overlap} valid answers were found by more than one of {', '.join(sources)}; an estimate "
            f"of what is missing needs {LEAST_OVERLAP}. Judge more questions, or take sources more alike."
        )
    counts = tuple((name, len(answers)) for name, answers in sources.items())
    if len(sources) == 2:
        total, variance = _chapman(counts[0][1], counts[1][1], overlap)
        method = "Chapman"
    else:
        once, twice = (sum(count == n for count in times.values()) for n in (1, 2))
        more, variance = _chao(len(sources), once, twice)
        total, method = len(times) + more, "Chao lower bound"
    low, high = _interval(total, len(times), variance)
    notes = (METHODS[method], *ASSUMPTIONS)
    return Missing(method, counts, len(times), overlap, total, low, high, len(sources) > 2, notes)


def found_by_runs(runs: Mapping[str, Sequence[RunQuestion]], rulings: Rulings) -> Found:
    """What each run predicted and is valid: it equals a gold answer, or people ruled so.

    Only questions that every run has count, by id, and of them those with known gold. Settle the rulings with
    `across_runs`, or an answer that was judged in one run alone is no answer of the other.
    """
    shared = frozenset.intersection(*(frozenset(q.question.id for q in own) for own in runs.values()))
    return {name: found_by_run(questions, shared, rulings) for name, questions in sorted(runs.items())}


def found_by_run(
    questions: Sequence[RunQuestion], ids: Set[str], rulings: Rulings
) -> frozenset[tuple[str, str]]:
    """What one run found on the questions of these ids, as `found_by_runs` counts it."""
    known = [q for q in questions if q.question.id in ids and q.question.answers]
    return frozenset(
        (question.question.id, answer) for question in known for answer in _valid(question, rulings)
    )


def unjudged_answers(questions: Sequence[RunQuestion], ids: Set[str], rulings: Rulings) -> int:
    """How many wrong predictions on the questions of these ids have no clear ruling: they count as found by
    nobody, though some are right."""
    wrong = wrong_predictions([q for q in questions if q.question.id in ids], rulings)
    return sum(mistake.ruling is None or not mistake.ruling.clear for mistake in wrong)


def found_by_annotators(judgements: Iterable[Judgement]) -> Found:
    """The valid answers that each annotator typed in, by the question's words.

    Verdicts on candidates don't count: everybody was shown the same, so they say nothing about finding. The
    estimate holds for the answers that no candidate gives.
    """
    found: dict[str, set[tuple[str, str]]] = {}
    for judgement in judgements:
        own = found.setdefault(judgement.annotator, set())
        if not judgement.recalled and judgement.label in VALID:
            answer = judgement.gold if judgement.label == "variant" else judgement.answer
            own.add((question_key(judgement.question), key_of(answer)))
    return found


def _valid(question: RunQuestion, rulings: Rulings) -> set[str]:
    """The answers of corrected gold that were predicted, each by its first spelling."""
    gold = correct_question(question, rulings.on(question))[0]
    answers = distinct_answers(gold)
    given = matched_answers(predictions(question), answers)
    return {answer[0] for answer, is_given in zip(answers, given, strict=True) if is_given}


def _chapman(n1: int, n2: int, both: int) -> tuple[float, float]:
    total = (n1 + 1) * (n2 + 1) / (both + 1) - 1
    variance = (n1 + 1) * (n2 + 1) * (n1 - both) * (n2 - both) / ((both + 1) ** 2 * (both + 2))
    return total, variance


def _chao(sources: int, once: int, twice: int) -> tuple[float, float]:
    """How many more answers at least, and the variance."""
    a, pairs = (sources - 1) / sources, twice + 1
    more = a * once * (once - 1) / (2 * pairs)
    variance = more + a**2 * once * (2 * once - 1) ** 2 / (4 * pairs**2)
    return more, variance + a**2 * once**2 * twice * (once - 1) ** 2 / (4 * pairs**4)


def _interval(total: float, found: int, variance: float) -> tuple[float, float]:
    more = total - found
    if more <= 0:
        return float(found), float(found)
    factor = float(np.exp(Z * np.sqrt(np.log1p(variance / more**2))))
    return found + more / factor, found + more * factor
