"""Results of a run: values by question for paired comparisons, and their figures, in one JSON file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.calibration import Bin, calibration_error, reliability
from benchmarks.measures import RECALLED_OF_COVERED, bootstrap_median, interval, measure_rows
from benchmarks.question_sets import QuestionSet
from benchmarks.rows import Row
from benchmarks.systems import System, verifier_name, verifier_scores
from rtv_core.errors import MissingError
from rtv_core.metrics import Interval, is_multi
from rtv_core.records import EVIDENCE_SIZES
from rtv_core.wire import from_plain, to_json

__all__ = [
    "ALL",
    "MULTI",
    "SEVERAL_PASSAGES",
    "Calibration",
    "Figures",
    "SplitResult",
    "figures_of",
    "load_results",
    "save_results",
    "split_result",
]

ALL, MULTI, SEVERAL_PASSAGES = "all", "multi", "several passages"
FILE = "results.json"

Figures = Mapping[str, Mapping[str, Mapping[str, Interval]]]
"""Group of questions, subject, figure."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Expected calibration error at one evidence size, of all candidates and of those above tau."""

    k: int
    candidates: int
    error: Interval | None
    above_tau: int
    error_above_tau: Interval | None


@dataclass(frozen=True, slots=True)
class SplitResult:
    """One split's values by question.

    `questions` gives the text of each id; `groups` the ids of "all" questions, of those with several answers
    in each annotation, and, where that was looked for, of those whose gold no single passage covers.
    `measures` is what `measure_rows` gives. `reliability` is of the largest evidence size.
    """

    split: str
    label: str
    single_answer: bool
    questions: Mapping[str, str]
    groups: Mapping[str, Sequence[str]]
    measures: Mapping[str, Mapping[str, Mapping[str, float]]]
    taus: Mapping[str, float]
    calibration: tuple[Calibration, ...]
    reliability: tuple[Bin, ...]
    provenance: Mapping[str, str]


def split_result(
    asked: QuestionSet,
    rows: Sequence[Row],
    systems: Sequence[System],
    taus: Mapping[str, float],
    several_passages: Collection[str] | None = None,
) -> SplitResult:
    """The values of a split's rows. `several_passages` holds ids, None where they are not known."""
    ids = [row.question.id for row in rows]
    groups = {ALL: ids, MULTI: [row.question.id for row in rows if is_multi(row.question)]}
    if several_passages is not None:
        groups[SEVERAL_PASSAGES] = [i for i in ids if i in several_passages]
    return SplitResult(
        split=asked.split,
        label=asked.label,
        single_answer=asked.single_answer,
        questions={row.question.id: row.question.text for row in rows},
        groups=groups,
        measures=measure_rows(rows, systems, taus, asked.single_answer),
        taus=taus,
        calibration=tuple(_calibration(rows, k, taus) for k in EVIDENCE_SIZES),
        reliability=tuple(reliability(rows, verifier_scores(max(EVIDENCE_SIZES)))),
        provenance=rows[0].provenance,
    )


def _calibration(rows: Sequence[Row], k: int, taus: Mapping[str, float]) -> Calibration:
    scores = verifier_scores(k)
    tau = taus.get(verifier_name(k), 1.0)
    given = [score for row in rows for score in scores(row)]
    return Calibration(
        k=k,
        candidates=len(given),
        error=calibration_error(rows, scores),
        above_tau=sum(score > tau for score in given),
        error_above_tau=calibration_error(rows, scores, above=tau),
    )


def figures_of(result: SplitResult) -> dict[str, dict[str, dict[str, Interval]]]:
    """Every figure of a split by group and subject: means over questions, medians of seconds, one ratio."""
    return {
        group: {subject: _figures(subject, measures, ids) for subject, measures in result.measures.items()}
        for group, ids in result.groups.items()
    }


def _figures(
    subject: str, measures: Mapping[str, Mapping[str, float]], ids: Collection[str]
) -> dict[str, Interval]:
    found: dict[str, Interval | None] = {}
    for measure, values in measures.items():
        if subject == "seconds":
            seconds = [values[i] for i in ids if i in values]
            found[measure] = bootstrap_median(seconds) if seconds else None
        else:
            found[measure] = interval(measure, measures, ids)
    if subject == "recaller":
        found[RECALLED_OF_COVERED] = interval(RECALLED_OF_COVERED, measures, ids)
    return {name: figure for name, figure in found.items() if figure is not None}


def save_results(results: Sequence[SplitResult], figures: Mapping[str, Figures], out: Path) -> None:
    """Write OUT/results.json."""
    content = {"figures": figures, "splits": results}
    (out / FILE).write_text(to_json(content, indent=1) + "\n", encoding="utf-8")


def load_results(out: Path) -> list[SplitResult]:
    """The splits of OUT/results.json. Raises MissingError where there is no such file."""
    path = out / FILE
    if not path.is_file():
        raise MissingError(f"There is no {path}. Make it with python -m benchmarks.quality --out {out}.")
    content = json.loads(path.read_text(encoding="utf-8"))
    return [from_plain(SplitResult, split) for split in content["splits"]]
