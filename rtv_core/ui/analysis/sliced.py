"""F1 by kind of question: by the usual columns, by one that is chosen, and by the filters that were saved."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.analysis.columns import COLUMNS
from rtv_core.analysis.filters import read_conditions
from rtv_core.errors import InputError
from rtv_core.store.filters import SavedFilter
from rtv_core.ui.analysis.drawings import draw_slices
from rtv_core.ui.analysis.state import Analysis
from rtv_core.ui.analysis.tables import drawn, figure, note, opener, points_of, section, short, table
from rtv_core.ui.markup import Markup, tag
from rtv_core.ui.render.parts import counted

__all__ = ["SOURCES", "USUAL", "render_slices", "slice_title"]

USUAL = ("gold", "word", "sources")
"""The columns that are always shown."""

SOURCES = (
    "Sources are the distinct retrieved passages of which the title or the text covers a gold answer, of any "
    "annotation, strictly. “Not known”: the passages of the run aren't known."
)


def render_slices(analysis: Analysis, column: str, saved: Sequence[SavedFilter], turn: int) -> Markup:
    """The slices of a run; `column` is shown besides the usual ones, "" is none."""
    if analysis.scores is None:
        made = [note("No gold is known: there is no F1 to split up.")]
    else:
        made = [_sliced(analysis, name) for name in USUAL]
        made.append(_chosen(analysis, column))
        made += [_by_filter(analysis, saved)] if saved else []
    return drawn(turn, section("Kinds of questions", tag("div", *made, class_="rtv-plots"), name="slices"))


def slice_title(column: str) -> str:
    """What a figure by a column is called."""
    return f"F1 by {COLUMNS[column].title}"


def _sliced(analysis: Analysis, column: str, *head: Markup) -> Markup:
    title = slice_title(column)
    made = draw_slices(title, *analysis.slices(column), bool(analysis.corrected.additions))
    rows = [
        (name, opener(count, f"slice:{column}:{name}", f"{title}: {name}"), *rest)
        for name, count, *rest in made.rows
    ]
    notes = {"sources": SOURCES, "lost": "A question counts once for each that became of a gold answer."}
    return figure(
        title,
        *head,
        made.plot,
        table(title, made.columns, rows),
        note(notes[column]) if column in notes else None,
        file=f"slices-{column}",
        plot=True,
    )


def _chosen(analysis: Analysis, column: str) -> Markup:
    """The choice of one more column, and its slices."""
    options = [tag("option", "choose a column", value="", selected=not column)]
    options += [
        tag("option", own.title, value=own.name, selected=own.name == column)
        for own in COLUMNS.values()
        if own.kinds and own.name not in USUAL
    ]
    choice = tag("label", tag("span", "And by"), tag("select", *options, data_view="slices"), class_="choice")
    if not column:
        return tag("div", choice, class_="rtv-figure")
    if not COLUMNS[column].kinds:
        raise InputError(
            f"Questions can't be split up by the {COLUMNS[column].title}. Choose another column."
        )
    return _sliced(analysis, column, choice)


def _by_filter(analysis: Analysis, saved: Sequence[SavedFilter]) -> Markup:
    changed = bool(analysis.corrected.additions)
    rows = []
    for own in saved:
        count, raw, corrected = analysis.f1_where(read_conditions(own.conditions))
        found = (raw, corrected) if changed else (raw,)
        cells = [points_of(part.f1 if part else None) for part in found]
        rows.append([short(own.name), f"{count:,}", *cells])
    columns = ("", "questions", "F1 raw", *(["F1 corrected"] if changed else []))
    title = "F1 by saved filter"
    words = f"Of {counted(len(analysis.questions), 'question')} here. A filter's name at the top applies it."
    return figure(title, table(title, columns, rows), note(words), file="slices-filters")
