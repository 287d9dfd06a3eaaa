"""Section 4: in rerank-then-read answers depend on one another, seen by taking one answer's passages away.

A question is a target if its reader's input covers a gold answer that is missed, and a predicted gold answer
has supporting passages that cover no other gold answer. Some of these are taken away, none of another's; the
attack succeeds if a missed answer is then given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from rtv_core.baselines.systems import READ, Baseline, RerankThenRead
from rtv_core.errors import InputError
from rtv_core.experiments.bars import bars_of
from rtv_core.experiments.bench import Bench
from rtv_core.experiments.published import SECTION_4, SOURCE
from rtv_core.experiments.table import Cell, Row, Table
from rtv_core.experiments.tally import SEED, count, share
from rtv_core.metrics import bootstrap_mean, covered_answers, f1_official, matched_answers
from rtv_core.records import Hit, Trace
from rtv_core.text import covers_any

__all__ = ["Dependence", "dependence", "run"]

ORACLE = "oracle rerank, then read"
REMOVALS = 63
"""How many sets of one answer's passages are tried, smallest first: all of six."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """What a question shows. `missed` and `predicted` count the passages that support each such gold answer.

    `recovered` is None if the question is no target; `more_relevant` tells of a recovered answer whether its
    best passage was retrieved before the best of those that were taken away.
    """

    missed: tuple[int, ...]
    predicted: tuple[int, ...]
    recovered: bool | None
    more_relevant: bool | None = None


def run(bench: Bench) -> Table:
    """How many targets there are, and how many give way. Raises InputError without a trained reader."""
    if ORACLE not in bench.systems.names:
        raise InputError(
            "This experiment attacks a reader of reranked passages. Name a trained one by --baseline; "
            "`python -m rtv_core train joint-reader` trains it."
        )
    reader = bench.systems.get(ORACLE, bench.models)
    found = [dependence(bench, reader, trace) for trace in bench.read_by(reader)]
    targets = [each for each in found if each.recovered is not None]
    recovered = [each for each in targets if each.recovered]
    missed = [n for each in found for n in each.missed]
    predicted = [n for each in found for n in each.predicted]
    rows = (
        Row("questions", (count(len(found)),)),
        Row("targets", (count(len(targets)),), SECTION_4["targets"]),
        Row(
            "of these, a missed answer is recovered, %",
            (share([bool(each.recovered) for each in targets]),),
            SECTION_4["recovered"],
        ),
        Row(
            "of these, the recovered answer's passages were the more relevant ones, %",
            (share([bool(each.more_relevant) for each in recovered]),),
            SECTION_4["more relevant"],
        ),
        Row(
            "supporting passages in the input, of a missed gold answer",
            (_mean(missed),),
            SECTION_4["supporters of missed"],
        ),
        Row(
            "supporting passages in the input, of a predicted gold answer",
            (_mean(predicted),),
            SECTION_4["supporters of predicted"],
        ),
    )
    return Table(
        "section4",
        f"Section 4: dependence among answers, {bench.label}",
        f"{ORACLE} ({READ} passages)",
        ("here",),
        rows,
        f"{SOURCE}, AmbigQA dev",
        (
            f"At most {REMOVALS} sets of passages are tried for an answer, the smallest first. More "
            "relevant: the recovered answer's best passage was retrieved before the best of those taken.",
        ),
        (bars_of("Support that a gold answer has in the input", "passages, mean", rows[4:], 0),),
        provenance=bench.provenance,
    )


def dependence(bench: Bench, reader: Baseline, trace: Trace, removals: int = REMOVALS) -> Dependence:
    """What taking passages away from a reader's `trace` shows."""
    hits = trace.hits[: reader.passages if isinstance(reader, RerankThenRead) else READ]
    given = bench.predict(trace, reader)
    gold = max(trace.question.answers, key=lambda annotation: f1_official(given, (annotation,)).f1)
    texts = [hit.passage.text for hit in hits]
    supports = [[covers_any(text, spellings) for text in texts] for spellings in gold]
    matched, covered = matched_answers(given, gold), covered_answers(texts, gold)
    missed = [i for i in range(len(gold)) if covered[i] and not matched[i]]
    predicted = [i for i in range(len(gold)) if covered[i] and matched[i]]
    own = {i: _own(supports, i) for i in predicted}
    target = bool(missed) and any(own.values())
    counts = tuple(tuple(sum(supports[i]) for i in group) for group in (missed, predicted))
    if not target:
        return Dependence(*counts, None)
    for places in (places for i in predicted for places in _sets(own[i], removals)):
        left = tuple(hit for place, hit in enumerate(hits) if place not in places)
        again = bench.predict(
            reader.read(trace.grown(hits=left, readings=(), candidates=(), verdicts=())), reader
        )
        now = matched_answers(again, gold)
        back = [i for i in missed if now[i]]
        if back:
            taken = min(hits[place].rank for place in places)
            best = min(_ranks(hits, supports[i]) for i in back)
            return Dependence(*counts, True, best < taken)
    return Dependence(*counts, False)


def _own(supports: Sequence[Sequence[bool]], answer: int) -> tuple[int, ...]:
    """The places that support this gold answer and no other."""
    return tuple(
        place
        for place, supported in enumerate(supports[answer])
        if supported and sum(other[place] for other in supports) == 1
    )


def _sets(places: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    sets = (chosen for size in range(1, len(places) + 1) for chosen in combinations(places, size))
    return islice(sets, most)


def _ranks(hits: Sequence[Hit], supported: Sequence[bool]) -> int:
    """The best retrieval rank of the supporting passages."""
    return min(hit.rank for hit, yes in zip(hits, supported, strict=True) if yes)


def _mean(counts: Sequence[int]) -> Cell | None:
    return Cell(bootstrap_mean(counts, SEED), scale=1, digits=2) if counts else None
