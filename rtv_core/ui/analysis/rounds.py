"""Two rounds of judgement of one run side by side: how each was drawn, table 6, corrected scores."""

from __future__ import annotations

from collections.abc import Sequence

from rtv_core.analysis.comparison import Difference
from rtv_core.analysis.rounds import Change, RoundComparison
from rtv_core.analysis.table6 import Part
from rtv_core.errors import RtvError
from rtv_core.ui.analysis.state import Analysis, Rounds
from rtv_core.ui.analysis.tables import figure, note, points_of, section, share_text, short, table
from rtv_core.ui.analysis.view import View
from rtv_core.ui.markup import Markup, tag
from rtv_core.ui.render.parts import counted

__all__ = ["render_rounds"]

TITLE = "Two rounds of judgement"
CHANGES_DRAWN = 50
PEOPLE_OFFERED = 50


def render_rounds(analysis: Analysis, rounds: Rounds | RtvError | None, view: View) -> Markup:
    """The choice of two rounds and, once both are chosen, what either says (an error says why not)."""
    parts: list[Markup] = [_choice(analysis, view)]
    if rounds is None:
        text = "Choose two: two queues, two annotators, or the verdicts before a day and since."
        return section(TITLE, *parts, note(text), name="rounds")
    try:
        if isinstance(rounds, RtvError):
            raise rounds
        found = rounds.compared
    except RtvError as error:
        return section(TITLE, *parts, note(str(error)), name="rounds")
    names = [f"{place}: {name[:40]}" for place, name in enumerate(rounds.names, start=1)]
    return section(
        TITLE,
        *parts,
        _scores(found, names),
        _table6(found, names),
        _changes(found, names),
        name="rounds",
    )


def _choice(analysis: Analysis, view: View) -> Markup:
    options = [("", "choose a round")]
    options += [(f"queue:{queue.id}", f"queue {queue.name}") for queue in analysis.queues]
    options += [(f"by:{name}", f"verdicts of {name}") for name in analysis.annotators[:PEOPLE_OFFERED]]
    options += [("before", "verdicts as they stood before the day"), ("since", "verdicts since the day")]
    selects = (
        tag(
            "label",
            tag("span", words),
            tag(
                "select",
                *(
                    tag("option", short(text, 70), value=value, selected=value == chosen)
                    for value, text in options
                ),
                data_view=name,
            ),
            class_="choice",
        )
        for name, words, chosen in (("first", "Round 1", view.first), ("second", "Round 2", view.second))
    )
    day = tag("input", type="date", data_view="day", value=view.day or None)
    return tag(
        "div",
        *selects,
        tag("label", tag("span", "Day (UTC)"), day, class_="choice"),
        class_="rtv-rounds-choice",
    )


def _scores(found: RoundComparison, names: Sequence[str]) -> Markup:
    rows = [[f"{name} corrected so far", *_cells(difference)] for name, difference in found.corrected.items()]
    rows += [[f"{name} estimated", *_cells(difference)] for name, difference in found.estimated.items()]
    rows = [[row[0].replace("f1", "F1"), *row[1:]] for row in rows]
    words = [
        f"Over {counted(found.questions, 'question')} with known gold. Difference: first minus second, "
        "paired by question; an interval without 0 tells the rounds apart.",
        "Estimated: as if each round had judged every wrong prediction."
        if found.estimated
        else "One of the rounds judged no wrong prediction, so that nothing can be estimated from it.",
    ]
    columns = ("", *names, "difference")
    caption = "Corrected scores by either round, in points of 100"
    return figure(
        "Scores by either round", table(caption, columns, rows), note(" ".join(words)), file="rounds-scores"
    )


def _cells(difference: Difference) -> list[Markup]:
    return [points_of(difference.first), points_of(difference.second), points_of(difference.difference)]


def _table6(found: RoundComparison, names: Sequence[str]) -> Markup:
    first, second = found.table6
    groups = (f"Wrong predictions ({first.wrong.total:,})", f"Missed gold answers ({first.missed.total:,})")
    rows: list[list[str | Markup]] = [[groups[0]], *_rows(first.wrong, second.wrong)]
    rows += [[groups[1]], *_rows(first.missed, second.missed)]
    columns = ("", *(head for name in names for head in (f"{name}, judged", f"{name}, share")))
    caption = "Table 6 by either round"
    words = "Shares with Wilson's 95 % interval, design-weighted where a queue drew the judged items."
    return figure(caption, table(caption, columns, rows, groups=groups), note(words), file="rounds-table6")


def _rows(first: Part, second: Part) -> list[list[str | Markup]]:
    rows = []
    for own, other in zip(first.rows, second.rows, strict=True):
        cells: list[str | Markup] = [own.name]
        for row in (own, other):
            cells += [f"{row.plain.count:,} of {row.plain.of:,}", share_text(row.weighted or row.plain)]
        rows.append(cells)
    return rows


def _changes(found: RoundComparison, names: Sequence[str]) -> Markup:
    words = (
        f"{counted(found.same.of, 'answer')} with a clear verdict in both: the same on ",
        share_text(found.same),
        f". {found.first_only:,} in the first round only, {found.second_only:,} in the second only.",
    )
    if not found.changes:
        return figure("Where the rounds differ", note(*words, " They differ on none."), file="rounds-changes")
    rows = [_change(change) for change in found.changes[:CHANGES_DRAWN]]
    more = len(found.changes) - len(rows)
    return figure(
        "Where the rounds differ",
        note(*words),
        table("Answers on which the rounds differ", ("answer", "question", *names), rows),
        note(f"{more:,} more not drawn; the CSV has them all.") if more else None,
        file="rounds-changes",
    )


def _change(change: Change) -> list[Markup]:
    said = (change.first, change.second)
    return [
        short(change.answer, 120),
        short(change.question, 160),
        *(short(r.label + (f" of {r.gold}" if r.gold else ""), 80) for r in said),
    ]
