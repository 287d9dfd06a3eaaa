"""F1 against tau, reliability, scores by verdict, and F1 by kind of question: plots with their numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rtv_core.analysis.calibration import Bar, Reliability
from rtv_core.analysis.curves import CurvePoint, best_point
from rtv_core.analysis.rulings import VALID
from rtv_core.analysis.slices import Slice
from rtv_core.errors import InputError
from rtv_core.ui.analysis.plots import Band, Line, Stack, interval_plot, line_plot, stack_plot
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import (
    drawn,
    figure,
    note,
    number,
    opener,
    points,
    points_of,
    section,
    share_text,
    table,
)
from rtv_core.ui.markup import Markup, tag
from rtv_core.ui.render.parts import counted

__all__ = ["KINDS", "render_curves", "verdict_kind"]

KINDS = (
    ("gold", "equals gold"),
    ("valid", "judged right"),
    ("invalid", "judged wrong"),
    ("unclear", "unsure or split"),
    ("unjudged", "not judged"),
)
"""The kinds of `plots.FILLS`, bottom first, and their words."""


def render_curves(analysis: Analysis, turn: int) -> Markup:
    """The plots of a run."""
    return drawn(
        turn,
        section(
            "Scores and thresholds",
            tag(
                "div",
                _tau(analysis),
                _reliability(analysis),
                _histogram(analysis),
                class_="rtv-plots",
            ),
            name="curves",
        ),
        section("Kinds of questions", tag("div", *_slices(analysis), class_="rtv-plots"), name="slices"),
    )


def verdict_kind(bar: Bar) -> str:
    """The kind of a bar of the histogram, one of `KINDS`."""
    if bar.verdict in VALID:
        return "valid"
    kinds = {"equals gold": "gold", "invalid": "invalid", "not judged": "unjudged"}
    return kinds.get(bar.verdict, "unclear")


def _tau(analysis: Analysis) -> Markup:
    title = "F1, precision and recall against tau"
    try:
        raw, corrected = analysis.curve, analysis.corrected_curve
    except InputError as error:
        return figure(title, note(str(error)))
    lines = [
        _curve_line("F1 raw", raw, "f1", "raw"),
        *([_curve_line("F1 corrected", corrected, "f1", "corrected")] if corrected else []),
        _curve_line("precision", raw, "precision", "precision"),
        _curve_line("recall", raw, "recall", "recall"),
    ]
    tau, best = analysis.run.tau, best_point(raw)
    marks = [] if tau is None else [(tau, f"tau {tau:.2f}")]
    told = f"F1 against tau: raw F1 is highest, {points(best.f1)}, at tau {best.tau:.2f}."
    words = [f"Best tau raw {best.tau:.2f} (F1 {points(best.f1)})"]
    if corrected:
        best_corrected = best_point(corrected)
        words.append(f"corrected {best_corrected.tau:.2f} (F1 {points(best_corrected.f1)})")
    text = f"{', '.join(words)}, by F1(all) + F1(multi). For k {analysis.run.k}."
    if corrected:
        text += " Corrected: candidates that nobody judged count as wrong."
    return figure(
        title,
        line_plot(told, lines, "tau", "points of 100", marks),
        _reader(raw, corrected, 0.5 if tau is None else tau),
        note(text),
        _numbers(_curve_table(raw, corrected)),
        file="tau",
        plot=True,
    )


def _reader(raw: Sequence[CurvePoint], corrected: Sequence[CurvePoint], tau: float) -> Markup:
    """A slider that reads the curve: the page looks the row up in the table of its numbers."""
    place = min(range(len(raw)), key=lambda i: abs(raw[i].tau - tau))
    slider = tag(
        "input",
        type="range",
        min=0,
        max=len(raw) - 1,
        value=place,
        data_read_curve=True,
        aria_label="Read the curve at tau",
    )
    return tag("div", slider, tag("output", _at(raw, corrected, place)), class_="rtv-reader")


def _at(raw: Sequence[CurvePoint], corrected: Sequence[CurvePoint], place: int) -> str:
    point = raw[place]
    text = f"tau {point.tau:.2f} · F1 raw {points(point.f1)}"
    if corrected:
        text += f" · F1 corrected {points(corrected[place].f1)}"
    return f"{text} · precision {points(point.precision)} · recall {points(point.recall)}"


def _curve_line(name: str, curve: Sequence[CurvePoint], field: str, style: str) -> Line:
    return Line(name, tuple((point.tau, getattr(point, field)) for point in curve), style)


def _curve_table(raw: Sequence[CurvePoint], corrected: Sequence[CurvePoint]) -> Markup:
    columns = ["tau", "F1 raw", *(["F1 corrected"] if corrected else []), "precision", "recall", "answers"]
    rows = []
    for place, point in enumerate(raw):
        own = [points(corrected[place].f1)] if corrected else []
        rest = [points(point.precision), points(point.recall), number(point.answers)]
        rows.append([f"{point.tau:.2f}", points(point.f1), *own, *rest])
    return table("F1, precision and recall by tau, in points of 100", columns, rows, class_="curve")


def _reliability(analysis: Analysis) -> Markup:
    title = "Reliability of the validity score"
    lines = [Line("ideal", ((0.0, 0.0), (1.0, 1.0)), "ideal")]
    found = []
    for name, style, get in (
        ("by gold, all candidates", "raw", lambda: analysis.reliability),
        ("by verdicts, predictions", "corrected", lambda: analysis.judged_reliability),
    ):
        if style == "corrected" and not sum(analysis.bases.values()):
            continue
        try:
            diagram = get()
        except InputError as error:
            if not found and style == "raw":
                return figure(title, note(str(error)))
            continue
        found.append((name, diagram))
        lines.append(_reliability_line(name, diagram, style))
    told = "; ".join(f"{name}: expected calibration error {d.error:.3f}" for name, d in found)
    words = " ".join(
        f"{name[0].upper()}{name[1:]}: ECE {d.error:.3f}, Brier {d.brier:.3f}, n = {d.items:,}."
        for name, d in found
    )
    rows = [row for place, own in enumerate(found) for row in _reliability_rows(*own, opens=place == 0)]
    groups = [name for name, _ in found]
    return figure(
        title,
        line_plot(f"Share right against mean score. {told}", lines, "mean validity score", "% right"),
        note(words),
        _numbers(
            table("Share right by score", ("scores", "mean score", "share right", "n"), rows, groups=groups)
        ),
        file="reliability",
        plot=True,
    )


def _reliability_line(name: str, diagram: Reliability, style: str) -> Line:
    return Line(
        name,
        tuple((part.p_right, part.right.share) for part in diagram.bins),
        style,
        dots=True,
        bars=tuple((part.right.low, part.right.high) for part in diagram.bins),
    )


def _reliability_rows(name: str, diagram: Reliability, opens: bool) -> list[list[str | Markup]]:
    rows: list[list[str | Markup]] = [[name]]
    for part in diagram.bins:
        scores = f"{part.low:.1f} to {part.high:.1f}"
        count = opener(f"{part.right.of:,}", f"score:{scores}", f"scores {scores}", off=not opens)
        rows.append([scores, f"{part.p_right:.2f}", share_text(part.right), count])
    return rows


def _histogram(analysis: Analysis) -> Markup | None:
    bars = analysis.histogram
    if not bars:
        return None
    columns: dict[tuple[float, float], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for bar in bars:
        columns[bar.low, bar.high][verdict_kind(bar)] += bar.count
    stacks = [Stack(low, high, tuple(parts.items())) for (low, high), parts in columns.items()]
    total = sum(bar.count for bar in bars)
    rows = [
        [f"{low:.2f} to {high:.2f}", *(f"{parts.get(kind, 0):,}" for kind, _ in KINDS)]
        for (low, high), parts in columns.items()
    ]
    return figure(
        "Predictions by score and verdict",
        stack_plot(
            f"{counted(total, 'prediction')} by score", stacks, "validity score", "predictions", KINDS
        ),
        _numbers(table("Predictions by score and verdict", ("scores", *(n for _, n in KINDS)), rows)),
        file="histogram",
        plot=True,
    )


def _slices(analysis: Analysis) -> list[Markup]:
    titles = {"gold": "F1 by number of gold answers", "word": "F1 by question word"}
    if analysis.scores is None:
        return [note("No gold is known: there is no F1 to split up.")]
    changed = bool(analysis.corrected.additions)
    return [_sliced(title, name, *analysis.slices[name], changed) for name, title in titles.items()]


def _sliced(title: str, name: str, raw: Sequence[Slice], corrected: Sequence[Slice], changed: bool) -> Markup:
    bands, rows = [], []
    for one, other in zip(raw, corrected, strict=True):
        values = [("raw", one.f1.mean, one.f1.low, one.f1.high)]
        if changed:
            values.append(("corrected", other.f1.mean, other.f1.low, other.f1.high))
        bands.append(Band(one.name, tuple(values)))
        count = opener(f"{one.questions:,}", f"{name}:{one.name}", f"{title}: {one.name}")
        rows.append([one.name, count, points_of(one.f1), *([points_of(other.f1)] if changed else [])])
    legend = [("raw", "raw"), *([("corrected", "corrected")] if changed else [])]
    columns = ("", "questions", "F1 raw", *(["F1 corrected"] if changed else []))
    what = "gold answers" if name == "gold" else "question words"
    return figure(
        title,
        interval_plot(f"{title}, {len(raw)} {what}", bands, "F1, points of 100", legend),
        table(title, columns, rows),
        file=f"slices-{name}",
        plot=True,
    )


def _numbers(made: Markup) -> Markup:
    return tag("details", tag("summary", "numbers"), made, class_="rtv-numbers")
