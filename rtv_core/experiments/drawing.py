"""A chart as an SVG file that stands alone, with its story in the title and no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rtv_core.experiments.bars import draw_bars
from rtv_core.experiments.svg import (
    LEFT,
    LEGEND_ROW,
    RIGHT,
    TICKS,
    WIDTH,
    dash,
    page,
    round_ticks,
    stroke,
    text,
)
from rtv_core.experiments.table import Bars, Chart, Series

__all__ = ["draw"]

HEIGHT = 400
TOP, BOTTOM = 34, 52

LOOKS = (("#1f5fbf", ""), ("#b3521e", "7 4"), ("#2f9e7f", "2 3"), ("#59626d", "9 3 2 3"))
"""Colour and dashes of each series in turn: they differ without colour, too."""


def draw(chart: Chart | Bars) -> str:
    """The chart as SVG text."""
    if isinstance(chart, Bars):
        return draw_bars(chart)
    scale = _Scale(chart)
    parts = [*_axes(chart, scale)]
    for line, ((x1, y1), (x2, y2), _) in enumerate(chart.lines):
        parts.append(stroke(scale.x(x1), scale.y(y1), scale.x(x2), scale.y(y2), "#8a929c", _dashes(line)))
    for number, series in enumerate(chart.series):
        parts += _series(series, number, scale)
    parts += _legend(chart)
    height = HEIGHT + LEGEND_ROW * (len(chart.series) + len(chart.lines))
    return page(chart.title, _told(chart), height, parts)


class _Scale:
    """From values to places: x over the ticks or the points, y from 0 (or the lowest value) up."""

    def __init__(self, chart: Chart) -> None:
        points = [point for series in chart.series for point in series.points]
        points += [end for line in chart.lines for end in line[:2]]
        xs = [x for x, _ in points] + [x for x, _ in chart.ticks] or [0.0, 1.0]
        ys = [y for _, y in points] + [y for s in chart.series for pair in s.intervals for y in pair] or [1.0]
        self._x0, self._x1 = min(xs), max(xs)
        self.y_ticks = round_ticks(min(0.0, *ys), max(0.0, *ys))
        self._y0, self._y1 = self.y_ticks[0], self.y_ticks[-1]

    def x(self, value: float) -> float:
        return LEFT + (value - self._x0) / ((self._x1 - self._x0) or 1) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self._y0) / (self._y1 - self._y0) * (HEIGHT - TOP - BOTTOM)

    def x_ticks(self, given: Sequence[tuple[float, str]]) -> Sequence[tuple[float, str]]:
        if given:
            return given
        step = (self._x1 - self._x0) / TICKS
        return [(self._x0 + i * step, f"{self._x0 + i * step:.3g}") for i in range(TICKS + 1)]


def _axes(chart: Chart, scale: _Scale) -> Iterable[str]:
    for value in scale.y_ticks:
        y = scale.y(value)
        yield stroke(LEFT, y, WIDTH - RIGHT, y, "#dfe3e8")
        yield text(LEFT - 8, y + 4, f"{value:g}", "end")
    for x, name in scale.x_ticks(chart.ticks):
        yield text(scale.x(x), HEIGHT - BOTTOM + 18, name, "middle")
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, chart.x_label, "middle")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield text(14, middle, chart.y_label, "middle", f' transform="rotate(-90 14 {middle:g})"')


def _series(series: Series, number: int, scale: _Scale) -> Iterable[str]:
    colour, dashes = _look(number)
    places = [(scale.x(x), scale.y(y)) for x, y in series.points]
    if not series.scattered and places:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash(dashes)}/>'
    for (x, _), (low, high) in zip(places, series.intervals, strict=False):
        yield stroke(x, scale.y(low), x, scale.y(high), colour)
    for x, y in places:
        yield _mark(x, y, number, series.scattered)


def _mark(x: float, y: float, number: int, scattered: bool) -> str:
    """A dot; of every other scattered series a square, so that they differ without colour."""
    colour, _ = _look(number)
    if scattered and number % 2:
        return f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6" fill="none" stroke="{colour}"/>'
    opacity = ' fill-opacity="0.6"' if scattered else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"{opacity}/>'


def _legend(chart: Chart) -> Iterable[str]:
    y = HEIGHT + 4
    for number, series in enumerate(chart.series):
        colour, dashes = _look(number)
        if series.scattered:
            yield _mark(LEFT + 12, y, number, True)
        else:
            yield stroke(LEFT, y, LEFT + 26, y, colour, dashes, 2)
        yield text(LEFT + 34, y + 4, series.name)
        y += LEGEND_ROW
    for line, (_, _, name) in enumerate(chart.lines):
        yield stroke(LEFT, y, LEFT + 26, y, "#8a929c", _dashes(line))
        yield text(LEFT + 34, y + 4, name)
        y += LEGEND_ROW


def _told(chart: Chart) -> str:
    names = ", ".join(series.name for series in chart.series)
    return f"{chart.title}: {chart.y_label} against {chart.x_label}; {names}."


def _look(number: int) -> tuple[str, str]:
    return LOOKS[number % len(LOOKS)]


def _dashes(line: int) -> str:
    return ("4 4", "1 4")[line % 2]
