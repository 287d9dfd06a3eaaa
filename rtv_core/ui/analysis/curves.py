"""F1 against tau, reliability, and scores by verdict, with buttons that open what is behind a figure."""

from __future__ import annotations

from rtv_core.analysis.calibration import Reliability
from rtv_core.errors import InputError
from rtv_core.ui.analysis.drawings import (
    Drawing,
    draw_histogram,
    draw_reliability,
    draw_tau,
    reliability_diagrams,
)
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import drawn, figure, note, opener, section, share_text, table
from rtv_core.ui.markup import Markup, tag

__all__ = ["render_curves"]


def render_curves(analysis: Analysis, turn: int) -> Markup:
    """The plots of a run."""
    plots = tag("div", _tau(analysis), _reliability(analysis), _histogram(analysis), class_="rtv-plots")
    return drawn(turn, section("Scores and thresholds", plots, name="curves"))


def _tau(analysis: Analysis) -> Markup:
    try:
        made = draw_tau(analysis)
    except InputError as error:
        return figure("F1, precision and recall against tau", note(str(error)))
    caption = "F1, precision and recall by tau, in points of 100"
    return figure(
        made.title,
        made.plot,
        _reader(made, 0.5 if analysis.run.tau is None else analysis.run.tau),
        note(made.words),
        _numbers(table(caption, made.columns, made.rows, class_="curve")),
        file="tau",
        plot=True,
    )


def _reader(made: Drawing, tau: float) -> Markup:
    """A slider that reads the curve: the page looks the row up in the table of its numbers."""
    place = min(range(len(made.rows)), key=lambda i: abs(float(made.rows[i][0]) - tau))
    slider = tag(
        "input",
        type="range",
        min=0,
        max=len(made.rows) - 1,
        value=place,
        data_read_curve=True,
        aria_label="Read the curve at tau",
    )
    cells = zip(made.columns[:-1], made.rows[place], strict=False)
    words = " · ".join(f"{name} {value}" for name, value in cells)
    return tag("div", slider, tag("output", words), class_="rtv-reader")


def _reliability(analysis: Analysis) -> Markup:
    try:
        made, found = draw_reliability(analysis), reliability_diagrams(analysis)
    except InputError as error:
        return figure("Reliability of the validity score", note(str(error)))
    rows = [row for name, style, own in found for row in _reliability_rows(name, own, opens=style == "raw")]
    columns = ("scores", "mean score", "share right", "n")
    return figure(
        made.title,
        made.plot,
        note(made.words),
        _numbers(table("Share right by score", columns, rows, groups=[name for name, *_ in found])),
        file="reliability",
        plot=True,
    )


def _reliability_rows(name: str, diagram: Reliability, opens: bool) -> list[list[str | Markup]]:
    rows: list[list[str | Markup]] = [[name]]
    for part in diagram.bins:
        scores = f"{part.low:.1f} to {part.high:.1f}"
        count = opener(f"{part.right.of:,}", f"score:{scores}", f"scores {scores}", off=not opens)
        rows.append([scores, f"{part.p_right:.2f}", share_text(part.right), count])
    return rows


def _histogram(analysis: Analysis) -> Markup | None:
    if (made := draw_histogram(analysis)) is None:
        return None
    return figure(
        made.title,
        made.plot,
        _numbers(table(made.title, made.columns, made.rows)),
        file="histogram",
        plot=True,
    )


def _numbers(made: Markup) -> Markup:
    return tag("details", tag("summary", "numbers"), made, class_="rtv-numbers")
