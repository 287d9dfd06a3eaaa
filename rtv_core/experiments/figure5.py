"""Figure 5: take evidence of other gold answers away, and see how far a gold answer's score moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rtv_core.attack import Attack, Reach, reach, supporters
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.published import FIGURE_5, SOURCE
from rtv_core.experiments.table import Cell, Chart, Row, Series, Table
from rtv_core.experiments.tally import SEED, count, share
from rtv_core.metrics import bootstrap_mean, f1_official
from rtv_core.pipeline import Pipeline
from rtv_core.records import Question, Trace
from rtv_core.text import same_answer
from rtv_core.thresholds import judge

__all__ = ["Attacked", "attacked", "run"]

HALF = 0.5
BUDGET = 256
"""How many removals are scored before only the promising ones grow: all of eight passages."""


@dataclass(frozen=True, slots=True)
class Attacked:
    """A gold answer among a question's candidates: whether it was predicted, and how far its score moves.

    `removable` counts the passages that may be taken: those that support another gold answer, not this one.
    """

    question: str
    answer: str
    predicted: bool
    removable: int
    reach: Reach


def run(bench: Bench) -> Table:
    """How many missed gold answers rise above, how many predicted ones fall below: .5, and tau."""
    pipeline = bench.models.pipeline(bench.settings)
    found = [attack for trace in bench.traces() for attack in attacked(pipeline, trace)]
    tau = bench.settings.verifier.tau
    missed = [attack for attack in found if not attack.predicted]
    predicted = [attack for attack in found if attack.predicted]
    rows = (
        Row("missed: score rises", _cells(missed, tau, rises=True), FIGURE_5["missed"]),
        Row(
            "predicted: score falls",
            _cells(predicted, tau, rises=False),
            FIGURE_5["predicted"],
        ),
    )
    exact = sum(attack.reach.exact for attack in found)
    return Table(
        "figure5",
        f"Figure 5: evidence attacked, {bench.label}",
        "gold answers that were recalled",
        (
            "candidates",
            "with passages to take away",
            f"cross tau = {tau:g}",
            "cross .5",
            "largest move, mean",
        ),
        rows,
        f"{SOURCE}, AmbigQA dev, where tau is .5",
        (
            "Taken away: any set of evidence passages that support other gold answers and do not cover the "
            "candidate; no other passage steps in. Shares are of all candidates of the line; those that "
            "begin on the far side of .5 do not cross it. The mean move, in points, is over those with "
            "passages to take away.",
            f"Every set was scored for {exact:,} of {len(found):,} candidates, a beam for the others.",
        ),
        (_chart(missed, predicted, tau),),
        bench.provenance,
    )


def attacked(pipeline: Pipeline, trace: Trace, budget: int = BUDGET) -> Iterator[Attacked]:
    """Each gold answer that was recalled, attacked; of the annotation that suits the predictions best."""
    settings = pipeline.settings
    k, rule = settings.verifier.k, settings.evidence.coverage
    judged = judge(trace, settings.verifier)
    given = [prediction.answer for prediction in judged if prediction.accepted]
    annotation = _annotation(given, trace.question)
    for i, spellings in enumerate(annotation):
        places = [p for p in judged if _equals(trace.candidates[p.index].spellings, spellings)]
        if not places:
            continue
        best = next((p for p in places if p.accepted), places[0])
        evidence = trace.evidence[best.index]
        others = [s for j, other in enumerate(annotation) if j != i for s in other]
        removable = supporters(evidence, others, rule, k)
        attack = Attack(pipeline.verifier, trace.question.text, evidence, k)
        moved = reach(attack, removable, budget)
        yield Attacked(trace.question.id, best.answer, best.accepted, len(removable), moved)


def _annotation(given: list[str], question: Question) -> tuple[tuple[str, ...], ...]:
    return max(question.answers, key=lambda annotation: f1_official(given, (annotation,)).f1)


def _equals(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return any(same_answer(a, b) for a in one for b in other)


def _cells(attacks: list[Attacked], tau: float, rises: bool) -> tuple[Cell | None, ...]:
    open_ = [attack for attack in attacks if attack.removable]
    moves = [attack.reach.rise if rises else attack.reach.fall for attack in open_]
    return (
        count(len(attacks)),
        count(len(open_)),
        share([_crosses(attack.reach, tau, rises) for attack in attacks]),
        share([_crosses(attack.reach, HALF, rises) for attack in attacks]),
        Cell(bootstrap_mean(moves, SEED)) if moves else None,
    )


def _crosses(moved: Reach, line: float, rises: bool) -> bool:
    if rises:
        return moved.whole <= line < moved.highest.p_right
    return moved.lowest.p_right <= line < moved.whole


def _chart(missed: list[Attacked], predicted: list[Attacked], tau: float) -> Chart:
    series = (
        Series(
            "missed, after the largest rise",
            tuple((a.reach.whole, a.reach.highest.p_right) for a in missed if a.removable),
            scattered=True,
        ),
        Series(
            "predicted, after the largest fall",
            tuple((a.reach.whole, a.reach.lowest.p_right) for a in predicted if a.removable),
            scattered=True,
        ),
    )
    lines = (((0.0, 0.0), (1.0, 1.0), "no change"), ((0.0, tau), (1.0, tau), "tau"))
    ticks = tuple((x / 5, f"{x / 5:g}") for x in range(6))
    return Chart(
        "Scores before and after", "score from all evidence", "score without some", series, ticks, lines
    )
