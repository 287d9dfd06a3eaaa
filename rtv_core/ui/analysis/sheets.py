"""Every figure as rows for a spreadsheet: full precision, a header first, safe against formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rtv_core.analysis.missing import Missing
from rtv_core.analysis.scores import Scores
from rtv_core.analysis.shares import Share
from rtv_core.annotation.agreement import AXES, matrix_rows
from rtv_core.errors import InputError
from rtv_core.metrics import Interval
from rtv_core.records import RunQuestion
from rtv_core.store.export import guarded
from rtv_core.ui.analysis.people import adjudicated
from rtv_core.ui.analysis.state import Analysis, Pair

__all__ = ["PRIVATE", "SHEETS", "csv_text", "question_rows", "sheet"]

Rows = Iterable[Sequence[Any]]
Sheet = Callable[[Analysis, Pair | None], Rows]

PRIVATE = frozenset(("disagreements", *(f"matrix-{axis}" for axis in AXES)))
"""Sheets that say what people said of single answers."""


def sheet(name: str, analysis: Analysis, pair: Pair | None) -> Rows:
    """The rows of a figure, the header first. Raises InputError for one that there is not."""
    if name not in SHEETS:
        raise InputError("There is no such table. Choose one on the page.")
    return SHEETS[name](analysis, pair)


def csv_text(rows: Rows) -> str:
    """The rows as CSV: texts that a spreadsheet might run as formulas are guarded, None is empty."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    for row in rows:
        writer.writerow(["" if c is None else guarded(c) if isinstance(c, str) else c for c in row])
    return out.getvalue()


def question_rows(questions: Iterable[RunQuestion]) -> Rows:
    """The questions of a list: one row a gold answer or prediction."""
    yield "position", "id", "question", "kind", "answer", "score", "gold", "lost"
    for question in questions:
        own = question.position, question.question.id, question.question.text
        for gold in question.gold:
            yield *own, "gold", gold.answer, None, gold.answer, gold.lost
        for answer in question.answers:
            if answer.predicted:
                yield *own, "prediction", answer.answer, answer.p_right, answer.gold, None


def _scores(analysis: Analysis, _: Pair | None) -> Rows:
    yield "measure", "gold", "mean", "low", "high", "questions"
    found = analysis.scores
    if found is None:
        return
    for gold, scores in (("raw", found.raw), ("corrected", found.corrected)):
        yield from _score_rows(gold, scores)
    for gold, scores in (("raw", found.raw_multi), ("corrected", found.corrected_multi)):
        if scores:
            yield "F1, several answers", gold, *_ends(scores.f1), scores.questions
    yield "F1 gain", "corrected - raw", *_ends(found.gain), found.raw.questions
    if (estimate := analysis.estimate) is not None:
        for name in ("f1", "precision", "recall"):
            yield name, "corrected, estimated", *_ends(getattr(estimate, name)), found.raw.questions


def _score_rows(gold: str, scores: Scores) -> Rows:
    for name in ("f1", "precision", "recall", "f1_official"):
        yield name, gold, *_ends(getattr(scores, name)), scores.questions


def _table6(analysis: Analysis, _: Pair | None) -> Rows:
    plain = ("count", "of", "share", "low", "high")
    weighted = [f"weighted {name}" for name in plain]
    yield "mistake", "kind", *plain, *weighted, *(f"published {name}" for name in plain)
    for kind, part in (("wrong prediction", analysis.table6.wrong), ("missed gold", analysis.table6.missed)):
        for row in part.rows:
            yield kind, row.name, *_share(row.plain), *_share(row.weighted), *_share(row.published)
        for name in ("unsure", "split", "unjudged", "total"):
            yield kind, name, getattr(part, name)


def _blame(analysis: Analysis, _: Pair | None) -> Rows:
    yield "stage", "gold answers", "of", "share", "low", "high"
    for share in analysis.blame:
        yield share.name, *_share(share)


def _tau(analysis: Analysis, _: Pair | None) -> Rows:
    yield "gold", "tau", "f1", "precision", "recall", "f1 several answers", "answers"
    for gold, curve in (("raw", analysis.curve), ("corrected", analysis.corrected_curve)):
        for p in curve:
            yield gold, p.tau, p.f1, p.precision, p.recall, p.f1_multi, p.answers


def _reliability(analysis: Analysis, _: Pair | None) -> Rows:
    yield "truth", "from", "to", "mean score", "right", "n", "share right", "low", "high", "ece", "brier"
    for truth, get in (
        ("gold", lambda: analysis.reliability),
        ("verdicts", lambda: analysis.judged_reliability),
    ):
        try:
            found = get()
        except InputError:
            continue
        for part in found.bins:
            ends = part.low, part.high, part.p_right
            yield truth, *ends, *_share(part.right), found.error, found.brier


def _histogram(analysis: Analysis, _: Pair | None) -> Rows:
    yield "from", "to", "verdict", "predictions"
    for bar in analysis.histogram:
        yield bar.low, bar.high, bar.verdict, bar.count


def _sliced(name: str) -> Sheet:
    def rows(analysis: Analysis, _: Pair | None) -> Rows:
        yield "kind", "gold", "questions", "f1", "low", "high"
        for gold, slices in zip(("raw", "corrected"), analysis.slices[name], strict=True):
            for own in slices:
                yield own.name, gold, own.questions, *_ends(own.f1)

    return rows


def _agreement(analysis: Analysis, _: Pair | None) -> Rows:
    yield "axis", "measure", "value", "low", "high", "items", "judged", "shared", "annotators", "note"
    for axis in AXES:
        found = analysis.agreement(axis)
        for c in (found.percent, found.kappa, found.alpha):
            counts = c.items, found.judged, found.shared, len(found.annotators)
            yield axis, c.name, c.value, c.low, c.high, *counts, c.note


def _matrix(axis: str) -> Sheet:
    return lambda analysis, _: matrix_rows(analysis.ratings(axis))


def _disagreements(analysis: Analysis, _: Pair | None) -> Rows:
    yield "question", "answer", "annotator", "label", "gold", "evidence", "note", "blind", "settled as"
    for found in analysis.disagreements:
        settled = adjudicated(analysis, found.item.trace_id, found.item.answer)
        for j in found.judgements:
            said = j.annotator, j.label, j.gold, j.evidence, j.note, str(j.blind).lower()
            yield found.item.question, found.item.answer, *said, settled.label if settled else None


def _missing(found: Missing) -> Rows:
    yield "what", "answers", "low", "high"
    for name, count in found.sources:
        yield f"found by {name}", count
    yield "found by more than one", found.overlap
    yield "found in all", found.found
    yield f"in all ({found.method})", found.total, found.low, found.high
    yield "still missing", found.missing


def _pair(_: Analysis, pair: Pair | None) -> Rows:
    pair = _chosen(pair)
    yield "measure", "run", "mean", "low", "high", "questions"
    names = pair.first.run.name, pair.second.run.name
    measures = [(name, getattr(pair.raw, name)) for name in ("f1", "precision", "recall", "f1_multi")]
    if pair.corrected is not None:
        measures.append(("f1 on corrected gold", pair.corrected.f1))
    for measure, found in measures:
        if found is not None:
            for run, own in zip(
                (*names, "difference"), (found.first, found.second, found.difference), strict=True
            ):
                yield measure, run, *_ends(own), pair.raw.questions


def _finds(_: Analysis, pair: Pair | None) -> Rows:
    pair = _chosen(pair)
    yield "question", "answer", "only found by"
    for run, finds in ((pair.first.run, pair.raw.only_first), (pair.second.run, pair.raw.only_second)):
        for find in finds:
            yield find.question, find.answer, run.name


def _chosen(pair: Pair | None) -> Pair:
    if pair is None:
        raise InputError("Choose a run to compare with first.")
    return pair


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.mean, interval.low, interval.high


def _share(share: Share | None) -> tuple[float | int | None, ...]:
    if share is None:
        return (None,) * 5
    return share.count, share.of, share.share, share.low, share.high


SHEETS: dict[str, Sheet] = {
    "agreement": _agreement,
    "blame": _blame,
    "disagreements": _disagreements,
    "finds": _finds,
    "histogram": _histogram,
    "missing-annotators": lambda analysis, _: _missing(analysis.missing),
    "missing-systems": lambda _, pair: _missing(_chosen(pair).missing),
    "pair": _pair,
    "reliability": _reliability,
    "scores": _scores,
    "slices-gold": _sliced("gold"),
    "slices-word": _sliced("word"),
    "table6": _table6,
    "tau": _tau,
} | {f"matrix-{axis}": _matrix(axis) for axis in AXES}
"""By name, what a figure's `data-file` asks for."""
