"""Tables that can be read aloud, numbers with intervals, and buttons that open what is behind a figure."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.analysis.shares import Share
from rtv_core.metrics import Interval
from rtv_core.ui.markup import Markup, escape, tag

__all__ = [
    "drawn",
    "figure",
    "note",
    "number",
    "opener",
    "points",
    "points_of",
    "section",
    "share_text",
    "short",
    "table",
]

LONGEST_NAME = 80


def drawn(turn: int, *children: str | None) -> Markup:
    """A part of the page as it was drawn for the request of this number."""
    return tag("div", *children, class_="rtv-drawn", data_turn=turn)


def section(title: str, *children: str | None, name: str = "") -> Markup:
    """A part of the analysis under a heading."""
    return tag("section", tag("h2", title), *children, class_="rtv-section", data_section=name or None)


def figure(title: str, *children: str | None, file: str = "", plot: bool = False) -> Markup:
    """A figure with its title and the ways to take it along: `file` names its rows in `sheets`."""
    buttons = []
    if plot:
        buttons += [
            _take("SVG", f"{title}: save the plot as SVG", data_svg=file),
            _take("PNG", f"{title}: save the plot as PNG", data_png=file),
        ]
    if file:
        buttons.append(_take("CSV", f"{title}: save the numbers as CSV", data_file=file))
    head = tag("div", tag("h3", title), tag("span", *buttons, class_="takes"), class_="rtv-figure-head")
    return tag("div", head, *children, class_="rtv-figure", data_figure=file or None)


def table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str | None]],
    groups: Sequence[str] = (),
    class_: str = "",
) -> Markup:
    """A table whose first column names its rows; the other columns are numbers or short words.

    `groups` are rows' names that head the rows after them; such a row has only its name.
    """
    head = tag("tr", *(tag("th", column, scope="col") for column in columns))
    body = []
    for first, *rest in rows:
        if not rest and first in groups:
            body.append(tag("tr", tag("th", first, scope="colgroup", colspan=len(columns)), class_="group"))
        else:
            cells = (tag("td", cell, data_column=name) for cell, name in zip(rest, columns[1:], strict=True))
            body.append(tag("tr", tag("th", first, scope="row"), *cells))
    made = tag(
        "table",
        tag("caption", caption, class_="sr"),
        tag("thead", head),
        tag("tbody", *body),
        class_=f"rtv-table {class_}".strip(),
    )
    return tag("div", made, class_="rtv-scroll", tabindex=0, role="region", aria_label=caption)


def opener(text: str | Markup, behind: str, what: str, off: bool = False) -> Markup:
    """A button that lists the questions behind a figure, or the plain text where they may not be seen."""
    if off:
        return tag("span", text)
    title = f"show the questions: {what}"
    return tag("button", text, type="button", data_behind=behind, title=title, class_="opens")


def note(*words: str | None) -> Markup:
    """A line of small print."""
    return tag("p", *words, class_="rtv-note")


def number(value: float | None, digits: int = 2) -> str:
    """A number with a true minus sign, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def points(value: float | None) -> str:
    """A share as points of 100."""
    return number(None if value is None else 100 * value, 1)


def points_of(interval: Interval | None) -> Markup:
    """A mean in points of 100 with its interval."""
    if interval is None:
        return tag("span", "–")
    return _with_interval(points(interval.mean), points(interval.low), points(interval.high))


def share_text(share: Share | None) -> Markup:
    """A share in per cent with its interval."""
    if share is None or not share.of:
        return tag("span", "–")
    low, high = f"{100 * share.low:.0f}", f"{100 * share.high:.0f}"
    return _with_interval(f"{100 * share.share:.0f} %", low, high)


def short(text: str, most: int = LONGEST_NAME) -> Markup:
    """A name from data, cut where it is long, set apart from the direction of the text around it."""
    return tag("bdi", escape(text, most))


def _with_interval(value: str, low: str, high: str) -> Markup:
    between = f"({low} to {high})"
    return tag("span", tag("b", value), " ", tag("span", between, class_="between"), class_="value")


def _take(text: str, label: str, **attributes: str) -> Markup:
    return tag("button", text, type="button", aria_label=label, title=label, class_="take", **attributes)
