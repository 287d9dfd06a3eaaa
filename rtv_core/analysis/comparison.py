"""Two runs on the same questions: whose F1 is higher, and which answers only one of them found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rtv_core.analysis.corrected import distinct_answers
from rtv_core.analysis.scores import predictions, question_scores
from rtv_core.errors import InputError
from rtv_core.metrics import Interval, bootstrap_mean, is_multi, matched_answers, paired_bootstrap
from rtv_core.records import Question, RunQuestion

__all__ = ["Comparison", "Difference", "Find", "compare_runs", "paired_difference"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Means of both over the same questions, and of `first` - `second`: above 0, the first is better."""

    first: Interval
    second: Interval
    difference: Interval


@dataclass(frozen=True, slots=True)
class Find:
    """A gold answer that one run predicted and the other did not; positions in the first and second run."""

    question: str
    answer: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`better`, `worse` and `equal` count questions by F1 of the first run against the second.

    `both`, `neither` and the lists count gold answers, over all annotations. `left_out` counts questions
    that only one run has, or whose gold is not known.
    """

    f1: Difference
    precision: Difference
    recall: Difference
    f1_multi: Difference | None
    better: int
    worse: int
    equal: int
    only_first: tuple[Find, ...]
    only_second: tuple[Find, ...]
    both: int
    neither: int
    questions: int
    left_out: int


def compare_runs(
    first: Sequence[RunQuestion],
    second: Sequence[RunQuestion],
    gold: Mapping[str, Question] | None = None,
    seed: int = 0,
) -> Comparison:
    """The comparison on the questions of one id in both runs, with a paired bootstrap by question.

    Scores are against the first run's gold, or against `gold` by question id (say, corrected gold). Raises
    InputError if the runs share no question with known gold, or ask different things under one id.
    """
    others = {q.question.id: q for q in second}
    shared = [(q, others[q.question.id]) for q in first if q.question.id in others]
    for one, other in shared:
        if one.question.text.split() != other.question.text.split():
            raise InputError(
                f"Question {one.question.id!r} is {one.question.text!r} in one run and "
                f"{other.question.text!r} in the other. Compare runs on the same question file."
            )
    known = [((gold or {}).get(q.question.id, q.question), q, other) for q, other in shared]
    known = [(answers, q, other) for answers, q, other in known if answers.answers]
    if not known:
        raise InputError("The runs share no question with gold answers. Compare runs on the same questions.")
    answers, ours, theirs = (list(column) for column in zip(*known, strict=True))
    own, their = question_scores(ours, answers), question_scores(theirs, answers)
    pairs = list(zip(own, their, strict=True))
    multi = [(a.f1, b.f1) for (a, b), q in zip(pairs, ours, strict=True) if is_multi(q.question)]
    finds = [find for triple in known for find in _finds(*triple)]
    return Comparison(
        *(
            paired_difference([getattr(s, name) for s in own], [getattr(s, name) for s in their], seed)
            for name in ("f1", "precision", "recall")
        ),
        paired_difference(*zip(*multi, strict=True), seed=seed) if multi else None,
        sum(a.f1 > b.f1 for a, b in pairs),
        sum(a.f1 < b.f1 for a, b in pairs),
        sum(a.f1 == b.f1 for a, b in pairs),
        tuple(find for find, by_first, by_second in finds if by_first and not by_second),
        tuple(find for find, by_first, by_second in finds if by_second and not by_first),
        sum(by_first and by_second for _, by_first, by_second in finds),
        sum(not by_first and not by_second for _, by_first, by_second in finds),
        len(known),
        len({q.question.id for q in (*first, *second)}) - len(known),
    )


def paired_difference(first: Sequence[float], second: Sequence[float], seed: int) -> Difference:
    """Of one value a question each, the means and their difference, paired by question."""
    return Difference(
        bootstrap_mean(first, seed), bootstrap_mean(second, seed), paired_bootstrap(first, second, seed)
    )


def _finds(gold: Question, first: RunQuestion, second: RunQuestion) -> list[tuple[Find, bool, bool]]:
    """Each distinct gold answer, and whether the first and the second run predicted it."""
    answers = distinct_answers(gold)
    found = [matched_answers(predictions(run), answers) for run in (first, second)]
    return [
        (Find(gold.text, spellings[0], first.position, second.position), by_first, by_second)
        for spellings, by_first, by_second in zip(answers, *found, strict=True)
    ]
