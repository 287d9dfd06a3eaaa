"""Plots as inline SVG: presentation attributes give their look anywhere, classes the page's own colours.

Every plot has its story in words (`told`), and the page shows its numbers in a table beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtv_core.ui.markup import Markup, tag

__all__ = ["Band", "Line", "Stack", "interval_plot", "line_plot", "stack_plot"]

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 12, 40
ROW = 30
LONGEST_LABEL = 16

STYLES = {
    "raw": {"stroke": "#59626d", "stroke_width": 1.8},
    "corrected": {"stroke": "#1f5fbf", "stroke_width": 2.6},
    "precision": {"stroke": "#59626d", "stroke_width": 1.4, "stroke_dasharray": "7 4"},
    "recall": {"stroke": "#59626d", "stroke_width": 1.4, "stroke_dasharray": "2 3"},
    "ideal": {"stroke": "#8a929c", "stroke_width": 1, "stroke_dasharray": "3 4"},
}
"""How a line looks on paper. Lines differ by stroke and are named in the legend, not by colour alone."""

FILLS = {
    "gold": "#c98a2b",
    "valid": "#2f9e7f",
    "invalid": "#59626d",
    "unclear": "#b3bac3",
    "unjudged": "#dfe3e8",
}
"""How the parts of a stack look on paper."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line through (x, y) points from 0 to 1; `style` is one of `STYLES`.

    `dots` draws the points, `bars` their intervals (low, high), parallel to the points.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    style: str
    dots: bool = False
    bars: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Band:
    """A row of an interval plot: for each line style, mean, low and high from 0 to 1."""

    name: str
    values: tuple[tuple[str, float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Stack:
    """A column from `low` to `high` on x, made of counts by kind, one of `FILLS`."""

    low: float
    high: float
    parts: tuple[tuple[str, int], ...]


def line_plot(
    told: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    marks: Sequence[tuple[float, str]] = (),
) -> Markup:
    """Lines over 0 to 1 in both directions, y in points of 100; `marks` are named places on x."""
    parts = [
        _grid_y([0, 0.2, 0.4, 0.6, 0.8, 1], [0, 20, 40, 60, 80, 100]),
        _axis_x(x_label),
        _name_y(y_label),
    ]
    for x, name in marks:
        parts += [_line(_x(x), TOP, _x(x), HEIGHT - BOTTOM, "mark", {"stroke": "#1a1f26", "stroke_width": 1})]
        anchor = "end" if x > 0.7 else "start"
        parts.append(_text(_x(x) + (-4 if x > 0.7 else 4), TOP + 10, name, anchor=anchor))
    for line in lines:
        parts += _drawn_line(line)
    legend = [(line.name, line.style) for line in lines]
    return _svg(told, HEIGHT + 20 * _rows(legend), *parts, *_legend(legend, HEIGHT))


def interval_plot(told: str, bands: Sequence[Band], x_label: str, names: Sequence[tuple[str, str]]) -> Markup:
    """Means with their intervals, a row a band, on 0 to 100; `names` pairs each style with its legend."""
    left, height = 110, TOP + ROW * len(bands) + BOTTOM
    parts: list[Markup] = []
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        x = _x(share, left)
        parts.append(_line(x, TOP, x, height - BOTTOM, "grid", {"stroke": "#dfe3e8", "stroke_width": 1}))
        parts.append(_text(x, height - BOTTOM + 15, f"{100 * share:.0f}", anchor="middle"))
    parts.append(_text((left + WIDTH - RIGHT) / 2, height - 8, x_label, anchor="middle"))
    for row, band in enumerate(bands):
        middle = TOP + ROW * (row + 0.5)
        parts.append(_text(left - 8, middle + 4, _cut(band.name), anchor="end"))
        for place, (style, mean, low, high) in enumerate(band.values):
            y = middle + 8 * (place - (len(band.values) - 1) / 2)
            look = {**STYLES[style], "stroke_dasharray": None}
            parts.append(_line(_x(low, left), y, _x(high, left), y, f"line {style}", look))
            parts.append(_dot(_x(mean, left), y, style))
    legend = [(name, style) for style, name in names]
    return _svg(told, height + 20 * _rows(legend), *parts, *_legend(legend, height))


def stack_plot(
    told: str, stacks: Sequence[Stack], x_label: str, y_label: str, names: Sequence[tuple[str, str]]
) -> Markup:
    """Counts by kind in columns over 0 to 1; `names` pairs each kind with its legend, bottom first."""
    most = _round_up(max((sum(count for _, count in stack.parts) for stack in stacks), default=1))
    ticks = [0, most / 4, most / 2, 3 * most / 4, most]
    parts = [_grid_y([tick / most for tick in ticks], ticks), _axis_x(x_label), _name_y(y_label)]
    order = [kind for kind, _ in names]
    for stack in stacks:
        base = 0
        for kind, count in sorted(stack.parts, key=lambda part: order.index(part[0])):
            top, bottom = _y((base + count) / most), _y(base / most)
            parts.append(
                tag(
                    "rect",
                    x=_n(_x(stack.low) + 0.5),
                    y=_n(top),
                    width=_n(max(_x(stack.high) - _x(stack.low) - 1, 0.5)),
                    height=_n(bottom - top),
                    fill=FILLS[kind],
                    class_=f"fill {kind}",
                )
            )
            base += count
    legend = [(name, f"fill {kind}") for kind, name in names]
    return _svg(told, HEIGHT + 20 * _rows(legend), *parts, *_legend(legend, HEIGHT))


def _svg(told: str, height: float, *parts: Markup) -> Markup:
    paper = tag("rect", x=0, y=0, width=WIDTH, height=_n(height), fill="#ffffff", class_="paper")
    return tag(
        "svg",
        tag("title", told),
        paper,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {_n(height)}",
        role="img",
        aria_label=told,
        font_family="system-ui, sans-serif",
        font_size=12,
        class_="rtv-plot",
    )


def _drawn_line(line: Line) -> list[Markup]:
    look = STYLES[line.style]
    path = " ".join(f"{_n(_x(x))},{_n(_y(y))}" for x, y in line.points)
    made = [tag("polyline", points=path, fill="none", class_=f"line {line.style}", **look)]
    plain = {**look, "stroke_dasharray": None, "stroke_width": 1.4}
    for (x, _), (low, high) in zip(line.points, line.bars, strict=False):
        made.append(_line(_x(x), _y(low), _x(x), _y(high), f"line {line.style}", plain))
    if line.dots:
        made += [_dot(_x(x), _y(y), line.style) for x, y in line.points]
    return made


def _grid_y(shares: Sequence[float], names: Sequence[float]) -> Markup:
    parts = []
    for share, name in zip(shares, names, strict=True):
        y = _y(share)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "grid", {"stroke": "#dfe3e8", "stroke_width": 1}))
        parts.append(_text(LEFT - 6, y + 4, f"{name:,.0f}" if float(name).is_integer() else "", anchor="end"))
    return tag("g", *parts)


def _axis_x(label: str) -> Markup:
    ticks = [
        _text(_x(x), HEIGHT - BOTTOM + 15, f"{x:g}", anchor="middle") for x in (0, 0.2, 0.4, 0.6, 0.8, 1)
    ]
    name = _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, label, anchor="middle")
    return tag("g", *ticks, name)


def _name_y(label: str) -> Markup:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return _text(10, middle, label, anchor="middle", transform=f"rotate(-90 10 {_n(middle)})")


def _legend(names: Sequence[tuple[str, str]], top: float) -> list[Markup]:
    parts = []
    for (name, style), (x, row) in zip(names, _places(names), strict=True):
        y = top + 20 * row + 6
        kind = style.removeprefix("fill ")
        if style.startswith("fill "):
            parts.append(
                tag("rect", x=_n(x), y=_n(y - 6), width=12, height=12, fill=FILLS[kind], class_=style)
            )
        else:
            parts.append(_line(x, y, x + 22, y, f"line {style}", STYLES[style]))
        parts.append(_text(x + (18 if style.startswith("fill ") else 28), y + 4, name))
    return parts


def _places(names: Sequence[tuple[str, str]]) -> list[tuple[float, int]]:
    """Where each name of the legend begins: x, and the row."""
    x, row, places = float(LEFT), 0, []
    for name, _ in names:
        width = 44 + 6.4 * len(name)
        if x > LEFT and x + width > WIDTH:
            x, row = float(LEFT), row + 1
        places.append((x, row))
        x += width
    return places


def _rows(names: Sequence[tuple[str, str]]) -> int:
    return _places(names)[-1][1] + 1 if names else 0


def _line(x1: float, y1: float, x2: float, y2: float, class_: str, look: dict[str, object]) -> Markup:
    return tag("line", x1=_n(x1), y1=_n(y1), x2=_n(x2), y2=_n(y2), class_=class_, **look)


def _dot(x: float, y: float, style: str) -> Markup:
    return tag("circle", cx=_n(x), cy=_n(y), r=3.2, fill=STYLES[style]["stroke"], class_=f"dot {style}")


def _text(x: float, y: float, text: str, anchor: str = "start", **more: str) -> Markup:
    return tag("text", text, x=_n(x), y=_n(y), fill="#59626d", text_anchor=anchor, class_="word", **more)


def _x(share: float, left: float = LEFT) -> float:
    return left + share * (WIDTH - RIGHT - left)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _round_up(most: float) -> int:
    """The next number of which four ticks are round too: 4, 8, 20, 40, 80, 200, ..."""
    size = 1
    while True:
        for first in (4, 8, 20):
            if first * size >= most:
                return first * size
        size *= 10
