"""The plots of the appendix, each with its story in words and its numbers in sight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rtv_core.analysis.calibration import Reliability
from rtv_core.analysis.curves import CurvePoint, best_point
from rtv_core.analysis.slices import Slice
from rtv_core.errors import InputError
from rtv_core.ui.analysis.curves import KINDS, verdict_kind
from rtv_core.ui.analysis.plots import Band, Line, Stack, interval_plot, line_plot, stack_plot
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import note, number, points, points_of, table
from rtv_core.ui.markup import Markup, tag
from rtv_core.ui.render.parts import counted

__all__ = ["render_kinds", "render_plots"]

TAUS_SHOWN = 10


def render_plots(analysis: Analysis) -> Markup:
    """F1 against tau, reliability, and scores by verdict, as far as the run has scores."""
    made = [_tau(analysis), _reliability(analysis), _histogram(analysis)]
    if not any(made):
        return note(
            "The predictions of this run have no scores, or no gold is known: there is nothing to plot."
        )
    return tag("div", *made, class_="plots")


def render_kinds(analysis: Analysis) -> Markup | None:
    """F1 by number of gold answers and by question word."""
    if analysis.scores is None:
        return None
    titles = {"gold": "F1 by number of gold answers", "word": "F1 by question word"}
    changed = bool(analysis.corrected.additions)
    made = [_sliced(title, *analysis.slices[name], changed) for name, title in titles.items()]
    return tag("div", *made, class_="plots")


def _plot(title: str, plot: Markup, *words: str | Markup) -> Markup:
    return tag("figure", tag("h3", title), plot, tag("figcaption", *words))


def _tau(analysis: Analysis) -> Markup | None:
    try:
        raw, corrected = analysis.curve, analysis.corrected_curve
    except InputError:
        return None
    lines = [
        _curve("F1 raw", raw, "f1", "raw"),
        *([_curve("F1 corrected", corrected, "f1", "corrected")] if corrected else []),
        _curve("precision", raw, "precision", "precision"),
        _curve("recall", raw, "recall", "recall"),
    ]
    tau, best = analysis.run.tau, best_point(raw)
    marks = [] if tau is None else [(tau, f"tau {tau:.2f}")]
    words = f"Best tau by F1(all) + F1(multi): raw {best.tau:.2f} (F1 {points(best.f1)})"
    if corrected:
        own = best_point(corrected)
        words += f", corrected {own.tau:.2f} (F1 {points(own.f1)}; candidates not judged count as wrong)"
    words += f". Evidence of {counted(analysis.run.k, 'passage')}. Precision and recall are raw."
    columns = ["tau", "F1 raw", *(["F1 corrected"] if corrected else []), "precision", "recall", "answers"]
    rows = [
        [
            f"{point.tau:.2f}",
            points(point.f1),
            *([points(corrected[place].f1)] if corrected else []),
            points(point.precision),
            points(point.recall),
            number(point.answers),
        ]
        for place, point in enumerate(raw)
        if place % (len(raw) // TAUS_SHOWN) == 0
    ]
    told = f"F1 against tau; raw F1 is highest, {points(best.f1)}, at tau {best.tau:.2f}."
    title = "F1, precision and recall against tau"
    return _plot(
        title, line_plot(told, lines, "tau", "points of 100", marks), words, table(title, columns, rows)
    )


def _curve(name: str, curve: Sequence[CurvePoint], field: str, style: str) -> Line:
    return Line(name, tuple((point.tau, getattr(point, field)) for point in curve), style)


def _reliability(analysis: Analysis) -> Markup | None:
    found: list[tuple[str, str, Reliability]] = []
    for name, style in (("by gold, all candidates", "raw"), ("by verdicts, predictions", "corrected")):
        try:
            own = analysis.reliability if style == "raw" else analysis.judged_reliability
        except InputError:
            continue
        if style == "raw" or sum(analysis.bases.values()):
            found.append((name, style, own))
    if not found:
        return None
    lines = [Line("ideal", ((0.0, 0.0), (1.0, 1.0)), "ideal")]
    for name, style, diagram in found:
        places = tuple((part.p_right, part.right.share) for part in diagram.bins)
        bars = tuple((part.right.low, part.right.high) for part in diagram.bins)
        lines.append(Line(name, places, style, dots=True, bars=bars))
    words = " ".join(
        f"{name[0].upper()}{name[1:]}: expected calibration error {own.error:.3f}, "
        f"Brier score {own.brier:.3f}, n = {own.items:,}."
        for name, _, own in found
    )
    title = "Reliability of the validity score"
    plot = line_plot(f"Share right against mean score. {words}", lines, "mean validity score", "% right")
    return _plot(title, plot, words)


def _histogram(analysis: Analysis) -> Markup | None:
    if not (bars := analysis.histogram):
        return None
    columns: dict[tuple[float, float], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    totals: dict[str, int] = defaultdict(int)
    for bar in bars:
        columns[bar.low, bar.high][verdict_kind(bar)] += bar.count
        totals[verdict_kind(bar)] += bar.count
    stacks = [Stack(low, high, tuple(parts.items())) for (low, high), parts in columns.items()]
    words = ", ".join(f"{totals[kind]:,} {name}" for kind, name in KINDS if totals[kind])
    told = f"{counted(sum(totals.values()), 'prediction')} by score: {words}."
    title = "Predictions by score and verdict"
    return _plot(title, stack_plot(told, stacks, "validity score", "predictions", KINDS), told)


def _sliced(title: str, raw: Sequence[Slice], corrected: Sequence[Slice], changed: bool) -> Markup:
    bands, rows = [], []
    for one, other in zip(raw, corrected, strict=True):
        own = [("raw", one.f1), *([("corrected", other.f1)] if changed else [])]
        bands.append(Band(one.name, tuple((style, f1.mean, f1.low, f1.high) for style, f1 in own)))
        rows.append([one.name, f"{one.questions:,}", *(points_of(f1) for _, f1 in own)])
    names = [("raw", "raw"), *([("corrected", "corrected")] if changed else [])]
    columns = ("", "questions", *(f"F1 {name}" for _, name in names))
    plot = interval_plot(title, bands, "F1, points of 100", names)
    return _plot(title, plot, table(title, columns, rows))
