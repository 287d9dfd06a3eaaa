"""What an experiment gives: a table with a column of published figures, and the charts of it."""

from __future__ import annotations

from dataclasses import dataclass

from rtv_core.metrics import Interval

__all__ = ["Bar", "Bars", "Cell", "Chart", "Row", "Series", "Table"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure: over all questions, and over those with several answers where these are only some of them.

    Shown multiplied by `scale`, with so many `digits`. An interval of no width is shown as its mean alone.
    """

    all: Interval
    multi: Interval | None = None
    scale: float = 100
    digits: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """A line: its name, a cell per column (None: no such figure), and the paper's figures ("": none).

    A line of published figures alone has no cells.
    """

    name: str
    cells: tuple[Cell | None, ...] = ()
    published: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Points (x, y) of one name, joined by a line unless they are `scattered`.

    `intervals` are parallel to the points: low and high of y.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    intervals: tuple[tuple[float, float], ...] = ()
    scattered: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Series over one pair of axes. `ticks` are the marks of the x axis with their names; none: chosen.

    `lines` are straight reference lines, each from (x, y) to (x, y), with a name.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    ticks: tuple[tuple[float, str], ...] = ()
    lines: tuple[tuple[tuple[float, float], tuple[float, float], str], ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of `Bars`: its name, the length of each part, the interval of the whole, and digits to show."""

    name: str
    parts: tuple[float, ...]
    interval: tuple[float, float] | None = None
    digits: int = 1


@dataclass(frozen=True, slots=True)
class Bars:
    """A bar a line along one axis. `label` names what is measured, `parts` what each bar is made of."""

    title: str
    label: str
    parts: tuple[str, ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """An experiment's result. `first` heads the rows' names, `published` says where those figures come from.

    `notes` are sentences that belong below it. `provenance` tells what it was made with.
    """

    name: str
    title: str
    first: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    published: str
    notes: tuple[str, ...] = ()
    charts: tuple[Chart | Bars, ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
