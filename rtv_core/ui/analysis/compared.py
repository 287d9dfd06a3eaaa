"""Two runs side by side: paired differences, and the gold answers that only one of them found."""

from __future__ import annotations

from rtv_core.analysis.comparison import Comparison, Difference
from rtv_core.errors import RtvError
from rtv_core.ui.analysis.state import Pair
from rtv_core.ui.analysis.tables import figure, note, opener, points_of, section, short, table
from rtv_core.ui.markup import Markup, tag
from rtv_core.ui.render.parts import counted

__all__ = ["render_pair"]

TITLE = "Two runs"


def render_pair(pair: Pair | None) -> Markup:
    """The comparison, or how to get one."""
    if pair is None:
        return section(TITLE, note("Choose a run to compare with, at the top of the page."), name="pair")
    try:
        raw, corrected = pair.raw, pair.corrected
    except RtvError as error:
        return section(TITLE, note(str(error)), name="pair")
    rows = _rows(raw, "")
    if corrected is not None:
        rows.append(["F1 on corrected gold", *_cells(corrected.f1)])
    names = [short(pair.first.run.name, 40), short(pair.second.run.name, 40)]
    text = f"Over {counted(raw.questions, 'question')} that both have"
    text += f"; {raw.left_out:,} left out." if raw.left_out else "."
    text += " Difference: first minus second, paired by question; an interval without 0 tells them apart."
    return section(
        TITLE,
        figure(
            "Scores of both",
            table("Scores of both runs, in points of 100", ("", *names, "difference"), rows),
            note(text),
            file="pair",
        ),
        figure("Answers that only one found", _found(raw, pair), file="finds"),
        name="pair",
    )


def _rows(found: Comparison, of: str) -> list[list[str | Markup]]:
    rows = [
        [f"F1{of}", *_cells(found.f1)],
        ["precision", *_cells(found.precision)],
        ["recall", *_cells(found.recall)],
    ]
    if found.f1_multi:
        rows.append(["F1, several answers", *_cells(found.f1_multi)])
    return rows


def _cells(difference: Difference) -> list[Markup]:
    return [points_of(difference.first), points_of(difference.second), points_of(difference.difference)]


def _found(found: Comparison, pair: Pair) -> Markup:
    lines = (
        ("only ", pair.first.run.name, len(found.only_first), "only:first"),
        ("only ", pair.second.run.name, len(found.only_second), "only:second"),
        ("both", "", found.both, ""),
        ("neither", "", found.neither, ""),
    )
    rows = [
        [tag("span", word, short(name, 60) if name else None), _count(count, behind)]
        for word, name, count, behind in lines
    ]
    better = [
        opener(counted(count, "question"), f"f1:{value}", f"the first run is {value}", off=not count)
        for value, count in (("better", found.better), ("worse", found.worse), ("equal", found.equal))
    ]
    return tag(
        "div",
        table("Gold answers by who predicted them", ("predicted by", "gold answers"), rows),
        note(
            "The first run's F1 is better on ",
            better[0],
            ", worse on ",
            better[1],
            ", equal on ",
            better[2],
            ".",
        ),
    )


def _count(count: int, behind: str) -> Markup:
    return opener(f"{count:,}", behind, "gold answers", off=not (behind and count))
