"""Every figure as rows for a spreadsheet: full precision, a header first, safe against formulas."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rtv_core.analysis.columns import COLUMNS
from rtv_core.analysis.comparison import Difference
from rtv_core.analysis.filters import read_conditions
from rtv_core.analysis.missing import Missing
from rtv_core.analysis.scores import Scores
from rtv_core.analysis.shares import Share
from rtv_core.annotation.agreement import AXES, matrix_rows
from rtv_core.errors import InputError
from rtv_core.metrics import Interval
from rtv_core.records import RunQuestion
from rtv_core.store.export import guarded
from rtv_core.ui.analysis.people import adjudicated
from rtv_core.ui.analysis.state import Look, Pair, Rounds

__all__ = ["PRIVATE", "SHEETS", "csv_text", "question_rows", "sheet"]

Rows = Iterable[Sequence[Any]]
Sheet = Callable[[Look], Rows]

ROUNDS = ("rounds-scores", "rounds-table6", "rounds-changes")
PRIVATE = frozenset(("disagreements", *ROUNDS, *(f"matrix-{axis}" for axis in AXES)))
"""Sheets that say what people said of single answers."""


def sheet(name: str, look: Look) -> Rows:
    """The rows of a figure, the header first. Raises InputError for one that there is not."""
    if name not in SHEETS:
        raise InputError("There is no such table. Choose one on the page.")
    return SHEETS[name](look)


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


def _scores(look: Look) -> Rows:
    yield "measure", "gold", "mean", "low", "high", "questions"
    found = look.analysis.scores
    if found is None:
        return
    for gold, scores in (("raw", found.raw), ("corrected", found.corrected)):
        yield from _score_rows(gold, scores)
    for gold, scores in (("raw", found.raw_multi), ("corrected", found.corrected_multi)):
        if scores:
            yield "F1, several answers", gold, *_ends(scores.f1), scores.questions
    yield "F1 gain", "corrected - raw", *_ends(found.gain), found.raw.questions
    if (estimate := look.analysis.estimate) is not None:
        for name in ("f1", "precision", "recall"):
            yield name, "corrected, estimated", *_ends(getattr(estimate, name)), found.raw.questions


def _score_rows(gold: str, scores: Scores) -> Rows:
    for name in ("f1", "precision", "recall", "f1_official"):
        yield name, gold, *_ends(getattr(scores, name)), scores.questions


def _table6(look: Look) -> Rows:
    plain = ("count", "of", "share", "low", "high")
    weighted = [f"weighted {name}" for name in plain]
    yield "mistake", "kind", *plain, *weighted, *(f"published {name}" for name in plain)
    for kind, part in (
        ("wrong prediction", look.analysis.table6.wrong),
        ("missed gold", look.analysis.table6.missed),
    ):
        for row in part.rows:
            yield kind, row.name, *_share(row.plain), *_share(row.weighted), *_share(row.published)
        for name in ("unsure", "split", "unjudged", "total"):
            yield kind, name, getattr(part, name)


def _blame(look: Look) -> Rows:
    yield "stage", "gold answers", "of", "share", "low", "high"
    for share in look.analysis.blame:
        yield share.name, *_share(share)


def _tau(look: Look) -> Rows:
    yield "gold", "tau", "f1", "precision", "recall", "f1 several answers", "answers"
    for gold, curve in (("raw", look.analysis.curve), ("corrected", look.analysis.corrected_curve)):
        for p in curve:
            yield gold, p.tau, p.f1, p.precision, p.recall, p.f1_multi, p.answers


def _reliability(look: Look) -> Rows:
    yield "truth", "from", "to", "mean score", "right", "n", "share right", "low", "high", "ece", "brier"
    for truth, get in (
        ("gold", lambda: look.analysis.reliability),
        ("verdicts", lambda: look.analysis.judged_reliability),
    ):
        try:
            found = get()
        except InputError:
            continue
        for part in found.bins:
            ends = part.low, part.high, part.p_right
            yield truth, *ends, *_share(part.right), found.error, found.brier


def _histogram(look: Look) -> Rows:
    yield "from", "to", "verdict", "predictions"
    for bar in look.analysis.histogram:
        yield bar.low, bar.high, bar.verdict, bar.count


def _sliced(name: str) -> Sheet:
    def rows(look: Look) -> Rows:
        yield "kind", "gold", "questions", "f1", "low", "high"
        for gold, slices in zip(("raw", "corrected"), look.analysis.slices(name), strict=True):
            for own in slices:
                yield own.name, gold, own.questions, *_ends(own.f1)

    return rows


def _agreement(look: Look) -> Rows:
    yield "axis", "measure", "value", "low", "high", "items", "judged", "shared", "annotators", "note"
    for axis in AXES:
        found = look.analysis.agreement(axis)
        for c in (found.percent, found.kappa, found.alpha):
            counts = c.items, found.judged, found.shared, len(found.annotators)
            yield axis, c.name, c.value, c.low, c.high, *counts, c.note


def _matrix(axis: str) -> Sheet:
    return lambda look: matrix_rows(look.analysis.ratings(axis))


def _disagreements(look: Look) -> Rows:
    yield "question", "answer", "annotator", "label", "gold", "evidence", "note", "blind", "settled as"
    for found in look.analysis.disagreements:
        settled = adjudicated(look.analysis, found.item.trace_id, found.item.answer)
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


def _pair(look: Look) -> Rows:
    pair = _chosen(look)
    yield "measure", "run", "mean", "low", "high", "questions"
    names = pair.first.run.name, pair.second.run.name
    measures = [(name, getattr(pair.raw, name)) for name in ("f1", "precision", "recall", "f1_multi")]
    if pair.corrected is not None:
        measures.append(("f1 on corrected gold", pair.corrected.f1))
    for measure, found in measures:
        if found is not None:
            yield from _differences(measure, names, found, pair.raw.questions)


def _finds(look: Look) -> Rows:
    pair = _chosen(look)
    yield "question", "answer", "only found by"
    for run, finds in ((pair.first.run, pair.raw.only_first), (pair.second.run, pair.raw.only_second)):
        for find in finds:
            yield find.question, find.answer, run.name


def _differences(measure: str, names: Sequence[str], found: Difference, questions: int) -> Rows:
    for name, own in zip((*names, "difference"), (found.first, found.second, found.difference), strict=True):
        yield measure, name, *_ends(own), questions


def _by_filter(look: Look) -> Rows:
    yield "filter", "conditions", "gold", "questions", "f1", "low", "high"
    for saved in look.saved:
        count, *found = look.analysis.f1_where(read_conditions(saved.conditions))
        for gold, own in zip(("raw", "corrected"), found, strict=True):
            ends = _ends(own.f1) if own else (None,) * 3
            yield saved.name, " and ".join(saved.conditions), gold, count, *ends


def _round_scores(look: Look) -> Rows:
    rounds = _both(look)
    yield "measure", "round", "mean", "low", "high", "questions"
    for how, found in (("corrected", rounds.compared.corrected), ("estimated", rounds.compared.estimated)):
        for name, own in found.items():
            yield from _differences(f"{name} {how}", rounds.names, own, rounds.compared.questions)


def _round_table6(look: Look) -> Rows:
    rounds = _both(look)
    plain = ("count", "of", "share", "low", "high")
    yield "round", "mistake", "kind", *plain, *(f"weighted {name}" for name in plain)
    for name, table in zip(rounds.names, rounds.compared.table6, strict=True):
        for kind, part in (("wrong prediction", table.wrong), ("missed gold", table.missed)):
            for row in part.rows:
                yield name, kind, row.name, *_share(row.plain), *_share(row.weighted)


def _round_changes(look: Look) -> Rows:
    rounds = _both(look)
    said = [f"{name}: {what}" for name in rounds.names for what in ("label", "gold")]
    yield "question", "answer", *said
    for own in rounds.compared.changes:
        yield own.question, own.answer, *(x for r in (own.first, own.second) for x in (r.label, r.gold))


def _both(look: Look) -> Rounds:
    if (rounds := look.rounds()) is None:
        raise InputError("Choose two rounds of judgement first.")
    return rounds


def _chosen(look: Look) -> Pair:
    if look.pair is None:
        raise InputError("Choose a run to compare with first.")
    return look.pair


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
    "missing-annotators": lambda look: _missing(look.analysis.missing),
    "missing-pair": lambda look: _missing(_chosen(look).missing),
    "missing-systems": lambda look: _missing(look.missing()),
    "pair": _pair,
    "reliability": _reliability,
    "rounds-changes": _round_changes,
    "rounds-scores": _round_scores,
    "rounds-table6": _round_table6,
    "scores": _scores,
    "slices-filters": _by_filter,
    "table6": _table6,
    "tau": _tau,
    **{f"matrix-{axis}": _matrix(axis) for axis in AXES},
    **{f"slices-{name}": _sliced(name) for name, column in COLUMNS.items() if column.kinds},
}
"""By name, what a figure's `data-file` asks for."""
