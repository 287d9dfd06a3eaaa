"""A second system's answers beside our candidates: one row an answer, and rows for what only it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rtv_core.llm.exchanges import Exchange
from rtv_core.records import Trace
from rtv_core.side_by_side import Cell, Column, cells_of
from rtv_core.ui.marks import Places, Row, candidate_key, candidate_rows, extra_rows, gold_answers

__all__ = ["Beside", "set_beside"]


@dataclass(frozen=True, slots=True)
class Beside:
    """What a second system made of the answers on the page.

    `cells` has one for each of our rows, by its key; `only` are its answers that are on none of them. `gold`
    counts the gold answers that it gives. `exchanges` are a language model's questions and judgements, where
    it is one.
    """

    column: Column
    cells: Mapping[str, Cell]
    only: tuple[Row, ...]
    gold: int
    exchanges: tuple[Exchange, ...] = ()

    def cell(self, row: Row) -> Cell | None:
        """The cell of a row; None for an answer that was typed in since."""
        return self.cells.get(row.key)


def set_beside(trace: Trace, column: Column, places: Places | None = None) -> Beside:
    """The second system's answers beside the candidates of a finished trace and the gold it missed."""
    rows = (*candidate_rows(trace, places=places), *extra_rows(trace))
    gold = gold_answers(trace.question)
    made = cells_of(column, [*((row.answer, *row.spellings) for row in rows), *gold])
    cells = {row.key: cell for row, cell in zip(rows, made[: len(rows)], strict=True)}
    shown = [cell.candidate for cell in cells.values() if cell.candidate]
    only = [answer for answer in column.predicted if answer not in shown]
    own = cells_of(column, [answer.spellings for answer in only])
    made_rows = [Row(candidate_key(a.answer), a.answer, spellings=a.spellings[1:]) for a in only]
    cells |= {row.key: cell for row, cell in zip(made_rows, own, strict=True)}
    found = sum(cell.found for cell in made[len(rows) :])
    return Beside(column, cells, tuple(made_rows), found)
