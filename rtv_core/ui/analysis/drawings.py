"""The plots of a run, each with its story in words and its numbers, for the page and the appendix alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.analysis.calibration import Bar, Reliability
from rtv_core.analysis.curves import CurvePoint, best_point
from rtv_core.analysis.rulings import VALID
from rtv_core.analysis.slices import Slice
from rtv_core.errors import InputError
from rtv_core.ui.analysis.plots import Band, Line, Stack, interval_plot, line_plot, stack_plot
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import number, points, points_of
from rtv_core.ui.markup import Markup
from rtv_core.ui.render.parts import counted

__all__ = [
    "Drawing",
    "Row",
    "draw_histogram",
    "draw_reliability",
    "draw_slices",
    "draw_tau",
    "reliability_diagrams",
]

KINDS = (
    ("gold", "equals gold"),
    ("valid", "judged right"),
    ("invalid", "judged wrong"),
    ("unclear", "unsure or split"),
    ("unjudged", "not judged"),
)
"""The kinds of `plots.FILLS`, bottom first, and their words."""

Row = tuple[str | Markup, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot under a title. `words` say what it shows; `rows`, under `columns`, are its numbers."""

    title: str
    plot: Markup
    words: str
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


def draw_tau(analysis: Analysis) -> Drawing:
    """F1, precision and recall against tau. Raises InputError for a run without scores or gold."""
    raw, corrected = analysis.curve, analysis.corrected_curve
    fields = [("F1 raw", raw, "f1", "raw")]
    fields += [("F1 corrected", corrected, "f1", "corrected")] if corrected else []
    fields += [("precision", raw, "precision", "precision"), ("recall", raw, "recall", "recall")]
    lines = [Line(name, _through(curve, field), style) for name, curve, field, style in fields]
    tau, best = analysis.run.tau, best_point(raw)
    marks = [] if tau is None else [(tau, f"tau {tau:.2f}")]
    words = f"Best tau by F1(all) + F1(multi): raw {best.tau:.2f} (F1 {points(best.f1)})"
    if corrected:
        own = best_point(corrected)
        words += f", corrected {own.tau:.2f} (F1 {points(own.f1)}; candidates not judged count as wrong)"
    words += f". Evidence of {counted(analysis.run.k, 'passage')}. Precision and recall are raw."
    told = f"F1 against tau: raw F1 is highest, {points(best.f1)}, at tau {best.tau:.2f}."
    rows = tuple(
        (
            f"{point.tau:.2f}",
            *(points(getattr(curve[place], field)) for _, curve, field, _ in fields),
            number(point.answers),
        )
        for place, point in enumerate(raw)
    )
    return Drawing(
        "F1, precision and recall against tau",
        line_plot(told, lines, "tau", "points of 100", marks),
        words,
        ("tau", *(name for name, *_ in fields), "answers"),
        rows,
    )


def reliability_diagrams(analysis: Analysis) -> list[tuple[str, str, Reliability]]:
    """Name, line style and numbers: against gold and, if people judged, against their verdicts.

    Raises InputError where there is none.
    """
    found, reason = [], None
    for name, style, get in (
        ("by gold, all candidates", "raw", lambda: analysis.reliability),
        ("by verdicts, predictions", "corrected", lambda: analysis.judged_reliability),
    ):
        try:
            diagram = get()
        except InputError as error:
            reason = reason or error
            continue
        if style == "raw" or sum(analysis.bases.values()):
            found.append((name, style, diagram))
    if not found:
        raise reason or InputError("No candidate has both a score and a known truth.")
    return found


def draw_reliability(analysis: Analysis) -> Drawing:
    """The share that is right against the mean score. Raises InputError where there is nothing to show."""
    lines, words = [Line("ideal", ((0.0, 0.0), (1.0, 1.0)), "ideal")], []
    for name, style, diagram in reliability_diagrams(analysis):
        places = tuple((part.p_right, part.right.share) for part in diagram.bins)
        bars = tuple((part.right.low, part.right.high) for part in diagram.bins)
        lines.append(Line(name, places, style, dots=True, bars=bars))
        words.append(
            f"{name[0].upper()}{name[1:]}: expected calibration error {diagram.error:.3f}, "
            f"Brier score {diagram.brier:.3f}, n = {diagram.items:,}."
        )
    told = f"Share right against mean score. {' '.join(words)}"
    plot = line_plot(told, lines, "mean validity score", "% right")
    return Drawing("Reliability of the validity score", plot, " ".join(words))


def draw_histogram(analysis: Analysis) -> Drawing | None:
    """The predictions by score and verdict; None for a run without scores."""
    if not (bars := analysis.histogram):
        return None
    columns: dict[tuple[float, float], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    totals: dict[str, int] = defaultdict(int)
    for bar in bars:
        columns[bar.low, bar.high][_kind(bar)] += bar.count
        totals[_kind(bar)] += bar.count
    stacks = [Stack(low, high, tuple(parts.items())) for (low, high), parts in columns.items()]
    words = ", ".join(f"{totals[kind]:,} {name}" for kind, name in KINDS if totals[kind])
    told = f"{counted(sum(totals.values()), 'prediction')} by score: {words}."
    rows = tuple(
        (f"{low:.2f} to {high:.2f}", *(f"{parts.get(kind, 0):,}" for kind, _ in KINDS))
        for (low, high), parts in columns.items()
    )
    return Drawing(
        "Predictions by score and verdict",
        stack_plot(told, stacks, "validity score", "predictions", KINDS),
        told,
        ("scores", *(name for _, name in KINDS)),
        rows,
    )


def draw_slices(title: str, raw: Sequence[Slice], corrected: Sequence[Slice], changed: bool) -> Drawing:
    """F1 by kind of question, corrected too where verdicts `changed` the gold."""
    names = ["raw", *(["corrected"] if changed else [])]
    bands, rows = [], []
    for one, other in zip(raw, corrected, strict=True):
        own = list(zip(names, (one.f1, other.f1), strict=False))
        bands.append(Band(one.name, tuple((style, f1.mean, f1.low, f1.high) for style, f1 in own)))
        rows.append((one.name, f"{one.questions:,}", *(points_of(f1) for _, f1 in own)))
    told = f"{title}: {', '.join(f'{one.name} {points(one.f1.mean)}' for one in raw)}."
    plot = interval_plot(told, bands, "F1, points of 100", [(name, name) for name in names])
    return Drawing(title, plot, "", ("", "questions", *(f"F1 {name}" for name in names)), tuple(rows))


def _through(curve: Sequence[CurvePoint], field: str) -> tuple[tuple[float, float], ...]:
    return tuple((point.tau, getattr(point, field)) for point in curve)


def _kind(bar: Bar) -> str:
    """The kind of a bar of the histogram, one of `KINDS`."""
    if bar.verdict in VALID:
        return "valid"
    kinds = {"equals gold": "gold", "invalid": "invalid", "not judged": "unjudged"}
    return kinds.get(bar.verdict, "unclear")
