"""An experiment's table as Markdown, as the README and the terminal show it."""

from __future__ import annotations

from rtv_core.experiments.table import Cell, Row, Table
from rtv_core.metrics import Interval

__all__ = ["markdown", "shown_between", "shown_cell", "shown_interval"]


def markdown(table: Table) -> str:
    """Heading, table and notes."""
    columns = (table.first, *table.columns, f"published ({table.published})")
    lines = [f"### {table.title}", "", _line(columns), "|" + "---|" * len(columns)]
    lines += [_line(_cells(row, len(table.columns))) for row in table.rows]
    lines += ["", *(f"* {note}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def shown_cell(cell: Cell | None) -> str:
    """A figure with its interval, over all questions / over those with several answers; a dash for none."""
    if cell is None:
        return "-"
    both = [_interval(part, cell) for part in (cell.all, cell.multi) if part is not None]
    return " / ".join(both)


def shown_interval(interval: Interval, cell: Cell) -> tuple[str, str]:
    """A mean as its cell shows it, and "low to high"; "" for an interval of no width."""
    return shown_between(*(cell.scale * v for v in (interval.mean, interval.low, interval.high)), cell.digits)


def shown_between(mean: float, low: float, high: float, digits: int) -> tuple[str, str]:
    """A figure of so many digits, and "low to high"; "" where nothing is seen between them."""
    shown, below, above = (f"{value:,.{digits}f}" for value in (mean, low, high))
    return shown, "" if below == above == shown else f"{below} to {above}"


def _cells(row: Row, columns: int) -> tuple[str, ...]:
    cells = row.cells or (None,) * columns
    return (row.name, *map(shown_cell, cells), row.published or "-")


def _interval(interval: Interval, cell: Cell) -> str:
    mean, between = shown_interval(interval, cell)
    return f"{mean} ({between})" if between else mean


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
