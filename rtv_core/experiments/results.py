"""The results that `experiment` wrote to a folder, read with suspicion: any file may lie in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from rtv_core.experiments.drawing import draw
from rtv_core.experiments.markdown import markdown
from rtv_core.experiments.table import Bars, Table
from rtv_core.wire import fits, from_plain

__all__ = ["COMMAND", "Result", "Results", "by_number", "read_results", "told_path"]

COMMAND = "command"
"""Under which name a table's provenance keeps the command that made it."""

LARGEST = 10_000_000
MOST_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Result:
    """A table, and its charts as SVG in their order. `name` is that of its file, without its end."""

    name: str
    table: Table
    plots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Results:
    """What a folder holds, by name. `unreadable` are its JSON files that are no result, by their names.

    `problem` says why the folder can't be read; "" if it can.
    """

    folder: Path
    found: tuple[Result, ...] = ()
    unreadable: tuple[str, ...] = ()
    problem: str = ""


def read_results(folder: Path) -> Results:
    """The results in a folder. Never raises for what lies there."""
    told = told_path(folder)
    try:
        names = sorted((path.stem for path in folder.iterdir() if path.suffix == ".json"), key=by_number)
    except FileNotFoundError:
        return Results(folder, problem=f"There is no folder {told} yet. An experiment's --out makes it.")
    except OSError as error:
        return Results(folder, problem=f"{told} can't be read: {error.strerror}. Name a folder of results.")
    read = {name: _read(folder / f"{name}.json") for name in names}
    found = tuple(result for result in read.values() if result is not None)
    return Results(folder, found, tuple(f"{name}.json" for name, result in read.items() if result is None))


def told_path(path: Path) -> str:
    """A path as others may see it: of an absolute one the last part."""
    return path.name if path.is_absolute() else str(path)


def by_number(name: str) -> list[tuple[int, str]]:
    """A key that puts table2 before table10."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _read(path: Path) -> Result | None:
    """The result in a file; None for anything else. What can't be drawn is none either."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return None
        plain = json.loads(path.read_bytes(), parse_constant=_refuse)
        if not fits(Table, plain):
            return None
        table = from_plain(Table, plain)
        cells = [cell for row in table.rows for cell in row.cells if cell is not None]
        bars = [bar for chart in table.charts if isinstance(chart, Bars) for bar in chart.bars]
        if any(len(row.cells) not in (0, len(table.columns)) for row in table.rows):
            return None
        if not all(0 <= shown.digits <= MOST_DIGITS for shown in (*cells, *bars)):
            return None
        plots = tuple([draw(chart) for chart in table.charts])
        "".join((markdown(table), *plots)).encode()  # half a character can't be sent to a page
        return Result(path.stem, table, plots)
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
        return None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")
