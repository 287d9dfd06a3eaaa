"""Bars of a table's column, one a line, with their intervals; or several columns as the parts of a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rtv_core.experiments.markdown import shown_between
from rtv_core.experiments.svg import LEFT, LEGEND_ROW, RIGHT, WIDTH, page, round_ticks, stroke, text
from rtv_core.experiments.table import Bar, Bars, Cell, Row

__all__ = ["bars_of", "draw_bars", "stacked_bars_of"]

TOP, ROW, THICK = 40, 48, 16
VALUE = 130
"""Room for the words behind the longest bar."""

FILLS = ("#1f5fbf", "#e0a15e", "#2f9e7f", "#8a6bbf", "#9aa3ad")


def bars_of(title: str, label: str, rows: Iterable[Row], column: int) -> Bars:
    """One bar for each line that has a figure in this column, over all questions."""
    bars = []
    for name, cells in _filled(rows):
        if (cell := cells[column]) is not None:
            interval = (cell.scale * cell.all.low, cell.scale * cell.all.high)
            bars.append(Bar(name, (cell.scale * cell.all.mean,), interval, cell.digits))
    return Bars(title, label, (label,), tuple(bars))


def stacked_bars_of(title: str, label: str, rows: Iterable[Row], columns: Sequence[tuple[int, str]]) -> Bars:
    """One bar a line, made of these columns in turn, of those that have a figure in any line."""
    filled = list(_filled(rows))
    used = [(column, part) for column, part in columns if any(cells[column] for _, cells in filled)]
    bars = []
    for name, cells in filled:
        given = [cells[column] for column, _ in used]
        if known := [cell for cell in given if cell is not None]:
            parts = tuple(cell.scale * cell.all.mean if cell else 0.0 for cell in given)
            bars.append(Bar(name, parts, None, max(cell.digits for cell in known)))
    return Bars(title, label, tuple(part for _, part in used), tuple(bars))


def draw_bars(chart: Bars) -> str:
    """The bars as SVG text."""
    ends = [end for bar in chart.bars for end in (sum(bar.parts), *(bar.interval or ()))]
    ticks = round_ticks(0.0, max([0.0, *ends]))
    reach = WIDTH - RIGHT - VALUE - LEFT

    def x(value: float) -> float:
        return LEFT + value / ticks[-1] * reach

    bottom = TOP + ROW * len(chart.bars)
    parts = []
    for value in ticks:
        parts.append(stroke(x(value), TOP, x(value), bottom, "#dfe3e8"))
        parts.append(text(x(value), bottom + 18, f"{value:g}", "middle"))
    parts.append(text(LEFT + reach / 2, bottom + 38, chart.label, "middle"))
    for number, bar in enumerate(chart.bars):
        y = TOP + ROW * number
        parts.append(text(LEFT, y + 14, bar.name))
        parts += _bar(bar, y + 20, x)
        end = max(sum(bar.parts), *(bar.interval or (0.0,)))
        parts.append(text(x(end) + 8, y + 33, _shown(bar)))
    legend = bottom + 56
    if len(chart.parts) > 1:
        for number, name in enumerate(chart.parts):
            y = legend + LEGEND_ROW * number
            parts.append(_block(LEFT, y - 7, 26, 14, number))
            parts.append(text(LEFT + 34, y + 4, name))
        legend += LEGEND_ROW * len(chart.parts)
    told = "; ".join(f"{bar.name} {_shown(bar)}" for bar in chart.bars)
    return page(chart.title, f"{chart.title}, {chart.label}: {told}.", legend, parts)


def _filled(rows: Iterable[Row]) -> Iterator[tuple[str, tuple[Cell | None, ...]]]:
    return ((row.name, row.cells) for row in rows if row.cells)


def _bar(bar: Bar, y: float, x: Callable[[float], float]) -> Iterator[str]:
    done = 0.0
    for number, part in enumerate(bar.parts):
        yield _block(x(done), y, x(done + part) - x(done), THICK, number)
        done += part
    if bar.interval and bar.interval[0] < bar.interval[1]:
        (low, high), middle = bar.interval, y + THICK / 2
        yield stroke(x(low), middle, x(high), middle, "#1a1f26", width=2)
        for end in (low, high):
            yield stroke(x(end), y + 3, x(end), y + THICK - 3, "#1a1f26", width=2)


def _shown(bar: Bar) -> str:
    whole = sum(bar.parts)
    mean, between = shown_between(whole, *(bar.interval or (whole, whole)), bar.digits)
    return f"{mean} ({between})" if between else mean


def _block(x: float, y: float, width: float, height: float, number: int) -> str:
    # A white edge keeps neighbouring parts apart without their colours.
    size = f'width="{width:.1f}" height="{height:g}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{FILLS[number % len(FILLS)]}" stroke="#ffffff"/>'
